// SPDX-License-Identifier: GPL-2.0-or-later
/* The simulated machine as a meter: what it answers must follow from its model. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "../../lib/probe/shuffle.h"
#include "../sim/machine.h"
#include "tap.h"

#define KIB	1024UL
#define MIB	(1024 * KIB)
#define LINES_MAX 65536

/* Small, so that everything can be filled; latencies far apart; a fine clock. */
static const struct machine_model plain = {
	.cache = {
		{ .bytes = 4 * KIB, .ways = 4, .cycles = 4 },
		{ .bytes = 16 * KIB, .ways = 4, .cycles = 14 },
		{ .bytes = 64 * KIB, .ways = 8, .cycles = 40 },
	},
	.memory_cycles = 200,
	.map = MAP_CONTIGUOUS,
	.ghz = 1,
	.tick_ghz = 16,
	.max_bytes = 64 * MIB,
};

static struct meter *meter;
static uint32_t places[LINES_MAX];

static void open_machine(const struct machine_model *model, size_t bytes)
{
	ck_assert_int_eq(machine_open(&meter, model, 1), 0);
	ck_assert_int_eq(meter->ops->pages(meter, bytes / METER_CHUNK), 0);
}

static void close_machine(void)
{
	meter->ops->close(meter);
}

/* @n places @step bytes apart, from @from bytes on. */
static void lay(size_t n, size_t step, size_t from)
{
	for (size_t i = 0; i < n; i++)
		places[i] = (uint32_t)((from + i * step) / METER_PLACE);
}

static double cycles_of(const struct meter_window *w, double loads)
{
	return (double)w->ticks / (double)w->chain * meter->chain_cycles / loads;
}

/* Cycles a load along @n places, after two turns. */
static double walk(size_t n)
{
	struct meter_window w;

	meter->ops->link(meter, places, n);
	meter->ops->chase(meter, 2 * n, (unsigned int)(4 * n), &w, 1);
	return cycles_of(&w, 4.0 * (double)n);
}

/* The same of a machine of its own, for lines of @bytes from the start. */
static double walk_of(const struct machine_model *model, size_t bytes)
{
	double cycles;

	open_machine(model, 4 * MIB);
	lay(bytes / 64, 64, 0);
	cycles = walk(bytes / 64);
	close_machine();
	return cycles;
}

static struct machine_cache level(size_t bytes, unsigned int ways, double cycles)
{
	return (struct machine_cache){ .bytes = bytes, .ways = ways, .cycles = cycles };
}

static void assert_near(double a, double b)
{
	ck_assert_double_eq_tol(a, b, 0.01 * b + 0.02);
}

/* ---- levels -------------------------------------------------------------- */

START_TEST(each_level_answers_with_its_latency)
{
	assert_near(walk_of(&plain, 4 * KIB), 4);
	assert_near(walk_of(&plain, 16 * KIB), 14);
	assert_near(walk_of(&plain, 64 * KIB), 40);
	assert_near(walk_of(&plain, 128 * KIB), 200);
}
END_TEST

START_TEST(lines_of_a_way_too_many_miss_and_no_fewer)
{
	double cycles;

	open_machine(&plain, 4 * MIB);
	lay(4, 1 * KIB, 0);
	assert_near(walk(4), 4);
	lay(5, 1 * KIB, 0);
	cycles = walk(5);
	assert_near(cycles, 14);
	lay(9, 8 * KIB, 0);
	assert_near(walk(9), 200);
	close_machine();
}
END_TEST

START_TEST(a_model_changed_a_little_answers_otherwise)
{
	struct machine_model m = plain;

	/* A way more or less, at the same number of sets. */
	m.cache[1].ways = 3;
	m.cache[1].bytes = 12 * KIB;
	ck_assert_double_gt(walk_of(&m, 16 * KIB), 20);
	m.cache[1].ways = 5;
	m.cache[1].bytes = 20 * KIB;
	assert_near(walk_of(&m, 20 * KIB), 14);
	ck_assert_double_gt(walk_of(&plain, 20 * KIB), 20);
	/* A quarter more sets. */
	m = plain;
	m.cache[2].bytes = 80 * KIB;
	assert_near(walk_of(&m, 80 * KIB), 40);
	ck_assert_double_gt(walk_of(&plain, 80 * KIB), 80);
}
END_TEST

