// SPDX-License-Identifier: GPL-2.0-or-later
/* What `sonde tune` makes of times: what is quicker, crossovers, classes. */
#include <stdint.h>
#include <string.h>
#include "../../coll/network.h"
#include "../../coll/tune/decide.h"
#include "../../lib/rng.h"
#include "tap.h"

START_TEST(the_median_is_of_the_middle)
{
	const double odd[] = { 9, 1, 5 }, even[] = { 4, 1, 3, 2 };

	ck_assert_double_eq(tune_median(odd, 3), 5);
	ck_assert_double_eq(tune_median(even, 4), 2.5);
	ck_assert_double_eq(tune_median(odd, 0), 0);
}
END_TEST

static void fill(double *ratios, int n, int wins, double win, double loss)
{
	for (int i = 0; i < n; i++)
		ratios[i] = i < wins ? win : loss;
}

START_TEST(what_wins_nearly_always_by_five_percent_is_quicker)
{
	double ratios[TUNE_PAIRS_MOST];

	fill(ratios, 9, 8, 0.9, 1.3);
	ck_assert_int_eq(tune_is_quicker(ratios, 9), TUNE_QUICKER);
	fill(ratios, 9, 9, 0.96, 0);
	ck_assert_int_eq(tune_is_quicker(ratios, 9), TUNE_NOT_QUICKER);
	fill(ratios, 9, 7, 0.9, 1.3);
	ck_assert_int_eq(tune_is_quicker(ratios, 9), TUNE_CANNOT_TELL);
	fill(ratios, 9, 5, 0.9, 1.3);
	ck_assert_int_eq(tune_is_quicker(ratios, 9), TUNE_NOT_QUICKER);
	fill(ratios, 18, 15, 0.9, 1.3);
	ck_assert_int_eq(tune_is_quicker(ratios, 18), TUNE_QUICKER);
	fill(ratios, 27, 20, 0.9, 1.3);
	ck_assert_int_eq(tune_is_quicker(ratios, 27), TUNE_NOT_QUICKER);
}
END_TEST

/* From 1 to 2. */
static double make_time(struct sonde_rng *rng)
{
	return 1 + (double)sonde_rng_below(rng, 1000000) / 1e6;
}

/* What is alike but for noise of half its time, 10,000 times. */
START_TEST(noise_makes_a_rule_in_less_than_four_percent)
{
	struct sonde_rng rng;
	int made = 0;

	sonde_rng_seed(&rng, 1);
	for (int run = 0; run < 10000; run++) {
		double ratios[TUNE_PAIRS_MOST];
		enum tune_verdict verdict = TUNE_CANNOT_TELL;

		for (int n = 0; n < TUNE_PAIRS_MOST && verdict == TUNE_CANNOT_TELL;) {
			for (int i = 0; i < 9; i++, n++)
				ratios[n] = make_time(&rng) / make_time(&rng);
			verdict = tune_is_quicker(ratios, n);
		}
		made += verdict == TUNE_QUICKER;
	}
	ck_assert_int_lt(made, 400);
	/* And it is not that nothing ever would. */
	ck_assert_int_gt(made, 0);
}
END_TEST

static struct tune_point make_point(size_t bytes, const char *best, double ratio)
{
	struct tune_point point = { .bytes = bytes, .ratio = ratio, .ratio_mpi = ratio / 2 };

	strcpy(point.best, best);
	return point;
}

START_TEST(sizes_with_the_same_best_are_one_rule_and_none_is_left_out)
{
	const struct tune_point points[] = {
		make_point(8, "a", 1), make_point(16, "a", 1), make_point(32, "b", 0.5),
		make_point(64, "b", 0.75), make_point(128, "a", 1),
	};
	struct tune_rule rules[5];

	ck_assert_int_eq(tune_make_rules(points, 5, rules), 3);
	ck_assert_str_eq(rules[0].name, "a");
	ck_assert_uint_eq(rules[0].from, 0);
	ck_assert_uint_eq(rules[0].to, 16);
	ck_assert_str_eq(rules[1].name, "b");
	ck_assert_uint_eq(rules[1].from, 17);
	ck_assert_uint_eq(rules[1].to, 64);
	ck_assert_uint_eq(rules[2].from, 65);
	ck_assert_uint_eq(rules[2].to, 128);
	ck_assert_str_eq(rules[0].why, "measured: 0.50 of MPI's time, as the usual rule");
	ck_assert_str_eq(rules[1].why,
			 "measured: 0.25 to 0.38 of MPI's time, 0.50 to 0.75 of the usual rule's");
}
END_TEST

