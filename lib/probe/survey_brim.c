// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Ways and classes of a level by filling it to the brim (brim.h). The lines that fill it are ways
 * times classes, and a line that no longer fits can be in the place of as many as ways: both are
 * counted, and have to agree with each other. No flush lines are needed, so it tells exclusive
 * levels, too, of which lines that share a set above have only some sets.
 */
#include <sys/param.h>

#include "brim.h"
#include "survey.h"

/* Lines to begin with, over ways of the level above: so many miss that. */
#define FIRST		3
/* Loads, some seconds of them. */
#define PATIENCE	120000000
/* Classes that agree. */
#define AGREE		3

static int judge(struct survey *s, struct brim *b)
{
	unsigned int ways;
	struct class c;
	int told = brim_ways(b, &ways, &c);

	if (told > 0)
		told = brim_settle(b, ways);
	/* Other lines of its set are in by now. */
	if (!told && brim_is_full(b, ways))
		told = brim_ways(b, &ways, &c);
	if (told <= 0 || !brim_is_full(b, ways))
		return MIN(told, 0);
	told = survey_adopt(s, &c, ways, b->page, hunt_drop(b->page, b->n, c.page, c.n));
	if (told <= 0)
		return told;
	s->votes = s->tried = AGREE;
	s->sorted = b->n / ways;
	s->classes = (double)s->sorted;
	s->classes_se = 0;
	return 0;
}

int survey_brim(struct survey *s, const struct reach *r)
{
	struct hunt h = {
		.offset = s->offset, .above = s->above, .first_hit = s->first->hit,
		.first_lines = stride_lines(s->first), .second_hit = s->second_hit,
		.second_lines = s->second_lines, .until = s->t->loads + PATIENCE,
	};
	struct brim b;
	int err;

	survey_begin(s, r);
	h.hit = s->hit;
	h.penalty = s->penalty;
	h.singly = singly_can(s->t, h.penalty);
	if (!h.singly)
		return 0;
	err = hunt_open(&h, s->t, s->pages, s->npages);
	if (!err)
		err = brim_open(&b, &h, 0, 0);
	if (!err) {
		err = brim_fill(&b, MIN(FIRST * s->above, s->rise / 2));
		if (!err && b.n)
			err = judge(s, &b);
		brim_close(&b);
	}
	hunt_close(&h);
	return err;
}
