// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * outer_rd_v - receive-side distribution of blocks of different sizes
 *
 * As outer_rd, of small blocks: see outer_v.h. A message is a list of sizes, one for
 * each rank of the node it goes to, and the blocks. Who receives it is not told how
 * long it is, but how long it may be: below the eager limit, so small blocks are
 * those of which a node's have room there. Each rank finds its own by the lists.
 *
 * Cost: as outer_rd of the small blocks, and as flat of the large ones.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "outer_v.h"

/* Messages that a local rank of node @b gets, at most. */
static size_t count_messages(const struct coll_plan *plan, int b)
{
	const int n = plan->nodes[b].n;
	size_t messages = 0;

	for (int a = 0; a < plan->nnodes; a++)
		if (a != b)
			messages += (size_t)((plan->nodes[a].n + n - 1) / n);
	return messages;
}

/* The same on all nodes. */
static size_t find_most(const struct coll_plan *plan)
{
	size_t most = SIZE_MAX;

	for (int b = 0; b < plan->nnodes; b++) {
		/* And what it has for its own node. */
		const size_t messages = count_messages(plan, b) + 1;
		const size_t fits = coll_v_fit(plan, (size_t)plan->most,
					       messages * (size_t)plan->nodes[b].n, messages);

		most = fits < most ? fits : most;
	}
	return most;
}

/* ---- between nodes ------------------------------------------------------ */

/* All small blocks for a node, behind their list. Return: as coll_put(); *@bytes of all. */
static int write_message(const struct coll_v *v, const struct coll_node *node, char *at,
			 size_t *bytes)
{
	const int me = v->call->plan->rank;
	char *to = at + (size_t)node->n * sizeof(uint32_t);
	int err = 0;

	for (int y = 0; y < node->n && !err; y++) {
		const int rank = node->ranks[y];
		const uint32_t size = rank == me ? 0 :
				      (uint32_t)coll_v_small(v, &v->call->send, rank);

		memcpy(at + (size_t)y * sizeof(size), &size, sizeof(size));
		if (size)
			err = coll_put(v->call, rank, 0, size, to);
		to += size;
	}
	*bytes = (size_t)(to - at);
	return err;
}

static int list_sends(const struct coll_v *v, char *at, struct coll_exchange *exchange)
{
	const struct coll_plan *plan = v->call->plan;
	int err = 0;

	for (int step = 1; step < plan->nnodes && !err; step++) {
		const struct coll_node *node = coll_ahead(plan, step);
		size_t bytes;

		err = write_message(v, node, at, &bytes);
		exchange->sends[exchange->nsends++] = (struct coll_message){
			node->ranks[plan->lrank % node->n], at, (MPI_Count)bytes, MPI_BYTE };
		at += coll_v_message_most(v, (size_t)node->n);
	}
	return err;
}

/* Return: where the next message would be. */
static char *list_recvs(const struct coll_v *v, char *ground, struct coll_exchange *exchange)
{
	const struct coll_plan *plan = v->call->plan;
	const size_t most = coll_v_message_most(v, (size_t)plan->lsize);

	for (int step = 1; step < plan->nnodes; step++) {
		const struct coll_node *node = coll_behind(plan, step);

		for (int i = plan->lrank; i < node->n; i += plan->lsize) {
			exchange->recvs[exchange->nrecvs++] = (struct coll_message){
				node->ranks[i], ground, (MPI_Count)most, MPI_BYTE };
			ground += most;
		}
	}
	return ground;
}

static int send_between(const struct coll_v *v, const struct coll_choice *choice,
			struct coll_message *messages)
{
	struct coll_plan *plan = v->call->plan;
	struct coll_exchange exchange = { .sends = messages, .recvs = messages + plan->size };
	/* Of the step that distribute() begins: see segment.h. */
	char *ground = coll_area(v->seg, plan->lrank, v->seg->step + 1), *at, *own;
	size_t room = 0, bytes;
	int err;

	for (int step = 1; step < plan->nnodes; step++)
		room += coll_v_message_most(v, (size_t)coll_ahead(plan, step)->n);
	at = coll_plan_scratch(plan, COLL_FOR_COLLECT, room);
	if (!at)
		return -ENOMEM;
	err = list_sends(v, at, &exchange);
	own = list_recvs(v, ground, &exchange);
	/* In place what is sent is out of the buffer before anything comes in. */
	if (!err)
		err = write_message(v, coll_my_node(plan), own, &bytes);
	return err ? err : coll_exchange(plan, choice, &exchange);
}

/* ---- in the node -------------------------------------------------------- */

/* This rank's block of a message that came from @src. */
static int take_block(const struct coll_v *v, const char *message, int src)
{
	const struct coll_plan *plan = v->call->plan;
	const char *from = message + (size_t)plan->lsize * sizeof(uint32_t);
	uint32_t size = 0;

	for (int y = 0; y <= plan->lrank; y++) {
		memcpy(&size, message + (size_t)y * sizeof(size), sizeof(size));
		from += y < plan->lrank ? size : 0;
	}
	if (size != coll_v_small(v, &v->call->recv, src))
		return MPI_ERR_TRUNCATE;
	return size ? coll_take(v->call, src, 0, size, from) : 0;
}

/* All that local rank z has received. */
static int take_from(const struct coll_v *v, int z, uint64_t number)
{
	const struct coll_plan *plan = v->call->plan;
	const size_t most = coll_v_message_most(v, (size_t)plan->lsize);
	const char *message = coll_area(v->seg, z, number);
	int err = 0;

	for (int step = 1; step < plan->nnodes; step++) {
		const struct coll_node *node = coll_behind(plan, step);

		for (int i = z; i < node->n && !err; i += plan->lsize, message += most)
			err = take_block(v, message, node->ranks[i]);
	}
	if (!err && z != plan->lrank)
		err = take_block(v, message, coll_rank_of(plan, z));
	return err;
}

static int distribute(const struct coll_v *v)
{
	const int n = v->seg->n, me = v->seg->me;
	const uint64_t number = coll_step_begin(v->seg);
	int err = 0;

	coll_post_all(v->seg, number);
	for (int k = 0; k < n && !err; k++) {
		const int z = (me - k + n) % n;

		if (k)
			err = coll_wait(v->seg, z, number);
		if (!err)
			err = take_from(v, z, number);
	}
	return err;
}

static int send_small(struct coll_v *v, const struct coll_choice *choice,
		      struct coll_message *messages)
{
	int err = send_between(v, choice, messages);

	return err ? err : distribute(v);
}

static int divide(struct coll_v *v, const struct coll_choice *choice)
{
	(void)choice;
	v->most = find_most(v->call->plan);
	return 0;
}

int coll_run_rd_v(struct coll_call *call, const struct coll_choice *choice)
{
	static const struct coll_v_ops ops = { .divide = divide, .send_small = send_small };

	return coll_v_run(call, choice, &ops);
}
