// SPDX-License-Identifier: LGPL-2.1-or-later
/* Ways of a level that was filled, and whether lines at other offsets share its sets. */
#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "fill.h"
#include "shuffle.h"

/* Looks for lines of a set, so that each is seen to miss. */
#define LOOKS		60
/* Looks that saw nothing new before it is asked whether these are all. */
#define IDLE		3
/* Lines at another offset, over those that the level holds at one. */
#define SOME		8
#define DRAWS		3
/* And over those that the first level holds, which would not come to the second. */
#define OVER_FIRST	3
/* Between other offsets of the page of a line that does not fit. */
#define ELSEWHERE	320
/* Shares of them that miss if they share sets, and if they do not. */
#define SHARES		0.3
#define SHARES_NOT	0.1

/* What did not fit, all of it, so that the set's lines come in another order. */
static int wash(struct fill *f)
{
	return fill_walk(f, f->pages + f->n, f->npages - f->n);
}

/* Lines that miss beside @x to @c. 1, 0 if none do, -errno. */
static int add_missed(struct fill *f, uint32_t x, struct class *c)
{
	int over, err;

	memcpy(f->list, f->pages, f->n * sizeof(*f->list));
	f->list[f->n] = x;
	over = fill_look(f, f->list, f->n + 1);
	err = over > 0 ? fill_look_on(f, f->list, f->n + 1) : 0;
	if (err)
		return err;
	for (size_t i = 0; i < f->n && over > 0 && c->n < HUNT_WAYS; i++)
		if (f->missed[f->list[i]] && !hunt_is_among(c->page, c->n, f->list[i]))
			c->page[c->n++] = f->list[i];
	return over;
}

/*
 * Whether the set has no more lines than @c: half of all others do not overflow the
 * level without them, so both halves only do with @c if @c does by itself.
 */
static int is_complete(struct fill *f, const struct class *c)
{
	size_t n, half = f->n / 2;
	int over = 1;

	shuffle(&f->t->rng, f->pages, f->n);
	for (int i = 0; i < 2 && over > 0; i++) {
		memcpy(f->list, c->page, c->n * sizeof(*f->list));
		n = c->n;
		for (size_t j = i ? half : 0; j < (i ? f->n : half); j++)
			if (!hunt_is_among(c->page, c->n, f->pages[j]))
				f->list[n++] = f->pages[j];
		over = fill_look(f, f->list, n);
	}
	return over;
}

/* Without any of its lines the level holds all others; what is not so is none of it. */
static int prune(struct fill *f, uint32_t x, struct class *c)
{
	size_t kept = 1, n;
	int over;

	for (size_t i = 1; i < c->n; i++) {
		n = 0;
		f->list[n++] = x;
		for (size_t j = 0; j < f->n; j++)
			if (f->pages[j] != c->page[i])
				f->list[n++] = f->pages[j];
		over = fill_look(f, f->list, n);
		if (over < 0)
			return over;
		if (!over)
			c->page[kept++] = c->page[i];
	}
	c->n = kept;
	return 0;
}

int fill_find_set(struct fill *f, uint32_t x, struct class *c)
{
	int err = 1, idle = 0;
	size_t before;

	*c = (struct class){ .page = { x }, .n = 1 };
	for (int i = 0; i < LOOKS && f->t->loads < f->until; i++) {
		before = c->n;
		err = i ? wash(f) : 0;
		if (!err)
			err = add_missed(f, x, c);
		/* It fits after all, or nothing settles. */
		if (err <= 0 || c->n == HUNT_WAYS)
			return err < 0 ? err : 0;
		idle = c->n > before ? 0 : idle + 1;
		/* Mostly all miss at once. */
		if (i && idle < IDLE)
			continue;
		idle = 0;
		err = is_complete(f, c);
		if (err < 0)
			return err;
		if (err) {
			err = prune(f, x, c);
			return err ? err : 1;
		}
	}
	return 0;
}

int fill_is_cache(struct fill *f)
{
	size_t missing = 1;
	int err = 0;

	/* A prefetcher may bring the line that does not fit, but not wherever it looks from. */
	for (uint32_t d = 2 * METER_LINE; d < METER_CHUNK && missing && !err; d += ELSEWHERE)
		err = fill_look_beside(f, f->set.page, 1, f->offset ^ d, &missing);
	return err ? err : !missing;
}

int fill_shares_sets(struct fill *f, uint32_t distance)
{
	const size_t most = f->is_second ? f->n : f->npages - f->n;
	const size_t least_lines = f->is_second ? OVER_FIRST * f->above : 0;
	const size_t n = MIN(MAX(f->n / SOME, least_lines), most);
	uint32_t *some = f->pages + (f->is_second ? 0 : f->n);
	size_t missed, least = SIZE_MAX;
	int err = 0;

	/*
	 * A prefetcher may bring a line now and then; behind the first level it sees every
	 * load, so there what it brings is of pages whose lines are there already.
	 */
	for (int i = 0; i < DRAWS && !err && least; i++) {
		shuffle(&f->t->rng, some, most);
		err = fill_look_beside(f, some, n, f->offset ^ distance, &missed);
		least = MIN(least, missed);
	}
	if (err || (double)least < SHARES_NOT * (double)n)
		return err;
	return (double)least > SHARES * (double)n ? 1 : -ERANGE;
}
