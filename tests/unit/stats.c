// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Order statistics against R 4.2.2. R's data set `rivers` is the sample:
 *
 *	options(digits=17); cat(rivers, sep=", ")
 *	quantile(rivers, c(0, .01, .1, .25, .5, 2/3, .9, .95, .999, 1), type=7)
 *	mad(rivers, constant=1)
 *	mad(rivers[1:10], constant=1)
 *	set.seed(1); for (q in c(.25, .5, .9)) print(quantile(replicate(1e5,
 *		quantile(sample(rivers, replace=TRUE), q)), c(.025, .975, .05, .95)))
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sonde/stats.h>

#include "../../lib/rng.h"
#include "tap.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static const double rivers_in_order[] = {
	735, 320, 325, 392, 524, 450, 1459, 135, 465, 600, 330, 336, 280, 315, 870, 906, 202, 329,
	290, 1000, 600, 505, 1450, 840, 1243, 890, 350, 407, 286, 280, 525, 720, 390, 250, 327, 230,
	265, 850, 210, 630, 260, 230, 360, 730, 600, 306, 390, 420, 291, 710, 340, 217, 281, 352,
	259, 250, 470, 680, 570, 350, 300, 560, 900, 625, 332, 2348, 1171, 3710, 2315, 2533, 780,
	280, 410, 460, 260, 255, 431, 350, 760, 618, 338, 981, 1306, 500, 696, 605, 250, 411, 1054,
	735, 233, 435, 490, 310, 460, 383, 375, 1270, 545, 445, 1885, 380, 300, 380, 377, 425, 276,
	210, 800, 420, 350, 360, 538, 1100, 1205, 314, 237, 610, 360, 540, 1038, 424, 310, 300, 444,
	301, 268, 620, 215, 652, 900, 525, 246, 360, 529, 500, 720, 270, 430, 671, 1770,
};

#define N COUNT(rivers_in_order)

static double rivers[N];

static void sort_rivers(void)
{
	memcpy(rivers, rivers_in_order, sizeof(rivers));
	sonde_stats_sort(rivers, N);
}

static void assert_near(double found, double expected)
{
	ck_assert_double_eq_tol(found, expected, 1e-9 * (1 + fabs(expected)));
}

START_TEST(sorts_ascending_and_nan_last)
{
	double x[] = { 3, NAN, -INFINITY, 2, INFINITY, NAN, -0.5 };

	sonde_stats_sort(x, COUNT(x));
	ck_assert(x[0] == -INFINITY && x[1] == -0.5 && x[2] == 2 && x[3] == 3);
	ck_assert(x[4] == INFINITY && isnan(x[5]) && isnan(x[6]));
	sonde_stats_sort(NULL, 0);
}
END_TEST

START_TEST(quantiles_are_those_of_R)
{
	static const struct {
		double p, quantile;
	} of_r[] = {
		{ 0, 135 }, { .01, 205.19999999999999 }, { .1, 255 }, { .25, 310 }, { .5, 425 },
		{ 2. / 3, 579.99999999999989 }, { .9, 1054 }, { .95, 1450 },
		{ .999, 3545.22000000001572 }, { 1, 3710 },
	};

	for (size_t i = 0; i < COUNT(of_r); i++)
		assert_near(sonde_stats_quantile(rivers, N, of_r[i].p), of_r[i].quantile);
}
END_TEST

START_TEST(median_of_an_even_count_lies_between_the_middle_two)
{
	double x[10];

	memcpy(x, rivers_in_order, sizeof(x));
	sonde_stats_sort(x, COUNT(x));
	assert_near(sonde_stats_median(x, COUNT(x)), 457.5);
	assert_near(sonde_stats_median(x, 1), 135);
}
END_TEST

START_TEST(quantile_of_nothing_or_of_nan_is_nan)
{
	double x[] = { 1, 2, NAN };

	ck_assert(isnan(sonde_stats_quantile(rivers, 0, .5)));
	ck_assert(isnan(sonde_stats_median(rivers, 0)));
	ck_assert(isnan(sonde_stats_median(x, COUNT(x))));
}
END_TEST

START_TEST(quantile_refuses_a_share_outside_0_to_1)
{
	ck_assert(isnan(sonde_stats_quantile(rivers, N, -.001)));
	ck_assert(isnan(sonde_stats_quantile(rivers, N, 1.001)));
	ck_assert(isnan(sonde_stats_quantile(rivers, N, NAN)));
}
END_TEST

