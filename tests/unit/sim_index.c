// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the simulator puts addresses: sets, slices, frames. */
#include <math.h>

#include "../sim/index.h"
#include "../sim/pagemap.h"
#include "tap.h"

#define CHUNKS	40000

static uint32_t frame[CHUNKS];
static struct index x;

static void open_index(struct machine_cache c, uint64_t seed)
{
	struct sonde_rng rng;

	sonde_rng_seed(&rng, seed);
	ck_assert_int_eq(index_open(&x, &c, &rng), 0);
}

static int compare(const void *a, const void *b)
{
	uint32_t p = *(const uint32_t *)a, q = *(const uint32_t *)b;

	return (p > q) - (p < q);
}

/* Chi square of how many lines at @place of the frames fall to each slice. */
static double unevenness(uint32_t slices, uint32_t place)
{
	unsigned int count[64] = { 0 };
	double expected = (double)CHUNKS / slices, chi = 0;

	for (size_t i = 0; i < CHUNKS; i++)
		count[index_slice(&x, index_base(&x, frame[i]), place)]++;
	for (uint32_t s = 0; s < slices; s++)
		chi += pow(count[s] - expected, 2) / expected;
	return chi;
}

START_TEST(no_map_gives_a_frame_twice)
{
	pagemap_fill(frame, CHUNKS, (enum machine_map)_i, 64, 7);
	qsort(frame, CHUNKS, sizeof(*frame), compare);
	ck_assert_uint_lt(frame[CHUNKS - 1], 1U << FRAME_BITS);
	for (size_t i = 1; i < CHUNKS; i++)
		ck_assert_uint_ne(frame[i], frame[i - 1]);
}
END_TEST

START_TEST(maps_differ_by_seed_and_only_by_that)
{
	static uint32_t other[CHUNKS];

	pagemap_fill(frame, CHUNKS, (enum machine_map)_i, 64, 7);
	pagemap_fill(other, CHUNKS, (enum machine_map)_i, 64, 7);
	ck_assert_mem_eq(frame, other, sizeof(frame));
	pagemap_fill(other, CHUNKS, (enum machine_map)_i, 64, 8);
	ck_assert_mem_ne(frame, other, sizeof(frame));
}
END_TEST

/* Chunks whose frame follows the one before. */
static unsigned int count_followers(enum machine_map map)
{
	unsigned int n = 0;

	pagemap_fill(frame, CHUNKS, map, 64, 3);
	for (size_t i = 1; i < CHUNKS; i++)
		n += frame[i] == frame[i - 1] + 1;
	return n;
}

START_TEST(maps_are_as_contiguous_as_they_say)
{
	ck_assert_uint_eq(count_followers(MAP_CONTIGUOUS), CHUNKS - 1);
	ck_assert_uint_lt(count_followers(MAP_RANDOM), 10);
	ck_assert_uint_gt(count_followers(MAP_BUDDY), CHUNKS / 2);
	ck_assert_uint_lt(count_followers(MAP_BUDDY), CHUNKS - CHUNKS / 100);
	pagemap_fill(frame, CHUNKS, MAP_HUGE, 0, 3);
	for (size_t i = 0; i < CHUNKS; i++)
		ck_assert_uint_eq(frame[i], frame[i / 512 * 512] + i % 512);
	ck_assert_uint_eq(frame[512] % 512, 0);
	ck_assert_uint_ne(frame[512], frame[511] + 1);
}
END_TEST

START_TEST(coloured_frames_have_the_colours_in_turn)
{
	pagemap_fill(frame, CHUNKS, MAP_COLOURED, 64, 3);
	for (size_t i = 0; i < CHUNKS; i++)
		ck_assert_uint_eq(frame[i] % 64, i % 64);
}
END_TEST

START_TEST(bits_take_the_low_bits_and_odd_set_counts_the_remainder)
{
	open_index((struct machine_cache){ .bytes = 1 << 20, .ways = 16 }, 1);
	for (uint32_t f = 0; f < 200; f++)
		ck_assert_uint_eq(index_set(&x, index_base(&x, f), 5 * 4), (f * 64 + 5) % 1024);
	open_index((struct machine_cache){ .bytes = 48UL * 1706 * 64, .ways = 48 }, 1);
	for (uint32_t f = 0; f < 200; f++)
		ck_assert_uint_eq(index_set(&x, index_base(&x, f), 63 * 4), (f * 64 + 63) % 1706);
	open_index((struct machine_cache){ .bytes = 1 << 20, .ways = 4, .line = 128 }, 1);
	ck_assert_uint_eq(index_set(&x, index_base(&x, 3), 17), (3 * 32 + 2) % 2048);
}
END_TEST

