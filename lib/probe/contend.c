// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "contend.h"
#include "overlap.h"
#include "ring.h"

#define STEPS		1024
#define WINDOWS_LEAST	32
#define WINDOWS_MOST	512
/* How often alone and beside the others, in turn. */
#define ROUNDS		3
/* At least so many windows have to be proven to overlap. */
#define KEPT_LEAST	8
/*
 * Share of misses: two sets of 0.65 of a cache overfill it by 0.3, so whatever is
 * replaced, a fifth of the loads at least miss; without a neighbour none more
 * than before.
 */
#define MISSED_SOME	0.15
#define MISSED_NONE	0.05

/**
 * struct crowd - lanes at work
 * @lanes: @n
 * @windows: of all, @nout each
 */
struct crowd {
	struct meter_lane *lanes;
	struct meter_window *windows;
	size_t n, nout;
};

size_t contend_most(const struct share *s, const struct share_plan *plan)
{
	size_t most;

	if (!plan->crowd || !s->meter->ops->together)
		return 0;
	most = s->nchunks / plan->crowd;
	return most < 2 ? 0 : most;
}

/* Each CPU's own chunks, all their lines. */
static int open_crowd(struct share *s, const struct share_plan *plan, const unsigned int *cpus,
		      struct crowd *c)
{
	size_t n = c->n, nlines = plan->crowd * METER_CHUNK_LINES;
	uint32_t *lines = s->lines;

	c->nout = 2 * nlines / STEPS;
	c->nout = c->nout < WINDOWS_LEAST ? WINDOWS_LEAST : c->nout;
	c->nout = c->nout > WINDOWS_MOST ? WINDOWS_MOST : c->nout;
	c->lanes = calloc(n, sizeof(*c->lanes));
	c->windows = calloc(n * c->nout, sizeof(*c->windows));
	if (!c->lanes || !c->windows)
		return -ENOMEM;
	share_draw(s, n * plan->crowd, plan->level == 1);
	for (size_t i = 0; i < n; i++, lines += nlines) {
		ring_sweeps(&s->rng, s->chunks + i * plan->crowd, plan->crowd, lines);
		for (size_t l = 0; l < nlines; l++)
			lines[l] *= METER_LINE_PLACES;
		c->lanes[i] = (struct meter_lane){
			.cpu = cpus[i],
			.places = lines,
			.n = nlines,
			.skip = 2 * nlines,
			.steps = STEPS,
			.out = c->windows + i * c->nout,
			.nout = c->nout,
		};
	}
	return 0;
}

static void close_crowd(struct crowd *c)
{
	free(c->lanes);
	free(c->windows);
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Lanes that did not come together in time are no word, not a failure. */
static int run_lanes(struct share *s, const struct meter_lane *lanes, size_t n)
{
	int err = share_tick(s);

	return err ? err : s->meter->ops->together(s->meter, lanes, n);
}

/*
 * Each by itself. Of two it is done in turn with both at once; of more only once
 * a level, as each of many would otherwise be measured as often as there are.
 */
static int run_alone(struct share *s, struct crowd *c, double *cycles)
{
	double *known;
	size_t discarded;
	int err;

	for (size_t l = 0; l < c->n; l++) {
		known = &s->alone[share_index(s, c->lanes[l].cpu)];
		if (c->n > 2 && *known > 0) {
			cycles[l] = *known;
			continue;
		}
		err = run_lanes(s, &c->lanes[l], 1);
		if (err && err != -EAGAIN)
			return err;
		cycles[l] = err ? NAN : share_cycles(s, c->lanes[l].out, c->nout, STEPS,
						     &discarded);
		*known = err ? 0 : cycles[l];
	}
	return 0;
}

static int run_together(struct share *s, struct crowd *c, double *cycles)
{
	struct meter_window w[WINDOWS_MOST];
	struct overlap_lane *lanes = calloc(c->n, sizeof(*lanes));
	size_t discarded, kept;
	int err = lanes ? run_lanes(s, c->lanes, c->n) : -ENOMEM, is_late = err == -EAGAIN;

	for (size_t l = 0; l < c->n && !err; l++)
		lanes[l] = (struct overlap_lane){ c->lanes[l].out, c->lanes[l].nout };
	if (!err)
		err = overlap_forget_gaps(lanes, c->n);
	for (size_t l = 0; l < c->n; l++) {
		kept = err ? 0 : overlap_keep(lanes, c->n, l, w);
		cycles[l] = kept < KEPT_LEAST ? NAN
					      : share_cycles(s, w, kept, STEPS, &discarded);
	}
	free(lanes);
	return is_late ? 0 : err;
}

/* Of the rounds that have a value; 0 if none has. */
static double median_of(const double *x, size_t stride)
{
	double kept[ROUNDS];
	size_t n = 0;

	for (size_t r = 0; r < ROUNDS; r++)
		if (!isnan(x[r * stride]))
			kept[n++] = x[r * stride];
	if (!n)
		return 0;
	qsort(kept, n, sizeof(*kept), compare);
	return kept[n / 2];
}

static void summarize(const struct share_plan *plan, const double *alone, const double *beside,
		      size_t n, struct contend *out)
{
	for (size_t l = 0; l < n; l++) {
		out[l].alone = median_of(alone + l, n);
		out[l].beside = median_of(beside + l, n);
		out[l].missed = (out[l].beside - out[l].alone) / (plan->beyond - plan->again);
	}
}

int contend_take(struct share *s, const struct share_plan *plan, const unsigned int *cpus,
		 size_t n, struct contend *out)
{
	double *alone = calloc(2 * ROUNDS * n, sizeof(*alone));
	double *beside = alone + ROUNDS * n;
	struct crowd c = { .n = n };
	int err;

	if (!alone)
		return -ENOMEM;
	err = n > contend_most(s, plan) ? -EOPNOTSUPP : open_crowd(s, plan, cpus, &c);
	for (size_t r = 0; r < ROUNDS && !err; r++) {
		err = run_alone(s, &c, alone + r * n);
		if (!err)
			err = run_together(s, &c, beside + r * n);
	}
	if (!err)
		summarize(plan, alone, beside, n, out);
	close_crowd(&c);
	free(alone);
	return err;
}

static int is_disturbed(const struct share_plan *plan, const struct contend *c)
{
	/* By itself it must fit. */
	if (!(c->beside > 0) || c->alone > sqrt(plan->again * plan->beyond))
		return -ENODATA;
	if (c->missed > MISSED_SOME)
		return 1;
	return c->missed < MISSED_NONE ? 0 : -ENODATA;
}

/*
 * One of two that share a cache can be quick enough to keep its lines there, and
 * sees nothing of the other, which misses all the more. So one is enough.
 */
int contend_judge(const struct share_plan *plan, const struct contend *seen, size_t n)
{
	size_t disturbed = 0, open = 0;

	for (size_t i = 0; i < n; i++) {
		int d = is_disturbed(plan, &seen[i]);

		disturbed += d == 1;
		open += d < 0;
	}
	if (disturbed)
		return 1;
	return open > n / 8 ? -ENODATA : 0;
}
