// SPDX-License-Identifier: GPL-2.0-or-later
/* Second levels by conflicts, on machines whose truth is known. */
#include <errno.h>

#include "geometry_machine.h"

static const enum machine_policy policies[] = {
	POLICY_LRU, POLICY_PLRU, POLICY_RANDOM, POLICY_MRU, POLICY_QLRU_H11_M1_R0_U0,
};

START_TEST(knows_nothing_of_replacement_and_needs_not)
{
	model.cache[1].policy = policies[_i];
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	ck_assert_uint_eq(g->nlevels, 2);
	assert_level(1, 256 * KIB, 8, 64);
}
END_TEST

START_TEST(sees_that_an_index_mixes_bits_of_the_offset)
{
	model.cache[1].index = INDEX_XOR;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	assert_level(1, 256 * KIB, 8, 64);
	ck_assert_uint_gt(g->level[1].survey.fold, 1);
}
END_TEST

START_TEST(tells_an_exclusive_level_and_its_size)
{
	model.cache[1].bytes = MIB;
	model.cache[1].ways = 16;
	model.cache[1].inclusion = EXCLUSIVE;
	model.cache[0].policy = POLICY_LRU;
	model.prefetch = 0;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	ck_assert_int_eq(g->level[1].survey.holding, HOLDING_OTHER);
	ck_assert_uint_eq(g->level[1].survey.ways, 16);
	ck_assert_uint_eq(g->level[1].size, MIB);
}
END_TEST

/* As on a Zen 4: beside a hit in the second level a translation costs less than beside one
 * in the first, and lines at one offset are in eight times as many sets. */
START_TEST(is_not_misled_by_hits_that_hide_translation)
{
	model.cache[1] = (struct machine_cache){
		.bytes = MIB, .ways = 8, .cycles = 16, .policy = POLICY_PLRU, .index = INDEX_XOR,
	};
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	model.memory_cycles = 52;
	model.tlb[0] = (struct machine_tlb){ 72, 0, 7 };
	model.tlb[1] = (struct machine_tlb){ 3072, 12, 30 };
	model.hidden = 0.3;
	model.ghz = 3.5874;
	model.tick_ghz = 2.596;
	model.tick_step = 26;
	find(1ULL << _i);
	assert_level(1, MIB, 8, 64);
}
END_TEST

/*
 * In a guest the sets of an exclusive level are estimated by members, not counted. Lines at all
 * offsets show that it holds neither half as much nor twice, if that is far more than the first;
 * nothing shows that it is not an eighth less or more.
 */
START_TEST(is_not_sure_of_the_sets_of_an_exclusive_level_in_a_guest)
{
	static const uint64_t bytes[] = { 128 * KIB, 256 * KIB, 224 * KIB };

	model.is_guest = 1;
	model.cache[1].bytes = bytes[_i];
	model.cache[1].inclusion = EXCLUSIVE;
	model.cache[1].index = _i < 2 ? INDEX_XOR : INDEX_BITS;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	ck_assert_int_eq(g->level[1].survey.holding, HOLDING_OTHER);
	ck_assert_double_lt(g->level[1].confidence, 0.9);
	if (_i == 1)
		ck_assert_uint_eq(g->level[1].size, 256 * KIB);
}
END_TEST

/* Many lines overflow some of its sets wherever they lie: they are no measure of others' misses. */
START_TEST(counts_few_ways_by_draws_beside_prefetchers)
{
	model.cache[0] = (struct machine_cache){
		.bytes = 64 * KIB, .ways = 2, .cycles = 5, .policy = POLICY_QLRU_H11_M1_R0_U0,
	};
	model.cache[1] = (struct machine_cache){
		.bytes = 512 * KIB, .ways = 2, .cycles = 12, .policy = POLICY_QLRU_H00_M1_R2_U1,
		.index = INDEX_XOR,
	};
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	model.prefetch = PREFETCH_NEXT | PREFETCH_PAIR | PREFETCH_STREAM | PREFETCH_STRIDE;
	find_in(8 * POOL, (uint64_t)_i);
	assert_level(1, 512 * KIB, 2, 64);
}
END_TEST

START_TEST(counts_what_an_exclusive_second_level_holds)
{
	/* Too small for lines at all offsets to show it. */
	model.cache[1].bytes = 128 * KIB;
	model.cache[1].inclusion = EXCLUSIVE;
	model.cache[1].index = INDEX_XOR;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	assert_level(1, 128 * KIB, 8, 64);
	ck_assert_int_eq(g->level[1].survey.holding, HOLDING_OTHER);
	ck_assert_uint_eq(g->level[1].survey.sorted, 16);
}
END_TEST

