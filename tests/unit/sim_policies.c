// SPDX-License-Identifier: GPL-2.0-or-later
/* The simulator's sets against what textbooks and papers say of each policy. */
#include "../sim/store.h"
#include "tap.h"

static struct store store;

static void open_set(unsigned int ways, enum machine_policy policy)
{
	ck_assert_int_eq(store_open(&store, 64, ways, policy, 1), 0);
}

/* Whether @tag missed. */
static unsigned int touch(size_t set, uint32_t tag)
{
	int way = store_find(&store, set, tag);

	if (way < 0) {
		store_fill(&store, set, tag);
		return 1;
	}
	store_use(&store, set, (unsigned int)way);
	return 0;
}

/* Misses of @n lines in turn, @turns times. */
static unsigned int cycle(size_t set, uint32_t n, unsigned int turns)
{
	unsigned int misses = 0;

	for (unsigned int t = 0; t < turns; t++)
		for (uint32_t tag = 1; tag <= n; tag++)
			misses += touch(set, tag);
	return misses;
}

static int has(uint32_t tag)
{
	return store_find(&store, 1, tag) >= 0;
}

START_TEST(as_many_lines_as_ways_stay_under_every_policy)
{
	static const unsigned int ways[] = { 1, 2, 3, 4, 8, 11, 12, 16, 20, 24, 48, 64 };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		open_set(ways[i], (enum machine_policy)_i);
		ck_assert_uint_eq(cycle(1, ways[i], 1), ways[i]);
		ck_assert_uint_eq(cycle(1, ways[i], 50), 0);
		store_close(&store);
	}
}
END_TEST

START_TEST(one_line_too_many_misses_each_turn_under_every_policy)
{
	static const unsigned int ways[] = { 1, 2, 3, 4, 8, 11, 12, 16, 20, 24, 48, 64 };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		open_set(ways[i], (enum machine_policy)_i);
		cycle(1, ways[i] + 1, 50);
		ck_assert_uint_ge(cycle(1, ways[i] + 1, 50), 50);
		store_close(&store);
	}
}
END_TEST

START_TEST(other_sets_are_left_alone)
{
	open_set(8, (enum machine_policy)_i);
	cycle(1, 8, 2);
	cycle(2, 100, 3);
	cycle(0, 100, 3);
	ck_assert_uint_eq(cycle(1, 8, 1), 0);
	store_close(&store);
}
END_TEST

START_TEST(LRU_and_FIFO_miss_always_with_one_line_too_many)
{
	open_set(12, POLICY_LRU);
	cycle(1, 13, 2);
	ck_assert_uint_eq(cycle(1, 13, 20), 260);
	store_close(&store);
	open_set(12, POLICY_FIFO);
	cycle(1, 13, 2);
	ck_assert_uint_eq(cycle(1, 13, 20), 260);
	store_close(&store);
}
END_TEST

START_TEST(LRU_replaces_what_was_used_longest_ago_and_FIFO_what_came_first)
{
	open_set(4, POLICY_LRU);
	cycle(1, 4, 1);
	touch(1, 1);
	touch(1, 5);
	ck_assert(has(1) && !has(2) && has(5));
	store_close(&store);
	open_set(4, POLICY_FIFO);
	cycle(1, 4, 1);
	touch(1, 1);
	touch(1, 5);
	ck_assert(!has(1) && has(2) && has(5));
	store_close(&store);
}
END_TEST

/* Four ways, lines 1 to 4 in ways 0 to 3: the tree points to way 0, then 2, 1, 3. */
START_TEST(a_tree_of_bits_follows_the_textbook)
{
	open_set(4, POLICY_PLRU);
	cycle(1, 4, 1);
	touch(1, 5);
	ck_assert(!has(1));
	touch(1, 6);
	ck_assert(!has(3));
	touch(1, 7);
	ck_assert(!has(2));
	touch(1, 8);
	ck_assert(!has(4));
	store_close(&store);
	/* A hit on way 2 turns the root left, and way 1's bit is what it was: to 0. */
	open_set(4, POLICY_PLRU);
	cycle(1, 4, 1);
	touch(1, 1);
	touch(1, 3);
	touch(1, 5);
	ck_assert(has(1) && !has(2) && has(3) && has(4));
	store_close(&store);
}
END_TEST

