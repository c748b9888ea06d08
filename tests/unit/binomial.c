// SPDX-License-Identifier: GPL-2.0-or-later
/* The binomial tail against values from rational arithmetic. */
#include <math.h>

#include "../../lib/binomial.h"
#include "tap.h"

static const struct {
	double n, p;
	unsigned int k;
	double above;
} known[] = {
	{ 10, 1.0 / 2, 3, 8.28125000000000000e-1 },
	{ 512, 1.0 / 64, 8, 4.07449773634534615e-1 },
	{ 256, 1.0 / 64, 8, 2.04344529521030677e-2 },
	{ 20, 1.0 / 10, 0, 8.78423345409430712e-1 },
	{ 3, 1.0 / 3, 2, 3.70370370370370370e-2 },
	{ 16384, 1.0 / 1024, 16, 4.34037569097315109e-1 },
	{ 65536, 1.0 / 4096, 16, 4.34037576497184275e-1 },
	{ 65536, 1.0 / 65536, 1, 2.64241117649977447e-1 },
	{ 65536, 1.0 / 512, 16, 1 },
	{ 40000, 1.0 / 8192, 24, 9.83836624962751552e-11 },
	{ 65536, 1.0 / 16384, 31, 1.45187543248037906e-18 },
	{ 1000, 1.0 / 1000, 30, 2.97343824638888961e-35 },
};

START_TEST(agrees_with_exact_arithmetic_to_nine_digits)
{
	double got = binomial_above(known[_i].n, known[_i].p, known[_i].k);

	ck_assert_msg(fabs(got - known[_i].above) <= 1e-9 * known[_i].above,
		      "n %g, p %g, k %u: %.15e", known[_i].n, known[_i].p, known[_i].k, got);
}
END_TEST

START_TEST(is_a_probability_where_numbers_are_extreme)
{
	ck_assert_double_eq(binomial_above(1 << 22, 0.5, 4), 1);
	ck_assert_double_eq(binomial_above(1e6, 1e-300, 4), 0);
	ck_assert_double_eq_tol(binomial_above(1e9, 1e-9, 0), 1 - exp(-1), 1e-9);
}
END_TEST

START_TEST(knows_what_cannot_be_and_what_must)
{
	ck_assert_double_eq(binomial_above(0, 0.5, 0), 0);
	ck_assert_double_eq(binomial_above(8, 1, 8), 0);
	ck_assert_double_eq(binomial_above(9, 1, 8), 1);
	ck_assert_double_eq(binomial_above(9, 0, 0), 0);
}
END_TEST

START_TEST(rises_with_trials_and_falls_with_the_limit)
{
	for (unsigned int k = 0; k < 24; k++) {
		ck_assert_double_lt(binomial_above(300, 0.03, k + 1), binomial_above(300, 0.03, k));
		ck_assert_double_gt(binomial_above(301, 0.03, k), binomial_above(300, 0.03, k));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("binomial");
	TCase *tc = tcase_create("binomial");

	tcase_add_loop_test(tc, agrees_with_exact_arithmetic_to_nine_digits, 0,
			    sizeof(known) / sizeof(known[0]));
	tcase_add_test(tc, is_a_probability_where_numbers_are_extreme);
	tcase_add_test(tc, knows_what_cannot_be_and_what_must);
	tcase_add_test(tc, rises_with_trials_and_falls_with_the_limit);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
