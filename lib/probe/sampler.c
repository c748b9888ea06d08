// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "ring.h"
#include "sampler.h"

/* Windows between two looks at the watch; their chains give one core clock. */
#define BATCH		32
/* Seconds to watch for gaps. */
#define WATCH_S		0.02
/* A window is this long, or shorter where gaps are frequent. */
#define WINDOW_NS	20000.0
#define WINDOW_MIN_NS	4000.0
/* One window in so many may hit a gap. */
#define GAP_SHARE	0.1
/* A window this much above the batch's median, and by a gap's length, was hit. */
#define GAP_FACTOR	1.3
#define GAP_NS		1000.0
/* Half the interval over the value: good enough. */
#define PRECISION	0.003
/*
 * Loads before anything is kept: two turns of what may fit in a cache, so that
 * replacement has settled and stores are written back; linking a larger set was
 * a turn of its own, and a part of another one writes back enough.
 */
#define WARM_MAX	(1 << 20)

double sampler_elapsed(const struct sampler *s)
{
	return s->meter->ops->now(s->meter) - s->begin;
}

int sampler_tick(struct sampler *s)
{
	double done = sampler_elapsed(s) / s->budget_s;

	if (s->progress && s->progress(s->progress_ctx, done < 1 ? done : 1, s->what))
		return -ECANCELED;
	return 0;
}

static double choose_window(struct meter *meter)
{
	double gaps = meter->ops->gaps(meter, WATCH_S);
	double ns = gaps > 0 ? GAP_SHARE / gaps * 1e9 : WINDOW_NS;

	return fmin(fmax(ns, WINDOW_MIN_NS), WINDOW_NS);
}

int sampler_open(struct sampler **sampler, struct meter *meter, size_t bytes,
		 const struct sonde_cache_options *options)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		return -ENOMEM;
	s->meter = meter;
	s->nchunks = bytes / METER_CHUNK;
	s->drawn = malloc(s->nchunks * sizeof(*s->drawn));
	s->lines = malloc(s->nchunks * METER_CHUNK_LINES * sizeof(*s->lines));
	if (!s->drawn || !s->lines)
		goto fail;
	err = meter->ops->pages(meter, s->nchunks);
	if (err)
		goto fail;
	sonde_rng_seed(&s->rng, options->seed);
	s->budget_s = options->budget_s;
	s->progress = options->progress;
	s->progress_ctx = options->progress_ctx;
	s->what = "starting";
	s->begin = meter->ops->now(meter);
	s->window_ns = choose_window(meter);
	*sampler = s;
	return 0;
fail:
	sampler_close(s);
	return err;
}

void sampler_close(struct sampler *s)
{
	if (!s)
		return;
	free(s->lines);
	free(s->drawn);
	free(s);
}

/*
 * @n units (of @unit chunks each) to s->drawn: the first chunk of each, either
 * a run or a random subset of a longer run. The run begins anywhere.
 */
static void draw(struct sampler *s, size_t n, size_t unit, int scattered)
{
	size_t units = s->nchunks / unit, span = scattered ? n * SAMPLER_SPREAD : n, first, j;
	uint32_t t;

	if (span > units)
		span = units;
	first = sonde_rng_below(&s->rng, units - span + 1);
	for (size_t i = 0; i < span; i++)
		s->drawn[i] = (uint32_t)((first + i) * unit);
	for (size_t i = 0; scattered && i < n; i++) {
		j = i + sonde_rng_below(&s->rng, span - i);
		t = s->drawn[i];
		s->drawn[i] = s->drawn[j];
		s->drawn[j] = t;
	}
}

