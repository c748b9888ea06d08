// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * comm_curve - messages of each size over each layer, and what they are made of
 *
 * One pair stands for its layer: the one whose latency is nearest to the layer's
 * median. Of each size four quantities (comm_exchange.c), by Hoefler, Lichei and
 * Rehm (2007):
 *
 *	half a round trip	PRTT(1, 0, s) / 2
 *	gap			(PRTT(n, 0, s) - PRTT(1, 0, s)) / (n - 1)
 *	the sender's overhead	(PRTT(n, d, s) - PRTT(1, 0, s)) / (n - 1) - d
 *	the receiver's overhead	of messages that are received d after each other
 *
 * with a delay d above both the gap and the round trip of that size, without which
 * the third would be the gap again. All sizes and quantities take turns in random
 * order, so that what changes slowly is no slope.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "../loggp.h"
#include "comm.h"
#include "shuffle.h"

#define ROUNDS		9
#define ROUNDS_LEAST	3
/* Windows of a run: many where they are short, since few of many are disturbed. */
#define WINDOWS		16
#define WINDOWS_LONG	4
#define LONG_BYTES	((size_t)64 << 10)
/* Round trips of a window, for so many nanoseconds. */
#define WINDOW_NS	10e3
#define TURNS_MOST	64
/* Messages of a train: at most so many, and bytes. */
#define TRAIN_MOST	16
#define TRAIN_LEAST	4
#define TRAIN_BYTES	((size_t)256 << 10)
/* Larger ones are copied for so long that a call's overhead is that copy. */
#define OVERHEAD_BYTES	((size_t)64 << 10)
#define DELAY_FACTOR	1.5
/* Where libraries change protocols there are sizes between powers of two. */
#define DENSE_FROM	((size_t)512)
#define DENSE_TO	((size_t)256 << 10)
#define SIZES		64
/* Seconds of a layer: with less than the one sizes are sparse, with the other dense. */
#define SPARSE_S	0.5
#define DENSE_S		2.0
#define LOW		0.1
#define LEVEL		0.95
#define RESAMPLES	200

enum quantity { HALF, GAP, SEND, RECEIVE, QUANTITIES };

/**
 * struct cell - one quantity of one size
 * @ns: the least of each round, @n
 */
struct cell {
	double ns[ROUNDS];
	unsigned int n;
};

struct curve {
	struct comm *p;
	struct comm_pair pair;
	size_t bytes[SIZES], nsizes;
	unsigned int turns[SIZES];
	double delay[SIZES];
	struct cell cells[SIZES][QUANTITIES];
};

/* In little time few: of powers of two every second one. */
static void list_sizes(struct curve *c, size_t most, double seconds)
{
	const size_t factor = seconds < SPARSE_S ? 4 : 2;

	for (size_t bytes = 1; bytes <= most && c->nsizes < SIZES; bytes *= factor) {
		c->bytes[c->nsizes++] = bytes;
		if (seconds >= DENSE_S && bytes >= DENSE_FROM && bytes < DENSE_TO &&
		    bytes + bytes / 2 <= most)
			c->bytes[c->nsizes++] = bytes + bytes / 2;
	}
}

static unsigned int count_messages(size_t bytes)
{
	const size_t n = TRAIN_BYTES / bytes;

	return n < TRAIN_LEAST ? TRAIN_LEAST : n > TRAIN_MOST ? TRAIN_MOST : (unsigned int)n;
}

/* What was found so far, or NAN. */
static double get_low(const struct cell *cell)
{
	double x[ROUNDS];

	if (!cell->n)
		return NAN;
	for (unsigned int i = 0; i < cell->n; i++)
		x[i] = cell->ns[i];
	sonde_stats_sort(x, cell->n);
	return comm_low(x, cell->n);
}

static unsigned int count_windows(size_t bytes)
{
	return bytes > LONG_BYTES ? WINDOWS_LONG : WINDOWS;
}

static struct comm_run make_run(const struct curve *c, size_t size, enum quantity q)
{
	const size_t bytes = c->bytes[size];
	const unsigned int many = count_messages(bytes), windows = count_windows(bytes);

