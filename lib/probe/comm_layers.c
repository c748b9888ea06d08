// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * comm_layers - pairs that cost alike (Servet, figure 6)
 *
 * There "similar" is left to a threshold. Here the logarithms of the latencies are
 * clustered by their own spread (../cluster.h). A pair that was not measured is of
 * the layer that most of its kin are of.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../cluster.h"
#include "comm.h"

/* What is measured again differs by so much at least, whatever few passes say. */
#define SPREAD_LEAST	0.005
/* From the lowest decile of normal values to their highest one, in deviations. */
#define DECILES		2.5631
#define HIGH		0.9
#define LOW		0.1
#define LEVEL		0.95
#define RESAMPLES	200

double comm_least(const double *x, size_t n)
{
	double least = INFINITY;

	for (size_t i = 0; i < n; i++)
		least = fmin(least, x[i]);
	return least;
}

double comm_low(const double *x, size_t n)
{
	return sonde_stats_quantile(x, n, LOW);
}

double comm_value(const struct comm_measured *m)
{
	double x[COMM_PASSES];

	if (!m->n)
		return 0;
	memcpy(x, m->x, m->n * sizeof(*x));
	sonde_stats_sort(x, m->n);
	return exp(comm_low(x, m->n));
}

/*
 * How much one pass over a pair differs from another one, by the highest decile of all.
 * Not the deviation of the pair's value, which is smaller: ranks and CPUs have slow
 * moments that outlast a pass, and what a pair differs from itself by is no layer.
 */
static int find_spread(struct comm *p)
{
	double *spreads = calloc(p->nmeasured * COMM_PASSES + 1, sizeof(*spreads)), value;
	size_t n = 0;

	if (!spreads)
		return -ENOMEM;
	for (size_t i = 0; i < p->nmeasured; i++) {
		const struct comm_measured *m = &p->measured[i];

		value = m->n > 1 ? log(comm_value(m)) : 0;
		for (unsigned int k = 0; k < m->n && m->n > 1; k++)
			spreads[n++] = fabs(m->x[k] - value) / DECILES;
	}
	sonde_stats_sort(spreads, n);
	p->spread = n ? fmax(sonde_stats_quantile(spreads, n, HIGH), SPREAD_LEAST) : SPREAD_LEAST;
	free(spreads);
	return 0;
}

static void fill_pair(const struct comm *p, const struct comm_measured *m,
		      struct sonde_comm_pair *pair)
{
	double x[COMM_PASSES];

	*pair = (struct sonde_comm_pair){
		.place = { p->pairs[m->is].a, p->pairs[m->is].b }, .ns = comm_value(m),
		.layer = m->layer, .windows = m->windows,
	};
	memcpy(x, m->x, m->n * sizeof(*x));
	sonde_stats_sort(x, m->n);
	if (m->n < 2 || sonde_stats_quantile_ci(x, m->n, LOW, LEVEL, RESAMPLES, 1, &pair->ci))
		pair->ci = (struct sonde_interval){ 0, 0 };
	else
		pair->ci = (struct sonde_interval){ exp(pair->ci.low), exp(pair->ci.high) };
}

static int fill_pairs(struct comm *p)
{
	struct sonde_comm_matrix *matrix = p->matrix;
	struct sonde_comm_pair *pairs = realloc(matrix->pairs, (p->nmeasured + 1) * sizeof(*pairs));

	if (!pairs)
		return -ENOMEM;
	matrix->pairs = pairs;
	matrix->npairs = p->nmeasured;
	for (size_t i = 0; i < p->nmeasured; i++)
		fill_pair(p, &p->measured[i], &pairs[i]);
	return 0;
}

/* Return: how many layers, or an error. */
static int find_layers(struct comm *p)
{
	double *x = calloc(p->nmeasured + 1, sizeof(*x));
	unsigned int *cluster = calloc(p->nmeasured + 1, sizeof(*cluster));
	int found = x && cluster ? 0 : -ENOMEM;
	size_t n = 0;

	for (size_t i = 0; i < p->nmeasured && !found; i++)
		if (p->measured[i].n)
			x[n++] = log(comm_value(&p->measured[i]));
	if (!found)
		found = cluster_find(x, n, p->spread, cluster);
	n = 0;
	for (size_t i = 0; i < p->nmeasured && found >= 0; i++)
		p->measured[i].layer = p->measured[i].n ? (int)cluster[n++] : -1;
	free(x);
	free(cluster);
	return found;
}

static void free_layers(struct sonde_comm_matrix *matrix)
{
	for (size_t i = 0; i < matrix->nlayers; i++)
		free(matrix->layers[i].group);
	free(matrix->layers);
	matrix->layers = NULL;
	matrix->nlayers = 0;
}

