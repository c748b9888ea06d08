/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of the sharing probe have in common, and the probe on any meter. */
#ifndef SONDE_LIB_PROBE_SHARE_H
#define SONDE_LIB_PROBE_SHARE_H

#include <sonde/share.h>
#include "../meter.h"
#include "../rng.h"

#define SHARE_LEVELS	8
#define SHARE_WINDOWS	1024
/* Two CPUs that are so many times farther apart than before were moved. */
#define SHARE_MOVED	1.6

/**
 * struct share_plan - how to test one level
 * @level: 1 is nearest to the core
 * @is_last: beyond it is memory
 * @again: cycles of a hit, as the cache report says
 * @beyond: cycles of a load from the next level
 * @set: chunks that are handed over; 0: the level cannot be tested
 * @sweep: chunks walked after them, so that a level nearer to the core has
 *         forgotten them
 * @crowd: chunks of which one CPU's fit, two CPUs' do not; 0: no contention test
 */
struct share_plan {
	unsigned int level;
	int is_last;
	double again, beyond;
	size_t set, sweep, crowd;
};

/**
 * struct share - a sharing probe at work
 * @meter: the machine
 * @rng: of the walks
 * @order: the pool's @nchunks in some order
 * @chunks: those of the next walk, by share_draw()
 * @lines: room for a walk of all lines of the pool
 * @windows: room for SHARE_WINDOWS
 * @alone: of each CPU, what a load of the contention test costs by itself at this
 *         level; 0 until measured
 * @options: the caller's, with CPUs and caches
 * @report: what is found goes here
 * @plan: @nplans levels, nearest first
 * @at: the one being tested
 * @apart: how far apart those CPUs were that were nearest when compared at this level,
 *         in cycles as by handover_distance(); INFINITY until two were, 0 on a machine
 *         whose CPUs stay where they are
 * @nleft: samples of it that were left out since the CPUs were farther apart then
 * @done: share of all work that is done
 * @begin: the meter's time
 */
struct share {
	struct meter *meter;
	struct sonde_rng rng;
	uint32_t *order, *chunks;
	size_t nchunks;
	uint32_t *lines;
	struct meter_window *windows;
	double *alone;
	const struct sonde_share_options *options;
	struct sonde_share_report *report;
	struct share_plan plan[SHARE_LEVELS];
	size_t nplans;
	const struct share_plan *at;
	double apart;
	size_t nleft;
	double done, begin;
};

/* As sonde_probe_share(), on @meter, with options that have .cpus and .caches. */
int probe_share_with(struct meter *meter, const struct sonde_share_options *options,
		     struct sonde_share_report **report);

/* -ENODATA (fewer than two CPUs), -EINVAL (they do not ascend), 0. */
int share_check_options(const struct sonde_share_options *options);

/* -ECANCELED if whoever watches wants no more. */
int share_tick(struct share *s);

/* Where @cpu, one of those compared, stands among them. */
size_t share_index(const struct share *s, unsigned int cpu);

/* A sentence for whoever reads the report. 0, -ENOMEM. */
__attribute__((format(printf, 2, 3)))
int share_note(struct share *s, const char *fmt, ...);

/* The plans of all levels, for a pool of s->nchunks. 0, -ENOMEM. */
int share_make_plans(struct share *s);

/* A plan for a level behind the last one that the cache report knows, of which
 * nothing is known; .set is 0 if there is no room to look for it. */
void share_try_level(const struct share *s, struct share_plan *plan);

/*
 * Compares two CPUs at s->at, unless that was done before, and keeps the answer
 * in the report. 0 and *@pair, valid until the next one is added; or an error.
 */
int share_compare(struct share *s, unsigned int a, unsigned int b,
		  const struct sonde_share_pair **pair);

/* The groups of s->at, each within one of @outer (NULL: any), to @level. */
int share_group(struct share *s, const struct sonde_share_level *outer,
		struct sonde_share_level *level);

/*
 * Holds the groups of s->at against the host of this guest, as it may have moved CPUs; see
 * share_settle.c. As share_group().
 */
int share_settle(struct share *s, const struct sonde_share_level *outer,
		 struct sonde_share_level *level);

/* @n chunks of the pool to s->chunks; side by side if @is_run, as a level that is
 * indexed by virtual addresses wants them. */
void share_draw(struct share *s, size_t n, int is_run);

/* Cycles a load, lower quartile of the windows; those that something interrupted
 * are left out and counted in @discarded. */
double share_cycles(const struct share *s, const struct meter_window *w, size_t n,
		    unsigned int steps, size_t *discarded);

#endif
