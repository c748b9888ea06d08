// SPDX-License-Identifier: LGPL-2.1-or-later
/* Condition variables. */
#include <errno.h>

#include "run.h"

static int wait_until(sonde_dsm_cond_t *cond, sonde_dsm_mutex_t *mutex,
		      const struct timespec *deadline)
{
	struct dsm_local *me = dsm_me();
	uint64_t id = me ? dsm_id_of(me->run, cond) : 0;
	uint64_t lock = me ? dsm_id_of(me->run, mutex) : 0;

	if (!id || !lock)
		return EINVAL;
	if (!dsm_holds(me, lock))
		return EPERM;
	return dsm_wait_id(me->run, id, lock, deadline);
}

int sonde_dsm_cond_wait(sonde_dsm_cond_t *cond, sonde_dsm_mutex_t *mutex)
{
	return wait_until(cond, mutex, NULL);
}

int sonde_dsm_cond_timedwait(sonde_dsm_cond_t *cond, sonde_dsm_mutex_t *mutex,
			     const struct timespec *deadline)
{
	struct timespec until;
	int err = dsm_deadline(&until, cond->kind ? CLOCK_MONOTONIC : CLOCK_REALTIME, deadline);

	return err ? err : wait_until(cond, mutex, &until);
}

static int wake(sonde_dsm_cond_t *cond, bool all)
{
	struct dsm_run *run = dsm_run();
	uint64_t id = run ? dsm_id_of(run, cond) : 0;

	return id ? dsm_signal_id(run, id, all) : EINVAL;
}

int sonde_dsm_cond_signal(sonde_dsm_cond_t *cond)
{
	return wake(cond, false);
}

int sonde_dsm_cond_broadcast(sonde_dsm_cond_t *cond)
{
	return wake(cond, true);
}

int sonde_dsm_cond_init(sonde_dsm_cond_t *cond, const sonde_dsm_condattr_t *attr)
{
	if (!dsm_run() || !dsm_id_of(dsm_run(), cond))
		return EINVAL;
	*cond = (sonde_dsm_cond_t){ .kind = attr ? attr->clock : 0 };
	return 0;
}

int sonde_dsm_cond_destroy(sonde_dsm_cond_t *cond)
{
	return dsm_run() && dsm_id_of(dsm_run(), cond) ? 0 : EINVAL;
}

int sonde_dsm_condattr_init(sonde_dsm_condattr_t *attr)
{
	attr->clock = 0;
	return 0;
}

int sonde_dsm_condattr_destroy(sonde_dsm_condattr_t *attr)
{
	(void)attr;
	return 0;
}

int sonde_dsm_condattr_setclock(sonde_dsm_condattr_t *attr, clockid_t clock)
{
	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
		return EINVAL;
	attr->clock = clock == CLOCK_MONOTONIC;
	return 0;
}
