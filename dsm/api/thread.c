// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Threads in any process. Who makes one asks the process where it is to run; who joins
 * one asks there too, and gets the answer when it has ended. The words bring the
 * intervals with them, so making, ending and joining order memory.
 *
 * A thread's number: process (16 bits), turn (16), place in the table and 1 (32).
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "run.h"

static uint32_t process_of(uint64_t id)
{
	return (uint32_t)(id >> 48);
}

static struct dsm_local *find(struct dsm_run *run, uint64_t id)
{
	uint32_t slot = (uint32_t)id - 1;
	struct dsm_local *t = slot < DSM_THREADS ? run->threads[slot] : NULL;

	return t && t->id == id ? t : NULL;
}

static void destroy(struct dsm_local *t)
{
	free(t->held);
	free(t);
}

/* Ended, and nobody wants to know any more: is its pthread gone, too? */
static bool is_gone(struct dsm_local *t)
{
	return t->state == DSM_THREAD_ENDED && t->is_joined &&
	       !pthread_tryjoin_np(t->thread, NULL);
}

static struct dsm_local *add(struct dsm_run *run)
{
	struct dsm_local *t = calloc(1, sizeof(*t));
	uint32_t slot = 0;

	if (!t)
		return NULL;
	pthread_mutex_lock(&run->threads_lock);
	while (slot < DSM_THREADS && run->threads[slot]) {
		if (is_gone(run->threads[slot])) {
			destroy(run->threads[slot]);
			run->threads[slot] = NULL;
			break;
		}
		slot++;
	}
	if (slot < DSM_THREADS) {
		t->run = run;
		t->state = DSM_THREAD_RUNS;
		t->id = (uint64_t)run->self << 48 | (uint64_t)(++run->thread_turn & 0xffff) << 32 |
			(slot + 1);
		run->threads[slot] = t;
	}
	pthread_mutex_unlock(&run->threads_lock);
	if (slot < DSM_THREADS)
		return t;
	free(t);
	return NULL;
}

static void drop(struct dsm_run *run, struct dsm_local *t)
{
	pthread_mutex_lock(&run->threads_lock);
	run->threads[(uint32_t)t->id - 1] = NULL;
	pthread_mutex_unlock(&run->threads_lock);
	destroy(t);
}

int dsm_run_enter(struct dsm_run *run)
{
	dsm_local = add(run);
	if (!dsm_local)
		return -EAGAIN;
	dsm_local->thread = pthread_self();
	return 0;
}

/* One that the program made itself stays in the table to the end: it may hold mutexes. */
struct dsm_local *dsm_me(void)
{
	if (!dsm_local && dsm_only_run)
		dsm_run_enter(dsm_only_run);
	return dsm_local;
}

/* Those that have ended have maybe not ended wholly; those that run are the program's. */
void dsm_threads_destroy(struct dsm_run *run)
{
	for (uint32_t i = 0; i < DSM_THREADS; i++) {
		struct dsm_local *t = run->threads[i];

		if (!t)
			continue;
		if (t->state == DSM_THREAD_ENDED)
			pthread_join(t->thread, NULL);
		destroy(t);
	}
}

/* ---- where it runs ---- */
static void end(void *arg)
{
	struct dsm_local *me = arg;
	struct dsm_run *run = me->run;
	struct dsm_word w = { .kind = DSM_WORD_EXITED, .a = me->id };

	dsm_run_destructors(me);
	w.b = me->value;
	dsm_say(run, run->self, &w, true);
}

static void *begin(void *arg)
{
	struct dsm_local *me = arg;
	sigset_t none;

	dsm_local = me;
	/* Made by the progress thread, which has them all blocked. */
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	pthread_cleanup_push(end, me);
	me->value = (uintptr_t)me->start(me->arg);
	pthread_cleanup_pop(1);
	return NULL;
}

void dsm_on_create(struct dsm_run *run, uint32_t from, const struct dsm_word *w)
{
	void *start = dsm_code_at(w->a);
	struct dsm_local *t = start ? add(run) : NULL;
	int err;

	if (!t) {
		dsm_reply(run, from, w->call, start ? EAGAIN : EINVAL, 0, false);
		return;
	}
	t->start = (void *(*)(void *))(uintptr_t)start;
	t->arg = (void *)(uintptr_t)w->b;
	t->is_detached = w->c;
	err = pthread_create(&t->thread, NULL, begin, t);
	dsm_reply(run, from, w->call, err, t->id, false);
	if (err)
		drop(run, t);
}

static void answer_join(struct dsm_run *run, struct dsm_local *t)
{
	t->is_joined = true;
	dsm_reply(run, t->joiner, t->join_call, 0, t->value, true);
}

