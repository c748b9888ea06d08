// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What a survey amounts to: whether all that it found fits together, what size that makes,
 * and how sure that is.
 */
#include <math.h>
#include <string.h>

#include <sonde/stats.h>
#include "odd_factor.h"
#include "told.h"

/* Of an estimate of classes, a share of it, beside its scatter. */
#define ESTIMATE_ERROR	0.1
/* Of the lines that were seen to overflow a level, those that it holds at least; where they are
 * seen one by one. */
#define RISE_LEAST	0.6
#define RISE_EXACT	0.9
/* Of the misses of one line more than ways, the share that noise may hide. */
#define HIDDEN		0.25
/* So many classes of the same ways outvote one that looked otherwise. */
#define SORTED_LEAST	4
/* Classes by members over those that were drawn, at most. */
#define FEW_MEMBERS	1.3
/* The share that draws are off by, at most. */
#define DRAWS_ERROR	0.09
/* Standard errors that members differ from a count by, at most. */
#define MEMBERS_ERRORS	3.5

/*
 * The integer that @x may be, whose odd factor is the least: sets are powers of two, or slices of
 * powers of two.
 */
static double simplest_within(double x, double slack)
{
	double best = round(x), best_odd = INFINITY, odd;

	for (double i = fmax(ceil(x - slack), 1); i <= x + slack; i++) {
		odd = odd_factor(i);
		if (odd < best_odd || (odd == best_odd && fabs(i - x) < fabs(best - x))) {
			best_odd = odd;
			best = i;
		}
	}
	return best;
}

/* The same of @x with an error, which is that of estimates unless it was counted. */
static double simplest(double x, double se, int is_counted)
{
	return simplest_within(x, se > 0 ? fmax(2 * se, is_counted ? 0 : ESTIMATE_ERROR * x) : 0);
}

double told_page_classes(const struct survey *s)
{
	const int is_counted = s->exact && s->sorted;

	return simplest(s->classes, s->classes_se, is_counted) / (s->fold ? s->fold : 1);
}

/* Ways that second levels have: 18 is a Tremont's, or what two strangers leave of 20. */
static int are_usual(const struct survey *s)
{
	const unsigned int odd = (unsigned int)odd_factor(s->ways);

	return odd <= SURVEY_ODD_WAYS ||
	       (odd == 9 && odd < s->ways && s->is_quiet && s->holding == HOLDING_ALSO);
}

/*
 * Whether others' lines seem to stay in its sets, which leaves them fewer ways, and fewer
 * members than draws find.
 */
static int has_strangers(const struct survey *s)
{
	if (s->sorted || s->exact)
		return 0;
	return !are_usual(s) ||
	       (s->nestimates && s->by_members > FEW_MEMBERS * s->classes);
}

/* Classes that agree on its ways; those of earlier surveys may if it is held. */
static unsigned int votes(const struct survey *s)
{
	return s->votes && s->ways == s->ways_before ? s->votes + s->votes_before : s->votes;
}

int told_has_ways(const struct survey *s)
{
	if (s->classes > 0 && s->classes < TOLD_FEW_CLASSES && s->ways > s->above &&
	    s->holding != HOLDING_OTHER &&
	    odd_factor(s->ways - s->above) < odd_factor(s->ways))
		return 0;
	if (has_strangers(s))
		return 0;
	return votes(s) > 1 || (s->votes && s->sorted >= SORTED_LEAST);
}

/*
 * Whether the number of classes is one that sets make: a systematic error of an
 * estimate, or another thread of the core, makes odd factors of powers of two. They
 * are only believed if all were counted.
 */
static int has_classes(const struct survey *s)
{
	const double classes = told_page_classes(s) * (s->fold ? s->fold : 1);

	if (s->classes_se > 0 && odd_factor(classes) > 1)
		return 0;
	return s->classes_se < ESTIMATE_ERROR * s->classes &&
	       fabs(s->classes - classes) < fmax(0.12 * classes, 0.3);
}

/*
 * Classes by draws of all surveys of a level of these ways, 0 if none tells them. Those of
 * earlier ones may not have known that it is exclusive.
 */
