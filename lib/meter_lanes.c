// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * meter_lanes - chases on several CPUs at the same time: see meeting.c
 */
#include <errno.h>
#include <stdlib.h>

#include "meeting.h"

/* Loads between two looks at the others: some microseconds even from memory. */
#define LOOK		64

/* A lane at work: where its walk stands. */
struct lane {
	const struct meter_user *u;
	const struct meter_lane *what;
	void *at;
};

static void link_lane(void *ctx)
{
	struct lane *l = ctx;

	l->at = meter_user_link(l->u, l->what->places, l->what->n);
	l->at = meter_user_walk(l->at, l->what->skip);
}

static void walk_on(void *ctx)
{
	struct lane *l = ctx;

	l->at = meter_user_walk(l->at, LOOK);
}

static void take_window(void *ctx, size_t i)
{
	struct lane *l = ctx;

	l->at = meter_user_windows(l->u, l->at, l->what->steps, &l->what->out[i], 1);
}

int meter_user_together(struct meter *m, const struct meter_lane *lanes, size_t nlanes)
{
	struct meter_user *u = (struct meter_user *)(void *)m;
	struct meeting_task *tasks = calloc(nlanes ? nlanes : 1, sizeof(*tasks));
	struct lane *at = calloc(nlanes ? nlanes : 1, sizeof(*at));
	int err = tasks && at ? 0 : -ENOMEM;

	if (!err && !u->pool)
		err = -EINVAL;
	for (size_t i = 0; i < nlanes && !err; i++) {
		at[i] = (struct lane){ .u = u, .what = &lanes[i] };
		tasks[i] = (struct meeting_task){
			.cpu = lanes[i].cpu,
			.ctx = &at[i],
			.prepare = link_lane,
			.go_on = walk_on,
			.window = take_window,
			.nout = lanes[i].nout,
		};
		if (!lanes[i].n)
			err = -EINVAL;
	}
	if (!err)
		err = meeting_run(u, tasks, nlanes);
	free(tasks);
	free(at);
	return err;
}
