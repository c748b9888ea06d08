// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Ways and classes of a level of which lines that share a set above have few sets, so
 * that lines to flush the level above fall into those that are looked into. A ring that
 * is hardly more than the level holds overflows some sets and not others, and windows of
 * one load tell which of its lines miss: those of the ones. So what never misses is of
 * the others, and flushes the level above without being in the way.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "shuffle.h"
#include "survey.h"

/* Loads of it, some seconds of them. */
#define PATIENCE	80000000
/* Rings that are drawn at most, and how many lines more or fewer the next one has. */
#define DRAWS		120
#define GROW		1.05
#define SHRINK		0.97
/* Orders of a ring, and those in which no line misses that did not before. */
#define ORDERS		40
#define IDLE		8
/* Lines that never miss, over ways of the level above, at least. */
#define CALM		1.5
/* Classes of the same ways that have to be seen, of how many. */
#define AGREE		3
#define MOST		12

/**
 * struct split - a ring taken apart
 * @s: the survey it is for
 * @h: whose pool it is of
 * @pages: of the pool: the @n of the ring, and then the rest
 * @missed: by page: in the last looks
 */
struct split {
	struct survey *s;
	struct hunt *h;
	uint32_t *pages;
	size_t n;
	unsigned char *missed;
};

static int split_open(struct split *p, struct survey *s, struct hunt *h)
{
	*p = (struct split){ .s = s, .h = h };
	p->pages = malloc(h->npages * sizeof(*p->pages));
	p->missed = calloc((size_t)h->last + 1, 1);
	if (!p->pages || !p->missed)
		return -ENOMEM;
	memcpy(p->pages, h->pages, h->npages * sizeof(*p->pages));
	return 0;
}

static void split_close(struct split *p)
{
	free(p->pages);
	free(p->missed);
}

/* How many of the @n pages that h->places are of missed. */
static size_t count_missed(const struct split *p, size_t n)
{
	size_t missed = 0;

	for (size_t i = 0; i < n; i++)
		missed += p->missed[p->h->places[i] / METER_CHUNK_PLACES];
	return missed;
}

/*
 * The ring of h->places, the last @tail lines after all others, in other orders until no line
 * misses that did not before. How many missed, to *@nmissed. 0, -errno.
 */
static int look_on(struct split *p, size_t n, size_t tail, size_t *nmissed)
{
	double misses;
	size_t before;
	int err = 0;

	for (size_t i = 0; i < n; i++)
		p->missed[p->h->places[i] / METER_CHUNK_PLACES] = 0;
	*nmissed = 0;
	for (int i = 0, idle = 0; i < ORDERS && idle < IDLE && !err; i++) {
		err = singly_look(p->h, p->h->places, n, tail, p->missed, &misses);
		before = *nmissed;
		*nmissed = count_missed(p, n);
		idle = *nmissed > before ? 0 : idle + 1;
	}
	return err;
}

/*
 * Of the ring, those that missed in any order to its front: how many, to *@nmissed.
 * 0, -errno.
 */
static int part(struct split *p, size_t *nmissed)
{
	uint32_t page;
	size_t n = 0;
	int err;

	hunt_places(p->h, p->pages, p->n, p->h->places);
	err = look_on(p, p->n, 0, nmissed);
	for (size_t i = 0; i < p->n && !err; i++) {
		page = p->pages[i];
		if (!p->missed[page])
			continue;
		p->pages[i] = p->pages[n];
		p->pages[n++] = page;
	}
	return err;
}

/*
 * Lines that never missed to flush the level above: so many that they do not miss either
 * when they come after all others, which then are out of it at once. 1, 0 if they are too
 * few, -errno.
 */
static int choose_flush(struct split *p, size_t nmissed)
{
	struct hunt *h = p->h;
	const uint32_t *calm = p->pages + nmissed;
	size_t n = MIN(MIN(p->n - nmissed, SURVEY_FLUSH * h->above), HUNT_WAYS / 2), missed;
	int err;

	for (; (double)n >= CALM * h->above; n -= MAX(h->above / 8, 1)) {
		hunt_places(h, p->pages, nmissed, h->places);
		hunt_places(h, calm, n, h->places + nmissed);
		err = look_on(p, nmissed + n, n, &missed);
		if (err)
			return err;
		missed = 0;
		for (size_t i = 0; i < n; i++)
			missed += p->missed[calm[i]];
		if (missed)
			continue;
		/* With room for one more, which is looked at beside them. */
		n--;
		memcpy(h->flush, calm, n * sizeof(*h->flush));
		h->nflush = n;
		return 1;
	}
	return 0;
}

