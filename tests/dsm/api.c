// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The public functions, with several processes of several threads, on every back end that
 * there is here.
 */
#include "job.h"

#define ROUNDS	60

struct all {
	sonde_dsm_mutex_t mutex, kinds[3];
	sonde_dsm_cond_t cond;
	sonde_dsm_rwlock_t rwlock;
	sonde_dsm_barrier_t barrier;
	sonde_dsm_sem_t sem, done;
	sonde_dsm_once_t once;
	uint64_t count, ready, seen[JOB_MOST], readers;
	sonde_dsm_key_t key;
	uint8_t page[8192];
};

static struct all *shared(uint64_t offset)
{
	return job_at(offset);
}

/* ---- mutexes ---- */
static void *add(void *offset)
{
	struct all *a = shared((uintptr_t)offset);

	for (int i = 0; i < ROUNDS; i++) {
		ck_assert_int_eq(0, sonde_dsm_mutex_lock(&a->mutex));
		a->count++;
		ck_assert_int_eq(0, sonde_dsm_mutex_unlock(&a->mutex));
	}
	return (void *)(uintptr_t)(sonde_dsm_process() + 1);
}

static void count(struct job *j, uint32_t me)
{
	struct all *a = job_shared(j, me, sizeof(*a));
	sonde_dsm_t other;

	ck_assert_int_eq(0, sonde_dsm_create(&other, NULL, add, (void *)(uintptr_t)j->offset));
	add((void *)(uintptr_t)j->offset);
	ck_assert_int_eq(0, sonde_dsm_join(other, NULL));
	ck_assert_int_eq(0, sonde_dsm_barrier_all(1));
	ck_assert_uint_eq(2 * j->processes * ROUNDS, a->count);
}

START_TEST(a_mutex_excludes_threads_of_all_processes)
{
	job_run(_i, 3, 4096, count);
}
END_TEST

static void *take_kinds(void *offset)
{
	struct all *a = shared((uintptr_t)offset);
	struct timespec soon = job_soon(30);

	for (int kind = 0; kind < 3; kind++) {
		ck_assert_int_eq(EBUSY, sonde_dsm_mutex_trylock(&a->kinds[kind]));
		ck_assert_int_eq(EPERM, sonde_dsm_mutex_unlock(&a->kinds[kind]));
		ck_assert_int_eq(ETIMEDOUT, sonde_dsm_mutex_timedlock(&a->kinds[kind], &soon));
	}
	return NULL;
}

static void use_kinds(struct job *j, uint32_t me)
{
	struct all *a = job_shared(j, me, sizeof(*a));
	struct timespec bad = { .tv_nsec = 1000000000 };
	sonde_dsm_mutexattr_t attr;
	sonde_dsm_attr_t there;
	sonde_dsm_t other;

	if (me)
		return;
	ck_assert_int_eq(0, sonde_dsm_mutexattr_init(&attr));
	ck_assert_int_eq(EINVAL, sonde_dsm_mutexattr_settype(&attr, 7));
	for (int kind = 0; kind < 3; kind++) {
		ck_assert_int_eq(0, sonde_dsm_mutexattr_settype(&attr, kind));
		ck_assert_int_eq(0, sonde_dsm_mutex_init(&a->kinds[kind], &attr));
		ck_assert_int_eq(EPERM, sonde_dsm_mutex_unlock(&a->kinds[kind]));
		ck_assert_int_eq(0, sonde_dsm_mutex_lock(&a->kinds[kind]));
		ck_assert_int_eq(EBUSY, sonde_dsm_mutex_destroy(&a->kinds[kind]));
	}
	ck_assert_int_eq(EBUSY, sonde_dsm_mutex_trylock(&a->kinds[SONDE_DSM_MUTEX_NORMAL]));
	ck_assert_int_eq(0, sonde_dsm_mutex_lock(&a->kinds[SONDE_DSM_MUTEX_RECURSIVE]));
	ck_assert_int_eq(0, sonde_dsm_mutex_unlock(&a->kinds[SONDE_DSM_MUTEX_RECURSIVE]));
	ck_assert_int_eq(EDEADLK, sonde_dsm_mutex_lock(&a->kinds[SONDE_DSM_MUTEX_ERRORCHECK]));
	ck_assert_int_eq(EINVAL, sonde_dsm_mutex_timedlock(&a->mutex, &bad));
	sonde_dsm_attr_init(&there);
	for (unsigned int q = 0; q < j->processes; q++) {
		sonde_dsm_attr_setprocess(&there, q);
		ck_assert_int_eq(0, sonde_dsm_create(&other, &there, take_kinds,
						     (void *)(uintptr_t)j->offset));
		ck_assert_int_eq(0, sonde_dsm_join(other, NULL));
	}
	for (int kind = 0; kind < 3; kind++) {
		ck_assert_int_eq(0, sonde_dsm_mutex_unlock(&a->kinds[kind]));
		ck_assert_int_eq(0, sonde_dsm_mutex_trylock(&a->kinds[kind]));
		ck_assert_int_eq(0, sonde_dsm_mutex_unlock(&a->kinds[kind]));
	}
	ck_assert_int_eq(EINVAL, sonde_dsm_mutex_lock(NULL));
	ck_assert_int_eq(EINVAL, sonde_dsm_mutex_lock(&(sonde_dsm_mutex_t){ 0 }));
}

