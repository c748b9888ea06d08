// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * local_v - blocks of different sizes between ranks of a node
 *
 * How large a block is only its two ends know. So a pair of ranks has the same
 * share of an area whatever it sends, and blocks that are larger go in rounds;
 * how many rounds there are is the most that any rank of the node needs, which
 * each tells in its first line. Tiny blocks go in that line.
 *
 * With CMA or regions only large blocks are read from where they are: if the
 * largest of the node is one. That shows in the first round, for which a rank
 * without large blocks has written its own; those go again then, in vain.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms.h"
#include "local_pull.h"
#include "plan.h"
#include "segment.h"

/* The first line of a call: what the largest block of its writer is. */
struct first {
	uint64_t most;
	char bytes[COLL_INLINE - sizeof(uint64_t)];
};

_Static_assert(sizeof(struct first) == COLL_INLINE, "a whole line");

/* From there on one copy by the kernel costs less than two: see select.c. */
#define LARGE_CMA	((size_t)32 << 10)
#define LARGE_REGION	((size_t)4 << 10)
/* Smaller blocks of a call by streaming stay in the cache: bench/README.md. */
#define STREAM_LEAST	((size_t)2 << 10)

/**
 * struct rounds - of a call
 * @share: bytes of an area for each pair
 * @most: the largest block, as far as it is known
 * @large: larger ones do not go through the segment
 */
struct rounds {
	struct coll_call *call;
	struct coll_segment *seg;
	size_t share, most, large;
};

static size_t get_most(const struct coll_plan *plan, const struct coll_side *side)
{
	size_t most = 0;

	for (int r = 0; r < plan->size; r++)
		if (coll_side_bytes(side, r) > most)
			most = coll_side_bytes(side, r);
	return most;
}

/* Of a round: its part of a block. */
static size_t get_part(const struct rounds *rounds, size_t bytes, size_t off)
{
	if (bytes <= off)
		return 0;
	return bytes - off < rounds->share ? bytes - off : rounds->share;
}

static int write_to(const struct rounds *rounds, int x, uint64_t step, size_t off)
{
	struct coll_segment *seg = rounds->seg;
	struct first *first = (void *)coll_line(seg, seg->me, x, step)->payload;
	const int rank = coll_rank_of(rounds->call->plan, x);
	const size_t bytes = coll_side_bytes(&rounds->call->send, rank);
	const size_t part = rounds->most > rounds->large ? 0 : get_part(rounds, bytes, off);
	char *to = coll_area(seg, x, step) + (size_t)seg->me * rounds->share;
	int err = 0;

	if (bytes <= sizeof(first->bytes))
		to = first->bytes;
	if (!off)
		first->most = rounds->most;
	if (part && rounds->call->went == COLL_STREAM && bytes >= STREAM_LEAST)
		err = coll_put_past(rounds->call, x, rank, off, part, to);
	else if (part)
		err = coll_put(rounds->call, rank, off, part, to);
	coll_post(seg, x, step);
	return err;
}

static int read_from(struct rounds *rounds, int i, uint64_t step, size_t off)
{
	struct coll_segment *seg = rounds->seg;
	const struct first *first = (void *)coll_line(seg, i, seg->me, step)->payload;
	const int rank = coll_rank_of(rounds->call->plan, i);
	const size_t bytes = coll_side_bytes(&rounds->call->recv, rank);
	const size_t part = get_part(rounds, bytes, off);
	const char *from = coll_area(seg, seg->me, step) + (size_t)i * rounds->share;

	if (bytes <= sizeof(first->bytes))
		from = first->bytes;
	return part ? coll_take_from(rounds->call, i, rank, off, part, from) : 0;
}

/* All lines of a round; of the first, what the largest block of all is. */
static int wait_for_all(struct rounds *rounds, uint64_t step, size_t off)
{
	struct coll_segment *seg = rounds->seg;
	int err = 0;

	for (int k = 1; k < seg->n && !err; k++) {
		const int i = (seg->me - k + seg->n) % seg->n;
		const struct first *first = (void *)coll_line(seg, i, seg->me, step)->payload;

		err = coll_wait(seg, i, step);
		if (!err && !off && first->most > rounds->most)
			rounds->most = first->most;
	}
	return err;
}

