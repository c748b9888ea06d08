// SPDX-License-Identifier: LGPL-2.1-or-later
/* What hits and misses of a level cost, and where it begins to overflow. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/param.h>

#include <sonde/stats.h>
#include "hunt.h"

/* A rise of the cost by this share is the next level. */
#define RISE		0.06
/* Draws that all have to show it. */
#define RISE_DRAWS	3
/* With more lines it is this much more. */
#define GOES_ON		1.25
/* What a class makes of a penalty is at most this much more than was thought. */
#define REFINE_MOST	4
/* Lines that cost less than this share more than hits are hits: they tell no penalty. */
#define REFINE_LEAST	0.2
/* Draws of a few lines, of which the cheapest had no conflict. */
#define DRAWS		6
/* Looks at lines that do not conflict when they are chosen, and the share of them that
 * nothing disturbed. */
#define GAUGE_LOOKS	200
#define CALM_SHARE	0.25
/* Of what translation costs in the first level, the part that shows beside a hit in
 * the next at least. */
#define SHOWN		0.5
/* If more lines cost this much more a line, they conflicted in every draw. */
#define FEW_MORE	1.1
/* Then lines are exchanged so often, as long as it costs less by so much. */
#define IMPROVE_ROUNDS	3
#define IMPROVED	0.994
/* If fewer lines cost less than this share a line, some are kept. */
#define FEW_LESS	0.975
/* Lines beside those that flush, about as many as a set has ways; draws of them, and the share of
 * these in which none conflict. */
#define KEPT_LINES	16
#define KEPT_DRAWS	16
#define KEPT_SHARE	0.25

/* Lines that did not conflict, to tell by whether something disturbs. */
static int set_gauge(struct hunt *h, const uint32_t *pages, size_t n)
{
	double x[GAUGE_LOOKS];
	int err = 0;

	h->gauge.n = MIN(n, HUNT_WAYS);
	memcpy(h->gauge.page, pages, h->gauge.n * sizeof(*pages));
	for (int i = 0; i < GAUGE_LOOKS && !err; i++)
		err = hunt_cost(h, pages, h->gauge.n, 4, HUNT_TURNS, &x[i]);
	if (err)
		return err;
	sonde_stats_sort(x, GAUGE_LOOKS);
	h->gauge.cycles = sonde_stats_quantile(x, GAUGE_LOOKS, CALM_SHARE);
	return 0;
}

/* The second least of several draws: the least may owe it to noise. */
static double second_least(const double *x)
{
	double sorted[DRAWS];

	memcpy(sorted, x, sizeof(sorted));
	sonde_stats_sort(sorted, DRAWS);
	return sorted[1];
}

/*
 * Cycles a load of @n lines that did not conflict, and what translation adds to them:
 * of several draws, each by itself, since each has its own noise. The draw to *@pages.
 */
static int cheapest_load(struct hunt *h, size_t n, double *cycles, double *extra,
			 const uint32_t **pages)
{
	double x[DRAWS], extras[DRAWS];
	const uint32_t *drawn[DRAWS];
	int err = 0;

	for (int i = 0; i < DRAWS && !err; i++) {
		drawn[i] = hunt_draw(h, n);
		err = hunt_wait_calm(h);
		if (!err)
			err = hunt_translation(h, drawn[i], n, &extras[i]);
		if (!err)
			err = hunt_cost(h, drawn[i], n, 8, HUNT_TURNS, &x[i]);
	}
	if (err)
		return err;
	*cycles = second_least(x);
	*extra = second_least(extras);
	for (int i = 0; i < DRAWS; i++)
		if (x[i] == *cycles)
			*pages = drawn[i];
	return 0;
}

/*
 * Cycles a load of @n lines without translation, of which a load that hits in this
 * level hides a part: if it adds less than it does in the first level, but not much
 * less, they are hits as the fewer ones were that cost h->hit.
 */
static int cost_of_more(struct hunt *h, size_t n, double *cycles)
{
	const uint32_t *pages;
	double extra = 0, more;
	int err = cheapest_load(h, n, cycles, &extra, &pages);

	more = *cycles - h->hit;
	*cycles = more < extra && more > SHOWN * extra ? h->hit : *cycles - extra;
	return err;
}

