// SPDX-License-Identifier: LGPL-2.1-or-later
/* What rings of lines cost, and whether they overflow a set. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include <sonde/stats.h>
#include "hunt.h"

/* Turns before a look; each look is only taken if the one before saw misses. */
static const double warm_turns[] = { 4, 8, 16, 32, 64, 128 };
/* The same, where looks are not repeated. */
#define WARM_ENOUGH	32
#define LOOKS_SMALL	6
#define LOOKS_LARGE	3
#define LOOKS_BRIEF	2
#define SMALL		64
#define ORDERS		4
#define ORDERS_FEW	6
#define FEW_LINES	256
#define MANY_LINES	1024
#define LEAST_MISSES	0.5
/* Misses a turn that are as good as proof, if they stay; a stranger makes fewer. */
#define MANY_MISSES	3
#define MOST_MISSES	6
/* What is less than the noise of a look by this factor, and this share of a load's
 * cost, is noise. */
#define NOISES		3
#define NOISE		0.004
/* Lines in a set of the level above, over its ways, so that all miss it. */
#define CROWD		5
/* Lines that wash out a level, over those that begin to overflow it. */
#define WASH		4
/* Looks until a large ring costs no less than before, at most. */
#define SETTLE_LOOKS	16
#define SETTLED		0.985
/* As HUNT_FIRST_SHARE, of the second level. */
#define SECOND_SHARE	4
/* Lines over those that the first level holds, so that it holds none. */
#define FIRST_CROWD	2
/* They cost this much more where something does; seconds until it is waited for no more. */
#define CALM		1.02
/* Looks of which most differ less: then it goes on. */
#define STEADY_LOOKS	16
#define PATIENCE_S	0.01

int hunt_open(struct hunt *h, struct trial *t, const uint32_t *pages, size_t npages)
{
	h->t = t;
	h->pages = pages;
	h->npages = npages;
	h->ring = malloc((npages + HUNT_WAYS) * sizeof(*h->ring));
	h->list = malloc((npages + HUNT_WAYS) * sizeof(*h->list));
	h->places = malloc((npages + HUNT_WAYS) * sizeof(*h->places));
	h->last = 0;
	for (size_t i = 0; i < npages; i++)
		h->last = MAX(h->last, pages[i]);
	h->is_measured = calloc((size_t)h->last + 1, 1);
	if (h->ring && h->list && h->places && h->is_measured &&
	    (!h->singly || !singly_open(h)))
		return 0;
	hunt_close(h);
	return -ENOMEM;
}

void hunt_close(struct hunt *h)
{
	free(h->ring);
	free(h->list);
	free(h->places);
	free(h->is_measured);
	singly_close(h);
	h->ring = h->list = h->places = NULL;
	h->is_measured = NULL;
}

/*
 * The places of a line of each page, in @groups of pages as far apart as can be:
 * prefetchers bring the neighbours of a line.
 */
static void to_places(const struct hunt *h, const uint32_t *pages, size_t n, size_t groups,
		      uint32_t *out)
{
	const size_t step = METER_CHUNK_LINES / groups * METER_LINE;

	for (size_t i = 0; i < n; i++)
		out[i] = meter_place(pages[i], (uint32_t)((h->offset + i % groups * step) %
							  METER_CHUNK));
}

void hunt_places(const struct hunt *h, const uint32_t *pages, size_t n, uint32_t *out)
{
	to_places(h, pages, n, 1, out);
}

static int cost_of(struct hunt *h, const uint32_t *pages, size_t n, size_t tail, size_t groups,
		   double warm, double turns, double *cycles)
{
	int err = trial_tick(h->t);

	if (err)
		return err;
	to_places(h, pages, n, groups, h->ring);
	err = trial_ring(h->t, h->ring, n, tail);
	if (!err)
		*cycles = trial_look(h->t, warm, turns);
	return err;
}

static int cost(struct hunt *h, const uint32_t *pages, size_t n, size_t groups, double warm,
		double turns, double *cycles)
{
	return cost_of(h, pages, n, 0, groups, warm, turns, cycles);
}

int hunt_cost(struct hunt *h, const uint32_t *pages, size_t n, double warm, double turns,
	      double *cycles)
{
	return cost(h, pages, n, 1, warm, turns, cycles);
}

int hunt_translation(struct hunt *h, const uint32_t *pages, size_t n, double *cycles)
{
	int err = cost(h, pages, n, METER_CHUNK_LINES, 2, HUNT_TURNS, cycles);

	*cycles -= h->first_hit;
	return err;
}

/* So much is a hit from now on. */
static void shift_hit(struct hunt *h, double gauge)
{
	h->hit += gauge - h->gauge.cycles;
	h->gauge.cycles = gauge;
}

/*
 * Waits until hits cost what they did, or as much as they go on to cost, which is taken for what
 * they cost from now on.
 */
