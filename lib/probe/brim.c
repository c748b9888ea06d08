// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "brim.h"
#include "shuffle.h"

/* Turns before each look, until a look sees no misses: chance takes long to settle. */
static const double warm_turns[] = { 4, 8, 16, 32, 64 };
#define LOOKS		5
/* Lines of all orders of a ring, in each of which it has to settle: an exclusive level is
 * only full while the level above holds none of a set's lines. */
#define ORDER_LINES	6000
#define ORDERS		2
/* So many misses that stay are no strangers which are about to go. */
#define MANY_MISSES	4
#define STAYS		0.8
/* Turns that differ by less than this share of a miss have settled. */
#define SAME		0.1
/* Lines added at once, at most. */
#define GROUP		6
/* Lines that did not fit, over those that do, when all sets are full. */
#define ENOUGH		3
/* Lines that are left out of the set are at so many other offsets of their pages. */
#define ASIDE		7

int brim_open(struct brim *b, struct hunt *h, double hit, double penalty)
{
	*b = (struct brim){ .h = h, .hit = hit, .penalty = penalty };
	b->in = malloc(h->npages * sizeof(*b->in));
	b->out = malloc(h->npages * sizeof(*b->out));
	if (b->in && b->out)
		return 0;
	brim_close(b);
	return -ENOMEM;
}

void brim_close(struct brim *b)
{
	free(b->in);
	free(b->out);
	b->in = b->out = NULL;
}

unsigned int brim_orders(const struct brim *b)
{
	return MAX(ORDER_LINES / (unsigned int)b->n, ORDERS);
}

static uint32_t place_at(const struct brim *b, uint32_t page, size_t aside)
{
	const size_t step = METER_CHUNK / (ASIDE + 1);

	return page * METER_CHUNK_PLACES +
	       (uint32_t)((b->h->offset + aside * step) % METER_CHUNK) / METER_PLACE;
}

/*
 * A ring of the lines that fit, but of those in [@from, @to) other lines of the same
 * pages, so that translation costs the same; and a line of each of the @nadd of @add,
 * at the hunt's offset only if @is_here.
 */
static int make_ring(struct brim *b, size_t from, size_t to, const uint32_t *add, size_t nadd,
		     int is_here)
{
	uint32_t *places = b->h->places;
	int err = trial_tick(b->h->t);

	for (size_t i = 0; i < b->n; i++)
		places[i] = place_at(b, b->in[i], i < from || i >= to ? 0 : 1 + i % (ASIDE - 1));
	for (size_t i = 0; i < nadd; i++)
		places[b->n + i] = place_at(b, add[i], is_here ? 0 : ASIDE);
	return err ? err : trial_ring(b->h->t, places, b->n + nadd, 0);
}

/* Cycles a turn of the ring at hand, looked at until it costs less than @limit, or the same
 * again where there is none. */
static double settled_turn(struct brim *b, double limit)
{
	const double lines = (double)b->h->t->nring;
	double least = INFINITY, turn, before = INFINITY;

	for (int i = 0; i < LOOKS && least >= limit; i++) {
		turn = trial_look(b->h->t, warm_turns[i], HUNT_TURNS) * lines;
		least = fmin(least, turn);
		if (i && limit <= 0 && fabs(turn - before) < SAME * b->penalty)
			break;
		if (i > 1 && limit > 0 && turn - limit > MANY_MISSES * b->penalty &&
		    turn - limit > STAYS * (before - limit))
			break;
		before = turn;
	}
	return least;
}

/*
 * Whether the lines fit without those in [@from, @to) but with @add: then they cost
 * what hits cost more than lines of the same pages elsewhere. 1, 0, -errno.
 */
static int fits(struct brim *b, size_t from, size_t to, const uint32_t *add, size_t nadd)
{
	const double added = (double)nadd * (b->hit - b->h->first_hit);
	double without, limit = 0;
	int err = make_ring(b, from, to, add, nadd, 0);

	if (err)
		return err;
	if (from == to && b->turn > 0)
		limit = b->turn + (double)nadd * b->h->first_hit + b->penalty / 4;
	without = settled_turn(b, limit);
	limit = without + added + b->penalty / 2;
	for (unsigned int i = 0; i < brim_orders(b) && !err; i++) {
		err = make_ring(b, from, to, add, nadd, 1);
		if (!err && settled_turn(b, limit) >= limit)
			return 0;
	}
	if (!err && from == to)
		b->turn = without + added;
	return err ? err : 1;
}

int brim_fill(struct brim *b, size_t first)
{
	const struct hunt *h = b->h;
	uint32_t *from = malloc(h->npages * sizeof(*from));
	size_t group = 1;
	int fit = 0;

	if (!from)
		return -ENOMEM;
	memcpy(from, h->pages, h->npages * sizeof(*from));
	shuffle(&h->t->rng, from, h->npages);
	b->n = MIN(first, h->npages);
	memcpy(b->in, from, b->n * sizeof(*from));
	b->nout = 0;
	b->turn = 0;
	for (size_t at = b->n; at < h->npages && b->nout < ENOUGH * b->n && fit >= 0; ) {
		size_t n = MIN(group, h->npages - at);

		fit = fits(b, 0, 0, from + at, n);
		if (fit > 0) {
			memcpy(b->in + b->n, from + at, n * sizeof(*from));
			b->n += n;
			at += n;
			group = MIN(group + 1, GROUP);
		} else if (!fit && n > 1) {
			group = n / 2;
		} else if (!fit) {
			b->out[b->nout++] = from[at++];
		}
		if (h->t->loads > h->until) {
			b->n = 0;
			break;
		}
	}
	free(from);
	return fit < 0 ? fit : 0;
}

/*
 * Lines in [@from, @to) that @line can be in the place of, to the class. One of them is
 * known to be where @sure. How many; -errno.
 */
static int find_places(struct brim *b, uint32_t line, size_t from, size_t to, int sure,
		       struct class *c)
{
	const size_t mid = (from + to) / 2;
	int fit, some, others;

	if (!sure || to - from == 1) {
		fit = fits(b, from, to, &line, 1);
		if (fit <= 0)
			return fit;
	}
	if (c->n + 1 >= HUNT_WAYS)
		return 0;
	if (to - from == 1) {
		c->page[c->n++] = b->in[from];
		return 1;
	}
	some = find_places(b, line, from, mid, 0, c);
	if (some < 0)
		return some;
	others = find_places(b, line, mid, to, !some, c);
	return others < 0 ? others : some + others;
}

int brim_class(struct brim *b, size_t i, struct class *c)
{
	int found;

	c->n = 0;
	found = find_places(b, b->out[i], 0, b->n, 0, c);
	if (found <= 0 || c->n + 1 >= HUNT_WAYS)
		return found < 0 ? found : 0;
	c->page[c->n++] = b->out[i];
	return 1;
}

int brim_is_member(struct brim *b, const struct class *c, size_t i)
{
	size_t at = 0;

	while (at < b->n && b->in[at] != c->page[0])
		at++;
	return at < b->n ? fits(b, at, at + 1, &b->out[i], 1) : 0;
}
