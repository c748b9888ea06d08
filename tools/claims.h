/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Claims of many sources set beside each other, and where they differ. */
#ifndef SONDE_TOOLS_CLAIMS_H
#define SONDE_TOOLS_CLAIMS_H

#include "measure.h"

#define SOURCES_LEN	128
#define HEADLINE_LEN	512

/**
 * struct claim_group - sources that say the same of a level
 * @claim: what they say; what one of them does not know another does
 * @sources: bit N for source N
 */
struct claim_group {
	struct sonde_cache_claim claim;
	unsigned int sources;
};

/* Those of one level, at most SONDE_CLAIM_SOURCES. Return: how many. */
size_t group_claims(const struct machine *m, unsigned int level,
		    struct claim_group groups[SONDE_CLAIM_SOURCES]);

/* "sysfs, CPUID 4 and hwloc"; with @last ", " in place of " and ". */
char *name_sources(char buf[SOURCES_LEN], unsigned int sources, const char *last);

/**
 * struct headline - a disagreement about one level in one sentence
 */
struct headline {
	char text[HEADLINE_LEN];
};

/*
 * Where claims contradict each other or what was measured, nearest level first;
 * to be freed. Return: how many, -ENOMEM.
 */
int find_headlines(const struct machine *m, struct headline **headlines);

#endif
