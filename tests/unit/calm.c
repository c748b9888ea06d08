// SPDX-License-Identifier: GPL-2.0-or-later
/* Where it is measured, in guests of which others run beside some CPUs. */
#include <string.h>

#include "../../lib/probe/cache.h"
#include "../../lib/probe/calm.h"
#include "../../lib/probe/classes.h"
#include "../sim/machine.h"
#include "tap.h"

#define KIB	1024UL
#define MIB	(1024 * KIB)
#define CPUS	3

static const unsigned int others[] = { 1, 2 };
static struct machine_model model;
static struct meter *meter;
static struct trial t;
static struct stride first;

/* Another thread fills the core's caches beside the first so many CPUs. */
static void make_machine(void)
{
	model = (struct machine_model){
		.cache = {
			{ .bytes = 32 * KIB, .ways = 8, .policy = POLICY_PLRU, .cycles = 4, .shared = 1 },
			{ .bytes = 256 * KIB, .ways = 8, .cycles = 12, .shared = 1 },
		},
		.memory_cycles = 100,
		.tlb = { { 64, 4, 7 }, { 1024, 8, 20 } },
		.ghz = 3, .tick_ghz = 2.6, .max_bytes = 32 * MIB,
		.is_guest = 1, .cpus = CPUS,
		.noise = { .sibling_ns = 2, .sibling_bytes = 256 * KIB, .sibling_cpus = 1 },
	};
}

static void open_trial(uint64_t seed)
{
	ck_assert_int_eq(machine_open(&meter, &model, seed), 0);
	ck_assert_int_eq(meter->ops->pages(meter, STRIDE_CHUNKS), 0);
	trial_open(&t, meter, seed);
	trial_offer(&t, 0, others, 2);
}

static void close_trial(void)
{
	trial_close(&t);
	meter->ops->close(meter);
}

static void find_first(uint64_t seed)
{
	open_trial(seed);
	ck_assert_int_eq(calm_find_first(&t, &first), 0);
}

START_TEST(finds_the_first_level_where_nobody_has_a_part_of_it)
{
	find_first((uint64_t)_i + 1);
	ck_assert(first.is_sure);
	ck_assert_uint_eq(first.ways, 8);
	ck_assert_uint_eq(first.way_bytes, 4 * KIB);
	ck_assert_uint_eq(t.at, 1);
	close_trial();
}
END_TEST

START_TEST(stays_where_nobody_is)
{
	model.noise.sibling_ns = 0;
	find_first(1);
	ck_assert(first.is_sure);
	ck_assert_uint_eq(t.at, 0);
	close_trial();
}
END_TEST

/* A few attempts beside who does not go, not all: two are enough elsewhere. */
START_TEST(does_not_stay_beside_somebody_for_long)
{
	uint64_t beside, alone;

	find_first(1);
	beside = t.loads;
	close_trial();
	model.noise.sibling_ns = 0;
	find_first(1);
	alone = t.loads;
	close_trial();
	ck_assert_uint_lt(beside, 3 * alone);
}
END_TEST

START_TEST(stays_outside_of_guests)
{
	model.is_guest = 0;
	find_first(1);
	ck_assert(!first.is_sure);
	ck_assert_uint_eq(t.at, 0);
	close_trial();
}
END_TEST

START_TEST(goes_past_all_that_are_disturbed)
{
	int calm;

	model.noise.sibling_cpus = 2;
	find_first(1);
	ck_assert_uint_eq(t.at, 2);
	ck_assert_int_eq(calm_seek(&t, &first, &calm), 0);
	ck_assert(calm);
	ck_assert_uint_eq(t.at, 2);
	/* Begun beside somebody, it comes to the same. */
	ck_assert_int_eq(meter->ops->settle(meter, 0), 0);
	t.at = 0;
	ck_assert_int_eq(calm_is(&t, &first, &calm), 0);
	ck_assert(!calm);
	ck_assert_uint_eq(t.at, 0);
	ck_assert_int_eq(calm_seek(&t, &first, &calm), 0);
	ck_assert(calm);
	ck_assert_uint_eq(t.at, 2);
	close_trial();
}
END_TEST

START_TEST(comes_back_where_somebody_is_everywhere)
{
	int calm;

	find_first(1);
	close_trial();
	model.noise.sibling_cpus = 0;
	open_trial(1);
	t.at = 1;
	ck_assert_int_eq(meter->ops->settle(meter, 1), 0);
	ck_assert_int_eq(calm_seek(&t, &first, &calm), 0);
	ck_assert(!calm);
	ck_assert_uint_eq(t.at, 1);
	close_trial();
}
END_TEST

START_TEST(the_report_says_where)
{
	struct sonde_cache_options options = {
		.alike = others, .nalike = 2, .max_bytes = 24 * MIB, .levels = 2, .seed = 1,
	};
	struct sonde_cache_report *report;

	ck_assert_int_eq(machine_open(&meter, &model, 1), 0);
	ck_assert_int_eq(probe_cache_with(meter, &options, &report), 0);
	meter->ops->close(meter);
	ck_assert_uint_eq(report->cpu, 1);
	ck_assert_uint_eq(report->nlevels, 2);
	ck_assert_uint_eq(report->levels[0].size, 32 * KIB);
	ck_assert_uint_eq(report->levels[1].size, 256 * KIB);
	ck_assert_double_ge(report->levels[1].confidence, 0.95);
	sonde_cache_report_free(report);
}
END_TEST

START_TEST(so_does_that_of_classes)
{
	struct sonde_classes_options options = {
		.alike = others, .nalike = 2, .npages = 1024, .seed = 1,
	};
	struct sonde_classes_report *report;

	ck_assert_int_eq(machine_open(&meter, &model, 1), 0);
	ck_assert_int_eq(probe_classes_with(meter, &options, &report), 0);
	meter->ops->close(meter);
	ck_assert_uint_eq(report->cpu, 1);
	ck_assert_uint_eq(report->ways, 8);
	sonde_classes_report_free(report);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("calm");
	TCase *tc = tcase_create("calm"), *quick = tcase_create("quick");

	tcase_set_timeout(quick, 120);
	tcase_add_checked_fixture(quick, make_machine, NULL);
	tcase_add_loop_test(quick, finds_the_first_level_where_nobody_has_a_part_of_it, 0,
			    tap_loops(8));
	tcase_add_test(quick, stays_where_nobody_is);
	tcase_add_test(quick, does_not_stay_beside_somebody_for_long);
	tcase_add_test(quick, stays_outside_of_guests);
	tcase_add_test(quick, goes_past_all_that_are_disturbed);
	tcase_add_test(quick, comes_back_where_somebody_is_everywhere);
	suite_add_tcase(suite, quick);
	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, make_machine, NULL);
	tcase_add_test(tc, the_report_says_where);
	tcase_add_test(tc, so_does_that_of_classes);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
