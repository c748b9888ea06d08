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

/*
 * Lines of all orders of a ring, and orders at least: a set of an exclusive level overflows only
 * while the level above holds none of its lines.
 */
#define ORDER_LINES	6000
#define ORDERS_LEAST	2
/* The same at last, where ways are not known yet; where they are, more than anybody waits for. */
#define SURE_LINES	200000
#define SURE_MOST	20e6
/* Lines that are tried at once: at least; part of those that fit. */
#define BATCH_LEAST	16
#define PART		8
/* Looks at a batch until the rest of it comes in; orders in which none of it missed until then. */
#define TRIES		30
#define NEW_ORDERS	3
/* Of so many lines that are in and miss, one gives way. */
#define OUT_OF		64
/* All others are tried until that brings less than one in so many lines. */
#define NEARLY		100
/* Where ways are known, so often at most, until so often as many lines are in as were before. */
#define ROUNDS		10
#define IDLE_ROUNDS	2
/* Lines a set that are tried until it is full. */
#define IDLE_A_SET	2
/*
 * Of a set's lines so many times each is to have missed since another did first; orders without
 * any until it cannot be told, lines of these where nothing flushes the level above.
 */
#define SHOW_AGAIN	5
#define SHOW_IDLE	3
#define SHOW_LINES	200000
#define SHOW_TRIES	10
/* Sets that are looked at; lines that are tried for them. */
#define SETS		3
#define SETS_TRIED	8
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

/*
 * How many of @n @pages missed in one order of a ring of them, marked in b->missed; the last
 * @together in a row, if nothing else flushes the level above, so that the others do. -errno.
 */
static ssize_t look(struct brim *b, const uint32_t *pages, size_t n, size_t together)
{
	double misses;
	ssize_t missed = 0;
	int err;

	for (size_t i = 0; i < n; i++)
		b->places[i] = place_of(b, pages[i], 0);
	put_flush(b, n);
	err = singly_look(b->h, b->places, n + b->nflush, b->nflush ? b->nflush : together,
			  b->missed, &misses);
	for (size_t i = 0; i < n && !err; i++)
		missed += b->missed[pages[i]];
	return err ? err : missed;
}

static void forget(struct brim *b, const uint32_t *pages, size_t n)
{
	for (size_t i = 0; i < n; i++)
		b->missed[pages[i]] = 0;
}

/* Orders with so many lines together; few will do where nothing stays in the level above. */
static unsigned int orders_of(const struct brim *b, size_t n, size_t lines, unsigned int least)
{
	return b->nflush || !n ? least : MAX((unsigned int)(lines / n), least);
}

/* In so many orders until any misses. */
static ssize_t look_in(struct brim *b, const uint32_t *pages, size_t n, size_t together,
		       unsigned int orders)
{
	ssize_t missed = 0;

	forget(b, pages, n);
	for (unsigned int i = 0; i < orders && !missed; i++)
		missed = look(b, pages, n, together);
	return missed;
}

/* In as many orders as it takes to see any that misses. */
static ssize_t look_for_any(struct brim *b, const uint32_t *pages, size_t n)
{
	return look_in(b, pages, n, 0, orders_of(b, n, ORDER_LINES, ORDERS_LEAST));
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

/* Some of the lines that are in and missed go, so few that hardly two are of one set. How many. */
static size_t give_way(struct brim *b)
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
		b->page[b->n] = page;
		gone++;
	}
	return gone;
}

/*
 * Out with lines that miss until none does in so many orders: of each set that overflows as many as
 * do not fit, whichever they are. How many still miss, -errno.
 */
static ssize_t mend(struct brim *b, unsigned int orders)
{
	ssize_t missed;

	do {
		missed = look_in(b, b->page, b->n, 0, orders);
	} while (missed > 0 && b->h->t->loads < b->h->until && give_way(b));
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
		missed = look_for_any(b, b->page, b->n + now);
		if (missed <= 0)
			break;
		now = part(b, b->page + b->n, now);
		for (int k = 0; k < NEW_ORDERS && now == before && missed > 0; k++) {
			missed = look(b, b->page, b->n + now, 0);
			now = part(b, b->page + b->n, now);
		}
		if (now == before)
			break;
	}
	b->n += missed < 0 ? 0 : now;
	if (missed > 0 && now)
		missed = mend(b, orders_of(b, b->n, ORDER_LINES, ORDERS_LEAST));
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
	return err ? err : make_sure(b, orders_of(b, b->n, SURE_LINES, SHOW_IDLE));
}

