// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Whether lines beside each other are two: one is seen to be in the level when the other is
 * not. Lines of some pages are taken in pairs, the second one straight before the first; in
 * between those of other pages push the first out of the level, and never the second. What
 * brings only one of the other pages' two lines is a load of it, or a prefetcher where
 * another one completes pairs. Then the second costs a hit, and the first after it a miss:
 * of a line that has both it would be a hit, whatever the replacement.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <sonde/stats.h>
#include "parted.h"
#include "shuffle.h"

/* Turns before the looks, and looks. */
#define WARM		4
#define TURNS		64
/* Of a miss, the share that the first of a pair costs more than the second: halves of a line cost
 * less, and a miss may be said to be of the next level. */
#define SEEN		0.15
/* Of a load that took longer, by so many misses, something else took the rest. */
#define MOST		2
/*
 * All pages are entered at one line, away from the others: a prefetcher that learns by it what
 * else of a page is used then learns of more pages that are no pairs.
 */
#define ENTRY		0
/* Loads of a page at most, of a pair's. */
#define LOADS		4
#define PAIR_LOADS	3

/*
 * What may bring the line at an offset: loads at so many units before it, in their order.
 * Itself; the next of each line; streams of lines, which are followed by four; strides, by two.
 */
static const struct way {
	unsigned int n, distance[LOADS - 1];
	int is_by_unit;		/* only if lines are as long as the unit */
} ways_in[] = {
	{ 1, { 0 }, 0 },
	{ 1, { 1 }, 1 },
	{ 3, { 6, 5, 4 }, 1 },
	{ 3, { 12, 9, 6 }, 0 },
};

/**
 * struct path - flush lines, pairs, lines of other pages
 * @places: of @n
 * @first: the first pair's
 * @pairs: of them
 */
struct path {
	uint32_t *places;
	size_t n, first, pairs;
};

static void add(struct path *p, uint32_t page, uint32_t offset)
{
	p->places[p->n++] = (page * METER_CHUNK + offset) / METER_PLACE;
}

static void flush(struct path *p, const struct parted *set, uint32_t offset)
{
	for (size_t i = 0; i < set->nflush; i++)
		add(p, set->flush[i], offset);
}

static void lay(struct path *p, const struct parted *set, const struct way *way, uint32_t a,
		uint32_t b, uint32_t unit)
{
	p->n = 0;
	flush(p, set, a);
	flush(p, set, b);
	for (unsigned int k = 0; k < way->n; k++)
		if (way->distance[k])
			flush(p, set, a - way->distance[k] * unit);
	shuffle(&set->t->rng, p->places, p->n);
	p->first = p->n;
	for (size_t i = 0; i < set->n; i++) {
		add(p, set->page[i], ENTRY);
		if (i < p->pairs) {
			add(p, set->page[i], b);
			add(p, set->page[i], a);
			continue;
		}
		for (unsigned int k = 0; k < way->n; k++)
			add(p, set->page[i], a - way->distance[k] * unit);
	}
}

/* Cycles that the first lines of pairs cost more than the second ones before them. */
static int compare(const struct parted *set, struct path *p, struct meter_window *windows,
		   double *ticks, double *cycles)
{
	struct trial *t = set->t;
	double cycle = t->chain_ns / t->meter->chain_cycles / t->meter->tick_ns, sum = 0, most;
	const struct meter_window *first = windows + p->first;
	size_t n = 0;
	int err = trial_tick(t);

	if (!err)
		err = trial_path(t, p->places, p->n);
	if (err)
		return err;
	trial_walk(t, WARM);
	for (int turn = 0; turn < TURNS; turn++) {
		t->meter->ops->chase(t->meter, 0, 1, windows, p->n);
		n = 0;
		for (size_t i = 0; i < PAIR_LOADS * p->pairs; i++)
			if (i % PAIR_LOADS)
				ticks[n++] = (double)first[i].ticks;
		sonde_stats_sort(ticks, n);
		most = sonde_stats_quantile(ticks, n, 0.25) + MOST * set->penalty * cycle;
		for (size_t i = 0; i < PAIR_LOADS * p->pairs; i += PAIR_LOADS)
			sum += fmin((double)first[i + 2].ticks, most) -
			       fmin((double)first[i + 1].ticks, most);
	}
	t->loads += TURNS * p->n;
	t->samples += TURNS * p->n;
	*cycles = sum / cycle / (double)(TURNS * p->pairs);
	return 0;
}

int parted_look(const struct parted *set, uint32_t a, uint32_t b, uint32_t unit)
{
	size_t most = LOADS * set->n + (1 + LOADS) * set->nflush;
	struct path p = { .places = malloc(most * sizeof(*p.places)),
			  .pairs = set->ways > 1 ? set->ways / 2 : 1 };
	struct meter_window *windows = malloc(most * sizeof(*windows));
	double *ticks = malloc(most * sizeof(*ticks)), cycles = 0;
	int err = p.places && windows && ticks ? 0 : -ENOMEM;
	int parted = 0;

	for (size_t i = 0; i < sizeof(ways_in) / sizeof(*ways_in) && !err; i++) {
		if (set->n < p.pairs + set->ways + 1 || ways_in[i].distance[0] * unit > a)
			continue;
		lay(&p, set, &ways_in[i], a, b, unit);
		err = compare(set, &p, windows, ticks, &cycles);
		if (err || cycles < SEEN * set->penalty)
			continue;
		parted = ways_in[i].is_by_unit ? 2 : 1;
		if (parted > 1)
			break;
	}
	free(p.places);
	free(windows);
	free(ticks);
	return err ? err : parted;
}

int parted_line(const struct parted *set, uint32_t a, uint32_t d)
{
	int parted = parted_look(set, a, a + d, d);

	if (parted == 1)
		return 0;
	return parted > 1 ? parted_look(set, a + d / 2, a + d, d) : parted;
}
