// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The third level by what it holds of lines at one offset of any pages: no matter what its index
 * and the one above are.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include <sonde/stats.h>
#include "brim.h"
#include "ground.h"
#include "line.h"
#include "same_sets.h"
#include "shuffle.h"
#include "told.h"

/*
 * Where lines are in their pages: what prefetchers of pairs and next lines bring beside lines at
 * other offsets (find_fold) is then there already, in another page, or next to where sets are
 * shared.
 */
#define OFFSET		(METER_CHUNK - 2 * METER_LINE)
/*
 * Pages of the first pool, over those at which the level begins to overflow, and how much larger
 * the next one is where that is not known, up to so many; what sets are seen to lack may be more.
 */
#define POOL_PAGES	12288
#define ROOM		4
#define GROWS		3
#define POOL_MOST	262144
/* What misses cost more in that is at least so many times what they seemed to before. */
#define DEARER		2
/* Larger ones where sets lack lines; how much larger than these then seem to ask for. */
#define POOLS		3
#define MARGIN		1.1
/* Lines that one set of a pool that should be enough may lack. */
#define SHORT		2
/* Lines that overflow the level above, over those that it holds. */
#define OVER		1.5
/*
 * Lines to flush the level above, over those that it holds: at most, as chance may keep some; at
 * least. Shares of loads that cost less than where the most flush; with fewer, at most.
 */
#define FLUSH		6
#define FLUSH_LEAST	2
#define STAY		0.0025
#define STAY_MOST	0.005
/* A miss costs more than a hit by this share at least. */
#define FAR		0.4
/* Offsets at most, lines at one of them over those that the level above holds, and what these cost
 * less at least where a level in between has them: between quantiles that tell of those which
 * miss. */
#define OFFSETS		8
#define BETWEEN		2
#define NEARER		0.05
#define MISSING		0.65
#define MISSING_MOST	0.85
/* Of lines that it and the level above hold if these have as many sets, those that are in. */
#define NEARLY		0.95
/* Steps of the size until it begins to overflow. */
#define STEP		1.3
/*
 * Loads after which it is given up: half a minute of them; so many more where its ways are told by
 * then, as sets that duel take long to be all full.
 */
#define PATIENCE	1200000000
#define TO_COUNT	2400000000

/**
 * struct filled - what is known of the level
 * @w: where it is looked for
 * @h: the hunt, in all of the pool
 * @pages: the pool
 * @until: loads of the trial after which it is given up
 * @to_count: the same from when its ways are told
 * @begins: lines that overflow none of its sets
 * @tried: pages that it was filled from
 * @distance: of lines that share sets of the second level only, from others; or 0
 * @nflush: lines at that distance which flush the second level
 * @lines: that it holds at one offset
 * @ways: of it
 * @fold: offsets whose lines share sets
 * @line: bytes of its lines, 0 if not told
 * @holding: relation to the level above
 */
struct filled {
	struct ground *w;
	struct hunt h;
	uint32_t *pages;
	uint64_t until, to_count;
	size_t begins, tried, nflush, lines;
	unsigned int ways, fold, line;
	uint32_t distance;
	enum holding holding;
};

/* Lines that the second level holds at one offset, or more. */
static unsigned int lines_above(const struct survey *s)
{
	return (unsigned int)ceil(fmax(s->ways * s->classes, (double)s->rise));
}

/* Lines of which some overflow the level above, the fewest that are tried. */
static size_t least_lines(const struct filled *f)
{
	return MAX((size_t)(OVER * f->h.above), METER_CHUNK_LINES);
}

static int open_pool(struct filled *f, size_t npages)
{
	const struct ground *w = f->w;
	const struct level_geometry *above = &w->g->level[1];
	int err = trial_pages(w->t, npages);

	free(f->pages);
	f->pages = malloc(npages * sizeof(*f->pages));
	if (!f->pages)
		return -ENOMEM;
	for (size_t i = 0; i < npages; i++)
		f->pages[i] = (uint32_t)i;
	shuffle(&w->t->rng, f->pages, npages);
	hunt_close(&f->h);
	f->h = (struct hunt){
		.offset = OFFSET, .above = lines_above(&above->survey), .first_hit = w->g->first.hit,
		.first_lines = stride_lines(&w->g->first), .second_hit = above->survey.hit,
		.second_lines = (double)above->size / METER_LINE, .singly = 1,
		.until = f->until,
	};
	return err ? err : hunt_open(&f->h, w->t, f->pages, npages);
}

/* What loads of @n places cost, ascending, to h->more. 0, -errno. */
static int take_costs(struct hunt *h, const uint32_t *places, size_t n)
{
	int err = singly_take(h, places, n, 2, 1);

	if (!err)
		sonde_stats_sort(h->more, n);
	return err;
}

