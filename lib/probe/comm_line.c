// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * comm_line - what a load of a line costs that another CPU has just stored to
 *
 * One CPU makes a ring, which stores to each of its lines; the other one goes along
 * it, once: each load waits for the one before. As in handover.c the reader has used
 * another line of each page just before, so that a first read is not the first
 * translation; only one line of each two is used, as fetching one may bring the other;
 * and nobody sleeps between the two. Unlike there nothing is written back before: it
 * is the hand-over of a changed line that programs wait for when they communicate.
 *
 * The value is the mean of both directions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../meter.h"
#include "comm.h"
#include "shuffle.h"

/* Little enough for any first level. */
#define CHUNKS		32
#define PER_CHUNK	4
#define LINES		(CHUNKS * PER_CHUNK)
#define STEPS		METER_UNROLL
#define STRETCHES	(LINES / STEPS)

struct carrier {
	struct comm_carrier base;
	struct meter *meter;
	struct sonde_rng rng;
	int has_pages;
	struct meter_window windows[STRETCHES];
};

/* Of each chunk PER_CHUNK even lines, but for the first, which is the translation's. */
static void draw_lines(struct carrier *c, uint32_t *lines)
{
	uint32_t pairs[METER_CHUNK_LINES / 2 - 1];

	for (uint32_t i = 0; i < METER_CHUNK_LINES / 2 - 1; i++)
		pairs[i] = i + 1;
	for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
		shuffle(&c->rng, pairs, METER_CHUNK_LINES / 2 - 1);
		for (uint32_t i = 0; i < PER_CHUNK; i++)
			lines[chunk * PER_CHUNK + i] = (chunk * METER_CHUNK_LINES + 2 * pairs[i]) *
						       METER_LINE_PLACES;
	}
	shuffle(&c->rng, lines, LINES);
}

static int warm_reader(struct carrier *c, unsigned int cpu)
{
	struct meter *m = c->meter;
	uint32_t firsts[CHUNKS];
	int err = m->ops->move(m, cpu);

	if (err)
		return err;
	for (uint32_t i = 0; i < CHUNKS; i++)
		firsts[i] = i * METER_CHUNK_PLACES;
	shuffle(&c->rng, firsts, CHUNKS);
	m->ops->link(m, firsts, CHUNKS);
	m->ops->chase(m, CHUNKS, STEPS, c->windows, CHUNKS / STEPS);
	return 0;
}

/* Nanoseconds a load: the median of the stretches, few of which are interrupted. */
static int hand_over(struct carrier *c, unsigned int from, unsigned int to, double *ns)
{
	struct meter *m = c->meter;
	uint32_t lines[LINES];
	double x[STRETCHES];
	int err = warm_reader(c, to);

	if (!err)
		err = m->ops->move(m, from);
	if (err)
		return err;
	draw_lines(c, lines);
	m->ops->link(m, lines, LINES);
	err = m->ops->move(m, to);
	if (err)
		return err;
	m->ops->chase(m, 0, STEPS, c->windows, STRETCHES);
	for (size_t i = 0; i < STRETCHES; i++)
		x[i] = (double)c->windows[i].ticks * m->tick_ns / STEPS;
	sonde_stats_sort(x, STRETCHES);
	*ns = sonde_stats_median(x, STRETCHES);
	return 0;
}

/* One pair at a time: there is one reader. */
static int run_together(struct comm_carrier *base, const struct comm_pair *pairs, size_t npairs,
			const struct comm_run *run, double *ns)
{
	struct carrier *c = (struct carrier *)base;
	double there, back;
	int err = c->has_pages ? 0 : c->meter->ops->pages(c->meter, CHUNKS);

	if (npairs != 1)
		return -EINVAL;
	c->has_pages = !err;
	for (unsigned int i = 0; i < run->windows && !err; i++) {
		const unsigned int a = (unsigned int)base->places[pairs->a].cpu;
		const unsigned int b = (unsigned int)base->places[pairs->b].cpu;

		err = hand_over(c, a, b, &there);
		if (!err)
			err = hand_over(c, b, a, &back);
		ns[i] = (there + back) / 2;
	}
	return err;
}

static double now_s(struct comm_carrier *base)
{
	struct carrier *c = (struct carrier *)base;

	return c->meter->ops->now(c->meter);
}

static void close_line(struct comm_carrier *base)
{
	free(base);
}

static const struct comm_carrier_ops line_ops = {
	.together = run_together,
	.now = now_s,
	.close = close_line,
};

int comm_line_open(struct comm_carrier **out, struct meter *meter, uint64_t seed,
		   const struct sonde_comm_place *places, size_t n)
{
	struct carrier *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->base = (struct comm_carrier){ &line_ops, places, n, SONDE_COMM_LINE, "", 0 };
	c->meter = meter;
	sonde_rng_seed(&c->rng, seed);
	*out = &c->base;
	return 0;
}
