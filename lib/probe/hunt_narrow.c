// SPDX-License-Identifier: LGPL-2.1-or-later
/* Of many lines that overflow some sets, few that still do: those that are seen to miss. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <sonde/stats.h>
#include "hunt.h"
#include "shuffle.h"

/* Turns before a look at each load, and turns of it. */
#define WARM		8
#define TURNS		16
/* So few are looked at one by one. */
#define FEW		32
/* Times that those which missed overflow nothing by themselves, one after the other. */
#define TRIES		2
/* Of a load that took longer, by so many penalties, something else took the rest. */
#define MOST		2

/**
 * struct look - room for a ring's loads
 * @windows: one of each load
 * @ticks: the same, ascending
 * @seen: what they took by page, so that the longest come first
 */
struct look {
	struct meter_window *windows;
	double *ticks;
	struct seen {
		double ticks;
		uint32_t page;
	} *seen;
};

static int look_open(struct look *l, size_t n)
{
	l->windows = malloc(n * sizeof(*l->windows));
	l->ticks = malloc(n * sizeof(*l->ticks));
	l->seen = malloc(n * sizeof(*l->seen));
	return l->windows && l->ticks && l->seen ? 0 : -ENOMEM;
}

static void look_close(struct look *l)
{
	free(l->windows);
	free(l->ticks);
	free(l->seen);
}

static int by_ticks(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return (x->ticks < y->ticks) - (x->ticks > y->ticks);
}

/* What is more than the typical load by this much is no miss of the level alone. */
static double most_ticks(const struct hunt *h, struct look *l, size_t n)
{
	const struct trial *t = h->t;

	for (size_t i = 0; i < n; i++)
		l->ticks[i] = (double)l->windows[i].ticks;
	sonde_stats_sort(l->ticks, n);
	return sonde_stats_median(l->ticks, n) + MOST * h->penalty * t->chain_ns /
	       t->meter->chain_cycles / t->meter->tick_ns;
}

/* @from in the order of what their loads cost beside each other and the flush lines. */
static int rank(struct hunt *h, struct look *l, uint32_t *from, size_t n)
{
	struct trial *t = h->t;
	size_t all = n + h->nflush;
	double most;
	int err = trial_tick(t);

	for (size_t i = 0; i < all; i++)
		h->places[i] = meter_place(i < n ? from[i] : h->flush[i - n], h->offset);
	if (!err)
		err = trial_ring(t, h->places, all, h->nflush);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		l->seen[i] = (struct seen){ .page = t->ring[i] / METER_CHUNK_PLACES };
	trial_walk(t, WARM);
	for (int turn = 0; turn < TURNS; turn++) {
		t->meter->ops->chase(t->meter, 0, 1, l->windows, all);
		most = most_ticks(h, l, all);
		for (size_t i = 0; i < n; i++)
			l->seen[i].ticks += fmin((double)l->windows[i].ticks, most);
	}
	t->loads += TURNS * all;
	t->samples += TURNS * all;
	qsort(l->seen, n, sizeof(*l->seen), by_ticks);
	for (size_t i = 0; i < n; i++)
		from[i] = l->seen[i].page;
	return 0;
}

int hunt_narrow(struct hunt *h, uint32_t *from, size_t *n)
{
	struct look l;
	int err = look_open(&l, *n + h->nflush), over;

	for (int tries = 0; tries < TRIES && *n > FEW && !err;) {
		err = rank(h, &l, from, *n);
		over = err ? err : hunt_overflows(h, from, *n / 2);
		if (over > 0) {
			*n /= 2;
			tries = 0;
		} else {
			err = over;
			tries++;
		}
	}
	shuffle(&h->t->rng, from, *n);
	look_close(&l);
	return err;
}