START_TEST(quantiles_of_infinite_samples_are_not_nan)
{
	double x[] = { -INFINITY, 1, INFINITY, INFINITY };

	ck_assert(sonde_stats_quantile(x, COUNT(x), .1) == -INFINITY);
	ck_assert(sonde_stats_quantile(x, COUNT(x), 1. / 3) == 1);
	ck_assert(sonde_stats_quantile(x, COUNT(x), .9) == INFINITY);
}
END_TEST

START_TEST(mad_is_that_of_R)
{
	double x[10], mad;

	ck_assert_int_eq(sonde_stats_mad(rivers, N, &mad), 0);
	assert_near(mad, 145);
	memcpy(x, rivers_in_order, sizeof(x));
	sonde_stats_sort(x, COUNT(x));
	ck_assert_int_eq(sonde_stats_mad(x, COUNT(x), &mad), 0);
	assert_near(mad, 135);
}
END_TEST

/* The definition, word by word. */
static double define_mad(const double *sorted, size_t n)
{
	double deviations[64], median = sonde_stats_median(sorted, n);

	for (size_t i = 0; i < n; i++)
		deviations[i] = fabs(sorted[i] - median);
	sonde_stats_sort(deviations, n);
	return sonde_stats_median(deviations, n);
}

START_TEST(mad_follows_its_definition_at_every_count)
{
	struct sonde_rng rng;
	double x[64], mad;

	sonde_rng_seed(&rng, 1);
	for (int round = 0; round < 50; round++) {
		for (size_t n = 1; n <= COUNT(x); n++) {
			for (size_t i = 0; i < n; i++)
				x[i] = (double)sonde_rng_below(&rng, 40) - (double)(i % 3) * 7.5;
			sonde_stats_sort(x, n);
			ck_assert_int_eq(sonde_stats_mad(x, n, &mad), 0);
			assert_near(mad, define_mad(x, n));
		}
	}
}
END_TEST

START_TEST(mad_refuses_nothing_and_nan)
{
	double x[] = { 1, NAN }, mad = 42;

	ck_assert_int_eq(sonde_stats_mad(rivers, 0, &mad), -EINVAL);
	ck_assert_int_eq(sonde_stats_mad(x, COUNT(x), &mad), -EINVAL);
	ck_assert(mad == 42);
}
END_TEST

/* An end of the interval may fall on the sample beside R's, no further. */
static void assert_end_near(double found, double of_r)
{
	size_t i = 0;

	while (i < N && rivers[i] < of_r)
		i++;
	ck_assert_msg(found >= rivers[i ? i - 1 : 0] && found <= rivers[i + 1 < N ? i + 1 : i],
		      "%g is not beside %g", found, of_r);
}

START_TEST(interval_is_that_of_R)
{
	static const struct {
		double p, level, low, high;
	} of_r[] = {
		{ .25, .95, 286, 340 }, { .25, .9, 290, 336 }, { .5, .95, 380, 500 },
		{ .5, .9, 383, 470 }, { .9, .95, 870, 1306 }, { .9, .9, 890, 1270 },
	};
	struct sonde_interval ci;

	for (size_t i = 0; i < COUNT(of_r); i++) {
		ck_assert_int_eq(sonde_stats_quantile_ci(rivers, N, of_r[i].p, of_r[i].level,
							 20000, 1, &ci), 0);
		assert_end_near(ci.low, of_r[i].low);
		assert_end_near(ci.high, of_r[i].high);
	}
}
END_TEST

/*
 * Of 51 exponential samples the median's 95 % interval must hold ln 2, the true
 * median, in 93 to 97 % of trials.
 */
START_TEST(interval_covers_the_true_median_as_often_as_it_says)
{
	struct sonde_interval ci;
	struct sonde_rng rng;
	double x[51];
	int trials = 2000, covered = 0;

	sonde_rng_seed(&rng, 2024);
	for (int trial = 0; trial < trials; trial++) {
		for (size_t i = 0; i < COUNT(x); i++)
			x[i] = -log(((double)(sonde_rng_next(&rng) >> 11) + .5) * 0x1p-53);
		sonde_stats_sort(x, COUNT(x));
		ck_assert_int_eq(sonde_stats_quantile_ci(x, COUNT(x), .5, .95, 400,
							 sonde_rng_next(&rng), &ci), 0);
		covered += ci.low <= log(2) && log(2) <= ci.high;
	}
	ck_assert_msg(covered >= .93 * trials && covered <= .97 * trials,
		      "%d of %d", covered, trials);
}
END_TEST