START_TEST(the_first_level_is_indexed_virtually_and_others_by_frames)
{
	struct machine_model m = plain;

	m.map = MAP_RANDOM;
	m.cache[0] = level(64 * KIB, 1, 4);
	m.cache[1].bytes = 0;
	assert_near(walk_of(&m, 64 * KIB), 4);
	m.cache[0] = level(1 * KIB, 1, 4);
	m.cache[1] = level(64 * KIB, 1, 14);
	m.cache[2].bytes = 0;
	ck_assert_double_gt(walk_of(&m, 64 * KIB), 30);
}
END_TEST

START_TEST(huge_pages_and_colours_fill_a_physical_cache_evenly)
{
	struct machine_model m = plain;

	m.map = MAP_HUGE;
	assert_near(walk_of(&m, 64 * KIB), 40);
	m.map = MAP_COLOURED;
	m.colours = 16;
	assert_near(walk_of(&m, 64 * KIB), 40);
	m.map = MAP_RANDOM;
	ck_assert_double_gt(walk_of(&m, 64 * KIB), 45);
}
END_TEST

/* First loads of lines that nobody asked for yet: cycles each. */
static double first_touch(size_t n, size_t step, size_t from)
{
	double begin = meter->ops->now(meter);

	lay(n, step, from);
	meter->ops->link(meter, places, n);
	return (meter->ops->now(meter) - begin) * 1e9 / (double)n;
}

START_TEST(lines_differ_by_level)
{
	struct machine_model m = plain;

	m.cache[1].line = 128;
	m.cache[2].line = 128;
	open_machine(&m, 4 * MIB);
	assert_near(first_touch(16, 128, 0), 200);
	assert_near(first_touch(16, 128, 64), 14);
	close_machine();
	/* Shorter below: one line of the first level brings two of the second. */
	m.cache[0].line = 128;
	m.cache[1].line = 64;
	m.cache[2].line = 64;
	open_machine(&m, 4 * MIB);
	assert_near(first_touch(8, 128, 0), 200);
	assert_near(first_touch(8, 128, 64), 4);
	close_machine();
}
END_TEST

/* ---- inclusion ----------------------------------------------------------- */

/* Of lines in the first level that conflict in the second with @n others: cycles. */
static double reload_after(enum machine_inclusion inclusion, size_t n)
{
	struct machine_model m = plain;
	struct meter_window w;
	double cycles;

	m.cache[1].inclusion = inclusion;
	/* One way of 16 KiB below, so that one line pushes out another. */
	m.cache[1].ways = 1;
	m.cache[2].bytes = 0;
	open_machine(&m, 4 * MIB);
	lay(1, 64, 0);
	for (size_t i = 0; i < n; i++)
		places[1 + i] = (uint32_t)((i + 1) * 16 * KIB / METER_PLACE);
	meter->ops->link(meter, places, n + 1);
	meter->ops->chase(meter, 0, 1, &w, 1);
	cycles = cycles_of(&w, 1);
	close_machine();
	return cycles;
}

START_TEST(what_leaves_an_inclusive_level_leaves_those_above)
{
	assert_near(reload_after(NON_INCLUSIVE, 2), 4);
	assert_near(reload_after(INCLUSIVE, 2), 200);
	assert_near(reload_after(INCLUSIVE, 0), 4);
}
END_TEST

START_TEST(an_exclusive_level_adds_its_ways_to_those_above)
{
	struct machine_model m = plain;

	m.cache[2].bytes = 0;
	m.cache[1].inclusion = EXCLUSIVE;
	open_machine(&m, 4 * MIB);
	/* 4 ways of 1 KiB and 4 of 4 KiB: 8 lines at a distance of 4 KiB. */
	lay(8, 4 * KIB, 0);
	assert_near(walk(8), 14);
	lay(9, 4 * KIB, 0);
	assert_near(walk(9), 200);
	close_machine();
	m.cache[1].inclusion = NON_INCLUSIVE;
	open_machine(&m, 4 * MIB);
	lay(5, 4 * KIB, 0);
	assert_near(walk(5), 200);
	close_machine();
}
END_TEST

