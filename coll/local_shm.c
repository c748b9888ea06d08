// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * local_shm - ranks of a node through their shared segment: two copies
 *
 * Collect: each rank writes the blocks for a local rank into that rank's area,
 * where they lie as they will be sent on, and posts it a line; each waits for a
 * line of all and has its blocks. What fits goes into the line itself. One step,
 * and no barrier at the end: see segment.h.
 *
 * Distribute: each rank has received into its own area; it posts all a line, and
 * each picks its blocks from the areas of others.
 *
 * Cost (L ranks, s bytes in all from and to each): 2 s c + L l, with c the time
 * of a byte's copy and l that of a line from one core to another. c is least where both
 * ranks are on one processor; else it is what a line costs that the other has used, and
 * writing may cost several times what reading does: an area's lines were last read by
 * another. "stream" writes past the cache then: 1 s c + 1 s w + L l, with w the time
 * of a byte to memory: bench/crossing.
 */
#include <errno.h>
#include <string.h>

#include "algorithms.h"
#include "local_pull.h"
#include "plan.h"
#include "segment.h"

/* A multiple of a cache line, if it is more than one. */
static size_t shm_chunk(const struct coll_plan *plan, size_t blocks, size_t block)
{
	const struct coll_segment *seg = plan->segment;
	const size_t most = (plan->is_area_full ? seg->area : seg->area_most) / blocks;

	if (block <= most)
		return block;
	return most >= 64 ? most / 64 * 64 : most;
}

/* ---- collect ------------------------------------------------------------ */

/**
 * struct step - a step of collecting
 * @at, @len: what of each block
 * @is_inline: it goes in the lines
 * @is_streamed: past the cache to who reads on another processor
 * @base: where blocks for other nodes end up
 */
struct step {
	struct coll_call *call;
	const struct coll_map *map;
	struct coll_segment *seg;
	uint64_t number;
	size_t off, len;
	int is_inline, is_streamed;
	char *base;
};

static size_t cell(const struct step *step, int slot, int from)
{
	return ((size_t)slot * (size_t)step->seg->n + (size_t)from) * step->len;
}

static int put(const struct step *step, int x, int dest, char *to)
{
	return step->is_streamed ?
	       coll_put_past(step->call, x, dest, step->off, step->len, to) :
	       coll_put(step->call, dest, step->off, step->len, to);
}

static int write_to(const struct step *step, int x)
{
	const int *dest = &step->map->dest[step->map->first[x]];
	char *payload = (char *)coll_line(step->seg, step->seg->me, x, step->number)->payload;
	char *area = coll_area(step->seg, x, step->number);
	int err = 0;

	for (int slot = 0; slot < step->map->nslots[x] && !err; slot++)
		err = put(step, x, dest[slot],
			  step->is_inline ? payload + (size_t)slot * step->len :
					    area + cell(step, slot, step->seg->me));
	coll_post(step->seg, x, step->number);
	return err;
}

/* This rank's own blocks need no line. */
static int keep_own(const struct step *step)
{
	const int me = step->seg->me;
	const int *dest = &step->map->dest[step->map->first[me]];
	int err = coll_self(step->call, step->off, step->len);

	for (int slot = 1; slot < step->map->nslots[me] && !err; slot++)
		err = coll_put(step->call, dest[slot], step->off, step->len,
			       step->base + cell(step, slot, me));
	return err;
}

static int read_from(const struct step *step, int i)
{
	const char *payload = (char *)coll_line(step->seg, i, step->seg->me, step->number)->payload;
	const char *block = step->is_inline ? payload : step->base + cell(step, 0, i);
	int err = coll_wait(step->seg, i, step->number);

	if (!err)
		err = coll_take_from(step->call, i, coll_rank_of(step->call->plan, i), step->off,
				     step->len, block);
	for (int slot = 1; step->is_inline && slot < step->map->nslots[step->seg->me]; slot++)
		memcpy(step->base + cell(step, slot, i), payload + (size_t)slot * step->len,
		       step->len);
	return err;
}

