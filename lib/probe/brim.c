// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include <sonde/stats.h>
#include "brim.h"
#include "shuffle.h"
#include "urns.h"

/* Lines of all orders of a ring, and orders at least: an exclusive level is only full while the
 * level above holds none of a set's lines. */
#define ORDER_LINES	6000
#define ORDERS_LEAST	2
/* Lines that are tried at once: at least; parts of those that fit, at first and then. */
#define BATCH_LEAST	16
#define FIRST_PART	8
#define LAST_PART	32
/*
 * Looks at a batch until it is given up, and orders until one of its lines misses; the same where
 * others give way.
 */
#define TRIES		30
#define NEW_ORDERS	40
#define TRIES_GIVING	100
#define NEW_ORDERS_GIVING 3
/* Of so many lines that are in and miss, one gives way. */
#define OUT_OF		64
/* All others are tried so often at most, until so often none fitted. */
#define ROUNDS		10
#define IDLE_ROUNDS	2
/* A round that brought less than one in so many lines; lines a set that are tried until it is full. */
#define NEARLY		100
#define IDLE_A_SET	2
/* Orders in which nobody missed that had not before, until it is asked whether these are all. */
#define SHOW_IDLE	3
#define SHOW_TRIES	40
/* Sets that are looked at. */
#define SETS		3
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

int brim_open(struct brim *b, struct hunt *h, size_t nflush, uint32_t distance)
{
	uint32_t last = 0;

	*b = (struct brim){
		.h = h, .npages = h->npages - nflush, .flush = h->pages + h->npages - nflush,
		.nflush = nflush, .distance = distance,
	};
	for (size_t i = 0; i < h->npages; i++)
		last = MAX(last, h->pages[i]);
	b->page = malloc(h->npages * sizeof(*b->page));
	b->list = malloc(h->npages * sizeof(*b->list));
	b->places = malloc(h->npages * sizeof(*b->places));
	b->missed = calloc((size_t)last + 1, 1);
	if (!b->page || !b->list || !b->places || !b->missed) {
		brim_close(b);
		return -ENOMEM;
	}
	memcpy(b->page, h->pages, h->npages * sizeof(*b->page));
	return 0;
}

void brim_close(struct brim *b)
{
	free(b->page);
	free(b->list);
	free(b->places);
	free(b->missed);
	*b = (struct brim){ .h = b->h };
}

static uint32_t place_of(const struct brim *b, uint32_t page, uint32_t distance)
{
	return page * METER_CHUNK_PLACES + (b->h->offset ^ distance) / METER_PLACE;
}

/* Behind the @n places of a ring. */
static void put_flush(struct brim *b, size_t n)
{
	for (size_t i = 0; i < b->nflush; i++)
		b->places[n + i] = place_of(b, b->flush[i], b->distance);
}

/* How many of @n @pages missed in one order of a ring of them, marked in b->missed. -errno. */
static ssize_t look(struct brim *b, const uint32_t *pages, size_t n)
{
	double misses;
	ssize_t missed = 0;
	int err;

	b->looks++;
	for (size_t i = 0; i < n; i++)
		b->places[i] = place_of(b, pages[i], 0);
	put_flush(b, n);
	err = singly_look(b->h, b->places, n + b->nflush, b->nflush, b->missed, &misses);
	for (size_t i = 0; i < n && !err; i++)
		missed += b->missed[pages[i]];
	return err ? err : missed;
}

static void forget(struct brim *b, const uint32_t *pages, size_t n)
{
	for (size_t i = 0; i < n; i++)
		b->missed[pages[i]] = 0;
}

/* In as many orders as it takes to see any that misses. */
static ssize_t look_for_any(struct brim *b, const uint32_t *pages, size_t n)
{
	const unsigned int all = b->nflush ? 0 : ORDER_LINES / (unsigned int)n;
	const unsigned int orders = MAX(all, ORDERS_LEAST);
	ssize_t missed = 0;

	forget(b, pages, n);
	for (unsigned int i = 0; i < orders && !missed; i++)
		missed = look(b, pages, n);
	return missed;
}

