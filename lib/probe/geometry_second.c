// SPDX-License-Identifier: LGPL-2.1-or-later
/* The second level, in as many surveys as it takes, and its size by lines at all offsets. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "calm.h"
#include "ground.h"
#include "shuffle.h"
#include "told.h"

/* Pages of the pool of the second level; more where so many do not overflow it well. */
#define POOL_PAGES	4096
#define POOL_GROWS	4
#define POOL_PAGES_MOST	16384
/* Of a pool, lines that begin to overflow the level, at most. */
#define POOL_RISE	0.45
/* Pages of it over classes, at least: so that there are enough to look for them at other offsets. */
#define POOL_MEMBERS	14
/* Surveys of the second level that wash nothing, and in a guest; then those that do. */
#define GENTLE		4
#define GENTLE_GUEST	6
#define WASHED		3
/* In a guest, surveys that are equally hasty, before those twice as patient; loads of the last. */
#define HASTY		2
#define PATIENT		60000000
/* Classes that are enough in a guest, if lines at all offsets then show the size. */
#define CLASSES_FEW	2
/* Surveys beside another thread of the core that show a size, at most. */
#define BESIDE		3
/* Lines that begin to overflow a level of few sets, over ways of the first, at most. */
#define CROWDED		16
/* Classes that are soon counted, at most. */
#define COUNTED_MOST	64
/* Octaves that an estimate of classes is off from what lines at all offsets then show, at most. */
#define LIKELY_OCTAVES	0.35
/* Times that they are looked at; of these, until what may be wrong with it is asked again. */
#define LOOKS		4
#define LOOKS_ALIKE	2
/* What is left of its error if they do, a share of it. */
#define SHOWN_ERROR	0.05

/*
 * Loads for a class: in a guest few at first, as its neighbours spoil what takes long. Where
 * nothing does, as many as it takes. 0 for these.
 */
static uint64_t patience(const struct ground *w, unsigned int i)
{
	return w->t->meter->is_guest ? MIN((uint64_t)SURVEY_HASTE << i / HASTY, PATIENT) : 0;
}

/*
 * What estimates of classes which differ most likely mean: what draws do, if that is far from a
 * power of two, else one. 0 if it is far off.
 */
static double likely_classes(const struct survey *s)
{
	double octaves = log2(s->classes);

	if (told_is_uneven(s))
		return told_drawn(s);
	return fabs(octaves - round(octaves)) < LIKELY_OCTAVES ? exp2(round(octaves)) : 0;
}

/* Whether they may be lines of a level of twice as many @bytes. 1, 0, -errno. */
static int may_be_twice(struct ground *w, struct survey *s, double bytes)
{
	int holds = HOLDS_NOT;

	/* What makes something else of it hard to tell disturbs this, too, and is over soon. */
	for (int i = 0; i < (s->doubtful ? LOOKS : 1) && !holds; i++)
		holds = survey_holds(s, w->pages, w->npages, 2 * bytes);
	return holds == -ERANGE ? 0 : MIN(holds, 1);
}

/* Sets for each page's worth of lines of the pool, as far as that is known. */
static double likely_page_classes(const struct survey *s)
{
	return told_is_sized(s) ? told_page_classes(s) : likely_classes(s) / fmax(s->fold, 1);
}

/*
 * Whether lines at all offsets show the size, to *@holds. What disturbs makes it look as if it
 * held less; so do offsets that share sets and were not seen to: so in between these are asked
 * for again. 0, -errno.
 */
static int look_for_size(struct ground *w, struct survey *s, int *holds)
{
	const int is_asked = !s->fold && s->line;
	int err = is_asked ? survey_fold(s) : 0;
	unsigned int fold = s->fold;
	double bytes;

	*holds = HOLDS_NOT;
	for (int i = 0; i < LOOKS && !err; i++) {
		if (i && is_asked && (s->doubtful || i >= LOOKS_ALIKE)) {
			err = survey_fold(s);
			s->doubtful |= s->fold != fold;
		}
		bytes = s->ways * likely_page_classes(s) * METER_CHUNK;
		if (!err && bytes > 0)
			*holds = survey_holds(s, w->pages, w->npages, bytes);
		if (*holds >= HOLDS_THIS || (*holds < 0 && *holds != -ERANGE))
			break;
	}
	return err;
}

/*
 * Too small for lines at all offsets to show it: no size if they show the one that it would be if
 * no offsets shared sets, or a larger one: in a tree nothing but its own lines may fit beside
 * those that flush the first level, some of which are of the class then, and its ways seem fewer.
 * 1 if it has one, 0, -errno.
 */
