// SPDX-License-Identifier: GPL-2.0-or-later
/* Levels from the third on by conflicts, on machines whose truth is known. */
#include <errno.h>

#include "geometry_machine.h"

/* 1.3 times the lines that the level holds, without those that flush: some classes have too few. */
START_TEST(counts_classes_that_have_too_few_lines_to_overflow)
{
	find_in(4608 * KIB, (uint64_t)_i + 1);
	assert_level(2, 3 * MIB, 12, 64);
	ck_assert_uint_gt(g->level[2].survey.sorted, 0);
}
END_TEST

START_TEST(divides_out_sets_of_the_second_level_that_share_one_of_the_third)
{
	model.cache[1].bytes = MIB;	/* 2048 sets, and 512 of each slice */
	model.cache[2] = (struct machine_cache){
		.bytes = 6 * MIB, .ways = 12, .cycles = 40, .index = INDEX_SLICED, .slices = 16,
	};
	find(1);
	ck_assert_uint_eq(g->nlevels, 3);
	assert_level(2, 6 * MIB, 12, 64);
}
END_TEST

/* Draws tell too few sets, since lines come and go otherwise than in the sweep. */
START_TEST(counts_the_sets_of_an_exclusive_third_level)
{
	model.cache[2] = (struct machine_cache){
		.bytes = 2 * MIB, .ways = 16, .cycles = 40, .index = INDEX_SLICED, .slices = 8,
		.inclusion = EXCLUSIVE,
	};
	find_in(128 * MIB, 1);
	ck_assert_uint_eq(g->nlevels, 3);
	assert_level(2, 2 * MIB, 16, 64);
}
END_TEST

/* Of few sets, and of replacement that others do not tell the classes of. */
static const struct machine_cache exclusive[] = {
	{ .bytes = 1536 * KIB, .ways = 12, .slices = 4, .policy = POLICY_FIFO },
	{ .bytes = 1536 * KIB, .ways = 12, .slices = 4, .policy = POLICY_RANDOM },
	{ .bytes = 1536 * KIB, .ways = 12, .slices = 4, .policy = POLICY_MRU },
};

START_TEST(fills_an_exclusive_third_level_to_the_brim)
{
	unsigned int told = 0;

	for (size_t i = 0; i < sizeof(exclusive) / sizeof(*exclusive); i++) {
		model.cache[2] = exclusive[i];
		model.cache[2].cycles = 40;
		model.cache[2].index = INDEX_SLICED;
		model.cache[2].inclusion = EXCLUSIVE;
		find(1);
		ck_assert_uint_eq(g->nlevels, 3);
		if (!g->level[2].size)
			continue;
		ck_assert_uint_eq(g->level[2].size, model.cache[2].bytes);
		ck_assert_uint_eq(g->level[2].survey.ways, model.cache[2].ways);
		ck_assert_uint_eq(g->level[2].survey.line, 64);
		told++;
	}
	/* Not each time is the level above seen without a set's lines. */
	ck_assert_uint_gt(told, 1);
}
END_TEST

/*
 * Two sets for lines that share one above, so lines that flush that are in the same sets;
 * and of these lines it holds no more than a few times as many as the level above.
 */
static const struct machine_cache crowded[] = {
	{ .bytes = MIB, .ways = 16, .slices = 2, .policy = POLICY_QLRU_H11_M1_R0_U0 },
	{ .bytes = MIB, .ways = 16, .slices = 2, .policy = POLICY_SRRIP },
	/* One of them is farther: hits of a whole set cost as much more there as a miss does. */
	{ .bytes = MIB, .ways = 16, .slices = 2, .policy = POLICY_QLRU_H11_M1_R0_U0, .spread = 24 },
	{ .bytes = MIB, .ways = 16, .slices = 2, .policy = POLICY_SRRIP, .spread = 24 },
	{ .bytes = MIB, .ways = 16, .slices = 2, .policy = POLICY_LRU, .spread = 24 },
};

