// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * outer_sa_v - send-side aggregation of blocks of different sizes
 *
 * As outer_sa, of small blocks: see outer_v.h. With its blocks each rank hands the
 * local rank that collects them a list of their sizes; who receives from another
 * node knows what it gets from each rank there.
 *
 * Cost: as outer_sa of the small blocks, with one more copy of what is collected,
 * and as flat of the large ones.
 */
#include <errno.h>
#include <stdlib.h>

#include "outer_v.h"

/* @at has each message's bytes before, where its blocks begin after. */
static int list_collected(const struct coll_v *v, struct coll_exchange *exchange)
{
	const int nslots = v->map->nslots[v->seg->me];
	size_t total = 0;

	for (int slot = 1; slot < nslots; slot++)
		total += v->at[slot];
	exchange->base = coll_plan_scratch(v->call->plan, COLL_FOR_COLLECT, total);
	if (!exchange->base)
		return -ENOMEM;
	total = 0;
	for (int slot = 1; slot < nslots; slot++) {
		const size_t bytes = v->at[slot];

		if (bytes)
			exchange->sends[exchange->nsends++] = (struct coll_message){
				coll_v_dests(v, v->seg->me)[slot], exchange->base + total,
				(MPI_Count)bytes, MPI_BYTE };
		v->at[slot] = total;
		total += bytes;
	}
	return 0;
}

/* A message has the blocks of all ranks of this node, in their order. */
static int collect(struct coll_v *v, struct coll_exchange *exchange)
{
	int err = coll_v_hand(v);

	if (!err)
		err = list_collected(v, exchange);
	if (!err)
		err = coll_v_fill(v, exchange->base);
	free(v->at);
	return err;
}

/* ---- between nodes ------------------------------------------------------ */

static size_t count_from(const struct coll_v *v, const struct coll_node *node)
{
	size_t bytes = 0;

	for (int i = 0; i < node->n; i++)
		bytes += coll_v_small(v, &v->call->recv, node->ranks[i]);
	return bytes;
}

static void list_recvs(const struct coll_v *v, struct coll_exchange *exchange)
{
	const struct coll_plan *plan = v->call->plan;

	for (int step = 1; step < plan->nnodes; step++) {
		const struct coll_node *node = coll_behind(plan, step);
		const size_t bytes = count_from(v, node);

		if (bytes)
			exchange->recvs[exchange->nrecvs++] = (struct coll_message){
				node->ranks[plan->lrank % node->n], NULL, (MPI_Count)bytes,
				MPI_BYTE };
	}
}

static int deliver(const struct coll_v *v, const struct coll_exchange *exchange)
{
	const struct coll_plan *plan = v->call->plan;
	const struct coll_message *message = exchange->recvs;
	int err = 0;

	for (int step = 1; step < plan->nnodes && !err; step++) {
		const struct coll_node *node = coll_behind(plan, step);
		const char *from;

		if (!count_from(v, node))
			continue;
		from = message++->at;
		for (int i = 0; i < node->n && !err; i++) {
			const size_t bytes = coll_v_small(v, &v->call->recv, node->ranks[i]);

			if (bytes)
				err = coll_take(v->call, node->ranks[i], 0, bytes, from);
			from += bytes;
		}
	}
	return err;
}

static int send_small(struct coll_v *v, const struct coll_choice *choice,
		      struct coll_message *messages)
{
	struct coll_plan *plan = v->call->plan;
	struct coll_exchange exchange = {
		.sends = messages, .recvs = messages + plan->size,
		.piece = plan->settings.eager,
	};
	int err = collect(v, &exchange);

	if (err)
		return err;
	list_recvs(v, &exchange);
	err = coll_exchange(plan, choice, &exchange);
	return err ? err : deliver(v, &exchange);
}

static int divide(struct coll_v *v, const struct coll_choice *choice)
{
	(void)choice;
	v->map = coll_map_get(v->call->plan, COLL_MAP_SPREAD, 0);
	if (!v->map)
		return -ENOMEM;
	coll_v_divide(v);
	return 0;
}

int coll_run_sa_v(struct coll_call *call, const struct coll_choice *choice)
{
	static const struct coll_v_ops ops = { .divide = divide, .send_small = send_small };

	return coll_v_run(call, choice, &ops);
}
