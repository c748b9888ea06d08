// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shuffle.h"
#include "survey.h"

#define TRIES		6
/* Flush lines over ways of the level above: LRU needs one, random more. */
#define FLUSH_NUM	3
#define FLUSH_DEN	2
/* Lines of a class beyond its ways to look at, over ways. */
#define SWEEP_FACTOR	5 / 2
#define MAX_LINE	256

static int is_in(const uint32_t *x, size_t n, uint32_t page)
{
	for (size_t i = 0; i < n; i++)
		if (x[i] == page)
			return 1;
	return 0;
}

size_t survey_drop(uint32_t *pages, size_t n, const uint32_t *not, size_t nnot)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!is_in(not, nnot, pages[i]))
			pages[kept++] = pages[i];
	return kept;
}

/* Pages of the pool that are in no role yet. */
static size_t others(const struct survey *s, const struct hunt *h, const struct class *c,
		     uint32_t *out)
{
	size_t n;

	memcpy(out, s->pages, s->npages * sizeof(*out));
	n = survey_drop(out, s->npages, h->flush, h->nflush);
	return survey_drop(out, n, c->page, c->n);
}

static int start_hunt(struct survey *s, struct hunt *h, uint32_t offset)
{
	int err;

	*h = (struct hunt){
		.offset = offset, .above = s->above,
		.first_hit = s->first->hit, .first_ways = s->first->ways,
	};
	err = hunt_open(h, s->t, s->pages, s->npages);
	if (err)
		return err;
	h->nflush = s->above * FLUSH_NUM / FLUSH_DEN + 1;
	if (h->nflush > s->npages / 4)
		h->nflush = s->npages / 4;
	memcpy(h->flush, s->pages + s->npages - h->nflush, h->nflush * sizeof(*h->flush));
	return hunt_calibrate(h);
}

/* Lines beyond the smallest set, for the sweep; what is not there is not swept. */
static int grow(struct survey *s, struct hunt *h, struct class *c, uint32_t *from)
{
	size_t n = others(s, h, c, from), found, tested, want;
	unsigned int ways = (unsigned int)c->n - 1;
	int err;

	want = ways * SWEEP_FACTOR > ways + s->above + 2 ? ways * SWEEP_FACTOR : ways + s->above + 2;
	want = (want < HUNT_WAYS ? want : HUNT_WAYS) - c->n;
	shuffle(&s->t->rng, from, n);
	err = hunt_members(h, c, ways, from, n, want, &found, &tested);
	if (err)
		return err;
	memcpy(c->page + c->n, from, found * sizeof(*from));
	c->n += found;
	return 0;
}

static int take_sweep(struct hunt *h, const struct class *c, struct sweep *w)
{
	int err = 0;

	w->n = (unsigned int)c->n;
	for (unsigned int i = 1; i <= w->n && !err; i++) {
		err = hunt_misses(h, c->page, i, 1, &w->miss[i]);
		if (!err)
			err = hunt_cost(h, c->page, i, i > w->ways ? 16 : 48, 16, &w->cycles[i]);
	}
	return err;
}

/*
 * Alone, without flush lines, the ways of the level above count too if no line
 * is in both.
 */
static void judge_holding(struct survey *s, struct hunt *h, const struct class *c)
{
	unsigned int most = s->ways > s->above ? s->ways : s->above, k;
	size_t nflush = h->nflush;
	int over = 0;

	h->nflush = 0;
	for (k = most; k <= c->n && !over; k++)
		over = hunt_overflows(h, c->page, k);
	h->nflush = nflush;
	if (over != 1)
		return;
	if (k - 1 == most + 1)
		s->holding = HOLDING_ALSO;
	else if (k - 1 == s->ways + s->above + 1)
		s->holding = HOLDING_OTHER;
}

/* As in the first level (stride.c), by lines of one class. */
static int is_other_line(struct survey *s, struct hunt *h, const struct class *c, uint32_t d)
{
	const uint32_t up = MAX_LINE, down = 2 * MAX_LINE - METER_PLACE;
	uint32_t places[2 * HUNT_WAYS + HUNT_WAYS];
	size_t n = s->ways, all;
	int over = 1;

	for (int side = 0; side < 2 && over > 0; side++) {
		uint32_t a = h->offset / METER_CHUNK + (side ? up : down);
		uint32_t b = side ? a + d : a - d;

		all = 0;
		for (size_t i = 0; i < n; i++)
			places[all++] = (c->page[i] * METER_CHUNK + a) / METER_PLACE;
		for (size_t i = n; i < 2 * n; i++)
			places[all++] = (c->page[i] * METER_CHUNK + b) / METER_PLACE;
		for (size_t i = 0; i < h->nflush; i++)
			places[all++] = (h->flush[i] * METER_CHUNK + a) / METER_PLACE;
		over = hunt_places_overflow(h, places, all);
	}
	return over < 0 ? over : !over;
}

