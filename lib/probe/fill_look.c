// SPDX-License-Identifier: LGPL-2.1-or-later
/* Which lines of a ring miss, load by load. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include <sonde/stats.h>
#include "fill.h"
#include "shuffle.h"

/* Windows of a load that are taken without pause. */
#define STRETCH		4096
/* Loads, in random order, that tell what most cost. */
#define SAMPLE		1024
/* Lines over those that the level above holds, so that it holds none. */
#define CROWD		5
/* The same, of those that come after all others. */
#define FLUSH		3
/* The same, of a second level, in half of those that overflow it: so most miss the first. */
#define FEW_OVER	2
/* Lines over those that were seen to overflow it, of which many miss and many do not. */
static const double overflows[] = { 1.3, 1, 1.6, 0.8, 2 };
/* The share of lines that cost less than most hits, and than most misses. */
#define HITS		0.2
#define MISSES		0.8
/* Offsets whose lines share sets of a mixed index. */
#define MIXED		4
/* Lines of a ring at least. */
#define FEWEST		64
/* A miss costs more than a hit by this share at least. */
#define FAR		0.4
/* Steps of the size, and the share of lines that miss where it begins to overflow. */
#define STEP		1.3
#define BEGINS		0.02
/* Turns in one order until its lines have settled; until strangers have gone. */
#define SETTLE		4
#define STIR		3
/* Orders without fewer misses, until no more settle; where many are looked at, too; without
 * a line that misses and did not before. */
#define ORDERS		5
#define ORDERS_FEW	2
#define ORDERS_MOST	40
#define ORDERS_IDLE	12
#define SETTLED		0.97
/* Turns at once, and how often, until no line misses that did not before. */
#define CHUNK		4
#define CHUNKS_MOST	16

static int get_room(struct fill *f)
{
	const size_t n = f->room;

	f->pages = malloc(n * sizeof(*f->pages));
	f->list = malloc(n * sizeof(*f->list));
	f->places = malloc(2 * n * sizeof(*f->places));
	f->missed = calloc(f->nnumbers, 1);
	f->cycles = malloc(2 * n * sizeof(*f->cycles));
	f->sorted = malloc(2 * n * sizeof(*f->sorted));
	f->windows = malloc(STRETCH * sizeof(*f->windows));
	return f->pages && f->list && f->places && f->missed && f->cycles && f->sorted &&
	       f->windows ? 0 : -ENOMEM;
}

int fill_open(struct fill *f, struct trial *t, size_t npages)
{
	int err = t->meter->ops->pages(t->meter, npages);

	f->t = t;
	f->npages = f->room = f->nnumbers = npages;
	if (!err)
		err = get_room(f);
	if (err)
		return err;
	for (size_t i = 0; i < npages; i++)
		f->pages[i] = (uint32_t)i;
	shuffle(&t->rng, f->pages, npages);
	return 0;
}

int fill_open_pages(struct fill *f, struct trial *t, const uint32_t *pages, size_t npages)
{
	int err;

	f->t = t;
	f->npages = f->room = npages;
	f->nnumbers = 0;
	for (size_t i = 0; i < npages; i++)
		f->nnumbers = MAX(f->nnumbers, (size_t)pages[i] + 1);
	err = get_room(f);
	if (!err)
		memcpy(f->pages, pages, npages * sizeof(*pages));
	return err;
}

void fill_close(struct fill *f)
{
	free(f->pages);
	free(f->list);
	free(f->places);
	free(f->missed);
	free(f->cycles);
	free(f->sorted);
	free(f->windows);
	*f = (struct fill){ .t = f->t, .is_mixed = f->is_mixed, .until = f->until };
}

static void add_place(struct fill *f, size_t *n, uint32_t page, uint32_t offset)
{
	f->places[(*n)++] = page * METER_CHUNK_PLACES + offset / METER_PLACE;
}

/*
 * Ballast: lines of other sets of the level at hand. Where the index of the level above is
 * mixed, it holds several times as many lines at one offset, but then other offsets share its
 * sets: so lines there, after all others, push those out, and an exclusive level has all of
 * them at once. Else they are in between where a ring is short of lines. Of pages that are not
 * in the ring as long as there are some, or prefetchers that learn pages would bring these.
 * How many.
 */
