// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Misses load by load, where nothing disturbs and the clock is fine. The same pages are walked in
 * the same order with their lines elsewhere, where none conflicts: so what translation adds to
 * each load is in both walks, and a load that costs more by then is a miss of the level.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include <sonde/stats.h>
#include "hunt.h"
#include "shuffle.h"

/* Turns before the loads are looked at; turns of those that do not conflict. */
#define WARM		2
#define CLEAN_TURNS	8
/* A load that costs so many cycles, steps of the clock, and this share of a miss, more than a hit
 * is one. What takes longer was interrupted. */
#define LEAST_CYCLES	3.0
#define LEAST_STEPS	1.6
#define LEAST_SHARE	0.25
#define GONE_NS		1000
/* Steps of the clock that tell any miss; a miss that coarser ones tell. */
#define FINE_CYCLES	4.0
#define STEPS		4
/* Orders of small rings; of them, those that have to show misses. */
#define ORDERS		4
#define ORDERS_SEEN	2
#define FEW_LINES	256
#define LEAST_MISSES	0.5
/* Orders that misses are counted in. */
#define COUNTS		4
/* Lines of a KiB, whose number no index mixes; those of them that others are moved to. */
#define UNMIXED		16
#define OFFSET_LEAST	2
#define OFFSETS_A_KIB	13
#define OFFSETS		(OFFSETS_A_KIB * METER_CHUNK_LINES / UNMIXED)
/* Translation costs less cycles. */
#define TRANSLATION	55.0
/* A miss costs so many hits, and translation does not matter beside it. */
#define FAR		3
/* Of a level's lines, those that stay in it whatever prefetchers bring. */
#define FIRST_SHARE	2
#define SECOND_SHARE	4
/* Lines in a set of the level above, over its ways, so that all miss it. */
#define CROWD		8
/* Draws that tell what a hit costs. */
#define DRAWS		6
/* Turns after which a level whose sets duel has all lines. */
#define WARM_DUEL	64
/* Of what misses cost more, by lines some of which miss the level behind the next, too. */
#define NEAR		0.35
/* What a class makes of a penalty is at most this much more than was thought. */
#define REFINE_MOST	4

int singly_can(const struct trial *t, double penalty)
{
	const double step = trial_step(t);

	return !t->meter->is_guest && (step <= FINE_CYCLES || penalty > STEPS * step);
}

int singly_open(struct hunt *h)
{
	const size_t n = h->npages + HUNT_WAYS;

	h->order = malloc(n * sizeof(*h->order));
	h->apart = malloc(n * sizeof(*h->apart));
	h->windows = malloc(n * sizeof(*h->windows));
	h->clean = malloc(n * sizeof(*h->clean));
	h->more = malloc(MAX(SINGLY_TURNS, CLEAN_TURNS) * n * sizeof(*h->more));
	return h->order && h->apart && h->windows && h->clean && h->more ? 0 :
	       -ENOMEM;
}

void singly_close(struct hunt *h)
{
	free(h->order);
	free(h->apart);
	free(h->windows);
	free(h->clean);
	free(h->more);
	h->order = h->apart = NULL;
	h->windows = NULL;
	h->clean = h->more = NULL;
}

/* Cycles that a load of a miss costs more than one of a hit, at least. */
static double least_more(const struct hunt *h)
{
	const double penalty = h->penalty > 0 ? h->penalty : h->hit;

	return fmax(fmax(LEAST_CYCLES, LEAST_SHARE * penalty), LEAST_STEPS * trial_step(h->t));
}

/*
 * Where lines of @n pages do not conflict: few fit the first level; more the second, if that is
 * above, at so few offsets that they miss the first; else so many are at each of @groups offsets
 * that all miss the level above. Return: cycles that they then cost less than hits of the level.
 */
static double choose_apart(const struct hunt *h, size_t n, size_t *groups)
{
	const size_t first_ways = MAX(h->first_lines / METER_CHUNK_LINES, 1);

	*groups = OFFSETS;
	if (n <= h->first_lines / FIRST_SHARE)
		return h->hit - h->first_hit;
	*groups = MAX(MIN(n / (CROWD * first_ways), OFFSETS), 1);
	if (SECOND_SHARE * (double)n < h->second_lines && 2 * n / *groups <= h->above)
		return h->hit - h->second_hit;
	*groups = MAX(MIN(n / (CROWD * h->above), OFFSETS), 2);
	return 0;
}

/*
 * The pages of h->order, apart, to h->apart. Away from the hunt's offset and from where prefetchers
 * of pairs and next lines would bring it, modulo what no index was seen to mix: lines that come
 * along are strangers to the ring that follows.
 */
