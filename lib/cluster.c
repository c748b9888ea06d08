// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * cluster - how many kinds of value there are, and which is which
 *
 * For each number of clusters the partition with the least sum of squares, exactly
 * (one dimension: the clusters are intervals of the sorted values; Fisher 1958,
 * the optimum by divide and conquer, as the best cut moves with the end). Of these
 * the one with the best integrated completed likelihood (Biernacki, Celeux and
 * Govaert 2000) for normal values of one deviation,
 *
 *	n log(max(sum of squares / n, spread^2)) - 2 sum n_k log(n_k / n) + 2 k log(n)
 *
 * which does not cut one hump in two, however many values it has, as the mere
 * likelihood or the BIC would: the middle term is what not being sure of a value's
 * cluster costs. The spread of the measurement bounds what there is to be seen.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cluster.h"

/**
 * struct search - partitions of the sorted values
 * @x: the values and where they were, @n
 * @sum: of the first i values, less the mean of all
 * @squares: likewise, of their squares
 * @cost: least sum of squares of the first i values in k clusters, k rows
 * @from: where the last cluster of that begins
 */
struct search {
	struct entry {
		double x;
		size_t at;
	} *x;
	size_t n;
	double *sum, *squares, *cost;
	size_t *from;
};

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->x > y->x) - (x->x < y->x);
}

/* Of the values from @i to before @j, about their mean. */
static double get_squares(const struct search *s, size_t i, size_t j)
{
	double sum = s->sum[j] - s->sum[i], squares = s->squares[j] - s->squares[i];

	return fmax(squares - sum * sum / (double)(j - i), 0);
}

/* Row @k for ends @low to @high, whose last cluster begins within @first to @last. */
static void fill_row(struct search *s, size_t k, size_t low, size_t high, size_t first, size_t last)
{
	const double *before = s->cost + (k - 1) * (s->n + 1);
	double *row = s->cost + k * (s->n + 1), cost;
	size_t end = low + (high - low) / 2, best = first;

	row[end] = INFINITY;
	for (size_t i = first; i <= last && i < end; i++) {
		cost = before[i] + get_squares(s, i, end);
		if (cost < row[end]) {
			row[end] = cost;
			best = i;
		}
	}
	s->from[k * (s->n + 1) + end] = best;
	if (end > low)
		fill_row(s, k, low, end - 1, first, best);
	if (end < high)
		fill_row(s, k, end + 1, high, best, last);
}

/* Begins of the @k clusters, and the end of the last, to @cut. */
static void trace(const struct search *s, size_t k, size_t cut[CLUSTER_MOST + 1])
{
	cut[k] = s->n;
	for (size_t i = k; i-- > 0;)
		cut[i] = s->from[i * (s->n + 1) + cut[i + 1]];
}

/* The smaller, the better. */
static double judge(const struct search *s, size_t k, double spread, const size_t *cut)
{
	double n = (double)s->n, squares = s->cost[(k - 1) * (s->n + 1) + s->n] / n, members;
	double value = n * log(fmax(squares, spread * spread)) + 2 * (double)k * log(n);

	for (size_t i = 0; i < k; i++) {
		members = (double)(cut[i + 1] - cut[i]);
		value -= 2 * members * log(members / n);
	}
	return value;
}

static int search(struct search *s, double spread, unsigned int *cluster)
{
	size_t most = s->n < CLUSTER_MOST ? s->n : CLUSTER_MOST, cut[CLUSTER_MOST + 1], best = 1;
	double least = INFINITY, value;

	for (size_t k = 1; k <= most; k++) {
		if (k == 1)
			for (size_t j = 1; j <= s->n; j++)
				s->cost[j] = get_squares(s, 0, j);
		else
			fill_row(s, k - 1, k, s->n, k - 1, s->n - 1);
		trace(s, k, cut);
		value = judge(s, k, spread, cut);
		if (value < least) {
			least = value;
			best = k;
		}
	}
	trace(s, best, cut);
	for (size_t i = 0; i < best; i++)
		for (size_t j = cut[i]; j < cut[i + 1]; j++)
			cluster[s->x[j].at] = (unsigned int)i;
	return (int)best;
}

/* Less their mean: sums of squares of large values would lose the differences. */
static void prepare(struct search *s, const double *x)
{
	double mean = 0;

	for (size_t i = 0; i < s->n; i++)
		mean += x[i] / (double)s->n;
	for (size_t i = 0; i < s->n; i++)
		s->x[i] = (struct entry){ x[i] - mean, i };
	qsort(s->x, s->n, sizeof(*s->x), compare);
	for (size_t i = 0; i < s->n; i++) {
		s->sum[i + 1] = s->sum[i] + s->x[i].x;
		s->squares[i + 1] = s->squares[i] + s->x[i].x * s->x[i].x;
	}
}

int cluster_find(const double *x, size_t n, double spread, unsigned int *cluster)
{
	struct search s = { .n = n };
	int found = -ENOMEM;

	for (size_t i = 0; i < n; i++)
		if (!isfinite(x[i]))
			return -EINVAL;
	if (!(spread > 0))
		return -EINVAL;
	if (!n)
		return 0;
	s.x = calloc(n, sizeof(*s.x));
	s.sum = calloc(n + 1, sizeof(*s.sum));
	s.squares = calloc(n + 1, sizeof(*s.squares));
	s.cost = calloc(CLUSTER_MOST * (n + 1), sizeof(*s.cost));
	s.from = calloc(CLUSTER_MOST * (n + 1), sizeof(*s.from));
	if (s.x && s.sum && s.squares && s.cost && s.from) {
		prepare(&s, x);
		found = search(&s, spread, cluster);
	}
	free(s.x);
	free(s.sum);
	free(s.squares);
	free(s.cost);
	free(s.from);
	return found;
}
