/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A process of a running job. Its progress thread alone calls the core, the fault back
 * end and the transport. Others hand it requests and sleep until they are answered:
 * threads of the program, and handlers of signals, so a request is a few stores, one
 * atomic exchange and maybe a futex.
 */
#ifndef SONDE_DSM_RUN_H
#define SONDE_DSM_RUN_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include <sonde/dsm.h>

#include "../core/core.h"
#include "../fault/fault.h"
#include "../transport/transport.h"

#define DSM_TICKETS	4096u	/* requests that the core works on at once */
#define DSM_THREADS	4096u	/* of the program, in a process */
#define DSM_HELD	16u	/* mutexes that a thread has at once, without malloc() */

struct dsm_run;

enum dsm_request_kind {
	DSM_REQUEST_EVENT,	/* for the core */
	DSM_REQUEST_CANCEL,	/* of target */
	DSM_REQUEST_STOP,	/* the progress thread */
};

struct dsm_request {
	struct dsm_request *next;
	struct dsm_request *target;
	struct dsm_event event;
	enum dsm_request_kind kind;
	uint32_t ticket;
	int result;
	bool is_late;			/* cancelled before it had a ticket */
	bool is_nobodys;		/* freed when it is answered */
	_Atomic uint32_t is_done;	/* a futex */
};

/* What processes tell each other. */
enum dsm_word_kind {
	DSM_WORD_CREATE = 1,	/* a: function, b: argument, c: detached */
	DSM_WORD_EXITED,	/* to itself. a: slot, b: value */
	DSM_WORD_JOIN,		/* a: thread */
	DSM_WORD_DETACH,	/* a: thread */
	DSM_WORD_EXTENT,	/* a: pages, b: zone, c: who cuts it up, or DSM_NOBODY */
	DSM_WORD_FREE,		/* a: offset */
	DSM_WORD_STATS,		/* then struct dsm_stats */
	DSM_WORD_ANSWER,	/* a: error, b: value */
};

#define DSM_NOBODY	UINT64_MAX

struct dsm_word {
	uint64_t kind, call;	/* call: whose answer is wanted, in the sender */
	uint64_t a, b, c;
};

/* A thread that waits for an answer. */
struct dsm_call {
	_Atomic uint32_t is_done;
	int err;
	uint64_t value;
};

struct dsm_held {
	uint64_t id;
	uint32_t count;
};

enum dsm_thread_state { DSM_THREAD_FREE, DSM_THREAD_RUNS, DSM_THREAD_ENDED };

/* A thread of the program; the progress thread's, but for what is its own. */
struct dsm_local {
	struct dsm_run *run;
	uint64_t id;
	pthread_t thread;
	uint32_t state;
	bool is_detached, is_joined;
	uint32_t joiner;
	uint64_t join_call, value;
	void *(*start)(void *);
	void *arg;
	/* its own */
	struct dsm_held *held;
	uint32_t nheld, held_room;
	void *specific[SONDE_DSM_KEYS_MAX];
	uint64_t turns[SONDE_DSM_KEYS_MAX];
};

struct dsm_heap;
struct dsm_shared;

struct dsm_stats {
	struct dsm_counters core;
	uint64_t lock_waits, lock_wait_ns, wakes;
};

struct dsm_run {
	struct dsm_transport *transport;
	struct dsm_fault *fault;
	struct dsm_core *core;
	uint32_t processes, self, pages, unit;
	pthread_t progress, events;
	bool has_events;
	struct dsm_request *_Atomic inbox;
	struct dsm_request *answers[DSM_TICKETS];
	uint32_t tickets[DSM_TICKETS], ntickets;
	struct dsm_request *backlog, **backlog_end;
	struct dsm_actions actions;
	struct dsm_local *threads[DSM_THREADS];
	uint32_t thread_turn;
	pthread_mutex_t threads_lock;	/* of these two */
	_Atomic uint32_t next_process;
	struct dsm_heap *heap;
	struct dsm_shared *shared;
	_Atomic uint64_t lock_waits, lock_wait_ns;
	struct dsm_stats *stats;	/* in process 0, by process */
	_Atomic uint32_t nstats;
	bool is_stopping;
};

/* run.c: everything but the transport; @config: what is agreed on */
struct dsm_run_config {
	struct dsm_transport *transport;
	void *address;
	uint32_t unit, pages;
	const char *fault;
};

int dsm_run_create(struct dsm_run **run, const struct dsm_run_config *config, char *why,
		   size_t len);