static double lay_apart(struct hunt *h, size_t n)
{
	const size_t first = h->offset / METER_LINE;
	size_t groups, k;
	double less = choose_apart(h, n, &groups);

	for (size_t i = 0; i < n; i++) {
		k = i % groups * OFFSETS / groups;
		k = k / OFFSETS_A_KIB * UNMIXED + OFFSET_LEAST + k % OFFSETS_A_KIB;
		h->apart[i] = h->order[i] / METER_CHUNK_PLACES * METER_CHUNK_PLACES +
			      (uint32_t)((first + k) % METER_CHUNK_LINES * METER_LINE_PLACES);
	}
	return less;
}

/*
 * Of ascending costs the mean of those that are near the second most: chance may have kept a line
 * in a level above for a turn, and something may have interrupted another.
 */
static double typical(const double *x, size_t n, double near)
{
	double sum = 0;
	size_t some = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		if (x[i] < x[n - 2] - near)
			continue;
		sum += x[i];
		some++;
	}
	return sum / (double)some;
}

int singly_take(struct hunt *h, const uint32_t *places, size_t n, double warm, size_t turns)
{
	int err = trial_tick(h->t);

	if (!err)
		err = trial_path(h->t, places, n);
	if (err)
		return err;
	trial_walk(h->t, warm);
	trial_loads(h->t, turns * n, h->windows, n, h->more);
	return 0;
}

/* What each load of @places costs, to h->clean. */
static int take_typical(struct hunt *h, const uint32_t *places, size_t n)
{
	const double near = least_more(h);
	double x[CLEAN_TURNS];
	int err = singly_take(h, places, n, WARM, CLEAN_TURNS);

	for (size_t i = 0; i < n && !err; i++) {
		for (size_t turn = 0; turn < CLEAN_TURNS; turn++)
			x[turn] = h->more[turn * n + i];
		sonde_stats_sort(x, CLEAN_TURNS);
		h->clean[i] = typical(x, CLEAN_TURNS, near);
	}
	return err;
}

/*
 * What each of the @n lines of h->order would cost if it hit, to h->clean. Where a miss costs far
 * more than translation does, there is nothing to compare.
 */
static int take_clean(struct hunt *h, size_t n)
{
	double less;
	int err;

	if (h->second_hit > 0 && (h->penalty > FAR * h->hit || h->penalty > 2 * TRANSLATION)) {
		for (size_t i = 0; i < n; i++)
			h->clean[i] = h->hit + h->penalty * (0.5 - LEAST_SHARE);
		return 0;
	}
	less = lay_apart(h, n);
	err = take_typical(h, h->apart, n);
	for (size_t i = 0; i < n; i++)
		h->clean[i] += less;
	return err;
}

/* @places in a new order, the last @tail after all others, to h->order. */
static void draw_order(struct hunt *h, const uint32_t *places, size_t n, size_t tail)
{
	memcpy(h->order, places, n * sizeof(*places));
	shuffle(&h->t->rng, h->order, n - tail);
	shuffle(&h->t->rng, h->order + n - tail, tail);
}

/*
 * In a new order, h->order: what each of @n loads costs in some turns, SINGLY_TURNS * @n of them,
 * to h->more; what it would if it hit, to h->clean.
 */
static int take_order(struct hunt *h, const uint32_t *places, size_t n, size_t tail)
{
	int err;

	draw_order(h, places, n, tail);
	err = take_clean(h, n);
	return err ? err : singly_take(h, h->order, n, WARM, SINGLY_TURNS);
}

/* As singly_look(), misses a turn of the first @counted in that order. */
static int look(struct hunt *h, const uint32_t *places, size_t n, size_t tail, size_t counted,
		unsigned char *missed, double *misses)
{
	const double gone = trial_cycles(h->t, GONE_NS), least = least_more(h);
	size_t seen = 0;
	int err = take_order(h, places, n, tail);

	if (err)
		return err;
	for (size_t i = 0; i < SINGLY_TURNS * n; i++) {
		if (h->more[i] < h->clean[i % n] + least || h->more[i] > gone)
			continue;
		seen += i % n < counted;
		if (missed)
			missed[h->order[i % n] / METER_CHUNK_PLACES] = 1;
	}
	*misses = (double)seen / SINGLY_TURNS;
	return 0;
}

int singly_look(struct hunt *h, const uint32_t *places, size_t n, size_t tail,
		unsigned char *missed, double *misses)
{
	return look(h, places, n, tail, n - tail, missed, misses);
}

int singly_misses(struct hunt *h, const uint32_t *places, size_t n, size_t tail, double *misses)
{
	double some = 0;
	int err = 0;

	*misses = 0;
	for (int i = 0; i < COUNTS && !err; i++) {
		err = singly_look(h, places, n, tail, NULL, &some);
		*misses += some / COUNTS;
	}
	return err;
}

/*
 * Lines that flush overflow no set of the second level by themselves; where they do with others, a
 * tree may keep those, and only lines that flush miss.
 */
