// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Whether a level holds what its ways, its classes and the offsets that share them make.
 * Each is told by a few sets; so, at last, lines at all offsets of pages in any frames are
 * taken: three quarters of what it would hold, one and a half times as many, three times. Of
 * a level of that size the first miss far less than the second, and these hardly less than the
 * third; of one half as large the first miss nearly as the second, of one twice as large the
 * second far less than the third. The next level may be so crowded by others that it looks like
 * that, too: so a quarter and half of what fits have to cost hits of this level.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/param.h>

#include "shuffle.h"
#include "survey.h"
#include "urns.h"

/* Turns before a look, and of it. */
#define WARM		2
#define TURNS		1
#define ORDERS		3
/* What they differ by, at most, if nothing disturbs. */
#define ALIKE		0.03
/* Lines that are far more than the level holds, over those. */
#define MOST		3
/* Lines over those that the first level holds, so that hits are beyond it. */
#define BEYOND		2
/* Bytes of the pages over those of the level, if there are so many. */
#define PAGES		4
/* Shares of what more lines miss that fewer do at most, and of far more that more do at least. */
#define SHARE_MOST	0.5
#define SHARE_LEAST	0.35
/* Of those that far more than fit there, the share that misses at least. */
#define MISSING		0.1
/*
 * What fits overflows some sets by chance. What it costs, over what that costs where the
 * replacement makes most misses of it, and hits more than that, at most.
 */
#define CROWDED		1.5
#define NOISE		0.4
/* The level over the first, at least: of these many lines that hits no more than hardly any. */
#define LARGER		8
/* Lines over those that a level would hold, of which a quarter would miss whatever it replaces;
 * and these, over hardly any. */
#define MORE		1.5
#define MISSING_MORE	0.25
#define HARDLY		0.5
/* What is known to fit grows by this; so much more than hits, in hits, is misses. */
#define GROWS		1.5
#define MISSES		0.5

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
static int cost_once(struct trial *t, const struct footprint *f, size_t run, double *cycles)
{
	uint32_t places[METER_CHUNK_LINES];
	int err = trial_tick(t);

	for (size_t i = 0; i < f->n; i++) {
		uint32_t first = (uint32_t)sonde_rng_below(&t->rng, METER_CHUNK_LINES);

		for (uint32_t j = 0; j < run; j++)
			places[j] = meter_place(f->pages[i],
						(first + j) % METER_CHUNK_LINES * METER_LINE);
		shuffle(&t->rng, places, run);
		for (size_t j = 0; j < run; j++)
			f->ring[j * f->n + i] = places[j];
	}
	if (!err)
		err = trial_path(t, f->ring, run * f->n);
	if (!err)
		*cycles = trial_look(t, WARM, TURNS);
	return err;
}

/* The least of several, as what disturbs adds to it; in a guest, of two if these are alike. */
static int cost(struct trial *t, const struct footprint *f, size_t run, double *cycles)
{
	double once = INFINITY, before;
	int err = 0, alike = 0;

	*cycles = INFINITY;
	for (int i = 0; i < ORDERS && !alike && !err; i++) {
		before = once;
		err = cost_once(t, f, run, &once);
		alike = t->meter->is_guest && fabs(once - before) < ALIKE * once;
		*cycles = fmin(*cycles, once);
	}
	return err;
}

/* Cycles more of a miss: what a class makes of it may be twice that of another. */
static double miss(const struct survey *s)
{
	return s->penalty_least > 0 ? s->penalty_least : s->penalty;
}

/* Whether so large a part of what the level holds costs more than chance makes it, over hits. */
static int is_crowded(const struct survey *s, double part, double cycles)
{
	return cycles > CROWDED * miss(s) * urns_crowded(s->ways, part * s->ways) +
			NOISE * s->hit;
}

/* Lines that are hardly any: as few as are beyond the first level. */
static double hardly_any(const struct survey *s, const struct footprint *f)
{
	return BEYOND * stride_lines(s->first) + (double)f->n;
}

