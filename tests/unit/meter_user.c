// SPDX-License-Identifier: GPL-2.0-or-later
/* The loops that are timed: do they walk what they were told to walk? */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sonde/stats.h>
#include "../../lib/meter_user.h"
#include "tap.h"

#define CHUNKS	16
#define LINES	(CHUNKS * METER_CHUNK_LINES)
#define WINDOWS	64

#define LANES	2

static struct sonde_clock *clk;
static struct meter *meter;
static unsigned int cpu, other_cpu;

static int count_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 0 : CPU_COUNT(&set);
}

static void open_meter(void)
{
	cpu_set_t set;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	for (other_cpu = cpu + 1; CPU_COUNT(&set) > 1 && !CPU_ISSET(other_cpu, &set); other_cpu++)
		;
	ck_assert_int_eq(sonde_clock_open(&clk, SONDE_CLOCK_AUTO), 0);
	ck_assert_int_eq(meter_user_open(&meter, clk, cpu), 0);
}

static void close_meter(void)
{
	meter->ops->close(meter);
	sonde_clock_close(clk);
}

/* The fastest walk and the fastest chain: nothing makes either faster than it is. */
static double cycles_a_load(const uint32_t *lines, size_t n)
{
	struct meter_window w[WINDOWS];
	double ticks = INFINITY, chain = INFINITY;

	meter->ops->link(meter, lines, n);
	meter->ops->chase(meter, 4 * LINES, 4096, w, WINDOWS);
	for (size_t i = 0; i < WINDOWS; i++) {
		ticks = fmin(ticks, (double)w[i].ticks);
		chain = fmin(chain, (double)w[i].chain);
	}
	return ticks / 4096 * meter->chain_cycles / chain;
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

/* Median ticks of a load, after its line or another one was flushed. */
static double ticks_after_flushing(uint32_t flushed)
{
	static const uint32_t line;
	struct meter_window w[WINDOWS];
	double ticks[WINDOWS];

	for (size_t i = 0; i < WINDOWS; i++) {
		meter->ops->link(meter, &line, 1);
		ck_assert_int_eq(meter->ops->flush(meter, &flushed, 1), 0);
		meter->ops->chase(meter, 0, 1, &w[i], 1);
		ticks[i] = (double)w[i].ticks;
	}
	sonde_stats_sort(ticks, WINDOWS);
	return sonde_stats_median(ticks, WINDOWS);
}

START_TEST(a_flushed_line_is_fetched_from_memory)
{
	ck_assert_int_eq(meter->ops->pages(meter, CHUNKS), 0);
	ck_assert_double_gt(ticks_after_flushing(0), 3 * ticks_after_flushing(8 * METER_LINE_PLACES));
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

START_TEST(rests_at_least_as_long_as_asked)
{
	double before = meter->ops->now(meter);

	meter->ops->rest(meter, 0.01);
	/* The two clocks need not tick alike to the last digit. */
	ck_assert_double_ge(meter->ops->now(meter) - before, 0.0099);
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

START_TEST(the_pool_begins_where_a_large_page_could)
{
	uint32_t line = 0;
	struct meter_window w;

	ck_assert_int_eq(meter->ops->pages(meter, CHUNKS), 0);
	meter->ops->link(meter, &line, 1);
	meter->ops->chase(meter, 0, METER_UNROLL, &w, 1);
	ck_assert_uint_eq((uintptr_t)((struct meter_user *)(void *)meter)->pool % METER_ALIGN, 0);
}
END_TEST

START_TEST(walks_as_many_loads_as_told)
{
	const struct meter_user *u = (struct meter_user *)(void *)meter;
	struct meter_window w[2];
	uint32_t lines[7];

	for (uint32_t i = 0; i < 7; i++)
		lines[i] = i * METER_LINE_PLACES;
	ck_assert_int_eq(meter->ops->pages(meter, 1), 0);
	meter->ops->link(meter, lines, 7);
	ck_assert_ptr_eq(u->at, u->pool);
	meter->ops->chase(meter, METER_UNROLL + 3, 19, w, 2);
	ck_assert_ptr_eq(u->at, u->pool + (METER_UNROLL + 3 + 2 * 19) % 7 * METER_LINE);
}
END_TEST

START_TEST(windows_follow_each_other_on_the_clock)
{
	struct meter_window w[WINDOWS];
	uint32_t lines[2] = { 0, METER_LINE_PLACES };
	uint64_t before, after;

	ck_assert_int_eq(meter->ops->pages(meter, 1), 0);
	meter->ops->link(meter, lines, 2);
	before = sonde_clock_now(clk);
	meter->ops->chase(meter, 0, METER_UNROLL, w, WINDOWS);
	after = sonde_clock_now(clk);
	ck_assert_uint_ge(w[0].begin, before);
	ck_assert_uint_lt(w[WINDOWS - 1].begin, after);
	for (size_t i = 1; i < WINDOWS; i++)
		ck_assert_uint_gt(w[i].begin, w[i - 1].begin);
}
END_TEST

START_TEST(tells_frames_of_chunks_or_that_it_may_not)
{
	uint64_t all[CHUNKS], one = 0;
	int err;

	ck_assert_int_eq(meter->ops->pages(meter, CHUNKS), 0);
	err = meter->ops->frames(meter, 0, CHUNKS, all);
	if (err) {
		ck_assert_int_eq(err, -EPERM);
		return;
	}
	ck_assert_int_eq(meter->ops->frames(meter, 3, 1, &one), 0);
	ck_assert_uint_eq(one, all[3]);
	for (size_t i = 1; i < CHUNKS; i++)
		ck_assert_uint_ne(all[i], all[i - 1]);
	ck_assert_int_eq(meter->ops->frames(meter, 1, CHUNKS, all), -EINVAL);
	ck_assert_int_eq(meter->ops->frames(meter, CHUNKS, 0, all), 0);
}
END_TEST

START_TEST(refuses_to_move_where_it_may_not_run)
{
	ck_assert_int_eq(meter->ops->move(meter, CPU_SETSIZE), -EINVAL);
	ck_assert_int_eq(meter->ops->move(meter, CPU_SETSIZE - 1), -EPERM);
	ck_assert_int_eq(meter->ops->move(meter, cpu), 0);
}
END_TEST

/* Where this program may run is decided anew for each meter. */
START_TEST(stays_on_the_CPUs_that_the_thread_had)
{
	cpu_set_t before, one;

	meter->ops->close(meter);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	ck_assert_int_eq(meter_user_open(&meter, clk, cpu), 0);
	ck_assert_int_eq(meter->ops->move(meter, other_cpu), -EPERM);
	meter->ops->close(meter);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(before), &before), 0);
	ck_assert_int_eq(meter_user_open(&meter, clk, cpu), 0);
}
END_TEST

/* As if opened there: nobody else walks for it. */
START_TEST(settles_on_another_CPU_and_lets_go)
{
	cpu_set_t before, during, after;
	struct meter_window w;

	meter->ops->close(meter);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	ck_assert_int_eq(meter_user_open(&meter, clk, cpu), 0);
	ck_assert_int_eq(meter->ops->pages(meter, CHUNKS), 0);
	ck_assert_int_eq(meter->ops->settle(meter, CPU_SETSIZE), -EINVAL);
	ck_assert_int_eq(meter->ops->settle(meter, CPU_SETSIZE - 1), -EPERM);
	ck_assert_int_eq(sched_getcpu(), (int)cpu);
	ck_assert_int_eq(meter->ops->settle(meter, other_cpu), 0);
	ck_assert_int_eq(sched_getcpu(), (int)other_cpu);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(during), &during), 0);
	ck_assert_int_eq(CPU_COUNT(&during), 1);
	/* It may still go anywhere, and comes back to where it settled. */
	ck_assert_int_eq(meter->ops->move(meter, cpu), 0);
	ck_assert_int_eq(meter->ops->move(meter, other_cpu), 0);
	ck_assert_int_eq(sched_getcpu(), (int)other_cpu);
	meter->ops->link(meter, &(uint32_t){ 0 }, 1);
	meter->ops->chase(meter, 0, METER_UNROLL, &w, 1);
	ck_assert_uint_gt(w.ticks, 0);
	meter->ops->close(meter);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(after), &after), 0);
	ck_assert(CPU_EQUAL(&before, &after));
	ck_assert_int_eq(meter_user_open(&meter, clk, cpu), 0);
}
END_TEST