START_TEST(an_exclusive_level_adds_its_size_to_that_above)
{
	struct machine_model m = plain;

	m.cache[2].bytes = 0;
	m.cache[1].inclusion = EXCLUSIVE;
	assert_near(walk_of(&m, 20 * KIB), 14);
	m.cache[1].inclusion = INCLUSIVE;
	ck_assert_double_gt(walk_of(&m, 20 * KIB), 40);
}
END_TEST

/* ---- flushing ------------------------------------------------------------ */

/* Cycles of the first of @n lines 64 bytes apart, after the one at @flushed bytes was flushed. */
static double reload_flushed(const struct machine_model *m, size_t n, uint32_t flushed)
{
	const uint32_t place = flushed / METER_PLACE;
	struct meter_window w;
	double cycles;

	open_machine(m, 4 * MIB);
	lay(n, 64, 0);
	meter->ops->link(meter, places, n);
	ck_assert_int_eq(meter->ops->flush(meter, &place, 1), 0);
	meter->ops->chase(meter, 0, 1, &w, 1);
	cycles = cycles_of(&w, 1);
	close_machine();
	return cycles;
}

START_TEST(what_is_flushed_leaves_every_level_and_nothing_else_does)
{
	const size_t first = 4 * KIB / 64, second = 16 * KIB / 64;
	struct machine_model m = plain;

	assert_near(reload_flushed(&m, first, 0), 200);
	assert_near(reload_flushed(&m, first, 48), 200);
	assert_near(reload_flushed(&m, first, 64), 4);
	assert_near(reload_flushed(&m, second, 0), 200);
	assert_near(reload_flushed(&m, second, 64), 14);
	m.cache[1].inclusion = EXCLUSIVE;
	assert_near(reload_flushed(&m, second, 0), 200);
	m.cache[1].inclusion = INCLUSIVE;
	assert_near(reload_flushed(&m, first, 0), 200);
}
END_TEST

START_TEST(each_level_loses_its_own_line)
{
	const size_t second = 16 * KIB / 64;
	struct machine_model m = plain;

	m.cache[1].line = 128;
	/* The second level's line is gone, the third's is another one. */
	assert_near(reload_flushed(&m, second, 64), 40);
	assert_near(reload_flushed(&m, second, 128), 14);
	m.cache[2].line = 128;
	assert_near(reload_flushed(&m, second, 64), 200);
	/* The first level's line is another one. */
	assert_near(reload_flushed(&m, 1, 64), 4);
}
END_TEST

/* ---- translation --------------------------------------------------------- */

START_TEST(TLBs_cost_what_they_say_beyond_what_they_hold)
{
	struct machine_model m = plain;

	m.tlb[0] = (struct machine_tlb){ 16, 4, 7 };
	m.tlb[1] = (struct machine_tlb){ 64, 8, 30 };
	m.cache[0] = level(64 * KIB, 16, 4);
	m.cache[1].bytes = 0;
	open_machine(&m, 4 * MIB);
	lay(16, 4 * KIB + 64, 0);
	assert_near(walk(16), 4);
	lay(64, 4 * KIB + 64, 0);
	assert_near(walk(64), 11);
	lay(128, 4 * KIB + 64, 0);
	assert_near(walk(128), 41);
	close_machine();
	m.map = MAP_HUGE;
	open_machine(&m, 4 * MIB);
	lay(128, 4 * KIB + 64, 0);
	assert_near(walk(128), 4);
	close_machine();
}
END_TEST

/* ---- prefetchers --------------------------------------------------------- */

/* Cycles a line of going once through @n new lines @step bytes apart. */
static double stream(unsigned int prefetch, size_t n, size_t step)
{
	struct machine_model m = plain;
	double cycles;

	m.prefetch = prefetch;
	m.cache[1].bytes = 64 * KIB;
	m.cache[2].bytes = 1 * MIB;
	open_machine(&m, 16 * MIB);
	cycles = first_touch(n, step, 0);
	close_machine();
	return cycles;
}

