// SPDX-License-Identifier: GPL-2.0-or-later
/* Which lines share a set: what misses cost, and which of many lines are enough. */
#include <errno.h>

#include "geometry_machine.h"

#define CHUNKS	4096

static struct meter *meter;
static struct trial t;
static uint64_t frame[CHUNKS];

static void open_machine(uint64_t seed)
{
	ck_assert_int_eq(machine_open(&meter, &model, seed), 0);
	trial_open(&t, meter, 1);
	ck_assert_int_eq(trial_pages(&t, CHUNKS), 0);
	ck_assert_int_eq(meter->ops->frames(meter, 0, CHUNKS, frame), 0);
}

static void close_machine(struct hunt *h)
{
	hunt_close(h);
	trial_close(&t);
	meter->ops->close(meter);
}

/* Which two levels together hold: what they cost more than a hit, told a bit low, is no penalty. */
START_TEST(learns_no_penalty_from_lines_that_all_hit)
{
	static const uint32_t none[HUNT_WAYS];
	struct hunt h = { .above = 8, .first_hit = 4, .first_lines = 512, .hit = 11.9, .penalty = 200 };
	struct class c = { .n = 0 };

	model.cache[0].policy = POLICY_LRU;
	model.cache[1].inclusion = EXCLUSIVE;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	open_machine(1);
	ck_assert_int_eq(hunt_open(&h, &t, none, HUNT_WAYS), 0);
	/* 512 sets, a page of 64 lines: eight colours. */
	for (uint32_t i = 0; i < CHUNKS && c.n < 16; i++)
		if (frame[i] % 8 == 0)
			c.page[c.n++] = i;
	ck_assert_int_eq(hunt_refine(&h, &c, c.n), 0);
	ck_assert_double_eq_tol(h.penalty, 200, 1e-9);
	/* 24 lines are more than both hold. */
	for (uint32_t i = c.page[15] + 1; i < CHUNKS && c.n < 24; i++)
		if (frame[i] % 8 == 0)
			c.page[c.n++] = i;
	ck_assert_int_eq(hunt_refine(&h, &c, c.n), 0);
	ck_assert_double_eq_tol(h.penalty, 250 - 12, 12);
	close_machine(&h);
}
END_TEST

/* Seven colours have as many lines as ways and one has more: those of that one are enough. */
START_TEST(keeps_few_of_many_lines_that_overflow)
{
	struct hunt h = { .above = 8, .first_hit = 4, .first_lines = 512, .hit = 12, .penalty = 28 };
	size_t n = 0, few, crowd = 0, count[8] = { 0 };
	uint32_t from[68];

	model.cache[1].policy = (enum machine_policy[]){ POLICY_LRU, POLICY_RANDOM, POLICY_SRRIP }[_i];
	open_machine(1);
	for (uint32_t i = 0; i < CHUNKS && n < 68; i++)
		if (count[frame[i] % 8]++ < (frame[i] % 8 ? 8 : 12))
			from[n++] = i;
	ck_assert_uint_eq(n, 68);
	ck_assert_int_eq(hunt_open(&h, &t, from, n), 0);
	few = n;
	ck_assert_int_eq(hunt_narrow(&h, from, &few), 0);
	ck_assert_uint_le(few, n / 2);
	for (size_t i = 0; i < few; i++)
		crowd += frame[from[i]] % 8 == 0;
	ck_assert_uint_gt(crowd, 8);
	close_machine(&h);
}
END_TEST

/*
 * One colour of 64 has a line more than ways, of which the same few miss in any one order, by a
 * clock whose steps are nearly as long as a miss.
 */
START_TEST(keeps_few_of_many_by_a_clock_of_large_steps)
{
	struct hunt h = { .above = 8, .first_hit = 4, .first_lines = 512, .hit = 14, .penalty = 50 };
	size_t n = 0, few, crowd = 0, count[64] = { 0 };
	uint32_t from[647];

	model.cache[0].policy = POLICY_PLRU;
	model.cache[1] = (struct machine_cache){
		.bytes = 4 * MIB, .ways = 16, .policy = POLICY_QLRU_H00_M1_R2_U1, .cycles = 14,
	};
	model.cache[2] = (struct machine_cache){ .bytes = 64 * MIB, .ways = 16, .cycles = 64 };
	model.tick_ghz = 2.6;
	model.tick_step = 26;
	open_machine((uint64_t)_i + 1);
	for (uint32_t i = 0; i < CHUNKS && n < 647; i++)
		if (count[frame[i] % 64]++ < (frame[i] % 64 ? 10 : 17))
			from[n++] = i;
	ck_assert_uint_eq(n, 647);
	ck_assert_int_eq(hunt_open(&h, &t, from, n), 0);
	few = n;
	ck_assert_int_eq(hunt_narrow(&h, from, &few), 0);
	ck_assert_uint_le(few, n / 4);
	for (size_t i = 0; i < few; i++)
		crowd += frame[from[i]] % 64 == 0;
	ck_assert_uint_eq(crowd, 17);
	close_machine(&h);
}
END_TEST

