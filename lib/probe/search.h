/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the steps of the cache probe share: see cache.c for their order. */
#ifndef SONDE_LIB_PROBE_SEARCH_H
#define SONDE_LIB_PROBE_SEARCH_H

#include <sonde/probe.h>
#include "curve.h"
#include "plateau.h"
#include "sampler.h"

/**
 * struct search - a cache probe at work
 * @s: walks
 * @options: the caller's
 * @curve: cost of a load over the size of the working set
 * @translation: what translation adds, of pages drawn as those of the curve
 * @tlb: the same of pages side by side, whose steps are sharp
 * @plateau: the @nplateaus level stretches of the curve
 * @report: what is found goes here
 */
struct search {
	struct sampler *s;
	const struct sonde_cache_options *options;
	struct curve curve, translation, tlb;
	struct plateau plateau[PLATEAU_MAX];
	size_t nplateaus;
	struct sonde_cache_report *report;
};

/* A sentence for whoever reads the report. 0, -ENOMEM. */
__attribute__((format(printf, 2, 3)))
int search_note(struct search *w, const char *fmt, ...);

/* Steps in the cost of translation, to the report. 0, -ECANCELED, -ENOMEM. */
int search_tlb(struct search *w);

/*
 * Levels of cache and memory from the plateaus, to the report; walks on the
 * slopes between them until @end_s seconds after the begin. 0, -ECANCELED,
 * -ENOMEM.
 */
int search_levels(struct search *w, double end_s);

#endif