/* In a quantile. */
static int cost_of(struct hunt *h, const uint32_t *places, size_t n, double p, double *cycles)
{
	int err = take_costs(h, places, n);

	if (!err)
		*cycles = sonde_stats_quantile(h->more, n, p);
	return err;
}

/* What those that miss the level above cost, on average: a clock's steps make quantiles jump. */
static int cost_of_missing(struct hunt *h, const uint32_t *places, size_t n, double *cycles)
{
	const size_t first = (size_t)(MISSING * (double)n), end = (size_t)(MISSING_MOST * (double)n);
	int err = take_costs(h, places, n);
	double sum = 0;

	if (err)
		return err;
	for (size_t i = first; i < end; i++)
		sum += h->more[i];
	*cycles = sum / (double)(end - first);
	return 0;
}

/*
 * Lines that flush the level above and share none of this level's sets: at offsets that the index
 * above mixes with others.
 */
static size_t most_flush(const struct filled *f)
{
	return f->distance ? FLUSH * (size_t)f->h.above : 0;
}

/*
 * Pages that fill most of its sets. The fewest that were tried may have overflowed it, half of
 * which is not where that begins.
 */
static size_t room(const struct filled *f)
{
	return ROOM * MAX(f->begins, least_lines(f));
}

/* Where lines begin to overflow the level, from @n on. 1, 0 if the pool does not, -errno. */
static int find_begin(struct filled *f, size_t n)
{
	struct brim b;
	int over;

	if (2 * f->nflush > f->h.npages)
		return 0;
	over = brim_open(&b, &f->h, f->nflush, f->distance);
	if (over)
		return over;
	for (f->begins = n / 2; n < b.npages && !over; n = (size_t)(STEP * (double)n)) {
		over = brim_overflows(&b, n);
		f->begins = over ? f->begins : n;
	}
	brim_close(&b);
	return over;
}

/*
 * As few flush lines as leave no more lines in the level above than the most do. @cycles: room.
 * 0, -errno.
 */
static int fewer_flush(struct filled *f, struct brim *b, double *cycles)
{
	const size_t most = b->nflush;
	ssize_t n = brim_costs(b, f->begins, cycles);
	double least;
	size_t stay;

	if (n < 0)
		return (int)n;
	least = sonde_stats_quantile(cycles, (size_t)n, STAY);
	for (b->nflush = FLUSH_LEAST * f->h.above; b->nflush < most; b->nflush += f->h.above) {
		n = brim_costs(b, f->begins, cycles);
		if (n < 0)
			return (int)n;
		for (stay = 0; stay < (size_t)n && cycles[stay] < least; stay++)
			;
		if ((double)stay < STAY_MOST * (double)n)
			break;
	}
	f->nflush = b->nflush;
	return 0;
}

static int choose_flush(struct filled *f)
{
	double *cycles = malloc(SINGLY_TURNS * f->begins * sizeof(*cycles));
	struct brim b;
	int err = cycles ? brim_open(&b, &f->h, f->nflush, f->distance) : -ENOMEM;

	if (!err) {
		err = fewer_flush(f, &b, cycles);
		brim_close(&b);
	}
	free(cycles);
	return err;
}

/*
 * What hits and misses cost, and where lines begin to overflow the level. 1, 0 if the pool does
 * not overflow it or nothing is far from it, -errno.
 */
static int calibrate(struct filled *f)
{
	struct hunt *h = &f->h;
	const size_t n = least_lines(f);
	double miss = 0;
	int err, seen;

	if (n >= h->npages)
		return 0;
	hunt_places(h, h->pages, h->npages, h->places);
	err = cost_of(h, h->places, n, 0.5, &h->hit);
	if (!err)
		err = cost_of(h, h->places, h->npages, 0.75, &miss);
	if (err || miss < (1 + FAR) * h->hit)
		return err;
	h->penalty = miss - h->hit;
	if (!singly_can(h->t, h->penalty))
		return 0;
	f->nflush = most_flush(f);
	seen = find_begin(f, n);
	err = seen > 0 && f->nflush ? choose_flush(f) : 0;
	return err ? err : seen;
}

/* In @npages pages. 1, 0 if these do not overflow it or nothing is far from it, -errno. */
static int try_pool(struct filled *f, size_t npages)
{
	int err = open_pool(f, npages);

	return err ? err : calibrate(f);
}

/* A pool of @n pages or more that overflows it by far. 1, 0 if there is none, -errno. */
static int find_pool(struct filled *f, size_t n, size_t most)
{
	size_t next;
	int seen;

	for (;;) {
		seen = try_pool(f, n);
		next = MIN(seen > 0 ? room(f) : GROWS * n, most);
		if (seen < 0 || next <= n)
			return seen;
		n = next;
	}
}

