// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A level of which all lines at one offset share a set. Nothing flushes the level above then,
 * and of an exclusive one the ways of both are seen. But lines of several sets above share it,
 * and the more of these there are the more lines fit: one set of the level above each time.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

#include "survey.h"

/* Classes, told by few lines, that are one. */
#define ONE_CLASS	1.3
/* Sets above that lines are taken of at most: once one, twice as many, all. */
#define SETS_MOST	4
/* Draws, of which one is to fit. */
#define DRAWS		3
/* More lines than fit that are looked at. */
#define BEYOND		3

/* Of @sets sets above, lines that fit together. */
static int count_fitting(struct survey *s, struct hunt *h, unsigned int sets, unsigned int *fit)
{
	const size_t most = MIN(MIN(s->ways + sets * s->above + BEYOND, HUNT_WAYS), s->npages);
	uint32_t pages[HUNT_WAYS];
	const uint32_t *from;
	int over;

	for (*fit = s->ways - 1; *fit < most; (*fit)++) {
		over = 1;
		for (int i = 0; i < DRAWS && over > 0; i++) {
			from = hunt_draw(h, *fit + 1);
			for (unsigned int j = 0; j <= *fit; j++)
				pages[j] = from[j] + j % sets;
			over = hunt_overflows(h, pages, *fit + 1);
		}
		if (over)
			return MIN(over, 0);
	}
	return 0;
}

int survey_single(struct survey *s, unsigned int sets)
{
	const unsigned int more[] = { 1, 2, MIN(sets, SETS_MOST) };
	unsigned int fit[3] = { 0 };
	struct hunt h = {
		.offset = s->offset, .above = s->above, .first_hit = s->first->hit,
		.first_lines = stride_lines(s->first), .hit = s->hit, .kept = s->kept,
		.penalty = s->penalty, .rise = s->rise, .gauge = s->gauge, .until = UINT64_MAX,
	};
	int err;

	if (sets < 2 || s->holding == HOLDING_OTHER || s->ways <= s->above ||
	    s->classes <= 0 || s->classes > ONE_CLASS)
		return 0;
	err = hunt_open(&h, s->t, s->pages, s->npages);
	for (int i = 0; i < 3 && !err; i++)
		err = count_fitting(s, &h, more[i], &fit[i]);
	hunt_close(&h);
	if (err)
		return err;
	for (int i = 0; i < 3; i++)
		if (fit[i] != s->ways + (more[i] - 1) * s->above)
			return 0;
	s->rise = s->ways;
	s->ways -= s->above;
	s->holding = HOLDING_OTHER;
	s->line = s->first->line;
	s->classes = s->sorted = s->fold = 1;
	s->classes_se = 0;
	s->doubtful = 0;
	return 0;
}