/* Lines of a set are taken out and put back each turn, so in most orders a stranger stays. */
START_TEST(tells_an_exclusive_second_level_that_keeps_strangers)
{
	model.cache[0].bytes = 16 * KIB;
	model.cache[0].ways = 4;
	model.cache[1].inclusion = EXCLUSIVE;
	model.cache[1].policy = POLICY_PLRU;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find((uint64_t)_i + 1);
	assert_level(1, 256 * KIB, 8, 64);
}
END_TEST

/* Private second levels of more than a MiB, behind a first level that keeps lines. */
static const struct {
	enum machine_policy first;
	struct machine_cache second;
} large[] = {
	{ POLICY_RANDOM, { .bytes = 2 * MIB, .ways = 16, .cycles = 17,
			   .policy = POLICY_QLRU_H11_M1_R0_U0 } },
	/* Colours mixed with the offset. */
	{ POLICY_SRRIP, { .bytes = 1280 * KIB, .ways = 10, .cycles = 17,
			  .policy = POLICY_QLRU_H11_M1_R0_U0, .index = INDEX_XOR } },
};

START_TEST(tells_large_private_second_levels)
{
	model.cache[0] = (struct machine_cache){
		.bytes = 48 * KIB, .ways = 12, .policy = large[_i].first, .cycles = 5,
	};
	model.cache[1] = large[_i].second;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	ck_assert_uint_eq(g->nlevels, 2);
	/* Its line is another matter: a prefetcher of pairs is there too. */
	ck_assert_uint_eq(g->level[1].size, model.cache[1].bytes);
	ck_assert_uint_eq(g->level[1].survey.ways, model.cache[1].ways);
	ck_assert_double_ge(g->level[1].confidence, 0.95);
}
END_TEST

/* The level above has three times as many ways as a hunt has room for flush lines. */
START_TEST(flushes_a_first_level_of_very_many_ways)
{
	model.cache[0].bytes = 256 * KIB;
	model.cache[0].ways = 64;
	model.cache[1].bytes = 2 * MIB;
	model.cache[1].ways = 16;
	model.prefetch = 0;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	assert_level(0, 256 * KIB, 64, 64);
	assert_level(1, 2 * MIB, 16, 64);
}
END_TEST

/*
 * Its lines and those that should flush the level above are all in the same set, but several
 * sets above are.
 */
START_TEST(does_not_take_the_ways_of_two_levels_for_those_of_one)
{
	const int is_exclusive = _i % 2;

	model.cache[0] = (struct machine_cache){ .bytes = 64 * KIB, .ways = 4, .line = 32,
						 .policy = POLICY_SRRIP, .cycles = 5 };
	model.cache[1] = (struct machine_cache){
		.bytes = 64 * KIB, .ways = 16, .line = 32, .cycles = 12, .policy = policies[_i / 2],
		.inclusion = is_exclusive ? EXCLUSIVE : NON_INCLUSIVE,
	};
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	assert_level(0, 64 * KIB, 4, 32);
	/* What holds no more than the first level may not be seen, or not surely. */
	if (is_exclusive)
		assert_level(1, 64 * KIB, 16, 32);
	else if (g->nlevels > 1 && g->level[1].size)
		ck_assert_uint_eq(g->level[1].size, 64 * KIB);
	if (g->nlevels > 1 && g->level[1].size)
		ck_assert_uint_eq(g->level[1].survey.ways, 16);
}
END_TEST

/* In a guest, where lines that are moved apart to cost hits share the one set as well, and miss. */
START_TEST(sees_misses_where_all_lines_share_a_set)
{
	static const enum machine_policy kinds[] = { POLICY_LRU, POLICY_QLRU_H11_M1_R0_U0 };

	model.cache[0] = (struct machine_cache){ .bytes = 64 * KIB, .ways = 4, .line = 32,
						 .policy = POLICY_SRRIP, .cycles = 5 };
	model.cache[1] = (struct machine_cache){
		.bytes = 64 * KIB, .ways = 16, .line = 32, .cycles = 12, .policy = kinds[_i],
		.inclusion = EXCLUSIVE,
	};
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	model.is_guest = 1;
	find(1);
	assert_level(1, 64 * KIB, 16, 32);
}
END_TEST

