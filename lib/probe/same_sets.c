// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A level does not see what hits above it. So where it holds what the one above has, a line that is
 * loaded over and over is for it as old as if it had been loaded once; where it is exclusive the
 * line comes to it when the level above lets go, and is new then. In a ring of more lines than fit,
 * in which some are loaded several times and then not for long, these miss as often as the others
 * or hardly ever.
 */
#include <string.h>
#include <sys/param.h>

#include <sonde/stats.h>
#include "same_sets.h"
#include "shuffle.h"

/* Lines of a ring that are loaded so often: once at each of the line's places. */
#define KEPT		2
#define TOUCHES		METER_LINE_PLACES
/* Loads in between, over ways of the level above; then, over lines that fit. */
#define GAP		0.7
#define AWAY		0.8
/* Rings; turns of each before its loads are looked at, and of these. */
#define RINGS		12
#define WARM		16
#define TURNS		8
/* Loads of a ring at most. */
#define LENGTH		256
/* Of lines loaded once, those that miss at least; over these, of the others at most. */
#define MISSED		0.25
#define FEWER		0.25
/* Of loads over and over those that miss the level above at most. */
#define BEYOND		0.1
/* Of lines that overflow the level above, twice its ways less these, those that miss it at least;
 * a hit of the next, over one of it. */
#define SPARE		2
#define OVERFLOWING	0.4
#define FARTHER		1.25
/* Lines that flush the first level, over its ways. */
#define FLUSH		4
/* Of what a miss costs more, what tells it. */
#define TELLS		0.4

/**
 * struct rounds - loads of a ring
 * @place: of @n loads
 * @kept: of them, which of a line's touches this is, from 1 on; 0 if it is the only one
 * @page: @npages that share the set
 * @clean: cycles of each load where lines hit the first level
 * @second, @next: cycles that hits of the level above and of the level cost more
 */
struct rounds {
	uint32_t place[LENGTH];
	unsigned char kept[LENGTH];
	size_t n;
	uint32_t page[HUNT_WAYS];
	size_t npages;
	double clean[LENGTH];
	double second, next;
};

/* The same pages in the same order, with lines elsewhere: translation is in that, too. */
static int take_clean(struct hunt *h, struct rounds *r)
{
	uint32_t place[LENGTH], line;
	double x[TURNS];
	int err;

	for (size_t i = 0; i < r->n; i++) {
		line = (uint32_t)(h->offset / METER_LINE + 2 + r->place[i] / METER_CHUNK_PLACES %
				  (METER_CHUNK_LINES - 3)) % METER_CHUNK_LINES;
		place[i] = meter_place(r->place[i] / METER_CHUNK_PLACES, line * METER_LINE) +
			   r->place[i] % METER_LINE_PLACES;
	}
	err = singly_take(h, place, r->n, 2, TURNS);
	for (size_t i = 0; i < r->n && !err; i++) {
		for (size_t k = 0; k < TURNS; k++)
			x[k] = h->more[k * r->n + i];
		sonde_stats_sort(x, TURNS);
		r->clean[i] = sonde_stats_median(x, TURNS);
	}
	return err;
}

/* What loads of the ring cost more than that, to h->more. */
static int take_more(struct hunt *h, struct rounds *r)
{
	int err = take_clean(h, r);

	if (!err)
		err = singly_take(h, r->place, r->n, WARM, TURNS);
	for (size_t i = 0; i < TURNS * r->n && !err; i++)
		h->more[i] -= r->clean[i % r->n];
	return err;
}

/*
 * What hits cost: of lines of the class that overflow the level above if they share a set of it.
 * 1, 0 if they do not, -errno.
 */