START_TEST(prefetchers_cover_what_they_are_for_and_nothing_else)
{
	assert_near(stream(0, 1000, 64), 200);
	/* Half of the lines come with the other of their pair. */
	ck_assert_double_lt(stream(PREFETCH_PAIR, 1000, 64), 120);
	assert_near(stream(PREFETCH_PAIR, 1000, 128), 200);
	ck_assert_double_lt(stream(PREFETCH_STREAM, 1000, 64), 120);
	/* Four lines ahead are 56 cycles ahead, and a line takes 200: the rest is waited for. */
	ck_assert_double_gt(stream(PREFETCH_STREAM, 1000, 64), 40);
	assert_near(stream(PREFETCH_STREAM, 1000, 1024), 200);
	ck_assert_double_lt(stream(PREFETCH_STRIDE, 1000, 512), 160);
	assert_near(stream(PREFETCH_STRIDE, 1000, 4096), 200);
	assert_near(stream(PREFETCH_STRIDE, 500, 4160), 200);
	ck_assert_double_lt(stream(PREFETCH_NEXT, 1000, 64), 190);
	assert_near(stream(PREFETCH_NEXT, 1000, 128), 200);
}
END_TEST

/* The same four lines of page after page, too far apart for any other prefetcher. */
START_TEST(a_region_prefetcher_learns_which_lines_of_a_page_are_used)
{
	struct machine_model m = plain;
	double cycles[2];

	m.cache[1].bytes = 64 * KIB;
	m.cache[2].bytes = 1 * MIB;
	for (int on = 0; on < 2; on++) {
		double begin;

		m.prefetch = on ? PREFETCH_REGION : 0;
		open_machine(&m, 4 * MIB);
		for (uint32_t i = 0; i < 4000; i++)
			places[i] = i / 4 * METER_CHUNK_PLACES + "\0\145\50\310"[i % 4] % 256U;
		begin = meter->ops->now(meter);
		meter->ops->link(meter, places, 4000);
		cycles[on] = (meter->ops->now(meter) - begin) * 1e9 / 4000;
		close_machine();
	}
	assert_near(cycles[0], 200);
	ck_assert_double_lt(cycles[1], 140);
}
END_TEST

START_TEST(a_prefetch_takes_a_place_in_the_cache)
{
	struct machine_model m = plain;

	/* Lines of every other pair fill half of the second level, their pairs the other. */
	assert_near(walk_of(&m, 16 * KIB), 14);
	open_machine(&m, 4 * MIB);
	lay(256, 128, 0);
	assert_near(walk(256), 40);
	lay(128, 128, 0);
	assert_near(walk(128), 14);
	close_machine();
	m.prefetch = PREFETCH_PAIR;
	open_machine(&m, 4 * MIB);
	lay(128, 128, 0);
	places[128] = (uint32_t)(32 * KIB / METER_PLACE);
	ck_assert_double_gt(walk(129), 14.5);
	close_machine();
}
END_TEST

/* ---- time ---------------------------------------------------------------- */

START_TEST(the_counter_advances_in_steps)
{
	struct machine_model m = plain;
	struct meter_window w[200];
	unsigned int odd = 0;

	m.tick_ghz = 2.6;
	m.tick_step = 26;
	open_machine(&m, MIB);
	lay(4, 64, 0);
	meter->ops->link(meter, places, 4);
	meter->ops->chase(meter, 0, 37, w, 200);
	for (int i = 0; i < 200; i++) {
		ck_assert_uint_eq(w[i].ticks % 26, 0);
		ck_assert_uint_eq(w[i].chain % 26, 0);
		ck_assert_uint_eq(w[i].begin % 26, 0);
		odd += w[i].ticks != w[0].ticks;
	}
	ck_assert_uint_gt(odd, 0);
	close_machine();
}
END_TEST

START_TEST(windows_follow_each_other_and_time_is_the_loads)
{
	struct meter_window w[3];
	double begin;

	open_machine(&plain, MIB);
	lay(4, 64, 0);
	meter->ops->link(meter, places, 4);
	begin = meter->ops->now(meter);
	meter->ops->chase(meter, 100, 1000, w, 3);
	assert_near((meter->ops->now(meter) - begin) * 1e9, 400 + 3 * (4000 + 1024));
	assert_near((double)(w[1].begin - w[0].begin), 16 * 5024);
	assert_near((double)w[0].ticks, 16 * 4000);
	close_machine();
}
END_TEST

