// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Change points against two independent answers: numpy's medians in a plain
 * dynamic programme (numpy 1.24.2), and every partition there is.
 *
 *	def cost(x): return float(np.abs(np.asarray(x) - np.median(x)).sum())
 *	def dp(x, m, b):
 *		n = len(x); F = [-b] + [float('inf')] * n; P = [0] * (n + 1)
 *		for j in range(1, n + 1):
 *			for i in range(0, j - m + 1):
 *				c = F[i] + b + cost(x[i:j])
 *				if c < F[j] - 1e-9: F[j] = c; P[j] = i
 *		cuts = []; j = n
 *		while P[j]: j = P[j]; cuts.append(j)
 *		return cuts[::-1]
 *	s = 1; u = []
 *	for _ in range(300):
 *		s = (s * 1103515245 + 12345) % 2**31; u.append(s / 2**31)
 *	lev = [4]*60 + [5]*40 + [14]*80 + [14.5]*50 + [52]*70
 *	curve = [l + (v - .5) + (40 if v > .95 else 0) for l, v in zip(lev, u)]
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sonde/stats.h>

#include "../../lib/rng.h"
#include "tap.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))
#define MAX	64
#define LONGEST	40

static void assert_changes(const double *x, size_t n, size_t min_segment, double penalty,
			   const size_t *expected, size_t count)
{
	size_t found[MAX];
	ssize_t got = sonde_stats_changepoints(x, n, min_segment, penalty, found, MAX);

	ck_assert_int_eq(got, (ssize_t)count);
	for (size_t i = 0; i < count; i++)
		ck_assert_uint_eq(found[i], expected[i]);
}

#define ASSERT_CHANGES(x, min_segment, penalty, ...) do {			\
	static const size_t expected_[] = { __VA_ARGS__ };			\
	assert_changes(x, COUNT(x), min_segment, penalty, expected_, COUNT(expected_)); \
} while (0)

START_TEST(finds_a_step)
{
	static const double x[] = { 1, 1.1, .9, 1, 5, 5.2, 4.9, 5.1 };

	ASSERT_CHANGES(x, 2, 1, 4);
}
END_TEST

START_TEST(an_outlier_is_no_segment_unless_segments_of_one_are_asked_for)
{
	static const double x[] = { 1, 1.1, .9, 50, 1, 1.05, 5, 5.2, 4.9, 5.1, 5 };

	ASSERT_CHANGES(x, 2, 5, 6);
	ASSERT_CHANGES(x, 1, 5, 3, 4, 6);
}
END_TEST

START_TEST(ties_do_not_hide_changes)
{
	static const double x[] = { 2, 2, 2, 3, 3, 3, 2, 2, 2, 3, 3, 3 };

	ASSERT_CHANGES(x, 1, .5, 3, 6, 9);
}
END_TEST

START_TEST(finds_changes_up_and_down)
{
	static const double x[] = { 0, .2, -.1, 3, 3.1, 2.8, 3.05, -4, -4.2, -3.9, -4.1, -4 };

	ASSERT_CHANGES(x, 3, .7, 3, 7);
}
END_TEST

START_TEST(segments_are_as_long_as_asked_for)
{
	static const double x[] = { 0, 0, 9, 9, 9, 0, 0, 0, 0, 0 };

	ASSERT_CHANGES(x, 4, 1, 5);
}
END_TEST

static void make_curve(double *x)
{
	static const struct {
		double level;
		int n;
	} parts[] = { { 4, 60 }, { 5, 40 }, { 14, 80 }, { 14.5, 50 }, { 52, 70 } };
	uint64_t s = 1;
	double u;

	for (size_t p = 0; p < COUNT(parts); p++) {
		for (int i = 0; i < parts[p].n; i++) {
			s = (s * 1103515245 + 12345) % (UINT64_C(1) << 31);
			u = (double)s / 0x1p31;
			*x++ = parts[p].level + (u - .5) + (u > .95 ? 40 : 0);
		}
	}
}