START_TEST(goes_on_along_the_cycle_on_another_CPU_and_back)
{
	struct meter_window w[4];
	uint32_t lines[LINES];

	for (uint32_t i = 0; i < LINES; i++)
		lines[i] = i * 7 % LINES * METER_LINE_PLACES;
	ck_assert_int_eq(meter->ops->pages(meter, CHUNKS), 0);
	meter->ops->link(meter, lines, LINES);
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(meter->ops->move(meter, i % 2 ? cpu : other_cpu), 0);
		memset(w, 0, sizeof(w));
		meter->ops->chase(meter, METER_UNROLL, METER_UNROLL, w, 4);
		ck_assert_uint_gt(w[3].begin, w[0].begin);
		ck_assert_uint_gt(w[0].ticks, 0);
	}
	meter->ops->link(meter, lines, 1);
}
END_TEST

static long sleeps(void)
{
	struct rusage usage;

	ck_assert_int_eq(getrusage(RUSAGE_THREAD, &usage), 0);
	return usage.ru_nvcsw;
}

/*
 * What was loaded on one CPU is found there again after the probe was elsewhere:
 * to leave and to come back is neither to sleep nor to migrate, which would let
 * others at that CPU's caches.
 */
START_TEST(a_CPU_that_is_left_keeps_what_it_has_cached)
{
	const uint32_t line = 0;
	struct meter_window w;
	long before;

	ck_assert_int_eq(meter->ops->pages(meter, 1), 0);
	meter->ops->link(meter, &line, 1);
	/* Whoever works on the other CPU is hired at the first move. */
	ck_assert_int_eq(meter->ops->move(meter, other_cpu), 0);
	before = sleeps();
	for (size_t i = 0; i < WINDOWS; i++) {
		ck_assert_int_eq(meter->ops->move(meter, cpu), 0);
		meter->ops->chase(meter, METER_UNROLL, METER_UNROLL, &w, 1);
		ck_assert_int_eq(sched_getcpu(), (int)cpu);
		ck_assert_int_eq(meter->ops->move(meter, other_cpu), 0);
	}
	ck_assert_int_eq(sleeps() - before, 0);
	ck_assert_int_eq(meter->ops->move(meter, cpu), 0);
}
END_TEST

