// SPDX-License-Identifier: GPL-2.0-or-later
/* Groups of many CPUs from few comparisons, against an oracle that counts. */
#include <errno.h>

#include "../../lib/probe/groups.h"
#include "tap.h"

#define MOST 1024

/**
 * struct oracle - who belongs together
 * @cpus: @n numbers
 * @truth: of each number, its group
 * @blind: a number of which nothing can be told; MOST: none
 * @lies: whether pools say that everybody is alone
 * @compared: how often two were
 * @pooled: how often many were
 */
static struct oracle {
	unsigned int cpus[MOST];
	size_t n;
	unsigned int truth[MOST];
	unsigned int blind;
	int lies, fails_at;
	unsigned int compared, pooled;
} oracle;

static size_t group[MOST];
static unsigned char unsure[MOST];

static int same(void *ctx, unsigned int a, unsigned int b)
{
	(void)ctx;
	ck_assert_uint_lt(a, b);
	if ((int)++oracle.compared == oracle.fails_at)
		return -ECANCELED;
	if (a == oracle.blind || b == oracle.blind)
		return -ENODATA;
	return oracle.truth[a] == oracle.truth[b];
}

static int alone(void *ctx, const unsigned int *cpus, size_t n, size_t nwanted,
		 unsigned char *out)
{
	(void)ctx;
	oracle.pooled++;
	for (size_t i = 0; i < nwanted; i++) {
		out[i] = 1;
		for (size_t j = 0; j < n && !oracle.lies; j++)
			if (j != i && oracle.truth[cpus[j]] == oracle.truth[cpus[i]])
				out[i] = 0;
	}
	return 0;
}

static int no_pool(void *ctx, const unsigned int *cpus, size_t n, size_t nwanted,
		   unsigned char *out)
{
	(void)ctx, (void)cpus, (void)n, (void)nwanted, (void)out;
	return -EOPNOTSUPP;
}

static void start(size_t n)
{
	oracle = (struct oracle){ .n = n, .blind = MOST };
	for (unsigned int i = 0; i < n; i++)
		oracle.cpus[i] = i;
}

static int find(int with_pool)
{
	const struct groups_ops ops = { .same = same, .alone = with_pool ? alone : no_pool };
	struct sonde_rng rng;

	sonde_rng_seed(&rng, 1);
	return groups_find(&ops, NULL, &rng, oracle.cpus, oracle.n, group, unsure);
}

static void check_groups(void)
{
	size_t wrong;

	for (size_t i = 0; i < oracle.n; i++) {
		ck_assert_uint_eq(unsure[i], 0);
		wrong = 0;
		for (size_t j = 0; j < oracle.n; j++)
			wrong += (group[i] == group[j]) != (oracle.truth[oracle.cpus[i]] ==
							    oracle.truth[oracle.cpus[j]]);
		ck_assert_uint_eq(wrong, 0);
		ck_assert_uint_le(group[i], i);
	}
	printf("# %zu CPUs: %u comparisons, %u pools\n", oracle.n, oracle.compared,
	       oracle.pooled);
}

START_TEST(finds_one_cache_that_all_share)
{
	start(512);
	ck_assert_int_eq(find(0), 0);
	check_groups();
	ck_assert_uint_lt(oracle.compared, 2 * 512);
}
END_TEST

START_TEST(finds_private_caches_by_one_pool_and_a_comparison_each)
{
	start(512);
	for (unsigned int i = 0; i < 512; i++)
		oracle.truth[i] = i;
	ck_assert_int_eq(find(1), 0);
	check_groups();
	ck_assert_uint_eq(oracle.pooled, 1);
	ck_assert_uint_lt(oracle.compared, 2 * 512);
}
END_TEST

START_TEST(finds_threads_of_cores_that_are_numbered_apart)
{
	start(512);
	for (unsigned int i = 0; i < 512; i++)
		oracle.truth[i] = i % 256;
	ck_assert_int_eq(find(1), 0);
	check_groups();
	ck_assert_uint_lt(oracle.compared, 3 * 512);
	ck_assert_uint_lt(oracle.pooled, 2 * 512);
}
END_TEST

