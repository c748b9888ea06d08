/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Servet's way to find caches, as published (González-Domínguez, Taboada,
 * Fraguela, Martín and Touriño 2010), to be compared with: faithful, weaknesses
 * included. Where the paper leaves something open, the choice is a constant
 * below or in the file that makes it.
 */
#ifndef SONDE_LIB_PROBE_SERVET_H
#define SONDE_LIB_PROBE_SERVET_H

#include <stddef.h>
#include <stdint.h>
#include <sonde/servet.h>
#include <sonde/share.h>
#include "../meter.h"

/* Stride of every walk: longer than any line, and beyond the prefetchers of its time. */
#define SERVET_STRIDE	1024UL
/* The paper names neither end of its sizes. */
#define SERVET_MIN	(4UL << 10)
#define SERVET_MAX	(256UL << 20)
/* Sizes double below this, and grow by half of it from here on. */
#define SERVET_OCTAVES	(2UL << 20)
/* A cost that is this much higher is another level's. */
#define SERVET_PEAK	1.2
/* Figure 4: a pair that costs more than this times one CPU alone shares the cache. */
#define SERVET_SHARED	1.5

/**
 * struct servet_curve - what figure 1 puts out
 * @n: sizes
 * @size: bytes of each (S)
 * @cycles: core cycles a load, mean (C)
 * @point: the same for the report
 * @core_hz: core clock, median over sizes
 */
struct servet_curve {
	size_t n;
	double *size;
	double *cycles;
	struct sonde_cache_point *point;
	double core_hz;
};

/**
 * struct servet_range - a stretch of the curve that one cache explains
 * @first: its first size
 * @last: its last one
 * @risen: gradients above 1 in it
 * @peak: where the gradient is largest
 */
struct servet_range {
	size_t first, last;
	size_t risen;
	size_t peak;
};

/* How many sizes figure 1 tries up to @max bytes, written to @size if that is not NULL. */
size_t servet_sizes(size_t max, double *size);

/*
 * Figure 1, mcalibrator: the curve up to @max bytes, to be freed with
 * servet_curve_free() also on failure. It ends early when @options' time is
 * gone. 0, -ENOMEM, -ECANCELED.
 */
int servet_calibrate(struct meter *m, const struct sonde_cache_options *options, size_t max,
		     struct servet_curve *curve);
void servet_curve_free(struct servet_curve *curve);

/* Where @cycles has its first peak of gradients: C[k + 1] / C[k]; @n if nowhere. */
size_t servet_first_peak(const double *cycles, size_t n);

/*
 * The next stretch of @cycles that rises at @from or after. Return: whether
 * there is one.
 */
int servet_next_range(const double *cycles, size_t n, size_t from, struct servet_range *range);

/*
 * Figure 3: which of @size[0..@n) is the cache whose misses differ least from
 * @cycles, with pages of @page bytes. @ways, which may be NULL, is the
 * associativity that goes with it.
 */
double servet_estimate(const double *size, const double *cycles, size_t n, size_t page,
		       unsigned int *ways);

/* As sonde_servet_cache(), on @m, which stays the caller's. */
int probe_servet_with(struct meter *m, const struct sonde_cache_options *options,
		      struct sonde_cache_report **report);

/* As sonde_servet_share(), on @m, which stays the caller's, with options that were
 * checked. */
int probe_servet_share_with(struct meter *m, const struct sonde_share_options *options,
			    struct sonde_share_report **report);

/**
 * servet_shared() - figure 4 for one level
 * @m: the machine; its CPU and memory are others afterwards
 * @bytes: the cache's size
 * @cpus: @n CPUs, 2 or more
 * @n: how many
 * @ratio: @n times @n: cycles of two CPUs walking two thirds of the cache each,
 *         over those of one alone; above SERVET_SHARED: the two share it.
 *         Symmetric, 0 on the diagonal
 * @progress: see struct sonde_cache_options; may be NULL
 * @ctx: its first argument
 *
 * Every pair is tried, as published.
 *
 * Return: 0, -EINVAL (fewer CPUs, a cache of less than three pages), -ENOMEM
 * (also: four thirds of the cache are more than may be had), -ECANCELED,
 * -EOPNOTSUPP (this machine runs no two CPUs at once), or what
 * meter_ops.together() said.
 */
int servet_shared(struct meter *m, uint64_t bytes, const unsigned int *cpus, size_t n,
		  double *ratio, int (*progress)(void *ctx, double done, const char *what),
		  void *ctx);

#endif