/* In more orders, until in some none missed that had not before. How many have. */
static ssize_t look_on(struct brim *b, const uint32_t *pages, size_t n)
{
	ssize_t missed = 0, before;

	for (int idle = 0; idle < SHOW_IDLE && missed >= 0;) {
		before = missed;
		missed = look(b, pages, n);
		idle = missed > before ? 0 : idle + 1;
	}
	return missed;
}

/* Those of @n pages that missed to the end. How many did not. */
static size_t part(const struct brim *b, uint32_t *pages, size_t n)
{
	size_t kept = 0;
	uint32_t page;

	for (size_t i = 0; i < n; i++) {
		page = pages[i];
		if (b->missed[page])
			continue;
		pages[i] = pages[kept];
		pages[kept++] = page;
	}
	return kept;
}

/*
 * Some of the lines that are in and missed go behind the @now that are tried, so many that hardly
 * two of them are of one set. How many.
 */
static size_t give_way(struct brim *b, size_t now)
{
	size_t missed = 0, gone = 0, out;
	uint32_t page;

	shuffle(&b->h->t->rng, b->page, b->n);
	for (size_t i = 0; i < b->n; i++)
		missed += b->missed[b->page[i]];
	out = (missed + OUT_OF - 1) / OUT_OF;
	for (size_t i = b->n; i-- > 0 && gone < out;) {
		page = b->page[i];
		if (!b->missed[page])
			continue;
		b->page[i] = b->page[--b->n];
		b->page[b->n] = b->page[b->n + now];
		b->page[b->n + now] = page;
		gone++;
	}
	return gone;
}

/*
 * Try the first @batch lines that are not in. Whoever misses is of a set that overflows; in random
 * orders all of its lines do sooner or later, so those of the batch as well: these do not fit, and
 * are moved behind the others of it. Where always others miss, some of those give way. How many
 * more are in, to *@fit. 0, -errno.
 */
static int try_batch(struct brim *b, size_t batch, size_t *fit)
{
	const int orders = b->gives_way ? NEW_ORDERS_GIVING : NEW_ORDERS;
	const int tries = b->gives_way ? TRIES_GIVING : TRIES;
	const size_t had = b->n;
	size_t now = batch, before;
	ssize_t missed = 1;

	for (int i = 0; i < tries && now && b->h->t->loads < b->h->until; i++) {
		before = now;
		missed = look_for_any(b, b->page, b->n + now);
		if (missed <= 0)
			break;
		now = part(b, b->page + b->n, now);
		for (int k = 0; k < orders && now == before && missed > 0; k++) {
			missed = look(b, b->page, b->n + now);
			now = part(b, b->page + b->n, now);
		}
		if (now == before && !(b->gives_way && give_way(b, now)))
			break;
	}
	b->n += missed ? 0 : now;
	*fit = b->n > had ? b->n - had : 0;
	b->looks = *fit ? 0 : b->looks;
	return missed < 0 ? (int)missed : 0;
}

