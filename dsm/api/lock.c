// SPDX-License-Identifier: LGPL-2.1-or-later
/* Locks and conditions by number, whoever has them. */
#include <errno.h>

#include "run.h"

int dsm_lock_id(struct dsm_run *run, uint64_t id, const struct timespec *deadline)
{
	uint64_t begun_ns = dsm_now();
	int err = dsm_do(run, DSM_EV_LOCK, id, 0, deadline);
	atomic_fetch_add_explicit(&run->lock_waits, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&run->lock_wait_ns, dsm_now() - begun_ns, memory_order_relaxed);
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
