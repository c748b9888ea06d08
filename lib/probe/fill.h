/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A level filled to the brim: lines at one offset of random pages, as many as it holds
 * without a miss. Of the lines of a set as many fit as it has ways, whichever they
 * are; so every collection to which no line can be added is of one size, sets times
 * ways, however lines are spread over the sets and whatever is replaced. Windows of
 * a single load tell which lines of a ring miss, and rings are so large that the level
 * above holds none of their lines.
 */
#ifndef SONDE_LIB_PROBE_FILL_H
#define SONDE_LIB_PROBE_FILL_H

#include "hunt.h"

/**
 * struct fill - a level being filled
 * @t: trials
 * @offset: bytes into each page
 * @pages: those of the pool: first the @n whose lines the level holds together,
 *         then @left that are to be tried, then those that did not fit
 * @room: pages that there are, of which @npages are tried
 * @nnumbers: one more than their highest number
 * @above: lines that the level above holds at one offset
 * @is_mixed: other offsets' lines share its sets
 * @is_second: the level above is the first, which tells offsets apart: lines at others are
 *             no ballast
 * @orders: that are tried until no more lines settle
 * @tries: looks until lines that hide are given up
 * @until: loads of the trial after which the level is
 * @hit: cycles of a hit
 * @miss: cycles of a miss
 * @missed: by page: in the last look
 * @set: lines of a set, ways and one, of which the first does not fit
 */
struct fill {
	struct trial *t;
	uint32_t offset;
	uint32_t *pages;
	size_t npages, n, left, room, nnumbers, above;
	int is_mixed, is_second, orders, tries;
	uint64_t until;
	double hit, miss;
	unsigned char *missed;
	struct class set;
	uint32_t *list, *places;	/* room for the pool */
	double *cycles, *sorted;
	struct meter_window *windows;
};

/* 0, -ENOMEM. The pool is @npages fresh pages of the meter. */
int fill_open(struct fill *f, struct trial *t, size_t npages);
/* The same of @npages @pages that the meter has. */
int fill_open_pages(struct fill *f, struct trial *t, const uint32_t *pages, size_t npages);
void fill_close(struct fill *f);

/*
 * What hits and misses cost, where the level above holds @above lines at one offset.
 * The most lines of the pool that did not overflow the level, to *@begins. 1, 0 if the
 * pool does not overflow it or nothing is far from it, -errno.
 */
int fill_calibrate(struct fill *f, size_t above, size_t *begins);

/*
 * The same where @rise lines were seen to overflow the level, and the next one may not be
 * much larger.
 */
int fill_calibrate_second(struct fill *f, size_t above, size_t rise, size_t *begins);

/*
 * Walk lines of @pages in other orders until no more of them settle in @idle. How many
 * still miss, of two turns, to *@missing; f->missed are those. 0, -errno.
 */
int fill_settle(struct fill *f, const uint32_t *pages, size_t n, int idle, size_t *missing);

/* Go on along the same ring until no more of @pages are seen to miss, to f->missed. */
void fill_go_on(struct fill *f, const uint32_t *pages, size_t n);

/*
 * Whether lines of @pages overflow the level once they have settled; f->missed are those
 * that then miss. 1, 0, -errno.
 */
int fill_look(struct fill *f, const uint32_t *pages, size_t n);

/*
 * After a look in which some did, walk them in other orders until no more are seen to miss,
 * to f->missed: some replacements let go of the same line as long as an order stays. 0, -errno.
 */
int fill_look_on(struct fill *f, const uint32_t *pages, size_t n);

/* Go along the lines of @pages once. 0, -errno. */
int fill_walk(struct fill *f, const uint32_t *pages, size_t n);

/*
 * How many lines miss, to *@missing, if those that the level holds and others of the @n
 * @pages at @offset come in turns. 0, -errno.
 */
int fill_look_beside(struct fill *f, const uint32_t *pages, size_t n, uint32_t offset,
		     size_t *missing);

/* Fill the level, beginning with @begins lines. 0, -errno. */
int fill_grow(struct fill *f, size_t begins);

/*
 * Try lines again that did not fit, @most of them. How many came or went, to *@fit. 0,
 * -errno.
 */
int fill_again(struct fill *f, size_t most, size_t *fit);

/*
 * The set in which @x did not fit: lines of it, ways and one. 1, 0 if it could not be
 * told, -errno.
 */
int fill_find_set(struct fill *f, uint32_t x, struct class *c);

/*
 * Whether the line that did not fit does at another offset in its page: else it is entries
 * of translation that the pages overflow. 1, 0, -errno.
 */
int fill_is_cache(struct fill *f);

/*
 * Whether lines @distance bytes away share the sets. 1, 0, -ERANGE if only some do,
 * -errno.
 */
int fill_shares_sets(struct fill *f, uint32_t distance);

/**
 * struct filled - what is known of a level that was filled
 * @lines: that it holds at one offset of pages
 * @ways: 0 if not told
 * @fold: offsets whose lines share sets
 * @near: offsets at which lines come with those at the first, or are the same, by powers of
 *        two from METER_LINE on
 * @hit: cycles of a hit
 * @miss: cycles of a miss
 */
struct filled {
	double hit, miss;
	size_t lines;
	unsigned int ways, fold;
	unsigned int near;
};

/*
 * The level beyond one that holds @above lines at one offset, in up to @max_bytes; where that
 * one's index is mixed, other offsets' lines share its sets. 1, 0 if it could not be told,
 * -errno.
 */
int fill_level(struct trial *t, size_t max_bytes, size_t above, int is_mixed,
	       struct filled *out);

/*
 * The second level, which @rise lines at one offset of the pool of @f were seen to overflow;
 * the first holds @above. @f remains open. 1, 0 if it could not be told, -errno.
 */
int fill_second(struct fill *f, size_t above, size_t rise, struct filled *out);

#endif