START_TEST(kinds_of_mutexes_differ_as_posix_says)
{
	job_run(_i, 2, 4096, use_kinds);
}
END_TEST

/* ---- conditions ---- */
static void hand_over(struct job *j, uint32_t me)
{
	struct all *a = job_shared(j, me, sizeof(*a));
	struct timespec soon = job_soon(30);

	if (!me) {
		sonde_dsm_mutex_lock(&a->mutex);
		ck_assert_int_eq(ETIMEDOUT, sonde_dsm_cond_timedwait(&a->cond, &a->mutex, &soon));
		/* The lock is back. */
		ck_assert_int_eq(0, sonde_dsm_mutex_unlock(&a->mutex));
		ck_assert_int_eq(EPERM, sonde_dsm_cond_wait(&a->cond, &a->mutex));
	}
	sonde_dsm_barrier_all(1);
	for (uint64_t i = 0; i < 20; i++) {
		sonde_dsm_mutex_lock(&a->mutex);
		while (a->ready % j->processes != me)
			ck_assert_int_eq(0, sonde_dsm_cond_wait(&a->cond, &a->mutex));
		ck_assert_uint_eq(i * j->processes + me, a->ready);
		a->ready++;
		sonde_dsm_cond_broadcast(&a->cond);
		sonde_dsm_mutex_unlock(&a->mutex);
	}
}

START_TEST(a_condition_wakes_threads_of_other_processes)
{
	job_run(_i, 3, 4096, hand_over);
}
END_TEST

/* ---- threads ---- */
static void *answer(void *offset)
{
	struct all *a = shared((uintptr_t)offset);
	uint32_t me = sonde_dsm_process();

	ck_assert_uint_eq(17, a->count);
	a->seen[me] = 100 + me;
	a->page[4096 + me] = (uint8_t)me;
	if (me & 1)
		sonde_dsm_thread_exit((void *)(uintptr_t)(7 + me));
	return (void *)(uintptr_t)(7 + me);
}

static void *tell_end(void *offset)
{
	sonde_dsm_sem_post(&shared((uintptr_t)offset)->done);
	return NULL;
}

