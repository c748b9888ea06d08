// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * local_pull - each rank reads its blocks from the memory of the others
 *
 * Two steps: in the first all say where their blocks are and each reads, the next
 * neighbour's first, so that no two read from one at a time; in the second all
 * say that they are done, and whether it went well. Until then no buffer may
 * change. If it went wrong for one, all of the node do it again through the
 * segment: the decision is taken together.
 *
 * Cost (L ranks, s bytes in all to each): s c + L a + 2 L l, with a what an access
 * to another's memory costs beside the copy (CMA: a call and its pages; a region:
 * its part of one batch), l that of a line from core to core.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms.h"
#include "local_pull.h"
#include "plan.h"
#include "segment.h"

/*
 * What a line carries. @at: bytes from the begin of what is offered to where the
 * reader's block is, if blocks differ. @is_declined: rather through the segment.
 */
struct notice {
	int32_t err, is_declined;
	uint64_t bytes, at;
	unsigned char handle[COLL_HANDLE];
};

_Static_assert(sizeof(struct notice) <= COLL_INLINE, "a notice fits in a line");

/* ---- the ways ----------------------------------------------------------- */

static struct coll_pull *open_pull(struct coll_plan *plan, enum coll_way way)
{
	struct coll_pull *pull = calloc(1, sizeof(*pull));
	int err = coll_agree(plan, pull ? 0 : -ENOMEM);

	if (err) {
		free(pull);
		return NULL;
	}
	pull->ops = way == COLL_CMA ? &coll_pull_cma : &coll_pull_region;
	pull->plan = plan;
	err = pull->ops->open(pull, plan);
	pull->why = coll_agree(plan, err);
	pull->is_there = !pull->why;
	return pull;
}

int coll_pull_is_there(struct coll_plan *plan, enum coll_way way, char *why, size_t len)
{
	if (way != COLL_CMA && way != COLL_REGION)
		return 1;
	if (!plan->pull[way])
		plan->pull[way] = open_pull(plan, way);
	if (!plan->pull[way] || !plan->pull[way]->is_there) {
		snprintf(why, len, "%s: not all ranks can read each other's memory (%s)",
			 way == COLL_CMA ? "cma" : "region",
			 strerror(plan->pull[way] ? -plan->pull[way]->why : ENOMEM));
		return 0;
	}
	return 1;
}

void coll_pull_close(struct coll_pull *pull)
{
	if (!pull)
		return;
	pull->ops->close(pull);
	free(pull->reads);
	free(pull);
}

static struct coll_read *get_reads(struct coll_pull *pull, size_t n)
{
	struct coll_read *reads;

	if (n <= pull->room)
		return pull->reads;
	reads = realloc(pull->reads, n * sizeof(*reads));
	if (!reads)
		return NULL;
	pull->reads = reads;
	pull->room = n;
	return reads;
}

/* ---- the two steps ------------------------------------------------------ */

static void tell_all(struct coll_segment *seg, uint64_t step, const struct notice *notice)
{
	for (int k = 1; k < seg->n; k++) {
		const int x = (seg->me + k) % seg->n;

		memcpy(coll_line(seg, seg->me, x, step)->payload, notice, sizeof(*notice));
		coll_post(seg, x, step);
	}
	coll_wake(seg);
}

/*
 * Of each other rank; *@said: an error that one of them, or this one, has told.
 * Return: 0, -EOWNERDEAD, COLL_DECLINED if one of them does.
 */
static int hear_all(struct coll_pull *pull, uint64_t step, int is_offer, int *said)
{
	struct coll_segment *seg = pull->plan->segment;
	int is_declined = 0;

	for (int k = 1; k < seg->n; k++) {
		const int i = (seg->me - k + seg->n) % seg->n;
		struct notice notice;
		int err = coll_wait(seg, i, step);

		if (err)
			return err;
		memcpy(&notice, coll_line(seg, i, seg->me, step)->payload, sizeof(notice));
		is_declined |= notice.is_declined;
		if (notice.err)
			*said = notice.err;
		else if (is_offer && !*said && !is_declined)
			*said = pull->ops->accept(pull, i, notice.handle);
	}
	return is_declined ? COLL_DECLINED : 0;
}