static int do_round(struct rounds *rounds, size_t off)
{
	struct coll_segment *seg = rounds->seg;
	const uint64_t step = coll_step_begin(seg);
	int err = 0;

	for (int k = 1; k < seg->n; k++) {
		int failed = write_to(rounds, (seg->me + k) % seg->n, step, off);

		err = err ? err : failed;
	}
	coll_wake(seg);
	if (!err)
		err = wait_for_all(rounds, step, off);
	if (rounds->most > rounds->large)
		return err;
	for (int k = 1; k < seg->n && !err; k++)
		err = read_from(rounds, (seg->me - k + seg->n) % seg->n, step, off);
	return err;
}

/* A block of more than one part must be a range of memory. */
static int flatten(struct coll_call *call, size_t share)
{
	int err = 0;

	if (!call->send.type.is_dense && get_most(call->plan, &call->send) > share)
		err = coll_side_flatten(call, &call->send);
	if (!err && !call->recv.type.is_dense && get_most(call->plan, &call->recv) > share)
		err = coll_recv_flatten(call);
	return err;
}

/*
 * Through the segment, past the cache or not. Return: as they do; 1: nothing was done, as
 * some block is larger than @large.
 */
static int run_shared(struct coll_call *call, enum coll_way way, size_t large)
{
	struct coll_segment *seg = call->plan->segment;
	struct rounds rounds = { .call = call, .seg = seg, .large = large };
	int err;

	call->went = way;
	coll_tell_cpu(seg);
	coll_plan_grow(call->plan, seg->area_most);
	rounds.share = seg->area / (size_t)seg->n;
	rounds.share = rounds.share > 64 ? rounds.share / 64 * 64 : rounds.share;
	rounds.most = get_most(call->plan, &call->send);
	err = flatten(call, rounds.share);
	for (size_t off = 0; !err && (!off || off < rounds.most); off += rounds.share) {
		err = do_round(&rounds, off);
		if (!err && rounds.most > large)
			return 1;
	}
	return err;
}

/* ---- by reading --------------------------------------------------------- */

/* Where the blocks of the send side are, from the first to the end of the last. */
static void get_span(const struct coll_call *call, char **begin, size_t *len)
{
	uintptr_t first = UINTPTR_MAX, end = 0;

	for (int r = 0; r < call->plan->size; r++) {
		const size_t bytes = coll_side_bytes(&call->send, r);
		const uintptr_t at = (uintptr_t)coll_side_range(&call->send, r);

		if (!bytes)
			continue;
		first = at < first ? at : first;
		end = at + bytes > end ? at + bytes : end;
	}
	*begin = end ? (char *)first : NULL;
	*len = end ? end - first : 0;
}

static int run_pull(struct coll_call *call, enum coll_way way)
{
	int err = run_shared(call, COLL_SHM, way == COLL_CMA ? LARGE_CMA : LARGE_REGION);

	if (err <= 0)
		return err;
	err = call->send.type.is_dense ? 0 : coll_side_flatten(call, &call->send);
	if (!err && !call->recv.type.is_dense)
		err = coll_recv_flatten(call);
	if (!err) {
		char *begin;
		size_t len;

		call->went = way;
		get_span(call, &begin, &len);
		err = coll_pull_v(call->plan->pull[way], call, begin, len);
	}
	return err > 0 ? run_shared(call, COLL_SHM, SIZE_MAX) : err;
}

int coll_run_local_v(struct coll_call *call, const struct coll_choice *choice)
{
	const size_t own = coll_side_bytes(&call->recv, call->plan->rank);
	int err;

	if (coll_way_is_shared(choice->way))
		err = run_shared(call, choice->way, SIZE_MAX);
	else if (call->is_in_place) /* what others read would have to be copied first */
		err = run_shared(call, COLL_SHM, SIZE_MAX);
	else
		err = run_pull(call, choice->way);
	if (!err)
		err = coll_self(call, 0, own);
	return coll_call_finish(call, err);
}
