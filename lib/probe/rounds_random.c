// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A level above that replaces at random keeps no line for sure. So of lines that are loaded at
 * some interval, those count that the level above still had whenever they were loaded, but not the
 * last time. A level that holds them as well has not seen them since the first time, and has lost
 * as many as of others that were loaded first and last only. An exclusive one got them since they
 * were last seen above, and has lost fewer. So has an inclusive one, which takes what it loses from
 * the level above, too; but that loses lines that were loaded just before as well.
 */
#include <stdint.h>

#include "rounds.h"
#include "shuffle.h"

#define RINGS		100
/* Of so many lines one is loaded first and last only, and one in between as well; the rest once. */
#define KINDS		4
#define KINDS_TOUCHED	2
/* Lines that have to be lost of those loaded first and last; that have to leave the level above of
 * the others. */
#define LOST_LEAST	200
#define LEFT_LEAST	500
/* Of the others a share is lost, over that of those loaded first and last, if it is exclusive. */
#define LATER		0.65
/* Lost at once, over what that would be if all loads in between took as many, at most. */
#define AT_ONCE		0.3

/* When a line is loaded, each time at another place of it. */
enum touch { FIRST, AT_ONCE_AGAIN, IN_BETWEEN, LAST, TOUCHES };

/* Where it is then: in the level above or the first, in the level, in neither. */
enum where { ABOVE, LEFT, LOST };

struct due {
	size_t at;		/* after so many loads */
	size_t line;
	enum touch touch;
};

/**
 * struct ring - what is loaded
 * @line: which of the pages' lines
 * @touch: which of its loads
 */
struct ring {
	unsigned char line[ROUNDS_LENGTH], touch[ROUNDS_LENGTH];
};

/**
 * struct tally - of loads at last, by kind: those of lines that were above each time before
 * @left, @lost: that are not above; that are lost
 * @once, @lost_once: of loads at once again, all, and those that are lost
 * @loads: at last, of both kinds
 */
struct tally {
	double left[KINDS_TOUCHED], lost[KINDS_TOUCHED], loads[KINDS_TOUCHED];
	double once, lost_once;
};

static void put(struct hunt *h, struct rounds *r, struct ring *ring, size_t line, enum touch touch)
{
	ring->line[r->n] = (unsigned char)line;
	ring->touch[r->n] = (unsigned char)touch;
	r->place[r->n++] = meter_place(r->page[line], h->offset) + (uint32_t)touch;
}

/* The first of those that are due after @now loads. @n if none is. */
static size_t next_due(const struct due *due, size_t n, size_t now)
{
	size_t next = n;

	for (size_t i = 0; i < n; i++)
		if (due[i].at <= now && (next == n || due[i].at < due[next].at))
			next = i;
	return next;
}

/* All pages' lines in a new order. */
static void lay(struct hunt *h, struct rounds *r, struct ring *ring, size_t gap)
{
	struct due due[ROUNDS_LENGTH];
	size_t ndue = 0, line = 0, next;

	shuffle(&h->t->rng, r->page, r->npages);
	for (r->n = 0; line < r->npages || ndue;) {
		next = next_due(due, ndue, line < r->npages ? r->n : SIZE_MAX);
		if (next < ndue) {
			put(h, r, ring, due[next].line, due[next].touch);
			due[next] = due[--ndue];
			continue;
		}
		if (line % KINDS < KINDS_TOUCHED) {
			due[ndue++] = (struct due){ r->n + 2, line, AT_ONCE_AGAIN };
			if (line % KINDS)
				due[ndue++] = (struct due){ r->n + 2 + gap, line, IN_BETWEEN };
			due[ndue++] = (struct due){ r->n + 2 + 2 * gap, line, LAST };
		}
		put(h, r, ring, line++, FIRST);
	}
}

/* A turn of it, in which loads cost @more. */
static void count(struct tally *t, const struct rounds *r, const struct ring *ring,
		  const double *more)
{
	enum where where[HUNT_WAYS][TOUCHES] = { { ABOVE } }, *w;
	size_t kind;

	for (size_t i = 0; i < r->n; i++) {
		w = where[ring->line[i]];
		kind = ring->line[i] % KINDS;
		w[ring->touch[i]] = more[i] > r->missed ? LOST :
				    rounds_is_beyond(r, more[i]) ? LEFT : ABOVE;
		if (ring->touch[i] == AT_ONCE_AGAIN) {
			t->once++;
			t->lost_once += w[AT_ONCE_AGAIN] == LOST;
		}
		if (ring->touch[i] != LAST || w[AT_ONCE_AGAIN] != ABOVE || w[IN_BETWEEN] != ABOVE)
			continue;
		t->loads[kind]++;
		t->left[kind] += w[LAST] != ABOVE;
		t->lost[kind] += w[LAST] == LOST;
	}
}

int rounds_exclude_at_random(struct hunt *h, struct rounds *r, size_t gap)
{
	struct tally t = { .once = 0 };
	struct ring ring;
	double at_once;
	int err;

	for (int k = 0; k < RINGS; k++) {
		lay(h, r, &ring, gap);
		err = rounds_take(h, r);
		if (err)
			return err;
		for (size_t turn = 0; turn < ROUNDS_TURNS; turn++)
			count(&t, r, &ring, h->more + turn * r->n);
	}
	if (t.lost[0] < LOST_LEAST || t.left[1] < LEFT_LEAST)
		return 0;
	at_once = t.lost_once / t.once * (double)(2 * gap + 1);
	return t.lost[1] / t.left[1] < LATER * t.lost[0] / t.left[0] &&
	       at_once < AT_ONCE * t.lost[0] / t.loads[0];
}
