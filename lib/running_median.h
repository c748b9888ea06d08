/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sum of absolute deviations from the median, of values that come one by
 * one: two heaps meet at the median, a value costs O(log n).
 *
 * The sum only ever grows by what lies between the new value and the median,
 * or the nearer of the two middle values, which are equally good: nothing is
 * subtracted, so nothing cancels.
 */
#ifndef SONDE_LIB_RUNNING_MEDIAN_H
#define SONDE_LIB_RUNNING_MEDIAN_H

#include <stddef.h>

/**
 * struct running_median - values seen
 * @low: heap of the lower half, negated so that its largest is on top
 * @high: heap of the upper half, its smallest on top
 * @nlow: values in @low: as many as in @high, or one more
 * @nhigh: values in @high
 * @cost: sum of absolute deviations from the median
 */
struct running_median {
	double *low, *high;
	size_t nlow, nhigh;
	double cost;
};

/* Room for @n values. Return: 0, -ENOMEM. */
int running_median_init(struct running_median *rm, size_t n);
void running_median_fini(struct running_median *rm);

/* Back to no values. */
void running_median_reset(struct running_median *rm);
void running_median_add(struct running_median *rm, double x);

#endif
