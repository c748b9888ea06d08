/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A level filled to the brim: lines at one offset of a pool, as many as it holds without a miss.
 * Of the lines of a set as many fit as it has ways, whichever they are; so every collection to
 * which no line can be added is of one size, sets times ways, however lines are spread over the
 * sets and whatever is replaced. A line that does not fit misses, or makes others of its set miss;
 * whichever of these goes instead, as many are left.
 */
#ifndef SONDE_LIB_PROBE_BRIM_H
#define SONDE_LIB_PROBE_BRIM_H

#include "hunt.h"

/**
 * struct brim - lines of a hunt's pool that fit a level together
 * @h: the hunt, which looks at loads one by one and knows what hits and misses cost
 * @page: its pool: first the @n that fit, then the others
 * @npages: of them, those that are tried
 * @flush: pages that are not, @nflush of them, whose lines @distance bytes away push all others out
 *         of the level above, and share no set of the level
 * @missed: by page: in the last looks
 */
struct brim {
	struct hunt *h;
	uint32_t *page;
	size_t n, npages;
	const uint32_t *flush;
	size_t nflush;
	uint32_t distance;
	unsigned char *missed;
	uint32_t *list, *places;	/* room for the pool */
};

/*
 * The last @nflush pages of the hunt's pool to flush with. No line at its offset is in any cache
 * then. 0, -ENOMEM, -errno.
 */
int brim_open(struct brim *b, struct hunt *h, size_t nflush, uint32_t distance);
void brim_close(struct brim *b);

/*
 * Fill the level, of which @begins lines do not overflow any set; with no line if that took until
 * the hunt's end. 0, -errno.
 */
int brim_fill(struct brim *b, size_t begins);

/*
 * The rest, where sets have so many ways; no line if the level above is hardly ever without lines of
 * a set. 0, -errno.
 */
int brim_settle(struct brim *b, unsigned int ways);

/* Whether any of the first @n lines of the pool misses. 1, 0, -errno. */
int brim_overflows(struct brim *b, size_t n);

/*
 * What loads of the first @n lines cost in some turns, ascending, to @cycles, with room for so many
 * turns of the pool; without those of the last lines, which need not leave the first level for
 * lines elsewhere. How many, -errno.
 */
ssize_t brim_costs(struct brim *b, size_t n, double *cycles);

/*
 * Ways that three sets in which a page does not fit have, 0 if they cannot be told; lines of the
 * last of them, ways and one. Of sets that are seen to hold lines too many, these go. 1, 0, -errno.
 */
int brim_ways(struct brim *b, unsigned int *ways, struct class *c);

/* So large a pool has lines enough to fill all sets. */
size_t brim_enough(const struct brim *b, unsigned int ways);

/* Whether it holds whole sets, none of which the pool leaves short of lines. */
int brim_is_full(const struct brim *b, unsigned int ways);

/*
 * Whether lines @distance bytes away in other pages share the sets. 1, 0, -ERANGE if only some
 * do, -errno.
 */
int brim_shares_sets(struct brim *b, uint32_t distance);

#endif
