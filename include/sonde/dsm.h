/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: dsm - memory and threads over many processes
 *
 * Processes of one MPI job share memory, page by page (home-based lazy release
 * consistency), and have threads, mutexes, conditions, reader-writer locks, barriers
 * and semaphores as POSIX has them: names, arguments and error numbers are those of
 * pthread, with sonde_dsm_ before them. Functions return 0 or an error number.
 *
 * Shared is what sonde_dsm_malloc() gives, and nothing else: no globals, no stacks.
 * What a thread wrote before it gave up a lock, passed a barrier, made a thread or
 * ended is read by who got the lock, left the barrier, is that thread or joined it. A
 * program without data races is sequentially consistent; bytes are the objects.
 *
 * Objects (a mutex, say) are in shared memory, or are static variables: the same
 * variable is the same object in all processes. On the stack, or from malloc(), they
 * are refused with EINVAL. All processes run the same program.
 *
 * Settings are taken from the environment: see sonde_dsm(3). Functions without a comment
 * are there since 0.1 and do what those of POSIX do.
 */
#ifndef SONDE_DSM_H
#define SONDE_DSM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- processes ---- */

/** SONDE_DSM_ONE_MAIN: processes but the first do not return from sonde_dsm_init() */
#define SONDE_DSM_ONE_MAIN	(1U << 0)

/**
 * struct sonde_dsm_options - what sonde_dsm_init() makes
 * @size:	of this struct
 * @flags:	SONDE_DSM_ONE_MAIN or 0
 * @unit:	bytes of a page, a power of two from 4096; 0: 4096
 * @bytes:	of shared memory, over all; 0: 256 MiB
 * @fault:	name of the back end, as SONDE_DSM_FAULT has it; NULL: the best there is
 */
struct sonde_dsm_options {
	uint32_t size, flags;
	size_t unit, bytes;
	const char *fault;
};

/**
 * sonde_dsm_init() - begin; in every process of the job, by one thread
 * @options:	NULL: all 0
 *
 * The environment (SONDE_DSM_UNIT, SONDE_DSM_BYTES, SONDE_DSM_FAULT) comes before
 * @options. If MPI was not begun, a thread of the library begins it, makes all its
 * calls, and ends it; if it was, it must be with MPI_THREAD_MULTIPLE.
 *
 * With SONDE_DSM_ONE_MAIN, as for programs that were written for one process, the first
 * process returns and the others run threads for it until it calls sonde_dsm_exit();
 * then they end.
 *
 * Return: 0, or EINVAL (an option), ENOTSUP (no back end works here; SONDE_DSM_DEBUG=1
 * says why), ENOMEM, EBUSY (it was called before), EPROTO (processes differ).
 *
 * Since: 0.1
 */
int sonde_dsm_init(const struct sonde_dsm_options *options);

/**
 * sonde_dsm_exit() - end; in every process, by the thread that called sonde_dsm_init()
 *
 * Waits for all processes. Threads that are still there are not waited for; shared
 * memory is gone afterwards. What SONDE_DSM_STATS, _TRACE and _RACES ask for is shown.
 *
 * Return: 0, EINVAL (there is no job), or what a file that is wanted could not be written
 * for.
 *
 * Since: 0.1
 */
int sonde_dsm_exit(void);

/** sonde_dsm_process() - this process's number, from 0. Since: 0.1 */
unsigned int sonde_dsm_process(void);
/** sonde_dsm_processes() - how many there are. Since: 0.1 */
unsigned int sonde_dsm_processes(void);
/** sonde_dsm_unit() - bytes of a page. Since: 0.1 */
size_t sonde_dsm_unit(void);
/** sonde_dsm_fault() - name of the back end in use. Since: 0.1 */
const char *sonde_dsm_fault(void);

/* ---- memory ---- */

/** SONDE_DSM_ANY_HOME: pages take turns over all processes */
#define SONDE_DSM_ANY_HOME	UINT32_MAX

/**
 * sonde_dsm_malloc() - shared memory, at the same address in all processes
 * @size:	bytes
 *
 * Anyone may free it. What is in it is undefined. From half a page on (but at least
 * 32 KiB) it has pages of its own; smaller pieces share pages with others of this
 * process only.
 *
 * Return: NULL with errno ENOMEM if there is not so much.
 *
 * Since: 0.1
 */