static double drawn(const struct survey *s)
{
	const int is_same = s->ways == s->ways_before && s->holding != HOLDING_OTHER;
	unsigned int n = is_same ? s->ndrawn : 0;
	double x[SURVEY_DRAWN + 1];

	memcpy(x, s->drawn_before, n * sizeof(*x));
	if (s->drawn > 0)
		x[n++] = s->drawn;
	sonde_stats_sort(x, n);
	return n ? sonde_stats_median(x, n) : 0;
}

int told_is_uneven(const struct survey *s)
{
	const double classes = drawn(s);

	return !s->sorted && classes > 0 &&
	       fabs(classes / exp2(round(log2(classes))) - 1) > DRAWS_ERROR;
}

double told_drawn(const struct survey *s)
{
	const double classes = drawn(s);

	return simplest_within(classes, DRAWS_ERROR / 2 * classes);
}

/* They are off by a tenth and more: its sets may be no power of two. */
static int is_by_members_alone(const struct survey *s)
{
	return !s->sorted && !s->exact && s->by_members > 0 && drawn(s) <= 0;
}

int told_is_disputed(const struct survey *s)
{
	unsigned int absurd = 0;

	for (unsigned int i = 0; i < s->nsweeps && s->held; i++)
		absurd += s->sweep[i].ways != s->ways &&
			  odd_factor(s->sweep[i].ways) > SURVEY_ODD_WAYS;
	return s->votes + absurd < s->nsweeps;
}

/*
 * Whether everything else that was found of the level fits together: all classes
 * have the same ways, none has misses before and each has from there on, the lines
 * are known.
 */
static int is_consistent(const struct survey *s)
{
	double more;

	if ((s->held ? votes(s) : s->votes) < 2 || !s->line || s->doubtful || has_strangers(s) ||
	    told_is_uneven(s) || (told_is_disputed(s) && s->sorted < SORTED_LEAST))
		return 0;
	for (unsigned int i = 0; i < s->nsweeps; i++) {
		if (s->sweep[i].ways != s->ways)
			continue;
		more = s->sweep[i].miss[s->ways + 1];
		if (s->sweep[i].miss[s->ways] > 0.5 || more < 0.5 ||
		    s->sweep[i].miss[s->ways] < -fmax(0.5, HIDDEN * more))
			return 0;
	}
	return 1;
}

/* Lines overflow the first of its sets before they are as many as it holds. */
static int holds_its_rise(const struct survey *s)
{
	const double others = s->exact && s->holding != HOLDING_ALSO ? s->above : 0;
	const double least = s->exact ? RISE_EXACT : RISE_LEAST;

	return s->classes * s->ways + others > least * (double)s->rise;
}

int told_is_sized(const struct survey *s)
{
	return told_has_ways(s) && s->classes > 0 && has_classes(s) && holds_its_rise(s);
}

int told_enough(const struct survey *s)
{
	/* Draws may tell it the next time, but of an exclusive level. */
	const int may_be_drawn = is_by_members_alone(s) && s->holding != HOLDING_OTHER;

	return s->ways && (s->brief || (is_consistent(s) && has_classes(s) && !may_be_drawn));
}

int told_is_counted(const struct survey *s)
{
	return s->sorted && has_classes(s);
}

double told_confidence(const struct survey *s)
{
	if (!s->sorted && !s->held &&
	    (s->holding == HOLDING_OTHER || s->exact))
		return TOLD_DOUBTFUL;
	if (is_by_members_alone(s))
		return TOLD_DOUBTFUL;
	/* How many sets of the level above share one is told by draws, with few sets not well. */
	if (s->exact && s->holding != HOLDING_ALSO && s->classes < TOLD_DRAWN_LEAST)
		return TOLD_DOUBTFUL;
	/* Told by the brim alone, and not seen to be exclusive. */
	if (s->exact && s->nsweeps < 2 && s->holding == HOLDING_UNKNOWN)
		return TOLD_DOUBTFUL;
	/* Some that were counted may have been taken for others, and left out. */
	if (s->sorted && s->by_members > 0 &&
	    fabs(s->by_members - s->classes) > MEMBERS_ERRORS * s->members_se)
		return TOLD_DOUBTFUL;
	/* Members had to choose among draws. */
	if (!s->sorted && !s->held && s->agreed && 2 * s->agreed <= s->nestimates)
		return TOLD_DOUBTFUL;
	return is_consistent(s) ? TOLD_SURE : TOLD_DOUBTFUL;
}