static void fill_lanes(struct meter_lane *lanes, uint32_t (*places)[METER_CHUNK_LINES],
		       struct meter_window (*w)[WINDOWS])
{
	for (uint32_t l = 0; l < LANES; l++) {
		for (uint32_t i = 0; i < METER_CHUNK_LINES; i++)
			places[l][i] = (l * METER_CHUNK_LINES + i * 7 % METER_CHUNK_LINES) *
				       METER_LINE_PLACES;
		lanes[l] = (struct meter_lane){
			.cpu = l ? other_cpu : cpu,
			.places = places[l],
			.n = METER_CHUNK_LINES,
			.skip = METER_CHUNK_LINES,
			.steps = 256,
			.out = w[l],
			.nout = WINDOWS,
		};
	}
}

START_TEST(lanes_start_together_and_all_give_their_windows)
{
	uint32_t places[LANES][METER_CHUNK_LINES];
	struct meter_window w[LANES][WINDOWS];
	struct meter_lane lanes[LANES];
	uint64_t late, early;

	ck_assert_int_eq(meter->ops->pages(meter, CHUNKS), 0);
	fill_lanes(lanes, places, w);
	for (int round = 0; round < 20; round++) {
		memset(w, 0, sizeof(w));
		ck_assert_int_eq(meter->ops->together(meter, lanes, LANES), 0);
		for (int l = 0; l < LANES; l++)
			for (size_t i = 0; i < WINDOWS; i++)
				ck_assert_uint_gt(w[l][i].ticks, 0);
		late = w[0][0].begin > w[1][0].begin ? w[0][0].begin : w[1][0].begin;
		early = w[0][0].begin < w[1][0].begin ? w[0][0].begin : w[1][0].begin;
		/* Neither began before the other had come: a lane's start is no second. */
		ck_assert_double_lt(sonde_clock_ns(clk, (double)(late - early)), 1e9);
	}
	/* Alone, and with the other CPU only. */
	ck_assert_int_eq(meter->ops->together(meter, lanes, 1), 0);
	ck_assert_int_eq(meter->ops->together(meter, lanes + 1, 1), 0);
}
END_TEST

