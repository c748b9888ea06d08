/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* outer - what the outer algorithms share */
#ifndef SONDE_COLL_OUTER_H
#define SONDE_COLL_OUTER_H

#include "algorithms.h"
#include "plan.h"

/* The node that is so many ahead of this one, or behind it, going round. */
static inline const struct coll_node *coll_ahead(const struct coll_plan *plan, int step)
{
	return &plan->nodes[(plan->inode + step) % plan->nnodes];
}

static inline const struct coll_node *coll_behind(const struct coll_plan *plan, int step)
{
	return &plan->nodes[(plan->inode - step + plan->nnodes) % plan->nnodes];
}

/* Blocks that a rank's memory must hold. */
size_t coll_outer_blocks(const struct coll_plan *plan, const struct coll_choice *choice);

/* Chunk of each round; sides made flat where there is more than one. */
int coll_outer_begin(struct coll_call *call, const struct coll_choice *choice, size_t *chunk);

/* Room for as many sends and as many receives as there are ranks; to be freed. */
struct coll_message *coll_messages_new(const struct coll_plan *plan);

/*
 * Where whole blocks of the ranks of a node go if they lie one behind the other
 * in the receive side; or NULL.
 */
char *coll_direct(const struct coll_call *call, const struct coll_node *node, size_t len);

/* Blocks of the ranks of a node, from memory. */
int coll_take_node(struct coll_call *call, const struct coll_node *node, size_t off, size_t len,
		   const char *at);

/* A block as MPI sees it. */
struct coll_message coll_outer_message(const struct coll_side *side, int rank);

/*
 * Before blocks are sent as they are: in place what is received would overwrite what
 * is yet to be sent; what has gaps is packed, if it is not too much.
 */
int coll_outer_copy_first(struct coll_call *call);

#endif
