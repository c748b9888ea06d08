// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * loggp - parameters of the LogGP model from round trips and trains of messages
 *
 * The quantities are those of PRTT(n, delay, size) (Hoefler, Lichei and Rehm 2007):
 * half of PRTT(1, 0, s) is start + (s - 1) per_byte, and the gap in a train,
 * (PRTT(n, 0, s) - PRTT(1, 0, s)) / (n - 1), is g + (s - 1) G.
 *
 * Where a library sends large messages in another way than small ones, both lines
 * change. Where that is, and how often, is found exactly: for each number of
 * segments the partition of the sizes with the least sum of squares of relative
 * residuals of both lines (the optimum by dynamic programming), and of these the one
 * with the least Bayesian information criterion (Schwarz 1978),
 *
 *	N log(max(sum of squares / N, spread^2)) + parameters log(N),
 *
 * where the spread of the measurement bounds what there is to be seen. Relative, as
 * times range over five orders of magnitude, and so does their noise. Neither
 * intercept nor slope is negative: of a time that would mean nothing.
 *
 * L is what is left of half a round trip without the overheads. On a machine where
 * the sender's CPU does the receiver's work too, nothing is left of it: then it is
 * not separable, and said so, in place of a negative number.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "loggp.h"

/* A line of two sizes always fits. */
#define SEGMENT_LEAST	3
/* Two lines, and where the segment begins. */
#define PARAMETERS	5

/* A line of relative least squares: value = start + (bytes - 1) * slope. */
struct line {
	double start, slope, squares;
	size_t n;
};

/* Weighted sums of the points of a line. */
struct sums {
	double w, x, y, xx, xy;
	size_t n;
};

static void add(struct sums *s, double x, double y)
{
	double w = 1 / (y * y);

	s->w += w;
	s->x += w * x;
	s->y += w * y;
	s->xx += w * x * x;
	s->xy += w * x * y;
	s->n++;
}

static double get_value(const struct loggp_point *p, int is_gap)
{
	return is_gap ? p->gap : p->half;
}

static int has_value(const struct loggp_point *p, int is_gap)
{
	double y = get_value(p, is_gap);

	return isfinite(y) && y > 0;
}

static double sum_squares(const struct loggp_point *p, size_t n, int is_gap, double start,
			  double slope)
{
	double squares = 0, r;

	for (size_t i = 0; i < n; i++) {
		if (!has_value(&p[i], is_gap))
			continue;
		r = (start + (p[i].bytes - 1) * slope) / get_value(&p[i], is_gap) - 1;
		squares += r * r;
	}
	return squares;
}

/* The best with neither below 0. */
static struct line fit_line(const struct loggp_point *p, size_t n, int is_gap)
{
	struct line line = { NAN, NAN, 0, 0 };
	struct sums s = { .n = 0 };
	double determinant;

	for (size_t i = 0; i < n; i++)
		if (has_value(&p[i], is_gap))
			add(&s, p[i].bytes - 1, get_value(&p[i], is_gap));
	if (!s.n)
		return line;
	determinant = s.w * s.xx - s.x * s.x;
	line.n = s.n;
	line.slope = s.n > 1 && determinant > 0 ? (s.w * s.xy - s.x * s.y) / determinant : 0;
	line.start = (s.y - line.slope * s.x) / s.w;
	if (line.slope < 0) {
		line.slope = 0;
		line.start = s.y / s.w;
	} else if (line.start < 0) {
		line.start = 0;
		line.slope = s.xy / s.xx;
	}
	line.squares = sum_squares(p, n, is_gap, line.start, line.slope);
	return line;
}

/**
 * struct search - partitions of the points
 * @cost: of the points from i to before j as one segment, n + 1 columns
 * @best: of the first j points in k + 1 segments
 * @from: where the last of these begins
 */
struct search {
	const struct loggp_point *points;
	size_t n;
	double *cost, *best;
	size_t *from;
};

static void fill_costs(struct search *s)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t j = i + 1; j <= s->n; j++)
			s->cost[i * (s->n + 1) + j] =
				fit_line(s->points + i, j - i, 0).squares +
				fit_line(s->points + i, j - i, 1).squares;
}

