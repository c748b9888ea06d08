// SPDX-License-Identifier: GPL-2.0-or-later
/* What a look says a load costs, by a clock of large steps. */
#include <math.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "../../lib/probe/trial.h"
#include "tap.h"

#define LINES		13
#define STEP_TICKS	26
#define STEP_NS		10.0
#define CHAIN_CYCLES	1024.0
/* What is subtracted for a read: no multiple of a step. */
#define READ_TICKS	43

/* A core of which only this is known: what a load costs, and how fast it is. */
static struct {
	double ns, ghz, cycles;
	struct sonde_rng rng;
} core;

static uint64_t read_clock(void)
{
	return (uint64_t)(core.ns / STEP_NS) * STEP_TICKS;
}

/* Ticks of so many cycles, after what a loop does between two reads. */
static uint64_t pass(double cycles)
{
	uint64_t begin;

	core.ns += 3 + (double)sonde_rng_below(&core.rng, 1000) / 250;
	begin = read_clock();
	core.ns += cycles / core.ghz + READ_TICKS / (double)STEP_TICKS * STEP_NS;
	return read_clock() - begin - READ_TICKS;
}

static void fake_link(struct meter *m, const uint32_t *places, size_t n)
{
	(void)m, (void)places, (void)n;
}

static void fake_chase(struct meter *m, uint64_t skip, unsigned int steps,
		       struct meter_window *out, size_t nout)
{
	(void)m;
	core.ns += (double)skip * core.cycles / core.ghz;
	for (size_t i = 0; i < nout; i++) {
		out[i].chain = pass(CHAIN_CYCLES);
		out[i].ticks = pass(core.cycles * steps);
	}
}

static struct {
	uint32_t places[LINES];
	size_t n;
	int times, result;
} flushed;

static int fake_flush(struct meter *m, const uint32_t *places, size_t n)
{
	(void)m;
	flushed.n = n;
	flushed.times++;
	memcpy(flushed.places, places, n * sizeof(*places));
	return flushed.result;
}

static int fake_pages(struct meter *m, size_t chunks)
{
	(void)m, (void)chunks;
	return 0;
}

static double fake_now(struct meter *m)
{
	(void)m;
	return core.ns / 1e9;
}

static const struct meter_ops ops = {
	.pages = fake_pages, .link = fake_link, .chase = fake_chase, .flush = fake_flush,
	.now = fake_now,
};
static struct meter meter = {
	.ops = &ops, .chain_cycles = CHAIN_CYCLES, .tick_ns = STEP_NS / STEP_TICKS,
};
static struct trial t;

static void begin(void)
{
	static const uint32_t places[LINES];

	core.ns = 0;
	core.ghz = 4.16;
	sonde_rng_seed(&core.rng, 1);
	trial_open(&t, &meter, 1);
	ck_assert_int_eq(trial_ring(&t, places, LINES, 0), 0);
}

static void end(void)
{
	trial_close(&t);
}

static double look(double cycles)
{
	core.cycles = cycles;
	return trial_look(&t, 1, 8);
}

/* Windows as long as would do for those were 7 % of a step's error here. */
START_TEST(is_as_exact_after_a_look_at_loads_that_cost_more)
{
	for (int i = 0; i < 1000; i++) {
		ck_assert_double_eq_tol(look(27), 27, 27 * 0.04);
		ck_assert_double_eq_tol(look(4), 4, 4 * 0.04);
	}
}
END_TEST

/* The clock's step is that of a tick else, and a chain that is one longer a core that slowed down. */
START_TEST(what_a_read_costs_is_no_step)
{
	look(4);
	look(5);
	ck_assert_double_eq_tol(trial_step(&t), STEP_NS * core.ghz, 2);
}
END_TEST

START_TEST(the_last_ring_is_flushed_before_the_next)
{
	static const uint32_t first[] = { 7, 9 }, second[] = { 5 };

	flushed.result = 0;
	ck_assert_int_eq(trial_path(&t, first, 2), 0);
	flushed.times = 0;
	ck_assert_int_eq(trial_ring(&t, second, 1, 0), 0);
	ck_assert_int_eq(flushed.times, 1);
	ck_assert_uint_eq(flushed.n, 2);
	ck_assert_mem_eq(flushed.places, first, sizeof(first));
	/* In other memory there is nothing of it. */
	ck_assert_int_eq(trial_pages(&t, 8), 0);
	ck_assert_int_eq(trial_path(&t, first, 2), 0);
	ck_assert_int_eq(flushed.times, 1);
	/* But where there is as much already, it stays. */
	ck_assert_int_eq(trial_pages(&t, 7), 0);
	ck_assert_int_eq(trial_path(&t, first, 2), 0);
	ck_assert_int_eq(flushed.times, 2);
}
END_TEST

START_TEST(goes_on_where_nothing_can_be_flushed_but_not_after_an_error)
{
	static const uint32_t places[] = { 7, 9 };

	flushed.result = -EOPNOTSUPP;
	ck_assert_int_eq(trial_path(&t, places, 2), 0);
	flushed.result = -EBADMSG;
	ck_assert_int_eq(trial_path(&t, places, 2), -EBADMSG);
	flushed.result = 0;
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trial");
	TCase *tc = tcase_create("trial");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, is_as_exact_after_a_look_at_loads_that_cost_more);
	tcase_add_test(tc, what_a_read_costs_is_no_step);
	tcase_add_test(tc, the_last_ring_is_flushed_before_the_next);
	tcase_add_test(tc, goes_on_where_nothing_can_be_flushed_but_not_after_an_error);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