START_TEST(a_tree_is_not_LRU)
{
	open_set(8, POLICY_PLRU);
	cycle(1, 8, 1);
	/* 1 is kept alive; LRU would replace 2, 3, 4 now. */
	touch(1, 1);
	touch(1, 9);
	ck_assert(has(2) && has(3) && has(4) && !has(5));
	store_close(&store);
}
END_TEST

START_TEST(MRU_bits_spare_what_was_used_since_all_were_set)
{
	open_set(4, POLICY_MRU);
	/* The fourth sets the last bit: all others are cleared. */
	cycle(1, 4, 1);
	touch(1, 1);
	touch(1, 5);
	ck_assert(has(1) && !has(2) && has(3) && has(4));
	touch(1, 6);
	ck_assert(has(1) && has(5) && !has(3) && has(4));
	store_close(&store);
}
END_TEST

/*
 * QLRU as in nanoBench. Filling leaves ages 3 1 1 1 (the first line was alone
 * when U0 made it 3); the hit makes them 1 1 1 1 and U0 3 3 3 3, so ways go from
 * the left, and what is new is 1 and stays.
 */
START_TEST(QLRU_ages_by_its_name)
{
	open_set(4, POLICY_QLRU_H11_M1_R0_U0);
	cycle(1, 4, 1);
	touch(1, 1);
	touch(1, 5);
	ck_assert(!has(1) && has(2));
	touch(1, 6);
	ck_assert(!has(2) && has(3) && has(5));
	store_close(&store);
	/* R2: filled from the right, so the first line is in the last way. */
	open_set(4, POLICY_QLRU_H00_M1_R2_U1);
	touch(1, 1);
	ck_assert_int_eq(store_find(&store, 1, 1), 3);
	touch(1, 2);
	ck_assert_int_eq(store_find(&store, 1, 2), 2);
	store_close(&store);
	/*
	 * U1: the hit makes line 1 0 years old and not 2, so when the third new line
	 * has come the oldest are the first two of them, not line 1.
	 */
	open_set(4, POLICY_QLRU_H00_M1_R2_U1);
	cycle(1, 4, 1);
	touch(1, 1);
	for (uint32_t tag = 5; tag <= 8; tag++)
		touch(1, tag);
	ck_assert(has(1) && !has(5) && has(6) && has(7));
	store_close(&store);
}
END_TEST

/* Misses of a sequence that has no period, over half as many lines again as ways. */
static unsigned int wander(uint32_t lines)
{
	unsigned int misses = 0;
	uint32_t x = 1;

	for (int i = 0; i < 5000; i++) {
		x = x * 1103515245 + 12345;
		misses += touch(1, 1 + (x >> 16) % (i & 1 ? lines : lines / 3));
	}
	return misses;
}

START_TEST(QLRU_variants_and_SRRIP_differ)
{
	static const enum machine_policy p[] = {
		POLICY_QLRU_H11_M1_R0_U0, POLICY_QLRU_H00_M1_R2_U1,
		POLICY_QLRU_H21_M2_R0_U0_UMO, POLICY_SRRIP,
	};
	unsigned int misses[4];

	for (int i = 0; i < 4; i++) {
		open_set(8, p[i]);
		misses[i] = wander(12);
		store_close(&store);
	}
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < i; j++)
			ck_assert_uint_ne(misses[i], misses[j]);
}
END_TEST

