// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Reader-writer locks. A writer that waits keeps new readers out, or it might wait for
 * ever. state[0]: readers; [1]: the writer, or 0; [2]: writers that wait.
 */
#include <errno.h>

#include "waiting.h"

enum { READERS, WRITER, WRITERS };

int sonde_dsm_rwlock_init(sonde_dsm_rwlock_t *lock, const void *attr)
{
	return attr ? EINVAL : dsm_waiting_init(lock, 0);
}

int sonde_dsm_rwlock_destroy(sonde_dsm_rwlock_t *lock)
{
	return dsm_run() && dsm_id_of(dsm_run(), lock) ? 0 : EINVAL;
}

static bool is_free(const struct dsm_waiting *w, bool write)
{
	if (write)
		return !w->state[READERS] && !w->state[WRITER];
	return !w->state[WRITER] && !w->state[WRITERS];
}

static int take(sonde_dsm_rwlock_t *lock, bool write, bool try, const struct timespec *deadline)
{
	struct dsm_waiting w;
	int err = dsm_waiting_enter(&w, lock), late = 0;
	uint64_t me = sonde_dsm_self();

	if (err)
		return err;
	if (write && w.state[WRITER] == me && !try)
		late = EDEADLK;
	if (try && !is_free(&w, write))
		late = EBUSY;
	w.state[WRITERS] += write;
	while (!late && !is_free(&w, write))
		late = dsm_wait_id(w.run, w.cond, w.lock, deadline);
	w.state[WRITERS] -= write;
	if (is_free(&w, write) && late != EDEADLK && late != EBUSY) {
		late = 0;
		if (write)
			w.state[WRITER] = me;
		else
			w.state[READERS]++;
	} else if (write && late == ETIMEDOUT) {
		/* Readers that waited for this writer need not any more. */
		dsm_signal_id(w.run, w.cond, true);
	}
	err = dsm_waiting_leave(&w);
	return late ? late : err;
}

int sonde_dsm_rwlock_rdlock(sonde_dsm_rwlock_t *lock)
{
	return take(lock, false, false, NULL);
}

int sonde_dsm_rwlock_tryrdlock(sonde_dsm_rwlock_t *lock)
{
	return take(lock, false, true, NULL);
}

int sonde_dsm_rwlock_timedrdlock(sonde_dsm_rwlock_t *lock, const struct timespec *deadline)
{
	struct timespec until;
	int err = dsm_deadline(&until, CLOCK_REALTIME, deadline);

	return err ? err : take(lock, false, false, &until);
}

int sonde_dsm_rwlock_wrlock(sonde_dsm_rwlock_t *lock)
{
	return take(lock, true, false, NULL);
}

int sonde_dsm_rwlock_trywrlock(sonde_dsm_rwlock_t *lock)
{
	return take(lock, true, true, NULL);
}

int sonde_dsm_rwlock_timedwrlock(sonde_dsm_rwlock_t *lock, const struct timespec *deadline)
{
	struct timespec until;
	int err = dsm_deadline(&until, CLOCK_REALTIME, deadline);

	return err ? err : take(lock, true, false, &until);
}

int sonde_dsm_rwlock_unlock(sonde_dsm_rwlock_t *lock)
{
	struct dsm_waiting w;
	int err = dsm_waiting_enter(&w, lock);

	if (err)
		return err;
	if (w.state[WRITER] == sonde_dsm_self())
		w.state[WRITER] = 0;
	else if (w.state[READERS])
		w.state[READERS]--;
	else
		err = EPERM;
	if (!err && !w.state[READERS])
		err = dsm_signal_id(w.run, w.cond, true);
	dsm_waiting_leave(&w);
	return err;
}
