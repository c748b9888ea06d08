// SPDX-License-Identifier: GPL-2.0-or-later
/* Geometry by conflicts: whole machines and first levels whose truth is known. */
#include <errno.h>

#include "../../lib/probe/answers.h"
#include "../../lib/probe/notes.h"
#include "geometry_machine.h"

START_TEST(tells_all_of_three_levels_exactly)
{
	find((uint64_t)_i + 1);
	ck_assert_uint_eq(g->nlevels, 3);
	assert_level(0, 32 * KIB, 8, 64);
	assert_level(1, 256 * KIB, 8, 64);
	ck_assert_uint_eq(g->level[2].size, 3 * MIB);
	ck_assert_uint_eq(g->level[2].survey.ways, 12);
	ck_assert_uint_eq(g->level[2].survey.line, 64);
	ck_assert_uint_eq(g->level[1].colours, 8);
	ck_assert(g->ends);
	ck_assert_double_eq_tol(g->level[1].survey.hit, 12, 0.5);
}
END_TEST

START_TEST(looks_for_no_more_levels_than_are_asked_for)
{
	struct meter *meter;
	struct trial t;

	for (unsigned int levels = 1; levels <= 3; levels++) {
		ck_assert_int_eq(machine_open(&meter, &model, 1), 0);
		trial_open(&t, meter, 1);
		ck_assert_int_eq(geometry_find(&t, POOL, levels, g), 0);
		ck_assert_uint_eq(g->nlevels, levels);
		ck_assert_int_eq(g->ends, levels == 3);
		trial_close(&t);
		meter->ops->close(meter);
	}
}
END_TEST

/* After some looks: the counter's step, and the core clock to a share of @error. */
static void check_clock(uint64_t step, double error)
{
	uint32_t places[40];
	struct meter *meter;
	struct trial t;

	for (uint32_t i = 0; i < 40; i++)
		places[i] = i * METER_CHUNK_PLACES;
	ck_assert_int_eq(machine_open(&meter, &model, 1), 0);
	trial_open(&t, meter, 1);
	ck_assert_int_eq(meter->ops->pages(meter, 40), 0);
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(trial_ring(&t, places, 40, 0), 0);
		trial_look(&t, 4, 4);
	}
	ck_assert_uint_eq(t.step, step);
	ck_assert_double_eq_tol(meter->chain_cycles / t.chain_ns, model.ghz, error * model.ghz);
	trial_close(&t);
	meter->ops->close(meter);
}

/* The chain takes 28.5 steps of the counter: a median of some is off by half a one. */
START_TEST(knows_the_core_clock_better_than_a_step_of_the_counter)
{
	model.ghz = 3.5874;
	model.tick_ghz = 2.596;
	model.tick_step = 26;
	check_clock(26, 0.01);
}
END_TEST

/* One of a thousand ticks is as much as two misses in a ring of a thousand lines. */
START_TEST(knows_the_core_clock_better_than_a_tick)
{
	model.ghz = 3.3;
	model.tick_ghz = 1.9001;
	check_clock(1, 0.0003);
}
END_TEST

/* Prefetched pairs come into the first level if the second is exclusive, and FIFO keeps both. */
START_TEST(tells_the_line_of_a_first_level_that_pairs_come_into)
{
	make_small_level(POLICY_LRU, PREFETCH_PAIR, 64);
	model.cache[0].policy = POLICY_FIFO;
	model.cache[1].inclusion = EXCLUSIVE;
	find(1);
	assert_level(0, 32 * KIB, 8, 64);
	assert_level(1, 256 * KIB, 8, 64);
}
END_TEST

START_TEST(names_no_size_of_a_guests_last_level)
{
	model.is_guest = 1;
	find(1);
	ck_assert_uint_eq(g->nlevels, 3);
	ck_assert_uint_eq(g->level[2].size, 0);
	ck_assert_uint_le(g->level[2].low, 3 * MIB);
	ck_assert_uint_ge(g->level[2].high, 3 * MIB);
	ck_assert_double_lt(g->level[2].confidence, 0.95);
}
END_TEST

START_TEST(tells_one_level_before_memory)
{
	memset(&model.cache[1], 0, 2 * sizeof(model.cache[1]));
	find(1);
	ck_assert_uint_eq(g->nlevels, 1);
	assert_level(0, 32 * KIB, 8, 64);
	ck_assert(g->ends);
}
END_TEST

/* As 12 ways look of which another thread of the core has one in every set, all the time. */
START_TEST(names_no_size_of_a_first_level_that_others_may_have_a_part_of)
{
	model.cache[0] = (struct machine_cache){ .bytes = 44 * KIB, .ways = 11, .cycles = 4 };
	memset(&model.cache[1], 0, sizeof(model.cache[1]));
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	ck_assert_uint_eq(g->nlevels, 1);
	ck_assert_uint_eq(g->level[0].size, 0);
	ck_assert_uint_eq(g->level[0].low, 44 * KIB);
	ck_assert_uint_eq(g->level[0].survey.ways, 0);
	ck_assert_double_lt(g->level[0].confidence, 0.9);
}
END_TEST

