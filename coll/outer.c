// SPDX-License-Identifier: LGPL-2.1-or-later
/* outer - what the outer algorithms share: how much fits, and lists of messages */
#include <errno.h>
#include <stdlib.h>

#include "algorithms.h"
#include "outer.h"
#include "plan.h"
#include "segment.h"

/* More is not worth the memory. */
#define PACKED_MOST	((size_t)256 << 20)

static size_t divide_up(int a, int b)
{
	return (size_t)((a + b - 1) / b);
}

/* Blocks that the fullest rank receives to distribute. */
static size_t count_ground(const struct coll_plan *plan, const struct coll_choice *choice)
{
	size_t most = 0;

	for (int b = 0; b < plan->nnodes; b++) {
		const int n = plan->nodes[b].n;
		size_t blocks = 0;

		if (choice->outer == COLL_LEADER) {
			blocks = divide_up(n, choice->k) * (size_t)(plan->size - n);
		} else {
			for (int a = 0; a < plan->nnodes; a++)
				blocks += (a == b ? 1 : divide_up(plan->nodes[a].n, n)) *
					  (size_t)n;
		}
		if (blocks > most)
			most = blocks;
	}
	return most;
}

static size_t count_collected(const struct coll_plan *plan, const struct coll_choice *choice)
{
	enum coll_map_kind kind = COLL_MAP_LOCAL;

	if (choice->outer == COLL_SA)
		kind = COLL_MAP_SPREAD;
	else if (choice->outer == COLL_LEADER)
		kind = COLL_MAP_LEADERS;
	return (size_t)coll_map_most(plan, kind, choice->k) * (size_t)plan->most;
}

size_t coll_outer_blocks(const struct coll_plan *plan, const struct coll_choice *choice)
{
	const size_t collected = choice->outer == COLL_RD ? 0 : count_collected(plan, choice);
	const size_t ground = choice->outer == COLL_RD || choice->outer == COLL_LEADER ?
			      count_ground(plan, choice) : 0;

	return collected > ground ? collected : ground;
}

size_t coll_outer_chunk(const struct coll_plan *plan, const struct coll_choice *choice,
			size_t block)
{
	return coll_in_node_of(choice)->chunk(plan, coll_outer_blocks(plan, choice), block);
}

int coll_outer_begin(struct coll_call *call, const struct coll_choice *choice, size_t *chunk)
{
	struct coll_plan *plan = call->plan;
	const size_t blocks = coll_outer_blocks(plan, choice);
	int err = 0;

	*chunk = coll_outer_chunk(plan, choice, call->block);
	if (coll_way_is_shared(choice->way) && blocks * *chunk > plan->segment->area) {
		coll_plan_grow(plan, blocks * *chunk);
		*chunk = coll_outer_chunk(plan, choice, call->block);
	}
	if (!*chunk)
		return COLL_HAND_OVER;
	/* A block that is not a range of memory goes as a whole or not at all. */
	if (call->is_declined || (coll_way_is_shared(choice->way) && *chunk == call->block))
		return 0;
	if (!call->send.type.is_dense)
		err = coll_side_flatten(call, &call->send);
	if (!err && !call->recv.type.is_dense)
		err = coll_recv_flatten(call);
	return err;
}

struct coll_message *coll_messages_new(const struct coll_plan *plan)
{
	return malloc(2 * (size_t)plan->size * sizeof(struct coll_message));
}

char *coll_direct(const struct coll_call *call, const struct coll_node *node, size_t len)
{
	if (len != call->block || !coll_side_range(&call->recv, 0) ||
	    node->ranks[node->n - 1] - node->ranks[0] != node->n - 1)
		return NULL;
	return coll_side_range(&call->recv, node->ranks[0]);
}

int coll_take_node(struct coll_call *call, const struct coll_node *node, size_t off, size_t len,
		   const char *at)
{
	int err = 0;

	for (int i = 0; i < node->n && !err; i++)
		err = coll_take(call, node->ranks[i], off, len, at + (size_t)i * len);
	return err;
}

struct coll_message coll_outer_message(const struct coll_side *side, int rank)
{
	char *range = coll_side_range(side, rank);
	const MPI_Count bytes = (MPI_Count)coll_side_bytes(side, rank);

	if (side->flat)
		return (struct coll_message){ rank, range, bytes, MPI_BYTE };
	return (struct coll_message){ rank, coll_side_addr(side, rank),
				      coll_side_count(side, rank), side->type.handle };
}

/* MPICH 4.0.2 takes four times as long for large messages that have gaps. */
static int is_worth_packing(const struct coll_call *call, const struct coll_side *side)
{
	size_t bytes = 0;

	for (int r = 0; r < call->plan->size && !side->type.is_dense; r++)
		bytes += coll_side_bytes(side, r);
	return bytes && bytes <= PACKED_MOST;
}

/*
 * Bytes are received as bytes: MPICH 4.0.2 over UCX calls them truncated when they
 * are many and the receive is of a structure.
 */
int coll_outer_copy_first(struct coll_call *call)
{
	const int is_copied = call->is_in_place || is_worth_packing(call, &call->send);
	int err = is_copied ? coll_side_flatten(call, &call->send) : 0;

	if (!err && ((call->is_in_place && !call->recv.type.is_dense) ||
		     is_worth_packing(call, &call->recv)))
		err = coll_recv_flatten(call);
	return err;
}
