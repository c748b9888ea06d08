/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Several CPUs that do timed work at the same time, with a common start. */
#ifndef SONDE_LIB_MEETING_H
#define SONDE_LIB_MEETING_H

#include "meter_user.h"

/**
 * struct meeting_task - what one CPU does
 * @cpu: where
 * @ctx: handed to the others
 * @prepare: before it comes
 * @go_on: some microseconds of the same work, untimed
 * @window: take window number @i
 * @nout: how many
 */
struct meeting_task {
	unsigned int cpu;
	void *ctx;
	void (*prepare)(void *ctx);
	void (*go_on)(void *ctx);
	void (*window)(void *ctx, size_t i);
	size_t nout;
};

/*
 * All tasks at once; no two have the same CPU. 0, -EPERM, -EINVAL, -ENOMEM,
 * -EAGAIN (they did not come together in time).
 */
int meeting_run(struct meter_user *u, const struct meeting_task *tasks, size_t n);

#endif