/* The second step. Return: 0, -EOWNERDEAD, 1 if anything went wrong for anybody. */
static int say_done(struct coll_pull *pull, int said)
{
	struct coll_segment *seg = pull->plan->segment;
	const struct notice notice = { .err = said };
	const uint64_t step = coll_step_begin(seg);
	int err;

	tell_all(seg, step, &notice);
	err = hear_all(pull, step, 0, &said);
	return err ? err : said != 0;
}

int coll_pull_together(struct coll_pull *pull, char *at, size_t len, struct coll_read *reads,
		       size_t n)
{
	struct coll_segment *seg = pull->plan->segment;
	struct notice notice = { .bytes = len };
	const uint64_t step = coll_step_begin(seg);
	int said, err;

	notice.err = said = reads ? pull->ops->offer(pull, at, len, notice.handle) : -ENOMEM;
	tell_all(seg, step, &notice);
	err = hear_all(pull, step, 1, &said);
	if (err)
		return err;
	if (!said)
		said = pull->ops->read(pull, reads, n);
	return say_done(pull, said);
}

/* In place of the first step. All of the node know then, so there is no second. */
static int decline(struct coll_pull *pull)
{
	const struct notice notice = { .is_declined = 1 };
	const uint64_t step = coll_step_begin(pull->plan->segment);
	int said = 0, err;

	tell_all(pull->plan->segment, step, &notice);
	err = hear_all(pull, step, 0, &said);
	return err ? err : COLL_DECLINED;
}

/* ---- collect ------------------------------------------------------------ */

/* No limit: the memory is private. */
static size_t pull_chunk(const struct coll_plan *plan, size_t blocks, size_t block)
{
	(void)plan;
	(void)blocks;
	return block;
}

static size_t list_reads(struct coll_call *call, const struct coll_map *map, char *base,
			 struct coll_read *reads)
{
	const struct coll_plan *plan = call->plan;
	const int *dest = &map->dest[map->first[plan->lrank]], L = plan->lsize;
	const size_t len = call->block;
	size_t n = 0;

	for (int k = 1; k < L; k++) {
		const int i = (plan->lrank - k + L) % L;

		reads[n++] = (struct coll_read){ i, (size_t)plan->rank * len,
			coll_side_range(&call->recv, coll_rank_of(plan, i)), len };
		for (int slot = 1; slot < map->nslots[plan->lrank]; slot++)
			reads[n++] = (struct coll_read){ i, (size_t)dest[slot] * len,
				base + (size_t)(slot * L + i) * len, len };
	}
	return n;
}

static int keep_own(struct coll_call *call, const struct coll_map *map, char *base)
{
	const struct coll_plan *plan = call->plan;
	const int *dest = &map->dest[map->first[plan->lrank]];
	int err = coll_self(call, 0, call->block);

	for (int slot = 1; slot < map->nslots[plan->lrank] && !err; slot++)
		err = coll_put(call, dest[slot], 0, call->block,
			       base + (size_t)(slot * plan->lsize + plan->lrank) * call->block);
	return err;
}

