// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines by flushing what is near them, on machines whose truth is known. */
#include "../../lib/probe/line.h"
#include "geometry_machine.h"

static struct meter *meter;
static struct trial t;

static void open_machine_of(uint64_t seed, unsigned int line, unsigned int next)
{
	make_small_level(POLICY_LRU, PREFETCH_ALL, 64);
	model.cache[0].line = line;
	model.cache[1].line = next;
	ck_assert_int_eq(machine_open(&meter, &model, seed), 0);
	trial_open(&t, meter, seed);
	ck_assert_int_eq(trial_pages(&t, 64), 0);
}

static void open_machine(uint64_t seed, unsigned int line)
{
	open_machine_of(seed, line, line);
}

static void close_machine(void)
{
	trial_close(&t);
	meter->ops->close(meter);
}

static unsigned int find_line_of(size_t n, uint32_t offset)
{
	static const uint32_t page[] = { 0, 1, 2, 3 };
	const struct line_set set = { .page = page, .n = n, .offset = offset, .missed = 8 };
	unsigned int line;

	ck_assert_int_eq(line_find(&t, &set, &line), 0);
	return line;
}

static unsigned int find_line_at(uint32_t offset)
{
	return find_line_of(4, offset);
}

static unsigned int find_line(void)
{
	return find_line_at(0);
}

START_TEST(tells_lines_of_all_lengths)
{
	open_machine(1, 16U << _i);
	ck_assert_uint_eq(find_line(), 16U << _i);
	close_machine();
}
END_TEST

START_TEST(tells_them_anywhere_in_their_pages)
{
	open_machine(1, 16U << _i);
	ck_assert_uint_eq(find_line_at(METER_CHUNK - 2 * METER_LINE), 16U << _i);
	ck_assert_uint_eq(find_line_at(3 * METER_LINE), 16U << _i);
	close_machine();
}
END_TEST

/* One comparison says nothing: a step is as long as six misses of the first level. */
static void find_by_coarse_clock(size_t n, unsigned int line)
{
	model.tick_step = 26;
	model.noise = (struct machine_noise){ .gaps = 20000, .gap_us = { 12, 38 } };
	for (uint64_t seed = 1; seed <= 10; seed++) {
		open_machine(seed, line);
		ck_assert_uint_eq(find_line_of(n, 0), line);
		close_machine();
	}
}

START_TEST(tells_them_by_a_clock_of_large_steps_and_among_gaps)
{
	find_by_coarse_clock(4, 16U << _i);
}
END_TEST

/* Of two ways: the whole step is in each difference. */
START_TEST(tells_them_by_one_at_a_time)
{
	find_by_coarse_clock(1, 16U << _i);
}
END_TEST

/* What the next level has of a line that is gone costs far less than memory. */
START_TEST(tells_longer_ones_than_the_next_level_has)
{
	open_machine_of(1, 64U << _i, 64);
	ck_assert_uint_eq(find_line(), 64U << _i);
	close_machine();
}
END_TEST

static int flush_nothing(struct meter *m, const uint32_t *places, size_t n)
{
	(void)m;
	(void)places;
	(void)n;
	return 0;
}

/* All lines stay: that is not to make them the shortest that there are. */
START_TEST(tells_none_where_flushing_does_nothing)
{
	struct meter_ops ops;

	open_machine(1, 64);
	ops = *meter->ops;
	ops.flush = flush_nothing;
	meter->ops = &ops;
	ck_assert_uint_eq(find_line(), 0);
	close_machine();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("line");
	TCase *tc = tcase_create("line");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, make_machine, drop_machine);
	tcase_add_loop_test(tc, tells_lines_of_all_lengths, 0, 7);
	tcase_add_loop_test(tc, tells_them_anywhere_in_their_pages, 0, 7);
	tcase_add_loop_test(tc, tells_them_by_a_clock_of_large_steps_and_among_gaps, 0, 7);
	tcase_add_loop_test(tc, tells_them_by_one_at_a_time, 0, 7);
	tcase_add_loop_test(tc, tells_longer_ones_than_the_next_level_has, 0, 4);
	tcase_add_test(tc, tells_none_where_flushing_does_nothing);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