static int check_small(struct ground *w, struct survey *s, double bytes)
{
	/* An exclusive one has those of the first level, too. */
	const double above = s->holding == HOLDING_OTHER ? stride_lines(s->first) * METER_LINE : 0;
	int holds = HOLDS_NOT, more;

	if (s->fold > 1)
		holds = survey_holds(s, w->pages, w->npages, bytes * s->fold);
	if (holds < 0 && holds != -ENODATA && holds != -ERANGE)
		return holds;
	more = holds >= HOLDS_THIS ? 1 :
	       survey_holds_more(s, w->pages, w->npages, bytes + above);
	if (more < 0)
		return more;
	if (more)
		s->classes = 0;
	return told_is_sized(s);
}

/*
 * Lines at all offsets show a size, whatever else was hard to tell of it, or contradict it:
 * then it is none. As long as another thread of the core fills half of it, it is half as large.
 * An exclusive level holds the first one's lines, too, which may make one of few ways look twice as
 * large: where offsets may share its sets, that is not sure, nor is any in a guest (told.c).
 * 1 if it has one, 0, -errno.
 */
static int check_size(struct ground *w, struct survey *s)
{
	int holds = HOLDS_NOT, twice = 0, before, after = 0, may_be_half, err;
	double classes;

	if (s->brief || !told_has_ways(s) || s->classes <= 0)
		return 0;
	err = calm_seek(w->t, &w->g->first, &before);
	if (!err)
		err = look_for_size(w, s, &holds);
	classes = likely_page_classes(s);
	if (err || classes <= 0)
		return err;
	may_be_half = !w->t->meter->is_guest && s->doubtful && s->holding == HOLDING_OTHER;
	/* Pages for a level far larger than the first are there, if not for one of such a size. */
	s->doubtful |= holds == -ERANGE;
	if (holds == -ENODATA)
		return check_small(w, s, s->ways * classes * METER_CHUNK);
	if (holds == -ERANGE)
		return told_is_sized(s);
	/* If not all sets that lines at one offset fall into were counted, or others share them. */
	if ((!s->sorted || s->fold != 1) &&
	    (holds == HOLDS_MORE || (holds == HOLDS_THIS && s->doubtful)))
		twice = may_be_twice(w, s, s->ways * classes * METER_CHUNK);
	if (holds < 0 || twice < 0)
		return MIN(holds, twice);
	if (holds < HOLDS_THIS || twice) {
		s->classes = 0;
		return 0;
	}
	s->classes = classes * fmax(s->fold, 1);
	s->classes_se = fmin(s->classes_se, SHOWN_ERROR * s->classes);
	err = calm_is(w->t, &w->g->first, &after);
	s->doubtful = !before || !after || may_be_half;
	s->held = 1;
	return err ? err : 1;
}

/*
 * A level of few sets: lines that flush the first level are in them as well, so it is told by
 * which of few lines miss. 1, 0, -errno.
 */
static int split_second(struct ground *w, struct survey *s)
{
	struct survey *split = malloc(sizeof(*split));
	const struct reach r = {
		.n = 1, .hit = s->hit, .cycles = { s->hit }, .beyond = s->hit + s->penalty,
		.begins = (unsigned int)s->rise,
	};
	int err;

	if (!split)
		return -ENOMEM;
	*split = (struct survey){ .brief = s->brief, .holding = s->holding };
	ground_prepare(w, split, s->above);
	err = survey_split(split, &r);
	if (!err && split->sorted) {
		*s = *split;
		err = 1;
	}
	free(split);
	return err;
}

/*
 * Whether estimates leave it open if its sets are a power of two: members are off by a tenth or two,
 * and draws tell nothing of an exclusive level.
 */
static int is_open(const struct survey *s)
{
	return !s->sorted && s->classes > 0 && told_has_ways(s) &&
	       (s->drawn <= 0 || !told_is_sized(s) || told_is_uneven(s));
}

/*
 * One more survey, what it is to know given. Where nothing disturbs, classes are counted if it takes
 * that. 0, -errno.
 */
static int survey_second(struct ground *w, struct survey *s)
{
	int err = ground_survey(w, s, w->g->first.ways);

	if (err || s->brief)
		return err;
	err = survey_single(s, MAX(w->g->first.way_bytes / METER_CHUNK, 1));
	return err || w->t->meter->is_guest || !is_open(s) ? err : survey_count_all(s);
}

/*
 * The same of few classes, which is quicker; if that is not enough, it can be gone on with as
 * if nothing more had been asked. 1 if it is, 0, -errno.
 */
static int survey_few(struct ground *w, struct survey *s)
{
	struct survey few = *s;
	int err;

	few.wanted = CLASSES_FEW;
	err = ground_survey(w, &few, w->g->first.ways);
	*s = few;
	s->wanted = 0;
	if (err || !told_enough(&few))
		return err;
	err = check_size(w, &few);
	if (err < 0 || !told_enough(&few) || !few.held)
		return MIN(err, 0);
	*s = few;
	return 1;
}