/* In all processes, before progress: pages of this node need no messages, if that works. */
int dsm_run_share(struct dsm_run *run, bool wants);
/* Until dsm_run_stop(), by the thread that the transport is for. */
void dsm_run_progress(struct dsm_run *run);
void dsm_run_stop(struct dsm_run *run);
void dsm_run_destroy(struct dsm_run *run);
/* This thread is one of @run's from now on. 0 or -errno. */
int dsm_run_enter(struct dsm_run *run);
/* After a barrier of all processes the job is over: nothing comes any more. */
int dsm_run_finish(struct dsm_run *run);
/* Says why in one line and ends the job. */
void dsm_run_fail(struct dsm_run *run, const char *format, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

/* Of this thread. NULL where it is none of ours. */
extern _Thread_local struct dsm_local *dsm_local;
extern struct dsm_run *dsm_only_run;	/* of sonde_dsm_init(): for threads that are not ours */

static inline struct dsm_run *dsm_run(void)
{
	return dsm_local ? dsm_local->run : dsm_only_run;
}

/* request.c */
void dsm_submit(struct dsm_run *run, struct dsm_request *r);
void dsm_answer(struct dsm_request *r, int result);
/* Until it is answered; with a deadline of CLOCK_MONOTONIC it is then cancelled. */
int dsm_await(struct dsm_run *run, struct dsm_request *r, const struct timespec *deadline);
int dsm_do(struct dsm_run *run, enum dsm_event_kind kind, uint64_t id, uint64_t arg,
	   const struct timespec *deadline);
void dsm_futex_wait(_Atomic uint32_t *word, uint32_t value, const struct timespec *until);
void dsm_futex_wake(_Atomic uint32_t *word);
/* From any clock's deadline; an error number. */
int dsm_deadline(struct timespec *until, clockid_t clock, const struct timespec *deadline);

/* word.c: a word to a process, and its answer */
int dsm_say(struct dsm_run *run, uint32_t to, const struct dsm_word *word, bool orders);
int dsm_ask(struct dsm_run *run, uint32_t to, struct dsm_word *word, bool orders,
	    uint64_t *value);
/* Of the progress thread, which waits for nothing. */
void dsm_say_later(struct dsm_run *run, uint32_t to, const struct dsm_word *word, bool orders);
void dsm_reply(struct dsm_run *run, uint32_t to, uint64_t call, int err, uint64_t value,
	       bool orders);
void dsm_hear(struct dsm_run *run, uint32_t from, const uint8_t *data, size_t len);

/* thread.c */
/* NULL: there is no job. A thread that the program made itself is taken in. */
struct dsm_local *dsm_me(void);
void dsm_threads_destroy(struct dsm_run *run);
void dsm_on_create(struct dsm_run *run, uint32_t from, const struct dsm_word *w);
void dsm_on_exited(struct dsm_run *run, const struct dsm_word *w);
void dsm_on_join(struct dsm_run *run, uint32_t from, const struct dsm_word *w);
void dsm_on_detach(struct dsm_run *run, uint32_t from, const struct dsm_word *w);

/* heap.c */
int dsm_heap_create(struct dsm_run *run, uint32_t reserved);
void dsm_heap_destroy(struct dsm_run *run);
void dsm_set_homes(struct dsm_run *run);
void dsm_on_extent(struct dsm_run *run, uint32_t from, const struct dsm_word *w);
void dsm_on_free(struct dsm_run *run, const struct dsm_word *w);

/* object.c: what all processes call it, and where its state is */
uint64_t dsm_id_of(struct dsm_run *run, struct sonde_dsm_object *o);
/* A lock and a condition of the object's own, beside that of its number. */
uint64_t dsm_inner_lock(uint64_t id);
uint64_t *dsm_state_of(struct dsm_run *run, struct sonde_dsm_object *o, uint64_t id);
uint32_t dsm_reserved_bytes(void);
bool dsm_shares(const struct dsm_run *run, const void *p);

/* code.c: functions, and variables, as all processes know them; 0: not to be found */
uint64_t dsm_code_of(const void *address);
void *dsm_code_at(uint64_t code);

/* lock.c: without an owner; error numbers */
int dsm_lock_id(struct dsm_run *run, uint64_t id, const struct timespec *deadline);
int dsm_unlock_id(struct dsm_run *run, uint64_t id);
int dsm_wait_id(struct dsm_run *run, uint64_t cond, uint64_t lock, const struct timespec *deadline);
int dsm_signal_id(struct dsm_run *run, uint64_t cond, bool all);

/* mutex.c */
bool dsm_holds(const struct dsm_local *me, uint64_t id);

/* key.c */
void dsm_run_destructors(struct dsm_local *me);

/* stats.c */
void dsm_stats_say(struct dsm_run *run);
void dsm_on_stats(struct dsm_run *run, uint32_t from, const uint8_t *data, size_t len);
void dsm_stats_show(struct dsm_run *run);

#endif
