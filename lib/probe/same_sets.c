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
#include "rounds.h"
#include "same_sets.h"
#include "shuffle.h"

/* Lines of a ring that are loaded so often: once at each of the line's places. */
#define KEPT		2
#define TOUCHES		METER_LINE_PLACES
/* Loads in between, over ways of the level above; then, over lines that fit. */
#define GAP		0.7
#define AWAY		0.8
#define RINGS		12
/* Lines of a level above that replaces at random, over lines that fit. */
#define MANY		2
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
	err = rounds_take(h, r);
	if (err)
		return err;
	n = ROUNDS_TURNS * r->n;
	sonde_stats_sort(h->more, n);
	r->next = sonde_stats_quantile(h->more, n, 1 - OVERFLOWING / 2);
	for (size_t i = 0; i < n; i++)
		over += rounds_is_beyond(r, h->more[i]);
	r->missed = r->next + TELLS * h->penalty;
	return r->next + h->first_hit > FARTHER * h->second_hit && r->next < h->hit &&
	       (double)over > OVERFLOWING * (double)n;
}

/*
 * More lines of the class to the ring's, until they are @n, of those not *@tried. 1, 0 if there are
 * too few, -errno.
 */
static int find_more(const struct same_sets *s, struct rounds *r, size_t n, size_t *tried)
{
	const size_t all = s->class->n, nflush = MIN(FLUSH * s->first_ways, s->ncalm);
	struct hunt *h = s->h;
	int over;

	for (; *tried < s->nothers && r->npages < n && h->t->loads < h->until; (*tried)++) {
		/* In the place of one of the class. */
		hunt_places(h, s->class->page, all - 1, h->places);
		hunt_places(h, s->others + *tried, 1, h->places + all - 1);
		hunt_places(h, s->calm, nflush, h->places + all);
		over = hunt_places_overflow(h, h->places, all + nflush, nflush);
		if (over < 0)
			return over;
		if (over)
			r->page[r->npages++] = s->others[*tried];
	}
	return r->npages >= n;
}

/*
 * Of a ring of @n loads those of lines loaded several times, and all others, in random order. Which
 * of a line's loads each is, from 1 on, to @kept; 0 if it is the only one.
 */
static void lay(const struct same_sets *s, struct rounds *r, unsigned char *kept, size_t gap,
		size_t n)
{
	size_t used = 0, at;

	shuffle(&s->h->t->rng, r->page, r->npages);
	memset(kept, 0, n);
	for (size_t k = 0; k < KEPT; k++, used++) {
		for (unsigned int i = 0; i < TOUCHES; i++) {
			at = (k * n / KEPT + i * gap) % n;
			while (kept[at])
				at = (at + 1) % n;
			kept[at] = (unsigned char)(i + 1);
			r->place[at] = meter_place(r->page[used], s->h->offset) + i;
		}
	}
	for (size_t i = 0; i < n; i++)
		if (!kept[i])
			r->place[i] = meter_place(r->page[used++], s->h->offset);
	r->n = n;
}

/*
 * Whether lines that are kept above are lost later, if the level above keeps any: to *@keeps.
 * 1, 0 if not or if it cannot be told, -errno.
 */
static int lose_later(const struct same_sets *s, struct rounds *r, size_t gap, size_t n, int *keeps)
{
	double missed[2] = { 0 }, loads[2] = { 0 }, beyond = 0, again = 0;
	unsigned char kept[ROUNDS_LENGTH], touch;
	struct hunt *h = s->h;
	int err;

	for (int k = 0; k < RINGS; k++) {
		lay(s, r, kept, gap, n);
		err = rounds_take(h, r);
		if (err)
			return err;
		for (size_t i = 0; i < ROUNDS_TURNS * n; i++) {
			touch = kept[i % n];
			loads[touch > 0] += touch < 2;
			missed[touch > 0] += h->more[i] > r->missed;
			again += touch > 1;
			beyond += touch > 1 && rounds_is_beyond(r, h->more[i]);
		}
	}
	*keeps = beyond < BEYOND * again;
	return *keeps && missed[0] > MISSED * loads[0] &&
	       missed[1] / loads[1] < FEWER * missed[0] / loads[0];
}

int same_sets_exclude(const struct same_sets *s)
{
	const size_t fit = s->class->n - 1, gap = (size_t)(GAP * s->above);
	const size_t n = (size_t)(AWAY * (double)fit) + (TOUCHES - 1) * gap;
	const size_t lines = n - KEPT * (TOUCHES - 1);
	struct rounds r = { .npages = s->class->n };
	size_t tried = 0;
	int told, keeps;

	if (n > ROUNDS_LENGTH || lines > HUNT_WAYS || lines <= fit + s->first_ways)
		return 0;
	memcpy(r.page, s->class->page, r.npages * sizeof(*r.page));
	told = find_more(s, &r, lines, &tried);
	if (told > 0)
		told = find_hits(s, &r);
	if (told <= 0)
		return told;
	told = lose_later(s, &r, gap, n, &keeps);
	if (told || keeps || MANY * fit > HUNT_WAYS)
		return told;
	told = find_more(s, &r, MANY * fit, &tried);
	return told > 0 ? rounds_exclude_at_random(s->h, &r, gap) : told;
}