static void make_threads(struct job *j, uint32_t me)
{
	struct all *a = job_shared(j, me, sizeof(*a));
	sonde_dsm_t t[JOB_MOST];
	sonde_dsm_attr_t there;
	void *value;

	/* All have a copy, which will be old. */
	ck_assert_uint_eq(0, a->count);
	ck_assert_int_eq(0, sonde_dsm_barrier_all(1));
	if (me)
		return;
	a->count = 17;
	sonde_dsm_attr_init(&there);
	for (unsigned int q = 0; q < j->processes; q++) {
		sonde_dsm_attr_setprocess(&there, q);
		ck_assert_int_eq(0, sonde_dsm_create(&t[q], &there, answer,
						     (void *)(uintptr_t)j->offset));
	}
	for (unsigned int q = 0; q < j->processes; q++) {
		ck_assert_int_eq(0, sonde_dsm_join(t[q], &value));
		ck_assert_uint_eq(7 + q, (uintptr_t)value);
		ck_assert_uint_eq(100 + q, a->seen[q]);
		ck_assert_uint_eq(q, a->page[4096 + q]);
		ck_assert_int_eq(ESRCH, sonde_dsm_join(t[q], NULL));
	}
	ck_assert_int_eq(0, sonde_dsm_attr_setdetachstate(&there, SONDE_DSM_CREATE_DETACHED));
	ck_assert_int_eq(0, sonde_dsm_create(&t[0], &there, tell_end,
					     (void *)(uintptr_t)j->offset));
	ck_assert_int_ne(0, sonde_dsm_join(t[0], NULL));
	ck_assert_int_eq(0, sonde_dsm_sem_wait(&a->done));
	ck_assert_int_eq(EDEADLK, sonde_dsm_join(sonde_dsm_self(), NULL));
	ck_assert_int_eq(ESRCH, sonde_dsm_join(0, NULL));
	ck_assert_int_eq(ESRCH, sonde_dsm_join((sonde_dsm_t)99 << 48 | 1, NULL));
	sonde_dsm_attr_setprocess(&there, 99);
	ck_assert_int_eq(EINVAL, sonde_dsm_create(&t[0], &there, answer, NULL));
	/* No function of the program. */
	ck_assert_int_eq(EINVAL, sonde_dsm_create(&t[0], NULL,
						  (void *(*)(void *))(uintptr_t)a, NULL));
}

START_TEST(threads_begin_with_what_was_written_and_end_with_what_they_wrote)
{
	job_run(_i, 3, 4096, make_threads);
}
END_TEST

/* ---- keys, once ---- */
static _Atomic int destroyed, done;

static void destroy(void *value)
{
	ck_assert_uint_eq(5, (uintptr_t)value);
	destroyed++;
}

static void once(void)
{
	done++;
}

static void *use_key(void *offset)
{
	struct all *a = shared((uintptr_t)offset);

	ck_assert_ptr_null(sonde_dsm_getspecific(a->key));
	ck_assert_int_eq(0, sonde_dsm_setspecific(a->key, (void *)5));
	ck_assert_ptr_eq((void *)5, sonde_dsm_getspecific(a->key));
	ck_assert_int_eq(0, sonde_dsm_once(&a->once, once));
	return NULL;
}

static void use_keys(struct job *j, uint32_t me)
{
	struct all *a = job_shared(j, me, sizeof(*a));
	sonde_dsm_t t;

	if (!me)
		ck_assert_int_eq(0, sonde_dsm_key_create(&a->key, destroy));
	sonde_dsm_barrier_all(1);
	ck_assert_int_eq(0, sonde_dsm_create(&t, NULL, use_key, (void *)(uintptr_t)j->offset));
	ck_assert_int_eq(0, sonde_dsm_join(t, NULL));
	ck_assert_int_eq(0, sonde_dsm_once(&a->once, once));
	sonde_dsm_barrier_all(1);
	ck_assert_int_eq((int)j->processes, destroyed);
	ck_assert_int_eq(1, done);
	ck_assert_int_eq(EINVAL, sonde_dsm_setspecific(SONDE_DSM_KEYS_MAX, NULL));
	if (!me) {
		ck_assert_int_eq(0, sonde_dsm_key_delete(a->key));
		ck_assert_int_eq(EINVAL, sonde_dsm_key_delete(a->key));
	}
}

START_TEST(keys_and_once_are_of_the_whole_job)
{
	destroyed = done = 0;
	job_run(_i, 3, 4096, use_keys);
}
END_TEST

