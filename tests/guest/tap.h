/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TAP for the guest's tests. Unlike Check it can skip one test with a reason,
 * which guests need: a kernel may have no 1 GiB pages or no swap.
 *
 * Each test runs in a child of its own: one that crashes, or hangs for longer
 * than TAP_SECONDS, fails alone and leaves nothing behind for the next.
 */
#ifndef TESTS_GUEST_TAP_H
#define TESTS_GUEST_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../long.h"

#ifndef TAP_SECONDS
#define TAP_SECONDS	100
#endif

#define TAP_FAILED	1
#define TAP_SKIPPED	77

struct tap_test {
	const char *name;	/* a sentence about behaviour */
	void (*run)(void);
};

#define TAP_TEST(function)	{ #function, function }

/* Why the test that runs was skipped; the runner shares it with its child. */
static char *tap_reason;

__attribute__((format(printf, 3, 4), noreturn, unused))
static void tap_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	printf("# %s:%d: ", file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	_exit(TAP_FAILED);
}

__attribute__((format(printf, 1, 2), noreturn, unused))
static void tap_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(tap_reason, 200, fmt, ap);
	va_end(ap);
	fflush(stdout);
	_exit(TAP_SKIPPED);
}

#define check(cond) \
	do { \
		if (!(cond)) \
			tap_fail(__FILE__, __LINE__, "not so: %s", #cond); \
	} while (0)

#define check_msg(cond, ...) \
	do { \
		if (!(cond)) \
			tap_fail(__FILE__, __LINE__, __VA_ARGS__); \
	} while (0)

#define check_int(got, want) \
	do { \
		long long g_ = (got), w_ = (want); \
		if (g_ != w_) \
			tap_fail(__FILE__, __LINE__, "%s is %lld, not %lld (%s)", \
				 #got, g_, w_, #want); \
	} while (0)

/* A whole file that cannot run here. */
__attribute__((unused))
static int tap_skip_all(const char *reason)
{
	printf("1..0 # SKIP %s\n", reason);
	return 0;
}

static int tap_run_one(const struct tap_test *test)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	tap_reason[0] = '\0';
	pid = fork();
	if (pid < 0) {
		perror("# fork");
		return TAP_FAILED;
	}
	if (!pid) {
		alarm(TAP_SECONDS);
		test->run();
		fflush(stdout);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		return TAP_FAILED;
	if (WIFSIGNALED(status)) {
		printf("# ended by signal %d\n", WTERMSIG(status));
		return TAP_FAILED;
	}
	return WEXITSTATUS(status);
}

/* Runs @tests and returns what main() shall return. */
__attribute__((unused))
static int tap_main(const struct tap_test *tests, size_t n)
{
	bool failed = false;
	size_t i;

	tap_reason = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tap_reason == MAP_FAILED) {
		perror("mmap");
		return EXIT_FAILURE;
	}
	printf("1..%zu\n", n);
	for (i = 0; i < n; i++) {
		int rc = tap_run_one(&tests[i]);

		if (rc == TAP_SKIPPED) {
			printf("ok %zu - %s # SKIP %s\n", i + 1, tests[i].name,
			       tap_reason);
			continue;
		}
		printf("%sok %zu - %s\n", rc ? "not " : "", i + 1, tests[i].name);
		failed |= rc != 0;
	}
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
