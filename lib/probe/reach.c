// SPDX-License-Identifier: LGPL-2.1-or-later
#include <math.h>
#include <string.h>

#include <sonde/stats.h>
#include "reach.h"
#include "shuffle.h"

/* Draws of each size, of which the median counts. */
#define DRAWS		5
/* Lines, over ways of the level above, that can be moved apart and still miss it. */
#define APART		10
/* Sizes grow by this. */
#define STEP		1.19
/* More than a hit by this share is a rise; less than the end by that is the end. */
#define RISEN		0.15
#define FLAT		0.12

/*
 * @apart: what translation costs is told by the same lines moved apart. They hit, if
 * a few lines an offset (hunt.c) do not overflow the level already. Else it is told by
 * so few that the first level holds them: too little where more miss the TLB.
 */
static int take_point(struct hunt *h, size_t n, int apart, double *cycles)
{
	size_t few = apart || n < h->first_lines / 4 ? n : h->first_lines / 4;
	double x[DRAWS], clean, all = 0;
	const uint32_t *pages;
	int err = 0;

	for (unsigned int i = 0; i < DRAWS && !err; i++) {
		pages = hunt_draw(h, n);
		if (h->singly) {
			err = singly_cost(h, pages, n, &x[i]);
			continue;
		}
		err = hunt_clean_cost(h, pages, few, &clean);
		if (!err)
			err = hunt_cost(h, pages, n, 2, 2, &all);
		x[i] = all - clean + h->hit;
	}
	sonde_stats_sort(x, DRAWS);
	*cycles = sonde_stats_median(x, DRAWS);
	return err;
}

/*
 * Up to where more lines cost less again: then those that they are held against, moved apart,
 * overflow the level as well, which holds few more than the one above.
 */
static void cut(struct reach *r)
{
	double most = 0;
	unsigned int n = r->n;

	for (unsigned int i = 0; i < r->n; i++)
		most = fmax(most, r->cycles[i]);
	if (most < r->hit * (1 + RISEN))
		return;
	while (r->cycles[n - 1] < most * (1 - FLAT))
		n--;
	r->n = n;
}

static void judge(struct reach *r)
{
	double end = r->cycles[r->n - 1];
	unsigned int i;

	for (i = 0; i < r->n && r->cycles[i] < r->hit * (1 + RISEN); i++)
		r->begins = r->lines[i];
	r->rises = i < r->n;
	/* Flat: three points, half an octave, that do not rise any more. */
	if (!r->rises || r->n < 4 || end < r->hit * (1 + RISEN) ||
	    r->cycles[r->n - 4] < end * (1 - FLAT))
		return;
	r->beyond = end;
	for (; r->cycles[i] < end * (1 - FLAT); i++)
		;
	r->ends = r->lines[i];
}

int reach_take(struct hunt *h, struct reach *r)
{
	int err = 0, apart = 0;

	memset(r, 0, sizeof(*r));
	/* As few lines cost: what more of them cost more is too noisy where others share. */
	h->hit -= h->kept / (4.0 * h->above + 1);
	h->kept = 0;
	r->hit = h->hit;
	for (double n = 3.0 * h->above; n <= (double)h->npages && r->n < REACH_POINTS && !err;
	     n *= STEP) {
		r->lines[r->n] = (unsigned int)n;
		apart |= n > APART * h->above &&
			 (!r->n || r->cycles[r->n - 1] < r->hit * (1 + RISEN));
		err = take_point(h, (size_t)n, apart, &r->cycles[r->n]);
		r->n++;
	}
	if (!err && r->n) {
		if (h->singly)
			cut(r);
		judge(r);
	}
	return err;
}
