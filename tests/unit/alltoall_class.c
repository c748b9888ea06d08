// SPDX-License-Identifier: GPL-2.0-or-later
/* Classes of machines: sources, perturbation, and files of a user's own. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "../../coll/sim/class.h"
#include "tap.h"

START_TEST(every_value_lies_in_its_range_and_has_a_source)
{
	for (size_t c = 0; c < A2A_CLASSES; c++)
		for (size_t f = 0; f < A2A_FIELDS; f++) {
			const struct a2a_source *s = a2a_class_source(c, f);
			double value = a2a_get(a2a_class(c), f);

			ck_assert_ptr_nonnull(s->text);
			ck_assert_uint_ge(strlen(s->text), strlen("likewise"));
			ck_assert_double_ge(value, s->low);
			ck_assert_double_le(value, s->high);
			ck_assert_double_ge(value, 0);
			ck_assert_double_le(value, a2a_fields[f].most);
		}
}
END_TEST

START_TEST(fields_have_names_of_their_own)
{
	for (size_t f = 0; f < A2A_FIELDS; f++)
		for (size_t g = 0; g < f; g++) {
			ck_assert_str_ne(a2a_fields[f].name, a2a_fields[g].name);
			ck_assert_uint_ne(a2a_fields[f].offset, a2a_fields[g].offset);
		}
}
END_TEST

START_TEST(classes_are_found_by_name)
{
	for (size_t c = 0; c < A2A_CLASSES; c++)
		ck_assert_ptr_eq(a2a_class_find(a2a_class(c)->name), a2a_class(c));
	ck_assert_ptr_null(a2a_class_find("myrinet"));
}
END_TEST

START_TEST(perturbation_changes_costs_within_its_bounds_and_no_settings)
{
	double least = 2, most = 0;

	for (uint64_t seed = 0; seed < 200; seed++) {
		struct a2a_class class = *a2a_class(1);

		a2a_class_perturb(&class, 0.25, seed);
		for (size_t f = 0; f < A2A_FIELDS; f++) {
			double was = a2a_get(a2a_class(1), f), is = a2a_get(&class, f);

			if (!a2a_fields[f].is_cost) {
				ck_assert(is == was);
			} else if (was > 0) {
				ck_assert_double_ge(is, 0.745 * was);
				ck_assert_double_le(is, 1.255 * was);
				least = fmin(least, is / was);
				most = fmax(most, is / was);
			}
		}
	}
	ck_assert_double_lt(least, 0.76);
	ck_assert_double_gt(most, 1.24);
}
END_TEST

START_TEST(the_same_seed_perturbs_the_same_way_and_another_does_not)
{
	struct a2a_class a = *a2a_class(0), b = a, c = a;

	a2a_class_perturb(&a, 0.25, 7);
	a2a_class_perturb(&b, 0.25, 7);
	a2a_class_perturb(&c, 0.25, 8);
	ck_assert_mem_eq(&a, &b, sizeof(a));
	ck_assert_mem_ne(&a, &c, sizeof(a));
}
END_TEST

static char why[160];

static int parse(const char *text, struct a2a_class *class)
{
	*why = '\0';
	return a2a_class_parse(text, class, why, sizeof(why));
}

START_TEST(a_file_changes_what_it_names_of_its_base)
{
	struct a2a_class class;

	ck_assert_int_eq(parse("{\"schema\": \"sonde-sim-class-1\", \"name\": \"mine\",\n"
			       "\"base\": \"connectx\", \"comment\": \"fitted\",\n"
			       "\"parameters\": {\"latency_ns\": 1234.5, \"qp_cache\": 3}}",
			       &class), 0);
	ck_assert_str_eq(class.name, "mine");
	ck_assert(class.latency_ns == 1234.5 && class.qp_cache == 3);
	ck_assert(class.byte_ns == a2a_class_find("connectx")->byte_ns);
}
END_TEST

START_TEST(a_file_without_a_base_has_every_parameter)
{
	char text[4096], *at = text;
	struct a2a_class class;

	at += sprintf(at, "{\"schema\": \"sonde-sim-class-1\", \"name\": \"x\", \"parameters\": {");
	for (size_t f = 0; f < A2A_FIELDS; f++)
		at += sprintf(at, "%s\"%s\": %zu", f ? ", " : "", a2a_fields[f].name, f + 1);
	sprintf(at, "}}");
	ck_assert_int_eq(parse(text, &class), 0);
	for (size_t f = 0; f < A2A_FIELDS; f++)
		ck_assert(a2a_get(&class, f) == (double)f + 1);
}
END_TEST

#define HEAD "{\"schema\": \"sonde-sim-class-1\", \"name\": \"x\", \"base\": \"connectx\",\n"

START_TEST(what_is_wrong_with_a_file_is_said_with_its_line_or_key)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{ "", "line" },
		{ "[]", "not an object" },
		{ "{}", "\"schema\"" },
		{ "{\"schema\": \"sonde-sim-class-2\"}", "\"schema\" is not" },
		{ HEAD "\"colour\": 1}", "line 2: unknown key \"colour\"" },
		{ HEAD "\"parameters\":\n{\"gap\": 1}}", "line 3: no parameter is called \"gap\"" },
		{ HEAD "\"parameters\": {\"gap_ns\": -1}}", "line 2: \"gap_ns\" is not a number" },
		{ HEAD "\"parameters\": {\"gap_ns\": \"1\"}}", "\"gap_ns\" is not a number" },
		{ HEAD "\"parameters\": {\"gap_ns\": 1e99}}", "\"gap_ns\" is not a number" },
		{ HEAD "\"parameters\": {\"qp_cache\": 1.5}}", "\"qp_cache\" is not a whole" },
		{ HEAD "\"parameters\": {\"packet_bytes\": 0}}", "whole number from 1" },
		{ HEAD "\"parameters\": {\"gap_ns\": 1, \"gap_ns\": 2}}", "line 2: duplicate" },
		{ HEAD "\"parameters\": 5}", "\"parameters\" is not an object" },
		{ "{\"schema\": \"sonde-sim-class-1\",\n\"name\": \"x\",\n\"base\": \"quadrics\"}",
		  "line 3: \"base\"" },
		{ "{\"schema\": \"sonde-sim-class-1\", \"name\": \"x\", \"parameters\": {}}",
		  "parameter \"latency_ns\" is missing" },
		{ "{\"schema\": \"sonde-sim-class-1\", \"parameters\": {}}", "\"name\"" },
		{ "{\"schema\": \"sonde-sim-class-1\", \"name\": \"a\\nb\"}", "control" },
		{ "{\"schema\": \"sonde-sim-class-1\", \"name\": "
		  "\"0123456789012345678901234567890123456789\"}", "\"name\"" },
	};
	struct a2a_class class, before;

	memset(&class, 1, sizeof(class));
	before = class;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_int_eq(parse(bad[i].text, &class), -EINVAL);
		ck_assert_msg(strstr(why, bad[i].words), "%zu: '%s' has no '%s'", i, why,
			      bad[i].words);
		ck_assert_mem_eq(&class, &before, sizeof(class));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("alltoall_class");
	TCase *tc = tcase_create("class");

	tcase_add_test(tc, every_value_lies_in_its_range_and_has_a_source);
	tcase_add_test(tc, fields_have_names_of_their_own);
	tcase_add_test(tc, classes_are_found_by_name);
	tcase_add_test(tc, perturbation_changes_costs_within_its_bounds_and_no_settings);
	tcase_add_test(tc, the_same_seed_perturbs_the_same_way_and_another_does_not);
	tcase_add_test(tc, a_file_changes_what_it_names_of_its_base);
	tcase_add_test(tc, a_file_without_a_base_has_every_parameter);
	tcase_add_test(tc, what_is_wrong_with_a_file_is_said_with_its_line_or_key);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
