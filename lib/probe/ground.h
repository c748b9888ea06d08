/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the levels of a geometry are looked for in. */
#ifndef SONDE_LIB_PROBE_GROUND_H
#define SONDE_LIB_PROBE_GROUND_H

#include "geometry.h"

/* A pool at work. */
struct ground {
	struct trial *t;
	struct geometry *g;
	uint32_t *pages;	/* all that are alike above the second level */
	size_t npages;
	size_t nsecond;		/* of them, those that the second level is looked for in */
	uint32_t *pool;		/* those alike above the level at hand */
	size_t npool;
	unsigned int levels;	/* that are looked for */
	int is_last;		/* no larger pool will be had */
	int too_few;		/* lines alike: they do not even fill the level above */
	uint64_t samples, discarded;	/* up to the level before */
};

/* Whether a load of so many cycles is one of memory. */
int ground_is_memory(const struct ground *w, double cycles);

/* What was taken since the level before, to @l. */
void ground_mark(struct ground *w, struct level_geometry *l);

/* Pages whose lines at one offset share a set of the first level. 0, -errno. */
int ground_pages(struct ground *w, size_t bytes);

/* Lines that the second level holds of pages with a line each, if all are of one colour. */
double ground_colour_lines(const struct geometry *g);

/* A survey of the pool, below a level of @above ways: what it is to know, and all of it. */
void ground_prepare(struct ground *w, struct survey *s, unsigned int above);
int ground_survey(struct ground *w, struct survey *s, unsigned int above);

/* What @s tells, to @l. @set_bytes: bytes of the level that one line of the pool stands for. */
void ground_settle(struct level_geometry *l, const struct survey *s, double set_bytes);

/* For who watches: a level takes longer the further out it is. */
void ground_announce(struct trial *t, size_t nlevels);

/* The second level, to the geometry; or to @s only, and only its ways if that is brief. 0, -errno. */
int geometry_find_second(struct ground *w, size_t max_bytes);
int geometry_second(struct ground *w, struct survey *s);

/* Whether there is a level behind the second; it, and those behind it. 0, -errno. */
int geometry_has_third(const struct ground *w);
int geometry_find_further(struct ground *w, size_t max_bytes);

/* The third by what it holds. 1, 0 if it is not told, -errno. */
int geometry_fill_third(struct ground *w, size_t max_bytes);

#endif
