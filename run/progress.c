// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * progress - a rank that waits gives its CPU to one that has something to do
 *
 * MPICH 4.0 waits by calling ucp_worker_progress() until something has come; it
 * never gives up the CPU. With more ranks than CPUs the one that is waited for
 * gets its turn only at the next tick of the clock, some milliseconds later.
 *
 * In stages: the first polls of a wait only spin, since what is waited for may
 * be on its way; then each empty poll yields. Whether anybody took the CPU is
 * seen from the thread's count of switches: if nobody did, there is nobody to
 * give way to (as many CPUs as ranks, or ranks in groups of their own), and
 * the yields become rare, down to one in MOST_GAP polls, until one is taken.
 */
#include <sched.h>
#include <stddef.h>
#include <sys/resource.h>
#include <time.h>
#include "yield.h"

/* A poll costs about 100 ns, a yield that nobody takes twice that: one in 1,024
 * is 0.2 %. */
#define MOST_GAP 1024
/* Yields by which it is judged whether anybody takes them. */
#define WINDOW 16
/* Polls that are further apart are not those of a rank that waits: it computes
 * and looks now and then. Above what a poll of many sockets takes. */
#define FAR_APART_NS 50000
#define NS_PER_POLL 2000

typedef unsigned int (*progress_fn)(ucp_worker_h worker);

/**
 * struct waiter - one thread's wait
 * @left: empty polls until something is decided
 * @first: what @left starts from; 0 before the first wait
 * @dated: @since holds the time
 * @since: when the polls counted now began
 * @polls: how many they are
 * @gap: polls from one yield to the next
 * @yields: in this window
 * @switches: the thread's, when the window began
 */
struct waiter {
	int left;
	int first;
	int dated;
	int polls;
	int gap;
	int yields;
	int64_t since;
	long switches;
};

static _Thread_local struct waiter waiter __attribute__((tls_model("initial-exec")));
/* Written once, with what every thread would find. */
static _Atomic(progress_fn) next_progress;
static _Atomic(ucp_worker_h) first_worker;
static _Atomic int has_more_workers;
static _Atomic int does_yield;

static int64_t read_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static long count_switches(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage))
		return 0;
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static void count_polls(struct waiter *w, int polls)
{
	w->polls = polls;
	w->left = polls;
}

/* A new wait, or the first: half of the spin goes undated, so that a short wait
 * never reads the clock. */
static void begin_wait(struct waiter *w)
{
	const struct settings *settings = get_settings();

	w->dated = 0;
	w->first = settings->spin / 2 + 1;
	if (!w->gap) {
		w->gap = 1;
		w->switches = count_switches();
	}
	count_polls(w, w->first);
}

static void judge_yields(struct waiter *w)
{
	long switches;

	if (get_settings()->mode == YIELD_ALWAYS || ++w->yields < (w->gap > 1 ? 1 : WINDOW))
		return;
	switches = count_switches();
	if (switches != w->switches)
		w->gap = 1;
	else if (w->gap < MOST_GAP)
		w->gap *= 2;
	w->switches = switches;
	w->yields = 0;
}

/* So many empty polls in a row: what now? */
static void decide(struct waiter *w)
{
	int64_t now;

	if (!w->first) {
		begin_wait(w);
		return;
	}
	now = read_clock();
	if (w->dated && now - w->since > FAR_APART_NS + (int64_t)w->polls * NS_PER_POLL) {
		atomic_fetch_add_explicit(&counters.busy, 1, memory_order_relaxed);
		begin_wait(w);
		return;
	}
	if (!w->dated) {
		w->dated = 1;
		w->since = now;
		count_polls(w, get_settings()->spin / 2 + 1);
		return;
	}
	sched_yield();
	atomic_fetch_add_explicit(&counters.yields, 1, memory_order_relaxed);
	judge_yields(w);
	w->since = read_clock();
	count_polls(w, w->gap);
}

int has_polled(void)
{
	return atomic_load(&first_worker) != NULL;
}

int workers_differ(void)
{
	return atomic_load(&has_more_workers);
}

/* The first call in a process: who polls? */
static progress_fn resolve(const void *caller)
{
	enum yield_mode mode = get_settings()->mode;
	progress_fn next = NULL;

	*(void **)&next = find_next("ucp_worker_progress", caller);
	if (mode == YIELD_ALWAYS || (mode == YIELD_AUTO && is_in_mpich(caller)))
		atomic_store_explicit(&does_yield, 1, memory_order_relaxed);
	/* Nothing is published by it but the address itself. */
	atomic_store_explicit(&next_progress, next, memory_order_relaxed);
	return next;
}

static void note_worker(ucp_worker_h worker)
{
	ucp_worker_h none = NULL;

	if (!atomic_compare_exchange_strong(&first_worker, &none, worker) && none != worker)
		atomic_store(&has_more_workers, 1);
}

YIELD_EXPORT unsigned int ucp_worker_progress(ucp_worker_h worker);
YIELD_EXPORT unsigned int ucp_worker_progress(ucp_worker_h worker)
{
	progress_fn next = atomic_load_explicit(&next_progress, memory_order_relaxed);
	struct waiter *w = &waiter;
	unsigned int n;

	if (!next)
		next = resolve(__builtin_return_address(0));
	if (!next)
		return 0;
	if (atomic_load_explicit(&first_worker, memory_order_relaxed) != worker)
		note_worker(worker);
	n = next(worker);
	if (n) {
		w->left = w->first;
		w->dated = 0;
		return n;
	}
	if (atomic_load_explicit(&flush_state, memory_order_acquire) != FLUSH_NONE)
		step_flush(worker);
	if (--w->left <= 0 && atomic_load_explicit(&does_yield, memory_order_relaxed))
		decide(w);
	return 0;
}