START_TEST(time_passes_while_it_rests)
{
	double before;

	open_machine(&plain, MIB);
	before = meter->ops->now(meter);
	meter->ops->rest(meter, 1.5);
	ck_assert_double_eq_tol(meter->ops->now(meter) - before, 1.5, 1e-9);
}
END_TEST

START_TEST(gaps_come_as_often_and_are_as_long_as_the_model_says)
{
	static struct meter_window w[100000];
	struct machine_model m = plain;
	double hit = 0, most = 0, extra;

	m.noise = (struct machine_noise){ .gaps = 460, .gap_us = { 12, 38 } };
	open_machine(&m, MIB);
	ck_assert_double_eq_tol(meter->ops->gaps(meter, 10), 460, 460 * 0.1);
	lay(4, 64, 0);
	meter->ops->link(meter, places, 4);
	/* 0.4 seconds and a quarter more of chains. */
	meter->ops->chase(meter, 0, 1000, w, 100000);
	for (int i = 0; i < 100000; i++) {
		extra = (double)w[i].ticks / 16 - 4000;
		if (extra < 1000)
			continue;
		hit++;
		ck_assert_double_gt(extra, 11900);
		most = fmax(most, extra);
	}
	ck_assert_double_eq_tol(hit, 460 * 0.4, 60);
	ck_assert_double_gt(most, 34000);
	close_machine();
}
END_TEST

/* Cycles a load of @bytes, over a long time. */
static double walk_long(const struct machine_model *model, size_t bytes)
{
	struct meter_window w;

	open_machine(model, 4 * MIB);
	lay(bytes / 64, 64, 0);
	meter->ops->link(meter, places, bytes / 64);
	meter->ops->chase(meter, bytes / 64, 300000, &w, 1);
	close_machine();
	return (double)w.ticks / 16 / 300000;
}

START_TEST(gaps_and_slices_leave_caches_disturbed)
{
	struct machine_model m = plain;

	m.noise = (struct machine_noise){ .gaps = 100000, .gap_lines = 30 };
	ck_assert_double_gt(walk_long(&m, 4 * KIB), walk_long(&plain, 4 * KIB) + 0.1);
	m.noise = (struct machine_noise){ .slices = 20000 };
	ck_assert_double_gt(walk_long(&m, 4 * KIB), walk_long(&plain, 4 * KIB) + 0.1);
	m.noise = (struct machine_noise){ .evictions = 1e6 };
	ck_assert_double_gt(walk_long(&m, 4 * KIB), walk_long(&plain, 4 * KIB) + 0.05);
	m.noise = (struct machine_noise){ .spikes = 1e5, .spike_ns = 2000 };
	/* A fifth of its time again. */
	ck_assert_double_eq_tol(walk_long(&m, 4 * KIB), 4.8, 0.3);
}
END_TEST

START_TEST(the_core_clock_drifts_and_the_chain_shows_it)
{
	struct machine_model m = plain;
	struct meter_window w[200];
	double least = INFINITY, most = 0;

	m.noise.drift = 0.02;
	open_machine(&m, MIB);
	lay(4, 64, 0);
	meter->ops->link(meter, places, 4);
	for (int i = 0; i < 200; i++) {
		meter->ops->chase(meter, 100000, 1000, &w[i], 1);
		least = fmin(least, (double)w[i].chain);
		most = fmax(most, (double)w[i].chain);
		ck_assert_double_eq_tol(cycles_of(&w[i], 1000), 4, 0.1);
	}
	ck_assert_double_gt(most / least, 1.02);
	ck_assert_double_lt(most / least, 1.042);
	close_machine();
}
END_TEST

START_TEST(a_neighbour_takes_a_changing_part_of_the_last_level)
{
	struct machine_model m = plain;
	double least = INFINITY, most = 0, cycles;

	m.noise = (struct machine_noise){ .neighbour = 0.5, .neighbour_hz = 1e6 };
	open_machine(&m, 4 * MIB);
	lay(60 * KIB / 64, 64, 0);
	for (int i = 0; i < 60; i++) {
		cycles = walk(60 * KIB / 64);
		least = fmin(least, cycles);
		most = fmax(most, cycles);
		meter->ops->gaps(meter, 0.02);
	}
	ck_assert_double_gt(most, 100);
	ck_assert_double_lt(least, 0.8 * most);
	/* What is above it is the CPU's own. */
	lay(14 * KIB / 64, 64, 0);
	assert_near(walk(14 * KIB / 64), 14);
	close_machine();
}
END_TEST

