// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include <sonde/stats.h>
#include "hunt.h"
#include "shuffle.h"

#define TURNS		4
/* Turns before a look; each look is only taken if the one before saw misses. */
static const double warm_turns[] = { 4, 8, 16, 32, 64, 128 };
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
/* A rise of the cost by this share is the next level. */
#define RISE		0.06
/* Draws that all have to show it. */
#define RISE_DRAWS	3
/* What the next level costs more is not this much, in hits. */
#define TOO_FAR		8
/* With more lines it is this much more. */
#define GOES_ON		1.25
/* Of a level's lines, those that stay in it whatever prefetchers bring. */
#define FIRST_SHARE	4
#define SECOND_SHARE	4
/* Lines over those that the first level holds, so that it holds none. */
#define FIRST_CROWD	2
/* What a class makes of a penalty is at most this much more than was thought. */
#define REFINE_MOST	4
/* Lines that cost less than this share more than hits are hits: they tell no penalty. */
#define REFINE_LEAST	0.2
/* Draws of a few lines, of which the cheapest had no conflict. */
#define DRAWS		6
/* Looks at lines that do not conflict when they are chosen, and the share of them that
 * nothing disturbed. */
#define GAUGE_LOOKS	200
#define CALM_SHARE	0.1
/* They cost this much more where something does; seconds until it is waited for no more. */
#define CALM		1.02
#define PATIENCE_S	0.01
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
/* Flush lines are looked at in so many groups. */
#define PURIFY_GROUPS	4
/* Lines to try in the place of one of them. */
#define SPARE_TRIES	8
/* Pages tested at once. */
#define GROUP_MAX	24
/* Steps that may be taken back. */
#define FAULTS		50

int hunt_open(struct hunt *h, struct trial *t, const uint32_t *pages, size_t npages)
{
	h->t = t;
	h->pages = pages;
	h->npages = npages;
	h->ring = malloc((npages + HUNT_WAYS) * sizeof(*h->ring));
	h->list = malloc((npages + HUNT_WAYS) * sizeof(*h->list));
	h->places = malloc((npages + HUNT_WAYS) * sizeof(*h->places));
	if (h->ring && h->list && h->places)
		return 0;
	hunt_close(h);
	return -ENOMEM;
}