/* Whether so many lines without one that fits are enough of them: whole sets of @ways are full. */
static int is_done(const struct brim *b, unsigned int ways, size_t idle)
{
	return b->gives_way && ways && b->n % ways == 0 && idle * ways > IDLE_A_SET * b->n;
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

/* Until no more fit. */
static int try_again(struct brim *b, size_t batch, unsigned int ways, int idle_rounds)
{
	size_t fit;
	int err = 0;

	for (int i = 0, idle = 0; i < ROUNDS && idle < idle_rounds && !err; i++) {
		err = try_all(b, batch, ways, &fit);
		idle = fit ? 0 : idle + 1;
	}
	if (b->h->t->loads >= b->h->until)
		b->n = 0;
	return err;
}

int brim_fill(struct brim *b, size_t begins)
{
	size_t fit, least;
	int err;

	b->n = 0;
	shuffle(&b->h->t->rng, b->page, b->npages);
	err = try_batch(b, MIN(begins, b->npages), &fit);
	for (size_t part = FIRST_PART; part <= LAST_PART && !err; part *= 2) {
		err = try_all(b, b->n / part, 0, &fit);
		/* Where others give way, hardly any set is left short of lines that there are. */
		least = b->gives_way ? b->n / NEARLY : 0;
		if (fit < least)
			return err;
	}
	return err ? err : try_again(b, b->n / LAST_PART, 0, 1);
}

int brim_settle(struct brim *b, unsigned int ways)
{
	/* Most sets get one line at a time or none: it fits, if any does. */
	return try_again(b, b->n / ways / 2, ways, b->gives_way ? 1 : IDLE_ROUNDS);
}

/*
 * Whether the set has no more lines than @c: half of all others do not overflow the level
 * without them, so both halves only do with @c if @c does by itself.
 */
static int is_complete(struct brim *b, const struct class *c)
{
	size_t n, half = b->n / 2;
	ssize_t over = 1;

	shuffle(&b->h->t->rng, b->page, b->n);
	for (int i = 0; i < 2 && over > 0; i++) {
		memcpy(b->list, c->page, c->n * sizeof(*b->list));
		n = c->n;
		for (size_t j = i ? half : 0; j < (i ? b->n : half); j++)
			if (!hunt_is_among(c->page, c->n, b->page[j]))
				b->list[n++] = b->page[j];
		over = look_for_any(b, b->list, n);
		forget(b, b->list, n);
	}
	/* As they were. */
	forget(b, b->page, b->n);
	for (size_t i = 0; i < c->n; i++)
		b->missed[c->page[i]] = 1;
	return over < 0 ? (int)over : over > 0;
}

int brim_overflows(struct brim *b, size_t n)
{
	ssize_t missed = look_for_any(b, b->page, n);

	return missed < 0 ? (int)missed : missed > 0;
}

ssize_t brim_costs(struct brim *b, size_t n, double *cycles)
{
	const size_t all = n + b->nflush, some = n - MIN(n / 2, LAST);
	size_t found = 0;
	ssize_t missed = look(b, b->page, n);

	if (missed < 0)
		return missed;
	for (size_t turn = 0; turn < SINGLY_TURNS; turn++)
		for (size_t i = 0; i < some; i++)
			cycles[found++] = b->h->more[turn * all + i];
	sonde_stats_sort(cycles, found);
	return (ssize_t)found;
}

/*
 * The set in which the @i-th page, which did not fit, does not: lines of it, ways and one,
 * of which that is the first. 1, 0 if it cannot be told, -errno.
 */
static int find_class(struct brim *b, size_t i, struct class *c)
{
	const uint32_t page = b->page[i];
	ssize_t missed;
	int complete = 0;

	forget(b, b->page, b->n);
	for (int try = 0; try < SHOW_TRIES && !complete; try++) {
		memcpy(b->list, b->page, b->n * sizeof(*b->list));
		b->list[b->n] = page;
		missed = look_on(b, b->list, b->n + 1);
		if (missed <= 0 || missed >= HUNT_WAYS)
			return MIN((int)missed, 0);
		*c = (struct class){ .page = { page }, .n = 1 };
		for (size_t k = 0; k < b->n; k++)
			if (b->missed[b->page[k]])
				c->page[c->n++] = b->page[k];
		complete = is_complete(b, c);
	}
	return complete;
}

int brim_ways(struct brim *b, unsigned int *ways, struct class *c)
{
	int told;

	*ways = 0;
	for (size_t i = 0; i < SETS; i++) {
		if (b->n + i >= b->npages)
			return 0;
		told = find_class(b, b->n + i, c);
		/* Two lines alone: something else overflows. */
		if (told <= 0 || c->n < 3 || (*ways && c->n != *ways + 1))
			return MIN(told, 0);
		*ways = (unsigned int)c->n - 1;
	}
	return 1;
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

int brim_is_full(const struct brim *b, unsigned int ways, double above)
{
	const double sets = (double)b->n / ways, windows = (double)b->n / above * b->looks;
	const int was_empty = b->nflush || windows * exp(-above / sets) >= EMPTY_LEAST;

	return b->n && ways && b->n % ways == 0 && was_empty &&
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
		b->places[i] = place_of(b, b->page[i % b->n], i < b->n ? 0 : distance);
	put_flush(b, b->n + n);
	err = singly_misses(b->h, b->places, b->n + n + b->nflush, n + b->nflush, &misses);
	if (err || misses < SHARES_NOT * (double)n)
		return err;
	return misses > SHARES * (double)n ? 1 : -ERANGE;
}
