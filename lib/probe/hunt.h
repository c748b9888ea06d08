/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Conflict discovery: which lines share a set of a level whose geometry nobody
 * knows, by timing alone. No frame number, no guess of ways or sets, and no
 * assumption about replacement but this: more lines than ways, taken in turn,
 * miss at least once a turn under any policy, and as many as ways do not miss
 * once they are all there.
 */
#ifndef SONDE_LIB_PROBE_HUNT_H
#define SONDE_LIB_PROBE_HUNT_H

#include "trial.h"

#define HUNT_WAYS	160	/* more than any cache has, with those of the level above */
#define HUNT_TURNS	4	/* turns of a ring that a look is about */
#define SINGLY_TURNS	4	/* the same, load by load */
/* Of the first level's lines, those that stay in it whatever prefetchers bring. */
#define HUNT_FIRST_SHARE	4
/* What the next level costs more is not this much, in hits. */
#define HUNT_TOO_FAR	8

/**
 * struct gauge - what tells how disturbed the machine is: another thread of the core
 *                makes every hit cost more, for as long as many trials
 * @page: of @n lines that did not conflict, at the hunt's offset
 * @cycles: what a load of them costs where nothing disturbs
 */
struct gauge {
	uint32_t page[HUNT_WAYS];
	size_t n;
	double cycles;
};

/**
 * struct hunt - a level being looked into
 * @t: trials
 * @pages: pool of @npages chunks whose lines at @offset share a set of every
 *         level above
 * @last: the highest of them
 * @offset: bytes into each chunk
 * @above: ways of the level above
 * @first_hit: cycles of a hit in the first level
 * @first_lines: lines that it holds of the pool, whatever their offsets
 * @second_hit: cycles of a hit in the second level, 0 where that is the level
 * @second_lines: lines that it holds of the pool, whatever their offsets
 * @flush: pages of @nflush lines that push others out of the level above, none
 *         of the class once one is known
 * @gauge: none where the cost of a hit is given
 * @hit: cycles of a hit in the level
 * @kept: cycles that a turn costs less, for lines that stay in the level above
 * @penalty: cycles that a miss costs more
 * @rise: lines at which it was seen to overflow
 * @least: misses a turn that are no noise, where a class tells more than half a miss
 * @used: of the lines that the last class was looked for among, those that were looked at:
 *        of a class that overflows first there are more than of others
 * @until: loads of the trial after which no class is looked for any more
 * @brief: a wrong answer is soon found out: look once
 * @hasty: members that are not do little harm, nor does a class that is none: look once
 * @pure: no flush line is of a class that is looked for
 * @washes: other lines are walked before each further order of a ring
 * @singly: nothing disturbs, and the clock is fine: loads are looked at one by one
 */
struct hunt {
	struct trial *t;
	const uint32_t *pages;
	size_t npages;
	uint32_t last, offset;
	unsigned int above;
	double first_hit;
	unsigned int first_lines;
	double second_hit, second_lines;
	uint32_t flush[HUNT_WAYS];
	size_t nflush;
	struct gauge gauge;
	double hit, kept;
	double penalty;
	size_t rise;
	double least;
	size_t used;
	uint64_t until;
	int brief, hasty, pure, washes, singly;
	uint32_t *ring, *list, *places;	/* room for the pool */
	uint32_t *order, *apart;	/* the same, if singly */
	struct meter_window *windows;
	double *clean, *more;
	unsigned char *is_measured;	/* by page: none to wash with */
};

/**
 * struct class - lines that share a set
 * @page: of @n lines; one more than ways when it was just found
 */
struct class {
	uint32_t page[HUNT_WAYS];
	size_t n;
};

/* @h: zeroes but for what it is given. 0, -ENOMEM. */
int hunt_open(struct hunt *h, struct trial *t, const uint32_t *pages, size_t npages);
void hunt_close(struct hunt *h);

/*
 * @pages without those of @not, in their order; how many are left. A ring goes
 * through each place once, so a page is in one role only.
 */
size_t hunt_drop(uint32_t *pages, size_t n, const uint32_t *not, size_t nnot);

/* Whether @page is one of the @n of @x. */
int hunt_is_among(const uint32_t *x, size_t n, uint32_t page);

/* The places of the lines of @pages at the hunt's offset. */
void hunt_places(const struct hunt *h, const uint32_t *pages, size_t n, uint32_t *out);

