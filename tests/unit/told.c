// SPDX-License-Identifier: GPL-2.0-or-later
/* What a survey amounts to. */
#include <string.h>

#include "../../lib/probe/told.h"
#include "tap.h"

/* All of it fits together: 256 KiB of 8 ways. */
static struct survey make_survey(void)
{
	struct survey s = {
		.ways = 8, .votes = 3, .nsweeps = 3, .line = 64, .rise = 64, .above = 8,
		.classes = 8, .classes_se = 0.2, .fold = 1, .holding = HOLDING_ALSO,
	};

	for (unsigned int i = 0; i < s.nsweeps; i++)
		s.sweep[i] = (struct sweep){ .ways = 8, .miss = { [9] = 9 } };
	return s;
}

START_TEST(is_sure_of_what_fits_together)
{
	struct survey s = make_survey();

	ck_assert_int_eq(told_is_sized(&s), 1);
	ck_assert_int_eq(told_enough(&s), 1);
	ck_assert_double_eq(told_confidence(&s), TOLD_SURE);
	ck_assert_double_eq(told_page_classes(&s), 8);
	s.fold = 4;
	ck_assert_double_eq(told_page_classes(&s), 2);
	s.doubtful = 1;
	ck_assert_double_eq(told_confidence(&s), TOLD_DOUBTFUL);
}
END_TEST

/* Where the size is shown, a class of ways that no level has was one of a moment's. */
START_TEST(lets_no_class_of_absurd_ways_dispute_what_is_shown)
{
	struct survey s = make_survey();

	s.votes = 2;
	s.sweep[2].ways = 57;
	ck_assert_int_eq(told_is_disputed(&s), 1);
	ck_assert_double_eq(told_confidence(&s), TOLD_DOUBTFUL);
	s.held = 1;
	ck_assert_int_eq(told_is_disputed(&s), 0);
	ck_assert_double_eq(told_confidence(&s), TOLD_SURE);
	s.sweep[2].ways = 16;
	ck_assert_int_eq(told_is_disputed(&s), 1);
	ck_assert_double_eq(told_confidence(&s), TOLD_DOUBTFUL);
}
END_TEST

/* One class of each of two surveys is as good as two of one, if the size is shown. */
START_TEST(counts_classes_of_earlier_surveys_of_what_is_shown)
{
	struct survey s = make_survey();

	s.votes = s.nsweeps = 1;
	ck_assert_int_eq(told_has_ways(&s), 0);
	s.ways_before = 8;
	s.votes_before = 1;
	ck_assert_int_eq(told_has_ways(&s), 1);
	ck_assert_double_eq(told_confidence(&s), TOLD_DOUBTFUL);
	s.held = 1;
	ck_assert_double_eq(told_confidence(&s), TOLD_SURE);
	s.ways_before = 9;
	ck_assert_int_eq(told_has_ways(&s), 0);
	ck_assert_double_eq(told_confidence(&s), TOLD_DOUBTFUL);
}
END_TEST

/* All classes showed the ways of two levels (survey_single.c). */
START_TEST(is_not_disputed_by_classes_that_agreed_on_more)
{
	struct survey s = make_survey();

	s.ways = 4;
	ck_assert_int_eq(told_is_disputed(&s), 0);
	s.votes = 2;
	ck_assert_int_eq(told_is_disputed(&s), 1);
}
END_TEST

/* Estimated, 12 classes are 8 or 16. */
START_TEST(tells_no_number_of_classes_that_sets_do_not_make)
{
	struct survey s = make_survey();

	s.classes = 12;
	s.rise = 90;
	ck_assert_int_eq(told_is_sized(&s), 0);
	s.classes_se = 0;
	s.sorted = 12;
	ck_assert_int_eq(told_is_sized(&s), 1);
	ck_assert_int_eq(told_is_counted(&s), 1);
	s.rise = 200;
	ck_assert_int_eq(told_is_sized(&s), 0);
}
END_TEST