/*
 * Half of a set's lines in the level, and in no level above: at the offset at which the level holds
 * them all.
 */
static int find_line(struct filled *f, const struct brim *b, const struct class *c)
{
	const size_t n = hunt_drop(b->page, b->n, c->page, c->n);
	const struct line_set set = {
		.page = c->page, .n = MAX(f->ways / 2, 1), .flush = b->page,
		.nflush = MIN(n, SURVEY_FLUSH * (size_t)f->h.above), .offset = f->h.offset,
		.missed = f->h.penalty,
	};

	return line_find(f->h.t, &set, &f->line);
}

/*
 * At how many offsets lines share the sets. What is nearer than the level's line is the same.
 * 1, 0 if it could not be told, -errno.
 */
static int find_fold(struct filled *f, struct brim *b)
{
	unsigned int bits = 0;
	int shares;

	for (uint32_t d = f->line; d < METER_CHUNK; d *= 2) {
		shares = brim_shares_sets(b, d);
		if (shares < 0)
			return shares == -ERANGE ? 0 : shares;
		/* So do those that flush: then sets held fewer lines than they have ways. */
		if (shares && d == f->distance)
			return 0;
		bits += (unsigned int)shares;
	}
	f->fold = 1U << bits;
	return 1;
}

/* Whether one set lacks a line or two: of a pool that mostly is enough it sometimes has no more. */
static int is_short_by_chance(const struct filled *f)
{
	const size_t last = f->ways ? f->lines % f->ways : 0;

	return last && last + SHORT >= f->ways;
}

/*
 * To the brim, with as many of the pool's lines as leave no set short of any, as far as it has
 * them; so many it should have, to *@wanted. 0, -errno.
 */
static int settle_brim(struct filled *f, struct brim *b, size_t *wanted)
{
	const size_t room = f->h.npages - b->nflush;
	int err = 0;

	*wanted = brim_enough(b, f->ways);
	while (!err && b->n && *wanted <= room) {
		b->npages = MAX(MIN((size_t)(MARGIN * (double)*wanted), room), b->npages);
		err = brim_settle(b, f->ways);
		*wanted = brim_enough(b, f->ways);
		if (*wanted <= b->npages)
			break;
	}
	f->tried = b->npages;
	f->lines = b->n;
	if (is_short_by_chance(f))
		*wanted = MAX(*wanted, f->tried + 1);
	return err;
}

/*
 * Whether none in between holds more than the level above, and less than was filled: then the same
 * pages' lines, in the same order, would cost less at so many offsets that they just overflow the
 * level above than at one. 1, 0, -errno.
 */
static int is_next(struct filled *f, struct brim *b)
{
	const size_t least = BETWEEN * (size_t)f->h.above;
	const size_t offsets = MIN(b->n / 2 / least, OFFSETS), n = offsets * least;
	double one = 0, several = 0;
	int err;

	if (offsets < 2)
		return 1;
	hunt_places(&f->h, b->page, n, b->places);
	err = cost_of_missing(&f->h, b->places, n, &one);
	/* Far from each other: prefetchers bring what is near. */
	for (size_t i = 0; i < n; i++)
		b->places[i] = meter_place(b->page[i],
					   (uint32_t)(i % offsets) * (METER_CHUNK / OFFSETS));
	if (!err)
		err = cost_of_missing(&f->h, b->places, n, &several);
	return err ? err : several >= (1 - NEARER) * one;
}

/*
 * Whether it has as many sets as the level above, and is exclusive of it: nothing flushes that, and
 * @c are of both. Lines are moved whole between them then. 1, 0, -errno.
 */
static int take_same(struct filled *f, const struct brim *b, const struct class *c)
{
	const struct level_geometry *above = &f->w->g->level[1];
	const unsigned int both = f->ways, ways = above->survey.ways;
	const double most = (double)both * above->colours;
	struct same_sets s = {
		.h = &f->h, .above = ways, .first_ways = f->w->g->first.ways, .class = c,
		.others = b->page + b->n, .nothers = f->h.npages - b->n, .calm = b->list,
	};
	int told;

	if (b->nflush || both <= ways || (double)b->n > most || (double)b->n < NEARLY * most)
		return 0;
	memcpy(b->list, b->page, b->n * sizeof(*b->list));
	s.ncalm = hunt_drop(b->list, b->n, c->page, c->n);
	told = same_sets_exclude(&s);
	if (told > 0) {
		f->ways = both - ways;
		f->lines = (size_t)f->ways * above->colours;
		f->line = above->survey.line;
		f->fold = 1;
		f->holding = HOLDING_OTHER;
	}
	return told;
}