	switch (q) {
	case HALF:
		return (struct comm_run){ COMM_PINGPONG, bytes, c->turns[size], 0, windows };
	case GAP:
		return (struct comm_run){ COMM_TRAIN, bytes, many, 0, windows };
	case SEND:
		return (struct comm_run){ COMM_TRAIN, bytes, many, c->delay[size], windows };
	default:
		return (struct comm_run){ COMM_RECEIVE, bytes, many, c->delay[size], windows };
	}
}

static int take_cell(struct curve *c, size_t size, enum quantity q)
{
	struct cell *cell = &c->cells[size][q];
	struct comm_run run = make_run(c, size, q);
	double ns[WINDOWS];
	int err = comm_run(c->p, &c->pair, 1, &run, ns);

	if (err)
		return err == -EAGAIN ? 0 : err;
	cell->ns[cell->n++] = comm_least(ns, run.windows);
	return 0;
}

/* The delay must exceed what a message occupies anything for. */
static int plan_size(struct curve *c, size_t size)
{
	double half, all, gap, turns;
	int err;

	c->turns[size] = 1;
	err = take_cell(c, size, HALF);
	if (!err)
		err = take_cell(c, size, GAP);
	if (err || !c->cells[size][HALF].n || !c->cells[size][GAP].n)
		return err;
	half = c->cells[size][HALF].ns[0];
	all = c->cells[size][GAP].ns[0];
	gap = (all - 2 * half) / (count_messages(c->bytes[size]) - 1);
	turns = WINDOW_NS / (2 * half);
	c->turns[size] = turns < 1 ? 1 : turns > TURNS_MOST ? TURNS_MOST : (unsigned int)turns;
	c->delay[size] = DELAY_FACTOR * fmax(2 * half, gap);
	/* One round trip by itself is not what many are. */
	c->cells[size][HALF].n = 0;
	return 0;
}

static int is_wanted(const struct curve *c, size_t size, enum quantity q)
{
	if (q == SEND || q == RECEIVE)
		return c->bytes[size] <= OVERHEAD_BYTES && c->delay[size] > 0;
	return 1;
}

static int take_round(struct curve *c)
{
	uint32_t cells[SIZES * QUANTITIES];
	size_t n = 0;
	int err = 0;

	for (uint32_t size = 0; size < c->nsizes; size++)
		for (uint32_t q = 0; q < QUANTITIES; q++)
			if (is_wanted(c, size, (enum quantity)q) && c->cells[size][q].n < ROUNDS)
				cells[n++] = size * QUANTITIES + q;
	shuffle(&c->p->rng, cells, n);
	for (size_t i = 0; i < n && !err; i++)
		err = take_cell(c, cells[i] / QUANTITIES,
				(enum quantity)(cells[i] % QUANTITIES));
	return err;
}

/* ---- what it comes to ------------------------------------------------------ */

/* Less than nothing is what noise makes of little. */
static double at_least_nothing(double ns)
{
	return ns > 0 ? ns : NAN;
}

static void fill_point(const struct curve *c, size_t size, struct sonde_comm_point *point)
{
	const struct cell *half = &c->cells[size][HALF];
	const double one = 2 * get_low(half), n = count_messages(c->bytes[size]);
	double x[ROUNDS];

	*point = (struct sonde_comm_point){
		.bytes = c->bytes[size], .ns = one / 2,
		.gap_ns = at_least_nothing((get_low(&c->cells[size][GAP]) - one) / (n - 1)),
		.send_ns = at_least_nothing((get_low(&c->cells[size][SEND]) - one) / (n - 1)),
		.receive_ns = at_least_nothing(get_low(&c->cells[size][RECEIVE])),
	};
	for (unsigned int i = 0; i < half->n; i++)
		x[i] = half->ns[i];
	sonde_stats_sort(x, half->n);
	if (half->n < 2 || sonde_stats_quantile_ci(x, half->n, LOW, LEVEL, RESAMPLES, 1,
						   &point->ci))
		point->ci = (struct sonde_interval){ 0, 0 };
}

