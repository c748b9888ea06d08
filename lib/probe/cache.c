// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Cache sizes and latencies from one CPU.
 *
 *  1. Geometry by conflicts (geometry.h): ways, sets and lines of each level.
 *  2. Walk working sets of all sizes, coarsely: the latency curve.
 *  3. Walk one line a page: the cost of translation, to be subtracted.
 *  4. The plateaus of what is left are the levels; the last one is memory.
 *  5. Walk more sizes on each slope between two plateaus, with pages drawn
 *     anew each time, until the time is gone, and fit the capacity: the size of
 *     levels that the first step could not tell.
 *
 * A page drawn at random makes true what Servet has to assume of the operating
 * system: that pages fall into the sets of a physically indexed cache at random.
 * The first level is indexed by virtual addresses, so runs of pages fill it
 * evenly and its edge is sharp.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../recorder.h"
#include "answers.h"
#include "cache.h"
#include "notes.h"
#include "search.h"

/* Shares of the budget. */
#define SHARE_CURVE	0.55
#define SHARE_TLB	0.05
#define SHARE_END	0.95
/* Largest working set where nobody says: beyond the last level of most machines. */
#define DEFAULT_BYTES	(192UL << 20)
/*
 * Sets of a large last level, where no other guest shares it: lines that are alike
 * in all levels above are a few in a thousand. That much is taken only if less
 * was not enough.
 */
#define SETS_BYTES	(2UL << 30)
/* A sweep below this is no sweep: smaller caches than this exist. */
#define LEAST_BYTES	(256UL << 10)

int search_note(struct search *w, const char *fmt, ...)
{
	struct sonde_cache_report *r = w->report;
	va_list args;
	int err;

	va_start(args, fmt);
	err = notes_add(&r->notes, &r->nnotes, fmt, args);
	va_end(args);
	return err;
}

static int copy_curve(struct search *w)
{
	const struct curve *c = &w->curve;
	struct sonde_cache_report *r = w->report;
	double hz[CURVE_POINTS];

	r->points = calloc(c->n, sizeof(*r->points));
	if (!r->points)
		return -ENOMEM;
	for (size_t i = 0; i < c->n; i++) {
		const struct sample *s = &c->sample[i];

		r->points[i] = (struct sonde_cache_point){
			.bytes = (size_t)c->chunks[i] * METER_CHUNK,
			.latency = { s->ns, s->cycles, s->ci },
			.windows = s->windows,
			.discarded = s->discarded,
		};
		hz[i] = s->cycles / s->ns * 1e9;
	}
	r->npoints = c->n;
	sonde_stats_sort(hz, c->n);
	r->core_hz = sonde_stats_median(hz, c->n);
	return 0;
}

static int run_search(struct search *w)
{
	double net[CURVE_POINTS];
	int err;

	w->s->what = "latency curve";
	err = curve_take(w->s, w->options->budget_s * SHARE_CURVE, &w->curve);
	if (err)
		return err;
	w->s->what = "address translation";
	err = curve_translation(w->s, WALK_LINE_SCATTERED, &w->curve,
				w->options->budget_s * SHARE_TLB, &w->translation);
	if (!err)
		err = curve_translation(w->s, WALK_LINE_A_PAGE, &w->curve,
					w->options->budget_s * SHARE_TLB, &w->tlb);
	if (err)
		return err;
	curve_subtract(w->s, &w->curve, &w->translation);
	memcpy(net, w->curve.net, sizeof(net));
	w->nplateaus = plateau_find(w->curve.chunks, net, w->curve.n, w->plateau);
	if (!w->nplateaus)
		return -ENOMEM;
	err = copy_curve(w);
	if (!err)
		err = search_tlb(w);
	return err ? err : search_levels(w, w->options->budget_s * SHARE_END);
}

/* Free memory, or what was asked for. 0 if that is too little for a sweep. */
static size_t choose_bytes(const struct meter *meter, const struct sonde_cache_options *options,
			   size_t unasked)
{
	size_t bytes = options->max_bytes ? options->max_bytes : unasked;

	if (bytes > meter->max_bytes)
		bytes = meter->max_bytes;
	return bytes < LEAST_BYTES ? 0 : bytes / METER_CHUNK * METER_CHUNK;
}

/* As much as can be had: half of what was not to be had, and so on. */
static int open_sampler(struct search *w, struct meter *meter)
{
	size_t bytes = choose_bytes(meter, w->options, DEFAULT_BYTES), asked = bytes;
	int err = -ENOMEM;

	for (; bytes >= LEAST_BYTES; bytes /= 2) {
		err = sampler_open(&w->s, meter, bytes, w->options);
		if (err != -ENOMEM)
			break;
	}
	if (!err && bytes < asked)
		err = search_note(w, "only %zu MiB of %zu MiB memory could be had for the sweep",
			       bytes >> 20, asked >> 20);
	return err;
}

