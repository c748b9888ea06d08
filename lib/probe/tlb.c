// SPDX-License-Identifier: LGPL-2.1-or-later
/* Steps in the cost of address translation. */
#include <errno.h>
#include <stdlib.h>

#include "search.h"

#define TLB_ROOM	3
/* Costs are the same if the larger one is no more than this. */
#define TLB_SAME	1.1

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

int search_tlb(struct search *w)
{
	double pages[CURVE_POINTS], cost[CURVE_POINTS];
	struct plateau p[PLATEAU_MAX];
	size_t n;

	n = plateau_find(pages, cost, comparable(w, w->plateau[0].cost, pages, cost), p);
	w->report->tlb = calloc(PLATEAU_MAX, sizeof(*w->report->tlb));
	if (!w->report->tlb)
		return -ENOMEM;
	for (size_t i = 0; i + 1 < n; i++)
		w->report->tlb[w->report->ntlb++] = (struct sonde_tlb_step){
			(unsigned int)pages[p[i].last], p[i + 1].cost - p[i].cost,
		};
	return 0;
}