START_TEST(tells_an_exclusive_third_level_of_two_sets)
{
	model.cache[2] = crowded[_i];
	model.cache[2].cycles = 40;
	model.cache[2].index = INDEX_SLICED;
	model.cache[2].inclusion = EXCLUSIVE;
	find(1);
	ck_assert_uint_eq(g->nlevels, 3);
	ck_assert_uint_eq(g->level[2].size, crowded[_i].bytes);
	ck_assert_uint_eq(g->level[2].survey.ways, crowded[_i].ways);
	ck_assert_uint_eq(g->level[2].survey.line, 64);
}
END_TEST

/*
 * Eight sets above share one of a slice, and what is above holds lines of each: draws of all
 * show less than three octaves.
 */
START_TEST(divides_out_sets_that_share_one_of_an_exclusive_level)
{
	model.cache[2] = (struct machine_cache){
		.bytes = MIB, .ways = 16, .cycles = 40, .index = INDEX_SLICED, .slices = 16,
		.inclusion = EXCLUSIVE, .policy = POLICY_SRRIP,
	};
	find_in(256 * MIB, 1);
	ck_assert_uint_eq(g->nlevels, 3);
	assert_level(2, MIB, 16, 64);
}
END_TEST

static const struct machine_cache many_ways[] = {
	/* Without those of the level above it would be the simpler number: 32. */
	{ .bytes = 3 * MIB, .ways = 48, .slices = 2 },
	/* Other lines of a set are in when all are than when its ways were told. */
	{ .bytes = 6 * MIB, .ways = 64, .slices = 3, .policy = POLICY_FIFO },
	/* One of a set's lines never misses. */
	{ .bytes = 2 * MIB, .ways = 32, .slices = 4, .policy = POLICY_SRRIP },
};

START_TEST(believes_any_ways_of_a_level_that_is_seen_to_be_exclusive)
{
	model.cache[1].bytes = 512 * KIB;
	model.cache[1].ways = 16;
	model.cache[2] = many_ways[_i];
	model.cache[2].cycles = 40;
	model.cache[2].index = INDEX_SLICED;
	model.cache[2].inclusion = EXCLUSIVE;
	find(1);
	ck_assert_uint_eq(g->nlevels, 3);
	ck_assert_uint_eq(g->level[2].size, many_ways[_i].bytes);
	ck_assert_uint_eq(g->level[2].survey.ways, many_ways[_i].ways);
}
END_TEST

/*
 * Lines at offsets that the index of the second level mixes with others push these out of it, and
 * out of no other level: so each load of a ring shows what the third holds.
 */
static const enum machine_policy below_mixed[] = {
	POLICY_LRU, POLICY_FIFO, POLICY_RANDOM, POLICY_PLRU, POLICY_SRRIP,
	/* Of a set that overflows some lines never miss. */
	POLICY_QLRU_H11_M1_R0_U0,
};

START_TEST(fills_a_third_level_below_a_mixed_index)
{
	model.cache[1].index = INDEX_XOR;
	model.cache[2].policy = below_mixed[_i / 2];
	model.cache[2].inclusion = _i % 2 ? EXCLUSIVE : NON_INCLUSIVE;
	find(1);
	ck_assert_uint_eq(g->nlevels, 3);
	assert_level(2, 3 * MIB, 12, 64);
}
END_TEST

/* Of the first pool all fit: translation alone makes its lines cost more than some do. */
START_TEST(fills_a_third_level_that_a_first_pool_does_not_overflow)
{
	model.cache[1].index = INDEX_XOR;
	model.cache[2] = (struct machine_cache){
		.bytes = 64 * MIB, .ways = 16, .cycles = 56, .index = INDEX_SLICED, .slices = 4,
		.spread = 24, .policy = POLICY_FIFO,
	};
	model.tlb[1].cycles = 40;
	find_in(512 * MIB, 1);
	ck_assert_uint_eq(g->nlevels, 3);
	assert_level(2, 64 * MIB, 16, 64);
}
END_TEST

/*
 * A fourth level that is hardly slower: the first pool that misses cost more in overflows that one;
 * and lines of the third's farther slices cost as much more as those that miss it.
 */
static const struct machine_cache before_a_fourth[] = {
	{ .bytes = 3 * MIB, .ways = 12, .slices = 4, .cycles = 40, .policy = POLICY_SRRIP },
	{ .bytes = 3 * MIB, .ways = 12, .slices = 2, .cycles = 44, .spread = 16,
	  .policy = POLICY_QLRU_H11_M1_R0_U0, .inclusion = EXCLUSIVE },
};

