// SPDX-License-Identifier: LGPL-2.1-or-later
/* Of many lines that overflow some sets, few that still do: those that are seen to miss. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/param.h>

#include <sonde/stats.h>
#include "hunt.h"
#include "shuffle.h"

/*
 * Of as many orders as these loads are, but this many at least: turns, and those before. Some
 * replacements make the same few lines of a set miss for as long as they come in the same order.
 */
#define LOADS		12000
#define ORDERS		4
#define TURNS		4
#define WARM		4
/* So few are looked at one by one. */
#define FEW		32
/*
 * Those that missed may overflow nothing by themselves: so often, and until so many orders were
 * looked at, as many orders more.
 */
#define TRIES		2
#define ENOUGH		32
/* Of a load that took longer, by so many penalties, something else took the rest. */
#define MOST		2

/**
 * struct look - room for a ring's loads
 * @windows: one of each load
 * @ticks: the same, ascending
 * @sum: what they took in all @orders, by page
 * @seen: the same, so that the longest come first
 */
struct look {
	struct meter_window *windows;
	double *ticks, *sum;
	struct seen {
		double ticks;
		uint32_t page;
	} *seen;
	size_t orders;
};

static int look_open(struct look *l, const struct hunt *h, size_t n)
{
	const size_t all = n + h->nflush;

	l->windows = malloc(all * sizeof(*l->windows));
	l->ticks = malloc(all * sizeof(*l->ticks));
	l->sum = calloc((size_t)h->last + 1, sizeof(*l->sum));
	l->seen = malloc(n * sizeof(*l->seen));
	l->orders = 0;
	return l->windows && l->ticks && l->sum && l->seen ? 0 : -ENOMEM;
}

static void look_close(struct look *l)
{
	free(l->windows);
	free(l->ticks);
	free(l->sum);
	free(l->seen);
}

static void forget(struct look *l, const uint32_t *pages, size_t n)
{
	for (size_t i = 0; i < n; i++)
		l->sum[pages[i]] = 0;
	l->orders = 0;
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

/* What the first @n of all @places take in one more order, the others behind them. */
static int look(struct hunt *h, struct look *l, const uint32_t *places, size_t n, size_t all)
{
	struct trial *t = h->t;
	double most;
	int err = trial_ring(t, places, all, all - n);

	if (err)
		return err;
	trial_walk(t, WARM);
	for (int turn = 0; turn < TURNS; turn++) {
		t->meter->ops->chase(t->meter, 0, 1, l->windows, all);
		most = most_ticks(h, l, all);
		for (size_t i = 0; i < n; i++)
			l->sum[t->ring[i] / METER_CHUNK_PLACES] +=
				fmin((double)l->windows[i].ticks, most);
	}
	l->orders++;
	t->loads += TURNS * all;
	t->samples += TURNS * all;
	return 0;
}

/* @from in the order of what their loads cost beside each other and the flush lines. */
static int rank(struct hunt *h, struct look *l, uint32_t *from, size_t n)
{
	const size_t all = n + h->nflush;
	size_t orders = MAX(l->orders, MAX(LOADS / TURNS / all, ORDERS));
	int err = trial_tick(h->t);

	for (size_t i = 0; i < all; i++)
		h->places[i] = meter_place(i < n ? from[i] : h->flush[i - n], h->offset);
	for (; orders && !err; orders--)
		err = look(h, l, h->places, n, all);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		l->seen[i] = (struct seen){ l->sum[from[i]], from[i] };
	qsort(l->seen, n, sizeof(*l->seen), by_ticks);
	for (size_t i = 0; i < n; i++)
		from[i] = l->seen[i].page;
	return 0;
}

int hunt_narrow(struct hunt *h, uint32_t *from, size_t *n)
{
	struct look l;
	int err = look_open(&l, h, *n), tries = 0, over;

	while (*n > FEW && (tries < TRIES || l.orders < ENOUGH) && !err) {
		err = rank(h, &l, from, *n);
		over = err ? err : hunt_overflows(h, from, *n / 2);
		err = MIN(over, 0);
		if (over > 0) {
			*n /= 2;
			forget(&l, from, *n);
			tries = 0;
		} else {
			tries++;
		}
	}
	shuffle(&h->t->rng, from, *n);
	look_close(&l);
	return err;
}
