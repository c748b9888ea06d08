// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Servet's caches of one CPU (section 2.1): the curve, the first peak for the
 * first level, and for each later rise either its peak, if there is only one
 * gradient above 1 (the operating system colours pages, or the cache is indexed
 * by virtual addresses), or else the probabilistic estimate.
 *
 * The paper speaks of a second and a third level; every rise to a cost not seen
 * before is taken for one here, whether a cache or the TLB or a neighbour made it. It names no
 * confidence, latency or associativity: the confidence is 1, since the method
 * always answers; the latency is the hit time of figure 3; the associativity
 * that goes with an estimate is left out, as in the paper.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cache.h"
#include "notes.h"
#include "servet.h"

/* As for the other probe: below this there is nothing to be seen. */
#define LEAST_BYTES	(256UL << 10)

/* Level of @size whose hits cost what point @hit does. */
static int add_level(struct sonde_cache_report *r, const struct servet_curve *c, double size,
		     size_t hit)
{
	struct sonde_cache_level *levels = realloc(r->levels,
						   (r->nlevels + 1) * sizeof(*levels));
	uint64_t bytes = (uint64_t)size;

	if (!levels)
		return -ENOMEM;
	r->levels = levels;
	levels[r->nlevels] = (struct sonde_cache_level){
		.level = (unsigned int)r->nlevels + 1,
		.type = r->nlevels ? SONDE_CACHE_UNIFIED : SONDE_CACHE_DATA,
		.size = bytes,
		.size_low = bytes,
		.size_high = bytes,
		.latency = c->point[hit].latency,
		.confidence = 1,
		.method = SONDE_METHOD_SERVET,
	};
	r->nlevels++;
	return 0;
}

static size_t find_cheapest(const struct servet_curve *c, size_t first, size_t last)
{
	size_t least = first;

	for (size_t i = first; i <= last; i++)
		if (c->cycles[i] < c->cycles[least])
			least = i;
	return least;
}

static double choose_size(const struct servet_curve *c, const struct servet_range *range,
			  size_t page)
{
	if (range->risen == 1)
		return c->size[range->peak];
	return servet_estimate(c->size + range->first, c->cycles + range->first,
			       range->last - range->first + 1, page, NULL);
}

/*
 * Rises for as long as there are any; but what costs no more than the level
 * before is that level, seen again after something disturbed a walk.
 */
static int find_levels(const struct servet_curve *c, size_t page, struct sonde_cache_report *r)
{
	size_t peak = servet_first_peak(c->cycles, c->n), from = peak + 1, hit;
	struct servet_range range;
	int err;

	if (peak == c->n)
		return notes_say(&r->notes, &r->nnotes,
				 "the cost never rises, so Servet sees no cache");
	err = add_level(r, c, c->size[peak], find_cheapest(c, 0, peak));
	for (; !err && servet_next_range(c->cycles, c->n, from, &range); from = range.last) {
		hit = find_cheapest(c, range.first, range.last);
		if (c->cycles[hit] > r->levels[r->nlevels - 1].latency.cycles * SERVET_PEAK)
			err = add_level(r, c, choose_size(c, &range, page), hit);
	}
	return err;
}

static int fill_report(struct meter *m, struct servet_curve *c, size_t max,
		       struct sonde_cache_report *r)
{
	int err = notes_say(&r->notes, &r->nnotes,
			    "the method is Servet's: it always answers and knows no doubt, so "
			    "confidence 1 says nothing");

	if (!err && c->n < servet_sizes(max, NULL))
		err = notes_say(&r->notes, &r->nnotes,
				"the time was over at %.0f MiB: larger caches are not seen",
				c->size[c->n - 1] / (1 << 20));
	if (!err)
		err = find_levels(c, m->page_size, r);
	r->core_hz = c->core_hz;
	r->points = c->point;
	r->npoints = c->n;
	c->point = NULL;
	return err;
}

static size_t choose_bytes(const struct meter *m, const struct sonde_cache_options *options)
{
	size_t bytes = options->max_bytes ? options->max_bytes : SERVET_MAX;

	return (bytes < m->max_bytes ? bytes : m->max_bytes) / METER_CHUNK * METER_CHUNK;
}

int probe_servet_with(struct meter *m, const struct sonde_cache_options *options,
		      struct sonde_cache_report **report)
{
	struct sonde_cache_report *r;
	double begin = m->ops->now(m);
	struct servet_curve c;
	size_t max = choose_bytes(m, options);
	int err;

	if (!(options->budget_s > 0) || (options->max_bytes && options->max_bytes < LEAST_BYTES))
		return -EINVAL;
	if (max < LEAST_BYTES)
		return -ENOMEM;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->cpu = options->cpu;
	/* As much as can be had. */
	while ((err = servet_calibrate(m, options, max, &c)) == -ENOMEM &&
	       max / 2 >= LEAST_BYTES) {
		servet_curve_free(&c);
		max = max / 2 / METER_CHUNK * METER_CHUNK;
	}
	if (!err)
		err = fill_report(m, &c, max, r);
	servet_curve_free(&c);
	r->elapsed_s = m->ops->now(m) - begin;
	if (err)
		sonde_cache_report_free(r);
	else
		*report = r;
	return err;
}

int sonde_servet_cache(const struct sonde_clock *clk, const struct sonde_cache_options *options,
		       struct sonde_cache_report **report)
{
	return probe_cache_here(clk, "servet", probe_servet_with, options, report);
}
