/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether lines beside each other are two: one is in a level when the other is not. */
#ifndef SONDE_LIB_PROBE_PARTED_H
#define SONDE_LIB_PROBE_PARTED_H

#include "trial.h"

/**
 * struct parted - pages whose lines share a set, at any offset
 * @t: trials
 * @page: of @n pages; one more than three halves of @ways at least, or nothing is seen
 * @ways: of the set
 * @flush: pages of @nflush lines that push others out of the level above
 * @penalty: cycles that a miss costs more
 */
struct parted {
	struct trial *t;
	const uint32_t *page, *flush;
	size_t n, nflush;
	unsigned int ways;
	double penalty;
};

/*
 * Whether lines at @a and, further on, @b bytes into the pages are two: one was seen to be
 * there without the other. 2 if a prefetcher had brought it alone that does so only with lines
 * of @unit bytes, 1, 0, -errno.
 */
int parted_look(const struct parted *set, uint32_t a, uint32_t b, uint32_t unit);

/*
 * Whether lines of @d bytes are seen to be two, and not pairs of lines half as long or some of
 * those: only by such a prefetcher, which would have brought one of these as well, and across a
 * border of such stretches: 2 if such a prefetcher shows that, 1 if a load does, 0, -errno.
 */
int parted_line(const struct parted *set, uint32_t a, uint32_t d);

#endif
