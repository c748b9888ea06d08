/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The simulator's core: programs of ranks in, times out. No files, no clock, no
 * chance: the same program and class give the same result.
 */
#ifndef SONDE_COLL_SIM_ENGINE_H
#define SONDE_COLL_SIM_ENGINE_H

#include <stdint.h>
#include "class.h"

/* Bounds of what event keys have room for. */
#define A2A_MAX_NODES	(1u << 16)
#define A2A_MAX_PPN	(1u << 12)
#define A2A_MAX_RANKS	(1u << 24)
#define A2A_MAX_TAG	(1u << 24)

enum a2a_kind {
	A2A_COPY,	/* of bytes within the node */
	A2A_BARRIER,	/* of the node's ranks */
	A2A_RECV,	/* a receive is posted */
	A2A_SEND,	/* nonblocking */
	A2A_WAIT,	/* for all that has the tag */
};

/**
 * struct a2a_op - a step of a rank
 * @peer: rank, of A2A_SEND and A2A_RECV
 * @tag: phase of the exchange; never falls in a rank's program
 * @bytes: of a copy or message
 * @cold: share of a copy's bytes that no cache holds, 0 to 1
 */
struct a2a_op {
	enum a2a_kind kind;
	uint32_t peer;
	uint32_t tag;
	double cold;
	uint64_t bytes;
};

/*
 * How the program of node n follows from that of node 0: every peer's node d
 * becomes d + n modulo nodes, or d ^ n.
 */
enum a2a_symmetry { A2A_ASYMMETRIC, A2A_CYCLIC, A2A_XOR };

/**
 * struct a2a_program - what every rank does
 * @get: step @index of @rank into @op; 0 when there is none any more. Pure.
 *
 * Rank r is local rank r % ppn of node r / ppn.
 */
struct a2a_program {
	uint32_t nodes, ppn;
	enum a2a_symmetry symmetry;
	const void *ctx;
	int (*get)(const void *ctx, uint32_t rank, uint64_t index, struct a2a_op *op);
};

/**
 * struct a2a_stats - what was simulated
 * @time_ns: when the last rank was done
 * @messages: that ranks sent, and @bytes of them; those between nodes are also
 *	in @wire_messages and @wire_bytes. MPI's own handshakes do not count.
 * @received, @received_bytes: that ranks got
 * @qp_hits: messages and handshakes whose connection the adapter held; both ends
 * @events: steps of the simulator
 */
struct a2a_stats {
	double time_ns;
	uint64_t messages, bytes;
	uint64_t wire_messages, wire_bytes;
	uint64_t received, received_bytes;
	uint64_t qp_hits, qp_misses;
	uint64_t events;
};

/**
 * struct a2a_watch - who looks on
 * @look: called every so often; non-zero ends the simulation with -ECANCELED
 */
struct a2a_watch {
	int (*look)(void *ctx, uint64_t events);
	void *ctx;
};

/**
 * a2a_simulate() - run a program
 * @is_reduced: simulate node 0 alone; what it sends to node d arrives at itself as
 *	if it came from the node whose d it is. Exact where the symmetry holds; not
 *	where nodes share processors.
 * @watch: may be NULL
 * @finish: when each simulated rank was done; may be NULL
 *
 * Return: 0, -EINVAL (a size out of bounds, or nothing to reduce by),
 * -EDEADLK (ranks wait for what nobody sends), -ENOMEM, -ECANCELED.
 */
int a2a_simulate(const struct a2a_program *program, const struct a2a_class *class,
		 int is_reduced, const struct a2a_watch *watch, struct a2a_stats *stats,
		 double *finish);

#endif
