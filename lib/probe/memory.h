/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of the memory probe have in common, and the probe on any meter. */
#ifndef SONDE_LIB_PROBE_MEMORY_H
#define SONDE_LIB_PROBE_MEMORY_H

#include <sonde/memory.h>
#include "../rng.h"
#include "../stream.h"

/* Windows of a lane in one run: some milliseconds. */
#define MEMORY_WINDOWS	64
/* Runs that a value is the median of, and how often they are tried. */
#define MEMORY_ROUNDS	7
#define MEMORY_TRIES	(2 * MEMORY_ROUNDS)

/**
 * struct memory - a memory probe at work
 * @meter: the machine
 * @rng: which pairs are measured
 * @options: the caller's, with CPUs
 * @report: what is found goes here
 * @lanes: room for all CPUs at once, and the windows of each
 * @windows: MEMORY_WINDOWS for each CPU
 * @kept: MEMORY_WINDOWS
 * @bytes: memory of a lane when there are few
 * @spreads: of each pair and CPU, deviation of its median, logarithmic; @nspreads
 * @what: is being measured, for whoever watches
 * @done: share of all work that is done
 * @begin: the meter's time
 */
struct memory {
	struct meter *meter;
	struct sonde_rng rng;
	const struct sonde_memory_options *options;
	struct sonde_memory_report *report;
	struct meter_stream *lanes;
	struct meter_window *windows, *kept;
	size_t bytes;
	double *spreads;
	size_t nspreads;
	const char *what;
	double done, begin;
};

/**
 * struct memory_rounds - rates of several runs
 * @x: @n values, up to MEMORY_TRIES
 * @windows: that were taken
 * @kept: of these
 */
struct memory_rounds {
	double x[MEMORY_TRIES];
	unsigned int n;
	size_t windows, kept;
};

/* As sonde_probe_memory(), on @meter, with options that have .cpus. */
int probe_memory_with(struct meter *meter, const struct sonde_memory_options *options,
		      struct sonde_memory_report **report);

/* -EINVAL (no CPU, or they do not ascend), 0. */
int memory_check_options(const struct sonde_memory_options *options);

/* A sentence for whoever reads the report. 0, -ENOMEM. */
__attribute__((format(printf, 2, 3)))
int memory_note(struct memory *p, const char *fmt, ...);

/* Lane @i does @kind on @cpu, with memory of its own node and base pages. */
void memory_set_lane(struct memory *p, size_t i, unsigned int cpu, enum sonde_stream kind,
		     size_t bytes);

/* Memory of each of @n lanes. */
size_t memory_bytes(const struct memory *p, size_t n);

/*
 * The first @n lanes at once. To @rate, of each: bytes, or loads, a second over the
 * windows that are proven to overlap; NAN if there are too few. 0, or an error that
 * ends the probe.
 */
int memory_run(struct memory *p, size_t n, double *rate, size_t *kept);

/* Keep a value that is one. */
void memory_add(struct memory_rounds *r, double x, size_t windows, size_t kept);

/* Median, interval and so on; all 0 without values. */
struct sonde_memory_rate memory_rate(struct memory_rounds *r);

/* What the rounds tell of the deviation of their median, to p->spreads. 0, -ENOMEM. */
int memory_add_spread(struct memory *p, const struct memory_rounds *r);

/* Report's parts: references of the first CPU's own memory and of other memory; alone, pairs, classes and matrix; curves; loads. 0,
 * -ENOMEM, -ECANCELED, or what the meter said. */
int memory_measure_references(struct memory *p);
int memory_measure_others(struct memory *p);
int memory_measure_alone(struct memory *p);
int memory_measure_pairs(struct memory *p);
int memory_measure_curves(struct memory *p);
int memory_measure_loads(struct memory *p);

/* memory_classes.c: classes and matrix of the pairs that were measured. 0, -ENOMEM. */
int memory_classify(struct memory *p);

/* How deep the smallest group is that two CPUs are claimed to have in common; as many
 * as there are pairs of one kind if nothing is claimed. By index. */
size_t memory_kinship(const struct memory *p, size_t a, size_t b);

/* Where @cpu, one of those measured, stands among them. */
size_t memory_index(const struct memory *p, unsigned int cpu);

#endif