/* Unless it is exclusive draws tell how many, to some per cent: 7 are not 8, whatever else fits. */
START_TEST(is_not_sure_of_what_draws_contradict)
{
	struct survey s = make_survey();

	s.held = 1;
	s.drawn = 8.6;
	ck_assert_double_eq(told_confidence(&s), TOLD_SURE);
	s.drawn = 7.1;
	ck_assert_double_eq(told_confidence(&s), TOLD_DOUBTFUL);
	ck_assert_int_eq(told_enough(&s), 0);
	ck_assert_double_eq(told_drawn(&s), 7);
	/* What earlier surveys drew counts as much. */
	s.drawn = 7.5;
	ck_assert_int_eq(told_is_uneven(&s), 0);
	memcpy(s.drawn_before, (double []){ 7.0, 6.9, 7.1 }, 3 * sizeof(double));
	s.ndrawn = 3;
	s.ways_before = s.ways;
	ck_assert_int_eq(told_is_uneven(&s), 1);
	/* Also where the last draws nothing; not if they found other ways. */
	s.drawn = 0;
	ck_assert_int_eq(told_is_uneven(&s), 1);
	ck_assert_double_eq(told_drawn(&s), 7);
	s.ways_before = s.ways - 1;
	ck_assert_int_eq(told_is_uneven(&s), 0);
	s.drawn = 7.1;
	s.classes = s.sorted = 7;
	s.classes_se = 0;
	ck_assert_double_eq(told_confidence(&s), TOLD_SURE);
}
END_TEST

/* Of an exclusive level draws tell nothing, and 7 of 8 sets may be what members see. */
START_TEST(is_not_sure_by_members_alone)
{
	struct survey s = make_survey();

	s.held = 1;
	s.holding = HOLDING_OTHER;
	s.by_members = 7.6;
	s.members_se = 0.8;
	ck_assert_double_eq(told_confidence(&s), TOLD_DOUBTFUL);
	s.drawn_before[0] = 8;
	s.ndrawn = 1;
	s.ways_before = s.ways;
	ck_assert_double_eq(told_confidence(&s), TOLD_DOUBTFUL);
	ck_assert_int_eq(told_enough(&s), 1);
	/* Of another level they may the next time, and did before. */
	s.holding = HOLDING_ALSO;
	ck_assert_double_eq(told_confidence(&s), TOLD_SURE);
	s.ndrawn = 0;
	ck_assert_double_eq(told_confidence(&s), TOLD_DOUBTFUL);
	ck_assert_int_eq(told_enough(&s), 0);
	s.sorted = (size_t)s.classes;
	s.classes_se = 0;
	ck_assert_double_eq(told_confidence(&s), TOLD_SURE);
}
END_TEST

/* A Tremont's second level; two strangers in one of twenty leave as many. */
START_TEST(tells_eighteen_ways_where_nothing_disturbs)
{
	struct survey s = make_survey();

	s.ways = 18;
	ck_assert_int_eq(told_has_ways(&s), 0);
	s.is_quiet = 1;
	ck_assert_int_eq(told_has_ways(&s), 1);
	s.holding = HOLDING_OTHER;
	ck_assert_int_eq(told_has_ways(&s), 0);
	s.holding = HOLDING_ALSO;
	s.ways = 9;
	ck_assert_int_eq(told_has_ways(&s), 0);
}
END_TEST

/* 59 counted, and lines left that make one more or two: not 64, which is near. */
START_TEST(takes_no_count_of_a_third_level_for_a_rounder_one)
{
	struct survey s = make_survey();

	s.ways = 15;
	s.exact = 1;
	s.classes = 60;
	ck_assert_double_eq(told_page_classes(&s), 64);
	s.sorted = 59;
	ck_assert_double_eq(told_page_classes(&s), 60);
	ck_assert_int_eq(told_is_sized(&s), 0);
	s.classes = 64;
	ck_assert_int_eq(told_is_sized(&s), 1);
}
END_TEST

/* Lines of a third level that were seen to fit are in it, or in the one above. */
START_TEST(holds_what_was_seen_to_fit)
{
	struct survey s = make_survey();

	s.rise = 72;
	ck_assert_int_eq(told_is_sized(&s), 1);
	s.exact = 1;
	ck_assert_int_eq(told_is_sized(&s), 0);
	s.holding = HOLDING_OTHER;
	ck_assert_int_eq(told_is_sized(&s), 1);
	s.rise = 90;
	ck_assert_int_eq(told_is_sized(&s), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("told");
	TCase *tc = tcase_create("told");

	tcase_add_test(tc, is_sure_of_what_fits_together);
	tcase_add_test(tc, lets_no_class_of_absurd_ways_dispute_what_is_shown);
	tcase_add_test(tc, counts_classes_of_earlier_surveys_of_what_is_shown);
	tcase_add_test(tc, is_not_disputed_by_classes_that_agreed_on_more);
	tcase_add_test(tc, tells_no_number_of_classes_that_sets_do_not_make);
	tcase_add_test(tc, is_not_sure_of_what_draws_contradict);
	tcase_add_test(tc, is_not_sure_by_members_alone);
	tcase_add_test(tc, tells_eighteen_ways_where_nothing_disturbs);
	tcase_add_test(tc, takes_no_count_of_a_third_level_for_a_rounder_one);
	tcase_add_test(tc, holds_what_was_seen_to_fit);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