static int pull_collect(enum coll_way way, struct coll_call *call, const struct coll_map *map,
			char **base)
{
	struct coll_plan *plan = call->plan;
	const size_t slots = (size_t)map->nslots[plan->lrank];
	const size_t cells = slots * (size_t)plan->lsize;
	struct coll_read *reads = get_reads(plan->pull[way], cells);
	size_t n = 0;
	int err = 0;

	if (call->is_declined)
		return decline(plan->pull[way]);
	/* Others read while this rank receives. */
	if (call->is_in_place)
		err = coll_side_flatten(call, &call->send);
	*base = slots > 1 ? coll_plan_scratch(plan, COLL_FOR_COLLECT, cells * call->block) : NULL;
	if (slots > 1 && !*base)
		err = -ENOMEM;
	if (!err && reads)
		n = list_reads(call, map, *base, reads);
	err = coll_pull_together(plan->pull[way], err ? NULL : coll_side_range(&call->send, 0),
				 (size_t)plan->size * call->block, err ? NULL : reads, n);
	if (err > 0) {
		call->went = COLL_SHM;
		err = coll_collect_parts(call, map, call->block, *base);
	}
	return err ? err : keep_own(call, map, *base);
}

/* ---- blocks of different sizes ------------------------------------------ */

/* Each pair's line says where its block is. */
static void tell_places(struct coll_call *call, uint64_t step, struct notice notice,
			const char *begin)
{
	struct coll_segment *seg = call->plan->segment;

	for (int k = 1; k < seg->n; k++) {
		const int x = (seg->me + k) % seg->n, rank = coll_rank_of(call->plan, x);

		if (coll_side_bytes(&call->send, rank))
			notice.at = (size_t)(coll_side_range(&call->send, rank) - begin);
		memcpy(coll_line(seg, seg->me, x, step)->payload, &notice, sizeof(notice));
		coll_post(seg, x, step);
	}
	coll_wake(seg);
}

static size_t list_places(struct coll_call *call, uint64_t step, struct coll_read *reads)
{
	const struct coll_plan *plan = call->plan;
	const struct coll_segment *seg = plan->segment;
	size_t n = 0;

	for (int k = 1; k < seg->n; k++) {
		const int i = (seg->me - k + seg->n) % seg->n, rank = coll_rank_of(plan, i);
		const size_t bytes = coll_side_bytes(&call->recv, rank);
		struct notice notice;

		memcpy(&notice, coll_line(seg, i, seg->me, step)->payload, sizeof(notice));
		if (bytes)
			reads[n++] = (struct coll_read){ i, notice.at,
				coll_side_range(&call->recv, rank), bytes };
	}
	return n;
}

int coll_pull_v(struct coll_pull *pull, struct coll_call *call, char *begin, size_t len)
{
	struct coll_segment *seg = pull->plan->segment;
	struct coll_read *reads = get_reads(pull, (size_t)seg->n);
	struct notice notice = { .bytes = len };
	const uint64_t step = coll_step_begin(seg);
	int said, err;

	notice.err = said = !reads ? -ENOMEM : len ?
		     pull->ops->offer(pull, begin, len, notice.handle) :
		     pull->ops->offer(pull, pull->nothing, 1, notice.handle);
	tell_places(call, step, notice, begin);
	err = hear_all(pull, step, 1, &said);
	if (err)
		return err;
	if (!said)
		said = pull->ops->read(pull, reads, list_places(call, step, reads));
	return say_done(pull, said);
}

/* ---- distribute --------------------------------------------------------- */

static char *pull_ground(enum coll_way way, struct coll_plan *plan, size_t bytes)
{
	struct coll_pull *pull = plan->pull[way];

	pull->ground = coll_plan_scratch(plan, COLL_FOR_GROUND, bytes);
	pull->ground_bytes = bytes;
	return pull->ground;
}

/* What of a cell is in a part of the ground goes to where it belongs. */
static int take_part(struct coll_call *call, const struct coll_cell *cell, size_t len, size_t at,
		     size_t bytes, const char *part)
{
	const size_t begin = cell->cell * len, end = begin + len;
	const size_t from = begin > at ? begin : at;
	const size_t to = end < at + bytes ? end : at + bytes;

	return from < to ? coll_take(call, cell->src, from - begin, to - from, part + from - at) :
	       0;
}

