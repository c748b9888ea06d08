// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * outer_sa_v - send-side aggregation of blocks of different sizes
 *
 * As outer_sa, but how large a block is only its two ends know. So with its blocks
 * each rank hands the local rank that collects them a list of their sizes; who
 * receives from another node knows what it gets from each rank there.
 *
 * Only blocks of up to so many bytes are collected that all of them have room in
 * one step; larger ones, which need no aggregation, go straight from rank to
 * rank. Both ends of a block know its size and the bound is the same everywhere,
 * so there is nothing to agree on, and what is empty is not sent.
 *
 * Cost: as outer_sa of the small blocks, with one more copy of what is collected,
 * and as flat of the large ones.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "outer.h"
#include "plan.h"
#include "segment.h"

/*
 * From there on fewer messages are not worth the copies; later where ranks share
 * processors, who pay most for every message: bench/alltoall-grid.
 */
#define LARGE		((size_t)8 << 10)
#define LARGE_CROWDED	((size_t)32 << 10)

/**
 * struct sa_v - a call
 * @step: of the segment
 * @share: bytes of an area for each rank of the node
 * @most: blocks of up to so many bytes are collected; 0: none
 * @at: for each slot, where in the collected memory its next block goes
 */
struct sa_v {
	struct coll_call *call;
	const struct coll_map *map;
	struct coll_segment *seg;
	uint64_t step;
	size_t share, most;
	size_t *at;
};

/* What a rank hands to another: a size for each of its slots, then the blocks. */
struct hand {
	uint32_t *sizes;
	char *blocks;
};

static size_t get_small(const struct sa_v *v, const struct coll_side *side, int rank)
{
	const size_t bytes = coll_side_bytes(side, rank);

	return bytes <= v->most ? bytes : 0;
}

static int is_large(const struct sa_v *v, const struct coll_side *side, int rank)
{
	return coll_side_bytes(side, rank) > v->most;
}

/* The same on all nodes. */
static void divide_area(struct sa_v *v)
{
	const struct coll_plan *plan = v->call->plan;
	const size_t slots = (size_t)v->map->most, list = slots * sizeof(uint32_t);
	const size_t large = plan->is_crowded ? LARGE_CROWDED : LARGE;

	v->share = v->seg->area / (size_t)plan->most / COLL_LINE * COLL_LINE;
	v->most = v->share > list ? (v->share - list) / slots : 0;
	if (v->most > large)
		v->most = large;
}

/* ---- in the node -------------------------------------------------------- */

/* In the line what fits there: the list, and the blocks if they all do. */
static char *find_list(const struct sa_v *v, int from, int x)
{
	if ((size_t)v->map->nslots[x] * sizeof(uint32_t) <= COLL_INLINE)
		return (char *)coll_line(v->seg, from, x, v->step)->payload;
	return coll_area(v->seg, x, v->step) + (size_t)from * v->share;
}

static struct hand find_hand(const struct sa_v *v, int from, int x, size_t bytes)
{
	const size_t list = (size_t)v->map->nslots[x] * sizeof(uint32_t);
	char *at = find_list(v, from, x);
	char *area = coll_area(v->seg, x, v->step) + (size_t)from * v->share;
	const int is_next = list > COLL_INLINE || list + bytes <= COLL_INLINE;

	return (struct hand){ (uint32_t *)(void *)at, is_next ? at + list : area };
}

static const int *get_dests(const struct sa_v *v, int x)
{
	return &v->map->dest[v->map->first[x]];
}

static int write_to(const struct sa_v *v, int x)
{
	const int *dest = get_dests(v, x);
	struct hand hand;
	size_t total = 0;
	int err = 0;

	for (int slot = 0; slot < v->map->nslots[x]; slot++)
		total += get_small(v, &v->call->send, dest[slot]);
	hand = find_hand(v, v->seg->me, x, total);
	for (int slot = 0; slot < v->map->nslots[x]; slot++) {
		const size_t bytes = get_small(v, &v->call->send, dest[slot]);

		hand.sizes[slot] = (uint32_t)bytes;
		if (bytes && !err)
			err = coll_put(v->call, dest[slot], 0, bytes, hand.blocks);
		hand.blocks += bytes;
	}
	coll_post(v->seg, x, v->step);
	return err;
}

/* What another has handed to this rank. */
static struct hand get_hand(const struct sa_v *v, int from)
{
	const int me = v->seg->me;
	const uint32_t *sizes = (uint32_t *)(void *)find_list(v, from, me);
	size_t total = 0;

	for (int slot = 0; slot < v->map->nslots[me]; slot++)
		total += sizes[slot];
	return find_hand(v, from, me, total);
}

/* Blocks for this rank itself go where they belong; @at counts those of the others. */
static int read_own(const struct sa_v *v)
{
	const int n = v->seg->n, me = v->seg->me;
	int err = 0;

	for (int k = 1; k < n && !err; k++) {
		const int i = (me - k + n) % n, rank = coll_rank_of(v->call->plan, i);
		struct hand hand;

		err = coll_wait(v->seg, i, v->step);
		if (err)
			break;
		hand = get_hand(v, i);
		if (hand.sizes[0] != get_small(v, &v->call->recv, rank))
			return MPI_ERR_TRUNCATE;
		if (hand.sizes[0])
			err = coll_take(v->call, rank, 0, hand.sizes[0], hand.blocks);
		for (int slot = 1; slot < v->map->nslots[me]; slot++)
			v->at[slot] += hand.sizes[slot];
	}
	for (int slot = 1; slot < v->map->nslots[me]; slot++)
		v->at[slot] += get_small(v, &v->call->send, get_dests(v, me)[slot]);
	return err;
}

/* ---- what is sent on ---------------------------------------------------- */

