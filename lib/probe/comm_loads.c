// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * comm_loads - what pairs of a layer lose that send at the same time
 *
 * 1, 2, 4, ... pairs without a common place, by turns alone and together. Of each
 * pair's windows the middle half counts, which the others' windows surround: they
 * begin together, and are as many and as long when alone.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "comm.h"
#include "shuffle.h"

#define WINDOWS		16
#define WINDOW_NS	100e3
#define TURNS_MOST	4096
#define TURNS		5
/* More say nothing that these do not. */
#define PAIRS_MOST	64

/**
 * struct loads - pairs of a layer
 * @pairs: @n, no place twice
 * @alone: nanoseconds of each, of each turn; @together: likewise
 */
struct loads {
	struct comm *p;
	struct comm_pair pairs[PAIRS_MOST];
	size_t n;
	double alone[PAIRS_MOST][TURNS], together[PAIRS_MOST][TURNS];
	unsigned int turns;
	double ns[PAIRS_MOST * WINDOWS];
};

/* A matching by the pairs in random order: not the largest, but at least half of it. */
static int choose_pairs(struct loads *l, int layer)
{
	struct comm *p = l->p;
	const size_t n = p->carrier->n;
	uint32_t *order = calloc(p->npairs, sizeof(*order));
	char *taken = calloc(n, 1);

	if (!order || !taken) {
		free(order);
		free(taken);
		return -ENOMEM;
	}
	for (size_t i = 0; i < p->npairs; i++)
		order[i] = (uint32_t)i;
	shuffle(&p->rng, order, p->npairs);
	for (size_t i = 0; i < p->npairs && l->n < PAIRS_MOST; i++) {
		const struct comm_candidate *c = &p->pairs[order[i]];
		double turns = WINDOW_NS / (2 * p->matrix->ns[c->a * n + c->b]);

		if (p->matrix->layer[c->a * n + c->b] != layer || taken[c->a] || taken[c->b])
			continue;
		taken[c->a] = taken[c->b] = 1;
		turns = turns < 1 ? 1 : turns > TURNS_MOST ? TURNS_MOST : turns;
		l->pairs[l->n++] = (struct comm_pair){ c->a, c->b, (unsigned int)turns };
	}
	free(order);
	free(taken);
	return 0;
}

static double take_middle(double *ns)
{
	sonde_stats_sort(ns + WINDOWS / 4, WINDOWS / 2);
	return sonde_stats_median(ns + WINDOWS / 4, WINDOWS / 2);
}

/* -EAGAIN: no turn. */
static int take_turn(struct loads *l, size_t n)
{
	const struct comm_run run = { COMM_PINGPONG, l->p->matrix->bytes, 1, 0, WINDOWS };
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		err = comm_run(l->p, &l->pairs[i], 1, &run, l->ns);
		l->alone[i][l->turns] = take_middle(l->ns);
	}
	if (!err)
		err = comm_run(l->p, l->pairs, n, &run, l->ns);
	for (size_t i = 0; i < n && !err; i++)
		l->together[i][l->turns] = take_middle(l->ns + i * WINDOWS);
	return err;
}

static int add_load(struct loads *l, size_t n, struct sonde_comm_layer *layer)
{
	struct sonde_comm_load *loads = realloc(layer->loads, (layer->nloads + 1) * sizeof(*loads));
	double sum = 0, rate = 0, alone, together;

	if (!loads)
		return -ENOMEM;
	layer->loads = loads;
	for (size_t i = 0; i < n; i++) {
		sonde_stats_sort(l->alone[i], l->turns);
		sonde_stats_sort(l->together[i], l->turns);
		alone = sonde_stats_median(l->alone[i], l->turns);
		together = sonde_stats_median(l->together[i], l->turns);
		sum += log(alone / together);
		rate += (double)l->p->matrix->bytes / together * 1e9;
	}
	loads[layer->nloads++] = (struct sonde_comm_load){ (unsigned int)n, exp(sum / (double)n),
							   rate };
	return 0;
}

static int measure_count(struct loads *l, size_t n, struct sonde_comm_layer *layer)
{
	int err = 0;

	l->turns = 0;
	for (int i = 0; i < TURNS && !err; i++) {
		err = take_turn(l, n);
		if (err == -EAGAIN)
			err = 0;
		else if (!err)
			l->turns++;
		if (l->turns && l->p->carrier->ops->now(l->p->carrier) > l->p->deadline)
			break;
	}
	return err || !l->turns ? err : add_load(l, n, layer);
}

static int measure_layer(struct loads *l, struct sonde_comm_layer *layer, int which)
{
	int err = choose_pairs(l, which);

	for (size_t n = 2; n < 2 * l->n && !err; n *= 2) {
		err = measure_count(l, n < l->n ? n : l->n, layer);
		if (!err)
			err = comm_progress(l->p, 0.85 + 0.15 * which / (double)l->p->matrix->nlayers);
	}
	return err;
}

int comm_measure_loads(struct comm *p)
{
	struct loads *l = calloc(1, sizeof(*l));
	int err = l ? 0 : -ENOMEM;

	p->what = "pairs at the same time";
	for (size_t i = 0; i < p->matrix->nlayers && !err; i++) {
		l->p = p;
		l->n = 0;
		err = measure_layer(l, &p->matrix->layers[i], (int)i);
	}
	free(l);
	return err;
}
