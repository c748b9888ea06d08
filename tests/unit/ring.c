// SPDX-License-Identifier: GPL-2.0-or-later
/* The order of a chase: complete, and nothing in it that a prefetcher learns. */
#include "../../lib/meter.h"
#include "../../lib/probe/ring.h"
#include "tap.h"

#define CHUNKS	100
#define LINES	(CHUNKS * METER_CHUNK_LINES)

static uint32_t lines[LINES];

static void make_ring(uint64_t seed)
{
	uint32_t chunks[CHUNKS];
	struct sonde_rng rng;

	/* Every third chunk, backwards: a ring must not assume a run. */
	for (uint32_t i = 0; i < CHUNKS; i++)
		chunks[i] = 3 * (CHUNKS - i);
	sonde_rng_seed(&rng, seed);
	ring_sweeps(&rng, chunks, CHUNKS, lines);
}

static uint32_t page_of(uint32_t line)
{
	return line / METER_CHUNK_LINES;
}

START_TEST(visits_every_line_once)
{
	static unsigned char seen[(3 * CHUNKS + 1) * METER_CHUNK_LINES];

	make_ring(1);
	for (size_t i = 0; i < LINES; i++) {
		ck_assert_uint_eq(page_of(lines[i]) % 3, 0);
		ck_assert_uint_eq(seen[lines[i]]++, 0);
	}
}
END_TEST

START_TEST(visits_a_page_a_few_lines_at_a_time)
{
	unsigned int in_group[3 * CHUNKS + 1] = { 0 };

	make_ring(2);
	for (size_t i = 0; i < RING_GROUP * RING_VISIT; i++)
		in_group[page_of(lines[i])]++;
	for (size_t i = 0; i < 3 * CHUNKS + 1; i++)
		ck_assert(in_group[i] == 0 || in_group[i] == RING_VISIT);
}
END_TEST

START_TEST(keeps_the_two_lines_of_a_pair_half_a_turn_apart)
{
	static size_t when[(3 * CHUNKS + 1) * METER_CHUNK_LINES];
	size_t half = LINES / 2;

	make_ring(3);
	for (size_t i = 0; i < LINES; i++)
		when[lines[i]] = i;
	for (size_t i = 0; i < LINES; i++)
		ck_assert_int_ne(when[lines[i]] < half, when[lines[i] ^ 1] < half);
}
END_TEST

/* Of 256 lines at random, the next one is a neighbour in 1 of 128 cases. */
START_TEST(seldom_goes_to_a_neighbour)
{
	unsigned int neighbours = 0, repeats = 0;

	make_ring(4);
	for (size_t i = 2; i < LINES; i++) {
		uint32_t a = lines[i] - lines[i - 1], b = lines[i - 1] - lines[i - 2];

		neighbours += a == 1 || a == (uint32_t)-1;
		repeats += a == b;
	}
	ck_assert_uint_lt(neighbours, LINES / 64);
	ck_assert_uint_lt(repeats, LINES / 64);
}
END_TEST

START_TEST(is_the_same_for_the_same_seed_only)
{
	static uint32_t first[LINES];
	unsigned int same = 0;

	make_ring(5);
	for (size_t i = 0; i < LINES; i++)
		first[i] = lines[i];
	make_ring(5);
	for (size_t i = 0; i < LINES; i++)
		ck_assert_uint_eq(lines[i], first[i]);
	make_ring(6);
	for (size_t i = 0; i < LINES; i++)
		same += lines[i] == first[i];
	ck_assert_uint_lt(same, LINES / 50);
}
END_TEST

START_TEST(spreads_one_line_a_page_over_all_sets)
{
	unsigned int at[METER_CHUNK_LINES] = { 0 };
	uint32_t chunks[2 * METER_CHUNK_LINES], out[2 * METER_CHUNK_LINES];
	struct sonde_rng rng;

	for (uint32_t i = 0; i < 2 * METER_CHUNK_LINES; i++)
		chunks[i] = i;
	sonde_rng_seed(&rng, 7);
	ring_one_a_page(&rng, chunks, 2 * METER_CHUNK_LINES, out);
	for (size_t i = 0; i < 2 * METER_CHUNK_LINES; i++)
		at[out[i] % METER_CHUNK_LINES]++;
	for (size_t i = 0; i < METER_CHUNK_LINES; i++)
		ck_assert_uint_eq(at[i], 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring");
	TCase *tc = tcase_create("ring");

	tcase_add_test(tc, visits_every_line_once);
	tcase_add_test(tc, visits_a_page_a_few_lines_at_a_time);
	tcase_add_test(tc, keeps_the_two_lines_of_a_pair_half_a_turn_apart);
	tcase_add_test(tc, seldom_goes_to_a_neighbour);
	tcase_add_test(tc, is_the_same_for_the_same_seed_only);
	tcase_add_test(tc, spreads_one_line_a_page_over_all_sets);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