void hunt_close(struct hunt *h)
{
	free(h->ring);
	free(h->list);
	free(h->places);
	h->ring = h->list = h->places = NULL;
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
		out[i] = pages[i] * METER_CHUNK_PLACES +
			 (uint32_t)((h->offset + i % groups * step) % METER_CHUNK) / METER_PLACE;
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

/* What translation adds to a load: one line a page, which all fit the first level. */
static int translation(struct hunt *h, const uint32_t *pages, size_t n, double *cycles)
{
	int err = cost(h, pages, n, METER_CHUNK_LINES, 2, TURNS, cycles);

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
 * Wait until the gauge costs what it did. If that does not come back, this is how
 * it is from now on; so is what costs less twice.
 */
static int wait_calm(struct hunt *h)
{
	const struct gauge *g = &h->gauge;
	double cycles = INFINITY, least = INFINITY, end = trial_elapsed(h->t) + PATIENCE_S, before;
	int err = 0;

	while (g->n && !err) {
		before = cycles;
		err = cost(h, g->page, g->n, 1, 4, TURNS, &cycles);
		least = fmin(least, cycles);
		if (CALM * fmax(cycles, before) < g->cycles) {
			shift_hit(h, fmax(cycles, before));
			break;
		}
		if (cycles <= CALM * g->cycles && CALM * cycles >= g->cycles)
			break;
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
	err = cost(h, pages, n, groups, 2, TURNS, cycles);
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
	const int few = n <= h->first_lines / FIRST_SHARE;
	size_t groups = n / (CROWD * h->above);
	double apart = INFINITY;
	int err = wait_calm(h);

	if (err)
		return err;
	if (n > FIRST_CROWD * h->first_lines && SECOND_SHARE * (double)n < h->second_lines) {
		err = cost(h, pages, n, METER_CHUNK_LINES, 2, TURNS, cycles);
		*cycles += h->hit - h->second_hit - h->kept / (double)n;
		return err;
	}
	*cycles = INFINITY;
	if (few || groups < 2) {
		err = translation(h, pages, n, cycles);
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

/* Misses a turn of the ring at hand, 0 as soon as there was none in two looks. */
static double settled_misses(struct hunt *h, double clean)
{
	double n = (double)h->t->nring, misses = 0, before = 0;
	double least, noise;
	int looks = is_brief(h) ? LOOKS_BRIEF : h->t->nring > SMALL ? LOOKS_LARGE : LOOKS_SMALL;
	int none = 0;

	for (int i = 0; i < looks; i++) {
		misses = (trial_look(h->t, warm_turns[i], TURNS) - clean) * n / h->penalty;
		noise = fmin(NOISES * h->t->noise, NOISE * clean);
		least = fmax(LEAST_MISSES, noise * n / h->penalty);
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

static int orders_of(const struct hunt *h, double misses)
{
	if (is_brief(h))
		return 1;
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
	int err = trial_tick(h->t), none = 0;

	if (!err)
		err = trial_ring(h->t, places, n, tail);
	if (err)
		return err;
	/* Mostly it costs no more than a hit: then translation costs nothing either. */
	misses = ((trial_look(h->t, warm_turns[0], TURNS) - h->hit) * (double)n + h->kept) /
		 h->penalty;
	if (misses < LEAST_MISSES)
		return 0;
	for (int order = 0; !err && order < orders_of(h, misses); order++) {
		/* Each time: what disturbs may have come and gone. */
		err = hunt_clean_cost(h, pages, n, &clean);
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

	to_places(h, h->list, all, 1, h->places);
	return places_overflow(h, h->places, h->list, all, h->nflush);
}

int hunt_places_overflow(struct hunt *h, const uint32_t *places, size_t n, size_t tail)
{
	for (size_t i = 0; i < n; i++)
		h->list[i] = places[i] / METER_CHUNK_PLACES;
	return places_overflow(h, places, h->list, n, tail);
}

static int is_among(const uint32_t *x, size_t n, uint32_t page)
{
	for (size_t i = 0; i < n; i++)
		if (x[i] == page)
			return 1;
	return 0;
}

/* @n pages of the pool that follow each other in its (random) order. */
static const uint32_t *draw(struct hunt *h, size_t n)
{
	return h->pages + sonde_rng_below(&h->t->rng, h->npages - n + 1);
}

/* Lines that did not conflict, to tell by whether something disturbs. */
static int set_gauge(struct hunt *h, const uint32_t *pages, size_t n)
{
	double x[GAUGE_LOOKS];
	int err = 0;

	h->gauge.n = MIN(n, HUNT_WAYS);
	memcpy(h->gauge.page, pages, h->gauge.n * sizeof(*pages));
	for (int i = 0; i < GAUGE_LOOKS && !err; i++)
		err = cost(h, pages, h->gauge.n, 1, 4, TURNS, &x[i]);
	sonde_stats_sort(x, GAUGE_LOOKS);
	h->gauge.cycles = sonde_stats_quantile(x, GAUGE_LOOKS, CALM_SHARE);
	return err;
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
		drawn[i] = draw(h, n);
		err = wait_calm(h);
		if (!err)
			err = translation(h, drawn[i], n, &extras[i]);
		if (!err)
			err = cost(h, drawn[i], n, 1, 8, TURNS, &x[i]);
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
	uint32_t page = h->list[i], other = *draw(h, 1);
	double cycles = 0;
	int err;

	if (is_among(h->list, n, other))
		return 0;
	h->list[i] = other;
	err = cost(h, h->list, n, 1, 8, TURNS, &cycles);
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

	memcpy(h->list, draw(h, n), n * sizeof(*h->list));
	err = cost(h, h->list, n, 1, 8, TURNS, &cycles);
	for (int round = 0; round < IMPROVE_ROUNDS && better; round++) {
		better = 0;
		for (size_t i = 0; i < n && !err; i++)
			err = exchange(h, n, i, &cycles, &better);
	}
	if (!err)
		err = translation(h, h->list, n, &extra);
	if (!err)
		err = cost(h, h->list, n, 1, 8, TURNS, &cycles);
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
	const uint32_t *pages = draw(h, n);
	double cycles = 0;
	int err;

	err = hunt_clean_cost(h, pages, n, clean);
	if (!err)
		err = cost(h, pages, n, 1, 4, TURNS, &cycles);
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

/* The median of as many. */
static int typical_cost(struct hunt *h, size_t n, double *clean, double *extra)
{
	double x[RISE_DRAWS];
	int err = 0;

	for (int i = 0; i < RISE_DRAWS && !err; i++)
		err = extra_cost(h, n, clean, &x[i]);
	if (err)
		return err;
	sonde_stats_sort(x, RISE_DRAWS);
	*extra = sonde_stats_median(x, RISE_DRAWS);
	return 0;
}

/*
 * What a miss costs more, by the lines that first overflow some sets: three times as
 * many nearly all miss. Where the next level is not much larger they miss that
 * too, which costs far more; then half as many again must do, of which only some
 * miss at all. It is better told by a class (hunt_refine).
 */
static int find_penalty(struct hunt *h, size_t n, double *clean)
{
	double some = 0, most = 0;
	int err = typical_cost(h, MIN(n + n / 2, h->npages), clean, &some);

	if (!err)
		err = typical_cost(h, MIN(3 * n, h->npages), clean, &most);
	h->penalty = most > TOO_FAR * h->hit ? some : most;
	h->rise = n;
	return err;
}

/* The first rise of the cost over the number of lines: the next level. */
int hunt_calibrate(struct hunt *h)
{
	double clean = 0, extra = 0;
	int err = find_hit(h);

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
		if (err || h->penalty > MAX(RISE * clean, MIN(GOES_ON * extra, h->hit / 2)))
			return err ? err : 1;
	}
	return err;
}

int hunt_refine(struct hunt *h, const struct class *c)
{
	double clean, cycles = 0;
	int err = hunt_clean_cost(h, c->page, c->n, &clean);

	if (!err)
		err = cost(h, c->page, c->n, 1, 16, 4 * TURNS, &cycles);
	/* So few lines of an exclusive level that it and the level above hold them all. */
	if (err || cycles < (1 + REFINE_LEAST) * clean)
		return err;
	/* Much more: they miss the next level too. */
	h->penalty = fmin(cycles - clean, REFINE_MOST * h->penalty);
	return 0;
}

static int overflow_with(struct hunt *h, const struct class *c, const uint32_t *from, size_t n)
{
	memcpy(h->list, c->page, c->n * sizeof(*h->list));
	memcpy(h->list + c->n, from, n * sizeof(*h->list));
	return hunt_overflows(h, h->list, c->n + n);
}

/*
 * How many of @from together with the class are the fewest that overflow; @to of
 * them do. -errno.
 */
static ssize_t fewest(struct hunt *h, const struct class *c, const uint32_t *from, size_t to)
{
	size_t clean = 0, mid;
	int over;

	while (to - clean > 1) {
		mid = (clean + to) / 2;
		over = overflow_with(h, c, from, mid);
		if (over < 0)
			return over;
		if (over)
			to = mid;
		else
			clean = mid;
	}
	return (ssize_t)to;
}

/* The first number of lines from *@n on, in steps, that overflow some set. */
static int first_overflow(struct hunt *h, const uint32_t *from, size_t nfrom, size_t *n)
{
	int err = 0;

	for (; *n < nfrom; *n = *n * 3 / 2) {
		err = hunt_overflows(h, from, *n);
		/* Twice: what disturbed once leads nowhere. */
		if (err > 0)
			err = hunt_overflows(h, from, *n);
		if (err)
			return err;
	}
	*n = nfrom;
	return hunt_overflows(h, from, nfrom);
}

/*
 * Have a spare line that is not of the class flush in @i's place: without a line of
 * the class, it overflows no set. @nspare are left. Where there are few classes,
 * the others may hold no more lines: then there is one less, but not fewer than
 * push all others out of the level above. 1, 0 if it cannot be, -errno.
 */
static int replace_flush(struct hunt *h, const struct class *c, size_t i, const uint32_t *spare,
			 size_t *nspare)
{
	int over = 1;

	for (int tries = 0; over > 0 && *nspare && tries < SPARE_TRIES; tries++) {
		h->flush[i] = spare[--*nspare];
		over = hunt_overflows(h, c->page, c->n - 1);
	}
	if (over <= 0)
		return over < 0 ? over : 1;
	h->flush[i] = h->flush[--h->nflush];
	return h->nflush >= h->above;
}

/*
 * Among the @n flush lines from @first on, the first that is of the class: it then
 * overflows nothing without them. To *@at; 1, 0 if there is none, -errno.
 */
static int find_suspect(struct hunt *h, const struct class *c, size_t first, size_t n, size_t *at)
{
	uint32_t flush[HUNT_WAYS];
	const size_t all = h->nflush;
	int over;

	memcpy(flush, h->flush, all * sizeof(*flush));
	memmove(h->flush + first, flush + first + n, (all - first - n) * sizeof(*flush));
	h->nflush = all - n;
	over = hunt_overflows(h, c->page, c->n);
	memcpy(h->flush, flush, all * sizeof(*flush));
	h->nflush = all;
	*at = first;
	if (over || n == 1)
		return over < 0 ? over : !over;
	over = find_suspect(h, c, first, n / 2, at);
	return over ? over : find_suspect(h, c, first + n / 2, n - n / 2, at);
}

/*
 * Flush lines that are of the class go over to it, others take their place. They
 * are looked at in groups, but most of them have to stay to flush anything.
 */
static int purify(struct hunt *h, struct class *c, const uint32_t *spare, size_t nspare)
{
	size_t group = MAX(h->nflush / PURIFY_GROUPS, 1), at = 0, n;
	int err;

	for (size_t first = 0; first < h->nflush;) {
		n = MIN(group, h->nflush - first);
		err = find_suspect(h, c, first, n, &at);
		if (err < 0)
			return err;
		if (!err) {
			first += n;
			continue;
		}
		if (c->n == HUNT_WAYS)
			return 0;
		c->page[c->n++] = h->flush[at];
		err = replace_flush(h, c, at, spare, &nspare);
		if (err <= 0)
			return err;
	}
	return 1;
}

/*
 * Drop lines that the class does not need: among many lines a single miss is
 * easily not seen, and then a line more was taken than was needed.
 */
static int prune(struct hunt *h, struct class *c)
{
	uint32_t page;
	int over;

	for (size_t i = c->n; i-- > 0;) {
		page = c->page[i];
		c->page[i] = c->page[--c->n];
		over = hunt_overflows(h, c->page, c->n);
		if (over < 0)
			return over;
		if (over)
			continue;
		c->page[c->n++] = c->page[i];
		c->page[i] = page;
	}
	return 1;
}

/* Whether no line of the class can be spared. */
static int is_minimal(struct hunt *h, const struct class *c)
{
	struct class less;
	int err;

	for (size_t i = 0; i < c->n; i++) {
		less = *c;
		less.page[i] = less.page[--less.n];
		err = hunt_overflows(h, less.page, less.n);
		if (err)
			return err < 0 ? err : 0;
	}
	return 1;
}

size_t hunt_drop(uint32_t *pages, size_t n, const uint32_t *not, size_t nnot)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!is_among(not, nnot, pages[i]))
			pages[kept++] = pages[i];
	return kept;
}

/*
 * The last line of the fewest that overflow is of the class that does; with it
 * at hand, fewer of the others do, and so on until the class is complete. A wrong
 * answer on the way shows at the next step, which then is taken back.
 */
static int collect(struct hunt *h, const uint32_t *from, size_t n, struct class *c)
{
	size_t limit[HUNT_WAYS + 1];
	unsigned int faults = 0;
	ssize_t k;
	int over;

	c->n = 0;
	limit[0] = n;
	while (h->t->loads < h->until) {
		over = overflow_with(h, c, from, limit[c->n]);
		if (over < 0)
			return over;
		if (!over) {
			if (!c->n || ++faults > FAULTS)
				return 0;
			c->n--;
			continue;
		}
		if (!limit[c->n])
			return 1;
		k = fewest(h, c, from, limit[c->n]);
		if (k < 0)
			return (int)k;
		if (c->n == HUNT_WAYS)
			return 0;
		c->page[c->n++] = from[k - 1];
		limit[c->n] = (size_t)k - 1;
		over = hunt_overflows(h, c->page, c->n);
		if (over)
			return over;
	}
	return 0;
}

int hunt_class(struct hunt *h, uint32_t *from, size_t nfrom, struct class *c)
{
	size_t n = 4;
	int err;

	c->n = 0;
	nfrom = hunt_drop(from, nfrom, h->flush, h->nflush);
	err = first_overflow(h, from, nfrom, &n);
	if (err > 0)
		err = collect(h, from, n, c);
	/* If they did not after all, more of them do. */
	while (!err && !c->n && n < nfrom) {
		n = n * 3 / 2;
		err = first_overflow(h, from, nfrom, &n);
		if (err > 0)
			err = collect(h, from, n, c);
	}
	if (err > 0)
		err = prune(h, c);
	if (err > 0 && !h->pure)
		err = purify(h, c, from + n, nfrom - n);
	if (err > 0 && h->pure)
		return c->n > 1;
	/* Again, now that no flush line stands for one of the class. */
	if (err > 0)
		err = prune(h, c);
	if (err > 0)
		err = hunt_overflows(h, c->page, c->n);
	/* One line alone: the flush lines overflow the set. */
	if (err > 0 && c->n < 2)
		return 0;
	return err > 0 ? is_minimal(h, c) : err;
}

/* A search for members at work. */
struct sieve {
	struct hunt *h;
	const struct class *c;
	unsigned int ways;
	uint32_t *from;
	size_t found, want;
};

/*
 * A page that overflows a set with the flush lines alone is of another class, of
 * which they are as many as fit.
 */
static int take(struct sieve *s, size_t i)
{
	uint32_t page = s->from[i];
	int err = hunt_overflows(s->h, &page, 1);

	if (err)
		return err < 0 ? err : 0;
	s->from[i] = s->from[s->found];
	s->from[s->found++] = page;
	return 0;
}

/* All members among from[@first..@end), one of which is known to be where @sure. */
static int sift(struct sieve *s, size_t first, size_t end, int sure)
{
	struct class some = *s->c;
	size_t before = s->found, mid;
	int err;

	if (s->found >= s->want)
		return 0;
	some.n = s->ways;
	/* What must be there because it is not elsewhere is only tested at the end. */
	if (!sure || end - first == 1) {
		s->h->brief = end - first > 1 || s->h->hasty;
		err = overflow_with(s->h, &some, s->from + first, end - first);
		s->h->brief = 0;
		if (err <= 0)
			return err;
	}
	if (end - first == 1)
		return take(s, first);
	mid = (first + end) / 2;
	err = sift(s, first, mid, 0);
	return err < 0 ? err : sift(s, mid, end, s->found == before);
}

int hunt_members(struct hunt *h, const struct class *c, unsigned int ways, uint32_t *from,
		 size_t nfrom, size_t want, size_t *found, size_t *tested)
{
	struct sieve s = { .h = h, .c = c, .ways = ways, .from = from, .want = want };
	size_t group = 4, at = 0, before;
	int err = 0;

	while (at < nfrom && s.found < want && !err) {
		before = s.found;
		if (group > nfrom - at)
			group = nfrom - at;
		err = sift(&s, at, at + group, 0);
		at += group;
		/* About every other group has a member. */
		if (s.found - before > 1 && group > 1)
			group /= 2;
		else if (s.found == before && group < GROUP_MAX)
			group++;
	}
	*found = s.found;
	*tested = at;
	return err;
}

/*
 * Other lines into every set: what some replacements do with lines that are
 * already there, in another order, is not what they do with lines that come.
 */
static int wash(struct hunt *h)
{
	size_t n = h->npages < WASH * h->rise ? h->npages : WASH * h->rise;

	to_places(h, draw(h, n), n, 1, h->places);
	return trial_ring(h->t, h->places, n, 0);
}

int hunt_misses(struct hunt *h, const uint32_t *pages, size_t n, int flush, double *misses)
{
	size_t all = n;
	double clean, cycles, before;
	int err = wash(h);

	if (err)
		return err;
	memcpy(h->list, pages, n * sizeof(*pages));
	if (flush)
		all = with_flush(h, h->list, n);
	err = hunt_clean_cost(h, h->list, all, &clean);
	if (!err)
		err = cost_of(h, h->list, all, flush ? h->nflush : 0, 1, all > SMALL ? 4 : 16,
			      all > SMALL ? 4 : 8, &cycles);
	/* What is beyond may take long to let go of what was there before. */
	for (int i = 0; !err && all > SMALL && i < SETTLE_LOOKS; i++) {
		before = cycles;
		cycles = fmin(trial_look(h->t, 4, 4), before);
		if (cycles > SETTLED * before)
			break;
	}
	if (!err)
		*misses = (cycles - clean) * (double)all / h->penalty;
	return err;
}
