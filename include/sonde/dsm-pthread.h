/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: dsm-pthread - names of pthread for sonde/dsm.h
 *
 * Included after everything else, in each file of a program that is ported: pthread_
 * and sem_ names then mean sonde_dsm_ ones. With SONDE_DSM_MAP_MALLOC defined, so do
 * malloc(), calloc() and free(). What there is not, pthread_cancel() for one, does not
 * link. dsm/PORTING.md says what is left to do by hand: globals and stacks are not
 * shared.
 */
#ifndef SONDE_DSM_PTHREAD_H
#define SONDE_DSM_PTHREAD_H

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include <sonde/dsm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Semaphores set errno. */
static inline int sonde_dsm_posix(int err)
{
	if (!err)
		return 0;
	errno = err;
	return -1;
}

#ifdef __cplusplus
}
#endif

#undef PTHREAD_MUTEX_INITIALIZER
#undef PTHREAD_COND_INITIALIZER
#undef PTHREAD_RWLOCK_INITIALIZER
#undef PTHREAD_ONCE_INIT
#undef PTHREAD_MUTEX_NORMAL
#undef PTHREAD_MUTEX_RECURSIVE
#undef PTHREAD_MUTEX_ERRORCHECK
#undef PTHREAD_MUTEX_DEFAULT
#undef PTHREAD_CREATE_JOINABLE
#undef PTHREAD_CREATE_DETACHED
#undef PTHREAD_BARRIER_SERIAL_THREAD
#undef PTHREAD_KEYS_MAX
#undef SEM_FAILED

#define PTHREAD_MUTEX_INITIALIZER	SONDE_DSM_MUTEX_INITIALIZER
#define PTHREAD_COND_INITIALIZER	SONDE_DSM_COND_INITIALIZER
#define PTHREAD_RWLOCK_INITIALIZER	SONDE_DSM_RWLOCK_INITIALIZER
#define PTHREAD_ONCE_INIT		SONDE_DSM_ONCE_INIT
#define PTHREAD_MUTEX_NORMAL		SONDE_DSM_MUTEX_NORMAL
#define PTHREAD_MUTEX_RECURSIVE		SONDE_DSM_MUTEX_RECURSIVE
#define PTHREAD_MUTEX_ERRORCHECK	SONDE_DSM_MUTEX_ERRORCHECK
#define PTHREAD_MUTEX_DEFAULT		SONDE_DSM_MUTEX_DEFAULT
#define PTHREAD_CREATE_JOINABLE		SONDE_DSM_CREATE_JOINABLE
#define PTHREAD_CREATE_DETACHED		SONDE_DSM_CREATE_DETACHED
#define PTHREAD_BARRIER_SERIAL_THREAD	SONDE_DSM_BARRIER_SERIAL_THREAD
#define PTHREAD_KEYS_MAX		SONDE_DSM_KEYS_MAX

#define pthread_t		sonde_dsm_t
#define pthread_key_t		sonde_dsm_key_t
#define pthread_attr_t		sonde_dsm_attr_t
#define pthread_mutex_t		sonde_dsm_mutex_t
#define pthread_mutexattr_t	sonde_dsm_mutexattr_t
#define pthread_cond_t		sonde_dsm_cond_t
#define pthread_condattr_t	sonde_dsm_condattr_t
#define pthread_rwlock_t	sonde_dsm_rwlock_t
#define pthread_barrier_t	sonde_dsm_barrier_t
#define pthread_once_t		sonde_dsm_once_t
#define sem_t			sonde_dsm_sem_t

