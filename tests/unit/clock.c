// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The clock: its parts on counters and processors that this machine does not
 * have, and the whole on this one.
 */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../../lib/clock.h"
#include "tap.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* ---- what processors say ------------------------------------------------- */

struct leaf {
	uint32_t leaf, regs[4];
};

static const struct leaf *processor;

/* A table that ends with leaf 0, as long as it need be. */
static void cpuid_of_table(uint32_t leaf, uint32_t regs[4])
{
	memset(regs, 0, 4 * sizeof(*regs));
	for (const struct leaf *l = processor; l->leaf; l++)
		if (l->leaf == leaf)
			memcpy(regs, l->regs, sizeof(l->regs));
}

static struct clock_facts facts_of(const struct leaf *table)
{
	struct clock_facts facts = { 0 };

	processor = table;
	clock_facts_of_cpuid(cpuid_of_table, &facts);
	return facts;
}

#define INVARIANT { 0x80000007, { 0, 0, 0, 1U << 8 } }
#define GUEST	  { 0x1, { 0, 0, 1U << 31, 0 } }
#define METAL	  { 0x1, { 0, 0, 0x7fffffff, 0xffffffff } }
#define END	  { 0, { 0 } }

START_TEST(zen_promises_a_constant_rate_and_names_none)
{
	static const struct leaf zen[] = { METAL, INVARIANT, END };
	struct clock_facts facts = facts_of(zen);

	ck_assert_str_eq(facts.name, "tsc");
	ck_assert_int_eq(facts.is_invariant, 1);
	ck_assert_int_eq(facts.is_guest, 0);
	ck_assert(facts.claimed_hz == 0);
}
END_TEST

/* Ice Lake server: 25 MHz crystal times 184 / 2. */
START_TEST(a_claim_is_the_crystal_times_the_ratio)
{
	static const struct leaf icx[] = {
		METAL, INVARIANT, { 0x15, { 2, 184, 25000000, 0 } }, { 0x16, { 2200, 0, 0, 0 } },
		END
	};

	ck_assert(facts_of(icx).claimed_hz == 2.3e9);
}
END_TEST

/* Skylake client: 216 / 2, the crystal is not told. */
START_TEST(a_claim_without_a_crystal_is_the_base_frequency)
{
	static const struct leaf skl[] = {
		METAL, INVARIANT, { 0x15, { 2, 216, 0, 0 } },
		{ 0x16, { 0xabcd0000 | 2600, 0, 0, 0 } }, END
	};
	static const struct leaf neither[] = { METAL, INVARIANT, { 0x15, { 2, 216, 0, 0 } }, END };

	ck_assert(facts_of(skl).claimed_hz == 2.6e9);
	ck_assert(facts_of(neither).claimed_hz == 0);
}
END_TEST

START_TEST(in_a_guest_the_hypervisor_s_claim_counts_first)
{
	static const struct leaf guest[] = {
		GUEST, INVARIANT, { 0x15, { 2, 184, 25000000, 0 } },
		{ 0x40000000, { 0x40000010, 0, 0, 0 } }, { 0x40000010, { 2893000, 0, 0, 0 } }, END
	};
	/* The same leaves, but the hypervisor's do not go that far, or it is none. */
	static const struct leaf short_leaves[] = {
		GUEST, INVARIANT, { 0x15, { 2, 184, 25000000, 0 } },
		{ 0x40000000, { 0x40000001, 0, 0, 0 } }, { 0x40000010, { 2893000, 0, 0, 0 } }, END
	};
	static const struct leaf metal[] = {
		METAL, INVARIANT, { 0x15, { 2, 184, 25000000, 0 } },
		{ 0x40000000, { 0x40000010, 0, 0, 0 } }, { 0x40000010, { 2893000, 0, 0, 0 } }, END
	};

	ck_assert_int_eq(facts_of(guest).is_guest, 1);
	ck_assert(facts_of(guest).claimed_hz == 2.893e9);
	ck_assert(facts_of(short_leaves).claimed_hz == 2.3e9);
	ck_assert(facts_of(metal).claimed_hz == 2.3e9);
}
END_TEST

