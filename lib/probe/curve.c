// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <math.h>
#include <string.h>

#include "curve.h"
#include "ring.h"

/* Each chunk up to here, then so many sizes an octave. */
#define EACH		32
#define OCTAVE		4
/*
 * Above so many chunks half as many and then a quarter: 32 and 128 MiB. These
 * walks are long, and what is there changes slowly.
 */
#define COARSE		8192
#define COARSER		32768
/*
 * Passes over all sizes: what disturbs one size now seldom does so later. Above
 * so many chunks (64 MiB) one is enough: there, walks are long and nothing is
 * decided.
 */
#define PASSES		4
#define ONCE		16384
/* Longest time for one size, in seconds. */
#define POINT_S		0.05
/* Pages of the smallest and the largest walk for translation. */
#define TLB_MIN		8
#define TLB_MAX		16384

static size_t list_sizes(size_t max, double *chunks)
{
	double octave = OCTAVE, size = EACH;
	size_t n = 0;

	for (size_t i = 1; i <= EACH && i <= max; i++)
		chunks[n++] = (double)i;
	while (n < CURVE_POINTS) {
		size *= exp2(1 / octave);
		if (size > (double)max)
			break;
		chunks[n++] = floor(size);
		octave = size < COARSE ? OCTAVE : size < COARSER ? OCTAVE / 2 : OCTAVE / 4;
	}
	return n;
}

/* An order in which neither size nor the walk before tells anything. */
static void shuffle(struct sampler *s, size_t *order, size_t n)
{
	size_t t, j;

	for (size_t i = n; i > 1; i--) {
		j = sonde_rng_below(&s->rng, i);
		t = order[i - 1];
		order[i - 1] = order[j];
		order[j] = t;
	}
}

/*
 * All sizes, every other one first: when the time is gone before all are done,
 * every octave has been looked at. Returns how many those first ones are.
 */
static size_t order_sizes(struct sampler *s, size_t *order, size_t n)
{
	size_t half = (n + 1) / 2;

	for (size_t i = 0; i < n; i++)
		order[i] = i < half ? 2 * i : 2 * (i - half) + 1;
	shuffle(s, order, half);
	shuffle(s, order + half, n - half);
	return half;
}

static void remove_untaken(struct curve *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (!c->sample[i].windows)
			continue;
		c->chunks[n] = c->chunks[i];
		c->sample[n] = c->sample[i];
		c->net[n] = c->sample[n].cycles;
		n++;
	}
	c->n = n;
}

/* Walk one size; the cheaper of this and an earlier walk stays. */
static int take_point(struct sampler *s, struct curve *c, size_t i)
{
	size_t chunks = (size_t)c->chunks[i];
	struct sample sample;
	int err;

	err = sampler_take(s, chunks <= CURVE_RUN ? WALK_RUN : WALK_SCATTERED, chunks, POINT_S,
			   &sample);
	if (!err && (!c->sample[i].windows || sample.cycles < c->sample[i].cycles))
		c->sample[i] = sample;
	return err;
}

int curve_take(struct sampler *s, double seconds, struct curve *c)
{
	double end = sampler_elapsed(s) + seconds;
	size_t order[CURVE_POINTS], must, i;
	int err;

	memset(c, 0, sizeof(*c));
	c->n = list_sizes(s->nchunks, c->chunks);
	for (unsigned int pass = 0; pass < PASSES; pass++) {
		must = order_sizes(s, order, c->n);
		for (size_t k = 0; k < c->n; k++) {
			i = order[k];
			if (pass && c->chunks[i] > ONCE)
				continue;
			if ((pass || k >= must) && c->chunks[i] > EACH && sampler_elapsed(s) > end)
				continue;
			err = take_point(s, c, i);
			if (err)
				return err;
		}
		if (sampler_elapsed(s) > end)
			break;
	}
	remove_untaken(c);
	return 0;
}

/* @y at @at, on straight lines over log @x; level beyond the ends. */
static double interpolate(const double *x, const double *y, size_t n, double at)
{
	size_t i = 1;

	if (!n || at <= x[0])
		return n ? y[0] : 0;
	if (at >= x[n - 1])
		return y[n - 1];
	while (x[i] < at)
		i++;
	return y[i - 1] + (y[i] - y[i - 1]) * log(at / x[i - 1]) / log(x[i] / x[i - 1]);
}

double curve_at(const struct curve *c, double chunks)
{
	return interpolate(c->chunks, c->net, c->n, chunks);
}

int curve_translation(struct sampler *s, enum walk_kind kind, const struct curve *dense,
		      double seconds, struct curve *c)
{
	double end = sampler_elapsed(s) + seconds;
	size_t most = s->nchunks / (s->meter->page_size / METER_CHUNK), order[CURVE_POINTS];
	double size = TLB_MIN;
	int err;

	if (most > TLB_MAX)
		most = TLB_MAX;
	for (c->n = 0; size <= (double)most; size *= exp2(1.0 / OCTAVE))
		c->chunks[c->n++] = floor(size);
	order_sizes(s, order, c->n);
	for (size_t k = 0; k < c->n; k++) {
		size_t i = order[k];
		double left = end - sampler_elapsed(s);

		err = sampler_take(s, kind, (size_t)c->chunks[i],
				   fmin(fmax(left, 0) / (double)(c->n - k), POINT_S), &c->sample[i]);
		if (err)
			return err;
		c->net[i] = fmax(0, c->sample[i].cycles -
				 curve_at(dense, c->chunks[i] / METER_CHUNK_LINES));
	}
	return 0;
}

double translation_cost(const struct sampler *s, const struct curve *translation, double chunks)
{
	double pages = chunks / (double)(s->meter->page_size / METER_CHUNK);

	return interpolate(translation->chunks, translation->net, translation->n, pages) /
	       RING_VISIT;
}

void curve_subtract(const struct sampler *s, struct curve *c, const struct curve *translation)
{
	for (size_t i = 0; i < c->n; i++)
		c->net[i] = c->sample[i].cycles - translation_cost(s, translation, c->chunks[i]);
}