/*
 * What the next survey, @asked, is to know of this one. Votes for other ways take from those
 * before, until these are gone.
 */
static void remember(struct survey *asked, const struct survey *s)
{
	if (s->ways && s->ways != asked->ways_before) {
		if (s->votes < asked->votes_before) {
			asked->votes_before -= s->votes;
			return;
		}
		asked->votes_before = asked->ndrawn = 0;
	}
	asked->votes_before += s->votes;
	asked->ways_before = s->ways ? s->ways : s->ways_before;
	asked->refined = s->refined;
	asked->nmembers = s->nmembers;
	memcpy(asked->found, s->found, sizeof(asked->found));
	memcpy(asked->tested, s->tested, sizeof(asked->tested));
	if (s->drawn > 0 && asked->ndrawn < SURVEY_DRAWN)
		asked->drawn_before[asked->ndrawn++] = s->drawn;
}

/* Whether a larger pool would tell more. */
static int is_too_small(const struct ground *w, const struct survey *s)
{
	const double pool = (double)w->npool;

	return !s->seen || (double)s->rise > POOL_RISE * pool ||
	       (s->ways && (s->classes <= 0 || s->classes * POOL_MEMBERS > pool));
}

/*
 * Again where nothing was found, or not surely: with other pages, and when
 * whoever was in the way may have gone. In the end the last of which no class
 * contradicts the size, if none told it surely.
 */
int geometry_second(struct ground *w, struct survey *s)
{
	const unsigned int gentle = w->t->meter->is_guest ? GENTLE_GUEST : GENTLE;
	struct survey asked = *s, best = { .ways = 0 };
	unsigned int beside = 0;
	int err, told, calm;

	for (unsigned int i = 0; i < gentle + WASHED; i++) {
		remember(&asked, s);
		*s = asked;
		err = i && w->t->ncpus > 1 ? calm_seek(w->t, &w->g->first, &calm) : 0;
		if (err)
			return err;
		shuffle(&w->t->rng, w->pages, w->npages);
		w->npool = w->npages < w->nsecond ? w->npages : w->nsecond;
		memcpy(w->pool, w->pages, w->npool * sizeof(*w->pool));
		/* Nothing else is left to do; a guest's neighbours make it miss more. */
		s->washes = i >= gentle;
		/* Many lines may have missed the next level, too, and few misses are not seen then. */
		s->is_near = i >= HASTY && !s->ways_before;
		s->patience = patience(w, i);
		err = w->t->meter->is_guest && !s->brief ? survey_few(w, s) : 0;
		if (err)
			return MIN(err, 0);
		err = survey_second(w, s);
		if (is_too_small(w, s) && w->nsecond < POOL_PAGES_MOST)
			w->nsecond *= POOL_GROWS;
		told = err ? err : check_size(w, s);
		if (told >= 0 && !told_enough(s) && s->rise && s->rise < CROWDED * s->above &&
		    !w->t->meter->is_guest) {
			err = split_second(w, s);
			if (err)
				told = err < 0 ? err : check_size(w, s);
		}
		beside += told > 0 && s->held && s->doubtful;
		/* Who was there from the first on will not go. */
		if (told < 0 || told_enough(s) ||
		    (beside && (beside >= BESIDE || !w->g->first.is_sure)))
			return MIN(told, 0);
		if (told && (s->held || !told_is_disputed(s)))
			best = *s;
	}
	if (best.ways)
		*s = best;
	return 0;
}

/*
 * A second level that is told but not sure, of few classes: these are counted, where nothing
 * disturbs. 0, -errno.
 */
static int confirm_second(struct ground *w, struct level_geometry *l)
{
	struct survey *s = &l->survey;
	int err;

	if (w->t->meter->is_guest || !l->size || l->confidence >= TOLD_SURE || s->sorted ||
	    s->classes > COUNTED_MOST)
		return 0;
	err = survey_count_all(s);
	if (!err && s->sorted)
		ground_settle(l, s, METER_CHUNK);
	return err;
}

int geometry_find_second(struct ground *w, size_t max_bytes)
{
	const size_t step = MAX(w->g->first.way_bytes, METER_CHUNK);
	struct level_geometry *l = &w->g->level[1];
	int err;

	ground_announce(w->t, 1);
	w->nsecond = POOL_PAGES;
	err = ground_pages(w, MIN(step * POOL_PAGES_MOST, max_bytes));
	if (!err)
		err = geometry_second(w, &l->survey);
	if (err || !l->survey.seen)
		return err;
	ground_settle(l, &l->survey, METER_CHUNK);
	/* Whoever had ways of the first level has lines of this one. */
	if (w->t->meter->is_guest && !w->g->first.is_sure)
		l->confidence = fmin(l->confidence, TOLD_DOUBTFUL);
	err = confirm_second(w, l);
	ground_mark(w, l);
	w->g->nlevels++;
	return err;
}
