/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One level below the first, by conflict discovery: ways from smallest sets that
 * overflow, at several offsets; how many classes of lines there are; line size;
 * whether it also holds what the level above holds.
 */
#ifndef SONDE_LIB_PROBE_SURVEY_H
#define SONDE_LIB_PROBE_SURVEY_H

#include "hunt.h"
#include "reach.h"
#include "stride.h"

/*
 * Flush lines over ways of the level above: LRU needs one, trees and ages some, and where chance
 * decides each of a set's lines stays through 5 times as many in 1 of 150 turns.
 */
#define SURVEY_FLUSH	5
/* By means of whole rings, of which each line has noise of its own. */
#define SURVEY_FLUSH_RING	3
/* The same where lines were seen to stay, of which none is to be noticed. */
#define SURVEY_FLUSH_KEPT	6
/* Loads for a class of a hasty one: ten times what it takes where nothing disturbs. */
#define SURVEY_HASTE	15000000
#define SURVEY_CLASSES	3
/* Classes whose members tell how many there are. */
#define SURVEY_MEMBERS	16
/* Surveys whose draws count together. */
#define SURVEY_DRAWN	8
/* Most classes that are counted one by one. */
#define SURVEY_SORTED	160

/**
 * struct sweep - misses over how many lines of one class are taken in turn
 * @offset: of the class
 * @ways: found for it
 * @n: lines in the longest trial
 * @miss: misses a turn of i lines, i in 1..@n, with flush lines
 * @least: misses a turn of a line more than ways, of those that are there in any order, of
 *         which less is noise
 * @found: lines of the class among @tested that had no part in finding it
 */
struct sweep {
	uint32_t offset;
	unsigned int ways;
	unsigned int n;
	double miss[HUNT_WAYS + 1], least;
	size_t found, tested;
};

enum holding {
	HOLDING_UNKNOWN,
	HOLDING_ALSO,		/* a line may be in it and in the level above */
	HOLDING_OTHER,		/* exclusive: never in both */
};

/**
 * struct survey - a level
 * @t: trials
 * @first: the first level
 * @above: ways of the level above
 * @pages: pool of @npages whose lines at any one offset share a set above
 * @second_hit: cycles of a hit in the second level, if that is above; else 0
 * @second_lines: lines that it holds of the pool, whatever their offsets
 * @brief: one class only, its ways and nothing else
 * @wanted: classes to look at; 0: SURVEY_CLASSES. @looked at so far: called again, it goes on
 * @exact: whether the classes are to be counted one by one, and the pool's lines
 *         share a set of a level that is indexed by frames, so nothing folds
 * @is_quiet: nothing disturbs, so nobody has ways of it
 * @is_near: the next level is taken to be near: a miss costs two hits more at most
 * @washes: see struct hunt
 * @ways_before: ways of most classes that earlier surveys found, by @votes_before more than of
 *                others: @found, @tested and @drawn_before are about those
 * @patience: loads that a class is looked for; 0: some seconds of them for all
 * @until: see struct hunt
 * @seen: whether the pool overflows it: there is something beyond
 * @hit: cycles of a hit
 * @kept: see struct hunt
 * @penalty: cycles more of a miss
 * @penalty_least: the same of the class that makes least of it; 0 if none was found
 * @refined: the same of the last one, or of an earlier survey's; 0 if none was found
 * @gauge: see struct hunt
 * @ways: 0 if not told
 * @votes: classes that agree, of @tried
 * @rise: lines of the pool that were seen to overflow it
 * @classes: different sets that lines at one offset of the pool fall into; 0 if
 *           not told
 * @classes_se: standard error of it; 0: counted
 * @sorted: of them, those that were taken out one by one, all with the same ways
 * @found: lines of classes of @ways among @tested that had no part in finding them, of the
 *         last @nmembers classes
 * @by_members: @classes by these, 0 if too few were found to tell; @members_se: its error
 * @estimate: of @classes, by draws, with each class that was found, where loads are not timed one
 *            by one; @nestimates of them
 * @estimate_se: their standard errors
 * @agreed: how many of them agree with @by_members
 * @drawn: @classes by these; 0 if none does, or the level is exclusive
 * @drawn_before: the same of @ndrawn earlier surveys
 * @held: lines at all offsets have shown that it is of the size that all this makes
 * @fold: offsets in a page at which a line may share a set with one at a given
 *        offset, where the index mixes bits of the offset with others; else 1; 0: not known
 * @folded: the bits of the offset that are mixed
 * @doubtful: whether that was hard to tell
 * @line: bytes of a line, 0 if not told
 * @lines_differ: classes tell different ones
 * @holding: relation to the level above
 * @sweep: of the classes found, @nsweeps
 * @last: the sweep of @class
 * @class: one class, at @offset, and lines to flush the level above
 */
