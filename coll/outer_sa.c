// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * outer_sa - send-side aggregation
 *
 * First in the node: local rank x collects what all ranks of its node have for
 * local rank x of the others. Then between nodes: one message to each of them,
 * which is what its receiver wants and nothing else. Where nodes have different
 * numbers of ranks, y mod L collects for local rank y of another.
 *
 * Cost (N nodes of L ranks, m bytes a block): the exchange in the node of N L m
 * bytes + (N - 1) (o + L m G) + L_network, against (N L - 1) (o + m G) of every
 * rank with every other: L times fewer messages, from all cores.
 * R. Kumar, A. Mamidala, D. K. Panda, Scaling Alltoall Collective on Multi-core
 * Systems, IPDPS CAC 2008, section 5 (and figure 6).
 */
#include <errno.h>
#include <stdlib.h>

#include "outer.h"
#include "plan.h"

static void list_sends(const struct coll_plan *plan, const struct coll_map *map, size_t len,
		       struct coll_exchange *exchange)
{
	const int *dest = &map->dest[map->first[plan->lrank]];
	const size_t bytes = (size_t)plan->lsize * len;

	exchange->nsends = map->nslots[plan->lrank] - 1;
	for (int slot = 1; slot <= exchange->nsends; slot++)
		exchange->sends[slot - 1] = (struct coll_message){
			dest[slot], exchange->base + (size_t)slot * bytes, (MPI_Count)bytes,
			MPI_BYTE };
}

static void list_recvs(const struct coll_call *call, size_t len, struct coll_exchange *exchange)
{
	const struct coll_plan *plan = call->plan;

	exchange->nrecvs = plan->nnodes - 1;
	for (int step = 1; step < plan->nnodes; step++) {
		const struct coll_node *node =
			&plan->nodes[(plan->inode - step + plan->nnodes) % plan->nnodes];

		exchange->recvs[step - 1] = (struct coll_message){
			node->ranks[plan->lrank % node->n], coll_direct(call, node, len),
			(MPI_Count)((size_t)node->n * len), MPI_BYTE };
	}
}

static int deliver(struct coll_call *call, size_t off, size_t len,
		   const struct coll_exchange *exchange)
{
	const struct coll_plan *plan = call->plan;
	int err = 0;

	for (int i = 0; i < exchange->nrecvs && !err; i++) {
		const struct coll_node *node = &plan->nodes[plan->node_of[exchange->recvs[i].peer]];

		if (exchange->recvs[i].at != coll_direct(call, node, len))
			err = coll_take_node(call, node, off, len, exchange->recvs[i].at);
	}
	return err;
}

static int do_round(struct coll_call *call, const struct coll_choice *choice,
		    const struct coll_map *map, size_t off, size_t len,
		    struct coll_message *messages)
{
	struct coll_exchange exchange = {
		.sends = messages, .recvs = messages + call->plan->size,
		.piece = call->plan->settings.eager,
		.block = (size_t)call->plan->lsize * len,
	};
	int err = coll_in_node_of(choice)->collect(call, map, off, len, &exchange.base);

	if (err)
		return err;
	list_sends(call->plan, map, len, &exchange);
	list_recvs(call, len, &exchange);
	err = coll_exchange(call->plan, choice, &exchange);
	return err ? err : deliver(call, off, len, &exchange);
}

static int run_alike(struct coll_call *call, const struct coll_choice *choice)
{
	const struct coll_map *map = coll_map_get(call->plan, COLL_MAP_SPREAD, 0);
	struct coll_message *messages = coll_messages_new(call->plan);
	size_t chunk = 0;
	int err = map && messages ? 0 : -ENOMEM;

	if (!err)
		err = coll_outer_begin(call, choice, &chunk);
	for (size_t off = 0; off < call->block && !err; off += chunk) {
		const size_t left = call->block - off;

		err = do_round(call, choice, map, off, left < chunk ? left : chunk, messages);
	}
	free(messages);
	return coll_call_finish(call, err);
}

int coll_run_sa(struct coll_call *call, const struct coll_choice *choice)
{
	return call->op == COLL_ALLTOALLV ? coll_run_sa_v(call, choice) : run_alike(call, choice);
}