static int try_geometry(struct search *w, struct meter *meter, size_t bytes, struct geometry *g)
{
	struct trial t;
	int err;

	trial_open(&t, meter, w->options->seed);
	trial_offer(&t, w->options->cpu, w->options->alike, w->options->nalike);
	t.progress = w->options->progress;
	t.progress_ctx = w->options->progress_ctx;
	err = geometry_find(&t, bytes, w->options->levels, g);
	w->report->elapsed_s += trial_elapsed(&t);
	w->report->cpu = t.cpus[t.at];
	/* It is begun anew with less, there. */
	if (err == -ENOMEM && t.at && !meter->ops->settle(meter, t.cpus[0]))
		w->report->cpu = t.cpus[0];
	trial_close(&t);
	return err;
}

/* As much memory as can be had; too little for sets is still enough for a curve. */
static int run_geometry(struct search *w, struct meter *meter, struct geometry *g)
{
	size_t unasked = meter->is_guest ? DEFAULT_BYTES : SETS_BYTES;
	size_t bytes = choose_bytes(meter, w->options, unasked);
	size_t least = STRIDE_CHUNKS * METER_CHUNK;
	int err = 0;

	if (bytes < least && !(w->options->budget_s > 0))
		return search_note(w, "sets are looked for in %zu KiB of memory or more; in less, "
				   "only the latency curve can tell a cache", least >> 10);
	for (; bytes >= least; bytes /= 2) {
		err = try_geometry(w, meter, bytes, g);
		if (err != -ENOMEM)
			return err;
	}
	return w->options->budget_s > 0 ? 0 : err;
}

static int run_curve(struct search *w, struct meter *meter)
{
	int err = open_sampler(w, meter);

	if (err)
		return err;
	err = run_search(w);
	w->report->elapsed_s += sampler_elapsed(w->s);
	sampler_close(w->s);
	return err;
}

int probe_cache_with(struct meter *meter, const struct sonde_cache_options *options,
		     struct sonde_cache_report **report)
{
	struct geometry *g;
	struct search *w;
	int err = -ENOMEM;

	if (!(options->budget_s >= 0) || (options->max_bytes && options->max_bytes < LEAST_BYTES))
		return -EINVAL;
	w = calloc(1, sizeof(*w));
	g = calloc(1, sizeof(*g));
	if (w)
		w->report = calloc(1, sizeof(*w->report));
	if (!w || !g || !w->report)
		goto out;
	w->options = options;
	w->report->cpu = options->cpu;
	err = run_geometry(w, meter, g);
	if (!err && options->budget_s > 0)
		err = run_curve(w, meter);
	if (!err)
		err = answers_put(g, w->report);
	if (!err) {
		*report = w->report;
		w->report = NULL;
	}
out:
	if (w)
		sonde_cache_report_free(w->report);
	free(w);
	free(g);
	return err;
}

int probe_cache_here(const struct sonde_clock *clk, const char *name, cache_probe *probe,
		     const struct sonde_cache_options *options, struct sonde_cache_report **report)
{
	struct meter *meter;
	int err = meter_open(&meter, options->meter, clk, options->cpu);

	if (!err)
		err = recorder_cache(options->recorder, name, options, &meter);
	if (err)
		return err;
	err = probe(meter, options, report);
	meter->ops->close(meter);
	return err;
}

int sonde_probe_cache(const struct sonde_clock *clk, const struct sonde_cache_options *options,
		      struct sonde_cache_report **report)
{
	return probe_cache_here(clk, "cache", probe_cache_with, options, report);
}

int sonde_cache_agrees(const struct sonde_cache_level *level,
		       const struct sonde_cache_claim *claim)
{
	if (!claim->size || !level->size)
		return -ENODATA;
	if (claim->size >= level->size_low && claim->size <= level->size_high)
		return 1;
	return level->confidence >= SONDE_CACHE_SURE ? 0 : -ENODATA;
}

static void free_level(struct sonde_cache_level *level)
{
	for (size_t i = 0; i < level->nsweeps; i++)
		free(level->sweeps[i].misses);
	free(level->sweeps);
	free(level->reach.bytes);
	free(level->reach.cycles);
}

void sonde_cache_report_free(struct sonde_cache_report *report)
{
	if (!report)
		return;
	for (size_t i = 0; i < report->nnotes; i++)
		free(report->notes[i]);
	free(report->notes);
	for (size_t i = 0; i < report->nlevels; i++)
		free_level(&report->levels[i]);
	free(report->points);
	free(report->tlb);
	free(report->levels);
	free(report);
}
