/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The size of a cache from how the cost of a load rises when a working set
 * outgrows it.
 *
 * Servet (section 2.1, figure 3) takes the miss rate to be the probability that
 * a page set holds more pages than the cache has ways, pages falling into sets
 * at random. Two things are done otherwise here. What a load sees is weighted
 * by lines, not by sets: a full set has more lines. And few caches replace by
 * LRU: real ones lie between LRU, where a set with one line too many misses
 * always, and random, where it seldom misses; how far between is fitted.
 */
#ifndef SONDE_LIB_PROBE_CAPACITY_H
#define SONDE_LIB_PROBE_CAPACITY_H

#include <stddef.h>
#include <stdint.h>
#include <sonde/stats.h>

/* How the working sets' pages came to their places in the cache. */
enum placement {
	PLACED_EVENLY,		/* in turn, as virtually indexed caches see a run of pages */
	PLACED_RANDOMLY,	/* each by itself */
};

/**
 * struct observation - one walk
 * @chunks: its working set
 * @cycles: what a load cost, translation subtracted
 */
struct observation {
	size_t chunks;
	double cycles;
};

/**
 * struct capacity - what was fitted
 * @bytes: size of the cache
 * @ci: sizes that fit as well, and 95 % interval by resampling the walks
 * @hit: cycles of a load that hits
 * @miss: cycles of a load that misses
 * @misfit: root mean square error over (@miss - @hit)
 */
struct capacity {
	double bytes;
	struct sonde_interval ci;
	double hit, miss;
	double misfit;
};

/*
 * Fit the observations @obs[0..@n), grouped by size (equal .chunks side by
 * side), with a cache of @low to @high chunks. 0, -EINVAL (nothing rises),
 * -ENOMEM.
 */
int capacity_fit(const struct observation *obs, size_t n, enum placement placement, double low,
		 double high, uint64_t seed, struct capacity *out);

#endif