/* In a guest; a quarter of the lines that flush the first level are of any set. */
START_TEST(tells_an_exclusive_level_of_four_sets)
{
	model.cache[0].policy = POLICY_QLRU_H00_M1_R2_U1;
	model.cache[1] = (struct machine_cache){
		.bytes = 256 * KIB, .ways = 16, .cycles = 12, .policy = POLICY_QLRU_H00_M1_R2_U1,
		.inclusion = EXCLUSIVE,
	};
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	model.is_guest = 1;
	find((uint64_t)_i);
	ck_assert_uint_eq(g->level[1].size, 256 * KIB);
	ck_assert_uint_eq(g->level[1].survey.ways, 16);
}
END_TEST

/* Misses of the third level are in what its draws cost, and it changes its mind. */
START_TEST(tells_a_second_level_above_one_that_duels)
{
	model.cache[2].policy = POLICY_DIP;
	model.is_guest = 1;	/* the third level takes long */
	find(1);
	ck_assert_uint_eq(g->level[1].size, 256 * KIB);
	ck_assert_uint_eq(g->level[1].survey.ways, 8);
}
END_TEST

/*
 * One that holds what is in the second level, too, takes lines from it where its sets duel: they
 * miss both, where the second was not overflowed, and if that is what a miss costs it is not seen.
 */
START_TEST(does_not_take_the_third_level_for_the_second)
{
	model.cache[0].policy = POLICY_SRRIP;
	model.cache[1] = (struct machine_cache){
		.bytes = 256 * KIB, .ways = 4, .cycles = 12, .policy = POLICY_MRU,
	};
	model.cache[2] = (struct machine_cache){
		.bytes = 3 * MIB, .ways = 12, .cycles = 36, .policy = POLICY_DIP,
		.inclusion = INCLUSIVE,
	};
	model.prefetch = PREFETCH_ALL;
	find_levels(2, POOL, (uint64_t)_i);
	assert_level(1, 256 * KIB, 4, 64);
}
END_TEST

/* Lines of a pool that overflows both miss the third level, too: a class tells what a miss costs. */
START_TEST(looks_for_more_classes_by_what_the_first_one_told)
{
	model.is_guest = 1;
	model.cache[0].policy = POLICY_LRU;
	model.cache[1] = (struct machine_cache){
		.bytes = 2 * MIB, .ways = 16, .cycles = 16, .policy = POLICY_PLRU,
		.inclusion = EXCLUSIVE, .index = INDEX_XOR,
	};
	model.cache[2] = (struct machine_cache){ .bytes = 6 * MIB, .ways = 12, .cycles = 40 };
	model.memory_cycles = 150;
	find_levels(2, POOL, 7);
	ck_assert_uint_eq(g->level[1].size, 2 * MIB);
	ck_assert_uint_eq(g->level[1].survey.ways, 16);
}
END_TEST

/*
 * Six lines of a set may be in one half of it for good, and only lines that flush the first level
 * go on to miss in the other: if these do not count, the set has 6 ways.
 */
static const uint64_t trees[] = { 23, 13, 29, 3, 1, 14, 9 };

START_TEST(is_not_misled_by_a_tree_over_ways_that_are_no_power_of_two)
{
	model.cache[1] = (struct machine_cache){
		.bytes = 384 * KIB, .ways = 12, .cycles = 12, .policy = POLICY_PLRU,
	};
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(trees[_i]);
	assert_level(1, 384 * KIB, 12, 64);
	ck_assert_uint_eq(g->level[1].survey.nsweeps, SURVEY_CLASSES);
	for (unsigned int i = 0; i < SURVEY_CLASSES; i++)
		ck_assert_uint_eq(g->level[1].survey.sweep[i].ways, 12);
}
END_TEST

/*
 * Two offsets share its sets, which is not seen: lines of so many others overflow them. Beside what
 * the first level holds, two ways then look like a level twice as large.
 */
START_TEST(is_not_sure_of_an_exclusive_level_that_may_be_half_as_large)
{
	model.cache[0] = (struct machine_cache){
		.bytes = 32 * KIB, .ways = 8, .line = 128, .policy = POLICY_FIFO, .cycles = 4,
	};
	model.cache[1] = (struct machine_cache){
		.bytes = 128 * KIB, .ways = 2, .line = 128, .policy = POLICY_FIFO, .cycles = 10,
		.inclusion = EXCLUSIVE, .index = INDEX_XOR,
	};
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	ck_assert_uint_gt(g->nlevels, 1);
	ck_assert_double_lt(g->level[1].confidence, 0.95);
}
END_TEST