/* HOLDS_*, -errno; to *@is_hidden whether translation costs more than a miss. */
static int look(struct survey *s, const struct footprint *f, double bytes, int *is_hidden)
{
	/* Of what the level holds: hardly any; what it has to hit; fewer; more, and far more. */
	static const double part[] = { 0, 0.25, 0.75, 0.5, 1.5, MOST };
	enum { FIRST, QUARTER, FITS, HALF, OVER, FAR_OVER, NPARTS };
	/* Beyond the next level it is no miss of this one, which costs a hit more at least. */
	const double penalty = fmax(miss(s), s->hit);
	double lines, hit = INFINITY, cycles[NPARTS], share[NPARTS] = { 0 };
	int err = 0;

	for (int i = 0; i < NPARTS && share[FITS] < SHARE_MOST && !err; i++) {
		lines = i == FIRST ? hardly_any(s, f) : part[i] * bytes / METER_LINE;
		err = cost(s->t, f, (size_t)(lines / (double)f->n), &cycles[i]);
		/* More of them cost no less, if nothing disturbs. */
		if (i <= QUARTER)
			hit = fmin(hit, cycles[i]);
		share[i] = fmin((cycles[i] - hit) / penalty, 1);
	}
	if (err)
		return err;
	*is_hidden = hit > s->hit + penalty;
	if (share[FITS] >= SHARE_MOST || share[FAR_OVER] <= MISSING ||
	    share[OVER] <= SHARE_LEAST * share[FAR_OVER] ||
	    share[FITS] >= SHARE_MOST * share[OVER])
		return HOLDS_NOT;
	if (is_crowded(s, part[QUARTER], cycles[QUARTER] - hit) ||
	    is_crowded(s, part[HALF], cycles[HALF] - hit))
		return HOLDS_MAYBE;
	/* Of one twice as large these are what fits, and what does not. */
	return share[OVER] >= SHARE_MOST * share[FAR_OVER] ? HOLDS_THIS : HOLDS_MORE;
}

int survey_holds(struct survey *s, const uint32_t *pages, size_t npages, double bytes)
{
	struct footprint f = {
		.pages = pages, .n = MIN((size_t)(PAGES * bytes / METER_CHUNK), npages),
	};
	int is_hidden, holds, again;

	if (bytes < LARGER * stride_lines(s->first) * METER_LINE)
		return -ENODATA;
	if ((double)f.n * METER_CHUNK < MOST * bytes)
		return -ERANGE;
	f.ring = malloc(f.n * METER_CHUNK_LINES * sizeof(*f.ring));
	if (!f.ring)
		return -ENOMEM;
	holds = look(s, &f, bytes, &is_hidden);
	/* What comes and goes of so much that is subtracted may look like anything, once. */
	if (holds > HOLDS_MAYBE && is_hidden) {
		again = look(s, &f, bytes, &is_hidden);
		holds = MIN(holds, again);
	}
	free(f.ring);
	return holds;
}

int survey_holds_more(struct survey *s, const uint32_t *pages, size_t npages, double bytes)
{
	struct footprint f = {
		.pages = pages, .n = MIN((size_t)(PAGES * MORE * bytes / METER_CHUNK), npages),
	};
	const double few = hardly_any(s, &f);
	const double many = MORE * bytes / METER_LINE;
	double hit, cycles;
	int err;

	if (few > HARDLY * bytes / METER_LINE || many > (double)f.n * METER_CHUNK_LINES)
		return 0;
	f.ring = malloc(f.n * METER_CHUNK_LINES * sizeof(*f.ring));
	if (!f.ring)
		return -ENOMEM;
	err = cost(s->t, &f, (size_t)(few / (double)f.n), &hit);
	if (!err)
		err = cost(s->t, &f, (size_t)(many / (double)f.n), &cycles);
	free(f.ring);
	return err ? err : cycles - hit < MISSING_MORE * fmax(miss(s), s->hit);
}

int survey_fits(struct trial *t, double hit, const uint32_t *pages, size_t npages, double above,
		double most, double *bytes)
{
	struct footprint f = { .pages = pages };
	double more, few = 0, many = 0;
	int err = 0;

	*bytes = 0;
	most = fmin(most, (double)npages * METER_CHUNK);
	f.ring = malloc((size_t)most / METER_LINE * sizeof(*f.ring));
	if (!f.ring)
		return -ENOMEM;
	for (more = GROWS * BEYOND * above; more <= most; more = fmin(GROWS * more, most)) {
		f.n = MIN((size_t)(PAGES * more / METER_CHUNK), npages);
		/* So many lines of the same pages are no longer in the levels above. */
		err = cost(t, &f, MAX((size_t)(BEYOND * above / METER_LINE) / f.n, 1), &few);
		if (!err)
			err = cost(t, &f, (size_t)(more / METER_LINE) / f.n, &many);
		if (err || many - few > MISSES * hit)
			break;
		*bytes = more;
		if (more == most)
			break;
	}
	free(f.ring);
	return err;
}