int hunt_wait_calm(struct hunt *h)
{
	const struct gauge *g = &h->gauge;
	double x[STEADY_LOOKS], least = INFINITY, end = trial_elapsed(h->t) + PATIENCE_S;
	int n = 0, err = 0;

	while (g->n && !err) {
		err = cost(h, g->page, g->n, 1, 4, HUNT_TURNS, &x[n]);
		if (err || (x[n] <= CALM * g->cycles && CALM * x[n] >= g->cycles))
			break;
		least = fmin(least, x[n]);
		if (++n < STEADY_LOOKS)
			continue;
		n = 0;
		sonde_stats_sort(x, STEADY_LOOKS);
		if (sonde_stats_quantile(x, STEADY_LOOKS, 0.75) <
		    CALM * sonde_stats_quantile(x, STEADY_LOOKS, 0.25)) {
			shift_hit(h, sonde_stats_median(x, STEADY_LOOKS));
			break;
		}
		if (trial_elapsed(h->t) > end) {
			shift_hit(h, least);
			break;
		}
	}
	return err;
}

/* The same pages' lines in so many sets of the level above, which cannot hold them. */
static int cost_apart(struct hunt *h, const uint32_t *pages, size_t n, size_t groups,
		      double *cycles)
{
	int err;

	groups = MIN(groups, METER_CHUNK_LINES);
	err = cost(h, pages, n, groups, 2, HUNT_TURNS, cycles);
	*cycles += h->kept * (double)(groups - 1) / (double)n;
	return err;
}

/*
 * The same pages, so that translation costs the same. Where a nearer level holds a
 * line of each: what they cost there, and a hit. Else moved apart, but not so far
 * that the level above can hold them. Where either can be done the less counts: a
 * hit hides some of the translation that shows in the first level, and lines moved
 * apart may overflow a small level as well.
 */
int hunt_clean_cost(struct hunt *h, const uint32_t *pages, size_t n, double *cycles)
{
	const int few = n <= h->first_lines / HUNT_FIRST_SHARE;
	size_t groups = n / (CROWD * h->above);
	double apart = INFINITY;
	int err = hunt_wait_calm(h);

	if (err)
		return err;
	if (n > FIRST_CROWD * h->first_lines && SECOND_SHARE * (double)n < h->second_lines) {
		err = cost(h, pages, n, METER_CHUNK_LINES, 2, HUNT_TURNS, cycles);
		*cycles += h->hit - h->second_hit - h->kept / (double)n;
		return err;
	}
	*cycles = INFINITY;
	if (few || groups < 2) {
		err = hunt_translation(h, pages, n, cycles);
		*cycles += h->hit - h->kept / (double)n;
	}
	if (!err && groups >= 2)
		err = cost_apart(h, pages, n, groups, &apart);
	*cycles = fmin(*cycles, apart);
	return err;
}

/* @pages and the flush lines to h->list. */
static size_t with_flush(struct hunt *h, const uint32_t *pages, size_t n)
{
	if (pages != h->list)
		memcpy(h->list, pages, n * sizeof(*pages));
	memcpy(h->list + n, h->flush, h->nflush * sizeof(*h->flush));
	return n + h->nflush;
}

/* A wrong answer about many lines is taken back or pruned when there are few. */
static int is_brief(const struct hunt *h)
{
	return h->brief || h->t->nring > MANY_LINES;
}

/* Misses a turn of the ring at hand, which costs @clean a load without any. */
static double look_for_misses(struct hunt *h, double warm, unsigned int turns, double clean)
{
	return (trial_look(h->t, warm, turns) - clean) * (double)h->t->nring / h->penalty;
}

/* Misses a turn of the ring at hand, 0 as soon as there was none in two looks. */
static double settled_misses(struct hunt *h, double clean)
{
	double n = (double)h->t->nring, misses = 0, before = 0;
	double least, noise;
	int looks = is_brief(h) ? LOOKS_BRIEF : h->t->nring > FEW_LINES ? LOOKS_LARGE : LOOKS_SMALL;
	int none = 0;

	for (int i = 0; i < looks; i++) {
		misses = look_for_misses(h, warm_turns[i], HUNT_TURNS, clean);
		noise = fmin(NOISES * h->t->noise, NOISE * clean);
		least = fmax(fmax(LEAST_MISSES, h->least), noise * n / h->penalty);
		if (misses < least && ++none > 1)
			return 0;
		if (misses > MOST_MISSES && misses > n / 4)
			break;
		if (i && misses > MANY_MISSES && misses > 0.8 * before)
			break;
		before = misses;
	}
	return misses;
}

/* One of a large ring, but that it has no misses takes two. */
static int orders_of(const struct hunt *h, double misses, int none)
{
	if (is_brief(h))
		return h->brief ? 1 : 1 + none;
	return misses < MANY_MISSES || h->t->nring < FEW_LINES ? ORDERS_FEW : ORDERS;
}

/*
 * Sometimes a set keeps a stranger's line and holds one less of ours for as long
 * as they come in the same order, hence more than one order. Flush lines come
 * after all others: then those are all out of the level above at once.
 */