static void fill_rows(struct search *s)
{
	const size_t width = s->n + 1;

	for (size_t k = 0; k < SONDE_LOGGP_SEGMENTS; k++) {
		for (size_t j = 0; j <= s->n; j++) {
			s->best[k * width + j] = k || j < 2 ? INFINITY : s->cost[j];
			s->from[k * width + j] = 0;
			for (size_t i = SEGMENT_LEAST; k && i + SEGMENT_LEAST <= j; i++) {
				double cost = s->best[(k - 1) * width + i] + s->cost[i * width + j];

				if (cost >= s->best[k * width + j])
					continue;
				s->best[k * width + j] = cost;
				s->from[k * width + j] = i;
			}
		}
	}
}

static double judge(double squares, size_t n, size_t k, double spread)
{
	return (double)n * log(fmax(squares / (double)n, spread * spread)) +
	       (double)(PARAMETERS * k) * log((double)n);
}

static size_t count_values(const struct loggp_point *points, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += (size_t)has_value(&points[i], 0) + (size_t)has_value(&points[i], 1);
	return count;
}

static size_t choose_segments(const struct search *s, double spread)
{
	const size_t nvalues = count_values(s->points, s->n);
	double least = INFINITY, value, squares;
	size_t best = 1;

	for (size_t k = 1; k <= SONDE_LOGGP_SEGMENTS; k++) {
		squares = s->best[(k - 1) * (s->n + 1) + s->n];
		if (!isfinite(squares))
			continue;
		value = judge(squares, nvalues, k, spread);
		if (value < least) {
			least = value;
			best = k;
		}
	}
	return best;
}

static struct sonde_loggp_segment make_segment(const struct loggp_point *points, size_t n)
{
	struct line half = fit_line(points, n, 0), gap = fit_line(points, n, 1);

	return (struct sonde_loggp_segment){
		.from_bytes = points[0].bytes, .to_bytes = points[n - 1].bytes,
		.gap_ns = gap.start, .byte_ns = gap.slope,
		.start_ns = half.start, .per_byte_ns = half.slope,
		.error = sqrt((half.squares + gap.squares) / (double)(half.n + gap.n)),
	};
}

static void fill_segments(const struct search *s, size_t k, struct sonde_loggp *out)
{
	size_t end = s->n, begin;

	out->nsegments = k;
	while (k-- > 0) {
		begin = s->from[k * (s->n + 1) + end];
		out->segments[k] = make_segment(s->points + begin, end - begin);
		end = begin;
	}
}

/* Of the smallest message: overheads grow with the size, L does not. */
static void fill_overheads(const struct loggp_point *first, double spread, struct sonde_loggp *out)
{
	double left = first->half - first->send - first->receive;

	out->send_ns = first->send;
	out->receive_ns = first->receive;
	out->latency_ns = NAN;
	out->why[0] = '\0';
	if (!isfinite(first->send) || !isfinite(first->receive))
		snprintf(out->why, sizeof(out->why), "L: the overheads were not measured");
	else if (left <= spread * first->half)
		snprintf(out->why, sizeof(out->why), "L: not separable, the overheads are %.0f %% of "
			 "half a round trip", 100 * (first->send + first->receive) / first->half);
	else
		out->latency_ns = left;
}

static int is_valid(const struct loggp_point *points, size_t n, double spread)
{
	if (n < 2 || !(spread > 0))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (!has_value(&points[i], 0) || !(points[i].bytes >= 1) ||
		    (i && !(points[i].bytes > points[i - 1].bytes)))
			return 0;
	return 1;
}

int loggp_fit(const struct loggp_point *points, size_t n, double spread, struct sonde_loggp *out)
{
	struct search s = { .points = points, .n = n };
	int err = -ENOMEM;

	if (!is_valid(points, n, spread))
		return -EINVAL;
	s.cost = calloc(n * (n + 1), sizeof(*s.cost));
	s.best = calloc(SONDE_LOGGP_SEGMENTS * (n + 1), sizeof(*s.best));
	s.from = calloc(SONDE_LOGGP_SEGMENTS * (n + 1), sizeof(*s.from));
	if (s.cost && s.best && s.from) {
		fill_costs(&s);
		fill_rows(&s);
		fill_segments(&s, choose_segments(&s, spread), out);
		fill_overheads(&points[0], spread, out);
		err = 0;
	}
	free(s.cost);
	free(s.best);
	free(s.from);
	return err;
}
