// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../lib/log.h"
#include "tap.h"

static char last[2 * SONDE_LOG_LINE];
static int lines;

static void keep(void *ctx, const char *line)
{
	*(int *)ctx += 1;
	snprintf(last, sizeof(last), "%s", line);
	errno = EIO;
}

START_TEST(hands_each_line_to_the_function_that_was_set)
{
	sonde_set_log(keep, &lines);
	sonde_log("%s: %d", "answer", 42);
	ck_assert_int_eq(lines, 1);
	ck_assert_str_eq(last, "answer: 42");
	sonde_set_log(NULL, NULL);
	sonde_log("nobody hears this");
	ck_assert_int_eq(lines, 1);
}
END_TEST

START_TEST(leaves_errno_alone)
{
	sonde_set_log(keep, &lines);
	errno = ENOENT;
	sonde_log("x");
	ck_assert_int_eq(errno, ENOENT);
	sonde_set_log(NULL, NULL);
}
END_TEST

START_TEST(cuts_a_line_that_is_too_long)
{
	char text[2 * SONDE_LOG_LINE];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	sonde_set_log(keep, &lines);
	sonde_log("%s", text);
	ck_assert_uint_eq(strlen(last), SONDE_LOG_LINE - 1);
	sonde_set_log(NULL, NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *tc = tcase_create("log");

	tcase_add_test(tc, hands_each_line_to_the_function_that_was_set);
	tcase_add_test(tc, leaves_errno_alone);
	tcase_add_test(tc, cuts_a_line_that_is_too_long);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