int singly_overflow(struct hunt *h, const uint32_t *places, size_t n, size_t tail)
{
	const int orders = h->brief ? 1 : n > FEW_LINES ? ORDERS_SEEN : ORDERS;
	const int wanted = MIN(orders, ORDERS_SEEN);
	const size_t counted = h->second_hit > 0 ? n - tail : n;
	double misses = 0;
	int err, seen = 0, none = 0;

	while (seen < wanted && none <= orders - wanted) {
		err = look(h, places, n, tail, counted, NULL, &misses);
		if (err)
			return err;
		if (misses < fmax(LEAST_MISSES, h->least))
			none++;
		else
			seen++;
	}
	return seen == wanted;
}

/*
 * What loads of lines of @n pages at the hunt's offset cost more than where they do not conflict,
 * in some turns: SINGLY_TURNS * @n of them, to h->more.
 */
static int take_more(struct hunt *h, const uint32_t *pages, size_t n)
{
	int err;

	hunt_places(h, pages, n, h->places);
	err = take_order(h, h->places, n, 0);
	for (size_t i = 0; i < SINGLY_TURNS * n && !err; i++)
		h->more[i] -= h->clean[i % n];
	return err;
}

/* Of the @n of @x those that are more than @least, ascending, to the front. How many. */
static size_t keep_more(double *x, size_t n, double least)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (x[i] > least)
			x[kept++] = x[i];
	sonde_stats_sort(x, kept);
	return kept;
}

/* Of @n ascending values the mean of most that are near each other. */
static double mode_of(const double *x, size_t n, double near)
{
	size_t best = 0, most = 0, end = 0;
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		while (end < n && x[end] <= x[i] + near)
			end++;
		if (end - i > most) {
			most = end - i;
			best = i;
		}
	}
	for (size_t i = best; i < best + most; i++)
		sum += x[i] / (double)most;
	return sum;
}

/* Of few lines some may be in the level above, if chance keeps them there, and some miss. */
static int find_hit(struct hunt *h, size_t few)
{
	double hits[DRAWS];
	size_t n, draws = 0;
	int err = 0;

	for (int i = 0; i < DRAWS && !err; i++) {
		/* What they cost more than in the first level. */
		h->hit = h->first_hit;
		err = take_more(h, hunt_draw(h, few), few);
		n = err ? 0 : keep_more(h->more, SINGLY_TURNS * few, LEAST_CYCLES);
		if (n)
			hits[draws++] = mode_of(h->more, n, least_more(h));
	}
	if (err || !draws)
		return err;
	sonde_stats_sort(hits, draws);
	h->hit = h->first_hit + sonde_stats_median(hits, draws);
	return 0;
}

/* Of @n lines, some of which overflow the level, what those that miss it cost more. */
static int find_penalty(struct hunt *h, const uint32_t *pages, size_t n, double most)
{
	int err = take_more(h, pages, n);
	size_t missed = err ? 0 : keep_more(h->more, SINGLY_TURNS * n, least_more(h));

	if (missed)
		h->penalty = fmin(sonde_stats_quantile(h->more, missed, NEAR), most);
	return err;
}

int singly_cost(struct hunt *h, const uint32_t *pages, size_t n, double *cycles)
{
	const double penalty = h->penalty;
	int err;

	/* What translation costs is to be told, however much a miss does. */
	h->penalty = 0;
	err = take_more(h, pages, n);
	h->penalty = penalty;
	*cycles = h->hit;
	for (size_t i = 0; i < SINGLY_TURNS * n && !err; i++)
		*cycles += h->more[i] / (double)(SINGLY_TURNS * n);
	return err;
}

/*
 * What a miss costs, by twice as many lines as overflowed the level; 0 if none misses. As much as
 * memory may be that, or they were taken from it by a level that holds them, too, and lets them in
 * now and then, as its sets duel: so they are asked again when they have gone many turns.
 */
static int calibrate_penalty(struct hunt *h)
{
	const size_t n = MIN(2 * h->rise, h->npages);
	int err = find_penalty(h, h->pages, n, INFINITY);

	if (err || h->penalty <= HUNT_TOO_FAR * h->hit)
		return err;
	h->penalty = 0;
	err = trial_path(h->t, h->places, n);
	if (!err)
		trial_walk(h->t, WARM_DUEL);
	return err ? err : find_penalty(h, h->pages, n, INFINITY);
}

int singly_calibrate(struct hunt *h)
{
	const size_t few = MIN(4 * h->above + 1, h->first_lines / FIRST_SHARE);
	size_t last = 0;
	int err;

	if (2 * few > h->npages)
		return 0;
	h->penalty = 0;
	err = find_hit(h, few);
	for (h->rise = 2 * h->above + 2; !err && h->rise > last;
	     h->rise = MIN(h->rise * 4 / 3, h->npages)) {
		last = h->rise;
		err = hunt_overflows(h, hunt_draw(h, h->rise), h->rise);
		if (err > 0)
			err = calibrate_penalty(h);
		if (err || h->penalty > 0)
			return err ? err : 1;
	}
	return err;
}

int singly_refine(struct hunt *h, const struct class *c, size_t n)
{
	return find_penalty(h, c->page, n, REFINE_MOST * h->penalty);
}
