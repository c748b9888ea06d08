// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "../../lib/probe/plateau.h"
#include "tap.h"

#define POINTS	40

/* A quarter of an octave a point. */
static double size[POINTS], cost[POINTS];

static void fill(size_t from, size_t to, double level)
{
	for (size_t i = from; i < to; i++)
		cost[i] = level;
}

/* 0..11 level at 5, a slope to 16, level at 50, a slope, 30..39 level at 300. */
static void three_levels(void)
{
	for (size_t i = 0; i < POINTS; i++)
		size[i] = exp2((double)i / 4);
	fill(0, 12, 5);
	for (size_t i = 12; i < 16; i++)
		cost[i] = 5 + 9 * (double)(i - 11);
	fill(16, 26, 50);
	for (size_t i = 26; i < 30; i++)
		cost[i] = 50 + 50 * (double)(i - 25);
	fill(30, POINTS, 300);
}

START_TEST(finds_levels_and_their_ends)
{
	struct plateau p[PLATEAU_MAX];

	three_levels();
	ck_assert_uint_eq(plateau_find(size, cost, POINTS, p), 3);
	ck_assert_uint_eq(p[0].first, 0);
	ck_assert_uint_eq(p[0].last, 11);
	ck_assert_uint_eq(p[1].first, 16);
	ck_assert_uint_eq(p[1].last, 25);
	ck_assert_uint_eq(p[2].first, 30);
	ck_assert_uint_eq(p[2].last, POINTS - 1);
	ck_assert_double_eq(p[0].cost, 5);
	ck_assert_double_eq(p[1].cost, 50);
	ck_assert_double_eq(p[2].cost, 300);
}
END_TEST

START_TEST(ignores_points_that_were_disturbed)
{
	struct plateau p[PLATEAU_MAX];

	three_levels();
	cost[3] = 40;
	cost[18] = 200;
	cost[19] = 210;
	cost[21] = 1000;
	ck_assert_uint_eq(plateau_find(size, cost, POINTS, p), 3);
	ck_assert_double_eq(p[1].cost, 50);
	ck_assert_uint_eq(p[1].last, 25);
}
END_TEST

START_TEST(takes_a_small_step_for_part_of_a_level)
{
	struct plateau p[PLATEAU_MAX];

	three_levels();
	fill(21, 26, 57);	/* a TLB, say */
	ck_assert_uint_eq(plateau_find(size, cost, POINTS, p), 3);
	ck_assert_uint_eq(p[1].last, 25);
}
END_TEST

START_TEST(takes_no_slope_for_a_level)
{
	struct plateau p[PLATEAU_MAX];

	three_levels();
	for (size_t i = 0; i < POINTS; i++)
		cost[i] = pow(1.1, (double)i);
	/* The ends stand for what lies beyond them. */
	ck_assert_uint_le(plateau_find(size, cost, POINTS, p), 2);
}
END_TEST

/* A moment in which others left the last level alone, seen by one size on its slope. */
START_TEST(one_cheap_point_on_a_slope_makes_no_level)
{
	struct plateau p[PLATEAU_MAX];

	three_levels();
	for (size_t i = 20; i < 30; i++)
		cost[i] = 50 * pow(1.2, (double)(i - 19));
	for (size_t i = 23; i < 29; i++) {
		double before = cost[i];

		cost[i] = cost[i - 3] * 1.02;
		ck_assert_uint_eq(plateau_find(size, cost, POINTS, p), 3);
		ck_assert_double_eq(p[1].cost, 50);
		ck_assert_double_eq(p[2].cost, 300);
		cost[i] = before;
	}
}
END_TEST

START_TEST(says_that_the_end_still_rises)
{
	struct plateau p[PLATEAU_MAX];
	size_t n;

	three_levels();
	n = plateau_find(size, cost, 29, p);
	ck_assert_uint_ge(n, 2);
	ck_assert_double_eq(p[1].cost, 50);
	ck_assert_uint_eq(p[1].last, 25);
}
END_TEST

START_TEST(finds_one_level_in_a_level_curve_and_none_in_none)
{
	struct plateau p[PLATEAU_MAX];

	three_levels();
	fill(0, POINTS, 7);
	ck_assert_uint_eq(plateau_find(size, cost, POINTS, p), 1);
	ck_assert_uint_eq(p[0].last, POINTS - 1);
	ck_assert_uint_eq(plateau_find(size, cost, 0, p), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plateau");
	TCase *tc = tcase_create("plateau");

	tcase_add_test(tc, finds_levels_and_their_ends);
	tcase_add_test(tc, ignores_points_that_were_disturbed);
	tcase_add_test(tc, takes_a_small_step_for_part_of_a_level);
	tcase_add_test(tc, takes_no_slope_for_a_level);
	tcase_add_test(tc, one_cheap_point_on_a_slope_makes_no_level);
	tcase_add_test(tc, says_that_the_end_still_rises);
	tcase_add_test(tc, finds_one_level_in_a_level_curve_and_none_in_none);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
