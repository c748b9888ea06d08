/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Alltoall as programs for the simulator: outer scheme times the exchange
 * between nodes. A step is computed from its number, nothing is stored: a
 * program of billions of steps takes no memory.
 */
#ifndef SONDE_COLL_SIM_SCHEDULE_H
#define SONDE_COLL_SIM_SCHEDULE_H

#include "engine.h"

enum a2a_outer {
	A2A_FLAT,	/* every rank with every rank */
	A2A_LEADER,	/* one rank of a node for all of it */
	A2A_LEADERS,	/* several, each for some of its ranks */
	A2A_SA,		/* send-side aggregation */
	A2A_RD,		/* receive-side distribution */
	A2A_OUTERS
};

enum a2a_inner {
	A2A_TUNED,	/* as the class's MPI has it for the size */
	A2A_BRUCK,
	A2A_ISEND,
	A2A_PAIRWISE,
	A2A_INNERS
};

const char *a2a_outer_name(enum a2a_outer outer);
const char *a2a_inner_name(enum a2a_inner inner);
int a2a_outer_find(const char *name);	/* -1 if it is none */
int a2a_inner_find(const char *name);

/**
 * struct a2a_request - what to do
 * @bytes: of a block, from each rank to each
 * @leaders: of a node, for A2A_LEADERS
 * @radix: of Bruck's algorithm; 2 is the usual one
 */
struct a2a_request {
	enum a2a_outer outer;
	enum a2a_inner inner;
	uint32_t nodes, ppn;
	uint64_t bytes;
	uint32_t leaders;
	uint32_t radix;
};

/**
 * struct a2a_plan - a request with everything decided
 * @members: ranks in an exchange; @leaders: exchanges at once, from each node
 * @inner: never A2A_TUNED
 * @cold: share of what is aggregated that is not in a cache, there or when sent
 */
struct a2a_plan {
	struct a2a_request request;
	uint32_t members;
	uint32_t leaders;
	enum a2a_inner inner;
	double cold;
};

/* Return: 0, -EINVAL (a number out of its bounds). */
int a2a_plan_make(const struct a2a_request *request, const struct a2a_class *class,
		  struct a2a_plan *plan);

/* The program of @plan, which must outlive it. */
struct a2a_program a2a_plan_program(const struct a2a_plan *plan);

/**
 * struct a2a_counts - messages that a rank sends, and bytes of them
 *
 * Between nodes, and within its node by messages. What goes through shared
 * memory is in @copied: the bytes that this rank copies.
 */
struct a2a_counts {
	uint64_t wire_messages, wire_bytes;
	uint64_t local_messages, local_bytes;
	uint64_t copied;
	uint64_t barriers;
};

void a2a_count(const struct a2a_program *program, uint32_t rank, struct a2a_counts *counts);

/*
 * What it takes, of one node that stands for all or, if that is asked for or must
 * be, of all. Return: as a2a_simulate().
 */
int a2a_predict(const struct a2a_request *request, const struct a2a_class *class, int is_full,
		const struct a2a_watch *watch, struct a2a_stats *stats);

#endif
