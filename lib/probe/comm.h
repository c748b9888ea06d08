/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The carrier seam: places that send each other messages, in batches. What is above
 * sees only this, so the same plan measures threads of this machine, ranks of an
 * MPI job, and a cluster that nobody has.
 *
 * In an MPI job every rank runs the plan. It comes to the same decisions on each,
 * since all it learns is what a carrier tells all of them alike: times, and the clock.
 */
#ifndef SONDE_LIB_PROBE_COMM_H
#define SONDE_LIB_PROBE_COMM_H

#include <sonde/comm.h>
#include "../rng.h"

/* The most windows of a run. */
#define COMM_WINDOWS	64

enum comm_kind {
	COMM_PINGPONG,	/* there and back, so many times; a window's value is half of one */
	COMM_TRAIN,	/* so many messages, then one back; the value is all of it */
	COMM_RECEIVE,	/* a train whose messages are there when they are received; of each,
			 * at the receiver */
};

/**
 * struct comm_run - what the pairs of a round do
 * @kind: see there
 * @bytes: of a message
 * @turns: round trips, or messages, of a window
 * @delay_ns: of the sender between messages (COMM_TRAIN; not in the value) or of the
 *            receiver before each (COMM_RECEIVE; likewise)
 * @windows: how many, up to COMM_WINDOWS, without pause, after one that is not timed
 */
struct comm_run {
	enum comm_kind kind;
	size_t bytes;
	unsigned int turns;
	double delay_ns;
	unsigned int windows;
};

/* Two places, and the turns of a window where that differs from run.turns; 0: it does not. */
struct comm_pair {
	unsigned int a, b;
	unsigned int turns;
};

struct comm_carrier;

/**
 * struct comm_carrier_ops - how messages go
 * @together: all @npairs pairs at the same time, no place twice: each its windows, in
 *            nanoseconds, to @ns + pair * windows. 0, -EAGAIN (nothing came of it this
 *            time), or an error that ends the probe
 * @now: seconds since some moment, the same for all who run the plan
 * @close: free everything, also @c
 */
struct comm_carrier_ops {
	int (*together)(struct comm_carrier *c, const struct comm_pair *pairs, size_t npairs,
			const struct comm_run *run, double *ns);
	double (*now)(struct comm_carrier *c);
	void (*close)(struct comm_carrier *c);
};

/**
 * struct comm_carrier - places
 * @places: @n of them; pairs of different nodes disturb nobody on others
 * @method: which it is
 * @via: see struct sonde_comm_matrix
 * @most_bytes: the largest message
 */
struct comm_carrier {
	const struct comm_carrier_ops *ops;
	const struct sonde_comm_place *places;
	size_t n;
	enum sonde_comm_method method;
	char via[64];
	size_t most_bytes;
};

/* ---- comm_exchange.c: the windows of a run over anything that sends --------- */

/**
 * struct comm_end - one end of a pair
 * @send, @receive: a message, as long as the run says. 0, or an error that ends it
 * @now: nanoseconds
 */
struct comm_end {
	int (*send)(struct comm_end *e, size_t bytes);
	int (*receive)(struct comm_end *e, size_t bytes);
	double (*now)(struct comm_end *e);
};

/* Window @i of @run: by who sends first, and by the other. The one that times it, by the
 * run's kind, writes *@ns. 0, or what an end said. */
int comm_window_first(struct comm_end *e, const struct comm_run *run, double *ns);
int comm_window_second(struct comm_end *e, const struct comm_run *run, double *ns);

/* Whether the second of a pair has the times. */
static inline int comm_second_times(const struct comm_run *run)
{
	return run->kind == COMM_RECEIVE;
}

/* ---- the plan --------------------------------------------------------------- */

#define COMM_PASSES	24

/**
 * struct comm_candidate - two places
 * @kin: pairs of a kin are taken to be alike
 * @of: index among those that are measured; -1: it is not
 */
struct comm_candidate {
	unsigned int a, b;
	unsigned int kin;
	int of;
};

