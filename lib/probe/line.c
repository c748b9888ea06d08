// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A line is brought into the level and pushed out of those above. Then what is some way from it is
 * flushed, and the line loaded: it costs a hit if that was another line, else it is gone.
 * Translation is in both sides of the comparison: the other one flushes what is far away.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/param.h>

#include "line.h"

/* Times that both sides are taken by turns, until they are so many errors of the mean apart; at
 * most for as many lines as there may be, with fewer more. */
#define TURNS_LEAST	8
#define TURNS_MOST	200
#define ERRORS		4
/* Of a step of the clock squared, the variance of the difference of two times that it rounds. */
#define STEPS		6
/* What is longer was interrupted. */
#define GAP_NS		5000

/* The lines that are looked at, the path to them, and what a lost one costs. */
struct look {
	struct trial *t;
	const struct line_set *set;
	size_t n;
	uint32_t *places;
};

/* Cycles a load of them, after what is @distance away from them was flushed. */
static int cost_after(struct look *l, uint32_t distance, double *cycles)
{
	const struct line_set *set = l->set;
	uint32_t away[LINE_SET_MOST];
	size_t all = 0;
	int err = trial_tick(l->t);

	for (; all < l->n; all++) {
		l->places[all] = meter_place(set->page[all], set->offset);
		away[all] = meter_place(set->page[all], set->offset ^ distance);
	}
	for (size_t i = 0; i < set->nflush; i++)
		l->places[all++] = meter_place(set->flush[i], set->offset);
	if (!err)
		err = trial_path(l->t, l->places, all);
	if (!err)
		err = trial_flush(l->t, away, l->n);
	if (!err)
		*cycles = trial_first(l->t, l->n);
	return err;
}

/* What flushing at @distance costs, cycles a load: one comparison. */
static int compare(struct look *l, uint32_t distance, double *more)
{
	double clean = 0;
	int err = cost_after(l, METER_CHUNK / 2, &clean);

	if (!err)
		err = cost_after(l, distance, more);
	*more -= clean;
	return err;
}

/*
 * Whether lines go with what is @distance away: in the mean, as the clock may have larger
 * steps than what is to be told. 1, 0, -EAGAIN (not told), -errno.
 */
static int goes_with(struct look *l, uint32_t distance)
{
	const double gap = trial_cycles(l->t, GAP_NS) / (double)l->n, limit = l->set->missed / 2;
	/* Some that happen to be equal are no nearer to each other than steps of the clock. */
	const double step = trial_step(l->t) / (double)l->n;
	double sum = 0, squares = 0, more = 0, mean, error;
	int err, n = 0;

	for (size_t turn = 0; turn * l->n < TURNS_MOST * LINE_SET_MOST; turn++) {
		err = compare(l, distance, &more);
		if (err)
			return err;
		if (fabs(more) > gap)
			continue;
		sum += more;
		squares += more * more;
		if (++n < TURNS_LEAST)
			continue;
		mean = sum / n;
		error = ERRORS * sqrt(fmax(squares / n - mean * mean, step * step / STEPS) / (n - 1));
		if (fabs(mean - limit) > error)
			return mean > limit;
	}
	return -EAGAIN;
}

/* The smallest distance at which they stay; 0 where that is not all there is to it. */
static int find(struct look *l, unsigned int *line)
{
	int goes = goes_with(l, 0);

	if (goes <= 0)
		return goes ? goes : -EAGAIN;
	for (uint32_t d = METER_PLACE; d <= LINE_MOST; d *= 2) {
		goes = goes_with(l, d);
		if (goes < 0)
			return goes;
		/* Those farther away stayed. */
		if (goes && *line)
			return -EAGAIN;
		if (!goes && !*line)
			*line = d;
	}
	return 0;
}

int line_find(struct trial *t, const struct line_set *set, unsigned int *line)
{
	struct look l = { .t = t, .set = set, .n = MIN(set->n, LINE_SET_MOST) };
	int err = -EAGAIN;

	*line = 0;
	l.places = malloc((l.n + set->nflush) * sizeof(*l.places));
	if (!l.places)
		return -ENOMEM;
	if (l.n)
		err = find(&l, line);
	if (err)
		*line = 0;
	free(l.places);
	return err == -EAGAIN ? 0 : err;
}