/* ---- what is made of locks and conditions ---- */
static void use_sem(struct job *j, uint32_t me)
{
	struct all *a = job_shared(j, me, sizeof(*a));
	struct timespec soon = job_soon(30);
	int value;

	if (!me) {
		ck_assert_int_eq(0, sonde_dsm_sem_init(&a->sem, 0));
		ck_assert_int_eq(EAGAIN, sonde_dsm_sem_trywait(&a->sem));
		ck_assert_int_eq(ETIMEDOUT, sonde_dsm_sem_timedwait(&a->sem, &soon));
	}
	sonde_dsm_barrier_all(1);
	for (int i = 0; i < 10; i++) {
		if (!me) {
			for (uint32_t q = 1; q < j->processes; q++)
				ck_assert_int_eq(0, sonde_dsm_sem_post(&a->sem));
			for (uint32_t q = 1; q < j->processes; q++)
				ck_assert_int_eq(0, sonde_dsm_sem_wait(&a->done));
		} else {
			ck_assert_int_eq(0, sonde_dsm_sem_wait(&a->sem));
			ck_assert_int_eq(0, sonde_dsm_sem_post(&a->done));
		}
	}
	sonde_dsm_barrier_all(1);
	ck_assert_int_eq(0, sonde_dsm_sem_getvalue(&a->sem, &value));
	ck_assert_int_eq(0, value);
}

START_TEST(a_semaphore_counts_across_processes)
{
	job_run(_i, 3, 4096, use_sem);
}
END_TEST

static void use_rwlock(struct job *j, uint32_t me)
{
	struct all *a = job_shared(j, me, sizeof(*a));
	struct timespec soon = job_soon(30);

	for (int i = 0; i < 10; i++) {
		ck_assert_int_eq(0, sonde_dsm_rwlock_wrlock(&a->rwlock));
		a->count++;
		ck_assert_int_eq(0, sonde_dsm_rwlock_unlock(&a->rwlock));
		ck_assert_int_eq(0, sonde_dsm_rwlock_rdlock(&a->rwlock));
		ck_assert_uint_ge(a->count, (uint64_t)i + 1);
		ck_assert_int_eq(0, sonde_dsm_rwlock_unlock(&a->rwlock));
	}
	sonde_dsm_barrier_all(1);
	ck_assert_uint_eq(10 * j->processes, a->count);
	/* All read at once: nobody leaves before all are in. */
	ck_assert_int_eq(0, sonde_dsm_rwlock_rdlock(&a->rwlock));
	sonde_dsm_barrier_all(1);
	ck_assert_int_eq(EBUSY, sonde_dsm_rwlock_trywrlock(&a->rwlock));
	ck_assert_int_eq(ETIMEDOUT, sonde_dsm_rwlock_timedwrlock(&a->rwlock, &soon));
	sonde_dsm_barrier_all(1);
	ck_assert_int_eq(0, sonde_dsm_rwlock_unlock(&a->rwlock));
	sonde_dsm_barrier_all(1);
	if (!me) {
		ck_assert_int_eq(EPERM, sonde_dsm_rwlock_unlock(&a->rwlock));
		ck_assert_int_eq(0, sonde_dsm_rwlock_trywrlock(&a->rwlock));
		ck_assert_int_eq(EDEADLK, sonde_dsm_rwlock_wrlock(&a->rwlock));
		ck_assert_int_eq(EBUSY, sonde_dsm_rwlock_tryrdlock(&a->rwlock));
		ck_assert_int_eq(0, sonde_dsm_rwlock_unlock(&a->rwlock));
	}
}

START_TEST(a_rwlock_has_many_readers_or_one_writer)
{
	job_run(_i, 3, 4096, use_rwlock);
}
END_TEST

static void use_barrier(struct job *j, uint32_t me)
{
	struct all *a = job_shared(j, me, sizeof(*a));
	int serial = 0;

	if (!me) {
		ck_assert_int_eq(EINVAL, sonde_dsm_barrier_init(&a->barrier, NULL, 0));
		ck_assert_int_eq(0, sonde_dsm_barrier_init(&a->barrier, NULL, j->processes));
	}
	sonde_dsm_barrier_all(1);
	for (uint64_t i = 1; i <= 10; i++) {
		int got;

		a->seen[me] = i;
		got = sonde_dsm_barrier_wait(&a->barrier);
		ck_assert(got == 0 || got == SONDE_DSM_BARRIER_SERIAL_THREAD);
		serial += got != 0;
		for (uint32_t q = 0; q < j->processes; q++)
			ck_assert_uint_eq(i, a->seen[q]);
		sonde_dsm_barrier_wait(&a->barrier);
	}
	sonde_dsm_mutex_lock(&a->mutex);
	a->count += (uint64_t)serial;
	sonde_dsm_mutex_unlock(&a->mutex);
	sonde_dsm_barrier_all(1);
	ck_assert_uint_eq(10, a->count);
	ck_assert_int_eq(EINVAL, sonde_dsm_barrier_all(0));
}

