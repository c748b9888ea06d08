// SPDX-License-Identifier: GPL-2.0-or-later
/* The first level by strides, on machines whose truth is known. */
#include <math.h>
#include <string.h>

#include "../../lib/probe/stride.h"
#include "../sim/machine.h"
#include "tap.h"

#define KIB	1024UL
#define MIB	(1024 * KIB)

static struct machine_model model;
static struct stride found;

/* A single level, before memory that is near. */
static void make_machine(void)
{
	model = (struct machine_model){
		.cache = {
			{ .bytes = 48 * KIB, .ways = 12, .policy = POLICY_LRU, .cycles = 5 },
		},
		.memory_cycles = 15,
		.tlb = { { 64, 4, 7 }, { 1024, 8, 20 } },
		.ghz = 3, .tick_ghz = 2.6, .max_bytes = 512 * MIB,
	};
}

static void open_machine(struct trial *t, uint64_t seed)
{
	struct meter *meter;

	ck_assert_int_eq(machine_open(&meter, &model, seed), 0);
	ck_assert_int_eq(meter->ops->pages(meter, STRIDE_CHUNKS), 0);
	trial_open(t, meter, seed);
}

static void close_machine(struct trial *t)
{
	struct meter *meter = t->meter;

	trial_close(t);
	meter->ops->close(meter);
}

static void find(uint64_t seed)
{
	struct trial t;

	open_machine(&t, seed);
	ck_assert_int_eq(stride_find(&t, &found), 0);
	close_machine(&t);
}

static int is_calm(uint64_t seed)
{
	struct trial t;
	int calm;

	open_machine(&t, seed);
	ck_assert_int_eq(stride_is_calm(&t, &found, &calm), 0);
	close_machine(&t);
	return calm;
}

static void assert_found(unsigned int ways, size_t way_bytes, unsigned int line)
{
	ck_assert_uint_eq(found.ways, ways);
	ck_assert_uint_eq(found.way_bytes, way_bytes);
	ck_assert_uint_eq(found.line, line);
}

START_TEST(tells_ways_way_and_line)
{
	find(1);
	assert_found(12, 4 * KIB, 64);
	ck_assert(found.is_sure);
	ck_assert_double_eq(found.agree, 1);
	ck_assert_double_eq_tol(found.hit, 5, 0.1);
	ck_assert_double_lt(found.sweep[12], found.hit + 0.25);
	ck_assert_double_gt(found.sweep[13], found.hit + 0.25);
}
END_TEST

/* Another thread of the core has a way or two of many sets, now more, now less. */
START_TEST(tells_a_level_of_which_others_have_a_part)
{
	unsigned int sure = 0;

	model.noise.neighbour = 0.12;
	model.noise.neighbour_hz = INFINITY;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		find(seed);
		ck_assert_uint_le(found.ways, 12);
		if (found.is_sure)
			assert_found(12, 4 * KIB, 64);
		sure += (unsigned int)found.is_sure;
	}
	ck_assert_uint_gt(sure, 6);
}
END_TEST

/* Lines of its own, of a level behind, in any order: what goes on in the core's first level. */
START_TEST(tells_whether_another_thread_runs)
{
	find(1);
	for (uint64_t seed = 1; seed <= 20; seed++)
		ck_assert(is_calm(seed));
	model.noise.sibling_ns = 4;
	model.noise.sibling_bytes = 512 * KIB;
	for (uint64_t seed = 1; seed <= 20; seed++)
		ck_assert(!is_calm(seed));
}
END_TEST

/* Both lines of a pair come together and, by order of arrival, mostly go together. */
START_TEST(tells_the_line_where_pairs_are_fetched)
{
	unsigned int line = 16U << _i;

	model.cache[0] = (struct machine_cache){
		.bytes = 64 * KIB, .ways = 4, .line = line, .policy = POLICY_FIFO, .cycles = 5,
	};
	model.prefetch = PREFETCH_NEXT | PREFETCH_PAIR | PREFETCH_STREAM | PREFETCH_STRIDE;
	for (uint64_t seed = 1; seed <= 24; seed++) {
		find(seed);
		assert_found(4, 16 * KIB, line);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stride");
	TCase *tc = tcase_create("stride"), *quick = tcase_create("quick");

	tcase_add_checked_fixture(quick, make_machine, NULL);
	tcase_add_test(quick, tells_ways_way_and_line);
	suite_add_tcase(suite, quick);
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, make_machine, NULL);
	tcase_add_test(tc, tells_whether_another_thread_runs);
	tcase_add_test(tc, tells_a_level_of_which_others_have_a_part);
	tcase_add_loop_test(tc, tells_the_line_where_pairs_are_fetched, 0, 4);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