static int make_layer(const struct comm *p, int which, struct sonde_comm_layer *layer)
{
	double *x = calloc(p->nmeasured, sizeof(*x));

	layer->group = calloc(p->carrier->n, sizeof(*layer->group));
	if (!x || !layer->group) {
		free(x);
		return -ENOMEM;
	}
	for (size_t i = 0; i < p->nmeasured; i++)
		if (p->measured[i].layer == which)
			x[layer->nmeasured++] = comm_value(&p->measured[i]);
	sonde_stats_sort(x, layer->nmeasured);
	layer->ns = sonde_stats_median(x, layer->nmeasured);
	layer->ns_low = x[0];
	layer->ns_high = x[layer->nmeasured - 1];
	free(x);
	return 0;
}

/* For each kin the layer that most of its measured pairs are of; -1 if there are none. */
static int find_usual(const struct comm *p, int *usual)
{
	const size_t nlayers = p->matrix->nlayers;
	size_t *count = calloc(p->nkins * nlayers + 1, sizeof(*count)), most;

	if (!count)
		return -ENOMEM;
	for (size_t i = 0; i < p->nmeasured; i++)
		if (p->measured[i].layer >= 0)
			count[p->pairs[p->measured[i].is].kin * nlayers +
			      (size_t)p->measured[i].layer]++;
	for (size_t kin = 0; kin < p->nkins; kin++) {
		usual[kin] = -1;
		most = 0;
		for (size_t l = 0; l < nlayers; l++) {
			if (count[kin * nlayers + l] <= most)
				continue;
			most = count[kin * nlayers + l];
			usual[kin] = (int)l;
		}
	}
	free(count);
	return 0;
}

static void fill_matrix(struct comm *p, const int *usual)
{
	struct sonde_comm_matrix *matrix = p->matrix;
	const size_t n = p->carrier->n;

	for (size_t i = 0; i < p->npairs; i++) {
		const struct comm_candidate *c = &p->pairs[i];
		const struct comm_measured *m = c->of >= 0 ? &p->measured[c->of] : NULL;
		const int layer = m ? m->layer : usual[c->kin];
		double ns = layer < 0 ? 0 : matrix->layers[layer].ns;

		if (layer >= 0)
			matrix->layers[layer].npairs++;
		if (m && layer >= 0)
			ns = comm_value(m);
		matrix->ns[c->a * n + c->b] = matrix->ns[c->b * n + c->a] = ns;
		matrix->layer[c->a * n + c->b] = matrix->layer[c->b * n + c->a] = layer;
	}
}

/* Who the group's first place is, through whoever it was joined by. */
static unsigned int find_first(unsigned int *group, unsigned int place)
{
	while (group[place] != place)
		place = group[place] = group[group[place]];
	return place;
}

static void fill_groups(const struct comm *p, int which, struct sonde_comm_layer *layer)
{
	const unsigned int n = (unsigned int)p->carrier->n;
	unsigned int *group = layer->group, a, b;

	for (unsigned int i = 0; i < n; i++)
		group[i] = i;
	for (size_t i = 0; i < p->npairs; i++) {
		const struct comm_candidate *c = &p->pairs[i];
		const int of = p->matrix->layer[c->a * n + c->b];

		if (of < 0 || of > which)
			continue;
		a = find_first(group, c->a);
		b = find_first(group, c->b);
		group[a < b ? b : a] = a < b ? a : b;
	}
	/* From the first place of each to a number; those before have theirs already. */
	for (unsigned int i = 0; i < n; i++)
		group[i] = find_first(group, i);
	layer->ngroups = 0;
	for (unsigned int i = 0; i < n; i++)
		group[i] = group[i] == i ? (unsigned int)layer->ngroups++ : group[group[i]];
}

static int fill_layers(struct comm *p, size_t found)
{
	struct sonde_comm_matrix *matrix = p->matrix;
	int *usual = calloc(p->nkins + 1, sizeof(*usual)), err = usual ? 0 : -ENOMEM;

	matrix->layers = calloc(found + 1, sizeof(*matrix->layers));
	if (!matrix->layers)
		err = -ENOMEM;
	for (size_t l = 0; l < found && !err; l++) {
		err = make_layer(p, (int)l, &matrix->layers[l]);
		matrix->nlayers++;
	}
	if (!err)
		err = find_usual(p, usual);
	if (!err)
		fill_matrix(p, usual);
	for (size_t l = 0; l < matrix->nlayers && !err; l++)
		fill_groups(p, (int)l, &matrix->layers[l]);
	free(usual);
	return err;
}

int comm_classify(struct comm *p)
{
	int err = find_spread(p), found = err ? err : find_layers(p);

	free_layers(p->matrix);
	if (found < 0)
		return found;
	err = fill_layers(p, (size_t)found);
	return err ? err : fill_pairs(p);
}