START_TEST(a_noisy_curve_falls_into_the_same_levels_as_with_numpy)
{
	double x[300];

	make_curve(x);
	ASSERT_CHANGES(x, 1, 60, 100, 230);
	ASSERT_CHANGES(x, 1, 20, 14, 15, 42, 43, 45, 46, 50, 51, 57, 58, 95, 96, 100, 113, 114,
		       119, 120, 125, 126, 137, 138, 153, 154, 175, 176, 230, 257, 258, 283, 284,
		       291, 292, 293, 294);
	ASSERT_CHANGES(x, 5, 5, 60, 100, 180, 230);
	ASSERT_CHANGES(x, 5, 20, 60, 100, 230);
	ASSERT_CHANGES(x, 30, 10, 60, 100, 180, 230);
	ASSERT_CHANGES(x, 30, 60, 100, 230);
}
END_TEST

static double cost_of(const double *x, size_t n)
{
	double sorted[LONGEST], median, cost = 0;

	memcpy(sorted, x, n * sizeof(*x));
	sonde_stats_sort(sorted, n);
	median = sonde_stats_median(sorted, n);
	for (size_t i = 0; i < n; i++)
		cost += fabs(x[i] - median);
	return cost;
}

/* The cost of the partition whose cuts are the bits of @cuts; infinite if it may not be. */
static double cost_of_partition(const double *x, size_t n, size_t min_segment, double penalty,
				unsigned int cuts)
{
	double cost = 0;
	size_t start = 0;

	for (size_t i = 1; i <= n; i++) {
		if (i < n && !(cuts >> i & 1))
			continue;
		if (i - start < min_segment)
			return INFINITY;
		cost += cost_of(x + start, i - start) + (i < n ? penalty : 0);
		start = i;
	}
	return cost;
}

START_TEST(no_partition_is_better)
{
	struct sonde_rng rng;
	double x[11], best, penalty;
	size_t found[COUNT(x)], n, min_segment;
	ssize_t changes;
	unsigned int cuts;

	sonde_rng_seed(&rng, 3);
	for (int round = 0; round < 300; round++) {
		n = 2 + sonde_rng_below(&rng, COUNT(x) - 1);
		min_segment = 1 + sonde_rng_below(&rng, n / 2);
		penalty = (double)sonde_rng_below(&rng, 30) / 4;
		for (size_t i = 0; i < n; i++)
			x[i] = (double)sonde_rng_below(&rng, 4) * 3 +
			       (double)sonde_rng_below(&rng, 3);
		best = INFINITY;
		for (cuts = 0; cuts < 1U << n; cuts += 2)
			best = fmin(best, cost_of_partition(x, n, min_segment, penalty, cuts));
		changes = sonde_stats_changepoints(x, n, min_segment, penalty, found, COUNT(found));
		ck_assert_int_ge(changes, 0);
		cuts = 0;
		for (ssize_t i = 0; i < changes; i++)
			cuts |= 1U << found[i];
		ck_assert_double_eq_tol(cost_of_partition(x, n, min_segment, penalty, cuts), best,
					1e-9);
	}
}
END_TEST

/* Least cost by the definition: for every end, every start of the last segment. */
static double least_cost(const double *x, size_t n, size_t min_segment, double penalty)
{
	double best[LONGEST + 1] = { 0 };

	for (size_t j = 1; j <= n; j++) {
		best[j] = INFINITY;
		for (size_t i = 0; i + min_segment <= j; i++)
			best[j] = fmin(best[j], best[i] + (i ? penalty : 0) +
				       cost_of(x + i, j - i));
	}
	return best[n];
}

static double cost_of_changes(const double *x, size_t n, size_t min_segment, double penalty,
			      const size_t *changes, size_t count)
{
	size_t start = 0, end;
	double cost = 0;

	for (size_t i = 0; i <= count; i++) {
		end = i < count ? changes[i] : n;
		ck_assert_uint_ge(end, start + min_segment);
		cost += cost_of(x + start, end - start) + (i ? penalty : 0);
		start = end;
	}
	return cost;
}

/* Levels with ties in even rounds, values all over the place in odd ones. */
static void make_series(struct sonde_rng *rng, double *x, size_t n, int round)
{
	for (size_t i = 0; i < n; i++) {
		if (round % 2)
			x[i] = (double)(sonde_rng_below(rng, 100) * sonde_rng_below(rng, 100));
		else
			x[i] = i && sonde_rng_below(rng, 3) ? x[i - 1]
							    : (double)sonde_rng_below(rng, 10);
	}
}