START_TEST(other_power_features_do_not_promise_a_constant_rate)
{
	static const struct leaf table[] = { METAL, { 0x80000007, { ~0U, ~0U, ~0U, ~(1U << 8) } },
					     END };

	ck_assert_int_eq(facts_of(table).is_invariant, 0);
}
END_TEST

START_TEST(the_kernel_s_list_is_read_by_whole_words)
{
	ck_assert_int_eq(clock_verdict_of("tsc hpet acpi_pm \n"), CLOCK_KERNEL_OFFERS);
	ck_assert_int_eq(clock_verdict_of("kvm-clock tsc\n"), CLOCK_KERNEL_OFFERS);
	ck_assert_int_eq(clock_verdict_of("tsc"), CLOCK_KERNEL_OFFERS);
	ck_assert_int_eq(clock_verdict_of("hpet acpi_pm \n"), CLOCK_KERNEL_REJECTS);
	ck_assert_int_eq(clock_verdict_of("tsc-early jiffies\n"), CLOCK_KERNEL_REJECTS);
	ck_assert_int_eq(clock_verdict_of("hyperv_clocksource_tsc_page acpi_pm\n"),
			 CLOCK_KERNEL_REJECTS);
	ck_assert_int_eq(clock_verdict_of("xtsc hpet\n"), CLOCK_KERNEL_REJECTS);
	ck_assert_int_eq(clock_verdict_of(""), CLOCK_KERNEL_SILENT);
}
END_TEST

START_TEST(a_counter_is_taken_only_if_nothing_speaks_against_it)
{
	struct clock_facts facts = { .name = "tsc", .is_invariant = 1,
				     .verdict = CLOCK_KERNEL_OFFERS };

	ck_assert_ptr_null(clock_judge(&facts));
	ck_assert_int_eq(clock_must_compare_cpus(&facts), 0);
	facts.verdict = CLOCK_KERNEL_SILENT;
	ck_assert_ptr_null(clock_judge(&facts));
	ck_assert_int_eq(clock_must_compare_cpus(&facts), 1);
	facts.verdict = CLOCK_KERNEL_REJECTS;
	ck_assert_ptr_nonnull(strstr(clock_judge(&facts), "unstable"));
	facts.is_guest = 1;	/* it may prefer its hypervisor's clock */
	ck_assert_ptr_null(clock_judge(&facts));
	ck_assert_int_eq(clock_must_compare_cpus(&facts), 1);
	facts.is_invariant = 0;
	ck_assert_ptr_nonnull(strstr(clock_judge(&facts), "constant rate"));
	facts.name = NULL;
	ck_assert_ptr_nonnull(clock_judge(&facts));
}
END_TEST

/* ---- counters that no machine has ---------------------------------------- */

static uint64_t started;

static uint64_t elapsed(void)
{
	return clock_read_monotonic_raw() - started;
}

/* 2.6 ticks a nanosecond. */
static uint64_t read_2600_mhz(void)
{
	return elapsed() * 26 / 10;
}

/* The same, shown every 26 ticks. */
static uint64_t read_in_steps_of_26(void)
{
	return elapsed() / 10 * 26;
}

static uint64_t read_backwards(void)
{
	return -elapsed();
}

static uint64_t read_standing_still(void)
{
	return 42;
}

static uint64_t read_speeding_up(void)
{
	uint64_t now = elapsed();

	return now * (now / 1000);
}

/* Off by 1 ms on every CPU but the first. */
static uint64_t read_skewed(void)
{
	return elapsed() + (sched_getcpu() > 0 ? 1000000 : 0);
}

/* One difference in about 50 is no multiple of 26. */
static uint64_t read_with_slips(void)
{
	static uint64_t n, slips;

	slips += ++n % 100 == 0;
	return read_in_steps_of_26() + slips;
}