/* Jaleel et al. 2010, section 4: a scan does not push out what is reused. */
START_TEST(SRRIP_resists_a_scan_that_LRU_does_not)
{
	unsigned int lost[2] = { 0 };

	for (int i = 0; i < 2; i++) {
		open_set(8, i ? POLICY_SRRIP : POLICY_LRU);
		cycle(1, 4, 4);
		for (uint32_t tag = 100; tag < 108; tag++)
			touch(1, tag);
		lost[i] = cycle(1, 4, 1);
		store_close(&store);
	}
	ck_assert_uint_eq(lost[0], 4);
	ck_assert_uint_eq(lost[1], 0);
}
END_TEST

START_TEST(random_replacement_misses_now_and_then)
{
	unsigned int misses;

	open_set(16, POLICY_RANDOM);
	cycle(1, 17, 50);
	misses = cycle(1, 17, 1000);
	/* Of a cycle of 17: more than once a turn, much less than always. */
	ck_assert_uint_gt(misses, 1000);
	ck_assert_uint_lt(misses, 10000);
	store_close(&store);
}
END_TEST

/* Qureshi et al. 2007: followers do as the leaders that miss less. */
START_TEST(DIP_turns_to_bimodal_insertion_when_a_cycle_is_too_large)
{
	unsigned int lru, dip;

	open_set(16, POLICY_DIP);
	for (int t = 0; t < 200; t++)
		for (size_t set = 0; set < 64; set++)
			cycle(set, 20, 1);
	dip = cycle(5, 20, 100);
	store_close(&store);
	open_set(16, POLICY_LRU);
	cycle(5, 20, 10);
	lru = cycle(5, 20, 100);
	store_close(&store);
	ck_assert_uint_eq(lru, 2000);
	ck_assert_uint_lt(dip, 1000);
}
END_TEST

START_TEST(an_empty_way_is_filled_first)
{
	open_set(12, (enum machine_policy)_i);
	cycle(1, 12, 3);
	store_drop(&store, 1, (unsigned int)store_find(&store, 1, 7));
	ck_assert(!has(7));
	ck_assert_uint_eq(store_fill(&store, 1, 50), 0);
	for (uint32_t tag = 1; tag <= 12; tag++)
		ck_assert(tag == 7 || has(tag));
	store_close(&store);
}
END_TEST

START_TEST(clearing_forgets_everything)
{
	open_set(8, (enum machine_policy)_i);
	cycle(1, 8, 2);
	store_clear(&store);
	ck_assert_uint_eq(cycle(1, 8, 1), 8);
	ck_assert_uint_eq(cycle(1, 8, 1), 0);
	store_close(&store);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sim_policies");
	TCase *tc = tcase_create("policies");

	tcase_add_loop_test(tc, as_many_lines_as_ways_stay_under_every_policy, 0,
			    MACHINE_POLICIES);
	tcase_add_loop_test(tc, one_line_too_many_misses_each_turn_under_every_policy, 0,
			    MACHINE_POLICIES);
	tcase_add_loop_test(tc, other_sets_are_left_alone, 0, MACHINE_POLICIES);
	tcase_add_test(tc, LRU_and_FIFO_miss_always_with_one_line_too_many);
	tcase_add_test(tc, LRU_replaces_what_was_used_longest_ago_and_FIFO_what_came_first);
	tcase_add_test(tc, a_tree_of_bits_follows_the_textbook);
	tcase_add_test(tc, a_tree_is_not_LRU);
	tcase_add_test(tc, MRU_bits_spare_what_was_used_since_all_were_set);
	tcase_add_test(tc, QLRU_ages_by_its_name);
	tcase_add_test(tc, QLRU_variants_and_SRRIP_differ);
	tcase_add_test(tc, SRRIP_resists_a_scan_that_LRU_does_not);
	tcase_add_test(tc, random_replacement_misses_now_and_then);
	tcase_add_test(tc, DIP_turns_to_bimodal_insertion_when_a_cycle_is_too_large);
	tcase_add_loop_test(tc, an_empty_way_is_filled_first, 0, MACHINE_POLICIES);
	tcase_add_loop_test(tc, clearing_forgets_everything, 0, MACHINE_POLICIES);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
