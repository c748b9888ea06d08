/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: stats - robust statistics of samples with outliers
 *
 * A mean of timings measures the neighbours. Everything here is about order:
 * quantiles, deviations from the median, intervals by resampling.
 */
#ifndef SONDE_STATS_H
#define SONDE_STATS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_interval {
	double low, high;
};

/** sonde_stats_sort() - ascending, NaN last, in place. Since: 0.1 */
void sonde_stats_sort(double *x, size_t n);

/**
 * sonde_stats_quantile() - quantile of sorted samples
 * @sorted: @n samples, ascending
 * @n: at least 1
 * @p: 0 to 1
 *
 * Linear interpolation between order statistics (Hyndman and Fan 1996, type 7).
 *
 * Return: the quantile; NaN if @n is 0, a sample is NaN, or @p is not within 0
 * to 1.
 *
 * Since: 0.1
 */
double sonde_stats_quantile(const double *sorted, size_t n, double p);

/** sonde_stats_median() - of sorted samples; NaN if @n is 0 or one is NaN. Since: 0.1 */
double sonde_stats_median(const double *sorted, size_t n);

/**
 * sonde_stats_mad() - median absolute deviation from the median, unscaled
 * @sorted: @n samples, ascending
 * @n: at least 1
 * @mad: where it goes; untouched on failure
 *
 * Return: 0, -EINVAL (@n is 0, a sample is NaN). Since: 0.1
 */
int sonde_stats_mad(const double *sorted, size_t n, double *mad);

/**
 * sonde_stats_quantile_ci() - bootstrap confidence interval of a quantile
 * @sorted: @n samples, ascending
 * @n: at least 1
 * @p: which quantile; 0.5 is the median
 * @level: coverage, above 0 and below 1
 * @resamples: how many resamples, at least 100
 * @seed: of the generator: same seed, same interval
 * @ci: the interval (percentile method, Efron and Tibshirani 1993, ch. 13);
 *      untouched on failure
 *
 * Return: 0, -EINVAL (also if a sample is NaN), -ENOMEM. Since: 0.1
 */
int sonde_stats_quantile_ci(const double *sorted, size_t n, double p, double level,
			    unsigned int resamples, uint64_t seed, struct sonde_interval *ci);

/**
 * sonde_stats_changepoints() - where the level of a series changes
 * @x: @n values in order
 * @n: any; time grows with its square where little changes: 2,000 values take a
 *     fraction of a second
 * @min_segment: shortest segment, at least 1
 * @penalty: what one more change must save in cost; a larger one finds fewer
 * @out: indices of the first value of each new segment, ascending
 * @max: room in @out
 *
 * Exact minimum of the sum over segments of absolute deviations from the
 * segment's median, plus @penalty a change (optimal partitioning, Jackson et
 * al. 2005; absolute deviations so that an outlier is not a segment).
 *
 * Return: changes found (at most @max: -ENOSPC if there are more, and nothing is
 * written), -EINVAL (@min_segment is 0, @penalty is negative or NaN, a value is
 * not finite), -ENOMEM. Since: 0.1
 */
ssize_t sonde_stats_changepoints(const double *x, size_t n, size_t min_segment,
				 double penalty, size_t *out, size_t max);

#ifdef __cplusplus
}
#endif

#endif