static uint64_t read_costing_37_in_steps(void)
{
	static uint64_t n;

	return 37 * n++ / 26 * 26;
}

static uint64_t read_costing_7(void)
{
	static uint64_t n;

	return 7 * n++;
}

/* A core of a tenth of its speed for some milliseconds. */
static uint64_t read_costing_7_once_awake(void)
{
	static uint64_t n, ticks;

	return ticks += n++ < 40000 ? 70 : 7;
}

static void assert_rate(clock_read_fn read, double hz)
{
	struct sonde_clock_info info = { 0 };

	started = clock_read_monotonic_raw();
	ck_assert_int_eq(clock_calibrate(read, &info), 0);
	ck_assert(info.hz_low <= info.hz && info.hz <= info.hz_high);
	ck_assert_msg(fabs(info.hz - hz) <= 20e-6 * hz, "%.0f", info.hz);
	ck_assert_msg(info.hz_high - info.hz_low <= 100e-6 * hz, "%.0f to %.0f", info.hz_low,
		      info.hz_high);
}

START_TEST(finds_the_rate_of_a_counter_also_if_it_advances_in_steps)
{
	assert_rate(read_2600_mhz, 2.6e9);
	assert_rate(read_in_steps_of_26, 2.6e9);
}
END_TEST

#define INTERVALS 20

/* 95 % of intervals should; then fewer than 13 of 20 do so once in 300,000 runs. */
START_TEST(the_interval_of_the_rate_holds_the_true_rate)
{
	struct sonde_clock_info info = { 0 };
	int held = 0;

	for (int i = 0; i < INTERVALS; i++) {
		started = clock_read_monotonic_raw();
		ck_assert_int_eq(clock_calibrate(read_2600_mhz, &info), 0);
		held += info.hz_low <= 2.6e9 && 2.6e9 <= info.hz_high;
	}
	ck_assert_int_ge(held, 13);
}
END_TEST

START_TEST(finds_no_rate_where_there_is_none)
{
	static const clock_read_fn not_clocks[] = {
		read_backwards, read_standing_still, read_speeding_up,
	};
	struct sonde_clock_info info = { 0 };

	for (size_t i = 0; i < COUNT(not_clocks); i++) {
		started = clock_read_monotonic_raw();
		ck_assert_int_eq(clock_calibrate(not_clocks[i], &info), -ERANGE);
	}
}
END_TEST

START_TEST(sees_that_CPUs_disagree_and_goes_back_to_where_it_was)
{
	cpu_set_t before, after;

	started = clock_read_monotonic_raw();
	ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	ck_assert_int_eq(clock_compare_cpus(elapsed, 1e9), 0);
	ck_assert_int_eq(clock_compare_cpus(read_skewed, 1e9),
			 CPU_ISSET(0, &before) && CPU_COUNT(&before) > 1 ? -ERANGE : 0);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(after), &after), 0);
	ck_assert(CPU_EQUAL(&before, &after));
}
END_TEST

START_TEST(finds_the_step_also_if_some_differences_are_no_multiples)
{
	started = clock_read_monotonic_raw();
	ck_assert_uint_eq(clock_measure_step(read_in_steps_of_26), 26);
	ck_assert_uint_eq(clock_measure_step(read_with_slips), 26);
}
END_TEST

START_TEST(a_counter_that_stands_still_has_no_step)
{
	ck_assert_uint_eq(clock_measure_step(read_standing_still), 0);
}
END_TEST

START_TEST(overhead_is_what_lies_between_two_reads)
{
	ck_assert(clock_measure_overhead(read_costing_7) == 7);
}
END_TEST

START_TEST(overhead_is_of_a_core_that_has_woken_up)
{
	ck_assert(clock_measure_overhead(read_costing_7_once_awake) == 7);
}
END_TEST