START_TEST(the_same_seed_gives_the_same_run)
{
	struct machine_model m = plain;
	struct meter_window w[2][50];

	m.noise = (struct machine_noise){ .gaps = 10000, .gap_us = { 1, 9 }, .gap_lines = 9,
					  .neighbour = 0.5, .neighbour_hz = 1e5, .drift = 0.01 };
	m.map = MAP_RANDOM;
	m.cache[2].policy = POLICY_RANDOM;
	for (int i = 0; i < 2; i++) {
		open_machine(&m, 4 * MIB);
		lay(1000, 64, 0);
		meter->ops->link(meter, places, 1000);
		meter->ops->chase(meter, 100, 1000, w[i], 50);
		close_machine();
	}
	ck_assert_mem_eq(w[0], w[1], sizeof(w[0]));
}
END_TEST

/* ---- frames -------------------------------------------------------------- */

START_TEST(frames_are_told_truly_falsely_or_not_at_all)
{
	struct machine_model m = plain;
	uint64_t frame[64];
	uint32_t same[16];
	double cycles[2];

	m.map = MAP_RANDOM;
	m.cache[1].bytes = 0;
	m.cache[0] = level(64, 1, 4);
	/* 16 colours of pages. */
	m.cache[1] = level(512 * KIB, 8, 14);
	m.cache[2].bytes = 0;
	for (int guest = 0; guest < 2; guest++) {
		unsigned int n = 0;

		m.frames = guest ? FRAMES_GUEST : FRAMES_TRUE;
		open_machine(&m, 4 * MIB);
		for (size_t i = 0; i < 1024 && n < 16; i += 64) {
			ck_assert_int_eq(meter->ops->frames(meter, i, 64, frame), 0);
			for (uint32_t j = 0; j < 64 && n < 16; j++)
				if (frame[j] % 16 == 3)
					same[n++] = (uint32_t)i + j;
		}
		ck_assert_uint_eq(n, 16);
		for (uint32_t j = 0; j < 16; j++)
			places[j] = same[j] * METER_CHUNK_PLACES;
		cycles[guest] = walk(16);
		close_machine();
	}
	assert_near(cycles[0], 200);
	assert_near(cycles[1], 14);
	m.frames = FRAMES_REFUSED;
	open_machine(&m, 4 * MIB);
	ck_assert_int_eq(meter->ops->frames(meter, 0, 1, frame), -EPERM);
	close_machine();
}
END_TEST

START_TEST(new_pages_are_other_frames_and_nothing_of_the_old_is_cached)
{
	struct machine_model m = plain;
	uint64_t a[16], b[16];

	m.map = MAP_RANDOM;
	open_machine(&m, MIB);
	assert_near(first_touch(32, 64, 0), 200);
	meter->ops->frames(meter, 0, 16, a);
	ck_assert_int_eq(meter->ops->pages(meter, 256), 0);
	meter->ops->frames(meter, 0, 16, b);
	ck_assert_mem_ne(a, b, sizeof(a));
	assert_near(first_touch(32, 64, 0), 200);
	ck_assert_int_eq(meter->ops->pages(meter, m.max_bytes / METER_CHUNK + 1), -ENOMEM);
	close_machine();
}
END_TEST

/* ---- several CPUs -------------------------------------------------------- */

/* CPU 0 loads 8 KiB, CPU @cpu reads it: cycles a load. */
static double hand_over(const struct machine_model *model, unsigned int cpu)
{
	struct meter_window w;
	double cycles;

	open_machine(model, 4 * MIB);
	lay(128, 64, 0);
	meter->ops->link(meter, places, 128);
	meter->ops->chase(meter, 256, 1, &w, 1);
	ck_assert_int_eq(meter->ops->move(meter, cpu), 0);
	meter->ops->chase(meter, 0, 128, &w, 1);
	cycles = cycles_of(&w, 128);
	close_machine();
	return cycles;
}

