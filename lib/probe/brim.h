/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A level filled to the brim: lines of a pool are added to a ring as long as none of
 * it misses. What fits then is what the level's sets hold of the pool, line by line,
 * and a line that no longer fits can only take the place of one of its own set. So the
 * number of lines and of places tell sets and ways with nothing assumed about
 * replacement but that lines which fit a set do not miss once they are all there.
 */
#ifndef SONDE_LIB_PROBE_BRIM_H
#define SONDE_LIB_PROBE_BRIM_H

#include "hunt.h"

/**
 * struct brim - lines of a pool that fit a level together
 * @h: the hunt whose pool and offset they are of
 * @hit: cycles of a hit in the level
 * @penalty: cycles more of a miss
 * @in: the @n that fit
 * @out: the @nout that did not with them
 * @turn: cycles a turn of @in
 */
struct brim {
	struct hunt *h;
	double hit, penalty;
	uint32_t *in, *out;
	size_t n, nout;
	double turn;
};

/* 0, -ENOMEM. */
int brim_open(struct brim *b, struct hunt *h, double hit, double penalty);
void brim_close(struct brim *b);

/*
 * Lines of the pool to @in or to @out, from @first lines on that are taken to fit, until
 * there are far more that do not. 0, -errno; 0 with an empty @in after the hunt's @until.
 */
int brim_fill(struct brim *b, size_t first);

/*
 * The lines of @in that @out[@i] can be in the place of, those of its set, and itself
 * after them. 1, 0 if there are too many or none, -errno.
 */
int brim_class(struct brim *b, size_t i, struct class *c);

/* Orders in each of which a ring of so many lines is seen to fit. */
unsigned int brim_orders(const struct brim *b);

/* Whether @out[@i] is of the class: it can be in the place of its first line. -errno. */
int brim_is_member(struct brim *b, const struct class *c, size_t i);

#endif