/* They are the whole pool, and miss alike: 247 to 273 sets for 256 had been counted so. */
START_TEST(takes_draws_that_are_all_alike_for_no_count)
{
	model.cache[0].policy = POLICY_SRRIP;
	model.cache[1] = (struct machine_cache){
		.bytes = 6 * MIB, .ways = 24, .cycles = 20, .index = INDEX_XOR,
		.policy = POLICY_QLRU_H21_M2_R0_U0_UMO,
	};
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	model.memory_cycles = 420;
	find((uint64_t)_i);
	assert_level(1, 6 * MIB, 24, 64);
}
END_TEST

/* Members are off by a tenth: 56, 10 and 7 classes had been 64 and 8. */
static const struct machine_cache uneven[] = {
	{ .bytes = 1792 * KIB, .ways = 16, .cycles = 16, .policy = POLICY_PLRU,
	  .index = INDEX_SLICED, .slices = 7, .inclusion = INCLUSIVE },
	{ .bytes = 640 * KIB, .ways = 16, .cycles = 13 },
	{ .bytes = 896 * KIB, .ways = 8, .cycles = 13, .policy = POLICY_RANDOM,
	  .inclusion = EXCLUSIVE },
};

START_TEST(counts_sets_that_are_no_power_of_two)
{
	model.cache[1] = uneven[_i];
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	assert_level(1, model.cache[1].bytes, model.cache[1].ways, 64);
	ck_assert_uint_gt(g->level[1].survey.sorted, 0);
}
END_TEST

/* Nobody counts in a guest: none of these is told surely. */
START_TEST(is_not_sure_of_a_number_that_nobody_counted)
{
	model.cache[1] = uneven[_i];
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	model.is_guest = 1;
	find(1);
	ck_assert_uint_gt(g->nlevels, 1);
	if (g->level[1].size)
		ck_assert_double_lt(g->level[1].confidence, 0.95);
}
END_TEST

/* Of 512 classes a pool of 4096 pages has too few members to look for them at other offsets. */
START_TEST(takes_a_larger_pool_for_many_classes)
{
	model.cache[0].bytes = 8 * KIB;
	model.cache[0].ways = 4;
	model.cache[1] = (struct machine_cache){
		.bytes = 4 * MIB, .ways = 8, .cycles = 19, .index = INDEX_XOR,
		.policy = POLICY_QLRU_H11_M1_R0_U0,
	};
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	assert_level(1, 4 * MIB, 8, 64);
}
END_TEST

/*
 * Of four classes the lines that flush the first level at two offsets overflow some set by
 * themselves, so nobody sees that offsets share sets: twice the size had been sure.
 */
START_TEST(is_not_sure_where_flush_lines_crowd_few_sets)
{
	model.cache[0] = (struct machine_cache){
		.bytes = 32 * KIB, .ways = 8, .line = 128, .cycles = 4, .policy = POLICY_MRU,
	};
	model.cache[1] = (struct machine_cache){
		.bytes = 96 * KIB, .ways = 12, .line = 128, .cycles = 9, .policy = POLICY_SRRIP,
		.index = INDEX_XOR, .inclusion = EXCLUSIVE,
	};
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	if (g->nlevels > 1 && g->level[1].size && g->level[1].size != 96 * KIB)
		ck_assert_double_lt(g->level[1].confidence, 0.95);
}
END_TEST

/* Pages a way of the first level apart have few of its sets to be in. */
START_TEST(needs_few_lines_of_a_first_level_of_two_ways)
{
	model.cache[0] = (struct machine_cache){ .bytes = 64 * KIB, .ways = 2, .cycles = 4 };
	model.cache[1] = (struct machine_cache){
		.bytes = MIB, .ways = 16, .cycles = 14, .policy = POLICY_FIFO, .index = INDEX_XOR,
	};
	model.prefetch = 0;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	ck_assert_uint_eq(g->level[1].survey.ways, 16);
	ck_assert_uint_eq(g->level[1].size, MIB);
}
END_TEST

/* Lines that are there already, in another order, make FIFO miss two in a turn, not all. */
START_TEST(counts_the_sets_of_a_fifo_with_a_mixed_index)
{
	model.cache[0] = (struct machine_cache){
		.bytes = 64 * KIB, .ways = 2, .cycles = 5,
		.policy = POLICY_QLRU_H21_M2_R0_U0_UMO,
	};
	model.cache[1] = (struct machine_cache){
		.bytes = MIB, .ways = 16, .cycles = 14, .policy = POLICY_FIFO, .index = INDEX_XOR,
	};
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	model.prefetch = PREFETCH_STREAM | PREFETCH_STRIDE | PREFETCH_REGION;
	find((uint64_t)_i + 1);
	assert_level(1, MIB, 16, 64);
	for (unsigned int i = 0; i < g->level[1].survey.nsweeps; i++)
		ck_assert_double_eq_tol(g->level[1].survey.sweep[i].miss[17], 17, 1);
}
END_TEST