/* Orders in which the level above is to be without the lines of any set often enough. */
static double empty_orders(const struct brim *b, unsigned int ways)
{
	const double n = (double)b->n, above = b->h->above, windows = n / above;

	return b->nflush ? SHOW_IDLE : ceil(EMPTY_LEAST / windows * exp(above * ways / n));
}

int brim_settle(struct brim *b, unsigned int ways)
{
	size_t fit, before;
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
		idle = b->n == before ? idle + (b->n % ways ? 1 : IDLE_ROUNDS) : 0;
	}
	return err;
}

/* Lines that are in, but for those from the @from-th to the @to-th, and behind them the class, to
 * b->list. */
static size_t put_behind(struct brim *b, size_t from, size_t to, const struct class *c)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++)
		if ((i < from || i >= to) && !hunt_is_among(c->page, c->n, b->page[i]))
			b->list[n++] = b->page[i];
	memcpy(b->list + n, c->page, c->n * sizeof(*b->list));
	return n + c->n;
}

/* Whether they overflow the level then. 1, 0, -errno. */
static int overflows_without(struct brim *b, size_t from, size_t to, const struct class *c)
{
	const size_t n = put_behind(b, from, to, c);
	ssize_t missed = look_in(b, b->list, n, c->n,
				 orders_of(b, n, ORDER_LINES, ORDERS_LEAST));

	return missed < 0 ? (int)missed : missed > 0;
}

/*
 * Whether the set has no more lines than @c: half of all others do not overflow the level
 * without them, so both halves only do with @c if @c does by itself. 1, 0 if they do not without
 * those from the @from-th to the @to-th, -errno.
 */
static int is_complete(struct brim *b, const struct class *c, size_t *from, size_t *to)
{
	int over;

	shuffle(&b->h->t->rng, b->page, b->n);
	*from = 0;
	*to = b->n / 2;
	over = overflows_without(b, *from, *to, c);
	if (over <= 0)
		return over;
	*from = *to;
	*to = b->n;
	return overflows_without(b, *from, *to, c);
}

/* One of those, without which nothing overflows the level, is of the set: add it. 0, -errno. */
static int add_missing(struct brim *b, struct class *c, size_t from, size_t to)
{
	size_t mid;
	int over = 0;

	while (to - from > 1 && over >= 0) {
		mid = (from + to) / 2;
		over = overflows_without(b, from, mid, c);
		if (over > 0)
			from = mid;
		else
			to = mid;
	}
	/* With it something does. */
	if (over >= 0)
		over = overflows_without(b, 0, 0, c);
	if (over > 0 && c->n < HUNT_WAYS && !hunt_is_among(c->page, c->n, b->page[from]))
		c->page[c->n++] = b->page[from];
	return MIN(over, 0);
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
	ssize_t missed = look(b, b->page, n, 0);

	if (missed < 0)
		return missed;
	for (size_t turn = 0; turn < SINGLY_TURNS; turn++)
		for (size_t i = 0; i < some; i++)
			cycles[found++] = b->h->more[turn * all + i];
	sonde_stats_sort(cycles, found);
	return (ssize_t)found;
}

/* Those of @maybe, and behind them @c. */
static struct class both(const struct class *maybe, const struct class *c)
{
	struct class all = { .n = 0 };

	for (size_t i = 0; i < maybe->n && all.n + c->n < HUNT_WAYS; i++)
		if (!hunt_is_among(c->page, c->n, maybe->page[i]))
			all.page[all.n++] = maybe->page[i];
	memcpy(all.page + all.n, c->page, c->n * sizeof(*all.page));
	all.n += c->n;
	return all;
}

/*
 * Those that miss with @c, lines of a set one of which does not fit, are of it, too: until nobody
 * misses who had not before. Those of @maybe, most of which are, come in a row with them. 1, 0 if
 * none does, -errno.
 */
static int gather(struct brim *b, struct class *c, const struct class *maybe)
{
	const struct class all = both(maybe, c);
	const size_t n = put_behind(b, 0, 0, &all);
	const unsigned int most = orders_of(b, n, SHOW_LINES, SHOW_IDLE);
	size_t found = c->n, again = 0, row = all.n, before;
	unsigned int idle = 0;
	ssize_t missed;

	while (idle < most && again < SHOW_AGAIN * found && found <= HUNT_WAYS &&
	       b->h->t->loads < b->h->until) {
		forget(b, b->list, n);
		missed = look(b, b->list, n, row);
		if (missed < 0)
			return (int)missed;
		before = found;
		found = n - part(b, b->list, n - found);
		again = found > before ? 0 : again + (size_t)missed;
		idle = missed ? 0 : idle + 1;
		for (row = found; row < n; row++)
			if (!hunt_is_among(maybe->page, maybe->n, b->list[n - row - 1]))
				break;
	}
	if (found < 2)
		return 0;
	c->n = MIN(found, HUNT_WAYS);
	memcpy(c->page, b->list + n - c->n, c->n * sizeof(*c->page));
	return 1;
}