static int places_overflow(struct hunt *h, const uint32_t *places, const uint32_t *pages,
			   size_t n, size_t tail)
{
	double clean, misses, some = 0;
	int err, none = 0;

	if (h->singly)
		return singly_overflow(h, places, n, tail);
	err = trial_tick(h->t);
	if (!err)
		err = trial_ring(h->t, places, n, tail);
	if (err)
		return err;
	/* Mostly it costs no more than a hit: then translation costs nothing either. */
	misses = look_for_misses(h, warm_turns[0], HUNT_TURNS, h->hit - h->kept / (double)n);
	if (misses < fmax(LEAST_MISSES, h->least))
		return 0;
	for (int order = 0; !err && order < orders_of(h, misses, none); order++) {
		/* Each time: what disturbs may have come and gone. */
		err = hunt_clean_cost(h, pages, n, &clean);
		if (!err && h->washes && order)
			err = hunt_wash(h, pages, n, h->rise);
		if (!err)
			err = trial_ring(h->t, places, n, tail);
		if (!err)
			some = settled_misses(h, clean);
		none += some <= 0;
		if (none > (n >= FEW_LINES && !h->brief))
			return err ? err : 0;
		misses = fmin(misses, some > 0 ? some : misses);
	}
	return err ? err : 1;
}

int hunt_overflows(struct hunt *h, const uint32_t *pages, size_t n)
{
	size_t all = with_flush(h, pages, n);

	hunt_places(h, h->list, all, h->places);
	return places_overflow(h, h->places, h->list, all, h->nflush);
}

/* To h->list the pages of @places. */
static void list_pages(struct hunt *h, const uint32_t *places, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h->list[i] = places[i] / METER_CHUNK_PLACES;
}

int hunt_places_overflow(struct hunt *h, const uint32_t *places, size_t n, size_t tail)
{
	list_pages(h, places, n);
	return places_overflow(h, places, h->list, n, tail);
}

int hunt_is_among(const uint32_t *x, size_t n, uint32_t page)
{
	for (size_t i = 0; i < n; i++)
		if (x[i] == page)
			return 1;
	return 0;
}

size_t hunt_drop(uint32_t *pages, size_t n, const uint32_t *not, size_t nnot)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!hunt_is_among(not, nnot, pages[i]))
			pages[kept++] = pages[i];
	return kept;
}

const uint32_t *hunt_draw(struct hunt *h, size_t n)
{
	return h->pages + sonde_rng_below(&h->t->rng, h->npages - n + 1);
}

/*
 * What some replacements do with lines that are already there, in another order, is not
 * what they do with lines that come: FIFO then makes 2 of 17 lines miss a turn, not all.
 * None of the others is to be measured: of the lines of a class those would be most.
 */
int hunt_wash(struct hunt *h, const uint32_t *pages, size_t n, size_t full)
{
	size_t at = sonde_rng_below(&h->t->rng, h->npages), found = 0;

	for (size_t i = 0; i < n; i++)
		h->is_measured[pages[i]] = 1;
	for (size_t i = 0; i < h->npages && found < WASH * full; i++, at = (at + 1) % h->npages)
		if (!h->is_measured[h->pages[at]])
			hunt_places(h, &h->pages[at], 1, &h->ring[found++]);
	for (size_t i = 0; i < n; i++)
		h->is_measured[pages[i]] = 0;
	return found ? trial_ring(h->t, h->ring, found, 0) : 0;
}

/* As hunt_misses(), of lines that are there in another order unless they are washed out. */
static int count_misses(struct hunt *h, const uint32_t *pages, size_t n, int flush, int wash,
			double *misses)
{
	size_t all = n;
	double clean, clean_turn, before;
	int err;

	memcpy(h->list, pages, n * sizeof(*pages));
	if (flush)
		all = with_flush(h, h->list, n);
	if (h->singly) {
		hunt_places(h, h->list, all, h->places);
		return singly_misses(h, h->places, all, all - n, misses);
	}
	err = hunt_clean_cost(h, h->list, all, &clean);
	/* After that: some of them were at the hunt's offset there, in another order. */
	if (!err && wash)
		err = hunt_wash(h, h->list, all, h->rise);
	hunt_places(h, h->list, all, h->ring);
	if (!err)
		err = trial_tick(h->t);
	if (!err)
		err = trial_ring(h->t, h->ring, all, flush ? h->nflush : 0);
	if (err)
		return err;
	*misses = look_for_misses(h, all > SMALL ? 4 : 16, all > SMALL ? 4 : 8, clean);
	/* In misses, too. */
	clean_turn = clean * (double)all / h->penalty;
	/* What is beyond may take long to let go of what was there before. */
	for (int i = 0; all > SMALL && i < SETTLE_LOOKS; i++) {
		before = *misses;
		*misses = fmin(look_for_misses(h, 4, 4, clean), before);
		if (clean_turn + *misses > SETTLED * (clean_turn + before))
			break;
	}
	return 0;
}

int hunt_misses(struct hunt *h, const uint32_t *pages, size_t n, int flush, double *misses)
{
	return count_misses(h, pages, n, flush, 1, misses);
}

int hunt_misses_again(struct hunt *h, const uint32_t *pages, size_t n, double *misses)
{
	return count_misses(h, pages, n, 1, 0, misses);
}