/* A class's lines soon overflow that one, too: they tell what memory costs, not what it does. */
START_TEST(tells_a_second_level_whose_next_is_hardly_larger)
{
	model.cache[0].bytes = 16 * KIB;
	model.cache[0].policy = POLICY_FIFO;
	model.cache[1] = (struct machine_cache){
		.bytes = MIB, .ways = 8, .cycles = 17, .policy = POLICY_MRU,
	};
	model.cache[2] = (struct machine_cache){
		.bytes = 4 * MIB, .ways = 16, .cycles = 39, .policy = POLICY_SRRIP,
		.inclusion = EXCLUSIVE,
	};
	model.prefetch = PREFETCH_PAIR | PREFETCH_STRIDE | PREFETCH_REGION;
	model.is_guest = 1;
	find_in(16 * MIB, 1);
	assert_level(1, MIB, 8, 64);
	ck_assert_double_eq_tol(g->level[1].survey.penalty, 39 - 17, 3);
}
END_TEST

/*
 * Both exclusive, and the next hardly slower, so lines at all offsets look as if they were in one of
 * twice the size; but all sets that there are were counted.
 */
START_TEST(tells_an_exclusive_level_above_a_near_one)
{
	model.cache[0] = (struct machine_cache){
		.bytes = 16 * KIB, .ways = 4, .policy = POLICY_RANDOM, .cycles = 4,
	};
	model.cache[1] = (struct machine_cache){
		.bytes = MIB, .ways = 16, .cycles = 17, .policy = POLICY_RANDOM,
		.inclusion = EXCLUSIVE,
	};
	model.cache[2] = (struct machine_cache){
		.bytes = 2 * MIB, .ways = 16, .cycles = 31, .policy = POLICY_QLRU_H11_M1_R0_U0,
		.inclusion = EXCLUSIVE,
	};
	find_levels(2, POOL, 1);
	assert_level(1, MIB, 16, 64);
}
END_TEST

START_TEST(tells_longer_lines_from_prefetched_ones)
{
	model.cache[1].line = 128;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	assert_level(0, 32 * KIB, 8, 64);
	ck_assert_uint_eq(g->level[1].size, 256 * KIB);
	ck_assert_uint_eq(g->level[1].survey.line, 128);
}
END_TEST

/* A prefetcher of pairs makes lines look twice as long to all that goes by what comes along. */
START_TEST(tells_lines_whatever_brings_and_replaces_them)
{
	static const enum machine_policy policy[] = {
		POLICY_LRU, POLICY_SRRIP, POLICY_RANDOM, POLICY_FIFO,
	};
	const unsigned int line = _i % 2 ? 128 : 64;

	make_small_level(policy[_i / 4], PREFETCH_PAIR | (_i % 4 / 2 ? PREFETCH_ALL : 0), line);
	find(1);
	assert_level(1, 256 * KIB, 8, line);
}
END_TEST

/* In a guest two classes are enough, but only of a size that lines at all offsets can show. */
START_TEST(looks_at_no_more_classes_than_it_takes)
{
	model.is_guest = _i > 0;
	model.cache[1].bytes = _i == 1 ? 128 * KIB : 512 * KIB;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	assert_level(1, model.cache[1].bytes, 8, 64);
	ck_assert_uint_eq(g->level[1].survey.nsweeps, _i == 2 ? 2 : SURVEY_CLASSES);
	ck_assert_int_eq(g->level[1].survey.held, _i != 1);
}
END_TEST

/*
 * In a guest. Of pages that happen to have more members of a class than there are on average, or
 * fewer lines of its set at another offset, the first survey tells as much.
 */
START_TEST(needs_one_survey_whatever_pages_there_are)
{
	/* Of the first two there are more members, of the others fewer lines. */
	static const uint64_t seeds[] = { 52, 139, 584, 634 };

	model.is_guest = 1;
	model.cache[1].bytes = MIB;
	model.cache[1].index = INDEX_XOR;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find_levels(2, POOL, seeds[_i]);
	assert_level(1, MIB, 8, 64);
	ck_assert_uint_eq(g->level[1].survey.votes_before, 0);
}
END_TEST