static size_t add_ballast(struct fill *f, size_t n, uint32_t other)
{
	const size_t most = MIN(f->is_mixed ? n + FLUSH * f->above : CROWD * f->above, 2 * f->room);
	const size_t begin = n;
	uint32_t offset;

	for (size_t i = 0; !f->is_second && n < most && i < f->room; i++) {
		offset = f->offset ^ (uint32_t)(1 + i % (MIXED - 1)) * METER_CHUNK / MIXED;
		if (offset != other)
			add_place(f, &n, f->pages[f->room - 1 - i], offset);
	}
	return n - begin;
}

/*
 * A ring of lines at @f's offset and of @nother pages at another, in random order. Whether
 * the ballast @is_last.
 */
static int ring_of(struct fill *f, const uint32_t *pages, size_t n, const uint32_t *others,
		   size_t nother, uint32_t other, int is_last)
{
	size_t all = 0, ballast;
	int err = trial_tick(f->t);

	for (size_t i = 0; i < n; i++)
		add_place(f, &all, pages[i], f->offset);
	for (size_t i = 0; i < nother; i++)
		add_place(f, &all, others[i], other);
	ballast = add_ballast(f, all, other);
	if (!err)
		err = trial_ring(f->t, f->places, all + ballast, is_last ? ballast : 0);
	return err;
}

static int ring(struct fill *f, const uint32_t *pages, size_t n, const uint32_t *others,
		size_t nother, uint32_t other)
{
	return ring_of(f, pages, n, others, nother, other, f->is_mixed);
}

/*
 * Where all of a set leave the level above one after another, a tree may let go of one of
 * ours each time, and never of a stranger: so some turns with ballast in between.
 */
static int stir(struct fill *f, const uint32_t *pages, size_t n)
{
	int err = ring_of(f, pages, n, NULL, 0, f->offset, 0);

	if (!err)
		trial_walk(f->t, STIR);
	return err;
}

int fill_walk(struct fill *f, const uint32_t *pages, size_t n)
{
	int err = ring(f, pages, n, NULL, 0, f->offset);

	if (!err)
		trial_walk(f->t, 1);
	return err;
}

static double quantile_of(struct fill *f, size_t n, double p)
{
	memcpy(f->sorted, f->cycles, n * sizeof(*f->sorted));
	sonde_stats_sort(f->sorted, n);
	return sonde_stats_quantile(f->sorted, n, p);
}

/*
 * One turn of the ring from its begin, load by load. What is a miss is told by those
 * that hit: translation costs all of them about the same, but not in every ring.
 */
static size_t count_misses(struct fill *f)
{
	const size_t n = f->t->nring;
	double limit, penalty = f->miss - f->hit;
	size_t missing = 0;
	uint32_t place;

	trial_loads(f->t, n, f->windows, STRETCH, f->cycles);
	limit = fmin(quantile_of(f, MIN(n, SAMPLE), 0.25) + penalty / 2,
		     f->miss - penalty / 4);
	for (size_t i = 0; i < n; i++) {
		place = f->t->ring[i];
		if (f->cycles[i] < limit || place % METER_CHUNK_PLACES != f->offset / METER_PLACE)
			continue;
		f->missed[place / METER_CHUNK_PLACES] = 1;
		missing++;
	}
	return missing;
}

int fill_settle(struct fill *f, const uint32_t *pages, size_t n, int idle, size_t *missing)
{
	size_t least = SIZE_MAX;
	int err = 0, since = 0;

	*missing = 0;
	for (int i = 0; i < ORDERS_MOST && since < idle; i++) {
		err = i && f->is_mixed ? stir(f, pages, n) : 0;
		if (!err)
			err = ring(f, pages, n, NULL, 0, f->offset);
		if (err)
			return err;
		trial_walk(f->t, SETTLE);
		memset(f->missed, 0, f->nnumbers);
		*missing = count_misses(f);
		if (!*missing)
			break;
		/* Some miss in every other turn. */
		*missing += count_misses(f);
		since = (double)*missing < SETTLED * (double)least ? 0 : since + 1;
		least = MIN(least, *missing);
	}
	return err;
}

/* How many of @pages missed. */
static size_t count_missed(const struct fill *f, const uint32_t *pages, size_t n)
{
	size_t missed = 0;

	for (size_t i = 0; i < n; i++)
		missed += f->missed[pages[i]];
	return missed;
}