START_TEST(a_barrier_lets_all_go_and_names_one)
{
	job_run(_i, 3, 4096, use_barrier);
}
END_TEST

/* ---- memory ---- */
static void allocate(struct job *j, uint32_t me)
{
	unsigned char *small[40], *large, *p, outside;
	uint64_t *offsets = job_shared(j, me, sizeof(*offsets) * JOB_MOST);
	void *at = NULL;

	for (size_t i = 0; i < 40; i++) {
		small[i] = sonde_dsm_malloc(1 + i * 37);
		ck_assert(sonde_dsm_is_shared(small[i]));
		memset(small[i], (int)(i + me), 1 + i * 37);
	}
	for (size_t i = 0; i < 40; i++)
		for (size_t k = 0; k < 1 + i * 37; k++)
			ck_assert_uint_eq((unsigned char)(i + me), small[i][k]);
	offsets[me] = job_offset(small[7]);
	sonde_dsm_barrier_all(1);
	/* Another's, and it is given out again by the one whose it was. */
	sonde_dsm_free(job_at(offsets[(me + 1) % j->processes]));
	large = sonde_dsm_calloc(1, 200000);
	for (size_t i = 0; i < 200000; i += 4096)
		ck_assert_uint_eq(0, large[i]);
	memset(large, 1, 200000);
	sonde_dsm_free(large);
	large = sonde_dsm_calloc(50000, 4);
	for (size_t i = 0; i < 200000; i++)
		ck_assert_uint_eq(0, large[i]);
	sonde_dsm_free(large);
	ck_assert_int_eq(0, sonde_dsm_alloc(&at, 4096, 10, SONDE_DSM_ANY_HOME));
	ck_assert_uint_eq(0, (uintptr_t)at % 4096);
	ck_assert_int_eq(0, sonde_dsm_alloc(&at, 1, 5000, (me + 1) % j->processes));
	memset(at, 3, 5000);
	ck_assert_uint_eq((me + 1) % j->processes,
			  dsm_core_home(dsm_run()->core, (uint32_t)(job_offset(at) / 4096)));
	ck_assert_int_eq(EINVAL, sonde_dsm_alloc(&at, 3, 10, SONDE_DSM_ANY_HOME));
	ck_assert_int_eq(EINVAL, sonde_dsm_alloc(&at, 1, 10, 99));
	ck_assert_ptr_null(p = sonde_dsm_malloc((size_t)1 << 40));
	ck_assert_int_eq(ENOMEM, errno);
	ck_assert(!sonde_dsm_is_shared(&outside));
	sonde_dsm_prefetch(small[0], 100);
	ck_assert_int_eq(EINVAL, sonde_dsm_acquire(&outside, sizeof(outside)));
	ck_assert_int_eq(EINVAL, sonde_dsm_release(NULL, 1));
	ck_assert_int_eq(EINVAL, sonde_dsm_release(small[0], (size_t)1 << 40));
	ck_assert_int_eq(0, sonde_dsm_acquire(small[0], 0));
	sonde_dsm_touch(small[1], 30, true);
	sonde_dsm_free(NULL);
	(void)p;
}

START_TEST(memory_is_given_out_freed_by_anyone_and_given_out_again)
{
	job_run(_i, 3, 4096, allocate);
}
END_TEST

/* ---- litmus tests ---- */
static void pass_messages(struct job *j, uint32_t me)
{
	struct all *a = job_shared(j, me, sizeof(*a));

	for (uint64_t i = 1; i <= 30; i++) {
		uint64_t flag;

		if (!me) {
			a->page[5000] = (uint8_t)i;
			sonde_dsm_mutex_lock(&a->mutex);
			a->ready = i;
			sonde_dsm_mutex_unlock(&a->mutex);
		} else {
			do {
				sonde_dsm_mutex_lock(&a->mutex);
				flag = a->ready;
				sonde_dsm_mutex_unlock(&a->mutex);
			} while (flag < i);
			ck_assert_uint_eq((uint8_t)i, a->page[5000]);
		}
		sonde_dsm_barrier_all(1);
	}
}