/* No second level has 13 ways: who has the others may let go of them. Not counted, in a guest. */
START_TEST(says_no_size_of_ways_that_others_leave)
{
	make_small_level(POLICY_LRU, PREFETCH_ALL, 64);
	model.is_guest = 1;
	model.cache[1].bytes = 13 * 64 * 512;
	model.cache[1].ways = 13;
	find(1);
	ck_assert_uint_gt(g->nlevels, 1);
	ck_assert_uint_eq(g->level[1].size, 0);
	ck_assert_uint_eq(g->level[1].survey.ways, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("geometry_second");
	TCase *tc = tcase_create("geometry_second");
	const int is_long = tap_long();

	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, make_machine, drop_machine);
	tcase_add_loop_test(tc, knows_nothing_of_replacement_and_needs_not, 0,
			    (int)(sizeof(policies) / sizeof(*policies)));
	tcase_add_test(tc, sees_that_an_index_mixes_bits_of_the_offset);
	tcase_add_test(tc, tells_an_exclusive_level_and_its_size);
	tcase_add_loop_test(tc, is_not_misled_by_hits_that_hide_translation, 0, is_long ? 3 : 1);
	tcase_add_loop_test(tc, is_not_sure_of_the_sets_of_an_exclusive_level_in_a_guest, 0, 3);
	tcase_add_test(tc, counts_what_an_exclusive_second_level_holds);
	tcase_add_loop_test(tc, tells_an_exclusive_second_level_that_keeps_strangers, 0, 2);
	tcase_add_loop_test(tc, tells_large_private_second_levels, 0,
			    (int)(sizeof(large) / sizeof(*large)));
	tcase_add_test(tc, flushes_a_first_level_of_very_many_ways);
	tcase_add_loop_test(tc, does_not_take_the_ways_of_two_levels_for_those_of_one, 0, 10);
	tcase_add_loop_test(tc, sees_misses_where_all_lines_share_a_set, 0, 2);
	tcase_add_loop_test(tc, tells_an_exclusive_level_of_four_sets, 1, is_long ? 3 : 2);
	tcase_add_loop_test(tc, counts_few_ways_by_draws_beside_prefetchers, 1,
			    is_long ? 13 : 3);
	tcase_add_test(tc, tells_a_second_level_above_one_that_duels);
	tcase_add_loop_test(tc, does_not_take_the_third_level_for_the_second, is_long ? 0 : 11,
			    is_long ? 40 : 13);
	tcase_add_loop_test(tc, is_not_misled_by_a_tree_over_ways_that_are_no_power_of_two, 0,
			    is_long ? (int)(sizeof(trees) / sizeof(*trees)) : 1);
	tcase_add_loop_test(tc, takes_draws_that_are_all_alike_for_no_count, 1, is_long ? 4 : 2);
	tcase_add_loop_test(tc, counts_sets_that_are_no_power_of_two, 0, 3);
	tcase_add_loop_test(tc, is_not_sure_of_a_number_that_nobody_counted, is_long ? 0 : 1, 2);
	tcase_add_test(tc, takes_a_larger_pool_for_many_classes);
	if (is_long) {
		tcase_add_test(tc, is_not_sure_where_flush_lines_crowd_few_sets);
		tcase_add_test(tc, looks_for_more_classes_by_what_the_first_one_told);
		tcase_add_test(tc, is_not_sure_of_an_exclusive_level_that_may_be_half_as_large);
	}
	tcase_add_test(tc, needs_few_lines_of_a_first_level_of_two_ways);
	tcase_add_loop_test(tc, counts_the_sets_of_a_fifo_with_a_mixed_index, 0, 2);
	tcase_add_test(tc, tells_a_second_level_whose_next_is_hardly_larger);
	tcase_add_test(tc, tells_an_exclusive_level_above_a_near_one);
	tcase_add_test(tc, tells_longer_lines_from_prefetched_ones);
	tcase_add_loop_test(tc, tells_lines_whatever_brings_and_replaces_them, 0, 16);
	tcase_add_loop_test(tc, looks_at_no_more_classes_than_it_takes, 0, 3);
	tcase_add_test(tc, says_no_size_of_ways_that_others_leave);
	tcase_add_loop_test(tc, needs_one_survey_whatever_pages_there_are, 0, 4);
	if (!is_long)
		tap_left_out("more seeds of what takes long: SONDE_LONG=1");
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
