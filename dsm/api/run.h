/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A process of a running job. Its progress thread alone calls the core, the fault back
 * end and the transport. Others hand it requests and sleep until they are answered:
 * threads of the program, and handlers of signals, so a request is a few stores, one
 * atomic exchange and maybe a futex.
 */
#ifndef SONDE_DSM_RUN_H
#define SONDE_DSM_RUN_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include <sonde/dsm.h>

#include "../core/core.h"
#include "../fault/fault.h"
#include "../transport/transport.h"
#include "live.h"
#include "settings.h"

#define DSM_TICKETS	4096u	/* requests that the core works on at once */
#define DSM_THREADS	4096u	/* of the program, in a process */
#define DSM_HELD	16u	/* mutexes that a thread has at once, without malloc() */

struct dsm_run;

enum dsm_request_kind {
	DSM_REQUEST_EVENT,	/* for the core */
	DSM_REQUEST_CANCEL,	/* of target */
	DSM_REQUEST_CALL,	/* call(), in the progress thread */
	DSM_REQUEST_STOP,	/* the progress thread */
};

struct dsm_request {
	struct dsm_request *next;
	struct dsm_request *target;
	struct dsm_event event;
	enum dsm_request_kind kind;
	void (*call)(struct dsm_run *run, void *ctx);
	void *ctx;
	uint64_t begun_ns;		/* if run->is_timed */
	uint32_t thread;
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
	DSM_WORD_STATS,		/* then what stats.c says */
	DSM_WORD_TRACE,		/* then what trace.c says */
	DSM_WORD_RACE,		/* then struct dsm_race */
	DSM_WORD_NAME,		/* a: offset, b: bytes; then their name */
	DSM_WORD_CLOCK,		/* what time is it? */
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
struct dsm_contention;
struct dsm_names;
struct dsm_races_seen;
struct dsm_trace;

struct dsm_run {
	struct dsm_transport *transport;
	struct dsm_fault *fault;
	struct dsm_core *core;
	uint32_t processes, self, pages, unit;
	pthread_t progress, events;
	bool has_events;
	int events_end;			/* an eventfd; ends its thread */
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
	struct dsm_settings settings;
	struct dsm_page_counters *page_counters;	/* if regions are to be shown */
	struct dsm_contention *contention;	/* if counters are to be shown */
	bool is_timed;			/* requests say when they began */
	struct dsm_report *reports;	/* in process 0, by process */
	_Atomic uint32_t nreports;
	struct dsm_names *names;	/* in process 0, if somebody is to see them */
	struct dsm_races_seen *races;	/* in process 0 */
	struct dsm_trace *trace;	/* NULL: none is wanted */
	struct dsm_request *begins;	/* the request whose event is being handled */
	struct dsm_live *live;		/* NULL: there is none */
	int live_fd;
	bool is_stopping;
};

/* run.c: everything but the transport; @config: what is agreed on */
struct dsm_run_config {
	struct dsm_transport *transport;
	void *address;
	uint32_t unit, pages;
	const char *fault;
	struct dsm_settings settings;
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
/* Then, in process 0: what was asked for by settings. 0 or -errno, of files. */
int dsm_run_show(struct dsm_run *run);
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
/* In the progress thread, so that nothing happens meanwhile; returns when it did. */
void dsm_call(struct dsm_run *run, void (*call)(struct dsm_run *run, void *ctx), void *ctx);
uint64_t dsm_now(void);		/* CLOCK_MONOTONIC in nanoseconds; safe in a signal handler */
int dsm_do(struct dsm_run *run, enum dsm_event_kind kind, uint64_t id, uint64_t arg,
	   const struct timespec *deadline);
void dsm_futex_wait(_Atomic uint32_t *word, uint32_t value, const struct timespec *until);
void dsm_futex_wake(_Atomic uint32_t *word);
/* From any clock's deadline; an error number. */
int dsm_deadline(struct timespec *until, clockid_t clock, const struct timespec *deadline);

/* events.c: faults of threads that sleep in the kernel */
int dsm_events_start(struct dsm_run *run);
void dsm_events_stop(struct dsm_run *run);
/* Of the progress thread. To be called before it sleeps, which it may not if false; and after. */
void dsm_events_take(struct dsm_run *run);
bool dsm_events_sleep(struct dsm_run *run, bool sleeps);

/* word.c: a word to a process, and its answer */
int dsm_say(struct dsm_run *run, uint32_t to, const struct dsm_word *word, bool orders);
int dsm_ask(struct dsm_run *run, uint32_t to, struct dsm_word *word, bool orders,
	    uint64_t *value);
/* With @len bytes of @more behind it. */
int dsm_say_more(struct dsm_run *run, uint32_t to, const struct dsm_word *word, const void *more,
		 size_t len);
/* Of the progress thread, which waits for nothing. */
void dsm_say_more_later(struct dsm_run *run, uint32_t to, const struct dsm_word *word,
			const void *more, size_t len);
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
/* What a lock of this number is, in words: "mutex at 0x...". */
void dsm_lock_name(const struct dsm_run *run, uint64_t id, char *name, size_t len);
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

/* regions.c: names of memory, in process 0 */
int dsm_names_create(struct dsm_run *run);
void dsm_names_destroy(struct dsm_run *run);
void dsm_on_name(struct dsm_run *run, const struct dsm_word *w, const uint8_t *text, size_t len);
/* Which piece of memory @page is in; the same number for all its pages. */
uint32_t dsm_region_of(const struct dsm_run *run, uint32_t page);
uint32_t dsm_regions(const struct dsm_run *run);	/* numbers are below this */
/* "'grid'", "an allocation"; the address of its first page is *@first. */
void dsm_region_name(const struct dsm_run *run, uint32_t region, char *name, size_t len);

/* heap.c: of process 0's extents, for regions. Owner DSM_NOBODY: one allocation. */
bool dsm_extent_at(const struct dsm_run *run, uint32_t page, uint32_t *first, uint64_t *owner);

/* races.c */
void dsm_races_say(struct dsm_run *run, const struct dsm_race *race);
void dsm_on_race(struct dsm_run *run, const uint8_t *data, size_t len);
json_t *dsm_races_json(const struct dsm_run *run);
void dsm_races_show(struct dsm_run *run);

/* contention.c; called when there is one only */
struct dsm_lock_report {
	uint64_t id, waits, wait_ns;
};

int dsm_contention_create(struct dsm_run *run);
void dsm_contention_destroy(struct dsm_run *run);
void dsm_contention_add(struct dsm_run *run, const struct dsm_request *r);
/* How many; into @list unless NULL. */
uint32_t dsm_contention_list(const struct dsm_run *run, struct dsm_lock_report *list);

/* stats.c */
struct dsm_page_report;

struct dsm_report {
	struct dsm_stats stats;
	struct dsm_page_report *pages;
	struct dsm_lock_report *locks;
	uint32_t npages, nlocks;
};

void dsm_stats_now(struct dsm_run *run, struct dsm_stats *stats);
void dsm_stats_say(struct dsm_run *run);
void dsm_on_stats(struct dsm_run *run, uint32_t from, const uint8_t *data, size_t len);
void dsm_stats_wait(struct dsm_run *run);
int dsm_stats_show(struct dsm_run *run);

/* trace.c; what is called when there is one only */
int dsm_trace_create(struct dsm_run *run);
void dsm_trace_destroy(struct dsm_run *run);
void dsm_trace_request(struct dsm_run *run, const struct dsm_request *r, bool waited);
void dsm_trace_sent(struct dsm_run *run, uint32_t to, const uint8_t *data, size_t len,
		    uint64_t begun_ns);
void dsm_trace_received(struct dsm_run *run, uint32_t from, const uint8_t *data, size_t len,
			uint64_t begun_ns);
void dsm_trace_say(struct dsm_run *run);
void dsm_on_trace(struct dsm_run *run, uint32_t from, const struct dsm_word *w,
		  const uint8_t *data, size_t len);
int dsm_trace_write(struct dsm_run *run);

/* live.c */
void dsm_live_create(struct dsm_run *run);
void dsm_live_destroy(struct dsm_run *run);
void dsm_live_publish(struct dsm_run *run);

#endif
