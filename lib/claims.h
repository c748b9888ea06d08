/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside the library: what the sources of claims share. */
#ifndef SONDE_LIB_CLAIMS_H
#define SONDE_LIB_CLAIMS_H

#include <sonde/claims.h>
#include "cpuid.h"

/**
 * struct sonde_claims - what was claimed of a CPU
 * @claim: @n claims, each with its own copy of cpus
 * @why: of each source, why it says nothing; NULL if it does or was not asked
 */
struct sonde_claims {
	struct sonde_cache_claim *claim;
	size_t n;
	char *why[SONDE_CLAIM_SOURCES];
};

/* A claim more, copied; one that can be of no machine is left out. 0, -ENOMEM. */
int claims_add(struct sonde_claims *claims, const struct sonde_cache_claim *claim);

/* Why @source says nothing; the first reason stays. 0, -ENOMEM. */
__attribute__((format(printf, 3, 4)))
int claims_explain(struct sonde_claims *claims, enum sonde_claim_source source,
		   const char *fmt, ...);

/* Whether @source made a claim. */
int claims_has(const struct sonde_claims *claims, enum sonde_claim_source source);

/*
 * What a source says. @root is in front of sysfs's paths, "" for the real ones.
 * 0, also if it says nothing; -ENOMEM.
 */
int claims_sysfs(struct sonde_claims *claims, const char *root, unsigned int cpu);
int claims_cpuid(struct sonde_claims *claims, const struct cpuid_table *table);
int claims_descriptors(struct sonde_claims *claims, const struct cpuid_table *table);
int claims_hwloc(struct sonde_claims *claims, const struct sonde_topology *topo,
		 unsigned int cpu);

#endif
