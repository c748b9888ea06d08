// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * memory_classes - pairs that lose alike (Servet, figure 5)
 *
 * There "alike" is left to a threshold. Here the logarithms of the ratios are
 * clustered by their own spread (cluster.h), together with a ratio of 1 for each
 * CPU, which is what it gets beside nobody: pairs in the cluster of those have no
 * overhead.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../cluster.h"
#include "memory.h"

/* What is measured again differs by so much at least, whatever few rounds say. */
#define SPREAD_LEAST	0.005
/* From the deviation of values to that of their median, and from the median absolute
 * deviation to the deviation; of normal values. */
#define MEDIAN_FACTOR	1.2533
#define MAD_FACTOR	1.4826

/**
 * struct classes - the values that are clustered
 * @x: of @n pairs, then of the CPUs
 * @pair: which pair each of the first is
 * @cluster: of each value
 */
struct classes {
	double *x;
	size_t n, nvalues;
	size_t *pair;
	unsigned int *cluster;
};

int memory_add_spread(struct memory *p, const struct memory_rounds *r)
{
	double x[MEMORY_TRIES], mad, *spreads;

	if (r->n < MEMORY_ROUNDS)
		return 0;
	spreads = realloc(p->spreads, (p->nspreads + 1) * sizeof(*spreads));
	if (!spreads)
		return -ENOMEM;
	p->spreads = spreads;
	for (unsigned int i = 0; i < r->n; i++)
		x[i] = log(r->x[i]);
	sonde_stats_sort(x, r->n);
	if (!sonde_stats_mad(x, r->n, &mad))
		spreads[p->nspreads++] = MEDIAN_FACTOR * MAD_FACTOR * mad / sqrt(r->n);
	return 0;
}

/* One pair's few rounds may agree by chance; all pairs' do not. */
static double get_spread(struct memory *p)
{
	if (!p->nspreads)
		return SPREAD_LEAST;
	sonde_stats_sort(p->spreads, p->nspreads);
	return fmax(sonde_stats_median(p->spreads, p->nspreads), SPREAD_LEAST);
}

static int find_clusters(struct memory *p, struct classes *c)
{
	const struct sonde_memory_report *r = p->report;

	c->nvalues = r->npairs + r->ncpus;
	c->x = calloc(c->nvalues, sizeof(*c->x));
	c->pair = calloc(c->nvalues, sizeof(*c->pair));
	c->cluster = calloc(c->nvalues, sizeof(*c->cluster));
	if (!c->x || !c->pair || !c->cluster)
		return -ENOMEM;
	for (size_t i = 0; i < r->npairs; i++) {
		if (!(r->pairs[i].ratio > 0))
			continue;
		c->pair[c->n] = i;
		c->x[c->n++] = log(r->pairs[i].ratio);
	}
	c->nvalues = c->n + r->ncpus;
	return cluster_find(c->x, c->nvalues, get_spread(p), c->cluster);
}

/* One class for each cluster that pairs are in; those with least are first already. */
static int add_class(struct memory *p, const struct classes *c, unsigned int cluster)
{
	struct sonde_memory_report *r = p->report;
	struct sonde_memory_class class = { .has_overhead = 1 }, *classes;
	double *ratios = calloc(c->n + 1, sizeof(*ratios));

	classes = realloc(r->classes, (r->nclasses + 1) * sizeof(*classes));
	if (classes)
		r->classes = classes;
	if (!ratios || !classes) {
		free(ratios);
		return -ENOMEM;
	}
	for (size_t i = 0; i < c->n; i++) {
		if (c->cluster[i] != cluster)
			continue;
		ratios[class.npairs++] = exp(c->x[i]);
		r->pairs[c->pair[i]].group = (int)r->nclasses;
	}
	for (size_t i = c->n; i < c->nvalues; i++)
		if (c->cluster[i] == cluster)
			class.has_overhead = 0;
	if (class.npairs) {
		sonde_stats_sort(ratios, class.npairs);
		class.ratio = sonde_stats_median(ratios, class.npairs);
		class.ratio_low = ratios[0];
		class.ratio_high = ratios[class.npairs - 1];
		class.has_overhead = class.has_overhead && class.ratio < 1;
		r->classes[r->nclasses++] = class;
	}
	free(ratios);
	return 0;
}

size_t memory_index(const struct memory *p, unsigned int cpu)
{
	const struct sonde_memory_options *o = p->options;
	size_t low = 0, high = o->ncpus;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (o->cpus[middle] <= cpu)
			low = middle;
		else
			high = middle;
	}
	return low;
}

size_t memory_kinship(const struct memory *p, size_t a, size_t b)
{
	const struct sonde_memory_options *o = p->options;
	size_t depth = 0;

	while (depth < o->depth &&
	       o->groups[a * o->depth + depth] == o->groups[b * o->depth + depth])
		depth++;
	return depth;
}

/* The class that most measured pairs of each kinship are in; -1 if there are none. */
static int find_usual(const struct memory *p, int *usual)
{
	const struct sonde_memory_report *r = p->report;
	size_t *count = calloc((p->options->depth + 1) * (r->nclasses + 1), sizeof(*count));

	if (!count)
		return -ENOMEM;
	for (size_t i = 0; i < r->npairs; i++) {
		const struct sonde_memory_pair *pair = &r->pairs[i];
		size_t kin = memory_kinship(p, memory_index(p, pair->cpu[0]),
					    memory_index(p, pair->cpu[1]));

		if (pair->group >= 0)
			count[kin * r->nclasses + (size_t)pair->group]++;
	}
	for (size_t kin = 0; kin <= p->options->depth; kin++) {
		size_t most = 0;

		usual[kin] = -1;
		for (size_t c = 0; c < r->nclasses; c++) {
			if (count[kin * r->nclasses + c] > most) {
				most = count[kin * r->nclasses + c];
				usual[kin] = (int)c;
			}
		}
	}
	free(count);
	return 0;
}

static void fill_matrix(struct memory *p, const int *usual)
{
	struct sonde_memory_report *r = p->report;
	size_t n = r->ncpus, a, b;

	for (a = 0; a < n; a++)
		for (b = 0; b < n; b++)
			r->matrix[a * n + b] = a == b || !p->options->groups ? -1
					       : usual[memory_kinship(p, a, b)];
	for (size_t i = 0; i < r->npairs; i++) {
		a = memory_index(p, r->pairs[i].cpu[0]);
		b = memory_index(p, r->pairs[i].cpu[1]);
		r->matrix[a * n + b] = r->matrix[b * n + a] = r->pairs[i].group;
	}
}

int memory_classify(struct memory *p)
{
	struct sonde_memory_report *r = p->report;
	int *usual = calloc(p->options->depth + 1, sizeof(*usual));
	struct classes c = { .n = 0 };
	int found = usual ? find_clusters(p, &c) : -ENOMEM, err = found < 0 ? found : 0;

	r->nclasses = 0;
	for (size_t i = 0; i < r->npairs; i++)
		r->pairs[i].group = -1;
	for (unsigned int i = 0; !err && i < (unsigned int)found; i++)
		err = add_class(p, &c, i);
	if (!err)
		err = find_usual(p, usual);
	if (!err)
		fill_matrix(p, usual);
	free(c.x);
	free(c.pair);
	free(c.cluster);
	free(usual);
	return err;
}
