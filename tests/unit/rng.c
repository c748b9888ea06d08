// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The generator against the numbers of its authors' code: xoshiro256starstar.c
 * with state { 1, 2, 3, 4 } and splitmix64.c with x = 1234567.
 */
#include <stdint.h>

#include "../../lib/rng.h"
#include "tap.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

START_TEST(gives_the_numbers_of_xoshiro256starstar)
{
	static const uint64_t expected[] = {
		UINT64_C(11520), UINT64_C(0), UINT64_C(1509978240), UINT64_C(1215971899390074240),
		UINT64_C(1216172134540287360), UINT64_C(607988272756665600),
		UINT64_C(16172922978634559625), UINT64_C(8476171486693032832),
		UINT64_C(10595114339597558777), UINT64_C(2904607092377533576),
	};
	struct sonde_rng rng = { { 1, 2, 3, 4 } };

	for (size_t i = 0; i < COUNT(expected); i++)
		ck_assert_uint_eq(sonde_rng_next(&rng), expected[i]);
}
END_TEST

START_TEST(seeds_with_the_numbers_of_splitmix64)
{
	static const uint64_t expected[] = {
		UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
		UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
	};
	struct sonde_rng rng;

	sonde_rng_seed(&rng, 1234567);
	for (size_t i = 0; i < COUNT(expected); i++)
		ck_assert_uint_eq(rng.s[i], expected[i]);
}
END_TEST

/* 6 faces, 60,000 throws: chi-squared of 5 degrees is below 20.5 in 99.9 %. */
START_TEST(every_face_of_a_die_is_as_likely)
{
	struct sonde_rng rng;
	double seen[6] = { 0 }, chi2 = 0;

	sonde_rng_seed(&rng, 0);
	for (int i = 0; i < 60000; i++)
		seen[sonde_rng_below(&rng, 6)]++;
	for (int i = 0; i < 6; i++)
		chi2 += (seen[i] - 1e4) * (seen[i] - 1e4) / 1e4;
	ck_assert_double_lt(chi2, 20.5);
}
END_TEST

/*
 * 3 * 2^62 does not divide 2^64: a plain remainder would put half of the numbers
 * into the lowest third, the high half of a plain product would make half of
 * them multiples of 3 or the like.
 */
START_TEST(a_large_bound_is_not_biased)
{
	uint64_t bound = UINT64_C(3) << 62, x;
	struct sonde_rng rng;
	int third[3] = { 0 }, rest[3] = { 0 };

	sonde_rng_seed(&rng, 5);
	for (int i = 0; i < 30000; i++) {
		x = sonde_rng_below(&rng, bound);
		ck_assert(x < bound);
		third[x / (bound / 3)]++;
		rest[x % 3]++;
	}
	/* 400 of 10,000 is five standard deviations. */
	for (int i = 0; i < 3; i++) {
		ck_assert_int_lt(abs(third[i] - 10000), 400);
		ck_assert_int_lt(abs(rest[i] - 10000), 400);
	}
}
END_TEST

START_TEST(below_1_there_is_only_0)
{
	struct sonde_rng rng;

	sonde_rng_seed(&rng, 9);
	for (int i = 0; i < 100; i++)
		ck_assert_uint_eq(sonde_rng_below(&rng, 1), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rng");
	TCase *tc = tcase_create("rng");

	tcase_add_test(tc, gives_the_numbers_of_xoshiro256starstar);
	tcase_add_test(tc, seeds_with_the_numbers_of_splitmix64);
	tcase_add_test(tc, every_face_of_a_die_is_as_likely);
	tcase_add_test(tc, a_large_bound_is_not_biased);
	tcase_add_test(tc, below_1_there_is_only_0);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