START_TEST(interval_depends_on_nothing_but_samples_and_seed)
{
	struct sonde_interval a, b;
	int differing = 0;

	for (uint64_t seed = 0; seed < 8; seed++) {
		ck_assert_int_eq(sonde_stats_quantile_ci(rivers, N, .5, .95, 100, seed, &a), 0);
		ck_assert_int_eq(sonde_stats_quantile_ci(rivers, N, .5, .95, 100, seed, &b), 0);
		ck_assert(a.low == b.low && a.high == b.high);
		ck_assert_int_eq(sonde_stats_quantile_ci(rivers, N, .5, .95, 100, seed + 1, &b), 0);
		differing += a.low != b.low || a.high != b.high;
	}
	ck_assert_int_gt(differing, 0);
}
END_TEST

START_TEST(interval_of_one_sample_is_that_sample)
{
	struct sonde_interval ci;
	double x = 7;

	ck_assert_int_eq(sonde_stats_quantile_ci(&x, 1, .5, .95, 100, 1, &ci), 0);
	ck_assert(ci.low == 7 && ci.high == 7);
}
END_TEST

/*
 * Of two samples a resample's maximum is the larger one in 3 of 4, its minimum
 * the smaller one in 3 of 4.
 */
START_TEST(interval_of_an_extreme_is_that_of_counting_resamples)
{
	static const struct {
		double p, level, low, high;
	} of_pairs[] = {
		{ 1, .4, 2, 2 }, { 1, .9, 1, 2 }, { 0, .4, 1, 1 }, { 0, .9, 1, 2 },
	};
	static const double x[] = { 1, 2 };
	struct sonde_interval ci;

	for (size_t i = 0; i < COUNT(of_pairs); i++) {
		ck_assert_int_eq(sonde_stats_quantile_ci(x, 2, of_pairs[i].p, of_pairs[i].level,
							 1000, 1, &ci), 0);
		ck_assert(ci.low == of_pairs[i].low && ci.high == of_pairs[i].high);
	}
}
END_TEST

START_TEST(interval_refuses_bad_arguments_and_leaves_the_result_alone)
{
	static const struct {
		size_t n;
		double p, level;
		unsigned int resamples;
	} bad[] = {
		{ 0, .5, .95, 100 }, { N, -1, .95, 100 }, { N, 2, .95, 100 },
		{ N, NAN, .95, 100 }, { N, .5, 0, 100 }, { N, .5, 1, 100 },
		{ N, .5, NAN, 100 }, { N, .5, .95, 99 },
	};
	struct sonde_interval ci = { 1, 2 };
	double x[] = { 1, NAN };

	for (size_t i = 0; i < COUNT(bad); i++)
		ck_assert_int_eq(sonde_stats_quantile_ci(rivers, bad[i].n, bad[i].p, bad[i].level,
							 bad[i].resamples, 1, &ci), -EINVAL);
	ck_assert_int_eq(sonde_stats_quantile_ci(x, COUNT(x), .5, .95, 100, 1, &ci), -EINVAL);
	ck_assert(ci.low == 1 && ci.high == 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stats");
	TCase *order = tcase_create("order"), *interval = tcase_create("interval");

	sort_rivers();
	tcase_add_test(order, sorts_ascending_and_nan_last);
	tcase_add_test(order, quantiles_are_those_of_R);
	tcase_add_test(order, median_of_an_even_count_lies_between_the_middle_two);
	tcase_add_test(order, quantile_of_nothing_or_of_nan_is_nan);
	tcase_add_test(order, quantile_refuses_a_share_outside_0_to_1);
	tcase_add_test(order, quantiles_of_infinite_samples_are_not_nan);
	tcase_add_test(order, mad_is_that_of_R);
	tcase_add_test(order, mad_follows_its_definition_at_every_count);
	tcase_add_test(order, mad_refuses_nothing_and_nan);
	suite_add_tcase(suite, order);
	tcase_set_timeout(interval, 120);
	tcase_add_test(interval, interval_is_that_of_R);
	tcase_add_test(interval, interval_covers_the_true_median_as_often_as_it_says);
	tcase_add_test(interval, interval_depends_on_nothing_but_samples_and_seed);
	tcase_add_test(interval, interval_of_one_sample_is_that_sample);
	tcase_add_test(interval, interval_of_an_extreme_is_that_of_counting_resamples);
	tcase_add_test(interval, interval_refuses_bad_arguments_and_leaves_the_result_alone);
	suite_add_tcase(suite, interval);
	return tap_run(suite);
}
