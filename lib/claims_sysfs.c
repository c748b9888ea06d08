// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The kernel's claims, from /sys/devices/system/cpu/cpuN/cache/indexM. hwloc
 * reads them too and corrects some of them; here they are as they stand.
 */
#include <errno.h>
#include <hwloc.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "claims.h"

/* More than any machine has. */
#define MOST_INDEXES	32

/* The first line of a file of @dir. 0, or what open(2) or read(2) said. */
static int read_line(const char *dir, const char *file, char *line, size_t len)
{
	char path[PATH_MAX];
	int err = 0;
	FILE *f;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path))
		return -ENAMETOOLONG;
	f = fopen(path, "re");
	if (!f)
		return -errno;
	errno = 0;
	if (!fgets(line, (int)len, f))
		err = errno ? -errno : -ENODATA;
	fclose(f);
	if (!err)
		line[strcspn(line, "\n")] = '\0';
	return err;
}

/* 0 where there is none: that is what "unknown" is in a claim. */
static uint64_t read_number(const char *dir, const char *file)
{
	char line[64], unit = 0;
	uint64_t x = 0;

	if (read_line(dir, file, line, sizeof(line)) ||
	    sscanf(line, "%" SCNu64 "%c", &x, &unit) < 1)
		return 0;
	return unit == 'K' ? x << 10 : unit == 'M' ? x << 20 : x;
}

static unsigned int count_cpus(const char *list)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	int n = 0;

	if (set && !hwloc_bitmap_list_sscanf(set, list))
		n = hwloc_bitmap_weight(set);
	hwloc_bitmap_free(set);
	return n > 0 ? (unsigned int)n : 0;
}

static int add_index(struct sonde_claims *claims, const char *dir)
{
	struct sonde_cache_claim claim = { .source = SONDE_CLAIM_SYSFS };
	char type[32], cpus[4096];
	uint64_t ways;

	if (read_line(dir, "type", type, sizeof(type)))
		return 0;
	if (strcmp(type, "Data") != 0 && strcmp(type, "Unified") != 0)
		return 0;
	claim.type = *type == 'D' ? SONDE_CACHE_DATA : SONDE_CACHE_UNIFIED;
	claim.level = (unsigned int)read_number(dir, "level");
	claim.size = read_number(dir, "size");
	ways = read_number(dir, "ways_of_associativity");
	claim.ways = ways <= INT_MAX ? (int)ways : 0;
	claim.line = (unsigned int)read_number(dir, "coherency_line_size");
	claim.sets = read_number(dir, "number_of_sets");
	if (!read_line(dir, "shared_cpu_list", cpus, sizeof(cpus)) && *cpus) {
		claim.cpus = cpus;
		claim.threads = count_cpus(cpus);
	}
	return claims_add(claims, &claim);
}

int claims_sysfs(struct sonde_claims *claims, const char *root, unsigned int cpu)
{
	const enum sonde_claim_source source = SONDE_CLAIM_SYSFS;
	char dir[PATH_MAX], level[64];
	int err = 0, why = 0;

	for (unsigned int i = 0; i < MOST_INDEXES && !err; i++) {
		if ((size_t)snprintf(dir, sizeof(dir),
				     "%s/sys/devices/system/cpu/cpu%u/cache/index%u", root, cpu,
				     i) >= sizeof(dir))
			return claims_explain(claims, source, "its path is too long");
		why = read_line(dir, "level", level, sizeof(level));
		if (why)
			break;
		err = add_index(claims, dir);
	}
	if (err || claims_has(claims, source))
		return err;
	if (why && why != -ENOENT)
		return claims_explain(claims, source, "%s/level: %s", dir, strerror(-why));
	return claims_explain(claims, source, "it has no data cache of CPU %u", cpu);
}