/* No step, 26 or 52, is what a read costs. */
START_TEST(overhead_is_also_told_between_two_steps)
{
	ck_assert_double_eq_tol(clock_measure_overhead(read_costing_37_in_steps), 37, 3);
}
END_TEST

/* ---- the clock of this machine ------------------------------------------- */

static void assert_sound(const struct sonde_clock_info *info)
{
	ck_assert(info->hz_low <= info->hz && info->hz <= info->hz_high);
	ck_assert(info->hz > 1e6);
	ck_assert(info->overhead_ticks >= 0);
	ck_assert_uint_ge(info->step_ticks, 1);
	ck_assert(info->claimed_hz >= 0);
	ck_assert_str_ne(info->name, "");
}

static struct sonde_clock *open_clock(enum sonde_clock_source source)
{
	struct sonde_clock *clk = NULL;

	ck_assert_int_eq(sonde_clock_open(&clk, source), 0);
	ck_assert_ptr_nonnull(clk);
	assert_sound(sonde_clock_info(clk));
	return clk;
}

START_TEST(auto_takes_the_counter_or_says_why_not)
{
	struct sonde_clock *clk = open_clock(SONDE_CLOCK_AUTO);
	const struct sonde_clock_info *info = sonde_clock_info(clk);

	ck_assert_int_ne(info->source, SONDE_CLOCK_AUTO);
	ck_assert_int_eq(info->source == SONDE_CLOCK_COUNTER, info->why == NULL);
	sonde_clock_close(clk);
}
END_TEST

START_TEST(the_counter_is_refused_where_there_is_none)
{
	struct sonde_clock *clk = NULL;
	struct clock_facts facts;
	int err = sonde_clock_open(&clk, SONDE_CLOCK_COUNTER);

	clock_gather_facts(&facts);
	if (clock_judge(&facts))
		ck_assert_int_eq(err, -ENOTSUP);
	if (err) {
		ck_assert_int_eq(err, -ENOTSUP);
		ck_assert_ptr_null(clk);
		return;
	}
	ck_assert_int_eq(sonde_clock_info(clk)->source, SONDE_CLOCK_COUNTER);
	ck_assert_str_eq(sonde_clock_info(clk)->name, facts.name);
	sonde_clock_close(clk);
}
END_TEST

START_TEST(monotonic_raw_can_be_asked_for)
{
	struct sonde_clock *clk = open_clock(SONDE_CLOCK_MONOTONIC_RAW);
	const struct sonde_clock_info *info = sonde_clock_info(clk);

	ck_assert_int_eq(info->source, SONDE_CLOCK_MONOTONIC_RAW);
	ck_assert_str_eq(info->name, "monotonic-raw");
	ck_assert(info->hz == 1e9);
	ck_assert_ptr_nonnull(info->why);
	sonde_clock_close(clk);
}
END_TEST

START_TEST(another_source_is_refused)
{
	struct sonde_clock *clk = NULL;

	ck_assert_int_eq(sonde_clock_open(&clk, (enum sonde_clock_source)17), -EINVAL);
	ck_assert_ptr_null(clk);
}
END_TEST

/* The tightest of 64 readings, as nanoseconds between two of the system's clock. */
static double read_beside(const struct sonde_clock *clk, uint64_t *ticks, uint64_t *ns)
{
	uint64_t before, now, after, best = UINT64_MAX;

	*ticks = 0;
	*ns = 0;
	for (int i = 0; i < 64; i++) {
		before = clock_read_monotonic_raw();
		now = sonde_clock_now(clk);
		after = clock_read_monotonic_raw();
		if (after - before >= best)
			continue;
		best = after - before;
		*ticks = now;
		*ns = before;
	}
	return (double)best;
}

