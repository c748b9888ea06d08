/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a core keeps. Each file has the functions of its topic. */
#ifndef SONDE_DSM_STATE_H
#define SONDE_DSM_STATE_H

#include "core.h"
#include "faults.h"
#include "wire.h"

#define NOBODY	UINT32_MAX
#define DSM_RECORD	20u	/* bytes of an interval without its notices */

/* Threads in a row, linked by their next. */
struct dsm_queue {
	uint32_t head, tail;
};

enum {
	PAGE_DIRTY = 1,		/* on the list of those written in this interval */
	PAGE_FETCHING = 2,
	PAGE_REFETCH = 4,	/* the answer under way is older than our own diff */
	PAGE_SHARED = 8,	/* at home: another may have a copy as new as this one */
	PAGE_OFFERED = 16,	/* void here, the host may have filled it */
	PAGE_SENT = 32,		/* a diff of it is not acknowledged */
};

struct dsm_page {
	uint64_t version;	/* of the copy here */
	uint64_t need;		/* newest that a notice told of */
	void *twin;
	struct dsm_queue waiters;
	uint16_t home;
	uint8_t prot, flags;
};

enum dsm_doing {
	DOING_NOTHING,
	DOING_READ, DOING_WRITE,
	DOING_LOCK, DOING_TRY,
	DOING_UNLOCK,
	DOING_BARRIER,
	DOING_ENQUEUE,		/* of a wait: until the condition's manager has it */
	DOING_WAIT_UNLOCK,
	DOING_WAIT,
	DOING_TELL,
	DOING_RANGE,		/* is released: pages id up to lock */
};

struct dsm_thread {
	uint64_t id, lock;
	struct dsm_buf told;	/* what it tells when its writes are at home */
	int result;		/* of the wait, when it has its lock again */
	uint32_t next;
	uint8_t doing;
	bool resumed;		/* the signal came before the lock was given up */
	bool competes;		/* for the lock of its wait, which cannot be cancelled */
};

struct dsm_record {
	uint64_t seq;
	struct dsm_notice *notices;
	uint32_t n;
	uint32_t arrivals;	/* of its process at barriers before the interval ended */
};

/* Intervals of one process, ascending. */
struct dsm_log {
	struct dsm_record *v;
	size_t n, room;
};

struct dsm_lock {
	uint64_t id;
	struct dsm_queue waiters;
	uint64_t *next_vc;
	uint32_t next;		/* process that gets it after us */
	uint32_t tail;		/* at the manager: who asked last */
	uint32_t handed;	/* inside, since it came */
	bool token, held, asked;
};

struct dsm_gather {		/* a barrier, as far as this subtree has arrived */
	uint64_t id;
	struct dsm_queue here;
	uint32_t nhere, children;
	bool self, stuck;
	uint64_t *min, *max, *floor;
	uint64_t *child_min;	/* a row of processes each child */
	struct dsm_buf records;
	uint32_t nrecords;
};

struct dsm_sleeper {
	uint32_t process, thread;
};

struct dsm_cond {
	uint64_t id;
	struct dsm_sleeper *v;
	size_t first, n, room;
};

/* Pointers by number; what they point to begins with its number. */
struct dsm_table {
	uint64_t **v;
	size_t n, room;
};

struct dsm_letter {
	struct dsm_letter *next;
	uint8_t *data;
	size_t len;
};

struct dsm_letters {
	struct dsm_letter *head, **end;
};

struct dsm_core {
	struct dsm_config c;
	struct dsm_page *pages;
	struct dsm_thread *threads;
	uint64_t *vc;		/* intervals of each process that are known here */
	uint64_t *floor;	/* of these up to here no record is kept */
	uint64_t *known;	/* row q: what q has, or has under way from here */
	struct dsm_log *logs;
	size_t nnotices;
	uint32_t arrivals, departures;