void *sonde_dsm_malloc(size_t size);
/** sonde_dsm_calloc() - the same, zeros. Since: 0.1 */
void *sonde_dsm_calloc(size_t n, size_t size);
/** sonde_dsm_free() - NULL is none. Since: 0.1 */
void sonde_dsm_free(void *p);

/**
 * sonde_dsm_alloc() - the same, with wishes
 * @p:		result; left alone on errors
 * @alignment:	a power of two up to the unit
 * @size:	bytes
 * @home:	process in which the newest version is, so one that often writes; it then
 *		has pages of its own. SONDE_DSM_ANY_HOME: pages take turns
 *
 * Return: 0, EINVAL or ENOMEM.
 *
 * Since: 0.1
 */
int sonde_dsm_alloc(void **p, size_t alignment, size_t size, uint32_t home);

/**
 * sonde_dsm_from_first() - the first process's pointer, in all
 * @p:		what the first process hands out; in others nothing is made of it
 *
 * One thread of each process calls it; a barrier as sonde_dsm_barrier_all(1), twice.
 *
 * Since: 0.1
 */
void *sonde_dsm_from_first(void *p);

/** sonde_dsm_is_shared() - is @p in shared memory? Since: 0.1 */
bool sonde_dsm_is_shared(const void *p);

/**
 * sonde_dsm_touch() - make pages accessible now
 * @p:		in shared memory
 * @size:	bytes
 * @write:	for writing
 *
 * Needed before a system call gets @p where the back end is by signals: the kernel
 * cannot raise them for itself, and returns EFAULT. The pages stay accessible until a
 * thread of this process acquires (a lock, a barrier, a join, a range). @write counts as writing
 * what is there already.
 *
 * Since: 0.1
 */
void sonde_dsm_touch(void *p, size_t size, bool write);

/**
 * sonde_dsm_prefetch() - begin to fetch pages for reading, and do not wait
 * @p:		in shared memory
 * @size:	bytes
 *
 * One message to each home, however many pages are old here.
 *
 * Since: 0.1
 */
void sonde_dsm_prefetch(const void *p, size_t size);

/**
 * sonde_dsm_release() - what this process wrote to a range is there for who acquires it
 * @p:		in shared memory
 * @size:	bytes
 *
 * For programs that are told by something else than locks and barriers, by messages of MPI
 * say, when memory was written. What was written before, by this thread or by one that it
 * follows, is read in all pages of the range by a thread that calls
 * sonde_dsm_acquire() for them after this has returned. Nothing is promised about other
 * pages; what a release of a lock or a barrier orders it orders as ever.
 *
 * Return: 0, or EINVAL (not all of it is shared, or there is no job).
 *
 * Since: 0.1
 */
int sonde_dsm_release(const void *p, size_t size);

/**
 * sonde_dsm_acquire() - read of a range what was released, not older copies
 * @p:		in shared memory
 * @size:	bytes
 *
 * The pages are void for all threads of this process until their homes have said that
 * the copies here are the newest, or have sent newer ones; that is begun with one message
 * to each home, and not waited for. What was written here, and is not at home, stays.
 *
 * This is for who calls it: who gets a lock from this thread must acquire the range itself
 * to read what others released there.
 *
 * Return: as sonde_dsm_release().
 *
 * Since: 0.1
 */
int sonde_dsm_acquire(const void *p, size_t size);

/**
 * sonde_dsm_name() - what a piece of shared memory is called where it is shown
 * @p:		in shared memory
 * @size:	bytes
 * @name:	up to 47 characters; the same name may be given to several pieces
 *
 * In the counters of SONDE_DSM_STATS and in what SONDE_DSM_RACES tells of. These go by pages:
 * a page has the name that it was given last. Without these settings nothing is done.
 *
 * Return: 0, EINVAL (not all of it is shared, or there is no name) or ENOMEM.
 *
 * Since: 0.1
 */
int sonde_dsm_name(const void *p, size_t size, const char *name);

/* ---- threads ---- */

typedef uint64_t sonde_dsm_t;
typedef uint32_t sonde_dsm_key_t;

typedef struct {
	uint32_t process, is_detached;
} sonde_dsm_attr_t;