/* @at has each message's bytes before, where its blocks begin after. */
static int list_collected(const struct sa_v *v, struct coll_exchange *exchange)
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
				get_dests(v, v->seg->me)[slot], exchange->base + total,
				(MPI_Count)bytes, MPI_BYTE };
		v->at[slot] = total;
		total += bytes;
	}
	return 0;
}

/* A message has the blocks of all ranks of this node, in their order. */
static int fill_collected(const struct sa_v *v, char *base)
{
	const int me = v->seg->me, nslots = v->map->nslots[me];
	int err = 0;

	for (int i = 0; i < v->seg->n && !err; i++) {
		const struct hand hand = i == me ? (struct hand){ NULL, NULL } : get_hand(v, i);
		const char *from = hand.sizes ? hand.blocks + hand.sizes[0] : NULL;

		for (int slot = 1; slot < nslots && !err; slot++) {
			const int dest = get_dests(v, me)[slot];
			const size_t bytes = from ? hand.sizes[slot] :
					     get_small(v, &v->call->send, dest);

			if (from) {
				memcpy(base + v->at[slot], from, bytes);
				from += bytes;
			} else if (bytes) {
				err = coll_put(v->call, dest, 0, bytes, base + v->at[slot]);
			}
			v->at[slot] += bytes;
		}
	}
	return err;
}

static int collect(struct sa_v *v, struct coll_exchange *exchange)
{
	const int n = v->seg->n, me = v->seg->me;
	int err = 0;

	v->step = coll_step_begin(v->seg);
	for (int k = 1; k < n; k++) {
		int failed = write_to(v, (me + k) % n);

		err = err ? err : failed;
	}
	coll_wake(v->seg);
	v->at = calloc((size_t)v->map->nslots[me], sizeof(*v->at));
	if (!err)
		err = v->at ? read_own(v) : -ENOMEM;
	if (!err)
		err = list_collected(v, exchange);
	if (!err)
		err = fill_collected(v, exchange->base);
	free(v->at);
	return err;
}

/* ---- between nodes ------------------------------------------------------ */

static const struct coll_node *behind(const struct coll_plan *plan, int step)
{
	return &plan->nodes[(plan->inode - step + plan->nnodes) % plan->nnodes];
}

static size_t count_from(const struct sa_v *v, const struct coll_node *node)
{
	size_t bytes = 0;

	for (int i = 0; i < node->n; i++)
		bytes += get_small(v, &v->call->recv, node->ranks[i]);
	return bytes;
}

static void list_recvs(const struct sa_v *v, struct coll_exchange *exchange)
{
	const struct coll_plan *plan = v->call->plan;

	for (int step = 1; step < plan->nnodes; step++) {
		const struct coll_node *node = behind(plan, step);
		const size_t bytes = count_from(v, node);

		if (bytes)
			exchange->recvs[exchange->nrecvs++] = (struct coll_message){
				node->ranks[plan->lrank % node->n], NULL, (MPI_Count)bytes,
				MPI_BYTE };
	}
}

/* As flat does it: whole, since only one end may have made them bytes. */
static int send_large(const struct sa_v *v, const struct coll_choice *choice,
		      struct coll_message *messages)
{
	const int size = v->call->plan->size, me = v->call->plan->rank;
	struct coll_exchange exchange = { .sends = messages, .recvs = messages + size };

	for (int k = 1; k < size; k++) {
		const int to = (me + k) % size, from = (me - k + size) % size;

		if (is_large(v, &v->call->send, to))
			exchange.sends[exchange.nsends++] =
				coll_outer_message(&v->call->send, to);
		if (is_large(v, &v->call->recv, from))
			exchange.recvs[exchange.nrecvs++] =
				coll_outer_message(&v->call->recv, from);
	}
	return exchange.nsends || exchange.nrecvs ?
	       coll_exchange(v->call->plan, choice, &exchange) : 0;
}

static int deliver(const struct sa_v *v, const struct coll_exchange *exchange)
{
	const struct coll_plan *plan = v->call->plan;
	const struct coll_message *message = exchange->recvs;
	int err = 0;

	for (int step = 1; step < plan->nnodes && !err; step++) {
		const struct coll_node *node = behind(plan, step);
		const char *from;

		if (!count_from(v, node))
			continue;
		from = message++->at;
		for (int i = 0; i < node->n && !err; i++) {
			const size_t bytes = get_small(v, &v->call->recv, node->ranks[i]);

			if (bytes)
				err = coll_take(v->call, node->ranks[i], 0, bytes, from);
			from += bytes;
		}
	}
	return err;
}

static int send_small(struct sa_v *v, const struct coll_choice *choice,
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

static int copy_large_first(const struct sa_v *v)
{
	for (int r = 0; r < v->call->plan->size; r++)
		if (is_large(v, &v->call->send, r) || is_large(v, &v->call->recv, r))
			return coll_outer_copy_first(v->call);
	return 0;
}

int coll_run_sa_v(struct coll_call *call, const struct coll_choice *choice)
{
	struct coll_plan *plan = call->plan;
	struct sa_v v = { .call = call, .seg = plan->segment };
	struct coll_message *messages = coll_messages_new(plan);
	int err;

	v.map = coll_map_get(plan, COLL_MAP_SPREAD, 0);
	err = v.map && messages ? 0 : -ENOMEM;
	if (!err) {
		coll_plan_grow(plan, plan->segment->area_most);
		divide_area(&v);
		err = copy_large_first(&v);
	}
	if (!err && v.most)
		err = send_small(&v, choice, messages);
	if (!err)
		err = send_large(&v, choice, messages);
	if (!err)
		err = coll_self(call, 0, coll_side_bytes(&call->recv, plan->rank));
	free(messages);
	return coll_call_finish(call, err);
}