START_TEST(rules_begin_where_it_was_measured_if_that_is_not_small)
{
	const struct tune_point point = make_point(1024, "a", 1);
	struct tune_rule rule;

	ck_assert_int_eq(tune_make_rules(&point, 1, &rule), 1);
	ck_assert_uint_eq(rule.from, 513);
	ck_assert_uint_eq(rule.to, 1024);
	ck_assert_int_eq(tune_make_rules(&point, 0, &rule), 0);
}
END_TEST

START_TEST(ratios_out_of_all_measure_still_fit_a_rule)
{
	struct tune_point points[] = { make_point(8, "a", 1e30), make_point(16, "a", 1e-30) };
	struct tune_rule rule;

	ck_assert_int_eq(tune_make_rules(points, 2, &rule), 1);
	ck_assert_uint_lt(strlen(rule.why), TUNE_WHY - 1);
}
END_TEST

/* Four pairs over one, and distribution over aggregation, as the paper has them. */
START_TEST(classes_are_those_of_the_paper)
{
	struct coll_network infinipath = coll_network_class(2.4, 1.6);
	struct coll_network infinihost = coll_network_class(0.8, 1.0);
	struct coll_network connectx = coll_network_class(1.9, 1.02);

	ck_assert_int_eq(infinipath.nic, COLL_NIC_ONLOAD);
	ck_assert_int_eq(infinipath.distribution, COLL_DISTRIBUTION_DEARER);
	ck_assert_int_eq(infinihost.nic, COLL_NIC_OFFLOAD);
	ck_assert_int_eq(infinihost.distribution, COLL_DISTRIBUTION_ALIKE);
	ck_assert_int_eq(connectx.nic, COLL_NIC_HYBRID);
	ck_assert_int_eq(coll_network_class(1.5, 0.8).distribution, COLL_DISTRIBUTION_CHEAPER);
}
END_TEST

START_TEST(what_was_not_measured_or_changes_little_is_unclear)
{
	ck_assert_int_eq(coll_network_class(0, 0).nic, COLL_NIC_UNKNOWN);
	ck_assert_int_eq(coll_network_class(0, 0).distribution, COLL_DISTRIBUTION_UNKNOWN);
	ck_assert_int_eq(coll_network_class(1.05, 1).nic, COLL_NIC_UNKNOWN);
}
END_TEST

START_TEST(names_of_classes_are_found_again)
{
	for (int i = 0; i < COLL_NICS; i++)
		ck_assert_int_eq(coll_nic_find(coll_nic_name((enum coll_nic)i)), i);
	for (int i = 0; i < COLL_DISTRIBUTIONS; i++)
		ck_assert_int_eq(coll_distribution_find(
			coll_distribution_name((enum coll_distribution)i)), i);
	ck_assert_int_eq(coll_nic_find("fast"), -1);
	ck_assert_int_eq(coll_nic_find(NULL), -1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("alltoall_tune");
	TCase *tc = tcase_create("core");

	tcase_add_test(tc, the_median_is_of_the_middle);
	tcase_add_test(tc, what_wins_nearly_always_by_five_percent_is_quicker);
	tcase_add_test(tc, noise_makes_a_rule_in_less_than_four_percent);
	tcase_add_test(tc, sizes_with_the_same_best_are_one_rule_and_none_is_left_out);
	tcase_add_test(tc, rules_begin_where_it_was_measured_if_that_is_not_small);
	tcase_add_test(tc, ratios_out_of_all_measure_still_fit_a_rule);
	tcase_add_test(tc, classes_are_those_of_the_paper);
	tcase_add_test(tc, what_was_not_measured_or_changes_little_is_unclear);
	tcase_add_test(tc, names_of_classes_are_found_again);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