START_TEST(takes_back_what_the_curve_said_of_a_level_that_sets_tell)
{
	struct sonde_cache_report *report = calloc(1, sizeof(*report));

	ck_assert_ptr_nonnull(report);
	g->first.line = 64;
	g->nlevels = 2;
	g->level[0].size = 32 * KIB;
	g->level[0].survey.ways = 8;
	g->level[0].survey.line = 64;
	ck_assert_int_eq(notes_say(&report->notes, &report->nnotes, "level 1: cannot be told"), 0);
	ck_assert_int_eq(notes_say(&report->notes, &report->nnotes, "level 2: cannot be told"), 0);
	ck_assert_int_eq(notes_say(&report->notes, &report->nnotes, "something else"), 0);
	ck_assert_int_eq(answers_put(g, report), 0);
	ck_assert_uint_eq(report->nlevels, 2);
	ck_assert_uint_eq(report->levels[0].size, 32 * KIB);
	ck_assert_uint_eq(report->nnotes, 2);
	ck_assert_str_eq(report->notes[0], "level 2: cannot be told");
	ck_assert_str_eq(report->notes[1], "something else");
	sonde_cache_report_free(report);
}
END_TEST

/* Only where the curve shows no end is the least size that lines show what is known. */
START_TEST(keeps_the_interval_of_the_curve_where_sets_tell_no_size)
{
	static const struct sonde_cache_level by_curve[] = {
		{ .level = 1, .size_low = 24 * KIB, .size_high = 48 * KIB },
		{ .level = 2, .size_low = 5 * MIB, .size_high = 8 * MIB },
		{ .level = 3, .size_low = 9 * MIB },
	};
	struct sonde_cache_report *report = calloc(1, sizeof(*report));

	ck_assert_ptr_nonnull(report);
	report->levels = malloc(sizeof(by_curve));
	ck_assert_ptr_nonnull(report->levels);
	memcpy(report->levels, by_curve, sizeof(by_curve));
	report->nlevels = g->nlevels = 3;
	g->level[0].size = g->level[0].low = g->level[0].high = 32 * KIB;
	g->level[0].survey.ways = 8;
	g->level[0].survey.line = 64;
	g->level[1].low = g->level[2].low = 2 * MIB;
	ck_assert_int_eq(answers_put(g, report), 0);
	ck_assert_uint_eq(report->levels[0].size_low, 32 * KIB);
	ck_assert_uint_eq(report->levels[0].size_high, 32 * KIB);
	ck_assert_int_eq(report->levels[0].method, SONDE_METHOD_STRIDES);
	ck_assert_uint_eq(report->levels[1].size_low, 5 * MIB);
	ck_assert_uint_eq(report->levels[1].size_high, 8 * MIB);
	ck_assert_int_eq(report->levels[1].method, SONDE_METHOD_CURVE);
	ck_assert_uint_eq(report->levels[2].size_low, 2 * MIB);
	ck_assert_uint_eq(report->levels[2].size_high, 0);
	ck_assert_int_eq(report->levels[2].method, SONDE_METHOD_SAMPLING);
	sonde_cache_report_free(report);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("geometry");
	TCase *tc = tcase_create("geometry");
	TCase *quick = tcase_create("quick");

	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, make_machine, drop_machine);
	tcase_add_loop_test(tc, tells_all_of_three_levels_exactly, 0, 2);
	tcase_add_test(tc, looks_for_no_more_levels_than_are_asked_for);
	tcase_add_test(tc, knows_the_core_clock_better_than_a_step_of_the_counter);
	tcase_add_test(tc, tells_the_line_of_a_first_level_that_pairs_come_into);
	tcase_add_test(tc, names_no_size_of_a_guests_last_level);
	suite_add_tcase(suite, tc);
	/* Also for valgrind, under which a simulated machine takes minutes. */
	tcase_set_timeout(quick, 300);
	tcase_add_checked_fixture(quick, make_machine, drop_machine);
	tcase_add_test(quick, knows_the_core_clock_better_than_a_tick);
	tcase_add_test(quick, tells_one_level_before_memory);
	tcase_add_test(quick, names_no_size_of_a_first_level_that_others_may_have_a_part_of);
	tcase_add_test(quick, takes_back_what_the_curve_said_of_a_level_that_sets_tell);
	tcase_add_test(quick, keeps_the_interval_of_the_curve_where_sets_tell_no_size);
	suite_add_tcase(suite, quick);
	return tap_run(suite);
}