/* Rings of more lines than have several orders: one look is not to make them overflow. */
START_TEST(looks_twice_at_large_rings_that_do_not_overflow)
{
	struct hunt h = { .above = 8, .penalty = 40, .hit = 11, .first_hit = 4 };
	uint32_t pages[1500];

	make_small_level(POLICY_LRU, 0, 64);
	model.cache[1].bytes = 16 * MIB;
	model.cache[1].ways = 16;
	for (uint32_t i = 0; i < 1500; i++)
		pages[i] = i;
	open_machine(1);
	ck_assert_int_eq(hunt_open(&h, &t, pages, 1500), 0);
	ck_assert_int_eq(hunt_overflows(&h, pages, 1100), 0);
	close_machine(&h);
}
END_TEST

/* Hits that go on to cost less or more than they did are not waited for until patience is over. */
START_TEST(takes_what_hits_go_on_to_cost_for_theirs)
{
	static const double was[] = { 11.4, 12.6 };
	static const uint32_t none[HUNT_WAYS];
	struct hunt h = {
		.above = 8, .first_hit = 4, .first_lines = 512, .hit = was[_i],
		.gauge = { .cycles = was[_i] },
	};
	size_t count[8] = { 0 };
	double begin;

	model.cache[0].policy = POLICY_LRU;
	open_machine(1);
	for (uint32_t i = 0; i < CHUNKS && h.gauge.n < 32; i++)
		if (count[frame[i] % 8]++ < 4)
			h.gauge.page[h.gauge.n++] = i;
	ck_assert_int_eq(hunt_open(&h, &t, none, HUNT_WAYS), 0);
	begin = trial_elapsed(&t);
	ck_assert_int_eq(hunt_wait_calm(&h), 0);
	ck_assert_double_lt(trial_elapsed(&t) - begin, 1e-3);
	ck_assert_double_eq_tol(h.gauge.cycles, 12, 0.2);
	ck_assert_double_eq_tol(h.hit, h.gauge.cycles, 1e-9);
	close_machine(&h);
}
END_TEST

/* Where chance decides, some lines stay in the level above, though others come by: they cost less. */
START_TEST(tells_what_lines_that_stay_above_make_cheaper)
{
	struct hunt h = { .above = 12, .first_hit = 5, .first_lines = 768, .hit = 17, .penalty = 30 };
	uint32_t pages[512];
	double misses = 0, some, sum = 0;

	model.cache[0] = (struct machine_cache){
		.bytes = 48 * KIB, .ways = 12, .cycles = 5, .policy = POLICY_RANDOM,
	};
	model.cache[1] = (struct machine_cache){
		.bytes = 2 * MIB, .ways = 16, .cycles = 17, .inclusion = EXCLUSIVE,
	};
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	model.memory_cycles = 47;
	for (uint32_t i = 0; i < 512; i++)
		pages[i] = i;
	open_machine(1);
	ck_assert_int_eq(hunt_open(&h, &t, pages, 512), 0);
	h.nflush = 36;
	memcpy(h.flush, pages, h.nflush * sizeof(*pages));
	ck_assert_int_eq(hunt_mend_kept(&h, &misses), 1);
	ck_assert_double_gt(misses, 0.3);
	ck_assert_double_eq_tol(h.kept, misses * h.penalty, 1e-9);
	for (int i = 0; i < 16; i++) {
		ck_assert_int_eq(hunt_misses_again(&h, pages + 36 + 16 * i, 16, &some), 0);
		sum += some / 16;
	}
	ck_assert_double_eq_tol(sum, 0, 0.2);
	close_machine(&h);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hunt");
	TCase *tc = tcase_create("hunt");
	TCase *quick = tcase_create("quick");

	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, make_machine, drop_machine);
	tcase_add_loop_test(tc, keeps_few_of_many_lines_that_overflow, 0, 3);
	tcase_add_loop_test(tc, keeps_few_of_many_by_a_clock_of_large_steps, 0, tap_loops(8));
	tcase_add_test(tc, looks_twice_at_large_rings_that_do_not_overflow);
	suite_add_tcase(suite, tc);
	/* Also for valgrind, under which a simulated machine takes minutes. */
	tcase_set_timeout(quick, 300);
	tcase_add_checked_fixture(quick, make_machine, drop_machine);
	tcase_add_loop_test(quick, takes_what_hits_go_on_to_cost_for_theirs, 0, 2);
	tcase_add_test(quick, learns_no_penalty_from_lines_that_all_hit);
	tcase_add_test(quick, tells_what_lines_that_stay_above_make_cheaper);
	suite_add_tcase(suite, quick);
	return tap_run(suite);
}
