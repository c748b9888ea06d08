// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Whether a level holds what its ways, its classes and the offsets that share them make.
 * Each is told by a few sets; so, at last, lines at all offsets of pages in any frames are
 * taken: three quarters of what it would hold, one and a half times as many, three times. Of
 * a level of that size the first miss far less than the second, and these hardly less than the
 * third; of one half as large the first miss nearly as the second, of one twice as large the
 * second far less than the third.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "shuffle.h"
#include "survey.h"

/* Turns before a look, and of it. */
#define WARM		2
#define TURNS		1
#define ORDERS		3
/* Sixteenths of the pages' lines: fewer than it holds, more, and far more. */
#define FEWER		3
#define MORE		6
#define MOST		12
/* Lines over those that the first level holds, so that hits are beyond it. */
#define BEYOND		2
/* Bytes of the pages over those of the level. */
#define PAGES		4
/* Shares of what more lines miss that fewer do at most, and of far more that more do at least. */
#define SHARE_MOST	0.5
#define SHARE_LEAST	0.35
/* Of those that far more than fit there, the share that misses at least. */
#define MISSING		0.1
/* The level over the first, at least: of these many lines that hits no more than hardly any. */
#define LARGER		8

/**
 * struct footprint - lines at all offsets of @n pages: every METER_LINE, whatever the level's are
 * @ring: room for them all
 */
struct footprint {
	const uint32_t *pages;
	size_t n;
	uint32_t *ring;
};

/*
 * Cycles a load of @run lines of each page, from any one on, in any order. All pages are gone
 * through in the same order for each, so translation costs as much however many there are.
 */
static int cost_once(struct survey *s, const struct footprint *f, size_t run, double *cycles)
{
	uint32_t places[METER_CHUNK_LINES];
	int err = trial_tick(s->t);

	for (size_t i = 0; i < f->n; i++) {
		uint32_t first = (uint32_t)sonde_rng_below(&s->t->rng, METER_CHUNK_LINES);

		for (uint32_t j = 0; j < run; j++)
			places[j] = f->pages[i] * METER_CHUNK_PLACES +
				    (first + j) % METER_CHUNK_LINES * METER_LINE_PLACES;
		shuffle(&s->t->rng, places, run);
		for (size_t j = 0; j < run; j++)
			f->ring[j * f->n + i] = places[j];
	}
	if (!err)
		err = trial_path(s->t, f->ring, run * f->n);
	if (!err)
		*cycles = trial_look(s->t, WARM, TURNS);
	return err;
}

/* The least of several, as what disturbs adds to it. */
static int cost(struct survey *s, const struct footprint *f, size_t run, double *cycles)
{
	double once = 0;
	int err = 0;

	*cycles = INFINITY;
	for (int i = 0; i < ORDERS && !err; i++) {
		err = cost_once(s, f, run, &once);
		*cycles = fmin(*cycles, once);
	}
	return err;
}

int survey_holds(struct survey *s, const uint32_t *pages, size_t npages, double bytes)
{
	struct footprint f = {
		.pages = pages, .n = (size_t)(PAGES * bytes / METER_CHUNK),
	};
	const size_t held = stride_lines(s->first), part = METER_CHUNK_LINES / 16;
	size_t run[] = { 0, FEWER * part, MORE * part, MOST * part };
	double cycles[4], share[4];
	int err = 0;

	if (!f.n || npages < f.n || bytes < LARGER * (double)held * METER_LINE)
		return -ENODATA;
	run[0] = BEYOND * held / f.n + 1;
	f.ring = malloc(f.n * METER_CHUNK_LINES * sizeof(*f.ring));
	if (!f.ring)
		return -ENOMEM;
	for (int i = 0; i < 4 && !err; i++)
		err = cost(s, &f, run[i], &cycles[i]);
	free(f.ring);
	if (err)
		return err;
	/* Beyond the next level it is no miss of this one, which costs a hit more at least. */
	for (int i = 1; i < 4; i++)
		share[i] = fmin((cycles[i] - cycles[0]) / fmax(s->penalty, s->hit), 1);
	if (share[3] <= MISSING || share[2] <= SHARE_LEAST * share[3] ||
	    share[1] >= SHARE_MOST * share[2])
		return HOLDS_NOT;
	/* Of one twice as large these are what fits, and what does not. */
	return share[2] >= SHARE_MOST * share[3] ? HOLDS_THIS : HOLDS_MORE;
}