START_TEST(a_line_is_handed_over_through_the_nearest_level_that_is_shared)
{
	struct machine_model m = plain;

	m.cpus = 4;
	m.cache[2].shared = 2;
	ck_assert_double_eq_tol(hand_over(&m, 1), 40, 4);
	ck_assert_double_eq_tol(hand_over(&m, 2), 200, 4);
	m.cache[1].shared = 2;
	ck_assert_double_eq_tol(hand_over(&m, 1), 14, 4);
	/* Sharing flipped: nobody shares anything. */
	m.cache[1].shared = m.cache[2].shared = 1;
	ck_assert_double_eq_tol(hand_over(&m, 1), 200, 4);
	m.transfer_cycles = 120;
	ck_assert_double_eq_tol(hand_over(&m, 1), 120, 4);
}
END_TEST

START_TEST(a_line_in_another_CPUs_caches_is_snooped_through_an_exclusive_level)
{
	struct machine_model m = plain;

	m.cpus = 2;
	m.cache[2].shared = 2;
	m.cache[2].inclusion = EXCLUSIVE;
	m.snoop_cycles = 20;
	ck_assert_double_eq_tol(hand_over(&m, 1), 60, 4);
}
END_TEST

START_TEST(writing_a_line_takes_it_from_other_CPUs)
{
	struct machine_model m = plain;
	struct meter_window w;

	m.cpus = 2;
	m.cache[2].shared = 2;
	open_machine(&m, MIB);
	lay(32, 64, 0);
	meter->ops->link(meter, places, 32);
	ck_assert_int_eq(meter->ops->move(meter, 1), 0);
	meter->ops->link(meter, places, 32);
	ck_assert_int_eq(meter->ops->move(meter, 0), 0);
	meter->ops->chase(meter, 0, 32, &w, 1);
	ck_assert_double_eq_tol(cycles_of(&w, 32), 40, 6);
	close_machine();
}
END_TEST

START_TEST(refuses_CPUs_that_are_not_there)
{
	struct meter_window w;
	uint32_t place = 0;
	struct meter_lane lane = { .cpu = 1, .places = &place, .n = 1, .steps = 1, .out = &w,
				   .nout = 1 };

	open_machine(&plain, MIB);
	ck_assert_int_eq(meter->ops->move(meter, 1), -EINVAL);
	ck_assert_int_eq(meter->ops->move(meter, 0), 0);
	ck_assert_int_eq(meter->ops->together(meter, &lane, 1), -EINVAL);
	close_machine();
}
END_TEST

/* Two CPUs walk 40 KiB each: cycles a load, and that their windows overlap. */
static double contend(const struct machine_model *model)
{
	static struct meter_window w[2][50];
	struct meter_lane lane[2];
	double sum = 0;

	open_machine(model, 4 * MIB);
	lay(1280, 64, 0);
	for (unsigned int i = 0; i < 2; i++)
		lane[i] = (struct meter_lane){ .cpu = i, .places = places + i * 640, .n = 640,
					       .skip = 1280, .steps = 640, .out = w[i],
					       .nout = 50 };
	ck_assert_int_eq(meter->ops->together(meter, lane, 2), 0);
	for (int i = 0; i < 50; i++) {
		sum += cycles_of(&w[0][i], 640) + cycles_of(&w[1][i], 640);
		if (i)
			ck_assert_uint_ge(w[0][i].begin, w[0][i - 1].begin + w[0][i - 1].ticks);
	}
	ck_assert_uint_lt(w[1][0].begin, w[0][1].begin);
	ck_assert_uint_lt(w[0][0].begin, w[1][1].begin);
	close_machine();
	return sum / 100;
}

START_TEST(CPUs_that_run_together_share_what_is_shared)
{
	struct machine_model m = plain;

	m.cpus = 2;
	assert_near(contend(&m), 40);
	m.cache[2].shared = 2;
	ck_assert_double_gt(contend(&m), 100);
	m.cache[2].bytes = 128 * KIB;
	assert_near(contend(&m), 40);
}
END_TEST

START_TEST(memory_is_as_wide_as_the_model_says)
{
	struct machine_model m = plain;

	m.cpus = 2;
	m.cache[0].bytes = 0;
	assert_near(contend(&m), 200);
	/* A line keeps it busy for 150 cycles: two in 300, so each takes 300. */
	m.memory_gap = 150;
	ck_assert_double_eq_tol(contend(&m), 300, 15);
}
END_TEST

