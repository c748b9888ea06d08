// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/param.h>

#include <sonde/stats.h>
#include "brim_look.h"
#include "shuffle.h"
#include "urns.h"

/* Lines of all orders at last, where ways are not known yet, of so few orders at least; where they
 * are, more than anybody waits for. */
#define SURE_ORDERS	3
#define SURE_LINES	200000
#define SURE_MOST	20e6
/* Lines that are tried at once: at least; part of those that fit. */
#define BATCH_LEAST	16
#define PART		8
/* Looks at a batch until the rest of it comes in; orders in which none of it missed until then. */
#define TRIES		30
#define NEW_ORDERS	3
/* All others are tried until that brings less than one in so many lines. */
#define NEARLY		100
/* Where ways are known, so often at most, until so often as many lines are in as were before. */
#define ROUNDS		10
#define IDLE_ROUNDS	2
/* Lines a set that are tried until it is full. */
#define IDLE_A_SET	2
/* Lines of a ring that may be in the first level when others, elsewhere, begin to flush it. */
#define LAST		64
/* Lines that are missing to fill all sets, to be expected at most; steps of pools until then. */
#define LACKING		0.05
#define STEP		1.02
/* Times that the level above is to be seen without a line of a set, for that to be full. */
#define EMPTY_LEAST	5
/* Lines at another offset, over those that the level holds at one; misses of these, over them, if
 * they share sets, and if they do not. */
#define SOME		8
#define SHARES		0.3
#define SHARES_NOT	0.1

/*
 * Out with lines that miss until none does in so many orders: of each set that overflows as many as
 * do not fit, whichever they are. How many still miss, -errno.
 */
static ssize_t mend(struct brim *b, unsigned int orders)
{
	ssize_t missed;

	do {
		missed = brim_look_in(b, b->page, b->n, 0, orders);
	} while (missed > 0 && b->h->t->loads < b->h->until && brim_give_way(b));
	return missed;
}

/*
 * Try the first @batch lines that are not in. Whoever misses is of a set that overflows; those of
 * the batch that do are moved behind the others of it. Where only lines that are in go on to miss,
 * what is left of the batch comes in as well, and lines that miss go, whichever they are. How many
 * more are in, to *@fit. 0, -errno.
 */
static int try_batch(struct brim *b, size_t batch, size_t *fit)
{
	const size_t had = b->n;
	size_t now = batch, before;
	ssize_t missed = 1;

	for (int i = 0; i < TRIES && now && b->h->t->loads < b->h->until; i++) {
		before = now;
		missed = brim_look_for_any(b, b->page, b->n + now);
		if (missed <= 0)
			break;
		now = brim_part(b, b->page + b->n, now);
		for (int k = 0; k < NEW_ORDERS && now == before && missed > 0; k++) {
			missed = brim_look(b, b->page, b->n + now, 0);
			now = brim_part(b, b->page + b->n, now);
		}
		if (now == before)
			break;
	}
	b->n += missed < 0 ? 0 : now;
	if (missed > 0 && now)
		missed = mend(b, brim_orders_to_see(b, b->n));
	*fit = b->n > had ? b->n - had : 0;
	return missed < 0 ? (int)missed : 0;
}

/*
 * Whether so many lines without one that fits are enough of them: whole sets of @ways are full.
 * Where nothing flushes the level above, it may have lines of those that are not.
 */
static int is_done(const struct brim *b, unsigned int ways, size_t idle)
{
	return b->nflush && ways && b->n % ways == 0 && idle * ways > IDLE_A_SET * b->n;
}

/*
 * All others once, @batch at a time, or until sets of @ways, if these are known, are full. How many
 * more are in, to *@fit.
 */
static int try_all(struct brim *b, size_t batch, unsigned int ways, size_t *fit)
{
	const size_t began = b->n;
	size_t left, n, some, back, had, idle = 0;
	int err = 0;

	shuffle(&b->h->t->rng, b->page + b->n, b->npages - b->n);
	for (left = b->npages - b->n; left && !err && b->h->t->loads < b->h->until; left -= n) {
		if (is_done(b, ways, idle))
			break;
		n = MIN(MAX(batch, BATCH_LEAST), left);
		had = b->n;
		err = try_batch(b, n, &some);
		idle = some ? 0 : idle + n;
		/* What was tried is behind what was not. */
		back = had + n - b->n;
		memcpy(b->list, b->page + b->n, back * sizeof(*b->list));
		memmove(b->page + b->n, b->page + b->n + back,
			(b->npages - b->n - back) * sizeof(*b->page));
		memcpy(b->page + b->npages - back, b->list, back * sizeof(*b->list));
	}
	*fit = b->n > began ? b->n - began : 0;
	return err;
}