/* @n pages of the pool that follow each other in its (random) order. */
const uint32_t *hunt_draw(struct hunt *h, size_t n);

/* Fill @hit and @penalty. 1 if the pool overflows the level, 0 if not; -errno. */
int hunt_calibrate(struct hunt *h);

/*
 * @kept again, by rings of the flush lines and some others, of which none conflict: what these cost
 * less than hits do, in misses to *@misses. 1, -errno.
 */
int hunt_mend_kept(struct hunt *h, double *misses);

/*
 * @penalty anew, from @n lines of one class: so many that nearly all miss, and no more,
 * as they may overflow the next level too. 0, -errno.
 */
int hunt_refine(struct hunt *h, const struct class *c, size_t n);

/* Cycles a load of the lines of @pages at the hunt's offset. */
int hunt_cost(struct hunt *h, const uint32_t *pages, size_t n, double warm, double turns,
	      double *cycles);

/* What translation adds to a load: one line a page, which all fit the first level. */
int hunt_translation(struct hunt *h, const uint32_t *pages, size_t n, double *cycles);

/*
 * Wait until the gauge costs what it did. If that does not come back, this is how
 * it is from now on; so is what costs less twice. 0, -errno.
 */
int hunt_wait_calm(struct hunt *h);

/* What they would cost if none of them conflicted. */
int hunt_clean_cost(struct hunt *h, const uint32_t *pages, size_t n, double *cycles);

/* Whether the lines, with the flush lines, overflow some set. 1, 0, -errno. */
int hunt_overflows(struct hunt *h, const uint32_t *pages, size_t n);

/* The same of any places, the last @tail of which flush the level above. */
int hunt_places_overflow(struct hunt *h, const uint32_t *places, size_t n, size_t tail);

/*
 * Of *@n pages that overflow some set fewer that do, to the front, *@n of them; by which
 * of them are seen to miss. 0, -errno.
 */
int hunt_narrow(struct hunt *h, uint32_t *from, size_t *n);

/*
 * Find a smallest set that overflows: ways and one. 1, 0 if none was found, -errno.
 * @from shuffled pages are looked through (in their order).
 */
int hunt_class(struct hunt *h, uint32_t *from, size_t nfrom, struct class *c);

/*
 * Which of @from are of the class (of which @ways are used): @found of them are
 * moved to the front, of the first *@tested. Stops after @want. 0, -errno.
 */
int hunt_members(struct hunt *h, const struct class *c, unsigned int ways, uint32_t *from,
		 size_t nfrom, size_t want, size_t *found, size_t *tested);

/*
 * Other lines of the pool, none of @pages, into every set: several times @full, as many
 * as begin to overflow the level. 0, -errno.
 */
int hunt_wash(struct hunt *h, const uint32_t *pages, size_t n, size_t full);

/*
 * Load by load (hunt_singly.c), of @places the last @tail of which flush the level above: misses
 * a turn of the others; whether they overflow some set; what hits and misses cost.
 */
/* Whether loads are to be looked at one by one if a miss costs @penalty cycles, or who knows. */
int singly_can(const struct trial *t, double penalty);

int singly_open(struct hunt *h);
/* What each of @n loads of @places, in their order, costs in @turns turns after @warm, to h->more. */
int singly_take(struct hunt *h, const uint32_t *places, size_t n, double warm, size_t turns);
void singly_close(struct hunt *h);
/* In one order; the pages of all that miss are marked in @missed, if that is not NULL. */
int singly_look(struct hunt *h, const uint32_t *places, size_t n, size_t tail,
		unsigned char *missed, double *misses);
int singly_misses(struct hunt *h, const uint32_t *places, size_t n, size_t tail, double *misses);
/* Of the second level those that flush the first may miss instead of the others. */
int singly_overflow(struct hunt *h, const uint32_t *places, size_t n, size_t tail);
int singly_calibrate(struct hunt *h);
/* Cycles a load of lines at the hunt's offset, without what translation costs. */
int singly_cost(struct hunt *h, const uint32_t *pages, size_t n, double *cycles);
int singly_refine(struct hunt *h, const struct class *c, size_t n);

/* Misses a turn of @n lines (with the flush lines where @flush), at length. */
int hunt_misses(struct hunt *h, const uint32_t *pages, size_t n, int flush, double *misses);

/* The same with the flush lines, of lines that were there just before, in another order. */
int hunt_misses_again(struct hunt *h, const uint32_t *pages, size_t n, double *misses);

#endif