/* Only those that are in. */
static struct class those_in(const struct brim *b, const struct class *c)
{
	struct class in = { .n = 0 };

	for (size_t i = 0; i < c->n; i++)
		if (hunt_is_among(b->page, b->n, c->page[i]))
			in.page[in.n++] = c->page[i];
	return in;
}

/*
 * A set that holds a line too many is seen to where its lines come in a row, if not elsewhere:
 * some that miss go, until none does without those of @c that are not in. Whether any went, -errno.
 */
static int trim(struct brim *b, const struct class *c)
{
	struct class in;
	int over, gone = 0;

	do {
		in = those_in(b, c);
		over = overflows_without(b, 0, 0, &in);
		if (over > 0)
			gone += give_way(b) > 0;
	} while (over > 0 && b->h->t->loads < b->h->until);
	return over < 0 ? over : gone > 0;
}

/* Others of the pool take the places of those tried, up to the @i-th, and of what holds them. */
static int wash(struct brim *b, size_t i)
{
	return hunt_wash(b->h, b->page, i + 1, b->n);
}

/*
 * The set in which the @i-th page, which did not fit, does not: lines of it, ways and one. A tree
 * may keep some in one half while those of the other miss, so others of the pool take all places
 * in between. 1, 0 if it cannot be told, -errno.
 */
static int find_class(struct brim *b, size_t i, struct class *c)
{
	const struct class none = { .n = 0 };
	size_t from, to;
	int told, complete = 0;

	*c = (struct class){ .page = { b->page[i] }, .n = 1 };
	for (int try = 0; try < SHOW_TRIES && !complete; try++) {
		told = try ? wash(b, i) : 0;
		if (!told)
			told = gather(b, c, &none);
		if (told <= 0)
			return told;
		if (c->n == HUNT_WAYS)
			break;
		complete = is_complete(b, c, &from, &to);
	}
	return complete;
}

/*
 * The same where that does not tell it, since other sets hold lines too many, or one of its lines
 * never misses. @c: lines most of which are of it.
 */
static int find_strictly(struct brim *b, size_t i, struct class *c)
{
	const struct class first = { .page = { b->page[i] }, .n = 1 };
	struct class maybe = those_in(b, c);
	size_t from, to;
	int told, complete = 0;

	*c = first;
	for (int try = 0; try < SHOW_TRIES && !complete && b->h->t->loads < b->h->until;) {
		told = wash(b, i);
		if (!told)
			told = gather(b, c, &maybe);
		if (told <= 0)
			return told;
		told = trim(b, c);
		if (told < 0 || (!told && c->n == HUNT_WAYS))
			return told;
		if (told) {
			maybe = those_in(b, c);
			*c = first;
			continue;
		}
		complete = is_complete(b, c, &from, &to);
		if (!complete)
			complete = add_missing(b, c, from, to);
		try++;
	}
	return complete;
}

int brim_ways(struct brim *b, unsigned int *ways, struct class *c)
{
	const size_t first = b->n;
	unsigned int told = 0;
	int seen = 0;

	*ways = 0;
	for (size_t i = 0; i < SETS_TRIED && told < SETS && first + i < b->npages; i++) {
		seen = find_class(b, first + i, c);
		if (!seen && c->n > 1)
			seen = find_strictly(b, first + i, c);
		if (seen < 0)
			return seen;
		/* Two lines alone: something else overflows. */
		if (seen && (c->n < 3 || (told && c->n != *ways + 1)))
			return 0;
		told += (unsigned int)seen;
		*ways = seen ? (unsigned int)c->n - 1 : *ways;
	}
	return told == SETS;
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
		b->places[i] = place_of(b, b->page[i % b->n], i < b->n ? 0 : distance);
	put_flush(b, b->n + n);
	err = singly_misses(b->h, b->places, b->n + n + b->nflush, n + b->nflush, &misses);
	if (err || misses < SHARES_NOT * (double)n)
		return err;
	return misses > SHARES * (double)n ? 1 : -ERANGE;
}
