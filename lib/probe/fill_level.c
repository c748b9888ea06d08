// SPDX-License-Identifier: LGPL-2.1-or-later
/* The plan: pools until one is large enough, two offsets, ways of some sets of each. */
#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "fill.h"
#include "urns.h"

/* Pages of the first pool. */
#define POOL_PAGES	12288
/* Pages that are tried, over those at which the level begins to overflow, and the pool. */
#define ROOM		5
#define ROOM_MOST	12
#define GROWS		4
/* Lines that are missing to fill all sets, to be expected at most. */
#define LACKING		0.1
/* The offsets, which are no pair, and sets that are looked at for each. */
#define OFFSETS		2
#define OFFSET_STEP	1280
#define SETS		2
/* Loads after which it is given up: half a minute of them; of a second level, some seconds. */
#define PATIENCE	600000000
#define PATIENCE_SECOND	100000000
/* Lines a set that are tried once more when all seem to be full. */
#define CONFIRM		6
/* All lines are tried so often at most. */
#define ROUNDS		5

/* Of some sets, by lines that did not fit: to *@ways if they agree. 1, 0, -errno. */
static int find_ways(struct fill *f, unsigned int *ways)
{
	unsigned int first = 0;
	struct class *s = &f->set;
	int err;

	for (size_t i = 0; i < SETS; i++) {
		if (f->n + i >= f->npages)
			return 0;
		err = fill_find_set(f, f->pages[f->n + i], s);
		if (err <= 0)
			return err;
		/* Two lines alone: something else overflows. */
		if (s->n < 3 || (first && first != s->n - 1))
			return 0;
		first = (unsigned int)s->n - 1;
	}
	*ways = first;
	return 1;
}

/*
 * Second levels have a power of two. A tree that keeps a stranger in a set has one line less of
 * it, and then there seem to be fewer.
 */
static int has_sets(const struct fill *f, size_t sets)
{
	return !f->is_second || !(sets & (sets - 1));
}

/* Whether it holds whole sets, as many as at the offset before. */
static int is_full(const struct fill *f, const struct filled *out)
{
	return out->ways && f->n % out->ways == 0 && has_sets(f, f->n / out->ways) &&
	       (!out->lines || out->lines == f->n);
}

/* More of the pool where chance leaves some set without lines. Whether it is enough. */
static int have_enough(struct fill *f, unsigned int ways)
{
	double sets = (double)f->n / ways;

	if (urns_lacking(sets, ways, (double)f->npages / sets) <= LACKING)
		return 1;
	f->npages = MIN(f->room, f->npages + f->npages / 2);
	return 0;
}

/* At one offset: once more, until it is full. 1, 0, -errno. */
static int fill_at(struct fill *f, size_t begins, struct filled *out)
{
	size_t fit = 1, most;
	unsigned int ways = 0;
	int err = fill_grow(f, begins), enough = 0;

	for (int i = 0; i < ROUNDS && !err; i++) {
		/* Where a set lacks a line, one in as many as there are sets fits. */
		most = ways && f->n % ways == 0 ? CONFIRM * f->n / ways : SIZE_MAX;
		if (i)
			err = fill_again(f, most, &fit);
		if (!err && !ways)
			err = find_ways(f, &ways);
		if (err < 0 || (out->ways && ways && ways != out->ways))
			return err < 0 ? err : 0;
		err = 0;
		if (!ways)
			continue;
		out->ways = ways;
		enough = have_enough(f, ways);
		/* By chance whole sets too; twice by chance the same number of them is less likely. */
		if (enough && ((out->lines && is_full(f, out)) || !fit))
			break;
	}
	if (err || !enough || !is_full(f, out))
		return err;
	out->lines = f->n;
	return 1;
}

/*
 * At how many offsets lines share the sets. What is near may be the same line, or come
 * with it, unless all others share them too. 1, 0 if it could not be told, -errno.
 */
static int find_fold(struct fill *f, struct filled *out)
{
	unsigned int bits = 0;
	int shares, is_near = 1;

	for (uint32_t d = METER_LINE; d < METER_CHUNK; d *= 2) {
		shares = fill_shares_sets(f, d);
		if (shares < 0)
			return shares == -ERANGE ? 0 : shares;
		is_near &= shares;
		out->near += (unsigned int)is_near;
		bits += (unsigned int)shares;
	}
	if (!is_near)
		bits -= out->near;
	out->fold = 1U << bits;
	return 1;
}

/* Both offsets, in one pool. 1, 0, -errno. */
static int fill_both(struct fill *f, size_t begins, struct filled *out)
{
	int err = 1;

	for (uint32_t i = 0; i < OFFSETS && err > 0; i++) {
		f->offset = i * OFFSET_STEP;
		err = fill_at(f, begins, out);
	}
	if (err > 0)
		err = find_fold(f, out);
	return err;
}

/*
 * A pool that fills all sets, if there is one. Larger ones are only had where more
 * lines are needed: they take longer. 1, 0, -errno.
 */
static int open_pool(struct fill *f, struct trial *t, size_t most, size_t above, size_t *begins)
{
	size_t pages = MIN(POOL_PAGES, most);
	int err;

	for (;;) {
		err = fill_open(f, t, pages);
		if (!err)
			err = fill_calibrate(f, above, begins);
		if (err < 0 || (err && pages >= ROOM_MOST * *begins) || pages == most)
			break;
		pages = MIN(most, err ? ROOM_MOST * *begins : GROWS * pages);
		fill_close(f);
	}
	if (err > 0)
		f->npages = MIN(f->npages, ROOM * *begins);
	return err;
}

static int fill_once(struct trial *t, size_t max_bytes, size_t above, int is_mixed,
		     struct filled *out)
{
	struct fill f = { .is_mixed = is_mixed, .until = t->loads + PATIENCE };
	size_t begins = 0;
	int err;

	*out = (struct filled){ .lines = 0 };
	err = open_pool(&f, t, max_bytes / METER_CHUNK, above, &begins);
	if (err > 0)
		err = fill_both(&f, begins, out);
	out->hit = f.hit;
	out->miss = f.miss;
	fill_close(&f);
	return err;
}

/* Offsets that share sets of the level above may also share sets of this one (a remainder). */
int fill_level(struct trial *t, size_t max_bytes, size_t above, int is_mixed,
	       struct filled *out)
{
	int err = is_mixed ? fill_once(t, max_bytes, above, 1, out) : 0;

	return err ? err : fill_once(t, max_bytes, above, 0, out);
}

int fill_second(struct fill *f, size_t above, size_t rise, struct filled *out)
{
	size_t begins = 0;
	int err;

	*out = (struct filled){ .lines = 0 };
	f->until = f->t->loads + PATIENCE_SECOND;
	err = fill_calibrate_second(f, above, rise, &begins);
	if (err <= 0)
		return err;
	f->npages = MIN(f->npages, ROOM * begins);
	err = fill_both(f, begins, out);
	return err > 0 ? fill_is_cache(f) : err;
}