/* Long enough for what is pruned to matter. */
START_TEST(no_partition_of_a_longer_series_is_better)
{
	struct sonde_rng rng;
	size_t found[LONGEST], n, min_segment;
	double x[LONGEST], penalty;
	ssize_t changes;

	sonde_rng_seed(&rng, 4);
	for (int round = 0; round < 1000; round++) {
		n = LONGEST / 2 + sonde_rng_below(&rng, LONGEST / 2 + 1);
		min_segment = 1 + sonde_rng_below(&rng, 6);
		penalty = (double)sonde_rng_below(&rng, 24) / 4;
		make_series(&rng, x, n, round);
		changes = sonde_stats_changepoints(x, n, min_segment, penalty, found, LONGEST);
		ck_assert_int_ge(changes, 0);
		ck_assert_double_eq_tol(cost_of_changes(x, n, min_segment, penalty, found,
							(size_t)changes),
					least_cost(x, n, min_segment, penalty), 1e-9);
	}
}
END_TEST

START_TEST(a_constant_series_never_changes)
{
	double x[50];

	for (size_t i = 0; i < COUNT(x); i++)
		x[i] = 1e300;
	ck_assert_int_eq(sonde_stats_changepoints(x, COUNT(x), 1, 0, NULL, 0), 0);
}
END_TEST

START_TEST(a_small_step_on_a_large_value_is_found)
{
	double x[40];

	for (size_t i = 0; i < COUNT(x); i++)
		x[i] = 1e12 + (i < 17 ? 0 : .5);
	ASSERT_CHANGES(x, 2, .1, 17);
}
END_TEST

START_TEST(too_short_a_series_never_changes)
{
	static const double x[] = { 1, 100, 1 };

	ck_assert_int_eq(sonde_stats_changepoints(NULL, 0, 1, 1, NULL, 0), 0);
	ck_assert_int_eq(sonde_stats_changepoints(x, 1, 1, 1, NULL, 0), 0);
	ck_assert_int_eq(sonde_stats_changepoints(x, 3, 2, 1, NULL, 0), 0);
	ck_assert_int_eq(sonde_stats_changepoints(x, 3, SIZE_MAX, 1, NULL, 0), 0);
}
END_TEST

START_TEST(says_when_there_is_no_room_and_writes_nothing)
{
	static const double x[] = { 0, 0, 9, 9, 0, 0 };
	size_t found[2] = { 77, 77 };

	ck_assert_int_eq(sonde_stats_changepoints(x, COUNT(x), 1, 1, found, 1), -ENOSPC);
	ck_assert_uint_eq(found[0], 77);
	ck_assert_int_eq(sonde_stats_changepoints(x, COUNT(x), 1, 1, found, 2), 2);
}
END_TEST

START_TEST(refuses_bad_arguments)
{
	double x[] = { 1, 2, NAN, 4 };
	size_t found[4];

	ck_assert_int_eq(sonde_stats_changepoints(x, 4, 1, 1, found, 4), -EINVAL);
	x[2] = INFINITY;
	ck_assert_int_eq(sonde_stats_changepoints(x, 4, 1, 1, found, 4), -EINVAL);
	x[2] = 3;
	ck_assert_int_eq(sonde_stats_changepoints(x, 4, 0, 1, found, 4), -EINVAL);
	ck_assert_int_eq(sonde_stats_changepoints(x, 4, 1, -1, found, 4), -EINVAL);
	ck_assert_int_eq(sonde_stats_changepoints(x, 4, 1, NAN, found, 4), -EINVAL);
	ck_assert_int_eq(sonde_stats_changepoints(x, 4, 1, INFINITY, found, 4), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("changepoints");
	TCase *tc = tcase_create("changepoints");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, finds_a_step);
	tcase_add_test(tc, an_outlier_is_no_segment_unless_segments_of_one_are_asked_for);
	tcase_add_test(tc, ties_do_not_hide_changes);
	tcase_add_test(tc, finds_changes_up_and_down);
	tcase_add_test(tc, segments_are_as_long_as_asked_for);
	tcase_add_test(tc, a_noisy_curve_falls_into_the_same_levels_as_with_numpy);
	tcase_add_test(tc, no_partition_is_better);
	tcase_add_test(tc, no_partition_of_a_longer_series_is_better);
	tcase_add_test(tc, a_constant_series_never_changes);
	tcase_add_test(tc, a_small_step_on_a_large_value_is_found);
	tcase_add_test(tc, too_short_a_series_never_changes);
	tcase_add_test(tc, says_when_there_is_no_room_and_writes_nothing);
	tcase_add_test(tc, refuses_bad_arguments);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