/* All that is sent is out of the caller's buffer before anything comes in. */
static int do_step(struct step *step)
{
	const int n = step->seg->n, me = step->seg->me;
	int err = 0;

	for (int k = 1; k < n; k++) {
		int failed = write_to(step, (me + k) % n);

		err = err ? err : failed;
	}
	coll_wake(step->seg);
	if (!err)
		err = keep_own(step);
	for (int k = 1; k < n && !err; k++)
		err = read_from(step, (me - k + n) % n);
	return err;
}

/* As much as shm_chunk() says, or less. */
static int collect(struct coll_call *call, const struct coll_map *map, size_t off, size_t len,
		   int is_streamed, char **base)
{
	struct coll_plan *plan = call->plan;
	struct step step = { .call = call, .map = map, .seg = plan->segment, .off = off,
			     .len = len };

	step.number = coll_step_begin(plan->segment);
	step.is_inline = (size_t)map->most * len <= COLL_INLINE;
	step.is_streamed = is_streamed && !step.is_inline;
	if (!step.is_inline)
		coll_tell_cpu(plan->segment);
	step.base = coll_area(plan->segment, plan->lrank, step.number);
	if (step.is_inline && map->most > 1) {
		step.base = coll_plan_scratch(plan, COLL_FOR_COLLECT, (size_t)map->most *
					      (size_t)plan->lsize * len);
		if (!step.base)
			return -ENOMEM;
	}
	*base = step.base;
	return do_step(&step);
}

static int shm_collect(struct coll_call *call, const struct coll_map *map, size_t off, size_t len,
		       char **base)
{
	return collect(call, map, off, len, 0, base);
}

static int stream_collect(struct coll_call *call, const struct coll_map *map, size_t off,
			  size_t len, char **base)
{
	return collect(call, map, off, len, 1, base);
}

int coll_collect_parts(struct coll_call *call, const struct coll_map *map, size_t len, char *whole)
{
	const size_t n = (size_t)call->plan->lsize;
	const size_t cells = (size_t)map->nslots[call->plan->lrank] * n;
	const size_t room = call->plan->segment->area / ((size_t)map->most *
							  (size_t)call->plan->most);
	const size_t part = room < len ? room : len;
	int err = part ? 0 : -ENOSPC;
	char *area;

	for (size_t at = 0; at < len && !err; at += part) {
		const size_t bytes = len - at < part ? len - at : part;

		err = shm_collect(call, map, at, bytes, &area);
		for (size_t i = n; i < cells && !err && whole; i++)
			memcpy(whole + i * len + at, area + i * bytes, bytes);
	}
	/* Who had no memory has taken part for the others. */
	return err ? err : whole || cells == n ? 0 : -ENOMEM;
}

/* ---- distribute --------------------------------------------------------- */

/* Of the step that shm_distribute() will begin. */
static char *shm_ground(struct coll_plan *plan, size_t bytes)
{
	if (bytes > plan->segment->area)
		return NULL;
	return coll_area(plan->segment, plan->lrank, plan->segment->step + 1);
}

static int shm_distribute(struct coll_call *call, const struct coll_cell *cells, size_t n,
			  size_t off, size_t len)
{
	struct coll_segment *seg = call->plan->segment;
	const uint64_t number = coll_step_begin(seg);
	int err = 0;

	coll_tell_cpu(seg);
	coll_post_all(seg, number);
	for (size_t i = 0; i < n && !err; i++) {
		if (cells[i].from != seg->me)
			err = coll_wait(seg, cells[i].from, number);
		if (!err)
			err = coll_take_from(call, cells[i].from, cells[i].src, off, len,
					     coll_area(seg, cells[i].from, number) +
					     cells[i].cell * len);
	}
	for (int k = 1; k < seg->n && !err; k++)
		err = coll_wait(seg, (seg->me + k) % seg->n, number);
	return err;
}

const struct coll_in_node coll_in_node_shm = {
	.chunk = shm_chunk,
	.collect = shm_collect,
	.ground = shm_ground,
	.distribute = shm_distribute,
};

/* On one node there is nothing to distribute. */
const struct coll_in_node coll_in_node_stream = {
	.chunk = shm_chunk,
	.collect = stream_collect,
};