struct survey {
	struct trial *t;
	const struct stride *first;
	unsigned int above;
	uint32_t *pages;
	size_t npages;
	double second_hit, second_lines;
	int brief, exact, is_quiet, is_near, washes;
	unsigned int wanted, looked;
	unsigned int ways_before, votes_before;
	uint64_t patience, until;
	int seen;
	double hit, kept, penalty, penalty_least, refined;
	size_t rise;
	struct gauge gauge;
	unsigned int ways, votes, tried;
	double classes, classes_se;
	size_t sorted;
	size_t found[SURVEY_MEMBERS], tested[SURVEY_MEMBERS];
	unsigned int nmembers;
	double by_members, members_se;
	double estimate[SURVEY_CLASSES], estimate_se[SURVEY_CLASSES];
	unsigned int nestimates, agreed;
	double drawn, drawn_before[SURVEY_DRAWN];
	unsigned int ndrawn;
	int held;
	unsigned int fold, folded;
	int doubtful;
	unsigned int line;
	int lines_differ;
	enum holding holding;
	struct sweep sweep[SURVEY_CLASSES];
	unsigned int nsweeps, last;
	struct class class;
	uint32_t offset;
	uint32_t flush[HUNT_WAYS];
	size_t nflush;
};

/* Odd factors of a second level's ways, at most; but for those of 18 (told.c). */
#define SURVEY_ODD_WAYS	5

/* 0, -ENOMEM, -ECANCELED. @t, @first, @above and the pool are given. */
int survey_level(struct survey *s);

/*
 * At how many offsets in a page lines may share a set, to @fold and @doubtful. Again: what was
 * seen is there. 0, -errno.
 */
int survey_fold(struct survey *s);

/* The hunt again that found the survey's class, with all that it knew. 0, -errno. */
int survey_resume(struct survey *s, struct hunt *h);

/* Pages of the pool that are in no role yet, to @out; how many. */
size_t survey_others(const struct survey *s, const struct hunt *h, const struct class *c,
		     uint32_t *out);

/*
 * Not so many bytes; so many if others have a part of it now, or none if it is the next level
 * that does; so many; so many or twice as many.
 */
enum { HOLDS_NOT, HOLDS_MAYBE, HOLDS_THIS, HOLDS_MORE };

/*
 * Whether lines at all offsets of @pages miss as in a level of so many @bytes, not as in one
 * half or twice as large: HOLDS_*, -ENODATA if it is too near the first level to tell,
 * -ERANGE if there are too few pages, -errno.
 */
int survey_holds(struct survey *s, const uint32_t *pages, size_t npages, double bytes);

/*
 * Whether half as many more lines hardly miss, of a level that is too small for that: then it
 * is larger. 1, 0 (or it cannot be told), -errno.
 */
int survey_holds_more(struct survey *s, const uint32_t *pages, size_t npages, double bytes);

/*
 * Lines at all offsets of @pages that cost @hit, a level's: so many bytes, @most of them and
 * less by up to a third, to *@bytes; 0 if no more than a few times as many as the levels @above
 * hold. 0, -errno.
 */
int survey_fits(struct trial *t, double hit, const uint32_t *pages, size_t npages, double above,
		double most, double *bytes);

/*
 * Pages of @from that are of the survey's class, at its offset, to the front:
 * *@found of them. With the class itself they are the pool of the next level.
 */
int survey_gather(struct survey *s, uint32_t *from, size_t nfrom, size_t want, size_t *found);

/* The same by finding every class, where the pool is large enough for that. */
int survey_count_exactly(struct survey *s, struct hunt *h);
/* The same of a survey that is over. */
int survey_count_all(struct survey *s);
int survey_partition(struct survey *s, struct hunt *h, size_t *sizes, size_t max, size_t *nsizes,
		     size_t *left);

/*
 * After a brief survey: sort the pool. Pages of each class to *@sizes, an array to
 * be freed by the caller; how many pages are in none to *@left. 0, -errno.
 */
int survey_sort(struct survey *s, size_t **sizes, size_t *nsizes, size_t *left);

/*
 * A level by as many lines of the pool as it holds (brim.h), of which those of a class
 * can take each other's places: @sorted and all that one class tells, or nothing. @r: of
 * the level, with what is beyond it. 0, -errno.
 */
int survey_brim(struct survey *s, const struct reach *r);

/*
 * A second level of which all lines at one offset of the pool share a set: whether its ways
 * are those of two. The pages that follow each of the pool, @sets with it, are of other sets of
 * the first. 0, -errno.
 */
int survey_single(struct survey *s, unsigned int sets);

/*
 * A level by rings that hardly overflow it, where that is enough to tell: ways, sets and all
 * that one class tells, or nothing. @r: as above. 0, -errno.
 */
int survey_split(struct survey *s, const struct reach *r);

/* What hits and misses of the level cost, and how many lines begin to overflow it. */
void survey_begin(struct survey *s, const struct reach *r);

/* Lines of @c, ways and one by now, that its sweep wants. */
size_t survey_crowd(const struct survey *s, const struct class *c);

/*
 * A class that was found otherwise, its first @ways lines and more of it, and @nflush
 * lines that are none of it and overflow nothing: its sweep, and all that a class tells.
 * 1, 0 if it does not overflow where it should, -errno.
 */
int survey_adopt(struct survey *s, const struct class *c, unsigned int ways,
		 const uint32_t *flush, size_t nflush);

/* @classes by draws too, with the class that was just found (survey_draw.c). 0, -errno. */
int survey_draw(struct survey *s, struct hunt *h);

/* After a brief survey: how many classes, by draws if members do not tell it. 0, -errno. */
int survey_estimate(struct survey *s);

#endif