/* How many lines there are in the walk that now is linked. */
static size_t link_walk(struct sampler *s, enum walk_kind kind, size_t n)
{
	int sweeps = kind == WALK_RUN || kind == WALK_SCATTERED;
	int scattered = kind == WALK_SCATTERED || kind == WALK_LINE_SCATTERED;
	size_t lines = sweeps ? n * METER_CHUNK_LINES : n;

	draw(s, n, sweeps ? 1 : s->meter->page_size / METER_CHUNK, scattered);
	(sweeps ? ring_sweeps : ring_one_a_page)(&s->rng, s->drawn, n, s->lines);
	for (size_t i = 0; i < lines; i++)
		s->lines[i] *= METER_LINE_PLACES;
	s->meter->ops->link(s->meter, s->lines, lines);
	return lines;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median_ticks(const struct meter_window *w, size_t n, int of_chain)
{
	double x[BATCH];

	for (size_t i = 0; i < n; i++)
		x[i] = (double)(of_chain ? w[i].chain : w[i].ticks);
	qsort(x, n, sizeof(*x), compare);
	return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

/* Windows of a batch that nothing interrupted go to s->cycles and s->ns. */
static size_t keep_windows(struct sampler *s, const struct meter_window *w, size_t n,
			   unsigned int steps, size_t kept)
{
	double chain = median_ticks(w, n, 1), typical = median_ticks(w, n, 0);
	double gap = GAP_NS / s->meter->tick_ns;
	double ticks;

	for (size_t i = 0; i < n && kept < SAMPLER_WINDOWS; i++) {
		ticks = (double)w[i].ticks;
		if (ticks > typical * GAP_FACTOR && ticks > typical + gap)
			continue;
		s->cycles[kept] = ticks / steps * s->meter->chain_cycles / chain;
		s->ns[kept++] = ticks / steps * s->meter->tick_ns;
	}
	return kept;
}

/*
 * Interval of the lower quartile from the order statistics around it: needs no
 * assumption about the distribution (David and Nagaraja 2003, section 7.1).
 */
static struct sonde_interval quartile_interval(const double *sorted, size_t n)
{
	double rank = 0.25 * (double)n, half = 1.96 * sqrt(0.25 * 0.75 * (double)n);
	double low = fmax(floor(rank - half), 0), high = fmin(ceil(rank + half), (double)n - 1);

	return (struct sonde_interval){ sorted[(size_t)low], sorted[(size_t)high] };
}

static void summarize(struct sampler *s, size_t kept, size_t taken, struct sample *out)
{
	qsort(s->cycles, kept, sizeof(*s->cycles), compare);
	qsort(s->ns, kept, sizeof(*s->ns), compare);
	*out = (struct sample){
		.cycles = sonde_stats_quantile(s->cycles, kept, 0.25),
		.floor = sonde_stats_quantile(s->cycles, kept, 0.10),
		.ns = sonde_stats_quantile(s->ns, kept, 0.25),
		.ci = quartile_interval(s->cycles, kept),
		.windows = (unsigned int)kept,
		.discarded = 1 - (double)kept / (double)taken,
	};
}

/* Loads that fill a window, from what the last batch took. */
static unsigned int fit_steps(const struct sampler *s, const struct meter_window *w, size_t n,
			      unsigned int steps)
{
	double ns = median_ticks(w, n, 0) / steps * s->meter->tick_ns;
	double want = s->window_ns / fmax(ns, 0.1);

	steps = (unsigned int)fmin(fmax(want, 4 * METER_UNROLL), 1 << 16);
	return steps / METER_UNROLL * METER_UNROLL;
}

int sampler_take(struct sampler *s, enum walk_kind kind, size_t n, double seconds,
		 struct sample *out)
{
	struct meter_window w[BATCH];
	size_t lines = link_walk(s, kind, n), kept = 0, taken = 0;
	size_t warm = 2 * lines < WARM_MAX ? 2 * lines : WARM_MAX;
	unsigned int steps = 256;
	double end;
	int err;

	/* The first batch only tells how long a load takes. */
	s->meter->ops->chase(s->meter, (warm + METER_UNROLL - 1) / METER_UNROLL * METER_UNROLL,
			     steps, w, BATCH);
	steps = fit_steps(s, w, BATCH, steps);
	end = sampler_elapsed(s) + seconds;
	do {
		err = sampler_tick(s);
		if (err)
			return err;
		s->meter->ops->chase(s->meter, 0, steps, w, BATCH);
		kept = keep_windows(s, w, BATCH, steps, kept);
		taken += BATCH;
		/* At least a turn, so that every page has been counted. */
		if (taken * steps < lines)
			continue;
		summarize(s, kept, taken, out);
		if (taken >= 3 * BATCH && out->ci.high - out->ci.low < 2 * PRECISION * out->cycles)
			return 0;
	} while (kept < SAMPLER_WINDOWS && (sampler_elapsed(s) < end || kept < BATCH));
	summarize(s, kept, taken, out);
	return 0;
}
