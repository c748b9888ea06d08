// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Ways, classes and offsets that share sets of a second level, by what it holds, exactly
 * (fill.h). Nothing there rests on what flushes the first level, on how many misses a line
 * more than ways makes, or on draws: so it tells levels of which no class was found, and
 * counts those of an exclusive one.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "fill.h"
#include "survey.h"

/* Sets that were looked at, all of which have the same ways. */
#define AGREED		4
/* Of the lines that it is thought to hold, those that overflow some set. */
#define BEGINS		0.6
/* A count and an estimate that differ by more than this factor contradict each other. */
#define CONTRADICTION	1.25
/*
 * Times that the first level is to be seen without a line of a set, for an exclusive level's
 * to be full, and turns in which it may be.
 */
#define EMPTY_LEAST	18
#define TURNS		3

/* A class of the filled level, with all that it tells, instead of what is known. 1, 0, -errno. */
static int adopt(struct survey *s, const struct fill *f, const struct filled *filled)
{
	struct survey *full = malloc(sizeof(*full));
	int err;

	if (!full)
		return -ENOMEM;
	*full = (struct survey){
		.t = s->t, .first = s->first, .above = s->above, .pages = s->pages,
		.npages = s->npages, .seen = 1, .hit = s->hit, .kept = s->kept,
		.penalty = f->miss - f->hit, .rise = s->rise, .gauge = s->gauge,
		.brief = s->brief, .washes = 1, .until = s->until,
		.votes = AGREED, .tried = AGREED, .fold = filled->fold, .offset = f->offset,
		.apart = s->apart, .napart = s->napart, .nsure = s->nsure, .nacross = s->nacross,
		.by_use = s->by_use,
	};
	err = survey_adopt(full, &f->set, filled->ways, f->pages,
			   hunt_drop(f->pages, f->n, f->set.page, f->set.n));
	if (err > 0)
		*s = *full;
	free(full);
	return err;
}

/* Whether the first level is likely to have been without lines of each set. */
static int was_above_empty(const struct survey *s, size_t lines, double classes)
{
	return TURNS * (double)lines * pow(1 - 1 / classes, s->above) > EMPTY_LEAST;
}

/* Whether what was found before has other ways, or far from as many classes. */
static int is_contradicted(const struct survey *s, const struct filled *filled, double classes)
{
	return s->ways != filled->ways || classes > CONTRADICTION * s->classes ||
	       s->classes > CONTRADICTION * classes;
}

int survey_fill(struct survey *s, int is_consistent)
{
	struct filled filled;
	struct fill f = { .t = s->t };
	/* A few draws may overflow it far before most do. */
	double rise = is_consistent ? BEGINS * s->ways * s->classes : 0, classes;
	int told = fill_open_pages(&f, s->t, s->pages, s->npages);

	if (!told)
		told = fill_second(&f, s->above, (size_t)fmax((double)s->rise, rise), &filled);
	classes = told > 0 ? (double)(filled.lines / filled.ways) : 0;
	if (told > 0)
		told = was_above_empty(s, filled.lines, classes);
	if (told > 0 && !is_consistent)
		told = adopt(s, &f, &filled);
	else if (told > 0)
		told = !is_contradicted(s, &filled, classes);
	if (told > 0) {
		s->doubtful = is_consistent && s->fold != filled.fold;
		s->fold = filled.fold;
		s->classes = classes;
		s->classes_se = 0;
		s->sorted = (size_t)classes;
	}
	fill_close(&f);
	return told;
}
