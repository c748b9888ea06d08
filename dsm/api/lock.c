// SPDX-License-Identifier: LGPL-2.1-or-later
/* Locks and conditions by number, whoever has them. */
#include <errno.h>

#include "run.h"

static uint64_t ns_since(const struct timespec *t)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)(now.tv_sec - t->tv_sec) * 1000000000 + (uint64_t)now.tv_nsec -
	       (uint64_t)t->tv_nsec;
}

int dsm_lock_id(struct dsm_run *run, uint64_t id, const struct timespec *deadline)
{
	struct timespec begin;
	int err;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	err = dsm_do(run, DSM_EV_LOCK, id, 0, deadline);
	atomic_fetch_add_explicit(&run->lock_waits, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&run->lock_wait_ns, ns_since(&begin), memory_order_relaxed);
	return -err;
}

int dsm_unlock_id(struct dsm_run *run, uint64_t id)
{
	return -dsm_do(run, DSM_EV_UNLOCK, id, 0, NULL);
}

int dsm_wait_id(struct dsm_run *run, uint64_t cond, uint64_t lock, const struct timespec *deadline)
{
	return -dsm_do(run, DSM_EV_WAIT, cond, lock, deadline);
}

int dsm_signal_id(struct dsm_run *run, uint64_t cond, bool all)
{
	return -dsm_do(run, DSM_EV_SIGNAL, cond, all, NULL);
}