START_TEST(litmus_message_passing_by_a_lock)
{
	job_run(_i, 3, 4096, pass_messages);
}
END_TEST

/* What orders them is not memory of the job: here a variable of the test. */
static _Atomic uint64_t message;

static void pass_ranges(struct job *j, uint32_t me)
{
	struct all *a = job_shared(j, me, sizeof(*a));
	const size_t size = sizeof(a->page) / 2;

	for (uint64_t i = 1; i <= 30; i++) {
		if (!me) {
			memset(a->page, (int)i, size);
			ck_assert_int_eq(0, sonde_dsm_release(a->page, size));
			atomic_store(&message, i);
		} else {
			/* Its own, beside, which no answer may take away. */
			a->page[size + me] = (uint8_t)i;
			/* What comes for this may be older than what is waited for. */
			if (me == 2)
				sonde_dsm_prefetch(a->page, size);
			while (atomic_load(&message) < i)
				sched_yield();
			ck_assert_int_eq(0, sonde_dsm_acquire(a->page, size));
			for (size_t at = 0; at < size; at++)
				ck_assert_uint_eq((uint8_t)i, a->page[at]);
			ck_assert_uint_eq((uint8_t)i, a->page[size + me]);
		}
		sonde_dsm_barrier_all(1);
	}
}

START_TEST(litmus_message_passing_by_a_range)
{
	message = 0;
	job_run(_i, 3, 4096, pass_ranges);
}
END_TEST

static void buffer_stores(struct job *j, uint32_t me)
{
	struct all *a = job_shared(j, me, sizeof(*a));

	for (uint64_t i = 1; i <= 30; i++) {
		uint64_t other;

		sonde_dsm_mutex_lock(&a->mutex);
		a->seen[me] = i;
		sonde_dsm_mutex_unlock(&a->mutex);
		sonde_dsm_mutex_lock(&a->mutex);
		other = a->seen[!me];
		sonde_dsm_mutex_unlock(&a->mutex);
		a->page[me * 4096] = other == i;
		sonde_dsm_barrier_all(1);
		ck_assert(a->page[0] || a->page[4096]);
		sonde_dsm_barrier_all(1);
	}
}

START_TEST(litmus_store_buffering_inside_of_locks)
{
	job_run(_i, 2, 4096, buffer_stores);
}
END_TEST

static void carry(struct job *j, uint32_t me)
{
	struct all *a = job_shared(j, me, sizeof(*a));

	for (uint64_t i = 1; i <= 20; i++) {
		sonde_dsm_mutex_t *in = me == 2 ? &a->kinds[1] : &a->kinds[0];
		uint64_t flag = 0;

		if (!me)
			a->page[4096] = (uint8_t)i;
		while (me && flag < i) {
			sonde_dsm_mutex_lock(in);
			flag = me == 2 ? a->readers : a->ready;
			sonde_dsm_mutex_unlock(in);
		}
		if (me == 2) {
			ck_assert_uint_eq((uint8_t)i, a->page[4096]);
		} else {
			sonde_dsm_mutex_lock(me ? &a->kinds[1] : &a->kinds[0]);
			*(me ? &a->readers : &a->ready) = i;
			sonde_dsm_mutex_unlock(me ? &a->kinds[1] : &a->kinds[0]);
		}
		sonde_dsm_barrier_all(1);
	}
}

START_TEST(litmus_transitivity_across_two_locks)
{
	job_run(_i, 3, 4096, carry);
}
END_TEST

/* Neighbouring bytes of one page, each process its own, and threads beside. */
static void *write_own(void *offset)
{
	struct all *a = shared((uintptr_t)offset);
	uint32_t me = sonde_dsm_process();

	for (uint32_t i = 0; i < 400; i++)
		a->page[2 * (i * JOB_MOST + me) + 1]++;
	return NULL;
}

