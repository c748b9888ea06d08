// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How many kinds of value there are: as many as were made, whatever their number.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "../../lib/cluster.h"
#include "../../lib/rng.h"
#include "tap.h"

#define MOST	4000
#define SPREAD	0.03

static double x[MOST];
static unsigned int cluster[MOST];

static double normal(struct sonde_rng *rng)
{
	double u = (double)((sonde_rng_next(rng) >> 11) + 1) * 0x1p-53;

	return sqrt(-2 * log(u)) * cos(2 * M_PI * (double)(sonde_rng_next(rng) >> 11) * 0x1p-53);
}

/* @n values about @at, in no order with those that follow. Return: the end. */
static size_t add(struct sonde_rng *rng, size_t from, size_t n, double at, double spread)
{
	for (size_t i = from; i < from + n; i++)
		x[i] = at + spread * normal(rng);
	return from + n;
}

static void check_same(size_t from, size_t n, unsigned int is)
{
	for (size_t i = from; i < from + n; i++)
		ck_assert_uint_eq(cluster[i], is);
}

START_TEST(one_hump_is_one_cluster_however_many_values_it_has)
{
	static const size_t sizes[] = { 1, 2, 3, 10, 100, 1000, MOST };
	struct sonde_rng rng;

	sonde_rng_seed(&rng, (uint64_t)_i);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		add(&rng, 0, sizes[s], -0.4, SPREAD);
		ck_assert_int_eq(cluster_find(x, sizes[s], SPREAD, cluster), 1);
	}
}
END_TEST

/* Pairs that differ by themselves, and not because they are measured anew. */
START_TEST(one_hump_is_one_cluster_though_it_was_measured_far_better)
{
	struct sonde_rng rng;

	sonde_rng_seed(&rng, (uint64_t)_i);
	add(&rng, 0, 1000, 0, SPREAD);
	ck_assert_int_eq(cluster_find(x, 1000, SPREAD / 50, cluster), 1);
	for (size_t i = 0; i < 1000; i++)
		x[i] = (double)i / 1000;
	ck_assert_int_eq(cluster_find(x, 1000, SPREAD / 50, cluster), 1);
}
END_TEST

START_TEST(what_is_apart_is_told_apart_and_numbered_from_the_least)
{
	struct sonde_rng rng;
	size_t n;

	sonde_rng_seed(&rng, (uint64_t)_i);
	n = add(&rng, 0, 40, 0, SPREAD);
	n = add(&rng, n, 20, -0.6, SPREAD);
	n = add(&rng, n, 300, -0.29, SPREAD);
	ck_assert_int_eq(cluster_find(x, n, SPREAD, cluster), 3);
	check_same(0, 40, 2);
	check_same(40, 20, 0);
	check_same(60, 300, 1);
}
END_TEST

START_TEST(a_few_values_are_enough_if_they_are_far_enough_apart)
{
	static const double three[] = { -0.43, 0, 0 };
	unsigned int c[3];

	ck_assert_int_eq(cluster_find(three, 3, SPREAD, c), 2);
	ck_assert_uint_eq(c[0], 0);
	ck_assert_uint_eq(c[1], 1);
	ck_assert_uint_eq(c[2], 1);
	/* Less than what is measured again differs by is nothing. */
	ck_assert_int_eq(cluster_find(three, 3, 0.4, c), 1);
}
END_TEST

START_TEST(equal_values_are_one_cluster)
{
	for (size_t i = 0; i < 100; i++)
		x[i] = 1e6;
	ck_assert_int_eq(cluster_find(x, 100, SPREAD, cluster), 1);
}
END_TEST

START_TEST(what_cannot_be_clustered_is_an_error)
{
	static const double bad[] = { 0, NAN };
	unsigned int c[2];

	ck_assert_int_eq(cluster_find(bad, 2, SPREAD, c), -EINVAL);
	ck_assert_int_eq(cluster_find(bad, 1, 0, c), -EINVAL);
	ck_assert_int_eq(cluster_find(bad, 0, SPREAD, c), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cluster");
	TCase *c = tcase_create("cluster");

	tcase_set_timeout(c, 30);
	tcase_add_loop_test(c, one_hump_is_one_cluster_however_many_values_it_has, 1, 11);
	tcase_add_loop_test(c, one_hump_is_one_cluster_though_it_was_measured_far_better, 1, 11);
	tcase_add_loop_test(c, what_is_apart_is_told_apart_and_numbered_from_the_least, 1, 11);
	tcase_add_test(c, a_few_values_are_enough_if_they_are_far_enough_apart);
	tcase_add_test(c, equal_values_are_one_cluster);
	tcase_add_test(c, what_cannot_be_clustered_is_an_error);
	suite_add_tcase(s, c);
	return tap_run(s);
}
