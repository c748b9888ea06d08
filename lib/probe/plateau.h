/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where a curve of cost over size is level: a level of cache, or of TLB, is a
 * plateau between two rises.
 */
#ifndef SONDE_LIB_PROBE_PLATEAU_H
#define SONDE_LIB_PROBE_PLATEAU_H

#include <stddef.h>

#define PLATEAU_MAX	8

/**
 * struct plateau - a level stretch of a curve
 * @first: index of its first point
 * @last: index of its last point
 * @cost: median of its points
 */
struct plateau {
	size_t first, last;
	double cost;
};

/*
 * Plateaus of @cost over @size (ascending, above 0), to @out, PLATEAU_MAX at
 * most; how many. Costs are made monotone first, from the right: whatever
 * disturbs a measurement makes it dearer, so a point that costs more than a
 * larger one was disturbed. A plateau is about half an octave and three points that
 * were not, or longer, but for the first: a small cache is one point.
 */
size_t plateau_find(const double *size, const double *cost, size_t n, struct plateau *out);

#endif
