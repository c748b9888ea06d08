// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Ways and classes of a level that others did not count, by filling it to the brim
 * (brim.h). The lines that fill it are ways times classes, and a line that no longer fits
 * can be in the place of as many as ways: both are counted, and have to agree with each
 * other. No flush lines are needed, so it tells exclusive levels, too, of which lines that
 * share a set above have only some sets.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "brim.h"
#include "survey.h"
#include "urns.h"

/* Lines to begin with, over ways of the level above: so many miss that. */
#define FIRST		3
/* Loads, some seconds of them. */
#define PATIENCE	120000000
/* Classes to look at, and of them those that have as many lines, at least. */
#define CLASSES		6
#define AGREE		3
/* Lines that did not fit, over classes. */
#define OUT_LEAST	4
/* Lines that the pool lacks to fill all sets, beside those to be expected; and of those
 * the most, over ways. */
#define LACK_MORE	2
#define LACK_MOST	0.34
/* Times that the level above is to be seen without a line of a set, for that to be full. */
#define EMPTY_LEAST	18
/* Lines that did not fit to look at for more of a class. */
#define MORE_TESTS	200

/*
 * Classes of @ways lines that those in @b fill; 0 if they fill none exactly. Where no line
 * is in both levels at once, the level above takes its share of lines unless it is seen
 * without any of a set's.
 */
static size_t classes_of(const struct survey *s, const struct brim *b, unsigned int ways)
{
	const size_t classes = (b->n + ways - 1) / ways;
	const double mean = (double)(b->n + b->nout) / (double)classes;
	const double lacks = urns_lacking((double)classes, ways, mean);
	const double empty = (double)b->n * brim_orders(b) * pow(1 - 1.0 / (double)classes, s->above);

	if (lacks > LACK_MOST * ways || (double)(classes * ways - b->n) > LACK_MORE * (1 + lacks))
		return 0;
	if (empty < EMPTY_LEAST)
		return 0;
	return b->nout < OUT_LEAST * classes ? 0 : classes;
}

/*
 * Ways that several classes have, to *@ways, and one of them to @c: 1, 0 if too few
 * agree, -errno.
 */
static int find_ways(struct brim *b, unsigned int *ways, struct class *c)
{
	struct class some[CLASSES];
	unsigned int same;
	int found;

	for (size_t k = 0; k < CLASSES && k < b->nout; k++) {
		found = brim_class(b, k * b->nout / CLASSES, &some[k]);
		if (found < 0)
			return found;
		same = 0;
		for (size_t i = 0; found && i <= k; i++)
			same += some[i].n == some[k].n;
		if (same < AGREE)
			continue;
		*c = some[k];
		*ways = (unsigned int)c->n - 1;
		return 1;
	}
	return 0;
}

/* More lines of the class, of those that did not fit. */
static int add_members(const struct survey *s, struct brim *b, struct class *c)
{
	const size_t want = survey_crowd(s, c);
	int member;

	for (size_t i = 0; i < MIN(b->nout, MORE_TESTS) && c->n < want; i++) {
		if (hunt_is_among(c->page, c->n, b->out[i]))
			continue;
		member = brim_is_member(b, c, i);
		if (member < 0)
			return member;
		if (member)
			c->page[c->n++] = b->out[i];
	}
	return 0;
}

static int judge(struct survey *s, struct brim *b)
{
	unsigned int ways = 0;
	size_t classes = 0;
	struct class c;
	int told = find_ways(b, &ways, &c);

	if (told > 0)
		classes = classes_of(s, b, ways);
	if (told <= 0 || !classes)
		return told < 0 ? told : 0;
	told = add_members(s, b, &c);
	if (!told)
		told = survey_adopt(s, &c, ways, b->in, hunt_drop(b->in, b->n, c.page, c.n));
	if (told <= 0)
		return told;
	s->votes = s->tried = AGREE;
	s->classes = (double)classes;
	s->classes_se = 0;
	s->sorted = classes;
	return 0;
}

int survey_brim(struct survey *s, const struct reach *r)
{
	struct hunt h = {
		.offset = s->offset, .above = s->above, .first_hit = s->first->hit,
		.until = s->t->loads + PATIENCE,
	};
	struct brim b;
	int err = hunt_open(&h, s->t, s->pages, s->npages);

	if (err)
		return err;
	survey_begin(s, r);
	err = brim_open(&b, &h, s->hit, s->penalty);
	if (!err)
		err = brim_fill(&b, MIN(FIRST * s->above, s->rise / 2));
	if (!err && b.n)
		err = judge(s, &b);
	brim_close(&b);
	hunt_close(&h);
	return err;
}