/** SONDE_DSM_ANY_PROCESS: threads take turns over processes, that of the caller first */
#define SONDE_DSM_ANY_PROCESS	UINT32_MAX

#define SONDE_DSM_CREATE_JOINABLE	0
#define SONDE_DSM_CREATE_DETACHED	1
#define SONDE_DSM_KEYS_MAX		128

int sonde_dsm_attr_init(sonde_dsm_attr_t *attr);
int sonde_dsm_attr_destroy(sonde_dsm_attr_t *attr);
int sonde_dsm_attr_setdetachstate(sonde_dsm_attr_t *attr, int state);
/** sonde_dsm_attr_setprocess() - where the thread is to run. Since: 0.1 */
int sonde_dsm_attr_setprocess(sonde_dsm_attr_t *attr, unsigned int process);

/**
 * sonde_dsm_create() - a thread, maybe in another process
 *
 * @start is a function of the program or of a library that all processes have; @arg is
 * handed over as it is, so what it points to must be shared.
 *
 * Since: 0.1
 */
int sonde_dsm_create(sonde_dsm_t *thread, const sonde_dsm_attr_t *attr, void *(*start)(void *),
		     void *arg);
int sonde_dsm_join(sonde_dsm_t thread, void **value);
int sonde_dsm_detach(sonde_dsm_t thread);
sonde_dsm_t sonde_dsm_self(void);
int sonde_dsm_equal(sonde_dsm_t a, sonde_dsm_t b);
/** sonde_dsm_thread_exit() - pthread_exit(). Since: 0.1 */
void sonde_dsm_thread_exit(void *value) __attribute__((noreturn));
/** sonde_dsm_yield() - sched_yield(). Since: 0.1 */
int sonde_dsm_yield(void);

/* Keys are alike in all processes; a destructor is a function as @start above is. */
int sonde_dsm_key_create(sonde_dsm_key_t *key, void (*destructor)(void *));
int sonde_dsm_key_delete(sonde_dsm_key_t key);
int sonde_dsm_setspecific(sonde_dsm_key_t key, const void *value);
void *sonde_dsm_getspecific(sonde_dsm_key_t key);

/* ---- objects ---- */

/* What two processes agree on; fields are the library's. */
struct sonde_dsm_object {
	uint64_t id;
	uint32_t kind, seen;
	uint64_t state[4];
};

typedef struct sonde_dsm_object sonde_dsm_mutex_t, sonde_dsm_cond_t, sonde_dsm_rwlock_t,
	sonde_dsm_barrier_t, sonde_dsm_sem_t, sonde_dsm_once_t;

typedef struct {
	uint32_t kind;
} sonde_dsm_mutexattr_t;

typedef struct {
	uint32_t clock;
} sonde_dsm_condattr_t;

#define SONDE_DSM_MUTEX_NORMAL		0
#define SONDE_DSM_MUTEX_RECURSIVE	1
#define SONDE_DSM_MUTEX_ERRORCHECK	2
#define SONDE_DSM_MUTEX_DEFAULT		SONDE_DSM_MUTEX_NORMAL
#define SONDE_DSM_BARRIER_SERIAL_THREAD	(-1)

#define SONDE_DSM_MUTEX_INITIALIZER		{ 0, SONDE_DSM_MUTEX_NORMAL, 0, { 0, 0, 0, 0 } }
#define SONDE_DSM_RECURSIVE_MUTEX_INITIALIZER	{ 0, SONDE_DSM_MUTEX_RECURSIVE, 0, { 0, 0, 0, 0 } }
#define SONDE_DSM_ERRORCHECK_MUTEX_INITIALIZER	{ 0, SONDE_DSM_MUTEX_ERRORCHECK, 0, { 0, 0, 0, 0 } }
#define SONDE_DSM_COND_INITIALIZER		{ 0, 0, 0, { 0, 0, 0, 0 } }
#define SONDE_DSM_RWLOCK_INITIALIZER		{ 0, 0, 0, { 0, 0, 0, 0 } }
#define SONDE_DSM_ONCE_INIT			{ 0, 0, 0, { 0, 0, 0, 0 } }

int sonde_dsm_once(sonde_dsm_once_t *once, void (*routine)(void));

