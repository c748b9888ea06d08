// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>

#include "overlap.h"

/* So much of a window has to be covered at least. */
#define COVERED		0.5
/* A window that took so many times the median was interrupted. */
#define GAP_FACTOR	3

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int overlap_forget_gaps(const struct overlap_lane *lanes, size_t n)
{
	size_t most = 0;
	uint64_t *ticks, limit;

	for (size_t l = 0; l < n; l++)
		most = lanes[l].nout > most ? lanes[l].nout : most;
	ticks = calloc(most ? most : 1, sizeof(*ticks));
	if (!ticks)
		return -ENOMEM;
	for (size_t l = 0; l < n; l++) {
		if (!lanes[l].nout)
			continue;
		for (size_t i = 0; i < lanes[l].nout; i++)
			ticks[i] = lanes[l].out[i].ticks;
		qsort(ticks, lanes[l].nout, sizeof(*ticks), compare);
		limit = GAP_FACTOR * ticks[lanes[l].nout / 2];
		for (size_t i = 0; i < lanes[l].nout; i++)
			if (lanes[l].out[i].ticks > limit)
				lanes[l].out[i].ticks = 0;
	}
	free(ticks);
	return 0;
}

/* How much of @w the windows of @lane cover, 0 to 1; @from is where to look on. */
static double cover(const struct meter_window *w, const struct overlap_lane *lane, size_t *from)
{
	uint64_t end = w->begin + w->ticks, covered = 0, low, high;
	size_t i = *from;

	while (i < lane->nout && lane->out[i].begin + lane->out[i].ticks <= w->begin)
		i++;
	*from = i;
	for (; i < lane->nout && lane->out[i].begin < end; i++) {
		low = lane->out[i].begin > w->begin ? lane->out[i].begin : w->begin;
		high = lane->out[i].begin + lane->out[i].ticks;
		high = high < end ? high : end;
		covered += high > low ? high - low : 0;
	}
	return (double)covered / (double)w->ticks;
}

static int is_covered(const struct meter_window *w, const struct overlap_lane *lane, size_t *from)
{
	return w->ticks && cover(w, lane, from) >= COVERED;
}

size_t overlap_keep(const struct overlap_lane *lanes, size_t n, size_t mine,
		    struct meter_window *kept)
{
	size_t nkept = 0, from, n_before;

	for (size_t i = 0; i < lanes[mine].nout; i++)
		if (lanes[mine].out[i].ticks)
			kept[nkept++] = lanes[mine].out[i];
	for (size_t l = 0; l < n; l++) {
		if (l == mine)
			continue;
		n_before = nkept;
		nkept = from = 0;
		for (size_t i = 0; i < n_before; i++)
			if (is_covered(&kept[i], &lanes[l], &from))
				kept[nkept++] = kept[i];
	}
	return nkept;
}