/* A class of those that missed. 1, 0 if there is none, -errno. */
static int find_class(struct split *p, size_t nmissed, struct class *c)
{
	int err = choose_flush(p, nmissed);

	if (err <= 0)
		return err;
	p->h->pure = 0;
	p->h->until = p->s->until;
	err = hunt_class(p->h, p->pages, nmissed, c);
	p->h->pure = 1;
	return err;
}

/*
 * Rings of lines of the pool, drawn anew each time and of as many lines as overflow some
 * sets, until one tells a class. 1, 0, -errno.
 */
static int draw_class(struct split *p, double *size, struct class *c)
{
	size_t nmissed = 0;
	int found = 0;

	for (int i = 0; i < DRAWS && !found && p->h->t->loads < p->s->until; i++) {
		shuffle(&p->h->t->rng, p->pages, p->h->npages);
		p->n = MIN((size_t)*size, p->h->npages);
		found = part(p, &nmissed);
		if (found)
			return found;
		if (!nmissed)
			*size *= GROW;
		else if ((double)(p->n - nmissed) < CALM * p->h->above)
			*size *= SHRINK;
		else
			found = find_class(p, nmissed, c);
	}
	return found;
}

/* More lines of the class, for the sweep. 0, -errno. */
static int add_members(struct split *p, struct class *c, unsigned int ways)
{
	struct hunt *h = p->h;
	size_t want = survey_crowd(p->s, c), found, tested;
	size_t n = hunt_drop(p->pages, h->npages, h->flush, h->nflush);
	int err;

	n = hunt_drop(p->pages, n, c->page, c->n);
	shuffle(&h->t->rng, p->pages, n);
	err = hunt_members(h, c, ways, p->pages, n, want - c->n, &found, &tested);
	if (err)
		return err;
	memcpy(c->page + c->n, p->pages, found * sizeof(*p->pages));
	c->n += found;
	return 0;
}

/* Until several classes have the same ways: the last of them to @c. 1, 0, -errno. */
static int find_ways(struct split *p, struct class *c, unsigned int *ways)
{
	double size = (double)p->s->rise;
	unsigned int seen[HUNT_WAYS + 1] = { 0 };
	int found;

	for (int i = 0; i < MOST; i++) {
		memcpy(p->pages, p->h->pages, p->h->npages * sizeof(*p->pages));
		found = draw_class(p, &size, c);
		if (found <= 0)
			return found;
		if (c->n > 2 && ++seen[c->n] == AGREE) {
			*ways = (unsigned int)c->n - 1;
			return 1;
		}
	}
	return 0;
}

static int judge(struct split *p)
{
	struct survey *s = p->s;
	struct hunt *h = p->h;
	struct class c;
	unsigned int ways = 0;
	int told = find_ways(p, &c, &ways);

	if (told > 0)
		told = add_members(p, &c, ways);
	if (told < 0)
		return told;
	if (ways)
		told = survey_adopt(s, &c, ways, h->flush, h->nflush);
	if (!ways || told <= 0)
		return told;
	s->votes = s->tried = AGREE;
	memcpy(p->pages, h->pages, h->npages * sizeof(*p->pages));
	return survey_count_exactly(s, h);
}

int survey_split(struct survey *s, const struct reach *r)
{
	struct hunt h = {
		.offset = s->offset, .above = s->above, .first_hit = s->first->hit,
		.first_lines = stride_lines(s->first),
		.second_hit = s->second_hit, .second_lines = s->second_lines,
		.singly = singly_can(s->t, s->penalty),
	};
	struct split p = { .s = s };
	int err = hunt_open(&h, s->t, s->pages, s->npages);

	if (err)
		return err;
	s->until = s->t->loads + PATIENCE;
	survey_begin(s, r);
	h.hit = s->hit;
	h.penalty = s->penalty;
	h.rise = s->rise;
	err = split_open(&p, s, &h);
	if (!err)
		err = judge(&p);
	split_close(&p);
	hunt_close(&h);
	return err;
}