START_TEST(finds_clusters_numbered_in_a_row_and_in_turn)
{
	for (int in_turn = 0; in_turn < 2; in_turn++) {
		start(512);
		for (unsigned int i = 0; i < 512; i++)
			oracle.truth[i] = in_turn ? i % 64 : i / 8;
		ck_assert_int_eq(find(1), 0);
		check_groups();
		ck_assert_uint_lt(oracle.compared + oracle.pooled, 4 * 512);
	}
}
END_TEST

START_TEST(finds_last_levels_without_a_pool)
{
	/* 32 of 16 each: what is compared grows with CPUs and with caches squared. */
	start(512);
	for (unsigned int i = 0; i < 512; i++)
		oracle.truth[i] = i / 16;
	ck_assert_int_eq(find(0), 0);
	check_groups();
	ck_assert_uint_lt(oracle.compared, 3 * 512);
}
END_TEST

START_TEST(finds_groups_of_any_shape_with_holes_in_the_numbers)
{
	struct sonde_rng rng;

	sonde_rng_seed(&rng, 7);
	for (int round = 0; round < 50; round++) {
		size_t n = 1 + sonde_rng_below(&rng, 60), ngroups = 1 + sonde_rng_below(&rng, n);

		start(n);
		for (unsigned int i = 0, cpu = 0; i < n; i++) {
			cpu += 1 + (unsigned int)sonde_rng_below(&rng, 3);
			oracle.cpus[i] = cpu;
			oracle.truth[cpu] = (unsigned int)sonde_rng_below(&rng, ngroups);
		}
		ck_assert_int_eq(find(round % 2), 0);
		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j < n; j++)
				ck_assert_int_eq(group[i] == group[j],
						 oracle.truth[oracle.cpus[i]] ==
						 oracle.truth[oracle.cpus[j]]);
	}
}
END_TEST

START_TEST(two_CPUs_that_cannot_be_told_apart_are_unsure)
{
	start(2);
	oracle.blind = 1;
	ck_assert_int_eq(find(1), 0);
	ck_assert_uint_ne(group[0], group[1]);
	ck_assert(unsure[0] && unsure[1]);
}
END_TEST

START_TEST(what_is_known_of_others_stays_known)
{
	start(8);
	for (unsigned int i = 0; i < 8; i++)
		oracle.truth[i] = i / 4;
	oracle.blind = 7;
	ck_assert_int_eq(find(0), 0);
	ck_assert(unsure[7]);
	ck_assert_uint_eq(group[1], group[0]);
	ck_assert_uint_eq(group[3], group[0]);
	ck_assert_uint_eq(group[5], group[4]);
	ck_assert_uint_ne(group[4], group[0]);
}
END_TEST

START_TEST(a_pool_that_lies_is_found_out)
{
	start(16);
	for (unsigned int i = 0; i < 16; i++)
		oracle.truth[i] = i / 2;
	oracle.lies = 1;
	ck_assert_int_eq(find(1), 0);
	for (size_t i = 0; i < 16; i++)
		ck_assert(unsure[i]);
}
END_TEST

START_TEST(an_error_ends_the_search)
{
	for (int at = 1; at < 8; at++) {
		start(8);
		oracle.fails_at = at;
		ck_assert_int_eq(find(at % 2), -ECANCELED);
		ck_assert_uint_eq(oracle.compared, (unsigned int)at);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("groups");
	TCase *tc = tcase_create("groups");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, finds_one_cache_that_all_share);
	tcase_add_test(tc, finds_private_caches_by_one_pool_and_a_comparison_each);
	tcase_add_test(tc, finds_threads_of_cores_that_are_numbered_apart);
	tcase_add_test(tc, finds_clusters_numbered_in_a_row_and_in_turn);
	tcase_add_test(tc, finds_last_levels_without_a_pool);
	tcase_add_test(tc, finds_groups_of_any_shape_with_holes_in_the_numbers);
	tcase_add_test(tc, two_CPUs_that_cannot_be_told_apart_are_unsure);
	tcase_add_test(tc, what_is_known_of_others_stays_known);
	tcase_add_test(tc, a_pool_that_lies_is_found_out);
	tcase_add_test(tc, an_error_ends_the_search);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
