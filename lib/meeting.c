// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * meeting - several CPUs measured at the same time
 *
 * Two threads that "run together" usually do not: one has not started, was put
 * aside, or is done. So nobody takes a window before all have come, and nobody
 * stops working before all have theirs. Each window says when it began; who asks
 * for proof compares those.
 *
 * Who waits goes on with its work, so that a cache it holds stays its own. Every
 * wait ends at a deadline: where the CPUs are given to others, the tasks give up
 * rather than hold on. No task outlives the call, whatever went wrong.
 */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "meeting.h"

/* Seconds in which all must have come. */
#define COME_S		2.0
/* Who is done waits for the others so long, and so many times its own time. */
#define DONE_S		2.0
#define DONE_FACTOR	8

/**
 * struct meeting - what the tasks of a call share
 * @u: the machine
 * @n: how many take part
 * @come: how many stand at the start. Release by who comes, acquire by who waits,
 *        so that all are prepared before any window
 * @done: how many have their windows; the same pairing
 * @err: the first error; set once, ends every wait
 */
struct meeting {
	const struct meter_user *u;
	size_t n;
	atomic_size_t come;
	atomic_size_t done;
	atomic_int err;
};

struct runner {
	struct meeting *meeting;
	const struct meeting_task *task;
	struct crew_member *member;
};

static void give_up(struct meeting *g, int err)
{
	int none = 0;

	atomic_compare_exchange_strong_explicit(&g->err, &none, err, memory_order_relaxed,
						memory_order_relaxed);
}

static int has_given_up(struct meeting *g)
{
	return atomic_load_explicit(&g->err, memory_order_relaxed) != 0;
}

static double seconds(const struct meter_user *u)
{
	return (double)sonde_clock_now(u->clk) * u->meter.tick_ns / 1e9;
}

/* Works until all are counted. */
static void go_on_until_all(struct runner *r, atomic_size_t *count, double timeout_s)
{
	struct meeting *g = r->meeting;
	double end = seconds(g->u) + timeout_s;

	atomic_fetch_add_explicit(count, 1, memory_order_release);
	while (atomic_load_explicit(count, memory_order_acquire) < g->n && !has_given_up(g)) {
		r->task->go_on(r->task->ctx);
		if (seconds(g->u) > end)
			give_up(g, -EAGAIN);
	}
}

static void run_task(void *ctx)
{
	struct runner *r = ctx;
	struct meeting *g = r->meeting;
	const struct meeting_task *task = r->task;
	double begin;

	task->prepare(task->ctx);
	go_on_until_all(r, &g->come, COME_S);
	begin = seconds(g->u);
	for (size_t i = 0; i < task->nout && !has_given_up(g); i++)
		task->window(task->ctx, i);
	/* A CPU that goes offline sends its threads elsewhere. */
	if (sched_getcpu() != (int)task->cpu)
		give_up(g, -EAGAIN);
	go_on_until_all(r, &g->done, DONE_S + DONE_FACTOR * (seconds(g->u) - begin));
}

/* Two tasks on one CPU would take turns. */
static int check_cpus(const struct meeting_task *tasks, size_t n)
{
	cpu_set_t taken;

	CPU_ZERO(&taken);
	for (size_t i = 0; i < n; i++) {
		if (tasks[i].cpu >= CPU_SETSIZE || CPU_ISSET(tasks[i].cpu, &taken))
			return -EINVAL;
		CPU_SET(tasks[i].cpu, &taken);
	}
	return n ? 0 : -EINVAL;
}

/* Everybody is there before anybody starts, so none waits for one that failed. */
static int hire_all(struct meter_user *u, struct runner *runners, struct meeting *g,
		    const struct meeting_task *tasks)
{
	int err = 0;

	for (size_t i = 0; i < g->n && !err; i++) {
		runners[i].meeting = g;
		runners[i].task = &tasks[i];
		err = meter_user_hire(u, tasks[i].cpu, &runners[i].member);
	}
	return err;
}

static void run_all(struct runner *runners, size_t n)
{
	struct runner *mine = NULL;

	for (size_t i = 0; i < n; i++) {
		if (runners[i].member)
			crew_start(runners[i].member, run_task, &runners[i]);
		else
			mine = &runners[i];
	}
	if (mine)
		run_task(mine);
	for (size_t i = 0; i < n; i++)
		if (runners[i].member)
			crew_wait(runners[i].member);
}

int meeting_run(struct meter_user *u, const struct meeting_task *tasks, size_t n)
{
	struct meeting g = { .u = u, .n = n };
	struct runner *runners;
	int err = check_cpus(tasks, n);

	if (err)
		return err;
	runners = calloc(n, sizeof(*runners));
	if (!runners)
		return -ENOMEM;
	err = hire_all(u, runners, &g, tasks);
	if (!err) {
		run_all(runners, n);
		err = atomic_load_explicit(&g.err, memory_order_relaxed);
	}
	free(runners);
	return err;
}
