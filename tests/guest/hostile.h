/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the hostile tests share: chance, a failure told by whichever process
 * meets it first, and workers that are killed at random moments and started
 * anew until the time is over.
 *
 * NAME [--seconds N] [--seed N]; SONDE_HOSTILE_SECONDS is another way. Without either a
 * quarter of what it is to run, if SONDE_LONG is not set.
 */
#ifndef TESTS_GUEST_HOSTILE_H
#define TESTS_GUEST_HOSTILE_H

#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "nodes.h"

#define MOST_WORKERS	8
#define LEAST_SECONDS	5

struct rng {
	uint64_t s;
};

/* The first thing that went wrong in any process. */
static struct outcome {
	_Atomic int failed;
	char why[500];
} *outcome;

/**
 * struct hostile - a test of this kind
 * @name: the program's
 * @seconds: how long, if nobody says
 * @workers: processes at a time
 * @work: what one does until it is killed
 * @between: done before some worker is killed, or NULL
 * @after: done when all is over, or NULL
 * @print_counts: a line or two of TAP's comments
 * @saw_all: whether calls came to every end that they should come to
 */
struct hostile {
	const char *name;
	unsigned int seconds, workers;
	void (*work)(uint64_t seed, bool root);
	void (*between)(struct rng *r);
	void (*after)(void);
	void (*print_counts)(void);
	bool (*saw_all)(void);
};

static uint64_t draw(struct rng *r)
{
	r->s ^= r->s >> 12;
	r->s ^= r->s << 25;
	r->s ^= r->s >> 27;
	return r->s * 2685821657736338717ULL;
}

static uint64_t below(struct rng *r, uint64_t n)
{
	return (draw(r) >> 11) % n;
}

__attribute__((unused))
static bool one_in(struct rng *r, uint64_t n)
{
	return !below(r, n);
}

/* Ends this process and, with it, the test. */
__attribute__((format(printf, 1, 2), noreturn))
static void violated(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!atomic_exchange(&outcome->failed, 1))
		vsnprintf(outcome->why, sizeof(outcome->why), fmt, ap);
	va_end(ap);
	_exit(TAP_FAILED);
}

/*
 * Nobody makes a hole, which a mapping that fails does too, before the last
 * thread of a worker has mapped what it needs: it might come to lie there.
 */
static _Atomic bool all_is_mapped;

__attribute__((unused))
static void await_start(void)
{
	while (!all_is_mapped)
		sched_yield();
}

/* Zeroed memory that all processes share. */
static void *share_memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(EXIT_FAILURE);
	return p;
}

static pid_t start_worker(const struct hostile *h, struct rng *r, int i)
{
	uint64_t seed = draw(r) | 1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		h->work(seed, i % 2);
		_exit(TAP_FAILED);
	}
	check(pid > 0);
	return pid;
}

/* Ends a worker; false if it would not end, or had ended by itself. */
static bool kill_worker(pid_t pid)
{
	const struct timespec tick = { 0, 10000000 };
	int status, i;

	kill(pid, SIGKILL);
	for (i = 0; i < 3000; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
				return true;
			printf("# a worker ended with status %#x\n", status);
			return false;
		}
		nanosleep(&tick, NULL);
	}
	printf("# a worker does not die\n");
	return false;
}

static bool run_workers(const struct hostile *h, unsigned int seconds,
			uint64_t seed)
{
	struct rng r = { seed };
	time_t end = time(NULL) + seconds;
	pid_t pid[MOST_WORKERS];
	bool ok = true;
	unsigned int i;

	for (i = 0; i < h->workers; i++)
		pid[i] = start_worker(h, &r, i);
	while (ok && !outcome->failed && time(NULL) < end) {
		struct timespec t = { 0, 50000000L + below(&r, 900000000L) };

		nanosleep(&t, NULL);
		if (h->between)
			h->between(&r);
		i = below(&r, h->workers);
		ok = kill_worker(pid[i]);
		pid[i] = start_worker(h, &r, i);
	}
	for (i = 0; i < h->workers; i++)
		ok &= kill_worker(pid[i]);
	if (h->after)
		h->after();
	return ok;
}

static int users_of_module(void)
{
	FILE *f = fopen("/sys/module/sonde/refcnt", "r");
	int n = -1;

	if (f && fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

static bool report(int n, bool ok, const char *name)
{
	printf("%sok %d - %s\n", ok ? "" : "not ", n, name);
	return ok;
}

static int run_hostile(const struct hostile *h, unsigned int seconds,
		       uint64_t seed)
{
	int users = users_of_module();
	bool alive, ok;

	printf("1..4\n# %u s, --seed %llu\n", seconds, (unsigned long long)seed);
	alive = run_workers(h, seconds, seed);
	h->print_counts();
	if (outcome->failed)
		printf("# %s\n", outcome->why);
	ok = report(1, !outcome->failed, "every_call_ends_as_documented");
	ok &= report(2, alive, "workers_die_when_killed_and_only_then");
	ok &= report(3, h->saw_all(), "calls_came_to_every_end_that_there_is");
	ok &= report(4, users_of_module() == users, "no_file_is_left_open");
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

static unsigned long long number(const char *name, const char *what,
				 const char *text)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (errno || *end || end == text || *text == '-' || !n) {
		fprintf(stderr, "%s: %s needs a positive number, not '%s'\n",
			name, what, text);
		exit(2);
	}
	return n;
}

static int hostile_main(int argc, char **argv, const struct hostile *h)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "seed", required_argument, NULL, 'S' },
		{ NULL, 0, NULL, 0 },
	};
	const char *env = getenv("SONDE_HOSTILE_SECONDS");
	unsigned int seconds = tap_long() ? h->seconds : MAX(h->seconds / 4, LEAST_SECONDS);
	struct timespec now;
	uint64_t seed;
	int opt;

	clock_gettime(CLOCK_REALTIME, &now);
	seed = (uint64_t)now.tv_sec * 1000003 + now.tv_nsec;
	if (env)
		seconds = number(h->name, "SONDE_HOSTILE_SECONDS", env);
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 's')
			seconds = number(h->name, "--seconds", optarg);
		else if (opt == 'S')
			seed = number(h->name, "--seed", optarg);
		else
			return 2;
	}
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	outcome = share_memory(sizeof(*outcome));
	return run_hostile(h, seconds, seed);
}

#endif