static void assert_keeps_time(const struct sonde_clock *clk)
{
	uint64_t ticks[2], ns[2];
	double error, took;

	error = read_beside(clk, &ticks[0], &ns[0]);
	while (clock_read_monotonic_raw() < ns[0] + 100000000)
		;
	error += read_beside(clk, &ticks[1], &ns[1]);
	took = (double)(ns[1] - ns[0]);
	/* The readings' own width, and 20 millionths. */
	ck_assert_double_eq_tol(sonde_clock_ns(clk, (double)(ticks[1] - ticks[0])), took,
				error + 20e-6 * took);
}

START_TEST(ticks_become_the_nanoseconds_that_went_by)
{
	static const enum sonde_clock_source sources[] = {
		SONDE_CLOCK_AUTO, SONDE_CLOCK_MONOTONIC_RAW,
	};
	struct sonde_clock *clk;

	for (size_t i = 0; i < COUNT(sources); i++) {
		clk = open_clock(sources[i]);
		assert_keeps_time(clk);
		sonde_clock_close(clk);
	}
}
END_TEST

START_TEST(never_goes_backwards)
{
	struct sonde_clock *clk = open_clock(SONDE_CLOCK_AUTO);
	uint64_t last = sonde_clock_now(clk), now;

	for (int i = 0; i < 100000; i++) {
		now = sonde_clock_now(clk);
		ck_assert(now >= last);
		last = now;
	}
	sonde_clock_close(clk);
}
END_TEST

START_TEST(close_takes_NULL)
{
	sonde_clock_close(NULL);
}
END_TEST

static void add_facts(Suite *suite)
{
	TCase *tc = tcase_create("facts");

	tcase_add_test(tc, zen_promises_a_constant_rate_and_names_none);
	tcase_add_test(tc, a_claim_is_the_crystal_times_the_ratio);
	tcase_add_test(tc, a_claim_without_a_crystal_is_the_base_frequency);
	tcase_add_test(tc, in_a_guest_the_hypervisor_s_claim_counts_first);
	tcase_add_test(tc, other_power_features_do_not_promise_a_constant_rate);
	tcase_add_test(tc, the_kernel_s_list_is_read_by_whole_words);
	tcase_add_test(tc, a_counter_is_taken_only_if_nothing_speaks_against_it);
	suite_add_tcase(suite, tc);
}

static void add_measures(Suite *suite)
{
	TCase *tc = tcase_create("measures");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, finds_the_rate_of_a_counter_also_if_it_advances_in_steps);
	if (tap_loops(INTERVALS) == INTERVALS)
		tcase_add_test(tc, the_interval_of_the_rate_holds_the_true_rate);
	else
		tap_left_out("under an interpreter a clock is read too slowly to be compared");
	tcase_add_test(tc, finds_no_rate_where_there_is_none);
	tcase_add_test(tc, sees_that_CPUs_disagree_and_goes_back_to_where_it_was);
	tcase_add_test(tc, finds_the_step_also_if_some_differences_are_no_multiples);
	tcase_add_test(tc, a_counter_that_stands_still_has_no_step);
	tcase_add_test(tc, overhead_is_what_lies_between_two_reads);
	tcase_add_test(tc, overhead_is_of_a_core_that_has_woken_up);
	tcase_add_test(tc, overhead_is_also_told_between_two_steps);
	suite_add_tcase(suite, tc);
}

static void add_clock(Suite *suite)
{
	TCase *tc = tcase_create("clock");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, auto_takes_the_counter_or_says_why_not);
	tcase_add_test(tc, the_counter_is_refused_where_there_is_none);
	tcase_add_test(tc, monotonic_raw_can_be_asked_for);
	tcase_add_test(tc, another_source_is_refused);
	tcase_add_test(tc, ticks_become_the_nanoseconds_that_went_by);
	tcase_add_test(tc, never_goes_backwards);
	tcase_add_test(tc, close_takes_NULL);
	suite_add_tcase(suite, tc);
}

int main(void)
{
	Suite *suite = suite_create("clock");

	add_facts(suite);
	add_measures(suite);
	add_clock(suite);
	return tap_run(suite);
}