static void share_page(struct job *j, uint32_t me)
{
	struct all *a = job_shared(j, me, sizeof(*a));
	sonde_dsm_attr_t here;

	sonde_dsm_attr_init(&here);
	sonde_dsm_attr_setprocess(&here, me);
	for (uint8_t round = 1; round <= 10; round++) {
		sonde_dsm_t t;

		ck_assert_int_eq(0, sonde_dsm_create(&t, &here, write_own,
						     (void *)(uintptr_t)j->offset));
		for (uint32_t i = 0; i < 400; i++)
			a->page[2 * (i * JOB_MOST + me)]++;
		sonde_dsm_mutex_lock(&a->mutex);
		a->count++;
		sonde_dsm_mutex_unlock(&a->mutex);
		ck_assert_int_eq(0, sonde_dsm_join(t, NULL));
		sonde_dsm_barrier_all(1);
		for (uint32_t i = 0; i < 400; i++)
			for (uint32_t q = 0; q < 2 * j->processes; q++)
				ck_assert_uint_eq(round, a->page[2 * (i * JOB_MOST) + q]);
		sonde_dsm_barrier_all(1);
	}
}

START_TEST(neighbouring_bytes_are_objects_of_their_own)
{
	job_run(_i, 3, 4096, share_page);
}
END_TEST

START_TEST(so_they_are_in_larger_pages)
{
	job_run(_i, 2, 65536, share_page);
}
END_TEST

#define NAPS	20

/* Process 1 sends when process 0 sleeps. */
static void pass_barriers(struct job *j, uint32_t me)
{
	const struct dsm_bell *bell = j->runs[0]->transport->bell;

	for (int i = 0; i < NAPS; i++) {
		while (me && !atomic_load(&bell->asleep))
			sched_yield();
		ck_assert_int_eq(0, sonde_dsm_barrier_all(1));
	}
}

/* MPI's first look at what has come may only move it along. */
START_TEST(who_is_rung_looks_until_it_finds_the_message)
{
	job_looks = 3;
	job_run(job_back_ends - 1, 2, 4096, pass_barriers);
	job_looks = 0;
	/* It may come just before one sleeps; then the bell is next. */
	ck_assert_uint_lt(job_overslept, NAPS / 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("api");
	TCase *t = tcase_create("api");

	job_look();
	tcase_set_timeout(t, 300);
	tcase_add_loop_test(t, a_mutex_excludes_threads_of_all_processes, 0, job_back_ends);
	tcase_add_loop_test(t, kinds_of_mutexes_differ_as_posix_says, 0, job_back_ends);
	tcase_add_loop_test(t, a_condition_wakes_threads_of_other_processes, 0, job_back_ends);
	tcase_add_loop_test(t, threads_begin_with_what_was_written_and_end_with_what_they_wrote, 0,
			    job_back_ends);
	tcase_add_loop_test(t, keys_and_once_are_of_the_whole_job, 0, job_back_ends);
	tcase_add_loop_test(t, a_semaphore_counts_across_processes, 0, job_back_ends);
	tcase_add_loop_test(t, a_rwlock_has_many_readers_or_one_writer, 0, job_back_ends);
	tcase_add_loop_test(t, a_barrier_lets_all_go_and_names_one, 0, job_back_ends);
	tcase_add_loop_test(t, memory_is_given_out_freed_by_anyone_and_given_out_again, 0,
			    job_back_ends);
	tcase_add_loop_test(t, litmus_message_passing_by_a_lock, 0, job_back_ends);
	tcase_add_loop_test(t, litmus_message_passing_by_a_range, 0, job_back_ends);
	tcase_add_loop_test(t, litmus_store_buffering_inside_of_locks, 0, job_back_ends);
	tcase_add_loop_test(t, litmus_transitivity_across_two_locks, 0, job_back_ends);
	tcase_add_loop_test(t, neighbouring_bytes_are_objects_of_their_own, 0, job_back_ends);
	tcase_add_loop_test(t, so_they_are_in_larger_pages, 0, job_back_ends);
	tcase_add_test(t, who_is_rung_looks_until_it_finds_the_message);
	suite_add_tcase(s, t);
	return tap_run(s);
}