/* That they fit proves another line; that they do not may be chance. */
static int find_line(struct survey *s, struct hunt *h, const struct class *c)
{
	uint32_t most = s->line ? s->line / 2 : MAX_LINE;
	int other;

	if (c->n < 2 * s->ways)
		return 0;
	for (uint32_t d = s->first->line; d <= most; d *= 2) {
		other = is_other_line(s, h, c, d);
		if (other < 0)
			return other;
		if (other) {
			s->line = d;
			return 0;
		}
	}
	return 0;
}

static void vote(struct survey *s)
{
	for (unsigned int i = 0; i < s->nsweeps; i++) {
		unsigned int same = 0;

		for (unsigned int j = 0; j < s->nsweeps; j++)
			same += s->sweep[j].ways == s->sweep[i].ways;
		if (same > s->votes) {
			s->votes = same;
			s->ways = s->sweep[i].ways;
		}
	}
}

static int find_class(struct survey *s, struct hunt *h, uint32_t *from, struct class *c)
{
	size_t n;
	int found = 0;

	for (int i = 0; i < TRIES && !found; i++) {
		c->n = 0;
		n = others(s, h, c, from);
		shuffle(&s->t->rng, from, n);
		found = hunt_class(h, from, n, c);
	}
	return found;
}

/* A class at one offset: ways and sweep. 1, 0 if none was found, -errno. */
static int look_at(struct survey *s, struct hunt *h, uint32_t *from, struct class *c)
{
	struct sweep *w = &s->sweep[s->nsweeps];
	int err;

	s->tried++;
	err = find_class(s, h, from, c);
	if (err <= 0)
		return err;
	w->offset = h->offset;
	w->ways = (unsigned int)c->n - 1;
	err = grow(s, h, c, from);
	if (!err)
		err = hunt_refine(h, c);
	if (!err)
		err = take_sweep(h, c, w);
	if (err)
		return err;
	s->nsweeps++;
	return 1;
}

static void remember(struct survey *s, const struct hunt *h, const struct class *c)
{
	s->class = *c;
	s->offset = h->offset;
	s->nflush = h->nflush;
	memcpy(s->flush, h->flush, sizeof(s->flush));
	s->hit = h->hit;
	s->penalty = h->penalty;
}

/* What needs a class whose ways are known to be right. */
static int study(struct survey *s, struct hunt *h, const struct class *c)
{
	const struct sweep *w = &s->sweep[s->nsweeps - 1];
	int err = 0;

	if (s->holding == HOLDING_UNKNOWN)
		judge_holding(s, h, c);
	err = find_line(s, h, c);
	return err ? err : survey_count(s, h, w);
}

/* The hunt again that found the survey's class. */
static int resume(struct survey *s, struct hunt *h)
{
	int err = start_hunt(s, h, s->offset);

	h->hit = s->hit;
	h->penalty = s->penalty;
	h->nflush = s->nflush;
	memcpy(h->flush, s->flush, sizeof(h->flush));
	return err;
}

static int count_exactly(struct survey *s)
{
	struct hunt h;
	int err = resume(s, &h);

	if (err > 0)
		err = survey_count_exactly(s, &h);
	hunt_close(&h);
	return err;
}

int survey_level(struct survey *s)
{
	uint32_t *from = malloc(s->npages * sizeof(*from));
	struct class c;
	struct hunt h;
	int err = 0;

	if (!from)
		return -ENOMEM;
	for (unsigned int i = 0; i < SURVEY_CLASSES && err >= 0; i++) {
		err = start_hunt(s, &h, (uint32_t)(i * 1344 % METER_CHUNK));
		if (i == 0)
			s->seen = err > 0;
		s->hit = h.hit;
		s->penalty = h.penalty;
		if (err > 0)
			err = look_at(s, &h, from, &c);
		if (err > 0) {
			vote(s);
			if (c.n > s->ways && s->sweep[s->nsweeps - 1].ways == s->ways) {
				remember(s, &h, &c);
				err = study(s, &h, &c);
			}
		}
		hunt_close(&h);
		if (!s->seen)
			break;
	}
	free(from);
	if (err >= 0 && s->ways && s->exact)
		err = count_exactly(s);
	return err < 0 ? err : 0;
}

int survey_gather(struct survey *s, uint32_t *from, size_t nfrom, size_t want, size_t *found)
{
	struct hunt h;
	size_t tested, n;
	int err = resume(s, &h);

	if (err >= 0) {
		n = survey_drop(from, nfrom, h.flush, h.nflush);
		n = survey_drop(from, n, s->class.page, s->class.n);
		err = hunt_members(&h, &s->class, s->ways, from, n, want, found, &tested);
	}
	hunt_close(&h);
	return err;
}