START_TEST(takes_no_fourth_level_and_no_part_of_it_for_the_third)
{
	if (!_i)
		model.cache[1].index = INDEX_XOR;
	model.cache[2] = before_a_fourth[_i];
	model.cache[2].index = INDEX_SLICED;
	model.cache[3] = (struct machine_cache){ .bytes = 64 * MIB, .ways = 16, .cycles = 58 };
	find_in(512 * MIB, 1);
	if (g->nlevels > 2 && g->level[2].size)
		ck_assert_uint_eq(g->level[2].size, 3 * MIB);
}
END_TEST

/* Too few of them share a set of the second level to tell what a hit in the third costs. */
START_TEST(names_no_end_of_a_level_that_a_small_pool_does_not_fill)
{
	model.is_guest = 1;
	find_in(1536 * KIB, 3);
	assert_level(1, 256 * KIB, 8, 64);
	ck_assert_uint_eq(g->level[2].low, 0);
	ck_assert_uint_eq(g->level[2].high, 0);
}
END_TEST

/*
 * Lines that share a set of the second level are in more of the third's than the second's sets
 * tell: in any, if its index is mixed, or in those of slices of fewer sets. So many of them fit
 * that the third would be far larger if they shared its sets, too.
 */
static const struct machine_cache above_more_sets[] = {
	{ .bytes = 256 * KIB, .ways = 8, .cycles = 12, .index = INDEX_XOR },
	{ .bytes = 512 * KIB, .ways = 8, .cycles = 12 },
};

START_TEST(names_no_least_size_that_is_more_than_a_level_holds)
{
	model.is_guest = 1;
	model.cache[1] = above_more_sets[_i];
	model.cache[2].bytes = 3 * MIB;
	model.cache[2].slices = 16;
	find(1);
	assert_level(1, above_more_sets[_i].bytes, 8, 64);
	ck_assert_uint_eq(g->nlevels, 3);
	ck_assert_uint_eq(g->level[2].size, 0);
	ck_assert_uint_ge(g->level[2].low, MIB);
	ck_assert_uint_le(g->level[2].low, 3 * MIB);
	if (g->level[2].high)
		ck_assert_uint_ge(g->level[2].high, 3 * MIB);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("geometry_further");
	TCase *tc = tcase_create("geometry_further");

	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, make_machine, drop_machine);
	tcase_add_loop_test(tc, counts_classes_that_have_too_few_lines_to_overflow, 0, 2);
	tcase_add_test(tc, divides_out_sets_of_the_second_level_that_share_one_of_the_third);
	tcase_add_test(tc, counts_the_sets_of_an_exclusive_third_level);
	tcase_add_loop_test(tc, tells_an_exclusive_third_level_of_two_sets, 0,
			    tap_long() ? (int)(sizeof(crowded) / sizeof(*crowded)) : 2);
	tcase_add_test(tc, divides_out_sets_that_share_one_of_an_exclusive_level);
	tcase_add_loop_test(tc, fills_a_third_level_below_a_mixed_index, 0,
			    2 * (int)(sizeof(below_mixed) / sizeof(*below_mixed)));
	tcase_add_test(tc, fills_a_third_level_that_a_first_pool_does_not_overflow);
	tcase_add_test(tc, names_no_end_of_a_level_that_a_small_pool_does_not_fill);
	tcase_add_loop_test(tc, names_no_least_size_that_is_more_than_a_level_holds, 0,
			    (int)(sizeof(above_more_sets) / sizeof(*above_more_sets)));
	if (tap_long()) {
		tcase_add_test(tc, fills_an_exclusive_third_level_to_the_brim);
		tcase_add_loop_test(tc, believes_any_ways_of_a_level_that_is_seen_to_be_exclusive,
				    0, (int)(sizeof(many_ways) / sizeof(*many_ways)));
		tcase_add_loop_test(tc, takes_no_fourth_level_and_no_part_of_it_for_the_third, 0,
				    (int)(sizeof(before_a_fourth) / sizeof(*before_a_fourth)));
	} else {
		tap_left_out("levels that take half a minute each: SONDE_LONG=1");
	}
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
