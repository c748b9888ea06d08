// SPDX-License-Identifier: GPL-2.0-or-later
/* Classes of pages, and whether frames tell them, on machines whose truth is known. */
#include <errno.h>

#include "../../lib/probe/classes.h"
#include "geometry_machine.h"

static struct sonde_classes_report *classes(int sort)
{
	struct sonde_classes_options options = { .npages = 1024, .sort = sort, .seed = 1 };
	struct sonde_classes_report *report;
	struct meter *meter;

	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	ck_assert_int_eq(machine_open(&meter, &model, 1), 0);
	ck_assert_int_eq(probe_classes_with(meter, &options, &report), 0);
	meter->ops->close(meter);
	return report;
}

START_TEST(true_frames_predict_plainly)
{
	struct sonde_classes_report *r = classes(0);

	ck_assert_int_eq(r->verdict, SONDE_CLASSES_PLAIN);
	ck_assert_uint_ge(10 * r->agree, 9 * r->members);
	ck_assert_double_lt(r->p_chance, 1e-6);
	ck_assert_uint_eq(r->nmasks, 3);
	ck_assert_uint_eq(r->masks[0] | r->masks[1] | r->masks[2], 7);
	sonde_classes_report_free(r);
}
END_TEST

START_TEST(a_guests_frames_do_not_and_that_is_said_with_a_number)
{
	struct sonde_classes_report *r;

	model.frames = FRAMES_GUEST;
	r = classes(0);
	ck_assert_int_eq(r->verdict, SONDE_CLASSES_SCRAMBLED);
	ck_assert_double_lt(r->p_predict, 1e-6);
	sonde_classes_report_free(r);
}
END_TEST

START_TEST(without_frames_there_is_no_verdict)
{
	struct sonde_classes_report *r;

	model.frames = FRAMES_REFUSED;
	r = classes(0);
	ck_assert_int_eq(r->verdict, SONDE_CLASSES_UNKNOWN);
	ck_assert_int_eq(r->frames_err, -EPERM);
	ck_assert_uint_eq(r->ways, 8);
	sonde_classes_report_free(r);
}
END_TEST

START_TEST(sorts_every_page_into_its_class)
{
	struct sonde_classes_report *r;
	size_t sum = 0;

	model.cache[1].bytes = MIB;
	model.cache[1].ways = 16;
	r = classes(1);
	ck_assert_uint_eq(r->nsizes, 16);
	ck_assert_double_eq(r->classes, 16);
	for (size_t i = 0; i < r->nsizes; i++) {
		ck_assert_uint_gt(r->sizes[i], 32);
		sum += r->sizes[i];
	}
	ck_assert_uint_eq(sum + r->unsorted, 1024);
	ck_assert_uint_lt(r->unsorted, 64);
	sonde_classes_report_free(r);
}
END_TEST

START_TEST(refuses_pools_that_are_too_small_or_too_large)
{
	struct sonde_classes_options options = { .npages = 10 };
	struct sonde_classes_report *report = NULL;
	struct meter *meter;

	ck_assert_int_eq(machine_open(&meter, &model, 1), 0);
	ck_assert_int_eq(probe_classes_with(meter, &options, &report), -EINVAL);
	options.npages = 1 << 20;
	ck_assert_int_eq(probe_classes_with(meter, &options, &report), -EINVAL);
	ck_assert_ptr_null(report);
	meter->ops->close(meter);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("classes");
	TCase *tc = tcase_create("classes");
	TCase *quick = tcase_create("quick");

	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, make_machine, drop_machine);
	tcase_add_test(tc, true_frames_predict_plainly);
	tcase_add_test(tc, a_guests_frames_do_not_and_that_is_said_with_a_number);
	tcase_add_test(tc, without_frames_there_is_no_verdict);
	tcase_add_test(tc, sorts_every_page_into_its_class);
	suite_add_tcase(suite, tc);
	/* Also for valgrind, under which a simulated machine takes minutes. */
	tcase_set_timeout(quick, 300);
	tcase_add_checked_fixture(quick, make_machine, drop_machine);
	tcase_add_test(quick, refuses_pools_that_are_too_small_or_too_large);
	suite_add_tcase(suite, quick);
	return tap_run(suite);
}
