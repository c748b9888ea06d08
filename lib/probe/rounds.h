/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rings of lines that share a set of two levels, some of them loaded several times (same_sets). */
#ifndef SONDE_LIB_PROBE_ROUNDS_H
#define SONDE_LIB_PROBE_ROUNDS_H

#include "hunt.h"

/* Loads of a ring at most; turns of it that are looked at. */
#define ROUNDS_LENGTH	512
#define ROUNDS_TURNS	8

/**
 * struct rounds - loads of a ring
 * @place: of @n loads
 * @page: @npages that share the set
 * @clean: cycles of each load where lines hit the first level
 * @second, @next: cycles that hits of the level above and of the level cost more
 * @missed: cycles more that a load costs at least which misses both
 */
struct rounds {
	uint32_t place[ROUNDS_LENGTH];
	size_t n;
	uint32_t page[HUNT_WAYS];
	size_t npages;
	double clean[ROUNDS_LENGTH];
	double second, next, missed;
};

/* What loads of all turns cost more than where lines hit the first level, to @h->more. 0, -errno. */
int rounds_take(struct hunt *h, struct rounds *r);

/* Whether a load that costs @more misses the level above. */
static inline int rounds_is_beyond(const struct rounds *r, double more)
{
	return more > (r->second + r->next) / 2;
}

/*
 * Whether the level is exclusive of the one above, where that replaces at random: by all pages, of
 * which there are far more than both hold. @gap: loads after which the one above still has most
 * lines. 1, 0 if not or if that cannot be told, -errno.
 */
int rounds_exclude_at_random(struct hunt *h, struct rounds *r, size_t gap);

#endif
