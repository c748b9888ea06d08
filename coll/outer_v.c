// SPDX-License-Identifier: LGPL-2.1-or-later
/* outer_v - small blocks to who collects them, large ones from rank to rank */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "outer_v.h"

/*
 * From there on fewer messages are not worth the copies; later where ranks share
 * processors, who pay most for every message: bench/alltoall-grid.
 */
#define LARGE		((size_t)8 << 10)
#define LARGE_CROWDED	((size_t)32 << 10)

static size_t get_large(const struct coll_plan *plan)
{
	return plan->is_crowded ? LARGE_CROWDED : LARGE;
}

size_t coll_v_fit(const struct coll_plan *plan, size_t n, size_t nblocks, size_t nmessages)
{
	const size_t list = sizeof(uint32_t), rounding = nmessages * COLL_LINE;
	const size_t eager = plan->settings.eager / n, area = plan->segment->area;
	const size_t room = area > rounding ? (area - rounding) / nblocks : 0;
	const size_t most = eager < room ? eager : room, large = get_large(plan);

	if (most <= list)
		return 0;
	return most - list < large ? most - list : large;
}

/* What a rank hands to another: a size for each of its slots, then the blocks. */
struct hand {
	uint32_t *sizes;
	char *blocks;
};

void coll_v_divide(struct coll_v *v)
{
	const struct coll_plan *plan = v->call->plan;
	const size_t slots = (size_t)v->map->most, list = slots * sizeof(uint32_t);
	const size_t large = get_large(plan);

	v->share = v->seg->area / (size_t)plan->most / COLL_LINE * COLL_LINE;
	v->most = v->share > list ? (v->share - list) / slots : 0;
	if (v->most > large)
		v->most = large;
}

/* ---- in the node -------------------------------------------------------- */

/* In the line what fits there: the list, and the blocks if they all do. */
static char *find_list(const struct coll_v *v, int from, int x)
{
	if ((size_t)v->map->nslots[x] * sizeof(uint32_t) <= COLL_INLINE)
		return (char *)coll_line(v->seg, from, x, v->step)->payload;
	return coll_area(v->seg, x, v->step) + (size_t)from * v->share;
}

static struct hand find_hand(const struct coll_v *v, int from, int x, size_t bytes)
{
	const size_t list = (size_t)v->map->nslots[x] * sizeof(uint32_t);
	char *at = find_list(v, from, x);
	char *area = coll_area(v->seg, x, v->step) + (size_t)from * v->share;
	const int is_next = list > COLL_INLINE || list + bytes <= COLL_INLINE;

	return (struct hand){ (uint32_t *)(void *)at, is_next ? at + list : area };
}

static int write_to(const struct coll_v *v, int x)
{
	const int *dest = coll_v_dests(v, x);
	struct hand hand;
	size_t total = 0;
	int err = 0;

	for (int slot = 0; slot < v->map->nslots[x]; slot++)
		total += coll_v_small(v, &v->call->send, dest[slot]);
	hand = find_hand(v, v->seg->me, x, total);
	for (int slot = 0; slot < v->map->nslots[x]; slot++) {
		const size_t bytes = coll_v_small(v, &v->call->send, dest[slot]);

		hand.sizes[slot] = (uint32_t)bytes;
		if (bytes && !err)
			err = coll_put(v->call, dest[slot], 0, bytes, hand.blocks);
		hand.blocks += bytes;
	}
	coll_post(v->seg, x, v->step);
	return err;
}

/* What another has handed to this rank. */
static struct hand get_hand(const struct coll_v *v, int from)
{
	const int me = v->seg->me;
	const uint32_t *sizes = (uint32_t *)(void *)find_list(v, from, me);
	size_t total = 0;

	for (int slot = 0; slot < v->map->nslots[me]; slot++)
		total += sizes[slot];
	return find_hand(v, from, me, total);
}

