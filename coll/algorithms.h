/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * algorithms - the one table of what there is, with what each needs
 *
 * Outer algorithms, exchanges between nodes and exchanges in a node are
 * composed; nothing above knows which it got.
 */
#ifndef SONDE_COLL_ALGORITHMS_H
#define SONDE_COLL_ALGORITHMS_H

#include <stddef.h>

#include "call.h"
#include "choice.h"

struct coll_map;
struct coll_plan;

enum coll_kind { COLL_OUTER, COLL_INTER, COLL_IN_NODE };

/* What it needs of a communicator and a call. */
#define COLL_NEEDS_ONE_NODE	0x01
#define COLL_NEEDS_NODES	0x02	/* two or more */
#define COLL_NEEDS_PEERS	0x04	/* a node with two ranks or more */
#define COLL_NEEDS_SEGMENT	0x08
#define COLL_NEEDS_REGULAR	0x10	/* as many ranks on each node; of inter with outer but flat */
#define COLL_NEEDS_ALIKE	0x20	/* blocks of one size: not MPI_Alltoallv */
#define COLL_NEEDS_MODERATE	0x40	/* blocks of up to 1 GiB, which MPI can pack */
#define COLL_NEEDS_MEMORY	0x80	/* all blocks up to 1 GiB together */
#define COLL_NEEDS_STREAMING	0x100	/* stores that go past the cache */

/**
 * struct coll_message - between two ranks of a plan
 * @at: memory; of what is received NULL, if it may be anywhere: then @at is
 *	filled in
 */
struct coll_message {
	int peer;
	char *at;
	MPI_Count count;
	MPI_Datatype type;
};

/**
 * struct coll_exchange - what this rank sends and receives
 * @sends, @recvs: by ascending distance of nodes (of ranks, if flat), each to its
 *	side; messages between two ranks in the same order on both
 * @piece: messages of bytes are sent in pieces of at most so many; 0: whole
 * @base: for Bruck: message j - 1 is the j-th of equal blocks from here; the 0th
 *	is this rank's own and is left alone
 * @block: bytes of each, for Bruck
 */
struct coll_exchange {
	struct coll_message *sends, *recvs;
	int nsends, nrecvs;
	size_t piece;
	char *base;
	size_t block;
};

/**
 * struct coll_cell - a block that is to be had from a local rank
 * @from: the local rank that has it
 * @cell: its place there, in blocks
 * @src: the rank that sent it
 */
struct coll_cell {
	int from;
	size_t cell;
	int src;
};

/**
 * struct coll_in_node - an exchange between ranks of a node
 * @chunk: the most bytes of each block at a time, if a rank's memory has so many
 *	blocks; the same on all nodes
 * @collect: bytes [@off, @off + @len) of every block of the map's ranks: those for
 *	this rank into the receive side, the others to @base: the block of local
 *	rank i for slot s >= 1 at (s * L + i) * @len
 * @ground: memory of so many bytes to receive in, for @distribute
 * @distribute: from the grounds of all local ranks to the receive side
 */
struct coll_in_node {
	size_t (*chunk)(const struct coll_plan *plan, size_t blocks, size_t block);
	int (*collect)(struct coll_call *call, const struct coll_map *map, size_t off,
		       size_t len, char **base);
	char *(*ground)(struct coll_plan *plan, size_t bytes);
	int (*distribute)(struct coll_call *call, const struct coll_cell *cells, size_t n,
			  size_t off, size_t len);
};

/**
 * struct coll_algorithm - a line of the table
 * @id: enum coll_outer, coll_inter or coll_way
 * @least, @most, @usual: of its parameter; 0, 0, 0: it has none
 */
struct coll_algorithm {
	enum coll_kind kind;
	int id;
	const char *name;
	int least, most, usual;
	unsigned int needs;
	const char *what;
	int (*run)(struct coll_call *call, const struct coll_choice *choice);
	int (*exchange)(struct coll_plan *plan, const struct coll_choice *choice,
			struct coll_exchange *exchange);
	const struct coll_in_node *in_node;
};

extern const struct coll_algorithm coll_algorithms[];
extern const size_t coll_nalgorithms;

const struct coll_algorithm *coll_algorithm_find(enum coll_kind kind, int id);

/* Return: 1; 0, and what is not so. Collective in that all ranks answer the same. */
int coll_choice_fits(struct coll_plan *plan, const struct coll_choice *choice,
		     enum coll_op op, size_t block, char *why, size_t len);

/* All ranks have found, before anything was done, that MPI must do it. */
#define COLL_HAND_OVER	(-0x10000)
/* All ranks of the node have heard that one of them would rather use the segment. */
#define COLL_DECLINED	(-0x10001)

/* The files of one algorithm each. Return: 0, COLL_HAND_OVER, -errno, or what MPI said. */
int coll_run_flat(struct coll_call *call, const struct coll_choice *choice);
int coll_run_local(struct coll_call *call, const struct coll_choice *choice);
int coll_run_local_v(struct coll_call *call, const struct coll_choice *choice);
int coll_run_sa(struct coll_call *call, const struct coll_choice *choice);
int coll_run_sa_v(struct coll_call *call, const struct coll_choice *choice);
int coll_run_rd(struct coll_call *call, const struct coll_choice *choice);
int coll_run_rd_v(struct coll_call *call, const struct coll_choice *choice);
int coll_run_leader(struct coll_call *call, const struct coll_choice *choice);
int coll_run_leader_v(struct coll_call *call, const struct coll_choice *choice);

int coll_exchange_bruck(struct coll_plan *plan, const struct coll_choice *choice,
			struct coll_exchange *exchange);
int coll_exchange_window(struct coll_plan *plan, const struct coll_choice *choice,
			 struct coll_exchange *exchange);
int coll_exchange_pairwise(struct coll_plan *plan, const struct coll_choice *choice,
			   struct coll_exchange *exchange);

extern const struct coll_in_node coll_in_node_shm, coll_in_node_cma, coll_in_node_region,
	coll_in_node_stream;

/* Bytes of each block at a time, by what a rank's memory must hold; 0: not even one. */
size_t coll_outer_chunk(const struct coll_plan *plan, const struct coll_choice *choice,
			size_t block);

/* By the choice's inter-node algorithm. */
int coll_exchange(struct coll_plan *plan, const struct coll_choice *choice,
		  struct coll_exchange *exchange);
const struct coll_in_node *coll_in_node_of(const struct coll_choice *choice);

#define COLL_TAG	1

#endif
