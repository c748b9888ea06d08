// SPDX-License-Identifier: LGPL-2.1-or-later
#include <math.h>
#include <stdlib.h>

#include <sonde/stats.h>
#include "plateau.h"

/* A plateau rises by no more than this from end to end. */
#define FLAT		1.12
/* Two plateaus closer than this are one, in the middle of which something else changed. */
#define APART		1.6
/* log2 of end over begin, and points: less than either is part of a slope. */
#define MIN_OCTAVES	0.45
#define MIN_POINTS	3

static double octaves(const double *size, size_t first, size_t last)
{
	return log2(size[last] / size[first]);
}

/* The end of the longest level stretch that begins at @i. */
static size_t level_end(const double *cost, size_t n, size_t i)
{
	size_t end = i;

	while (end + 1 < n && cost[end + 1] <= cost[i] * FLAT)
		end++;
	return end;
}

static double middle(const double *cost, size_t first, size_t last)
{
	/* Monotone, so the median is in the middle. */
	return (cost[first + (last - first) / 2] + cost[first + (last - first + 1) / 2]) / 2;
}

/*
 * A stretch that begins a point earlier on the slope is shorter, one that
 * begins later is contained: so of the stretches that overlap, the longest.
 */
static struct plateau longest_from(const double *size, const double *cost, size_t n, size_t i)
{
	struct plateau best = { i, level_end(cost, n, i), 0 };
	size_t end;

	for (size_t j = i + 1; j <= best.last && j < n; j++) {
		end = level_end(cost, n, j);
		if (octaves(size, j, end) > octaves(size, best.first, best.last))
			best = (struct plateau){ j, end, 0 };
	}
	best.cost = middle(cost, best.first, best.last);
	return best;
}

/*
 * Whether @p is level, and long enough, by the points that cost what it does themselves.
 * One that was cheap by luck, on the slope of a cache that others crowd, makes those
 * before it look as cheap.
 */
static int is_level(const double *size, const double *raw, const struct plateau *p)
{
	size_t first = p->last, last = p->first, n = 0;

	for (size_t i = p->first; i <= p->last; i++) {
		if (raw[i] > p->cost * FLAT)
			continue;
		first = n++ ? first : i;
		last = i;
	}
	return n >= MIN_POINTS && octaves(size, first, last) >= MIN_OCTAVES;
}

/* @cost: made monotone; @raw: as measured. */
static size_t collect(const double *size, const double *raw, const double *cost, size_t n,
		      struct plateau *out)
{
	struct plateau p;
	size_t found = 0;

	for (size_t i = 0; i < n && found < PLATEAU_MAX; i = p.last + 1) {
		p = longest_from(size, cost, n, i);
		if (p.first > 0 && !is_level(size, raw, &p))
			continue;
		if (found && p.cost < out[found - 1].cost * APART) {
			out[found - 1].last = p.last;
			out[found - 1].cost = middle(cost, out[found - 1].first, p.last);
		} else {
			out[found++] = p;
		}
	}
	return found;
}

size_t plateau_find(const double *size, const double *cost, size_t n, struct plateau *out)
{
	double *monotone;
	size_t found;

	if (!n)
		return 0;
	monotone = malloc(n * sizeof(*monotone));
	if (!monotone)
		return 0;
	monotone[n - 1] = cost[n - 1];
	for (size_t i = n - 1; i > 0; i--)
		monotone[i - 1] = fmin(cost[i - 1], monotone[i]);
	found = collect(size, cost, monotone, n, out);
	free(monotone);
	return found;
}