/* Blocks for this rank itself go where they belong; @at counts those of the others. */
static int read_own(const struct coll_v *v)
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
		if (hand.sizes[0] != coll_v_small(v, &v->call->recv, rank))
			return MPI_ERR_TRUNCATE;
		if (hand.sizes[0])
			err = coll_take(v->call, rank, 0, hand.sizes[0], hand.blocks);
		for (int slot = 1; slot < v->map->nslots[me]; slot++)
			v->at[slot] += hand.sizes[slot];
	}
	for (int slot = 1; slot < v->map->nslots[me]; slot++)
		v->at[slot] += coll_v_small(v, &v->call->send, coll_v_dests(v, me)[slot]);
	return err;
}

/* Lists need not lie as numbers do. */
static void set_size(char *list, size_t i, size_t bytes)
{
	const uint32_t size = (uint32_t)bytes;

	memcpy(list + i * sizeof(size), &size, sizeof(size));
}

int coll_v_fill(struct coll_v *v, char *base)
{
	const int me = v->seg->me, nslots = v->map->nslots[me];
	int err = 0;

	for (int i = 0; i < v->seg->n && !err; i++) {
		const struct hand hand = i == me ? (struct hand){ NULL, NULL } : get_hand(v, i);
		const char *from = hand.sizes ? hand.blocks + hand.sizes[0] : NULL;

		for (int slot = 1; slot < nslots && !err; slot++) {
			const int dest = coll_v_dests(v, me)[slot];
			const size_t bytes = from ? hand.sizes[slot] :
					     coll_v_small(v, &v->call->send, dest);

			if (from) {
				memcpy(base + v->at[slot], from, bytes);
				from += bytes;
			} else if (bytes) {
				err = coll_put(v->call, dest, 0, bytes, base + v->at[slot]);
			}
			if (v->lists)
				set_size(base + v->lists[slot], (size_t)i, bytes);
			v->at[slot] += bytes;
		}
	}
	return err;
}

int coll_v_hand(struct coll_v *v)
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
	return err;
}

/* ---- large blocks ------------------------------------------------------- */

/* As flat does it: whole, since only one end may have made them bytes. */
static int send_large(const struct coll_v *v, const struct coll_choice *choice,
		      struct coll_message *messages)
{
	const int size = v->call->plan->size, me = v->call->plan->rank;
	struct coll_exchange exchange = { .sends = messages, .recvs = messages + size };

	for (int k = 1; k < size; k++) {
		const int to = (me + k) % size, from = (me - k + size) % size;

		if (coll_v_is_large(v, &v->call->send, to))
			exchange.sends[exchange.nsends++] =
				coll_outer_message(&v->call->send, to);
		if (coll_v_is_large(v, &v->call->recv, from))
			exchange.recvs[exchange.nrecvs++] =
				coll_outer_message(&v->call->recv, from);
	}
	return exchange.nsends || exchange.nrecvs ?
	       coll_exchange(v->call->plan, choice, &exchange) : 0;
}

/* Sides that have large blocks, as outer's coll_outer_copy_first(). */
static int copy_large_first(const struct coll_v *v)
{
	for (int r = 0; r < v->call->plan->size; r++)
		if (coll_v_is_large(v, &v->call->send, r) || coll_v_is_large(v, &v->call->recv, r))
			return coll_outer_copy_first(v->call);
	return 0;
}

/* ---- a call ------------------------------------------------------------- */

int coll_v_run(struct coll_call *call, const struct coll_choice *choice,
	       const struct coll_v_ops *ops)
{
	struct coll_plan *plan = call->plan;
	struct coll_v v = { .call = call, .seg = plan->segment };
	struct coll_message *messages = coll_messages_new(plan);
	int err;

	coll_plan_grow(plan, plan->segment->area_most);
	err = messages ? ops->divide(&v, choice) : -ENOMEM;
	if (!err)
		err = copy_large_first(&v);
	if (!err && v.most)
		err = ops->send_small(&v, choice, messages);
	if (!err)
		err = send_large(&v, choice, messages);
	if (!err)
		err = coll_self(call, 0, coll_side_bytes(&call->recv, plan->rank));
	free(messages);
	return coll_call_finish(call, err);
}
