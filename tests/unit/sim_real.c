// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The simulator against real machines: the same walks give what was measured
 * there, within the spread that was measured.
 */
#include "../../lib/probe/shuffle.h"
#include "../sim/real.h"
#include "tap.h"

#define LINES_MAX	(1 << 20)
/* Frames that are this far apart share all sets of a second level without a hash. */
#define ALIKE		(1 << 10)

static struct meter *meter;
static uint32_t places[LINES_MAX];
static struct sonde_rng rng;

static void open_machine(const struct machine_model *model, size_t chunks)
{
	struct machine_model m = *model;

	/* Latencies are what is compared, not how finely they can be measured. */
	m.tick_step = 1;
	m.tick_ghz = 16;
	sonde_rng_seed(&rng, 1);
	ck_assert_int_eq(machine_open(&meter, &m, 1), 0);
	ck_assert_int_eq(meter->ops->pages(meter, chunks), 0);
}

/* Cycles a load along @n places, in random order. */
static double walk(size_t n, unsigned int turns)
{
	struct meter_window w;

	shuffle(&rng, places, n);
	meter->ops->link(meter, places, n);
	meter->ops->chase(meter, turns * n, (unsigned int)(turns * n), &w, 1);
	return (double)w.ticks / (double)w.chain * meter->chain_cycles / (double)(turns * n);
}

/*
 * EPYC Turin (Zen 5), cycles a load of K lines of one set of the second level,
 * least and most over two runs and several sets.
 */
static const struct {
	unsigned int lines;
	double least, most;
} turin_sweep[] = {
	{ 17, 19, 26 }, { 18, 24, 32 }, { 19, 28, 37 }, { 20, 32, 42 }, { 22, 36, 48 },
	{ 24, 42, 57 }, { 28, 42, 57 }, { 32, 42, 57 }, { 40, 42, 57 },
};

/* The sweep of a model: 1 if all of it is within what was measured. */
static int sweep_fits(const struct machine_model *model)
{
	struct machine_model m = *model;
	int fits = 1;

	/* Chunks alike in their low bits, and no hash: lines of one set. */
	m.map = MAP_CONTIGUOUS;
	m.cache[1].index = INDEX_BITS;
	open_machine(&m, (size_t)ALIKE * 40 + 1);
	for (size_t i = 0; i < sizeof(turin_sweep) / sizeof(turin_sweep[0]); i++) {
		unsigned int k = turin_sweep[i].lines;
		double cycles;

		for (uint32_t j = 0; j < k; j++)
			places[j] = j * ALIKE * METER_CHUNK_PLACES + 20;
		cycles = walk(k, 50);
		fits &= cycles >= turin_sweep[i].least && cycles <= turin_sweep[i].most;
	}
	meter->ops->close(meter);
	return fits;
}

START_TEST(the_sweep_of_one_set_is_that_of_the_real_second_level)
{
	ck_assert(sweep_fits(&real_turin));
}
END_TEST

START_TEST(the_sweep_tells_policies_and_ways_apart)
{
	struct machine_model m = real_turin;
	unsigned int fit = 0;

	for (int p = 0; p < MACHINE_POLICIES; p++) {
		m.cache[1].policy = (enum machine_policy)p;
		fit += (unsigned int)sweep_fits(&m);
	}
	ck_assert_uint_eq(fit, 1);
	m = real_turin;
	m.cache[1].ways = 15;
	m.cache[1].bytes = m.cache[1].bytes / 16 * 15;
	ck_assert(!sweep_fits(&m));
	m.cache[1].ways = 17;
	m.cache[1].bytes = m.cache[1].bytes / 15 * 17;
	ck_assert(!sweep_fits(&m));
}
END_TEST

/* Cycles a load of all lines of @bytes at random pages. */
static double curve_point(const struct machine_model *model, size_t bytes)
{
	struct machine_model m = *model;
	double cycles;

	/* The measured walk kept its pages within the TLB's reach or subtracted it. */
	m.tlb[0].pages = m.tlb[1].pages = 0;
	m.prefetch = 0;
	open_machine(&m, bytes / METER_CHUNK);
	for (size_t i = 0; i < bytes / 64; i++)
		places[i] = (uint32_t)(i * 4);
	cycles = walk(bytes / 64, 2);
	meter->ops->close(meter);
	return cycles;
}

/* Measured on the same machine, with windows, in cycles. */
START_TEST(the_curve_is_that_of_the_real_machine)
{
	static const struct {
		size_t kib;
		double least, most;
	} turin[] = {
		{ 32, 4, 4.3 }, { 40, 4, 4.3 }, { 56, 10, 14.5 }, { 256, 13.5, 14.7 },
		{ 2048, 36, 48 }, { 4096, 44, 52 }, { 6144, 46, 55 },
	};

	for (size_t i = 0; i < sizeof(turin) / sizeof(turin[0]); i++) {
		double cycles = curve_point(&real_turin, turin[i].kib << 10);

		ck_assert_double_ge(cycles, turin[i].least);
		ck_assert_double_le(cycles, turin[i].most);
	}
}
END_TEST

/* Measured: beyond 96 pages, 7 cycles. */
START_TEST(translation_costs_what_it_cost_on_the_real_machine)
{
	double fits, misses;

	open_machine(&real_turin, 1024);
	/* One line a page, all lines in different sets of the first level. */
	for (uint32_t i = 0; i < 96; i++)
		places[i] = i * METER_CHUNK_PLACES + i % 64 * 4;
	fits = walk(96, 20);
	for (uint32_t i = 0; i < 192; i++)
		places[i] = i * METER_CHUNK_PLACES + i % 64 * 4;
	misses = walk(192, 20);
	meter->ops->close(meter);
	ck_assert_double_eq_tol(fits, 4, 0.1);
	ck_assert_double_eq_tol(misses, 11, 0.2);
}
END_TEST

/* Measured on a Xeon of the Emerald Rapids generation: 5, 16, 105 and 390 cycles. */
START_TEST(emerald_rapids_has_its_latencies)
{
	ck_assert_double_eq_tol(curve_point(&real_emerald_rapids, 40 << 10), 5, 0.1);
	ck_assert_double_eq_tol(curve_point(&real_emerald_rapids, 512 << 10), 16, 0.6);
	ck_assert_double_eq_tol(curve_point(&real_emerald_rapids, 40 << 20), 105, 8);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sim_real");
	TCase *tc = tcase_create("real");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, the_sweep_of_one_set_is_that_of_the_real_second_level);
	tcase_add_test(tc, the_sweep_tells_policies_and_ways_apart);
	tcase_add_test(tc, the_curve_is_that_of_the_real_machine);
	tcase_add_test(tc, translation_costs_what_it_cost_on_the_real_machine);
	tcase_add_test(tc, emerald_rapids_has_its_latencies);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