START_TEST(refuses_models_that_make_no_sense)
{
	struct machine_model m = plain;
	struct meter *none = NULL;

	m.cache[1].bytes += 64;
	ck_assert_int_eq(machine_open(&none, &m, 1), -EINVAL);
	m = plain;
	m.cache[1].inclusion = EXCLUSIVE;
	m.cache[1].line = 128;
	ck_assert_int_eq(machine_open(&none, &m, 1), -EINVAL);
	m = plain;
	m.cache[2] = level(128 * 64 * 64, 128, 40);
	m.cache[2].policy = POLICY_PLRU;
	ck_assert_int_eq(machine_open(&none, &m, 1), -EINVAL);
	ck_assert_ptr_null(none);
}
END_TEST

static void add_levels(TCase *tc)
{
	tcase_add_test(tc, each_level_answers_with_its_latency);
	tcase_add_test(tc, lines_of_a_way_too_many_miss_and_no_fewer);
	tcase_add_test(tc, a_model_changed_a_little_answers_otherwise);
	tcase_add_test(tc, the_first_level_is_indexed_virtually_and_others_by_frames);
	tcase_add_test(tc, huge_pages_and_colours_fill_a_physical_cache_evenly);
	tcase_add_test(tc, lines_differ_by_level);
	tcase_add_test(tc, what_leaves_an_inclusive_level_leaves_those_above);
	tcase_add_test(tc, an_exclusive_level_adds_its_ways_to_those_above);
	tcase_add_test(tc, an_exclusive_level_adds_its_size_to_that_above);
	tcase_add_test(tc, what_is_flushed_leaves_every_level_and_nothing_else_does);
	tcase_add_test(tc, each_level_loses_its_own_line);
	tcase_add_test(tc, TLBs_cost_what_they_say_beyond_what_they_hold);
	tcase_add_test(tc, prefetchers_cover_what_they_are_for_and_nothing_else);
	tcase_add_test(tc, a_region_prefetcher_learns_which_lines_of_a_page_are_used);
	tcase_add_test(tc, a_prefetch_takes_a_place_in_the_cache);
}

static void add_rest(TCase *tc)
{
	tcase_add_test(tc, the_counter_advances_in_steps);
	tcase_add_test(tc, windows_follow_each_other_and_time_is_the_loads);
	tcase_add_test(tc, time_passes_while_it_rests);
	tcase_add_test(tc, gaps_come_as_often_and_are_as_long_as_the_model_says);
	tcase_add_test(tc, gaps_and_slices_leave_caches_disturbed);
	tcase_add_test(tc, the_core_clock_drifts_and_the_chain_shows_it);
	tcase_add_test(tc, a_neighbour_takes_a_changing_part_of_the_last_level);
	tcase_add_test(tc, the_same_seed_gives_the_same_run);
	tcase_add_test(tc, frames_are_told_truly_falsely_or_not_at_all);
	tcase_add_test(tc, new_pages_are_other_frames_and_nothing_of_the_old_is_cached);
	tcase_add_test(tc, a_line_is_handed_over_through_the_nearest_level_that_is_shared);
	tcase_add_test(tc, a_line_in_another_CPUs_caches_is_snooped_through_an_exclusive_level);
	tcase_add_test(tc, writing_a_line_takes_it_from_other_CPUs);
	tcase_add_test(tc, refuses_CPUs_that_are_not_there);
	tcase_add_test(tc, CPUs_that_run_together_share_what_is_shared);
	tcase_add_test(tc, memory_is_as_wide_as_the_model_says);
	tcase_add_test(tc, refuses_models_that_make_no_sense);
}

int main(void)
{
	Suite *suite = suite_create("sim_machine");
	TCase *levels = tcase_create("levels"), *rest = tcase_create("machine");

	tcase_set_timeout(levels, 60);
	tcase_set_timeout(rest, 60);
	add_levels(levels);
	add_rest(rest);
	suite_add_tcase(suite, levels);
	suite_add_tcase(suite, rest);
	return tap_run(suite);
}