/* Out with what does not fit, and nothing is in if the hunt is at its end. */
static int make_sure(struct brim *b, unsigned int orders)
{
	ssize_t missed = b->n ? mend(b, orders) : 0;

	if (b->h->t->loads >= b->h->until)
		b->n = 0;
	return missed < 0 ? (int)missed : 0;
}

int brim_fill(struct brim *b, size_t begins)
{
	size_t fit;
	int err;

	b->n = 0;
	shuffle(&b->h->t->rng, b->page, b->npages);
	err = try_batch(b, MIN(begins, b->npages), &fit);
	for (fit = b->n; fit > b->n / NEARLY && !err;)
		err = try_all(b, b->n / PART, 0, &fit);
	return err ? err : make_sure(b, brim_orders(b, b->n, SURE_LINES, SURE_ORDERS));
}

/* Orders in which the level above is to be without the lines of any set often enough. */
static double empty_orders(const struct brim *b, unsigned int ways)
{
	const double n = (double)b->n, above = b->h->above, windows = n / above;

	return b->nflush ? SURE_ORDERS : ceil(EMPTY_LEAST / windows * exp(above * ways / n));
}

int brim_settle(struct brim *b, unsigned int ways)
{
	size_t fit, before, most = 0;
	double orders;
	int err = 0;

	for (int i = 0, idle = 0; i < ROUNDS && idle < IDLE_ROUNDS && b->n && !err; i++) {
		before = b->n;
		orders = empty_orders(b, ways);
		if (orders * (double)b->n > SURE_MOST) {
			b->n = 0;
			break;
		}
		/* Most sets get one line at a time or none: it fits, if any does. */
		err = try_all(b, b->n / ways / 2, ways, &fit);
		if (!err)
			err = make_sure(b, (unsigned int)orders);
		/* Where sets duel some that fit go in one round, and come in again in the next. */
		idle = b->n == before || b->n == most ? idle + (b->n % ways ? 1 : IDLE_ROUNDS) : 0;
		most = MAX(most, b->n);
	}
	return err;
}

int brim_overflows(struct brim *b, size_t n)
{
	ssize_t missed = brim_look_for_any(b, b->page, n);

	return missed < 0 ? (int)missed : missed > 0;
}

ssize_t brim_costs(struct brim *b, size_t n, double *cycles)
{
	const size_t all = n + b->nflush, some = n - MIN(n / 2, LAST);
	size_t found = 0;
	ssize_t missed = brim_look(b, b->page, n, 0);

	if (missed < 0)
		return missed;
	for (size_t turn = 0; turn < SINGLY_TURNS; turn++)
		for (size_t i = 0; i < some; i++)
			cycles[found++] = b->h->more[turn * all + i];
	sonde_stats_sort(cycles, found);
	return (ssize_t)found;
}

/* Lines that a pool of @n leaves its sets short of. */
static double lacking(const struct brim *b, unsigned int ways, double n)
{
	const double sets = ceil((double)b->n / ways);

	return urns_lacking(sets, ways, n / sets);
}

size_t brim_enough(const struct brim *b, unsigned int ways)
{
	double n = (double)b->n;

	while (lacking(b, ways, n) > LACKING)
		n *= STEP;
	return (size_t)n;
}

int brim_is_full(const struct brim *b, unsigned int ways)
{
	return b->n && ways && b->n % ways == 0 &&
	       lacking(b, ways, (double)b->npages) <= LACKING;
}

int brim_shares_sets(struct brim *b, uint32_t distance)
{
	const size_t n = MIN(b->n / SOME, b->npages - b->n);
	double misses = 0;
	int err;

	/* Of pages that are in: what prefetchers bring of them is there already. */
	shuffle(&b->h->t->rng, b->page, b->n);
	for (size_t i = 0; i < b->n + n; i++)
		b->places[i] = meter_place(b->page[i % b->n],
					   b->h->offset ^ (i < b->n ? 0 : distance));
	brim_put_flush(b, b->n + n);
	err = singly_misses(b->h, b->places, b->n + n + b->nflush, n + b->nflush, &misses);
	if (err || misses < SHARES_NOT * (double)n)
		return err;
	return misses > SHARES * (double)n ? 1 : -ERANGE;
}