/* A size of which nothing came is left out. */
static int fill_points(const struct curve *c, struct sonde_comm_layer *layer)
{
	layer->points = calloc(c->nsizes, sizeof(*layer->points));
	if (!layer->points)
		return -ENOMEM;
	for (size_t i = 0; i < c->nsizes; i++)
		if (c->cells[i][HALF].n)
			fill_point(c, i, &layer->points[layer->npoints++]);
	return 0;
}

/* How much a size's half round trip differs when it is measured again, relative. */
static double find_spread(const struct sonde_comm_layer *layer, double least)
{
	double x[SIZES];
	size_t n = 0;

	for (size_t i = 0; i < layer->npoints && n < SIZES; i++)
		if (layer->points[i].ci.low > 0)
			x[n++] = (layer->points[i].ci.high - layer->points[i].ci.low) / 4 /
				 layer->points[i].ns;
	if (!n)
		return least;
	sonde_stats_sort(x, n);
	return fmax(least, sonde_stats_median(x, n));
}

static int fit(const struct comm *p, struct sonde_comm_layer *layer)
{
	struct loggp_point points[SIZES];
	size_t n = layer->npoints;

	for (size_t i = 0; i < n; i++)
		points[i] = (struct loggp_point){
			(double)layer->points[i].bytes, layer->points[i].ns,
			layer->points[i].gap_ns, layer->points[i].send_ns,
			layer->points[i].receive_ns,
		};
	return n < 2 ? 0 : loggp_fit(points, n, find_spread(layer, p->spread), &layer->loggp);
}

/* ---- layers ---------------------------------------------------------------- */

static int choose_pair(const struct comm *p, size_t which, struct sonde_comm_layer *layer)
{
	const struct sonde_comm_matrix *matrix = p->matrix;
	double nearest = INFINITY, distance;

	for (size_t i = 0; i < matrix->npairs; i++) {
		if (matrix->pairs[i].layer != (int)which)
			continue;
		distance = fabs(log(matrix->pairs[i].ns / layer->ns));
		if (distance >= nearest)
			continue;
		nearest = distance;
		layer->pair[0] = matrix->pairs[i].place[0];
		layer->pair[1] = matrix->pairs[i].place[1];
	}
	return isfinite(nearest);
}

/* Until @until, but not fewer rounds than say anything. */
static int measure_curve(struct curve *c, double from, double part, double until)
{
	struct comm *p = c->p;
	int err = 0;

	for (size_t i = 0; i < c->nsizes && !err; i++) {
		err = plan_size(c, i);
		if (!err)
			err = comm_progress(p, from + part * (double)(i + 1) /
					    (double)c->nsizes / (ROUNDS + 1));
	}
	for (unsigned int r = 0; r < ROUNDS && !err; r++) {
		if (r >= ROUNDS_LEAST && p->carrier->ops->now(p->carrier) > until)
			break;
		err = take_round(c);
		if (!err)
			err = comm_progress(p, from + part * (r + 2) / (ROUNDS + 1));
	}
	return err;
}

int comm_measure_curves(struct comm *p)
{
	struct sonde_comm_matrix *matrix = p->matrix;
	double from = p->carrier->ops->now(p->carrier), left = p->deadline - from;
	struct curve *c = calloc(1, sizeof(*c));
	int err = c ? 0 : -ENOMEM;

	p->what = "messages of all sizes";
	for (size_t l = 0; l < matrix->nlayers && !err; l++) {
		struct sonde_comm_layer *layer = &matrix->layers[l];
		const double n = (double)matrix->nlayers;

		if (!choose_pair(p, l, layer) || !sonde_comm_has_messages(matrix->method))
			continue;
		*c = (struct curve){ .p = p, .pair = { layer->pair[0], layer->pair[1], 0 } };
		list_sizes(c, p->carrier->most_bytes, left / n);
		err = measure_curve(c, 0.4 + 0.45 * (double)l / n, 0.45 / n,
				    from + left * (double)(l + 1) / n);
		if (!err)
			err = fill_points(c, layer);
		if (!err)
			err = fit(p, layer);
	}
	free(c);
	return err;
}