/* Through the segment, all of every ground, part by part. */
static int relay(struct coll_pull *pull, struct coll_call *call, const struct coll_cell *cells,
		 size_t n, size_t len)
{
	struct coll_segment *seg = call->plan->segment;
	const size_t part = seg->area;
	size_t most = pull->ground_bytes;
	int err = 0;

	for (size_t at = 0; at < most && !err; at += part) {
		struct notice notice = { .bytes = pull->ground_bytes };
		const uint64_t step = coll_step_begin(seg);

		if (at < pull->ground_bytes)
			memcpy(coll_area(seg, seg->me, step), pull->ground + at,
			       pull->ground_bytes - at < part ? pull->ground_bytes - at : part);
		tell_all(seg, step, &notice);
		for (int k = 1; k < seg->n && !err; k++) {
			const int i = (seg->me + k) % seg->n;

			err = coll_wait(seg, i, step);
			memcpy(&notice, coll_line(seg, i, seg->me, step)->payload, sizeof(notice));
			if (notice.bytes > most)
				most = notice.bytes;
		}
		for (size_t i = 0; i < n && !err; i++)
			err = take_part(call, &cells[i], len, at, part,
					coll_area(seg, cells[i].from, step));
	}
	return err;
}

static int pull_distribute(enum coll_way way, struct coll_call *call,
			   const struct coll_cell *cells, size_t n, size_t len)
{
	struct coll_plan *plan = call->plan;
	struct coll_pull *pull = plan->pull[way];
	struct coll_read *reads = get_reads(pull, n ? n : 1);
	size_t at = 0;
	int err;

	/* Who is no leader has nothing to offer, but takes part. */
	if (!pull->ground && !pull_ground(way, plan, 1))
		reads = NULL;
	for (size_t i = 0; i < n && reads; i++)
		if (cells[i].from != plan->lrank)
			reads[at++] = (struct coll_read){ cells[i].from, cells[i].cell * len,
				coll_side_range(&call->recv, cells[i].src), len };
	err = coll_pull_together(pull, pull->ground, pull->ground_bytes, reads, at);
	if (err > 0) {
		call->went = COLL_SHM;
		err = relay(pull, call, cells, n, len);
	}
	for (size_t i = 0; i < n && !err; i++)
		if (cells[i].from == plan->lrank)
			err = coll_take(call, cells[i].src, 0, len,
					pull->ground + cells[i].cell * len);
	pull->ground = NULL;
	return err;
}

/* ---- as both ways are called -------------------------------------------- */

static int cma_collect(struct coll_call *call, const struct coll_map *map, size_t off, size_t len,
		       char **base)
{
	(void)off;
	(void)len;
	return pull_collect(COLL_CMA, call, map, base);
}

static char *cma_ground(struct coll_plan *plan, size_t bytes)
{
	return pull_ground(COLL_CMA, plan, bytes);
}

static int cma_distribute(struct coll_call *call, const struct coll_cell *cells, size_t n,
			  size_t off, size_t len)
{
	(void)off;
	return pull_distribute(COLL_CMA, call, cells, n, len);
}

static int region_collect(struct coll_call *call, const struct coll_map *map, size_t off,
			  size_t len, char **base)
{
	(void)off;
	(void)len;
	return pull_collect(COLL_REGION, call, map, base);
}

static char *region_ground(struct coll_plan *plan, size_t bytes)
{
	return pull_ground(COLL_REGION, plan, bytes);
}

static int region_distribute(struct coll_call *call, const struct coll_cell *cells, size_t n,
			     size_t off, size_t len)
{
	(void)off;
	return pull_distribute(COLL_REGION, call, cells, n, len);
}

const struct coll_in_node coll_in_node_cma = {
	.chunk = pull_chunk,
	.collect = cma_collect,
	.ground = cma_ground,
	.distribute = cma_distribute,
};

const struct coll_in_node coll_in_node_region = {
	.chunk = pull_chunk,
	.collect = region_collect,
	.ground = region_ground,
	.distribute = region_distribute,
};
