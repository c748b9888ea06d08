// SPDX-License-Identifier: LGPL-2.1-or-later
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "free_memory.h"

static FILE *open_below(const char *root, const char *path)
{
	char name[PATH_MAX];

	if ((size_t)snprintf(name, sizeof(name), "%s%s", root, path) >= sizeof(name))
		return NULL;
	return fopen(name, "re");
}

static uint64_t available(const char *root)
{
	FILE *f = open_below(root, "/proc/meminfo");
	uint64_t kib = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib * 1024;
}

/* The number in a file of a group; -1, which is no limit, for "max" or none. */
static uint64_t group_number(const char *root, const char *group, const char *file)
{
	char name[PATH_MAX];
	uint64_t n = UINT64_MAX;
	FILE *f;

	if ((size_t)snprintf(name, sizeof(name), "/sys/fs/cgroup%s/%s", group, file) >=
	    sizeof(name))
		return n;
	f = open_below(root, name);
	if (!f)
		return n;
	if (fscanf(f, "%" SCNu64, &n) != 1)
		n = UINT64_MAX;
	fclose(f);
	return n;
}

/* The process's group in the one hierarchy of version 2: "0::/path". */
static int find_group(const char *root, char *group, size_t len)
{
	FILE *f = open_below(root, "/proc/self/cgroup");
	char line[PATH_MAX];
	int found = 0;

	while (f && !found && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "0::/", 4))
			continue;
		line[strcspn(line, "\n")] = '\0';
		found = (size_t)snprintf(group, len, "%s", line + 3) < len;
	}
	if (f)
		fclose(f);
	return found;
}

uint64_t free_memory(const char *root)
{
	uint64_t least = available(root), max, used;
	char group[PATH_MAX], *slash;

	if (!find_group(root, group, sizeof(group)))
		return least;
	/* A limit of any group above counts too. */
	for (;;) {
		max = group_number(root, group, "memory.max");
		used = group_number(root, group, "memory.current");
		if (max != UINT64_MAX && used != UINT64_MAX && (used > max || max - used < least))
			least = used > max ? 0 : max - used;
		slash = strrchr(group, '/');
		if (!slash || !group[0])
			return least;
		*slash = '\0';
	}
}
