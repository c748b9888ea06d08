// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * meter_lanes - several CPUs measured at the same time
 *
 * Two threads that "run together" usually do not: one has not started, was put
 * aside, or is done. So nobody takes a window before all have come, and nobody
 * stops loading before all have theirs. Each window says when it began; who asks
 * for proof compares those.
 *
 * Who waits walks on, so that a cache it holds stays its own. Every wait ends at
 * a deadline: where the CPUs are given to others, the lanes give up rather than
 * hold on. No lane outlives the call, whatever went wrong.
 */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "meter_user.h"

/* Seconds in which all must have come. */
#define COME_S		2.0
/* Who is done waits for the others so long, and so many times its own time. */
#define DONE_S		2.0
#define DONE_FACTOR	8
/* Loads between two looks at the others: some microseconds even from memory. */
#define LOOK		64

/**
 * struct meeting - what the lanes of a call share
 * @u: the machine
 * @nlanes: how many take part
 * @come: how many stand at the start. Release by who comes, acquire by who waits,
 *        so that all have linked before any window
 * @done: how many have their windows; the same pairing
 * @err: the first error; set once, ends every wait
 */
struct meeting {
	const struct meter_user *u;
	size_t nlanes;
	atomic_size_t come;
	atomic_size_t done;
	atomic_int err;
};

struct runner {
	struct meeting *meeting;
	const struct meter_lane *lane;
	struct crew_member *member;
	void *at;
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

/* Walks until all are counted. */
static void walk_until_all(struct runner *r, atomic_size_t *count, double timeout_s)
{
	struct meeting *g = r->meeting;
	double end = seconds(g->u) + timeout_s;

	atomic_fetch_add_explicit(count, 1, memory_order_release);
	while (atomic_load_explicit(count, memory_order_acquire) < g->nlanes && !has_given_up(g)) {
		r->at = meter_user_walk(r->at, LOOK);
		if (seconds(g->u) > end)
			give_up(g, -EAGAIN);
	}
}

static void run_lane(void *ctx)
{
	struct runner *r = ctx;
	struct meeting *g = r->meeting;
	const struct meter_lane *lane = r->lane;
	double begin;

	r->at = meter_user_link(g->u, lane->places, lane->n);
	r->at = meter_user_walk(r->at, lane->skip);
	walk_until_all(r, &g->come, COME_S);
	begin = seconds(g->u);
	for (size_t i = 0; i < lane->nout && !has_given_up(g); i++)
		r->at = meter_user_windows(g->u, r->at, lane->steps, &lane->out[i], 1);
	/* A CPU that goes offline sends its threads elsewhere. */
	if (sched_getcpu() != (int)lane->cpu)
		give_up(g, -EAGAIN);
	walk_until_all(r, &g->done, DONE_S + DONE_FACTOR * (seconds(g->u) - begin));
}

/* Two lanes on one CPU would take turns. */
static int check_lanes(const struct meter_user *u, const struct meter_lane *lanes, size_t nlanes)
{
	cpu_set_t taken;

	if (!nlanes || !u->pool)
		return -EINVAL;
	CPU_ZERO(&taken);
	for (size_t i = 0; i < nlanes; i++) {
		if (lanes[i].cpu >= CPU_SETSIZE || CPU_ISSET(lanes[i].cpu, &taken) || !lanes[i].n)
			return -EINVAL;
		CPU_SET(lanes[i].cpu, &taken);
	}
	return 0;
}

/* Everybody is there before anybody starts, so none waits for one that failed. */
static int hire_all(struct meter_user *u, struct runner *runners, struct meeting *g,
		    const struct meter_lane *lanes)
{
	int err = 0;

	for (size_t i = 0; i < g->nlanes && !err; i++) {
		runners[i].meeting = g;
		runners[i].lane = &lanes[i];
		err = meter_user_hire(u, lanes[i].cpu, &runners[i].member);
	}
	return err;
}

static void run_all(struct runner *runners, size_t n)
{
	struct runner *mine = NULL;

	for (size_t i = 0; i < n; i++) {
		if (runners[i].member)
			crew_start(runners[i].member, run_lane, &runners[i]);
		else
			mine = &runners[i];
	}
	if (mine)
		run_lane(mine);
	for (size_t i = 0; i < n; i++)
		if (runners[i].member)
			crew_wait(runners[i].member);
}

int meter_user_together(struct meter *m, const struct meter_lane *lanes, size_t nlanes)
{
	struct meter_user *u = (struct meter_user *)(void *)m;
	struct meeting g = { .u = u, .nlanes = nlanes };
	struct runner *runners;
	int err = check_lanes(u, lanes, nlanes);

	if (err)
		return err;
	runners = calloc(nlanes, sizeof(*runners));
	if (!runners)
		return -ENOMEM;
	err = hire_all(u, runners, &g, lanes);
	if (!err) {
		run_all(runners, nlanes);
		err = atomic_load_explicit(&g.err, memory_order_relaxed);
	}
	free(runners);
	return err;
}