static int find_hits(const struct same_sets *s, struct rounds *r)
{
	struct hunt *h = s->h;
	size_t over = 0, n;
	int err;

	r->second = h->second_hit - h->first_hit;
	r->n = MIN(2 * s->above - SPARE, r->npages);
	for (size_t i = 0; i < r->n; i++)
		r->place[i] = meter_place(r->page[i], h->offset);
	err = take_more(h, r);
	if (err)
		return err;
	n = TURNS * r->n;
	sonde_stats_sort(h->more, n);
	r->next = sonde_stats_quantile(h->more, n, 1 - OVERFLOWING / 2);
	for (size_t i = 0; i < n; i++)
		over += h->more[i] > (r->second + r->next) / 2;
	return r->next + h->first_hit > FARTHER * h->second_hit && r->next < h->hit &&
	       (double)over > OVERFLOWING * (double)n;
}

/* More lines of the class to the ring's, until they are @n. 1, 0 if there are too few, -errno. */
static int find_more(const struct same_sets *s, struct rounds *r, size_t n)
{
	const size_t all = s->class->n, nflush = MIN(FLUSH * s->first_ways, s->ncalm);
	struct hunt *h = s->h;
	int over;

	memcpy(r->page, s->class->page, all * sizeof(*r->page));
	r->npages = all;
	for (size_t i = 0; i < s->nothers && r->npages < n && h->t->loads < h->until; i++) {
		/* In the place of one of the class. */
		hunt_places(h, r->page, all - 1, h->places);
		hunt_places(h, s->others + i, 1, h->places + all - 1);
		hunt_places(h, s->calm, nflush, h->places + all);
		over = hunt_places_overflow(h, h->places, all + nflush, nflush);
		if (over < 0)
			return over;
		if (over)
			r->page[r->npages++] = s->others[i];
	}
	return r->npages >= n;
}

/* Of a ring of @n loads those of lines loaded several times, and all others, in random order. */
static void lay(const struct same_sets *s, struct rounds *r, size_t gap, size_t n)
{
	size_t used = 0, at;

	shuffle(&s->h->t->rng, r->page, r->npages);
	memset(r->kept, 0, sizeof(r->kept));
	for (size_t k = 0; k < KEPT; k++, used++) {
		for (unsigned int i = 0; i < TOUCHES; i++) {
			at = (k * n / KEPT + i * gap) % n;
			while (r->kept[at])
				at = (at + 1) % n;
			r->kept[at] = (unsigned char)(i + 1);
			r->place[at] = meter_place(r->page[used], s->h->offset) + i;
		}
	}
	for (size_t i = 0; i < n; i++)
		if (!r->kept[i])
			r->place[i] = meter_place(r->page[used++], s->h->offset);
	r->n = n;
}

int same_sets_exclude(const struct same_sets *s)
{
	const size_t fit = s->class->n - 1, gap = (size_t)(GAP * s->above);
	const size_t n = (size_t)(AWAY * (double)fit) + (TOUCHES - 1) * gap;
	const size_t lines = n - KEPT * (TOUCHES - 1);
	double missed[2] = { 0 }, loads[2] = { 0 }, beyond = 0, again = 0;
	struct hunt *h = s->h;
	struct rounds r = { .npages = 0 };
	unsigned char kept;
	int err;

	if (n > LENGTH || lines > HUNT_WAYS || lines <= fit + s->first_ways)
		return 0;
	err = find_more(s, &r, lines);
	if (err > 0)
		err = find_hits(s, &r);
	if (err <= 0)
		return err;
	for (int k = 0; k < RINGS; k++) {
		lay(s, &r, gap, n);
		err = take_more(h, &r);
		if (err)
			return err;
		for (size_t i = 0; i < TURNS * n; i++) {
			kept = r.kept[i % n];
			loads[kept > 0] += kept < 2;
			missed[kept > 0] += h->more[i] > r.next + TELLS * h->penalty;
			again += kept > 1;
			beyond += kept > 1 && h->more[i] > (r.second + r.next) / 2;
		}
	}
	return missed[0] > MISSED * loads[0] && beyond < BEYOND * again &&
	       missed[1] / loads[1] < FEWER * missed[0] / loads[0];
}