	uint32_t *dirty;	/* room for all pages */
	size_t ndirty;
	uint32_t *stale;	/* to be invalidated when a message has been read */
	size_t nstale;
	uint32_t *order;	/* scratch for lists of pages */

	/* A release under way: diffs sent, not all acknowledged. */
	bool flushing;
	uint64_t unacked;
	struct dsm_notice *closing;
	size_t nclosing, room_closing;
	struct dsm_queue flushed, flush_next;

	struct dsm_table locks, gathers, conds;
	uint64_t *sent, *seen;	/* numbers of messages, by peer */
	struct dsm_letters local, deferred;
	bool advanced;

	uint64_t *masks;
	uint8_t *encoded;
	struct dsm_buf *bundles;	/* of one message to each home */
	bool *peers;		/* processes that the host copies from; NULL: none */
	struct dsm_actions *out;
	struct dsm_counters counters;
	struct dsm_races *races;	/* NULL: nobody looks for them */
};

/* Of one page, too, if that is wanted. */
#define dsm_count(c, page, what, n) do { \
	(c)->counters.what += (n); \
	if ((c)->c.page_counters) \
		(c)->c.page_counters[page].what += (n); \
} while (0)

/* core.c */
void *dsm_grow(void *v, size_t size, size_t need, size_t *room);
int dsm_wake(struct dsm_core *c, uint32_t thread, int result);
int dsm_tell_race(struct dsm_core *c, const struct dsm_race *race);
int dsm_told(struct dsm_core *c, uint32_t from, const void *data, size_t len);
int dsm_post(struct dsm_core *c, uint32_t to, const struct dsm_message_head *head,
	     const struct dsm_buf *payload);
int dsm_defer(struct dsm_core *c, const struct dsm_message_head *head, struct dsm_reader payload);
void dsm_enqueue(struct dsm_core *c, struct dsm_queue *q, uint32_t thread);
uint32_t dsm_dequeue(struct dsm_core *c, struct dsm_queue *q);
void dsm_queue_init(struct dsm_queue *q);
bool dsm_queue_remove(struct dsm_core *c, struct dsm_queue *q, uint32_t thread);
/* A new one of @size bytes, zero but for its number; *@made says so. */
void *dsm_table_get(struct dsm_table *t, uint64_t id, size_t size, bool *made);

/* page.c */
int dsm_page_fault(struct dsm_core *c, uint32_t thread, uint32_t page, bool write);
int dsm_page_notice(struct dsm_core *c, const struct dsm_notice *notice);
int dsm_page_invalidate(struct dsm_core *c);
int dsm_page_collect(struct dsm_core *c);
void dsm_page_offer(struct dsm_core *c, uint32_t page);
void dsm_page_settle(struct dsm_core *c, uint32_t page);
void dsm_page_publish(struct dsm_core *c, uint32_t page);
int dsm_on_fetch(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r);
int dsm_on_page(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r);
/*
 * A copy that was asked for; NULL: the one here is @version, the newest. If it was old
 * already the page is asked for again, else the caller opens it.
 */
int dsm_page_take(struct dsm_core *c, uint32_t page, uint32_t from, uint64_t version,
		  const uint8_t *copy);
/* The copy here may be read, and those go on that waited for it. */
int dsm_page_open(struct dsm_core *c, uint32_t page);
int dsm_protect(struct dsm_core *c, uint32_t page, enum dsm_prot prot);

/* range.c */
int dsm_range(struct dsm_core *c, uint32_t thread, const struct dsm_event *ev);
int dsm_on_fetch_list(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r);
int dsm_on_pages(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r);

/* release.c */
int dsm_release(struct dsm_core *c, uint32_t thread);
int dsm_on_diff(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r);
int dsm_on_ack(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r);

