/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A level with as many sets as the one above. Nothing flushes that but what goes through this one's
 * sets too, so that all that is seen is how many lines both hold of one: the ways of this level
 * alone, or of both if it is exclusive of the one above.
 */
#ifndef SONDE_LIB_PROBE_SAME_SETS_H
#define SONDE_LIB_PROBE_SAME_SETS_H

#include "hunt.h"

/**
 * struct same_sets - what is known of them
 * @h: a hunt of the level, which looks at loads one by one
 * @above: ways of the level above
 * @first_ways: of the first
 * @class: lines that share a set, one more than both levels hold
 * @others: @nothers of the pool that are not among those
 * @calm: @ncalm that do not share it, to flush the first level
 */
struct same_sets {
	struct hunt *h;
	unsigned int above, first_ways;
	const struct class *class;
	const uint32_t *others, *calm;
	size_t nothers, ncalm;
};

/*
 * Whether the class shares a set of the level above, too, and the level never holds a line that
 * this has. 1, 0 if not or if that cannot be told, -errno.
 */
int same_sets_exclude(const struct same_sets *s);

#endif
