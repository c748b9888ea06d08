// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * stats - order statistics, deviation, bootstrap interval
 *
 * Samples come in sorted, and NaN sorts last: one look at the last sample tells
 * whether there is any.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sonde/stats.h>

#include "rng.h"

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	if (isnan(x) || isnan(y))
		return !!isnan(x) - !!isnan(y);
	return (x > y) - (x < y);
}

void sonde_stats_sort(double *x, size_t n)
{
	if (n > 1)
		qsort(x, n, sizeof(*x), compare);
}

static int is_usable(const double *sorted, size_t n)
{
	return n && !isnan(sorted[n - 1]);
}

/* A share @t of the way from @a to @b, which may be infinite. */
static double interpolate(double a, double b, double t)
{
	return a == b || t <= 0 ? a : a * (1 - t) + b * t;
}

/* Where quantile @p lies: between order statistics @k and @k + 1 (from 0). */
static double place_quantile(size_t n, double p, size_t *k)
{
	double at = p * (double)(n - 1);

	*k = (size_t)at;
	return at - (double)*k;
}

double sonde_stats_quantile(const double *sorted, size_t n, double p)
{
	double rest;
	size_t k;

	if (!is_usable(sorted, n) || !(p >= 0 && p <= 1))
		return NAN;
	rest = place_quantile(n, p, &k);
	return k + 1 < n ? interpolate(sorted[k], sorted[k + 1], rest) : sorted[n - 1];
}

double sonde_stats_median(const double *sorted, size_t n)
{
	return sonde_stats_quantile(sorted, n, 0.5);
}

static double deviation(double x, double from)
{
	return x == from ? 0 : fabs(x - from);
}

/*
 * From the median outwards deviations ascend on both sides: a merge of the two
 * sides finds the middle ones without memory or another sort.
 */
int sonde_stats_mad(const double *sorted, size_t n, double *mad)
{
	double median, below, above, last = 0, previous = 0;
	size_t left, right;

	if (!is_usable(sorted, n))
		return -EINVAL;
	median = sonde_stats_median(sorted, n);
	left = (n + 1) / 2;
	right = left;
	for (size_t k = 0; k <= n / 2; k++) {
		previous = last;
		below = left ? deviation(sorted[left - 1], median) : INFINITY;
		above = right < n ? deviation(sorted[right], median) : INFINITY;
		if (left && (below <= above || right == n)) {
			last = below;
			left--;
		} else {
			last = above;
			right++;
		}
	}
	*mad = n % 2 ? last : interpolate(previous, last, 0.5);
	return 0;
}

/*
 * The quantile of one resample. Which samples were drawn, and how often, is all
 * that matters, so they are counted and never sorted.
 */
static double resample(const double *sorted, size_t n, double p, struct sonde_rng *rng,
		       uint32_t *drawn)
{
	size_t k, next, seen = 0, i = 0;
	double rest = place_quantile(n, p, &k);
	double low;

	memset(drawn, 0, n * sizeof(*drawn));
	for (size_t j = 0; j < n; j++)
		drawn[sonde_rng_below(rng, n)]++;
	while ((seen += drawn[i]) <= k)
		i++;
	low = sorted[i];
	next = k + 1 < n ? k + 1 : k;
	while (seen <= next)
		seen += drawn[++i];
	return interpolate(low, sorted[i], rest);
}

int sonde_stats_quantile_ci(const double *sorted, size_t n, double p, double level,
			    unsigned int resamples, uint64_t seed, struct sonde_interval *ci)
{
	struct sonde_rng rng;
	uint32_t *drawn;
	double *found;

	if (!is_usable(sorted, n) || n > UINT32_MAX || !(p >= 0 && p <= 1) ||
	    !(level > 0 && level < 1) || resamples < 100)
		return -EINVAL;
	drawn = calloc(n, sizeof(*drawn));
	found = calloc(resamples, sizeof(*found));
	if (!drawn || !found) {
		free(drawn);
		free(found);
		return -ENOMEM;
	}
	sonde_rng_seed(&rng, seed);
	for (unsigned int i = 0; i < resamples; i++)
		found[i] = resample(sorted, n, p, &rng, drawn);
	sonde_stats_sort(found, resamples);
	ci->low = sonde_stats_quantile(found, resamples, (1 - level) / 2);
	ci->high = sonde_stats_quantile(found, resamples, (1 + level) / 2);
	free(drawn);
	free(found);
	return 0;
}