void fill_go_on(struct fill *f, const uint32_t *pages, size_t n)
{
	size_t seen = count_missed(f, pages, n), before = n + 1;

	for (int i = 0; i < CHUNKS_MOST && seen < n && seen != before; i++) {
		before = seen;
		for (int j = 0; j < CHUNK; j++)
			count_misses(f);
		seen = count_missed(f, pages, n);
	}
}

int fill_look(struct fill *f, const uint32_t *pages, size_t n)
{
	size_t missing;
	int err = fill_settle(f, pages, n, ORDERS, &missing);

	if (err || !missing)
		return err;
	fill_go_on(f, pages, n);
	return 1;
}

int fill_look_on(struct fill *f, const uint32_t *pages, size_t n)
{
	size_t seen = count_missed(f, pages, n), before;
	int err = 0;

	for (int idle = 0; idle < ORDERS_IDLE && !err; ) {
		before = seen;
		err = ring(f, pages, n, NULL, 0, f->offset);
		if (err)
			break;
		trial_walk(f->t, 1);
		count_misses(f);
		seen = count_missed(f, pages, n);
		idle = seen > before ? 0 : idle + 1;
	}
	return err;
}

int fill_look_beside(struct fill *f, const uint32_t *pages, size_t n, uint32_t offset,
		     size_t *missing)
{
	int err = 0;

	*missing = 1;
	for (int i = 0; i < ORDERS_FEW && *missing && !err; i++) {
		err = ring(f, f->pages, f->n, pages, n, offset);
		if (err)
			break;
		trial_walk(f->t, SETTLE);
		*missing = count_misses(f);
	}
	return err;
}

/* What lines of the first @n pages cost, in a quantile. */
static int cost_of(struct fill *f, size_t n, double p, double *cycles)
{
	int err = ring(f, f->pages, n, NULL, 0, f->offset);

	if (err)
		return err;
	trial_walk(f->t, SETTLE);
	trial_loads(f->t, f->t->nring, f->windows, STRETCH, f->cycles);
	*cycles = quantile_of(f, f->t->nring, p);
	return 0;
}

/* From @n lines on, which do not overflow the level. */
static int find_begin(struct fill *f, size_t n, size_t *begins)
{
	size_t missing = 0;
	int err;

	for (*begins = n / 2; n < f->npages; n = (size_t)(STEP * (double)n)) {
		err = fill_settle(f, f->pages, n, ORDERS_FEW, &missing);
		if (err)
			return err;
		if ((double)missing > BEGINS * (double)n)
			return 1;
		*begins = n;
	}
	return 0;
}

int fill_calibrate(struct fill *f, size_t above, size_t *begins)
{
	/* A mixed index spreads lines at one offset over the sets of all that share them. */
	size_t n = MAX(f->is_mixed ? above / MIXED : above, FEWEST);
	int err;

	f->above = above;
	if (n >= f->npages)
		return 0;
	err = cost_of(f, n, 0.5, &f->hit);
	if (!err)
		err = cost_of(f, f->npages, 0.75, &f->miss);
	return err || f->miss < (1 + FAR) * f->hit ? err : find_begin(f, n, begins);
}

/*
 * What lines cost in a quantile that hit, and in one that miss, of one ring: translation is
 * in both.
 */
static int cost_of_both(struct fill *f, size_t n)
{
	int err = cost_of(f, n, HITS, &f->hit);

	if (!err)
		f->miss = quantile_of(f, f->t->nring, MISSES);
	return err;
}

/* Of more lines all may miss, and the next level too; of fewer none. */
int fill_calibrate_second(struct fill *f, size_t above, size_t rise, size_t *begins)
{
	const size_t n = rise / 2;
	int err = 0;

	f->above = above;
	f->is_second = 1;
	if (n < FEW_OVER * above)
		return 0;
	for (size_t i = 0; i < sizeof(overflows) / sizeof(*overflows) && !err; i++) {
		err = cost_of_both(f, MIN((size_t)(overflows[i] * (double)rise), f->npages));
		if (!err && f->miss >= (1 + FAR) * f->hit)
			return find_begin(f, n, begins);
	}
	return err;
}
