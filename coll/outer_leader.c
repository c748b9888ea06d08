// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * outer_leader - k ranks of each node send and receive for all of it
 *
 * Local rank y is led by leader y mod k. First in the node: leader g collects what
 * all ranks have for those that leaders g of other nodes lead. Then leaders g
 * exchange, one message to each node; then each rank picks its blocks from what
 * its leader has received. With k = 1 the classical scheme.
 *
 * Cost (N nodes of L ranks, m bytes a block): two exchanges in the node, of
 * N L m / k bytes from each rank to each leader and back, + (N - 1) (o + L^2 m / k G)
 * + L_network: fewest messages, but k cores do all the work.
 * R. Kumar et al., IPDPS CAC 2008, section 5 (the scheme it starts from, and its
 * variant with two leaders).
 */
#include <errno.h>
#include <stdlib.h>

#include "outer.h"
#include "plan.h"

/**
 * struct lead - what the rounds of a call share
 * @messages: of leaders
 * @cells: the blocks that the leader will have for this rank
 */
struct lead {
	struct coll_call *call;
	const struct coll_choice *choice;
	const struct coll_map *map;
	struct coll_message *messages;
	struct coll_cell *cells;
	size_t ncells;
};

/* Ranks of a node of @n that leader @g leads. */
static int count_led(int n, int k, int g)
{
	return (n - g + k - 1) / k;
}

/* Slots of one node lie together: a message is all of them. */
static void list_sends(const struct lead *lead, size_t len, struct coll_exchange *exchange)
{
	const struct coll_plan *plan = lead->call->plan;
	const size_t row = (size_t)plan->lsize * len;
	char *at = exchange->base + row;

	exchange->nsends = plan->nnodes - 1;
	for (int step = 1; step < plan->nnodes; step++) {
		const struct coll_node *node = coll_ahead(plan, step);
		const size_t bytes = (size_t)count_led(node->n, lead->choice->k,
						       plan->lrank) * row;

		exchange->sends[step - 1] = (struct coll_message){
			node->ranks[plan->lrank], at, (MPI_Count)bytes, MPI_BYTE };
		at += bytes;
	}
}

static void list_recvs(const struct lead *lead, size_t len, char *ground,
		       struct coll_exchange *exchange)
{
	const struct coll_plan *plan = lead->call->plan;
	const size_t led = (size_t)count_led(plan->lsize, lead->choice->k, plan->lrank);

	exchange->nrecvs = plan->nnodes - 1;
	for (int step = 1; step < plan->nnodes; step++) {
		const struct coll_node *node = coll_behind(plan, step);
		const size_t bytes = led * (size_t)node->n * len;

		exchange->recvs[step - 1] = (struct coll_message){
			node->ranks[plan->lrank], ground, (MPI_Count)bytes, MPI_BYTE };
		ground += bytes;
	}
}

/* This rank is the j-th that its leader leads. */
static struct coll_cell *list_cells(const struct coll_plan *plan, int k, size_t *n)
{
	struct coll_cell *cells = malloc((size_t)plan->size * sizeof(*cells));
	const int leader = plan->lrank % k, j = plan->lrank / k;
	const size_t led = (size_t)count_led(plan->lsize, k, leader);
	size_t at = 0;

	*n = 0;
	for (int step = 1; cells && step < plan->nnodes; step++) {
		const struct coll_node *node = coll_behind(plan, step);

		for (int i = 0; i < node->n; i++)
			cells[(*n)++] = (struct coll_cell){
				leader, at + (size_t)(j * node->n + i), node->ranks[i] };
		at += led * (size_t)node->n;
	}
	return cells;
}

static int lead_exchange(const struct lead *lead, char *base, size_t len)
{
	struct coll_plan *plan = lead->call->plan;
	const struct coll_in_node *in_node = coll_in_node_of(lead->choice);
	const size_t led = (size_t)count_led(plan->lsize, lead->choice->k, plan->lrank);
	const size_t row = (size_t)plan->lsize * len;
	struct coll_exchange exchange = {
		.sends = lead->messages, .recvs = lead->messages + plan->size,
		.piece = plan->settings.eager, .block = led * row,
	};
	char *ground = in_node->ground(plan, led * (size_t)(plan->size - plan->lsize) * len);

	if (!ground)
		return -ENOMEM;
	/* Bruck's block 0 would be before the first message: it is never touched. */
	exchange.base = base;
	list_sends(lead, len, &exchange);
	if (lead->choice->inter == COLL_BRUCK)
		exchange.base = base + row - exchange.block;
	list_recvs(lead, len, ground, &exchange);
	return coll_exchange(plan, lead->choice, &exchange);
}

static int do_round(const struct lead *lead, size_t off, size_t len)
{
	const struct coll_in_node *in_node = coll_in_node_of(lead->choice);
	char *base;
	int err = in_node->collect(lead->call, lead->map, off, len, &base);

	if (!err && lead->call->plan->lrank < lead->choice->k)
		err = lead_exchange(lead, base, len);
	return err ? err : in_node->distribute(lead->call, lead->cells, lead->ncells, off, len);
}

static int run_alike(struct coll_call *call, const struct coll_choice *choice)
{
	struct lead lead = { .call = call, .choice = choice };
	size_t chunk = 0;
	int err;

	lead.map = coll_map_get(call->plan, COLL_MAP_LEADERS, choice->k);
	lead.messages = coll_messages_new(call->plan);
	lead.cells = list_cells(call->plan, choice->k, &lead.ncells);
	err = lead.map && lead.messages && lead.cells ? coll_outer_begin(call, choice, &chunk) :
	      -ENOMEM;
	for (size_t off = 0; off < call->block && !err; off += chunk) {
		const size_t left = call->block - off;

		err = do_round(&lead, off, left < chunk ? left : chunk);
	}
	free(lead.messages);
	free(lead.cells);
	return coll_call_finish(call, err);
}

int coll_run_leader(struct coll_call *call, const struct coll_choice *choice)
{
	return call->op == COLL_ALLTOALLV ? coll_run_leader_v(call, choice) : run_alike(call, choice);
}
