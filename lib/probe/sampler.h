/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One working set at a time: choose its pages, walk it until the answer is
 * precise or its time is gone, throw away what was interrupted.
 */
#ifndef SONDE_LIB_PROBE_SAMPLER_H
#define SONDE_LIB_PROBE_SAMPLER_H

#include <stddef.h>
#include <stdint.h>
#include <sonde/probe.h>
#include "../meter.h"
#include "../rng.h"

/*
 * Pages are drawn from a run so many times as long: long enough that they fall
 * into the sets of a cache nearly independently, short enough that the tables
 * that translate them stay cached as those of a program's would.
 */
#define SAMPLER_SPREAD	4

/* Windows kept of one working set at most. */
#define SAMPLER_WINDOWS	2048

enum walk_kind {
	WALK_RUN,		/* pages that follow each other in virtual memory */
	WALK_SCATTERED,		/* pages drawn from a run SAMPLER_SPREAD times as long */
	WALK_LINE_A_PAGE,	/* one line of each of the pages of a run */
	WALK_LINE_SCATTERED,	/* one line of each of pages drawn as in WALK_SCATTERED */
};

/**
 * struct sample - what one working set cost
 * @cycles: core cycles a load, lower quartile of windows
 * @floor: the same, tenth percentile: for the latency of a hit
 * @ns: nanoseconds a load, lower quartile
 * @ci: 95 % interval of @cycles
 * @windows: kept
 * @discarded: share thrown away
 */
struct sample {
	double cycles;
	double floor;
	double ns;
	struct sonde_interval ci;
	unsigned int windows;
	double discarded;
};

struct sampler {
	struct meter *meter;
	struct sonde_rng rng;
	uint32_t *drawn;	/* room for a draw */
	size_t nchunks;
	uint32_t *lines;	/* room for the largest walk */
	double window_ns;
	double begin;		/* the meter's time */
	double budget_s;
	int (*progress)(void *ctx, double done, const char *what);
	void *progress_ctx;
	const char *what;	/* being done */
	double cycles[SAMPLER_WINDOWS];
	double ns[SAMPLER_WINDOWS];
};

/* Get a pool of @bytes and watch for gaps. 0, -ENOMEM. */
int sampler_open(struct sampler **s, struct meter *meter, size_t bytes,
		 const struct sonde_cache_options *options);
void sampler_close(struct sampler *s);

/* Seconds since open. */
double sampler_elapsed(const struct sampler *s);

/* -ECANCELED if whoever watches wants no more. */
int sampler_tick(struct sampler *s);

/*
 * Walk @n chunks (pages where it is a line a page) for about @seconds at most. 0,
 * -ECANCELED.
 */
int sampler_take(struct sampler *s, enum walk_kind kind, size_t n, double seconds,
		 struct sample *out);

#endif
