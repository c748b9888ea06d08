// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * claims - ask every source, keep each answer with who gave it
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sonde/topology.h>

#include "claims.h"

/* More levels than any machine has, and more bytes: what claims more is rubbish. */
#define MOST_LEVELS	16
#define MOST_BYTES	(1ULL << 50)

const char *sonde_claim_source_name(enum sonde_claim_source source)
{
	static const char *const names[SONDE_CLAIM_SOURCES] = {
		[SONDE_CLAIM_SYSFS] = "sysfs",
		[SONDE_CLAIM_CPUID_2] = "CPUID 2",
		[SONDE_CLAIM_CPUID_4] = "CPUID 4",
		[SONDE_CLAIM_CPUID_80000005] = "CPUID 80000005h",
		[SONDE_CLAIM_CPUID_80000006] = "CPUID 80000006h",
		[SONDE_CLAIM_CPUID_8000001D] = "CPUID 8000001Dh",
		[SONDE_CLAIM_HWLOC] = "hwloc",
	};

	return (unsigned int)source < SONDE_CLAIM_SOURCES ? names[source] : "unknown";
}

int claims_add(struct sonde_claims *claims, const struct sonde_cache_claim *claim)
{
	struct sonde_cache_claim *all;
	char *cpus = NULL;

	if (!claim->level || claim->level > MOST_LEVELS || claim->size > MOST_BYTES)
		return 0;
	all = realloc(claims->claim, (claims->n + 1) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	claims->claim = all;
	if (claim->cpus) {
		cpus = strdup(claim->cpus);
		if (!cpus)
			return -ENOMEM;
	}
	all[claims->n] = *claim;
	all[claims->n++].cpus = cpus;
	return 0;
}

int claims_has(const struct sonde_claims *claims, enum sonde_claim_source source)
{
	for (size_t i = 0; i < claims->n; i++)
		if (claims->claim[i].source == source)
			return 1;
	return 0;
}

int claims_explain(struct sonde_claims *claims, enum sonde_claim_source source,
		   const char *fmt, ...)
{
	va_list args;
	int n;

	if (claims->why[source])
		return 0;
	va_start(args, fmt);
	n = vasprintf(&claims->why[source], fmt, args);
	va_end(args);
	if (n >= 0)
		return 0;
	claims->why[source] = NULL;
	return -ENOMEM;
}

int claims_hwloc(struct sonde_claims *claims, const struct sonde_topology *topo, unsigned int cpu)
{
	struct sonde_cache_claim found[MOST_LEVELS];
	int n, err = 0;

	if (!topo)
		return claims_explain(claims, SONDE_CLAIM_HWLOC, "it was not asked");
	n = sonde_topology_caches(topo, cpu, found, MOST_LEVELS);
	if (n < 0)
		return claims_explain(claims, SONDE_CLAIM_HWLOC, "it knows no CPU %u", cpu);
	if (!n)
		return claims_explain(claims, SONDE_CLAIM_HWLOC, "it knows no cache of CPU %u",
				      cpu);
	for (int i = 0; i < n && i < MOST_LEVELS && !err; i++)
		err = claims_add(claims, &found[i]);
	return err;
}

static int explain_cpuid(struct sonde_claims *claims, const char *why)
{
	int err = 0;

	for (int s = SONDE_CLAIM_CPUID_2; s <= SONDE_CLAIM_CPUID_8000001D && !err; s++)
		err = claims_explain(claims, (enum sonde_claim_source)s, "%s", why);
	return err;
}

/* From the folder @root, or from this machine if that is "". */
static int ask_cpuid(struct sonde_claims *claims, const char *root, unsigned int cpu)
{
	struct cpuid_table table;
	char path[PATH_MAX];
	int err;

	if ((size_t)snprintf(path, sizeof(path), "%s/cpuid", root) >= sizeof(path))
		err = -ENAMETOOLONG;
	else
		err = *root ? cpuid_load(&table, path, cpu) : cpuid_read(&table, cpu);
	switch (err) {
	case 0:
		return claims_cpuid(claims, &table);
	case -EOPNOTSUPP:
		return explain_cpuid(claims, "only x86 processors have it");
	case -EPERM:
		return explain_cpuid(claims, "this thread may not run on the CPU");
	case -ENODATA:
		return explain_cpuid(claims, "the recording has nothing of the CPU");
	default:
		return explain_cpuid(claims, strerror(-err));
	}
}

static int by_source(const void *a, const void *b)
{
	const struct sonde_cache_claim *x = a, *y = b;

	if (x->source != y->source)
		return (x->source > y->source) - (x->source < y->source);
	return (x->level > y->level) - (x->level < y->level);
}

int sonde_claims_open(struct sonde_claims **out, const struct sonde_topology *topo,
		      unsigned int cpu)
{
	struct sonde_claims *claims = calloc(1, sizeof(*claims));
	const char *root = secure_getenv("SONDE_CLAIMS_ROOT");
	int err;

	if (!claims)
		return -ENOMEM;
	if (!root)
		root = "";
	err = claims_sysfs(claims, root, cpu);
	if (!err)
		err = ask_cpuid(claims, root, cpu);
	if (!err)
		err = claims_hwloc(claims, topo, cpu);
	if (err) {
		sonde_claims_close(claims);
		return err;
	}
	if (claims->n)
		qsort(claims->claim, claims->n, sizeof(*claims->claim), by_source);
	*out = claims;
	return 0;
}

void sonde_claims_close(struct sonde_claims *claims)
{
	if (!claims)
		return;
	/* cpus is const for readers, but a copy of our own. */
	for (size_t i = 0; i < claims->n; i++)
		free((char *)claims->claim[i].cpus);
	for (int s = 0; s < SONDE_CLAIM_SOURCES; s++)
		free(claims->why[s]);
	free(claims->claim);
	free(claims);
}

const struct sonde_cache_claim *sonde_claims_list(const struct sonde_claims *claims, size_t *n)
{
	*n = claims->n;
	return claims->claim;
}

const char *sonde_claims_why(const struct sonde_claims *claims, enum sonde_claim_source source)
{
	return (unsigned int)source < SONDE_CLAIM_SOURCES ? claims->why[source] : NULL;
}
