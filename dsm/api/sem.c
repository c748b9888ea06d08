// SPDX-License-Identifier: LGPL-2.1-or-later
/* Semaphores. state[0]: the value. */
#include <errno.h>
#include <limits.h>

#include "waiting.h"

int sonde_dsm_sem_init(sonde_dsm_sem_t *sem, unsigned int value)
{
	return value > INT_MAX ? EINVAL : dsm_waiting_init(sem, value);
}

int sonde_dsm_sem_destroy(sonde_dsm_sem_t *sem)
{
	return dsm_run() && dsm_id_of(dsm_run(), sem) ? 0 : EINVAL;
}

static int take(sonde_dsm_sem_t *sem, const struct timespec *deadline)
{
	struct dsm_waiting w;
	int err = dsm_waiting_enter(&w, sem), late = 0;

	if (err)
		return err;
	while (!w.state[0] && !late)
		late = dsm_wait_id(w.run, w.cond, w.lock, deadline);
	/* A post that came with the end of the time is not lost. */
	if (w.state[0]) {
		w.state[0]--;
		late = 0;
	}
	err = dsm_waiting_leave(&w);
	return late ? late : err;
}

int sonde_dsm_sem_wait(sonde_dsm_sem_t *sem)
{
	return take(sem, NULL);
}

int sonde_dsm_sem_timedwait(sonde_dsm_sem_t *sem, const struct timespec *deadline)
{
	struct timespec until;
	int err = dsm_deadline(&until, CLOCK_REALTIME, deadline);

	return err ? err : take(sem, &until);
}

int sonde_dsm_sem_trywait(sonde_dsm_sem_t *sem)
{
	struct dsm_waiting w;
	int err = dsm_waiting_enter(&w, sem);
	bool good;

	if (err)
		return err;
	good = w.state[0];
	w.state[0] -= good;
	err = dsm_waiting_leave(&w);
	return good ? err : EAGAIN;
}

int sonde_dsm_sem_post(sonde_dsm_sem_t *sem)
{
	struct dsm_waiting w;
	int err = dsm_waiting_enter(&w, sem);

	if (err)
		return err;
	if (w.state[0] == INT_MAX) {
		dsm_waiting_leave(&w);
		return EOVERFLOW;
	}
	w.state[0]++;
	err = dsm_signal_id(w.run, w.cond, false);
	dsm_waiting_leave(&w);
	return err;
}

int sonde_dsm_sem_getvalue(sonde_dsm_sem_t *sem, int *value)
{
	struct dsm_waiting w;
	int err = dsm_waiting_enter(&w, sem);

	if (err)
		return err;
	*value = (int)w.state[0];
	return dsm_waiting_leave(&w);
}