/* Another line in the place of the @i-th of h->list, if all then cost less. */
static int exchange(struct hunt *h, size_t n, size_t i, double *best, int *better)
{
	uint32_t page = h->list[i], other = *hunt_draw(h, 1);
	double cycles = 0;
	int err;

	if (hunt_is_among(h->list, n, other))
		return 0;
	h->list[i] = other;
	err = hunt_cost(h, h->list, n, 8, HUNT_TURNS, &cycles);
	if (!err && cycles < *best * IMPROVED) {
		*best = cycles;
		*better = 1;
		return 0;
	}
	h->list[i] = page;
	return err;
}

/*
 * A draw of @n lines made to conflict less and less: others in the place of those
 * that make it cost more. They tell a hit if they then cost less.
 */
static int improve_few(struct hunt *h, size_t n)
{
	double cycles = 0, extra = 0;
	int err, better = 1;

	memcpy(h->list, hunt_draw(h, n), n * sizeof(*h->list));
	err = hunt_cost(h, h->list, n, 8, HUNT_TURNS, &cycles);
	for (int round = 0; round < IMPROVE_ROUNDS && better; round++) {
		better = 0;
		for (size_t i = 0; i < n && !err; i++)
			err = exchange(h, n, i, &cycles, &better);
	}
	if (!err)
		err = hunt_translation(h, h->list, n, &extra);
	if (!err)
		err = hunt_cost(h, h->list, n, 8, HUNT_TURNS, &cycles);
	if (err || cycles - extra > h->hit)
		return err;
	h->hit = cycles - extra;
	return set_gauge(h, h->list, n);
}

/* What few lines cost, of which some draw did not conflict: also the gauge. */
static int cost_of_few(struct hunt *h, size_t few)
{
	double extra = 0;
	const uint32_t *pages;
	int err;

	h->gauge.n = 0;
	err = cheapest_load(h, few, &h->hit, &extra, &pages);
	if (!err)
		err = set_gauge(h, pages, few);
	/* Again, where nothing disturbs. */
	if (!err)
		err = cheapest_load(h, few, &h->hit, &extra, &pages);
	h->hit -= extra;
	return err;
}

/*
 * Some replacements keep a few lines in the level above however many come by. So
 * a hit is what more lines cost more, not what a line costs.
 */
static int find_hit(struct hunt *h)
{
	size_t few = 4 * h->above + 1;
	double some, more = 0, most = INFINITY;
	int err;

	if (2 * few > h->npages)
		return -ERANGE;
	h->kept = 0;
	err = cost_of_few(h, few);
	if (!err)
		err = cost_of_more(h, 2 * few, &more);
	if (!err && 3 * few <= h->npages)
		err = cost_of_more(h, 3 * few, &most);
	if (err)
		return err;
	some = h->hit;
	/* More of them conflict in every draw, and so may these. */
	if (more > FEW_MORE * some)
		return improve_few(h, few);
	/*
	 * The difference is noise, or replacement at random kept some of the few; if it is
	 * no matter of conflicts, still more would not cost still more.
	 */
	if (some > FEW_LESS * more) {
		h->hit = most - more < (more - some) / 2 ? fmax(some, more) : some;
		return 0;
	}
	/* Where lines are kept, still more do not cost less: then it was noise. */
	if (most + (more - some) / 3 < more)
		return 0;
	h->hit = 2 * more - some;
	h->kept = fmax(0, (double)few * (h->hit - some));
	return 0;
}

static int extra_cost(struct hunt *h, size_t n, double *clean, double *extra)
{
	const uint32_t *pages = hunt_draw(h, n);
	double cycles = 0;
	int err;

	err = hunt_clean_cost(h, pages, n, clean);
	if (!err)
		err = hunt_wash(h, pages, n, n);
	if (!err)
		err = hunt_cost(h, pages, n, 4, HUNT_TURNS, &cycles);
	*extra = cycles - *clean;
	return err;
}

/* The least of draws that all rise: what disturbs one is no level. */
static int least_cost(struct hunt *h, size_t n, double *clean, double *extra)
{
	double again = 0;
	int err = 0;

	*extra = INFINITY;
	for (int i = 0; i < RISE_DRAWS && *extra >= RISE * *clean && !err; i++) {
		err = extra_cost(h, n, clean, &again);
		*extra = fmin(*extra, again);
	}
	return err;
}

/* The median of @draws, DRAWS at most. */
static int typical_cost(struct hunt *h, size_t n, size_t draws, double *clean, double *extra)
{
	double x[DRAWS];
	int err = 0;

	for (size_t i = 0; i < draws && !err; i++)
		err = extra_cost(h, n, clean, &x[i]);
	if (err)
		return err;
	sonde_stats_sort(x, draws);
	*extra = sonde_stats_median(x, draws);
	return 0;
}

