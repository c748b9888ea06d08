// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Figure 1 of Servet, mcalibrator: the mean cost of a load over the size of the
 * array, walked from its begin to its end in steps of 1 KiB.
 *
 * The paper's loop reads the length of the next step from the array, so that
 * each load waits for the one before and no compiler can do away with it: the
 * same as a chase along a cycle in ascending order. It fills the whole array
 * first; the chase writes only what it will visit, which leaves the visited
 * lines in the same state. One array is used for all sizes.
 *
 * Left open by the paper, and chosen here: the smallest size (4 KiB, a page) and
 * the largest (256 MiB, or the caller's, and half of the free memory at most);
 * how often an array is walked: once, or as often as fills LEAST_LOADS, without
 * which a walk of four loads would be a measurement of the clock. The mean is
 * over all of it, interruptions included, as published.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "servet.h"

#define LEAST_LOADS	8192
/* Parts of a walk, whose spread gives the mean's interval. */
#define PARTS		8
/* Standard errors of a 95 % interval, for so few parts (Student, 7 degrees). */
#define STUDENT		2.365

size_t servet_sizes(size_t max, double *size)
{
	size_t n = 0;

	for (size_t i = SERVET_MIN; i <= max; i = i < SERVET_OCTAVES ? 2 * i : i + (1UL << 20)) {
		if (size)
			size[n] = (double)i;
		n++;
	}
	return n;
}

void servet_curve_free(struct servet_curve *c)
{
	free(c->size);
	free(c->cycles);
	free(c->point);
}

static int make_room(struct servet_curve *c, size_t n)
{
	c->size = calloc(n, sizeof(*c->size));
	c->cycles = calloc(n, sizeof(*c->cycles));
	c->point = calloc(n, sizeof(*c->point));
	return c->size && c->cycles && c->point ? 0 : -ENOMEM;
}

/* The parts of a walk as one point: means, and what they spread. */
static void summarize(const struct meter *m, const struct meter_window *w, unsigned int steps,
		      struct sonde_cache_point *out)
{
	double cycles[PARTS], mean = 0, ns = 0, square = 0, half;

	for (size_t i = 0; i < PARTS; i++) {
		double ticks = (double)w[i].ticks / steps;

		cycles[i] = ticks * m->chain_cycles / (double)w[i].chain;
		mean += cycles[i] / PARTS;
		ns += ticks * m->tick_ns / PARTS;
	}
	for (size_t i = 0; i < PARTS; i++)
		square += (cycles[i] - mean) * (cycles[i] - mean);
	half = STUDENT * sqrt(square / (PARTS - 1) / PARTS);
	out->latency = (struct sonde_latency){
		.ns = ns,
		.cycles = mean,
		.cycles_ci = { fmax(mean - half, 0), mean + half },
	};
	out->windows = PARTS;
}

static void take_size(struct meter *m, uint32_t *places, struct sonde_cache_point *out)
{
	size_t n = out->bytes / SERVET_STRIDE;
	size_t loads = n < LEAST_LOADS ? LEAST_LOADS : n;
	unsigned int steps = (unsigned int)(loads / PARTS / METER_UNROLL * METER_UNROLL);
	struct meter_window w[PARTS];

	for (size_t i = 0; i < n; i++)
		places[i] = (uint32_t)(i * (SERVET_STRIDE / METER_PLACE));
	m->ops->link(m, places, n);
	m->ops->chase(m, 0, steps, w, PARTS);
	summarize(m, w, steps, out);
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median_hz(const struct servet_curve *c)
{
	double *hz = calloc(c->n, sizeof(*hz)), median = 0;

	for (size_t i = 0; hz && i < c->n; i++)
		hz[i] = c->point[i].latency.cycles / c->point[i].latency.ns * 1e9;
	if (hz) {
		qsort(hz, c->n, sizeof(*hz), compare);
		median = sonde_stats_median(hz, c->n);
	}
	free(hz);
	return median;
}

/* A size takes a time in proportion to itself, and those before it to its square. */
static int report_progress(const struct sonde_cache_options *o, double size, double max)
{
	double done = size / max;

	return o->progress && o->progress(o->progress_ctx, done * done, "Servet's mcalibrator") ?
	       -ECANCELED : 0;
}

static int take_sizes(struct meter *m, const struct sonde_cache_options *o, size_t n,
		      uint32_t *places, struct servet_curve *c)
{
	double begin = m->ops->now(m);
	int err;

	for (size_t i = 0; i < n; i++) {
		err = report_progress(o, c->size[i], c->size[n - 1]);
		if (err)
			return err;
		if (i && m->ops->now(m) - begin > o->budget_s)
			break;
		c->point[i].bytes = (size_t)c->size[i];
		take_size(m, places, &c->point[i]);
		c->cycles[i] = c->point[i].latency.cycles;
		c->n = i + 1;
	}
	c->core_hz = median_hz(c);
	return 0;
}

int servet_calibrate(struct meter *m, const struct sonde_cache_options *options, size_t max,
		     struct servet_curve *c)
{
	size_t n = servet_sizes(max, NULL);
	uint32_t *places;
	int err;

	*c = (struct servet_curve){ 0 };
	if (!n)
		return -EINVAL;
	places = malloc(max / SERVET_STRIDE * sizeof(*places));
	err = places ? make_room(c, n) : -ENOMEM;
	if (!err)
		err = m->ops->pages(m, max / METER_CHUNK);
	if (!err) {
		servet_sizes(max, c->size);
		err = take_sizes(m, options, n, places, c);
	}
	free(places);
	return err;
}
