// SPDX-License-Identifier: LGPL-2.1-or-later
/* Steps in the cost of address translation. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "search.h"

#define TLB_ROOM	3
/* Costs are the same if the larger one is no more than this. */
#define TLB_SAME	1.1
/*
 * Sets overflow one after the other, so a step is as wide as there are sets: it
 * is taken to be where the first quarter is done.
 */
#define STEP_BEGUN	0.25
/* Seconds a walk on a step, and how finely large steps are told. */
#define STEP_S		0.005
#define STEP_PART	64

/*
 * Lines a page apart drag in more of their neighbours than lines side by side,
 * so the two can be compared only where TLB_ROOM times as many lines cost the
 * same: away from the edges of caches.
 */
static size_t comparable(const struct search *w, double base, double *pages, double *cost)
{
	const struct curve *c = &w->tlb;
	double near, far;
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		near = curve_at(&w->curve, c->chunks[i] / METER_CHUNK_LINES);
		far = curve_at(&w->curve, TLB_ROOM * c->chunks[i] / METER_CHUNK_LINES);
		if (far > near * TLB_SAME)
			continue;
		pages[n] = c->chunks[i];
		cost[n++] = base + c->net[i];
	}
	return n;
}

/* What a load costs with one line in each of @pages pages, caches aside. */
static int walk_pages(struct search *w, double pages, double *cost)
{
	struct sample sample;
	int err = sampler_take(w->s, WALK_LINE_A_PAGE, (size_t)pages, STEP_S, &sample);

	if (!err)
		*cost = w->plateau[0].cost + sample.cycles -
			curve_at(&w->curve, pages / METER_CHUNK_LINES);
	return err;
}

/*
 * The step between @low pages, which fit, and @high, which do not: where the
 * cost passes @level.
 */
static int bisect_step(struct search *w, double low, double high, double level, double *pages)
{
	double middle, cost = 0;
	int err;

	while (high - low > 1 + low / STEP_PART) {
		middle = floor((low + high) / 2);
		err = walk_pages(w, middle, &cost);
		if (err)
			return err;
		*(cost > level ? &high : &low) = middle;
	}
	*pages = low;
	return 0;
}

int search_tlb(struct search *w)
{
	double pages[CURVE_POINTS], cost[CURVE_POINTS], fit;
	struct plateau p[PLATEAU_MAX];
	size_t n;
	int err;

	n = plateau_find(pages, cost, comparable(w, w->plateau[0].cost, pages, cost), p);
	w->report->tlb = calloc(PLATEAU_MAX, sizeof(*w->report->tlb));
	if (!w->report->tlb)
		return -ENOMEM;
	for (size_t i = 0; i + 1 < n; i++) {
		err = bisect_step(w, pages[p[i].last], pages[p[i + 1].first],
				  p[i].cost + STEP_BEGUN * (p[i + 1].cost - p[i].cost), &fit);
		if (err)
			return err;
		w->report->tlb[w->report->ntlb++] = (struct sonde_tlb_step){
			(unsigned int)fit, p[i + 1].cost - p[i].cost,
		};
	}
	return 0;
}