/*
 * What a miss costs more, by the lines that first overflow some sets: three times as
 * many nearly all miss. Where the next level is not much larger they miss that
 * too, which costs far more; and where the level has a set or two for all of them, they miss
 * even moved apart, and seem to cost nothing more. Then half as many again must do, of which
 * only some miss at all. It is better told by a class (hunt_refine).
 */
static int find_penalty(struct hunt *h, size_t n, double *clean)
{
	double some = 0, most = 0;
	int err = typical_cost(h, MIN(n + n / 2, h->npages), RISE_DRAWS, clean, &some);

	if (!err)
		err = typical_cost(h, MIN(3 * n, h->npages), RISE_DRAWS, clean, &most);
	h->penalty = most > HUNT_TOO_FAR * h->hit || most < some / 2 ? some : most;
	h->rise = n;
	return err;
}

/*
 * Half as many lines as begin to overflow the level mostly overflow no set: what they cost more
 * than a hit, if that counts for so few (hunt_clean_cost), it was told wrong by: some replacements
 * keep lines in the level above in some orders only. Something else may have made either side dear.
 */
static int mend_hit(struct hunt *h)
{
	const size_t n = MIN(h->rise / 2, h->first_lines / HUNT_FIRST_SHARE);
	double clean, more = 0;
	int err;

	/* So few are hits of the level above. */
	if (n <= h->above)
		return 0;
	err = typical_cost(h, n, DRAWS, &clean, &more);
	if (!err)
		h->hit += more;
	return err;
}

/* The first rise of the cost over the number of lines: the next level. */
int hunt_calibrate(struct hunt *h)
{
	double clean = 0, extra = 0;
	int err;

	if (h->singly)
		return singly_calibrate(h);
	err = find_hit(h);

	/* A pool that is too small overflows nothing. */
	if (err == -ERANGE)
		return 0;
	for (size_t n = 2 * h->above + 2, last = 0; !err && n > last; last = n,
	     n = MIN(n + n / 3, h->npages)) {
		err = least_cost(h, n, &clean, &extra);
		if (err || extra < RISE * clean)
			continue;
		err = find_penalty(h, n, &clean);
		/* It goes on where there are more lines, or is something else. */
		if (err || h->penalty <= MAX(RISE * clean, MIN(GOES_ON * extra, h->hit / 2)))
			continue;
		err = mend_hit(h);
		return err ? err : 1;
	}
	return err;
}

/* @n pages that follow each other in the pool, but for flush lines'. */
static void draw_others(struct hunt *h, size_t n, uint32_t *pages)
{
	size_t at = sonde_rng_below(&h->t->rng, h->npages);

	for (size_t found = 0; found < n; at = (at + 1) % h->npages)
		if (!hunt_is_among(h->flush, h->nflush, h->pages[at]))
			pages[found++] = h->pages[at];
}

/* Conflicts only cost more, so it is told by those that cost little. */
int hunt_mend_kept(struct hunt *h, double *misses)
{
	uint32_t pages[KEPT_LINES];
	double x[KEPT_DRAWS];
	int err = 0;

	*misses = 0;
	if (h->npages < h->nflush + KEPT_LINES)
		return 1;
	for (int i = 0; i < KEPT_DRAWS && !err; i++) {
		draw_others(h, KEPT_LINES, pages);
		err = hunt_misses_again(h, pages, KEPT_LINES, &x[i]);
	}
	if (err)
		return err;
	sonde_stats_sort(x, KEPT_DRAWS);
	*misses = fmax(0, -sonde_stats_quantile(x, KEPT_DRAWS, KEPT_SHARE));
	h->kept += *misses * h->penalty;
	return 1;
}

int hunt_refine(struct hunt *h, const struct class *c, size_t n)
{
	double clean, cycles = 0;
	int err;

	if (h->singly)
		return singly_refine(h, c, n);
	err = hunt_clean_cost(h, c->page, n, &clean);

	if (!err)
		err = hunt_cost(h, c->page, n, 16, 4 * HUNT_TURNS, &cycles);
	/* So few lines of an exclusive level that it and the level above hold them all. */
	if (err || cycles < (1 + REFINE_LEAST) * clean)
		return err;
	/* Much more: they miss the next level too. */
	h->penalty = fmin(cycles - clean, REFINE_MOST * h->penalty);
	return 0;
}
