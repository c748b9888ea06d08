// SPDX-License-Identifier: GPL-2.0-or-later
/* Levels filled to the brim, on machines whose truth is known. */
#include <stdlib.h>

#include "../../lib/probe/fill.h"
#include "../../lib/probe/shuffle.h"
#include "../sim/machine.h"
#include "tap.h"

#define KIB	1024UL
#define MIB	(1024 * KIB)
#define POOL	(16 * MIB)
/* Lines that the second level holds at one offset, as its index is mixed. */
#define ABOVE	32

static struct machine_model model;

/* Three small levels, of which the second sees bits of the frame in every set. */
static void make_machine(void)
{
	model = (struct machine_model){
		.cache = {
			{ .bytes = 8 * KIB, .ways = 4, .cycles = 4 },
			{ .bytes = 32 * KIB, .ways = 8, .cycles = 12, .index = INDEX_XOR },
			{ .bytes = 384 * KIB, .ways = 8, .cycles = 40, .spread = 8,
			  .index = INDEX_SLICED, .slices = 3 },
		},
		.memory_cycles = 250,
		.tlb = { { 64, 4, 7 }, { 1024, 8, 20 } },
		.prefetch = PREFETCH_NEXT | PREFETCH_STREAM | PREFETCH_STRIDE,
		.ghz = 3, .tick_ghz = 2.6, .max_bytes = 64 * MIB,
	};
}

static int fill(size_t bytes, size_t above, struct filled *out)
{
	struct meter *meter;
	struct trial t;
	int told;

	ck_assert_int_eq(machine_open(&meter, &model, 1), 0);
	trial_open(&t, meter, 1);
	told = fill_level(&t, bytes, above, model.cache[1].index == INDEX_XOR, out);
	trial_close(&t);
	meter->ops->close(meter);
	return told;
}

START_TEST(holds_sets_times_ways_whatever_is_replaced)
{
	static const enum machine_inclusion inclusions[] = { NON_INCLUSIVE, INCLUSIVE, EXCLUSIVE };
	struct filled out;
	int told;

	model.cache[2].policy = (enum machine_policy)(_i / 3);
	model.cache[2].inclusion = inclusions[_i % 3];
	told = fill(POOL, ABOVE, &out);
	/* Most of what leaves the level above is the next to go. */
	if (_i / 3 == POLICY_DIP && inclusions[_i % 3] == EXCLUSIVE && !told)
		return;
	ck_assert_int_eq(told, 1);
	ck_assert_uint_eq(out.lines, 384 * KIB / METER_CHUNK);
	ck_assert_uint_eq(out.ways, 8);
	ck_assert_uint_eq(out.fold, 1);
	ck_assert_uint_eq(out.near, 0);
}
END_TEST

START_TEST(sees_that_offsets_share_sets_that_are_no_power_of_two)
{
	struct filled out;

	/* 32 times 43: so half a page on is as here. */
	model.cache[2].index = INDEX_BITS;
	model.cache[2].bytes = 1376UL * 8 * METER_LINE;
	ck_assert_int_eq(fill(POOL, ABOVE, &out), 1);
	ck_assert_uint_eq(out.fold, 2);
	ck_assert_uint_eq(out.lines * METER_CHUNK / out.fold, model.cache[2].bytes);
	ck_assert_uint_eq(out.ways, 8);
}
END_TEST

START_TEST(knows_lines_that_come_in_pairs_from_sets_that_are_shared)
{
	struct filled out;

	model.prefetch = PREFETCH_PAIR;
	ck_assert_int_eq(fill(POOL, ABOVE, &out), 1);
	ck_assert_uint_eq(out.near, 1);
	ck_assert_uint_eq(out.fold, 1);
	ck_assert_uint_eq(out.lines, 384 * KIB / METER_CHUNK);
}
END_TEST

START_TEST(says_nothing_of_a_level_that_the_memory_does_not_fill)
{
	struct filled out;

	model.cache[2].bytes = 8 * MIB;
	model.cache[2].ways = 16;
	model.cache[2].slices = 4;
	ck_assert_int_eq(fill(POOL, ABOVE, &out), 0);
}
END_TEST

START_TEST(says_nothing_where_no_level_is_left)
{
	struct filled out;

	model.cache[1].index = INDEX_BITS;
	ck_assert_int_eq(fill(POOL, 384 * KIB / METER_CHUNK, &out), 0);
}
END_TEST

/*
 * The second level, of a pool whose lines all share a set of the first; @rise lines of it are
 * said to overflow it.
 */
static int fill_the_second(size_t rise, struct filled *out)
{
	struct meter *meter;
	struct trial t;
	uint32_t pages[1024];
	struct fill f = { .t = &t };
	int told;

	ck_assert_int_eq(machine_open(&meter, &model, 1), 0);
	trial_open(&t, meter, 1);
	ck_assert_int_eq(meter->ops->pages(meter, 1024), 0);
	for (uint32_t i = 0; i < 1024; i++)
		pages[i] = i;
	shuffle(&t.rng, pages, 1024);
	ck_assert_int_eq(fill_open_pages(&f, &t, pages, 1024), 0);
	told = fill_second(&f, model.cache[0].ways, rise, out);
	fill_close(&f);
	trial_close(&t);
	meter->ops->close(meter);
	return told;
}

static void make_second(enum machine_policy policy)
{
	model.cache[1] = (struct machine_cache){
		.bytes = 128 * KIB, .ways = 8, .cycles = 12, .index = INDEX_XOR,
		.inclusion = EXCLUSIVE, .policy = policy,
	};
	model.cache[2] = (struct machine_cache){
		.bytes = 4 * MIB, .ways = 16, .cycles = 40,
	};
}

START_TEST(tells_offsets_that_share_sets_of_a_second_level)
{
	struct filled out;

	make_second((enum machine_policy)_i);
	model.prefetch |= PREFETCH_PAIR | PREFETCH_REGION;
	for (size_t rise = 90; rise <= 120; rise += 30) {
		ck_assert_int_eq(fill_the_second(rise, &out), 1);
		ck_assert_uint_eq(out.lines, 128);
		ck_assert_uint_eq(out.ways, 8);
		ck_assert_uint_eq(out.fold, 4);
	}
}
END_TEST

/* Entries of a TLB are shared by all offsets of a page, lines of a set are not. */
START_TEST(takes_no_translation_for_a_level)
{
	struct filled out;

	make_second(POLICY_LRU);
	model.tlb[0] = (struct machine_tlb){ 64, 4, 35 };
	model.tlb[1].pages = 0;
	for (size_t rise = 52; rise < 60; rise += 3)
		ck_assert_int_eq(fill_the_second(rise, &out), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fill");
	TCase *tc = tcase_create("fill");

	tcase_add_checked_fixture(tc, make_machine, NULL);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, holds_sets_times_ways_whatever_is_replaced, 0,
			    3 * MACHINE_POLICIES);
	tcase_add_test(tc, sees_that_offsets_share_sets_that_are_no_power_of_two);
	tcase_add_test(tc, knows_lines_that_come_in_pairs_from_sets_that_are_shared);
	tcase_add_test(tc, says_nothing_of_a_level_that_the_memory_does_not_fill);
	tcase_add_test(tc, says_nothing_where_no_level_is_left);
	tcase_add_loop_test(tc, tells_offsets_that_share_sets_of_a_second_level, 0, POLICY_DIP);
	tcase_add_test(tc, takes_no_translation_for_a_level);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
