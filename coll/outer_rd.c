// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * outer_rd - receive-side distribution
 *
 * First between nodes: each rank sends all it has for a node in one message, to
 * the rank of that node that has its own local rank (modulo, where nodes have
 * different numbers). Then in the node: each picks its blocks from what the
 * others have received.
 *
 * Cost: as send-side aggregation, but what is copied in the node has just come
 * from the network: dearer where that leaves it out of the cache.
 * R. Kumar et al., IPDPS CAC 2008, sections 3 (figure 5) and 5.
 */
#include <errno.h>
#include <stdlib.h>

#include "outer.h"
#include "plan.h"

/* Whether local rank i of a node of another sends to this rank. */
static int is_sender(const struct coll_plan *plan, int i)
{
	return i % plan->lsize == plan->lrank;
}

/* Messages that a local rank of this node gets. */
static int count_messages(const struct coll_plan *plan, int z)
{
	int n = 0;

	for (int a = 0; a < plan->nnodes; a++)
		if (a != plan->inode)
			n += (plan->nodes[a].n - z + plan->lsize - 1) / plan->lsize;
	return n;
}

/* ---- between nodes ------------------------------------------------------ */

/* Whole blocks that already lie one behind the other need not be copied. */
static char *find_sent(const struct coll_call *call, const struct coll_node *node, size_t len)
{
	if (len != call->block || !coll_side_range(&call->send, 0) ||
	    node->ranks[node->n - 1] - node->ranks[0] != node->n - 1)
		return NULL;
	return coll_side_range(&call->send, node->ranks[0]);
}

/* Bruck's algorithm wants all in one place, and leaves none of it as it was. */
static int list_sends(struct coll_call *call, const struct coll_choice *choice, size_t off,
		      size_t len, struct coll_exchange *exchange)
{
	struct coll_plan *plan = call->plan;
	char *at = exchange->base + (size_t)plan->lsize * len;
	int err = 0;

	exchange->nsends = plan->nnodes - 1;
	for (int step = 1; step < plan->nnodes && !err; step++) {
		const struct coll_node *node = coll_ahead(plan, step);
		const size_t bytes = (size_t)node->n * len;
		char *there = choice->inter == COLL_BRUCK ? NULL : find_sent(call, node, len);

		exchange->sends[step - 1] = (struct coll_message){
			node->ranks[plan->lrank % node->n], there ? there : at,
			(MPI_Count)bytes, MPI_BYTE };
		for (int y = 0; !there && y < node->n && !err; y++)
			err = coll_put(call, node->ranks[y], off, len, at + (size_t)y * len);
		at += bytes;
	}
	return err;
}

static void list_recvs(const struct coll_plan *plan, size_t len, char *ground,
		       struct coll_exchange *exchange)
{
	const size_t bytes = (size_t)plan->lsize * len;

	exchange->nrecvs = 0;
	for (int step = 1; step < plan->nnodes; step++)
		for (int i = 0; i < coll_behind(plan, step)->n; i++) {
			if (!is_sender(plan, i))
				continue;
			exchange->recvs[exchange->nrecvs] = (struct coll_message){
				coll_behind(plan, step)->ranks[i],
				ground + (size_t)exchange->nrecvs * bytes, (MPI_Count)bytes,
				MPI_BYTE };
			exchange->nrecvs++;
		}
}

/* ---- in the node -------------------------------------------------------- */

/* Of all messages of local rank z, the block for this rank; and z's own. */
static size_t list_cells(const struct coll_plan *plan, int z, struct coll_cell *cells)
{
	const size_t n = (size_t)plan->lsize, me = (size_t)plan->lrank;
	size_t t = 0;

	for (int step = 1; step < plan->nnodes; step++)
		for (int i = z; i < coll_behind(plan, step)->n; i += plan->lsize) {
			cells[t] = (struct coll_cell){ z, t * n + me,
						       coll_behind(plan, step)->ranks[i] };
			t++;
		}
	if (z != plan->lrank) {
		cells[t] = (struct coll_cell){ z, t * n + me, coll_rank_of(plan, z) };
		t++;
	}
	return t;
}

static struct coll_cell *list_all_cells(const struct coll_plan *plan, size_t *n)
{
	struct coll_cell *cells = malloc((size_t)plan->size * sizeof(*cells));

	*n = 0;
	for (int k = 0; cells && k < plan->lsize; k++)
		*n += list_cells(plan, (plan->lrank - k + plan->lsize) % plan->lsize, cells + *n);
	return cells;
}

/* Behind the messages: what this rank has for its own node. */
static int add_own(struct coll_call *call, size_t off, size_t len, char *at)
{
	const struct coll_plan *plan = call->plan;
	int err = 0;

	for (int y = 0; y < plan->lsize && !err; y++)
		if (y != plan->lrank)
			err = coll_put(call, coll_rank_of(plan, y), off, len,
				       at + (size_t)y * len);
	return err;
}

/* ---- both --------------------------------------------------------------- */

/**
 * struct rd - what the rounds of a call share
 * @cells: the blocks for this rank
 */
struct rd {
	struct coll_call *call;
	const struct coll_choice *choice;
	struct coll_message *messages;
	struct coll_cell *cells;
	size_t ncells;
};

static int do_round(const struct rd *rd, size_t off, size_t len)
{
	struct coll_call *call = rd->call;
	struct coll_plan *plan = call->plan;
	const struct coll_in_node *in_node = coll_in_node_of(rd->choice);
	const size_t row = (size_t)plan->lsize * len;
	const size_t own = (size_t)count_messages(plan, plan->lrank) * row;
	struct coll_exchange exchange = {
		.sends = rd->messages, .recvs = rd->messages + plan->size,
		.piece = plan->settings.eager, .block = row,
	};
	char *ground = in_node->ground(plan, own + row);
	int err;

	exchange.base = coll_plan_scratch(plan, COLL_FOR_COLLECT, (size_t)plan->size * len);
	if (!ground || !exchange.base)
		return -ENOMEM;
	err = list_sends(call, rd->choice, off, len, &exchange);
	if (!err)
		err = add_own(call, off, len, ground + own);
	if (err)
		return err;
	list_recvs(plan, len, ground, &exchange);
	err = coll_exchange(plan, rd->choice, &exchange);
	if (!err)
		err = in_node->distribute(call, rd->cells, rd->ncells, off, len);
	return err ? err : coll_self(call, off, len);
}

static int run_alike(struct coll_call *call, const struct coll_choice *choice)
{
	struct rd rd = { .call = call, .choice = choice };
	size_t chunk = 0;
	int err;

	rd.messages = coll_messages_new(call->plan);
	rd.cells = list_all_cells(call->plan, &rd.ncells);
	err = rd.messages && rd.cells ? coll_outer_begin(call, choice, &chunk) : -ENOMEM;
	for (size_t off = 0; off < call->block && !err; off += chunk) {
		const size_t left = call->block - off;

		err = do_round(&rd, off, left < chunk ? left : chunk);
	}
	free(rd.messages);
	free(rd.cells);
	return coll_call_finish(call, err);
}

int coll_run_rd(struct coll_call *call, const struct coll_choice *choice)
{
	return call->op == COLL_ALLTOALLV ? coll_run_rd_v(call, choice) : run_alike(call, choice);
}
