// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Data races that diffs show: a home gets what every interval wrote to its pages, byte by
 * byte, and vector clocks tell which intervals know of each other. For each byte it
 * remembers the interval that wrote it last, as FastTrack does for variables (Flanagan
 * and Freund 2009, section 3): until the first race on a byte all its writes are in one
 * order, so the last one is enough. A diff brings its interval's number and clock; if
 * that clock does not cover the byte's last interval, and another process wrote it, the
 * two are concurrent.
 *
 * No race is told of that is none: who writes after it has heard of an interval has it in
 * the clock of the interval that its write is in, which is taken when that one ends. And
 * what is at home before it was acknowledged cannot have been known to anybody.
 *
 * What is not seen: reads, which leave no diff (but see race_read.c); two threads of one
 * process; a write that leaves the byte as it was; a write whose process, through whatever
 * thread, heard of the other interval before its own ended. So nothing that is found is no
 * proof.
 *
 * The home's own writes need a twin, too, and its pages are protected at each release
 * as others are. A diff that comes while a page is written here would hide bytes that both
 * changed: those changed so far are noted before it is applied.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "race.h"

#define KEPT	256u		/* intervals of each process whose locks are remembered */

int dsm_races_create(struct dsm_core *c)
{
	struct dsm_races *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	c->races = r;
	r->last = calloc(c->c.pages, sizeof(*r->last));
	r->kept = calloc((size_t)c->c.processes * KEPT, sizeof(*r->kept));
	r->from_vc = calloc(c->c.processes, sizeof(*r->from_vc));
	r->masks = calloc(dsm_diff_masks(c->c.unit), sizeof(*r->masks));
	r->zeros = malloc(c->c.unit);
	r->ones = malloc(c->c.unit);
	if (!r->last || !r->kept || !r->from_vc || !r->masks || !r->zeros || !r->ones)
		return -ENOMEM;
	return c->c.race_reads ? dsm_reads_create(c) : 0;
}

void dsm_races_destroy(struct dsm_core *c)
{
	struct dsm_races *r = c->races;

	if (!r)
		return;
	for (uint32_t i = 0; r->last && i < c->c.pages; i++)
		free(r->last[i]);
	free(r->last);
	dsm_reads_destroy(c);
	free(r->kept);
	free(r->from_vc);
	free(r->masks);
	free(r->zeros);
	free(r->ones);
	free(r);
}

/* ---- who wrote, and with which locks ---- */
void dsm_race_find_held(const struct dsm_core *c, struct dsm_held_locks *l)
{
	l->n = 0;
	for (size_t i = 0; i < c->locks.room; i++) {
		const struct dsm_lock *lock = (void *)c->locks.v[i];

		if (!lock || !lock->held)
			continue;
		if (l->n < DSM_RACE_LOCKS)
			l->id[l->n] = lock->id;
		l->n++;
	}
}

static void keep(struct dsm_core *c, uint32_t process, const struct dsm_held_locks *l)
{
	c->races->kept[(size_t)process * KEPT + l->interval % KEPT] = *l;
}

void dsm_races_begin(struct dsm_core *c)
{
	struct dsm_held_locks *now = &c->races->now;

	now->interval = c->vc[c->c.self] + 1;
	dsm_race_find_held(c, now);
	keep(c, c->c.self, now);
}

int dsm_race_put_side(struct dsm_core *c, struct dsm_buf *b, const struct dsm_held_locks *l)
{
	uint32_t n = l->n < DSM_RACE_LOCKS ? l->n : DSM_RACE_LOCKS;

	dsm_buf_u64(b, l->interval);
	dsm_buf_u32(b, l->n);
	for (uint32_t i = 0; i < n; i++)
		dsm_buf_u64(b, l->id[i]);
	return dsm_put_vc(c, b, dsm_fault(RACE_NO_CLOCK) ? c->floor : c->vc);
}

int dsm_races_put(struct dsm_core *c, struct dsm_buf *b)
{
	return dsm_race_put_side(c, b, &c->races->now);
}

int dsm_races_get(struct dsm_core *c, uint32_t from, struct dsm_reader *reader)
{
	struct dsm_races *r = c->races;
	struct dsm_held_locks l = { .interval = dsm_read_u64(reader), .n = dsm_read_u32(reader) };
	uint32_t n = l.n < DSM_RACE_LOCKS ? l.n : DSM_RACE_LOCKS;

	for (uint32_t i = 0; i < n; i++)
		l.id[i] = dsm_read_u64(reader);
	r->from = (struct dsm_side){ .interval = l.interval, .process = from, .vc = r->from_vc };
	keep(c, from, &l);
	return dsm_get_vc(c, reader, r->from_vc);
}

