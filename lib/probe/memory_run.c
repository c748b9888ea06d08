// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * memory_run - one run of streams on several CPUs, and what several runs add up to
 *
 * A rate is that of all windows that count together, not of the best: what
 * bandwidth a program gets is a mean over time. What was interrupted does not
 * count, so neighbours on the CPU are not in it; neighbours in memory are.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "overlap.h"

/* Fewer windows are no rate. */
#define KEPT_LEAST	8
/* As the options say of 0. */
#define DEFAULT_CACHE	((size_t)32 << 20)
/* Times the largest cache: STREAM's rule. */
#define CACHES		4
#define BYTES_LEAST	((size_t)8 << 20)
/* Of the intervals. */
#define LEVEL		0.95
#define RESAMPLES	500

static int tick(struct memory *p)
{
	const struct sonde_memory_options *o = p->options;

	if (!o->progress)
		return 0;
	return o->progress(o->progress_ctx, p->done < 1 ? p->done : 1, p->what) ? -ECANCELED : 0;
}

size_t memory_bytes(const struct memory *p, size_t n)
{
	size_t cache = p->options->cache_bytes ? p->options->cache_bytes : DEFAULT_CACHE;
	size_t most = p->options->max_bytes, bytes;

	if (!most || most > p->meter->max_bytes / 2)
		most = p->meter->max_bytes / 2;
	bytes = cache < SIZE_MAX / CACHES ? CACHES * cache : SIZE_MAX;
	bytes = bytes < most / n ? bytes : most / n;
	return bytes & ~(BYTES_LEAST / 4 - 1);
}

void memory_set_lane(struct memory *p, size_t i, unsigned int cpu, enum sonde_stream kind,
		     size_t bytes)
{
	p->lanes[i] = (struct meter_stream){
		.cpu = cpu,
		.kind = kind,
		.node = -1,
		.pages = SONDE_PAGES_BASE,
		.bytes = bytes,
		.out = p->windows + i * MEMORY_WINDOWS,
		.nout = MEMORY_WINDOWS,
	};
}

/* Units a second of the windows in p->kept. */
static double get_rate(const struct memory *p, const struct meter_stream *lane, size_t kept)
{
	double unit = lane->kind == STREAM_CHASE ? STREAM_LOADS : (double)STREAM_WINDOW, ticks = 0;

	for (size_t i = 0; i < kept; i++)
		ticks += (double)p->kept[i].ticks;
	return unit * (double)kept / (ticks * p->meter->tick_ns * 1e-9);
}

static int rate_lanes(struct memory *p, size_t n, double *rate, size_t *kept)
{
	struct overlap_lane *lanes = calloc(n, sizeof(*lanes));
	int err = lanes ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++)
		lanes[i] = (struct overlap_lane){ p->lanes[i].out, p->lanes[i].nout };
	if (!err)
		err = overlap_forget_gaps(lanes, n);
	for (size_t i = 0; i < n && !err; i++) {
		size_t k = overlap_keep(lanes, n, i, p->kept);

		rate[i] = k < KEPT_LEAST ? NAN : get_rate(p, &p->lanes[i], k);
		*kept += k;
	}
	free(lanes);
	return err;
}

int memory_run(struct memory *p, size_t n, double *rate, size_t *kept)
{
	int err = tick(p);

	*kept = 0;
	if (!err)
		err = p->meter->ops->stream(p->meter, p->lanes, n);
	if (!err)
		return rate_lanes(p, n, rate, kept);
	for (size_t i = 0; i < n; i++)
		rate[i] = NAN;
	/* Lanes that did not come together in time are no word, not a failure. */
	return err == -EAGAIN ? 0 : err;
}

void memory_add(struct memory_rounds *r, double x, size_t windows, size_t kept)
{
	r->windows += windows;
	r->kept += kept;
	if (isfinite(x) && r->n < MEMORY_TRIES)
		r->x[r->n++] = x;
}

struct sonde_memory_rate memory_rate(struct memory_rounds *r)
{
	struct sonde_memory_rate rate = { .rounds = r->n };

	if (r->windows)
		rate.discarded = 1 - (double)r->kept / (double)r->windows;
	if (!r->n)
		return rate;
	sonde_stats_sort(r->x, r->n);
	rate.bytes_s = sonde_stats_median(r->x, r->n);
	rate.ci = (struct sonde_interval){ r->x[0], r->x[r->n - 1] };
	/* Of few values the extremes are the interval; without memory they are it too. */
	sonde_stats_quantile_ci(r->x, r->n, 0.5, LEVEL, RESAMPLES, 1, &rate.ci);
	return rate;
}
