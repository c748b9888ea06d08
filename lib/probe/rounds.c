// SPDX-License-Identifier: LGPL-2.1-or-later
#include <sonde/stats.h>
#include "rounds.h"

/* Turns of a ring before its loads are looked at. */
#define WARM		16

/* The same pages in the same order, with lines elsewhere: translation is in that, too. */
static int take_clean(struct hunt *h, struct rounds *r)
{
	uint32_t place[ROUNDS_LENGTH], line;
	double x[ROUNDS_TURNS];
	int err;

	for (size_t i = 0; i < r->n; i++) {
		line = (uint32_t)(h->offset / METER_LINE + 2 + r->place[i] / METER_CHUNK_PLACES %
				  (METER_CHUNK_LINES - 3)) % METER_CHUNK_LINES;
		place[i] = meter_place(r->place[i] / METER_CHUNK_PLACES, line * METER_LINE) +
			   r->place[i] % METER_LINE_PLACES;
	}
	err = singly_take(h, place, r->n, 2, ROUNDS_TURNS);
	for (size_t i = 0; i < r->n && !err; i++) {
		for (size_t k = 0; k < ROUNDS_TURNS; k++)
			x[k] = h->more[k * r->n + i];
		sonde_stats_sort(x, ROUNDS_TURNS);
		r->clean[i] = sonde_stats_median(x, ROUNDS_TURNS);
	}
	return err;
}

int rounds_take(struct hunt *h, struct rounds *r)
{
	int err = take_clean(h, r);

	if (!err)
		err = singly_take(h, r->place, r->n, WARM, ROUNDS_TURNS);
	for (size_t i = 0; i < ROUNDS_TURNS * r->n && !err; i++)
		h->more[i] -= r->clean[i % r->n];
	return err;
}
