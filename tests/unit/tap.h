/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A unit test is a program: its tests as a Check suite, its results as TAP on
 * stdout.
 */
#ifndef SONDE_TESTS_TAP_H
#define SONDE_TESTS_TAP_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "../long.h"

/*
 * What cannot be tested here is not added to the suite, rather than passed
 * without a look, and said to be left out.
 */
static inline void tap_left_out(const char *why)
{
	printf("# left out: %s\n", why);
	fflush(stdout);
}

/* So many seeds of a test; TAP_LOOPS at most, where an interpreter runs it: one is as good there. */
static inline int tap_loops(int seeds)
{
	const char *most = getenv("TAP_LOOPS");

	return most && atoi(most) < seeds ? atoi(most) : seeds;
}

static inline int tap_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
