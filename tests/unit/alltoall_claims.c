// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kumar, Mamidala, Panda 2008 against the simulator: each claim as the classes
 * are, and in the share of perturbations that is asked of it. `make check-sim`
 * perturbs more often.
 */
#include "../../coll/sim/claims.h"
#include "tap.h"

#define PERTURBATIONS 60

static struct a2a_verdict base[A2A_CLAIMS];
static int held[A2A_CLAIMS];

static void check_all(void)
{
	struct a2a_verdict verdicts[A2A_CLAIMS];
	struct a2a_class classes[A2A_CLASSES];

	for (size_t c = 0; c < A2A_CLASSES; c++)
		classes[c] = *a2a_class(c);
	ck_assert_int_eq(a2a_claims_check(classes, base), 0);
	for (uint64_t i = 0; i < PERTURBATIONS; i++) {
		a2a_claims_perturb(classes, 1, i);
		ck_assert_int_eq(a2a_claims_check(classes, verdicts), 0);
		for (int c = 0; c < A2A_CLAIMS; c++)
			held[c] += verdicts[c].holds;
	}
}

static void assert_claim(enum a2a_claim claim)
{
	const struct a2a_claim_text *text = a2a_claim_text(claim);

	ck_assert_msg(base[claim].holds, "%s: %s is %g", text->what, text->value,
		      base[claim].value);
	ck_assert_msg(held[claim] >= text->share * PERTURBATIONS, "%s: held in %d of %d",
		      text->what, held[claim], PERTURBATIONS);
}

START_TEST(aggregation_takes_55_percent_less_at_512_bytes_give_or_take_ten_points)
{
	assert_claim(A2A_CLAIM_REDUCTION);
}
END_TEST

START_TEST(what_aggregation_saves_grows_with_the_system)
{
	assert_claim(A2A_CLAIM_GROWS);
}
END_TEST

START_TEST(aggregation_is_best_from_512_to_2048_bytes_on_infinipath)
{
	assert_claim(A2A_CLAIM_SA_BEST);
}
END_TEST

START_TEST(distribution_is_dearer_by_a_tenth_on_infinipath)
{
	assert_claim(A2A_CLAIM_RD_DEARER);
}
END_TEST

START_TEST(the_original_catches_up_by_8_KiB)
{
	assert_claim(A2A_CLAIM_CATCHES_UP);
}
END_TEST

START_TEST(a_leader_is_best_on_infinihost)
{
	assert_claim(A2A_CLAIM_LEADER_BEST);
}
END_TEST

START_TEST(aggregation_and_distribution_are_the_same_on_infinihost)
{
	assert_claim(A2A_CLAIM_SAME);
}
END_TEST

START_TEST(aggregation_and_distribution_are_best_on_connectx)
{
	assert_claim(A2A_CLAIM_CONNECTX);
}
END_TEST

/* A claim that could not fail would say nothing. */
START_TEST(every_claim_fails_on_some_machine)
{
	struct a2a_verdict verdicts[A2A_CLAIMS];
	struct a2a_class classes[A2A_CLASSES];
	int failed[A2A_CLAIMS] = { 0 };

	/* A slow wire, slow copies, free messages, PIO for all, connections that are fetched. */
	for (int machine = 0; machine < 5; machine++) {
		for (size_t c = 0; c < A2A_CLASSES; c++) {
			classes[c] = *a2a_class(c);
			if (machine == 0)
				classes[c].byte_ns *= 100;
			if (machine == 1)
				classes[c].cold_byte_ns = classes[c].hot_byte_ns *= 100;
			if (machine == 2)
				classes[c].switch_ns = classes[c].gap_ns = classes[c].lone_ns = 0;
			if (machine == 3)
				classes[c].pio_max_bytes = 1e15;
			if (machine == 4) {
				classes[c].qp_cache = 200;
				classes[c].qp_miss_ns = 2e4;
			}
		}
		classes[1].cold_byte_ns *= 3;
		ck_assert_int_eq(a2a_claims_check(classes, verdicts), 0);
		for (int c = 0; c < A2A_CLAIMS; c++)
			failed[c] |= !verdicts[c].holds;
	}
	for (int c = 0; c < A2A_CLAIMS; c++)
		ck_assert_msg(failed[c], "%s", a2a_claim_text((enum a2a_claim)c)->what);
}
END_TEST

START_TEST(perturbations_are_by_number_the_same)
{
	struct a2a_class a[A2A_CLASSES], b[A2A_CLASSES];

	a2a_claims_perturb(a, 5, 3);
	a2a_claims_perturb(b, 5, 3);
	ck_assert_mem_eq(a, b, sizeof(a));
	a2a_claims_perturb(b, 5, 4);
	ck_assert_mem_ne(a, b, sizeof(a));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("alltoall_claims");
	TCase *tc = tcase_create("claims");

	tcase_set_timeout(tc, 120);
	tcase_add_unchecked_fixture(tc, check_all, NULL);
	tcase_add_test(tc, aggregation_takes_55_percent_less_at_512_bytes_give_or_take_ten_points);
	tcase_add_test(tc, what_aggregation_saves_grows_with_the_system);
	tcase_add_test(tc, aggregation_is_best_from_512_to_2048_bytes_on_infinipath);
	tcase_add_test(tc, distribution_is_dearer_by_a_tenth_on_infinipath);
	tcase_add_test(tc, the_original_catches_up_by_8_KiB);
	tcase_add_test(tc, a_leader_is_best_on_infinihost);
	tcase_add_test(tc, aggregation_and_distribution_are_the_same_on_infinihost);
	tcase_add_test(tc, aggregation_and_distribution_are_best_on_connectx);
	tcase_add_test(tc, every_claim_fails_on_some_machine);
	tcase_add_test(tc, perturbations_are_by_number_the_same);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