/* race.c; with config.races only */
int dsm_races_create(struct dsm_core *c);
void dsm_races_destroy(struct dsm_core *c);
/* A release begins: which locks are held. */
void dsm_races_begin(struct dsm_core *c);
int dsm_races_put(struct dsm_core *c, struct dsm_buf *b);
int dsm_races_get(struct dsm_core *c, uint32_t from, struct dsm_reader *r);
/* A diff of whom dsm_races_get() was about is to be applied here, at home. */
int dsm_races_diff(struct dsm_core *c, uint32_t page, const uint8_t *diff, size_t len);
/* This process's own writes at home, in c->masks, end with this release. */
int dsm_races_close(struct dsm_core *c, uint32_t page);

/* race_read.c; they do nothing if reads are not looked at */
/* A release ends: whether its interval has to have a number though it wrote nothing. */
bool dsm_reads_end(struct dsm_core *c);
/* To a request for a copy, and what is there of one, at the page's home. */
int dsm_reads_put(struct dsm_core *c, uint32_t page, struct dsm_buf *b);
int dsm_reads_get(struct dsm_core *c, uint32_t page, uint32_t from, struct dsm_reader *r);

/* tell.c */
int dsm_tell(struct dsm_core *c, uint32_t thread, const struct dsm_event *ev);
int dsm_tell_released(struct dsm_core *c, uint32_t thread);
int dsm_on_tell(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r);

/* notice.c */
bool dsm_covers(const struct dsm_core *c, const uint64_t *a, const uint64_t *b);
void dsm_raise(const struct dsm_core *c, uint64_t *a, const uint64_t *b);
int dsm_log_own(struct dsm_core *c, struct dsm_notice *notices, size_t n);
int dsm_log_take(struct dsm_core *c, struct dsm_reader *r);
int dsm_log_take_unordered(struct dsm_core *c, struct dsm_reader r, uint32_t n);
void dsm_log_drop(struct dsm_core *c, const uint64_t *upto);
int dsm_log_collect(struct dsm_core *c);
int dsm_put_notices(struct dsm_core *c, struct dsm_buf *b, const uint64_t *above,
		    const uint64_t *upto, bool stated);
int dsm_put_arrival(struct dsm_core *c, struct dsm_buf *b, uint32_t *n);
int dsm_put_vc(struct dsm_core *c, struct dsm_buf *b, const uint64_t *vc);
int dsm_get_vc(struct dsm_core *c, struct dsm_reader *r, uint64_t *vc);
/* 1 if what is in @r must wait for notices under way from elsewhere. */
int dsm_is_early(struct dsm_core *c, struct dsm_reader r);
int dsm_on_notices(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r);

/* lock.c */
int dsm_lock(struct dsm_core *c, uint32_t thread, uint64_t id, bool try);
int dsm_unlock(struct dsm_core *c, uint32_t thread, uint64_t id);
int dsm_lock_released(struct dsm_core *c, uint32_t thread);
int dsm_lock_cancel(struct dsm_core *c, uint32_t thread);
int dsm_on_lock(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r);
int dsm_on_forward(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r);
int dsm_on_grant(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r);
int dsm_on_busy(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r);

/* barrier.c */
int dsm_barrier(struct dsm_core *c, uint32_t thread, uint64_t id, uint64_t nhere);
int dsm_barrier_released(struct dsm_core *c, uint32_t thread);
int dsm_barrier_retry(struct dsm_core *c);
int dsm_on_arrive(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r);
int dsm_on_depart(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r);
void dsm_gather_free(struct dsm_gather *g);

/* cond.c */
int dsm_wait(struct dsm_core *c, uint32_t thread, uint64_t id, uint64_t lock);
int dsm_signal(struct dsm_core *c, uint32_t thread, uint64_t id, bool all);
int dsm_wait_released(struct dsm_core *c, uint32_t thread);
int dsm_wait_cancel(struct dsm_core *c, uint32_t thread);
int dsm_on_enqueue(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r);
int dsm_on_enqueued(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r);
int dsm_on_signal(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r);
int dsm_on_leave(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r);
int dsm_on_resume(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r);

#endif