int sonde_dsm_mutexattr_init(sonde_dsm_mutexattr_t *attr);
int sonde_dsm_mutexattr_destroy(sonde_dsm_mutexattr_t *attr);
int sonde_dsm_mutexattr_settype(sonde_dsm_mutexattr_t *attr, int kind);
int sonde_dsm_mutexattr_gettype(const sonde_dsm_mutexattr_t *attr, int *kind);
int sonde_dsm_mutex_init(sonde_dsm_mutex_t *mutex, const sonde_dsm_mutexattr_t *attr);
int sonde_dsm_mutex_destroy(sonde_dsm_mutex_t *mutex);
int sonde_dsm_mutex_lock(sonde_dsm_mutex_t *mutex);
int sonde_dsm_mutex_trylock(sonde_dsm_mutex_t *mutex);
int sonde_dsm_mutex_timedlock(sonde_dsm_mutex_t *mutex, const struct timespec *deadline);
/** sonde_dsm_mutex_unlock() - EPERM, for every kind, if another thread has it. Since: 0.1 */
int sonde_dsm_mutex_unlock(sonde_dsm_mutex_t *mutex);

int sonde_dsm_condattr_init(sonde_dsm_condattr_t *attr);
int sonde_dsm_condattr_destroy(sonde_dsm_condattr_t *attr);
int sonde_dsm_condattr_setclock(sonde_dsm_condattr_t *attr, clockid_t clock);
int sonde_dsm_cond_init(sonde_dsm_cond_t *cond, const sonde_dsm_condattr_t *attr);
int sonde_dsm_cond_destroy(sonde_dsm_cond_t *cond);
int sonde_dsm_cond_wait(sonde_dsm_cond_t *cond, sonde_dsm_mutex_t *mutex);
int sonde_dsm_cond_timedwait(sonde_dsm_cond_t *cond, sonde_dsm_mutex_t *mutex,
			     const struct timespec *deadline);
int sonde_dsm_cond_signal(sonde_dsm_cond_t *cond);
int sonde_dsm_cond_broadcast(sonde_dsm_cond_t *cond);

int sonde_dsm_rwlock_init(sonde_dsm_rwlock_t *lock, const void *attr);
int sonde_dsm_rwlock_destroy(sonde_dsm_rwlock_t *lock);
int sonde_dsm_rwlock_rdlock(sonde_dsm_rwlock_t *lock);
int sonde_dsm_rwlock_tryrdlock(sonde_dsm_rwlock_t *lock);
int sonde_dsm_rwlock_timedrdlock(sonde_dsm_rwlock_t *lock, const struct timespec *deadline);
int sonde_dsm_rwlock_wrlock(sonde_dsm_rwlock_t *lock);
int sonde_dsm_rwlock_trywrlock(sonde_dsm_rwlock_t *lock);
int sonde_dsm_rwlock_timedwrlock(sonde_dsm_rwlock_t *lock, const struct timespec *deadline);
int sonde_dsm_rwlock_unlock(sonde_dsm_rwlock_t *lock);

int sonde_dsm_barrier_init(sonde_dsm_barrier_t *barrier, const void *attr, unsigned int count);
int sonde_dsm_barrier_destroy(sonde_dsm_barrier_t *barrier);
int sonde_dsm_barrier_wait(sonde_dsm_barrier_t *barrier);

/**
 * sonde_dsm_barrier_all() - a barrier of all processes
 * @threads:	how many threads of each process come; the same in all
 *
 * 2 (n - 1) messages, where a barrier object, which may be of any threads, is made of
 * a lock and a condition. One such barrier at a time.
 *
 * Since: 0.1
 */
int sonde_dsm_barrier_all(unsigned int threads);

/* As sem_init() but that they return error numbers. */
int sonde_dsm_sem_init(sonde_dsm_sem_t *sem, unsigned int value);
int sonde_dsm_sem_destroy(sonde_dsm_sem_t *sem);
int sonde_dsm_sem_wait(sonde_dsm_sem_t *sem);
int sonde_dsm_sem_trywait(sonde_dsm_sem_t *sem);
int sonde_dsm_sem_timedwait(sonde_dsm_sem_t *sem, const struct timespec *deadline);
int sonde_dsm_sem_post(sonde_dsm_sem_t *sem);
int sonde_dsm_sem_getvalue(sonde_dsm_sem_t *sem, int *value);

#ifdef __cplusplus
}
#endif

#endif
