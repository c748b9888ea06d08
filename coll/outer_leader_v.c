// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * outer_leader_v - k ranks of each node send and receive small blocks for all of it
 *
 * As outer_leader, of small blocks: see outer_v.h. Each rank hands its leaders blocks
 * and a list of their sizes; a message between leaders is the list of all that are in
 * it, rank by rank of those it goes to and for each of those it comes from, and the
 * blocks. As a message must stay below the eager limit and has a node's blocks for
 * all that a leader leads, small ones are smaller here than where all ranks send.
 *
 * Cost: as outer_leader of the small blocks, with one more copy of what is collected,
 * and as flat of the large ones.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "outer_v.h"

/* Ranks of a node of @n that leader @g leads. */
static size_t count_led(int n, int k, int g)
{
	return (size_t)((n - g + k - 1) / k);
}

/* The same on all nodes. */
static size_t find_most(const struct coll_v *v, int k)
{
	const struct coll_plan *plan = v->call->plan;
	const size_t n = count_led(plan->most, k, 0) * (size_t)plan->most;
	size_t most = v->most;

	for (int b = 0; b < plan->nnodes; b++) {
		const int own = plan->nodes[b].n;
		const size_t fits = coll_v_fit(plan, n, count_led(own, k, 0) *
					       (size_t)(plan->size - own),
					       (size_t)(plan->nnodes - 1));

		most = fits < most ? fits : most;
	}
	return most;
}

/* ---- of leaders --------------------------------------------------------- */

/* Where each slot's list and blocks go: those of a node together, lists first. */
static int list_sends(struct coll_v *v, int k, struct coll_exchange *exchange)
{
	const struct coll_plan *plan = v->call->plan;
	const size_t n = (size_t)plan->lsize, list = n * sizeof(uint32_t);
	size_t total = 0;
	int slot = 1;

	for (int step = 1; step < plan->nnodes; step++) {
		const struct coll_node *node = coll_ahead(plan, step);
		const size_t led = count_led(node->n, k, plan->lrank), begin = total;

		total += led * list;
		for (size_t j = 0; j < led; j++, slot++) {
			const size_t bytes = v->at[slot];

			v->lists[slot] = begin + j * list;
			v->at[slot] = total;
			total += bytes;
		}
		exchange->sends[exchange->nsends++] = (struct coll_message){
			node->ranks[plan->lrank], NULL, (MPI_Count)(total - begin), MPI_BYTE };
	}
	exchange->base = coll_plan_scratch(v->call->plan, COLL_FOR_COLLECT, total);
	if (!exchange->base)
		return -ENOMEM;
	total = 0;
	for (int i = 0; i < exchange->nsends; i++) {
		exchange->sends[i].at = exchange->base + total;
		total += (size_t)exchange->sends[i].count;
	}
	return 0;
}

/* How long they are is not known, but how long they may be. */
static void list_recvs(const struct coll_v *v, int k, struct coll_exchange *exchange)
{
	const struct coll_plan *plan = v->call->plan;
	const size_t led = count_led(plan->lsize, k, plan->lrank);
	/* Of the step that distribute() begins: see segment.h. */
	char *ground = coll_area(v->seg, plan->lrank, v->seg->step + 1);

	for (int step = 1; step < plan->nnodes; step++) {
		const struct coll_node *node = coll_behind(plan, step);
		const size_t most = coll_v_message_most(v, led * (size_t)node->n);

		exchange->recvs[exchange->nrecvs++] = (struct coll_message){
			node->ranks[plan->lrank], ground, (MPI_Count)most, MPI_BYTE };
		ground += most;
	}
}

static int lead(struct coll_v *v, const struct coll_choice *choice,
		struct coll_message *messages)
{
	struct coll_plan *plan = v->call->plan;
	struct coll_exchange exchange = { .sends = messages, .recvs = messages + plan->size };
	int err;

	v->lists = calloc((size_t)v->map->nslots[plan->lrank], sizeof(*v->lists));
	err = v->lists ? list_sends(v, choice->k, &exchange) : -ENOMEM;
	if (!err)
		err = coll_v_fill(v, exchange.base);
	if (!err) {
		list_recvs(v, choice->k, &exchange);
		err = coll_exchange(plan, choice, &exchange);
	}
	free(v->lists);
	v->lists = NULL;
	return err;
}

/* ---- in the node -------------------------------------------------------- */

/* What ranks of a node have sent this one, the @j-th that its leader leads. */
static int take_message(const struct coll_v *v, const struct coll_node *node, size_t led,
			size_t j, const char *message)
{
	const size_t n = (size_t)node->n;
	const char *from = message + led * n * sizeof(uint32_t);
	int err = 0;

	for (size_t i = 0; i < (j + 1) * n && !err; i++) {
		uint32_t size;

		memcpy(&size, message + i * sizeof(size), sizeof(size));
		if (i >= j * n) {
			const int src = node->ranks[i - j * n];

			if (size != coll_v_small(v, &v->call->recv, src))
				return MPI_ERR_TRUNCATE;
			if (size)
				err = coll_take(v->call, src, 0, size, from);
		}
		from += size;
	}
	return err;
}

static int distribute(const struct coll_v *v, int k)
{
	const struct coll_plan *plan = v->call->plan;
	const int leader = plan->lrank % k;
	const size_t led = count_led(plan->lsize, k, leader);
	const uint64_t number = coll_step_begin(v->seg);
	const char *message = coll_area(v->seg, leader, number);
	int err = 0;

	coll_post_all(v->seg, number);
	if (leader != plan->lrank)
		err = coll_wait(v->seg, leader, number);
	for (int step = 1; step < plan->nnodes && !err; step++) {
		const struct coll_node *node = coll_behind(plan, step);

		err = take_message(v, node, led, (size_t)(plan->lrank / k), message);
		message += coll_v_message_most(v, led * (size_t)node->n);
	}
	for (int i = 1; i < v->seg->n && !err; i++)
		err = coll_wait(v->seg, (v->seg->me + i) % v->seg->n, number);
	return err;
}

static int send_small(struct coll_v *v, const struct coll_choice *choice,
		      struct coll_message *messages)
{
	int err = coll_v_hand(v);

	if (!err && v->call->plan->lrank < choice->k)
		err = lead(v, choice, messages);
	free(v->at);
	return err ? err : distribute(v, choice->k);
}

static int divide(struct coll_v *v, const struct coll_choice *choice)
{
	v->map = coll_map_get(v->call->plan, COLL_MAP_LEADERS, choice->k);
	if (!v->map)
		return -ENOMEM;
	coll_v_divide(v);
	v->most = find_most(v, choice->k);
	return 0;
}

int coll_run_leader_v(struct coll_call *call, const struct coll_choice *choice)
{
	static const struct coll_v_ops ops = { .divide = divide, .send_small = send_small };

	return coll_v_run(call, choice, &ops);
}