/* The level full, and what that tells; so many pages there should be, to *@wanted. 1, 0, -errno. */
static int take_full(struct filled *f, struct brim *b, const struct class *c, size_t *wanted)
{
	int told = settle_brim(f, b, wanted);

	if (!told && brim_is_full(b, f->ways))
		told = find_line(f, b, c);
	if (!told && f->line)
		told = find_fold(f, b);
	return told > 0 ? is_next(f, b) : told;
}

/* Whether what flushes the level above is in the level's sets: then these hold fewer other lines. */
static int is_flushed(const struct filled *f, struct brim *b)
{
	return f->distance && brim_shares_sets(b, f->distance) > 0;
}

/* In the pool at hand; so many pages there should be, to *@wanted. 1, 0, -errno. */
static int fill(struct filled *f, size_t *wanted)
{
	struct class c;
	struct brim b;
	int told = brim_open(&b, &f->h, f->nflush, f->distance);

	*wanted = 0;
	if (told)
		return told;
	b.npages = MIN(room(f), b.npages);
	told = brim_fill(&b, f->begins);
	if (!told && b.n && !is_flushed(f, &b))
		told = brim_ways(&b, &f->ways, &c);
	if (told > 0) {
		f->until = f->h.until = f->to_count;
		told = take_same(f, &b, &c);
		if (!told)
			told = take_full(f, &b, &c, wanted);
	}
	brim_close(&b);
	return told;
}

static void settle(const struct filled *f)
{
	struct ground *w = f->w;
	struct level_geometry *l = &w->g->level[2];

	if (w->g->nlevels < 3) {
		*l = (struct level_geometry){ .survey = { .seen = 1 } };
		w->g->nlevels = 3;
	}
	if (l->survey.hit <= 0) {
		l->survey.hit = f->h.hit;
		l->survey.penalty = f->h.penalty;
	}
	l->size = l->low = l->high = f->lines * METER_CHUNK / f->fold;
	l->confidence = TOLD_SURE;
	l->colours = (unsigned int)(f->lines / f->ways / f->fold);
	l->survey.ways = f->ways;
	l->survey.line = f->line;
	if (f->holding)
		l->survey.holding = f->holding;
	ground_mark(w, l);
}

/* The largest: prefetchers bring what is near. */
static uint32_t distance_of(const struct survey *s)
{
	return s->folded ? 1U << (31 - __builtin_clz(s->folded)) : 0;
}

/*
 * Far slices, and translation, may cost so much more that lines which hit them seem to miss: then
 * those of a pool that does overflow the level cost far more still.
 */
static int fill_larger(struct filled *f, size_t most, size_t *wanted)
{
	const double penalty = f->h.penalty;
	const size_t n = MIN(GROWS * f->h.npages, most);
	int told = n > f->h.npages ? find_pool(f, n, most) : 0;

	return told > 0 && f->h.penalty > DEARER * penalty ? fill(f, wanted) : MIN(told, 0);
}

/* In larger and larger pools, until one fills all sets. 1, 0, -errno. */
static int fill_pools(struct filled *f, size_t most)
{
	const size_t usual = MIN(most, POOL_MOST);
	size_t wanted = 0;
	int told;

	f->until = f->w->t->loads + PATIENCE;
	f->to_count = f->until + TO_COUNT;
	f->ways = f->line = 0;
	told = find_pool(f, MIN(POOL_PAGES, usual), usual);
	if (told > 0 && ground_is_memory(f->w, f->h.hit))
		return 0;
	if (told > 0) {
		told = fill(f, &wanted);
		if (!told && !f->ways)
			told = fill_larger(f, usual, &wanted);
	}
	for (int i = 0; i < POOLS && !told && wanted > f->tried && wanted <= most; i++) {
		wanted = MIN((size_t)(MARGIN * (double)wanted), most);
		told = try_pool(f, wanted + most_flush(f));
		if (told > 0)
			told = fill(f, &wanted);
	}
	return told;
}

int geometry_fill_third(struct ground *w, size_t max_bytes)
{
	struct filled f = { .w = w, .distance = distance_of(&w->g->level[1].survey) };
	int told;

	if (w->t->meter->is_guest || !w->g->level[1].size)
		return 0;
	told = fill_pools(&f, max_bytes / METER_CHUNK);
	/* They share sets of this level, too, where these are the remainder of a division. */
	if (!told && f.distance) {
		f.distance = 0;
		told = fill_pools(&f, max_bytes / METER_CHUNK);
	}
	if (told > 0)
		settle(&f);
	hunt_close(&f.h);
	free(f.pages);
	return told;
}