#define pthread_create			sonde_dsm_create
#define pthread_join			sonde_dsm_join
#define pthread_detach			sonde_dsm_detach
#define pthread_self			sonde_dsm_self
#define pthread_equal			sonde_dsm_equal
#define pthread_exit			sonde_dsm_thread_exit
#define pthread_yield			sonde_dsm_yield
#define pthread_once			sonde_dsm_once
#define pthread_attr_init		sonde_dsm_attr_init
#define pthread_attr_destroy		sonde_dsm_attr_destroy
#define pthread_attr_setdetachstate	sonde_dsm_attr_setdetachstate
#define pthread_key_create		sonde_dsm_key_create
#define pthread_key_delete		sonde_dsm_key_delete
#define pthread_setspecific		sonde_dsm_setspecific
#define pthread_getspecific		sonde_dsm_getspecific
#define pthread_mutexattr_init		sonde_dsm_mutexattr_init
#define pthread_mutexattr_destroy	sonde_dsm_mutexattr_destroy
#define pthread_mutexattr_settype	sonde_dsm_mutexattr_settype
#define pthread_mutexattr_gettype	sonde_dsm_mutexattr_gettype
#define pthread_mutex_init		sonde_dsm_mutex_init
#define pthread_mutex_destroy		sonde_dsm_mutex_destroy
#define pthread_mutex_lock		sonde_dsm_mutex_lock
#define pthread_mutex_trylock		sonde_dsm_mutex_trylock
#define pthread_mutex_timedlock		sonde_dsm_mutex_timedlock
#define pthread_mutex_unlock		sonde_dsm_mutex_unlock
#define pthread_condattr_init		sonde_dsm_condattr_init
#define pthread_condattr_destroy	sonde_dsm_condattr_destroy
#define pthread_condattr_setclock	sonde_dsm_condattr_setclock
#define pthread_cond_init		sonde_dsm_cond_init
#define pthread_cond_destroy		sonde_dsm_cond_destroy
#define pthread_cond_wait		sonde_dsm_cond_wait
#define pthread_cond_timedwait		sonde_dsm_cond_timedwait
#define pthread_cond_signal		sonde_dsm_cond_signal
#define pthread_cond_broadcast		sonde_dsm_cond_broadcast
#define pthread_rwlock_init		sonde_dsm_rwlock_init
#define pthread_rwlock_destroy		sonde_dsm_rwlock_destroy
#define pthread_rwlock_rdlock		sonde_dsm_rwlock_rdlock
#define pthread_rwlock_tryrdlock	sonde_dsm_rwlock_tryrdlock
#define pthread_rwlock_timedrdlock	sonde_dsm_rwlock_timedrdlock
#define pthread_rwlock_wrlock		sonde_dsm_rwlock_wrlock
#define pthread_rwlock_trywrlock	sonde_dsm_rwlock_trywrlock
#define pthread_rwlock_timedwrlock	sonde_dsm_rwlock_timedwrlock
#define pthread_rwlock_unlock		sonde_dsm_rwlock_unlock
#define pthread_barrier_init		sonde_dsm_barrier_init
#define pthread_barrier_destroy		sonde_dsm_barrier_destroy
#define pthread_barrier_wait		sonde_dsm_barrier_wait

#define sem_init(sem, pshared, value) \
	((void)(pshared), sonde_dsm_posix(sonde_dsm_sem_init((sem), (value))))
#define sem_destroy(sem)		sonde_dsm_posix(sonde_dsm_sem_destroy(sem))
#define sem_wait(sem)			sonde_dsm_posix(sonde_dsm_sem_wait(sem))
#define sem_trywait(sem)		sonde_dsm_posix(sonde_dsm_sem_trywait(sem))
#define sem_timedwait(sem, deadline)	sonde_dsm_posix(sonde_dsm_sem_timedwait((sem), (deadline)))
#define sem_post(sem)			sonde_dsm_posix(sonde_dsm_sem_post(sem))
#define sem_getvalue(sem, value)	sonde_dsm_posix(sonde_dsm_sem_getvalue((sem), (value)))

/* Not there: a program that uses one must not get the C library's by mistake. */
#define pthread_cancel		pthread_cancel_is_not_in_sonde_dsm
#define pthread_testcancel	pthread_testcancel_is_not_in_sonde_dsm
#define pthread_setcancelstate	pthread_setcancelstate_is_not_in_sonde_dsm
#define pthread_setcanceltype	pthread_setcanceltype_is_not_in_sonde_dsm
#define pthread_kill		pthread_kill_is_not_in_sonde_dsm
#define pthread_spin_init	pthread_spin_init_is_not_in_sonde_dsm
#define pthread_spin_lock	pthread_spin_lock_is_not_in_sonde_dsm
#define pthread_spin_unlock	pthread_spin_unlock_is_not_in_sonde_dsm
#define pthread_attr_setstacksize	pthread_attr_setstacksize_is_not_in_sonde_dsm
#define sem_open		sem_open_is_not_in_sonde_dsm

#ifdef SONDE_DSM_MAP_MALLOC
#define malloc	sonde_dsm_malloc
#define calloc	sonde_dsm_calloc
#define free	sonde_dsm_free
#endif

#endif