START_TEST(refuses_lanes_that_cannot_run_and_leaves_none_behind)
{
	uint32_t places[LANES][METER_CHUNK_LINES];
	struct meter_window w[LANES][WINDOWS];
	struct meter_lane lanes[LANES];

	fill_lanes(lanes, places, w);
	ck_assert_int_eq(meter->ops->together(meter, lanes, 1), -EINVAL);
	ck_assert_int_eq(meter->ops->pages(meter, CHUNKS), 0);
	ck_assert_int_eq(meter->ops->together(meter, lanes, 0), -EINVAL);
	lanes[1].cpu = cpu;
	ck_assert_int_eq(meter->ops->together(meter, lanes, LANES), -EINVAL);
	lanes[1].cpu = CPU_SETSIZE;
	ck_assert_int_eq(meter->ops->together(meter, lanes, LANES), -EINVAL);
	lanes[1].cpu = CPU_SETSIZE - 1;
	ck_assert_int_eq(meter->ops->together(meter, lanes, LANES), -EPERM);
	ck_assert_int_eq(meter->ops->together(meter, lanes, 1), 0);
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
	tcase_add_test(timed, a_flushed_line_is_fetched_from_memory);
	tcase_add_test(timed, gives_pages_anew_and_says_when_it_cannot);
	tcase_add_test(quick, knows_the_time_and_counts_gaps);
	tcase_add_test(quick, rests_at_least_as_long_as_asked);
	tcase_add_test(quick, binds_to_the_cpu_and_lets_go);
	tcase_add_test(quick, the_pool_begins_where_a_large_page_could);
	tcase_add_test(quick, walks_as_many_loads_as_told);
	tcase_add_test(quick, windows_follow_each_other_on_the_clock);
	tcase_add_test(quick, tells_frames_of_chunks_or_that_it_may_not);
	tcase_add_test(quick, refuses_to_move_where_it_may_not_run);
	tcase_add_test(quick, refuses_lanes_that_cannot_run_and_leaves_none_behind);
	if (count_cpus() > 1) {
		tcase_add_test(timed, a_CPU_that_is_left_keeps_what_it_has_cached);
		tcase_add_test(quick, stays_on_the_CPUs_that_the_thread_had);
		tcase_add_test(quick, settles_on_another_CPU_and_lets_go);
		tcase_add_test(quick, goes_on_along_the_cycle_on_another_CPU_and_back);
		tcase_add_test(quick, lanes_start_together_and_all_give_their_windows);
	} else {
		tap_left_out("moves and lanes need a second CPU");
	}
	suite_add_tcase(suite, timed);
	suite_add_tcase(suite, quick);
	return tap_run(suite);
}