START_TEST(a_matrix_keeps_bits_6_to_9_and_mixes_those_above)
{
	unsigned int moved = 0, other = 0, count[64] = { 0 };

	pagemap_fill(frame, CHUNKS, MAP_RANDOM, 0, 1);
	open_index((struct machine_cache){ .bytes = 1 << 20, .ways = 16, .index = INDEX_XOR }, 1);
	for (size_t i = 0; i < CHUNKS; i++) {
		uint32_t base = index_base(&x, frame[i]);

		for (uint32_t line = 0; line < 64; line++)
			other += index_set(&x, base, line * 4) % 16 != line % 16;
		moved += index_set(&x, base, 0) != frame[i] * 64 % 1024;
		count[index_set(&x, base, 0) / 16]++;
	}
	ck_assert_uint_eq(other, 0);
	ck_assert_uint_gt(moved, CHUNKS / 2);
	/* 64 classes of pages, of 625 each: 6 standard deviations. */
	for (int c = 0; c < 64; c++)
		ck_assert_double_eq_tol(count[c], CHUNKS / 64.0, 6 * sqrt(CHUNKS / 64.0));
}
END_TEST

/* Of slices, the 99.99 % point of chi square by Wilson and Hilferty. */
static double bound(double dof)
{
	return dof * pow(1 - 2 / (9 * dof) + 3.72 * sqrt(2 / (9 * dof)), 3);
}

START_TEST(a_slice_hash_is_even_for_any_number_of_slices)
{
	static const unsigned int slices[] = { 2, 3, 5, 6, 7, 8, 10, 12, 18, 28, 40, 60 };

	pagemap_fill(frame, CHUNKS, MAP_RANDOM, 0, 1);
	for (size_t i = 0; i < sizeof(slices) / sizeof(slices[0]); i++) {
		open_index((struct machine_cache){ .bytes = slices[i] * 2048UL * 16 * 64, .ways = 16,
						   .index = INDEX_SLICED, .slices = slices[i] }, i);
		ck_assert_double_lt(unevenness(slices[i], 0), bound(slices[i] - 1));
		ck_assert_double_lt(unevenness(slices[i], 77), bound(slices[i] - 1));
	}
}
END_TEST

/* All that 17 bits above a slice's sets can be: every hash comes up 8 times. */
START_TEST(slices_are_even_within_one_set_whatever_the_hash)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		unsigned int count[12] = { 0 };

		open_index((struct machine_cache){ .bytes = 12 * 32768UL * 16 * 64, .ways = 16,
						   .index = INDEX_SLICED, .slices = 12 }, seed);
		for (uint32_t i = 0; i < 1 << 17; i++)
			count[index_slice(&x, index_base(&x, i << 9 | 3), 0)]++;
		ck_assert_uint_eq(index_set(&x, index_base(&x, 77 << 9 | 3), 0) % 32768, 3 * 64);
		for (int s = 0; s < 12; s++)
			ck_assert_double_eq_tol(count[s], (1 << 17) / 12.0, 8);
	}
}
END_TEST

START_TEST(lines_of_a_page_spread_over_slices)
{
	unsigned int seen = 0;

	open_index((struct machine_cache){ .bytes = 8 * 4096UL * 16 * 64, .ways = 16,
					   .index = INDEX_SLICED, .slices = 8 }, 2);
	for (uint32_t line = 0; line < 64; line++)
		seen |= 1U << index_slice(&x, index_base(&x, 12345), line * 4);
	ck_assert_uint_ge((unsigned int)__builtin_popcount(seen), 4);
}
END_TEST

START_TEST(refuses_a_geometry_that_is_none)
{
	static const struct machine_cache bad[] = {
		{ .bytes = 1000, .ways = 16 },
		{ .bytes = 1 << 20, .ways = 0 },
		{ .bytes = 1 << 20, .ways = 16, .line = 48 },
		{ .bytes = 1 << 20, .ways = 16, .line = 8192 },
		{ .bytes = 1 << 20, .ways = 16, .index = INDEX_SLICED, .slices = 3 },
		{ .bytes = 3 << 20, .ways = 16, .index = INDEX_SLICED, .slices = 2 },
	};
	struct sonde_rng rng;

	sonde_rng_seed(&rng, 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_int_lt(index_open(&x, &bad[i], &rng), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sim_index");
	TCase *tc = tcase_create("index");

	tcase_add_loop_test(tc, no_map_gives_a_frame_twice, MAP_RANDOM, MAP_HUGE + 1);
	tcase_add_loop_test(tc, maps_differ_by_seed_and_only_by_that, MAP_RANDOM, MAP_HUGE + 1);
	tcase_add_test(tc, maps_are_as_contiguous_as_they_say);
	tcase_add_test(tc, coloured_frames_have_the_colours_in_turn);
	tcase_add_test(tc, bits_take_the_low_bits_and_odd_set_counts_the_remainder);
	tcase_add_test(tc, a_matrix_keeps_bits_6_to_9_and_mixes_those_above);
	tcase_add_test(tc, a_slice_hash_is_even_for_any_number_of_slices);
	tcase_add_test(tc, slices_are_even_within_one_set_whatever_the_hash);
	tcase_add_test(tc, lines_of_a_page_spread_over_slices);
	tcase_add_test(tc, refuses_a_geometry_that_is_none);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