void dsm_on_exited(struct dsm_run *run, const struct dsm_word *w)
{
	struct dsm_local *t = find(run, w->a);

	if (!t)
		dsm_run_fail(run, "a thread ends that is not there");
	t->value = w->b;
	if (t->join_call)
		answer_join(run, t);
	else if (t->is_detached)
		t->is_joined = true;
	/* Its pthread is joined from here on. */
	pthread_mutex_lock(&run->threads_lock);
	t->state = DSM_THREAD_ENDED;
	pthread_mutex_unlock(&run->threads_lock);
}

void dsm_on_join(struct dsm_run *run, uint32_t from, const struct dsm_word *w)
{
	struct dsm_local *t = find(run, w->a);

	if (!t || t->is_joined) {
		dsm_reply(run, from, w->call, ESRCH, 0, false);
		return;
	}
	if (t->is_detached || t->join_call) {
		dsm_reply(run, from, w->call, EINVAL, 0, false);
		return;
	}
	t->joiner = from;
	t->join_call = w->call;
	if (t->state == DSM_THREAD_ENDED)
		answer_join(run, t);
}

void dsm_on_detach(struct dsm_run *run, uint32_t from, const struct dsm_word *w)
{
	struct dsm_local *t = find(run, w->a);
	int err = 0;

	if (!t || t->is_joined)
		err = ESRCH;
	else if (t->is_detached || t->join_call)
		err = EINVAL;
	if (!err) {
		t->is_detached = true;
		t->is_joined = t->state == DSM_THREAD_ENDED;
	}
	dsm_reply(run, from, w->call, err, 0, false);
}

/* ---- who asks ---- */
int sonde_dsm_create(sonde_dsm_t *thread, const sonde_dsm_attr_t *attr, void *(*start)(void *),
		     void *arg)
{
	struct dsm_run *run = dsm_run();
	struct dsm_word w = { .kind = DSM_WORD_CREATE, .b = (uintptr_t)arg };
	uint32_t to = attr ? attr->process : SONDE_DSM_ANY_PROCESS;

	if (!run || (to != SONDE_DSM_ANY_PROCESS && to >= run->processes))
		return EINVAL;
	w.a = dsm_code_of((void *)(uintptr_t)start);
	w.c = attr && attr->is_detached;
	if (!w.a)
		return EINVAL;
	if (to == SONDE_DSM_ANY_PROCESS)
		to = atomic_fetch_add_explicit(&run->next_process, 1, memory_order_relaxed) %
		     run->processes;
	return dsm_ask(run, to, &w, true, thread);
}

static int ask_about(sonde_dsm_t thread, enum dsm_word_kind kind, bool orders, uint64_t *value)
{
	struct dsm_run *run = dsm_run();
	struct dsm_word w = { .kind = kind, .a = thread };

	if (!run || !thread || process_of(thread) >= run->processes)
		return ESRCH;
	return dsm_ask(run, process_of(thread), &w, orders, value);
}

int sonde_dsm_join(sonde_dsm_t thread, void **value)
{
	uint64_t v = 0;
	int err;

	if (thread == sonde_dsm_self())
		return EDEADLK;
	err = ask_about(thread, DSM_WORD_JOIN, false, &v);
	if (!err && value)
		*value = (void *)(uintptr_t)v;
	return err;
}

int sonde_dsm_detach(sonde_dsm_t thread)
{
	return ask_about(thread, DSM_WORD_DETACH, false, NULL);
}

sonde_dsm_t sonde_dsm_self(void)
{
	struct dsm_local *me = dsm_me();

	return me ? me->id : 0;
}

int sonde_dsm_equal(sonde_dsm_t a, sonde_dsm_t b)
{
	return a == b;
}

void sonde_dsm_thread_exit(void *value)
{
	struct dsm_local *me = dsm_me();

	if (me)
		me->value = (uintptr_t)value;
	pthread_exit(value);
}

int sonde_dsm_yield(void)
{
	return sched_yield() ? errno : 0;
}

int sonde_dsm_attr_init(sonde_dsm_attr_t *attr)
{
	*attr = (sonde_dsm_attr_t){ .process = SONDE_DSM_ANY_PROCESS };
	return 0;
}

int sonde_dsm_attr_destroy(sonde_dsm_attr_t *attr)
{
	(void)attr;
	return 0;
}

int sonde_dsm_attr_setdetachstate(sonde_dsm_attr_t *attr, int state)
{
	if (state != SONDE_DSM_CREATE_JOINABLE && state != SONDE_DSM_CREATE_DETACHED)
		return EINVAL;
	attr->is_detached = state == SONDE_DSM_CREATE_DETACHED;
	return 0;
}

int sonde_dsm_attr_setprocess(sonde_dsm_attr_t *attr, unsigned int process)
{
	attr->process = process;
	return 0;
}
