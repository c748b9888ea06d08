/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * outer_v - what the outer algorithms share for blocks of different sizes
 *
 * How large a block is only its two ends know. So whoever hands blocks on hands a list
 * of their sizes with them.
 *
 * Only blocks of up to so many bytes are collected that all of them have room in
 * one step; larger ones, which need no aggregation, go straight from rank to
 * rank. Both ends of a block know its size and the bound is the same everywhere,
 * so there is nothing to agree on, and what is empty is not sent.
 */
#ifndef SONDE_COLL_OUTER_V_H
#define SONDE_COLL_OUTER_V_H

#include <stdint.h>

#include "outer.h"
#include "plan.h"
#include "segment.h"

/**
 * struct coll_v - a call
 * @map: who collects what, where blocks are collected
 * @step: of the segment
 * @share: bytes of an area for each rank of the node
 * @most: blocks of up to so many bytes are collected; 0: none
 * @at: for each slot, where in the collected memory its next block goes
 * @lists: for each slot, where there its list of sizes is, one of each rank of the node;
 *	or NULL
 */
struct coll_v {
	struct coll_call *call;
	const struct coll_map *map;
	struct coll_segment *seg;
	uint64_t step;
	size_t share, most;
	size_t *at, *lists;
};

/* Bytes of a block if it is collected; else none. */
static inline size_t coll_v_small(const struct coll_v *v, const struct coll_side *side, int rank)
{
	const size_t bytes = coll_side_bytes(side, rank);

	return bytes <= v->most ? bytes : 0;
}

static inline int coll_v_is_large(const struct coll_v *v, const struct coll_side *side, int rank)
{
	return coll_side_bytes(side, rank) > v->most;
}

/* Which ranks this one collects for, by slots; slot 0 is itself. */
static inline const int *coll_v_dests(const struct coll_v *v, int x)
{
	return &v->map->dest[v->map->first[x]];
}

/* Divides areas: the same on all nodes, and sets @most. */
void coll_v_divide(struct coll_v *v);

/*
 * Small blocks go to who collects them, those for this rank where they belong; of the
 * others @at, for each slot from 1 on, says how many bytes there are. It is to be freed.
 * Return: 0, -errno, or what MPI said.
 */
int coll_v_hand(struct coll_v *v);

/* Those others to @base, each slot's from @at on in the order of the node's ranks. */
int coll_v_fill(struct coll_v *v, char *base);

/* Bytes of a message of @n blocks at most, with its list. */
static inline size_t coll_v_message_most(const struct coll_v *v, size_t n)
{
	return (n * (sizeof(uint32_t) + v->most) + COLL_LINE - 1) / COLL_LINE * COLL_LINE;
}

/*
 * The largest block of which @n, with their list, go in a message below the eager limit,
 * and @nblocks messages' worth of which have room in an area; 0: none.
 */
size_t coll_v_fit(const struct coll_plan *plan, size_t n, size_t nblocks, size_t nmessages);

/**
 * struct coll_v_ops - in what outer algorithms differ
 * @divide: sets @most, and @map where there is one: 0, -ENOMEM
 * @send_small: all blocks of up to @most, but for this rank's own. @messages: room
 *	for as many sends and as many receives as there are ranks
 */
struct coll_v_ops {
	int (*divide)(struct coll_v *v, const struct coll_choice *choice);
	int (*send_small)(struct coll_v *v, const struct coll_choice *choice,
			  struct coll_message *messages);
};

/* A call: small blocks as @ops has it, large ones from rank to rank. */
int coll_v_run(struct coll_call *call, const struct coll_choice *choice,
	       const struct coll_v_ops *ops);

#endif