/**
 * struct comm_measured - a pair that is measured
 * @is: index among all
 * @turns: of a window; 0: not known yet
 * @x: logarithms of the least of each pass, @n
 * @layer: index; -1: cannot be told
 */
struct comm_measured {
	size_t is;
	unsigned int turns, n, windows;
	int layer;
	double x[COMM_PASSES];
};

/**
 * struct comm - a probe at work, for one carrier and size
 * @carrier: the places
 * @options: the caller's
 * @report: where notes go
 * @matrix: where the rest goes
 * @rng: of orders and choices
 * @pairs: @npairs, all there are; of @nkins kins
 * @measured: @nmeasured of them
 * @spread: relative deviation of a pair's value
 * @deadline: by the carrier's clock
 * @done, @share: of all work, what is done and what this part is of it
 * @what: is being measured
 */
struct comm {
	struct comm_carrier *carrier;
	const struct sonde_comm_options *options;
	struct sonde_comm_report *report;
	struct sonde_comm_matrix *matrix;
	struct sonde_rng rng;
	struct comm_candidate *pairs;
	size_t npairs;
	unsigned int nkins;
	struct comm_measured *measured;
	size_t nmeasured;
	double spread, begin, deadline;
	double done, share;
	const char *what;
};

/*
 * Everything by one carrier, to @report, for all sizes; @seconds it may take and what
 * share of all work it is, from @done on. 0, -ENOMEM, -ECANCELED, -EAGAIN, or what the
 * carrier said.
 */
int comm_probe(struct comm_carrier *carrier, const struct sonde_comm_options *options,
	       double seconds, double done, double share, struct sonde_comm_report *report);

/* An empty report of these places. NULL for want of memory. */
struct sonde_comm_report *comm_report_new(const struct sonde_comm_place *places, size_t n);

/* Options that cannot be: -EINVAL; else 0. Defaults for what is 0. */
int comm_complete_options(struct sonde_comm_options *options);

__attribute__((format(printf, 2, 3)))
int comm_note(struct comm *p, const char *fmt, ...);

/* Whoever watches hears that so much of this part is done: 0, -ECANCELED. */
int comm_progress(struct comm *p, double part);

/*
 * All pairs together, some times if nothing comes of it. 0, -EAGAIN, or an error that
 * ends the probe.
 */
int comm_run(struct comm *p, const struct comm_pair *pairs, size_t npairs,
	     const struct comm_run *run, double *ns);

/* comm_pairs.c: what is measured of a kinship, and passes over it, until two in a row
 * give the same layers. */
int comm_measure_pairs(struct comm *p);

/* comm_layers.c: layers of the pairs that were measured, and the matrix. 0, -ENOMEM. */
int comm_classify(struct comm *p);
/* What a pair costs by its passes; 0 if it has none. */
double comm_value(const struct comm_measured *m);

/* comm_curve.c: messages of each size over each layer, pairs at the same time. */
int comm_measure_curves(struct comm *p);
int comm_measure_loads(struct comm *p);

/*
 * The least of @n windows: what disturbs a message only ever makes it later, and where
 * CPUs have other work too, most windows are disturbed. Of several passes, sorted, a low
 * quantile: one that was quick by chance is not what it usually takes.
 */
double comm_least(const double *x, size_t n);
double comm_low(const double *x, size_t n);

/* How deep the smallest group is that two places are claimed to have in common. */
size_t comm_kinship(const struct sonde_comm_options *o, size_t a, size_t b);

/* ---- carriers --------------------------------------------------------------- */

/* Threads of this machine, each bound to the CPU of its place; messages up to
 * @most_bytes. 0, -ENOMEM, -EPERM, -EOPNOTSUPP, or what opening the way said. */
int comm_threads_open(struct comm_carrier **c, enum sonde_comm_method method,
		      const struct sonde_clock *clk, const struct sonde_comm_place *places,
		      size_t n, size_t most_bytes);

struct meter;
/* Lines that are handed over, on any meter, which stays the caller's. 0, -ENOMEM. */
int comm_line_open(struct comm_carrier **c, struct meter *meter, uint64_t seed,
		   const struct sonde_comm_place *places, size_t n);

#endif
