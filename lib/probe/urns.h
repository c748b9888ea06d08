/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lines of a pool fall into sets as balls into urns. */
#ifndef SONDE_LIB_PROBE_URNS_H
#define SONDE_LIB_PROBE_URNS_H

#include <math.h>

/* Lines that @sets sets of @ways lack to be full, if the pool has @mean for each. */
static inline double urns_lacking(double sets, unsigned int ways, double mean)
{
	double p = exp(-mean), sum = 0;

	for (unsigned int k = 0; k < ways; k++, p *= mean / k)
		sum += (ways - k) * p;
	return sets * sum;
}

/* The share of lines that are in sets with more of them than @ways, if there are @mean for each. */
static inline double urns_crowded(unsigned int ways, double mean)
{
	double p = exp(-mean), rest = 1;

	for (unsigned int k = 0; k < ways; k++, p *= mean / k)
		rest -= p;
	return rest;
}

#endif
