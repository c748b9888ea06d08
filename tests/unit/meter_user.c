// SPDX-License-Identifier: GPL-2.0-or-later
/* The loops that are timed: do they walk what they were told to walk? */
#include <errno.h>
#include <sched.h>
#include <sys/resource.h>

#include "../../lib/meter.h"
#include "tap.h"

#define CHUNKS	16
#define LINES	(CHUNKS * METER_CHUNK_LINES)
#define WINDOWS	64

static struct sonde_clock *clk;
static struct meter *meter;
static unsigned int cpu;

static void open_meter(void)
{
	cpu_set_t set;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	ck_assert_int_eq(sonde_clock_open(&clk, SONDE_CLOCK_AUTO), 0);
	ck_assert_int_eq(meter_user_open(&meter, clk, cpu), 0);
}

static void close_meter(void)
{
	meter->ops->close(meter);
	sonde_clock_close(clk);
}

/* Fastest window: nothing makes a walk faster than it is. */
static double cycles_a_load(const uint32_t *lines, size_t n)
{
	struct meter_window w[WINDOWS];
	double best = 1e9, cycles;

	meter->ops->link(meter, lines, n);
	meter->ops->chase(meter, 4 * LINES, 4096, w, WINDOWS);
	for (size_t i = 0; i < WINDOWS; i++) {
		cycles = (double)w[i].ticks / 4096 * meter->chain_cycles / (double)w[i].chain;
		if (cycles < best)
			best = cycles;
	}
	return best;
}

START_TEST(walks_dependent_loads)
{
	uint32_t lines[LINES];

	for (uint32_t i = 0; i < LINES; i++)
		lines[i] = i * 7 % LINES * METER_LINE_PLACES;
	ck_assert_int_eq(meter->ops->pages(meter, CHUNKS), 0);
	/* No first level answers in less than 2 cycles, nor memory in 2,000. */
	ck_assert_double_gt(cycles_a_load(lines, 8), 2);
	ck_assert_double_lt(cycles_a_load(lines, LINES), 2000);
}
END_TEST

START_TEST(gives_pages_anew_and_says_when_it_cannot)
{
	uint32_t line = (2 * LINES - 1) * METER_LINE_PLACES;

	ck_assert_int_eq(meter->ops->pages(meter, CHUNKS), 0);
	ck_assert_int_eq(meter->ops->pages(meter, 2 * CHUNKS), 0);
	ck_assert_double_gt(cycles_a_load(&line, 1), 2);
	ck_assert_int_eq(meter->ops->pages(meter, (size_t)1 << 50), -ENOMEM);
}
END_TEST

START_TEST(knows_the_time_and_counts_gaps)
{
	double before = meter->ops->now(meter);

	ck_assert_double_ge(meter->ops->gaps(meter, 0.002), 0);
	ck_assert_double_ge(meter->ops->now(meter) - before, 0.002);
	ck_assert_double_gt(meter->tick_ns, 0);
	ck_assert_uint_gt(meter->max_bytes, 0);
}
END_TEST

START_TEST(binds_to_the_cpu_and_lets_go)
{
	cpu_set_t before, during, after;
	struct meter *other;
	int nice_before;

	meter->ops->close(meter);
	sched_getaffinity(0, sizeof(before), &before);
	nice_before = getpriority(PRIO_PROCESS, 0);
	ck_assert_int_eq(meter_user_open(&meter, clk, cpu), 0);
	sched_getaffinity(0, sizeof(during), &during);
	ck_assert_int_eq(CPU_COUNT(&during), 1);
	ck_assert(CPU_ISSET(cpu, &during));
	meter->ops->close(meter);
	sched_getaffinity(0, sizeof(after), &after);
	ck_assert(CPU_EQUAL(&before, &after));
	ck_assert_int_eq(getpriority(PRIO_PROCESS, 0), nice_before);
	ck_assert_int_eq(meter_user_open(&other, clk, CPU_SETSIZE), -EINVAL);
	ck_assert_int_eq(meter_user_open(&other, clk, CPU_SETSIZE - 1), -EPERM);
	ck_assert_int_eq(meter_user_open(&meter, clk, cpu), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("meter_user");
	/* Two cases: what is timed needs a processor, not an emulation of one. */
	TCase *timed = tcase_create("timed"), *quick = tcase_create("quick");

	tcase_set_timeout(timed, 60);
	tcase_set_timeout(quick, 60);
	tcase_add_checked_fixture(timed, open_meter, close_meter);
	tcase_add_checked_fixture(quick, open_meter, close_meter);
	tcase_add_test(timed, walks_dependent_loads);
	tcase_add_test(timed, gives_pages_anew_and_says_when_it_cannot);
	tcase_add_test(quick, knows_the_time_and_counts_gaps);
	tcase_add_test(quick, binds_to_the_cpu_and_lets_go);
	suite_add_tcase(suite, timed);
	suite_add_tcase(suite, quick);
	return tap_run(suite);
}
