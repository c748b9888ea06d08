// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Possible races of a read and a write. A read leaves nothing but the request for a copy
 * of its page, so that is what is known: a process read something in this page, in the
 * interval in which it asked. The request brings that interval and its clock. A write of
 * another process's interval is concurrent with it if neither knows of the other: it was
 * at home before, and the clock of the request does not cover it; or it comes home later,
 * and its own clock does not cover the interval that read.
 *
 * That is exact for pages: of no two processes is told that have an order. But the bytes that
 * one read and the other wrote need not be the same ones, so a race is possible, no more.
 * Each page and pair of reader and writer is told of once.
 *
 * Intervals are numbered when they wrote something. Here those are, too, that only read:
 * else who got a lock from a reader could not know of its reading.
 *
 * Not seen: reads of a page that is valid from an earlier request, or from a prefetch or an
 * acquire of a range; what a home reads in its own pages; reads of who missed by a write.
 */
#include <errno.h>
#include <stdlib.h>

#include "race.h"

struct dsm_reads {
	uint64_t **last;	/* by page, by process: the interval that asked, or 0 */
	struct dsm_table told;	/* page, reader, writer */
	bool any;		/* this process asked, in its present interval */
};

int dsm_reads_create(struct dsm_core *c)
{
	struct dsm_reads *r = calloc(1, sizeof(*r));

	c->races->reads = r;
	if (!r)
		return -ENOMEM;
	r->last = calloc(c->c.pages, sizeof(*r->last));
	return r->last ? 0 : -ENOMEM;
}

void dsm_reads_destroy(struct dsm_core *c)
{
	struct dsm_reads *r = c->races->reads;

	if (!r)
		return;
	for (uint32_t i = 0; r->last && i < c->c.pages; i++)
		free(r->last[i]);
	free(r->last);
	for (size_t i = 0; i < r->told.room; i++)
		free(r->told.v[i]);
	free(r->told.v);
	free(r);
}

/* The begin of the bytes to its end, whether all between were written or not. */
static int tell(struct dsm_core *c, uint32_t page, const struct dsm_side *reader,
		const struct dsm_side *writer, uint32_t begin, uint32_t end)
{
	uint64_t pair = (uint64_t)page << 32 | reader->process << 16 | writer->process;
	struct dsm_race race = { .page = page, .offset = begin, .len = end - begin,
				 .is_read = true };
	bool made;

	if (!dsm_table_get(&c->races->reads->told, pair, sizeof(pair), &made))
		return -ENOMEM;
	if (!made)
		return 0;
	dsm_race_set_side(c, &race.side[0], reader->process, reader->interval);
	dsm_race_set_side(c, &race.side[1], writer->process, writer->interval);
	return dsm_tell_race(c, &race);
}

bool dsm_reads_end(struct dsm_core *c)
{
	struct dsm_reads *r = c->races ? c->races->reads : NULL;
	bool any = r && r->any;

	if (any)
		r->any = false;
	return any && !dsm_fault(READ_UNNUMBERED);
}

int dsm_reads_put(struct dsm_core *c, uint32_t page, struct dsm_buf *b)
{
	struct dsm_held_locks now = { .interval = c->vc[c->c.self] + 1 };
	bool reads = false;
	uint32_t t;

	if (!c->races || !c->races->reads)
		return 0;
	for (t = c->pages[page].waiters.head; t != NOBODY; t = c->threads[t].next)
		reads |= c->threads[t].doing == DOING_READ;
	if (!reads)
		return 0;
	c->races->reads->any = true;
	dsm_race_find_held(c, &now);
	return dsm_race_put_side(c, b, &now);
}

int dsm_reads_get(struct dsm_core *c, uint32_t page, uint32_t from, struct dsm_reader *reader)
{
	struct dsm_reads *r = c->races ? c->races->reads : NULL;
	const uint64_t *bytes;
	int err;

	if (!dsm_left(reader))
		return 0;
	if (!r)
		return -EBADMSG;
	err = dsm_races_get(c, from, reader);
	if (!err && !r->last[page])
		r->last[page] = calloc(c->c.processes, sizeof(**r->last));
	if (err || !r->last[page])
		return err ? err : -ENOMEM;
	r->last[page][from] = c->races->from.interval;
	bytes = c->races->last[page];
	for (uint32_t i = 0; bytes && !err && i < c->c.unit; i++) {
		uint64_t last = bytes[i] & ~DSM_RACE_TOLD;
		struct dsm_side writer = { .interval = last >> 17,
					   .process = dsm_last_process(last) };
		uint32_t end = c->c.unit;

		if (!dsm_is_race(&c->races->from, last))
			continue;
		while ((bytes[end - 1] & ~DSM_RACE_TOLD) != last)
			end--;
		err = tell(c, page, &c->races->from, &writer, i, end);
	}
	return err;
}

static bool is_in(const uint64_t *masks, uint32_t i)
{
	return masks[i / DSM_BLOCK] >> (i % DSM_BLOCK) & 1;
}

int dsm_reads_written(struct dsm_core *c, uint32_t page, const uint64_t *masks,
		      const struct dsm_side *w)
{
	const uint64_t *last = c->races->reads ? c->races->reads->last[page] : NULL;
	uint32_t begin = 0, end = c->c.unit;
	int err = 0;

	while (last && end && !is_in(masks, end - 1))
		end--;
	if (!last || !end)
		return 0;
	while (!is_in(masks, begin))
		begin++;
	for (uint32_t q = 0; !err && q < c->c.processes; q++) {
		struct dsm_side reader = { .interval = last[q], .process = q };

		if (q != w->process && w->vc[q] < last[q])
			err = tell(c, page, &reader, w, begin, end);
	}
	return err;
}