void dsm_race_set_side(const struct dsm_core *c, struct dsm_race_side *side, uint32_t process,
		       uint64_t interval)
{
	const struct dsm_held_locks *l = &c->races->kept[(size_t)process * KEPT + interval % KEPT];

	*side = (struct dsm_race_side){ .process = process, .interval = interval };
	side->is_forgotten = l->interval != interval;
	if (side->is_forgotten)
		return;
	side->nlocks = l->n;
	memcpy(side->locks, l->id, sizeof(side->locks));
}

/* ---- bytes ---- */
static uint64_t pack(const struct dsm_side *w)
{
	return w->interval << 17 | (uint64_t)w->process << 1;
}

static int tell(struct dsm_core *c, uint32_t page, uint32_t begin, uint32_t end, uint64_t first,
		const struct dsm_side *w)
{
	struct dsm_race race = { .page = page, .offset = begin, .len = end - begin };

	dsm_race_set_side(c, &race.side[0], dsm_last_process(first), first >> 17);
	dsm_race_set_side(c, &race.side[1], w->process, w->interval);
	return dsm_tell_race(c, &race);
}

/*
 * @w wrote the bytes in @masks, each after what last[] says. Bytes side by side that
 * raced with the same interval are one piece.
 */
static int note(struct dsm_core *c, uint32_t page, const uint64_t *masks, const struct dsm_side *w)
{
	uint64_t *last = c->races->last[page], with = 0;
	uint32_t begin = 0, i;
	int err = 0;

	for (i = 0; i < c->c.unit && !err; i++) {
		bool is_written = masks[i / DSM_BLOCK] >> (i % DSM_BLOCK) & 1;
		uint64_t before = last[i];
		bool race = is_written && !(before & DSM_RACE_TOLD) && dsm_is_race(w, before);

		if (with && (!race || before != with)) {
			err = tell(c, page, begin, i, with, w);
			with = 0;
		}
		if (race && !with) {
			with = before;
			begin = i;
		}
		if (is_written)
			last[i] = pack(w) | (before & DSM_RACE_TOLD) | (race ? DSM_RACE_TOLD : 0);
	}
	if (with && !err)
		err = tell(c, page, begin, i, with, w);
	return err ? err : dsm_reads_written(c, page, masks, w);
}

static int make_page(struct dsm_core *c, uint32_t page)
{
	uint64_t **last = &c->races->last[page];

	if (!*last)
		*last = calloc(c->c.unit, sizeof(**last));
	return *last ? 0 : -ENOMEM;
}

/* Which bytes a diff names: put onto two pages that agree nowhere, they agree there. */
static int find_named(struct dsm_core *c, const uint8_t *diff, size_t len)
{
	struct dsm_races *r = c->races;
	int err;

	memset(r->zeros, 0, c->c.unit);
	memset(r->ones, 0xff, c->c.unit);
	err = dsm_diff_apply(c->c.diff, r->zeros, r->ones, c->c.unit, diff, len);
	if (err)
		return err;
	c->c.diff->scan(r->zeros, r->ones, c->c.unit, r->masks);
	for (size_t i = 0; i < dsm_diff_masks(c->c.unit); i++)
		r->masks[i] = ~r->masks[i];
	return 0;
}

/*
 * What was written here until now, in an interval that still goes on: nobody can know of it.
 * Noted before the diff is, for a byte that both changed is the diff's afterwards, in page
 * and twin.
 */
static int note_own(struct dsm_core *c, uint32_t page)
{
	const struct dsm_page *p = &c->pages[page];
	struct dsm_held_locks l = { .interval = c->vc[c->c.self] + 1 + c->flushing };
	const struct dsm_side own = { .process = c->c.self, .interval = l.interval, .vc = c->vc };

	if (!p->twin)
		return 0;
	dsm_race_find_held(c, &l);
	keep(c, c->c.self, &l);
	c->c.diff->scan(c->c.host.page(c->c.host.ctx, page), p->twin, c->c.unit, c->masks);
	return note(c, page, c->masks, &own);
}

int dsm_races_diff(struct dsm_core *c, uint32_t page, const uint8_t *diff, size_t len)
{
	int err = make_page(c, page);

	if (!err)
		err = note_own(c, page);
	if (!err)
		err = find_named(c, diff, len);
	return err ? err : note(c, page, c->races->masks, &c->races->from);
}

int dsm_races_close(struct dsm_core *c, uint32_t page)
{
	const struct dsm_side own = { .process = c->c.self, .interval = c->races->now.interval,
				    .vc = c->vc };
	int err = make_page(c, page);

	return err ? err : note(c, page, c->masks, &own);
}
