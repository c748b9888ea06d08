/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One process of a distributed shared memory, as a state machine: home-based lazy
 * release consistency with multiple writers (Ng and Wong, section 1; Zhou, Iftode
 * and Li 1996). No threads, no I/O, no clock: events go in, actions come out, and
 * the same object files run in production, in the simulator and in the fuzzer.
 * The protocol is described in dsm/README.md.
 *
 * The caller serialises calls of one core. It delivers messages of one process to
 * another in the order in which they were sent; between different pairs any order
 * will do, and a message may come more than once.
 */
#ifndef SONDE_DSM_CORE_H
#define SONDE_DSM_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../diff/diff.h"

enum dsm_prot { DSM_NONE, DSM_READ, DSM_WRITE };

/*
 * The pages, and how they are protected: a fault back end. page() is the alias,
 * which may always be read and written; protect() is about the application's view.
 * twin() keeps a copy of the page as it is now.
 *
 * With written() a page that is DSM_READ may be written at once, unseen, and the host
 * keeps the copy from before. written() lists such pages, each once, and from then on
 * notices anew; what was written before protect() took the page away is in the next
 * list. twin() then returns the kept copy, which is the caller's until untwin(), and
 * untwin() leaves it to the host if the page was written since it was last listed. A
 * page that is DSM_WRITE is not noticed, and has changed when it is DSM_READ again, as
 * has one that was DSM_NONE.
 */
struct dsm_host {
	void *ctx;
	void *(*page)(void *ctx, uint32_t page);
	int (*protect)(void *ctx, const uint32_t *pages, size_t n, enum dsm_prot prot);
	void *(*twin)(void *ctx, uint32_t page);
	void (*untwin)(void *ctx, uint32_t page);
	/* NULL: the first write to a DSM_READ page is an event. */
	ssize_t (*written)(void *ctx, uint32_t *pages, size_t room);
	/*
	 * All three or none, with written(): between offer() and withdraw() the host may fill a
	 * page that is DSM_NONE by itself, and then it is DSM_READ. It copies from the
	 * process that the page is at home in, if that has published @least or a newer
	 * version; not while an event that told of the page is not answered. withdraw() says
	 * whether it did, and which version that was. A home's page of which a copy was
	 * made is noticed when it is written, though it is DSM_WRITE, until it was listed.
	 */
	void (*offer)(void *ctx, uint32_t page, uint32_t home, uint64_t least);
	bool (*withdraw)(void *ctx, uint32_t page, uint64_t *version);
	void (*publish)(void *ctx, uint32_t page, uint64_t version);
};

/* A page that some process wrote, and the version that its home gave it then. */
struct dsm_notice {
	uint64_t version;
	uint32_t page;
};

/* What was done about one page in this process. Sums over pages are dsm_counters'. */
struct dsm_page_counters {
	uint64_t read_faults, write_faults, fetches, copies, twins, diffs, diff_bytes;
	uint64_t invalidations;
};

struct dsm_config {
	uint32_t processes, self;	/* up to 65535 processes */
	uint32_t pages, unit;		/* bytes a page: a power of two from 4 KiB */
	uint32_t threads;		/* of this process: events name one below it */
	uint32_t fanout;		/* of the barrier's tree; 0: central up to 16, else 4 */
	uint32_t handovers;		/* of a lock inside while another process waits; 0: 16 */
	uint32_t message_max;		/* bytes of diffs in one message; 0: 16 MiB */
	uint32_t notices_max;		/* kept before they are handed out; 0: 65536 */
	const struct dsm_diff_ops *diff;	/* NULL: the best there is */
	struct dsm_page_counters *page_counters;	/* one each page; NULL: not wanted */
	bool races;			/* look for races; alike in all processes */
	bool race_reads;		/* and, with it, for possible ones with reads */
	struct dsm_host host;
	/*
	 * Called in process 0 when all have arrived at a barrier, with every interval
	 * that ended since the one before: what a policy of homes decides by. May be
	 * NULL.
	 */
	void (*interval)(void *ctx, uint32_t process, const struct dsm_notice *notices, size_t n);
};

enum dsm_event_kind {
	DSM_EV_READ,		/* a thread may not read page id */
	DSM_EV_WRITE,		/* a thread may not write page id */
	DSM_EV_LOCK,		/* lock id */
	DSM_EV_TRYLOCK,		/* result -EBUSY if another has it */
	DSM_EV_UNLOCK,
	DSM_EV_BARRIER,		/* barrier id, of arg threads of this process */
	DSM_EV_WAIT,		/* condition id, lock arg, which the thread has */
	DSM_EV_SIGNAL,		/* condition id; arg: all that wait */
	/* data, len to process id (self too), a DSM_TOLD there; arg: 1 orders memory, too:
	 * who is told reads what this thread wrote before. */
	DSM_EV_TELL,
	/* Pages from id up to arg: those that are void are asked for, nobody waits for them. */
	DSM_EV_PREFETCH,
	/* The same, and copies that are here are void until their homes say that they are the
	 * newest: who reads the pages afterwards reads what is at home now. */
	DSM_EV_ACQUIRE,
	/* What was written here to these pages is at home when it is answered. */
	DSM_EV_RELEASE,
	/* A thread in DSM_EV_LOCK or DSM_EV_WAIT is to wait no longer: its own event then
	 * results in -ETIMEDOUT, if it is not too late. A wait has its lock all the same.
	 * This event itself is not answered. */
	DSM_EV_CANCEL,
	DSM_EV_MESSAGE,		/* data, len from process id */
};

struct dsm_event {
	enum dsm_event_kind kind;
	uint32_t thread;
	uint64_t id, arg;
	const void *data;
	size_t len;
};

enum dsm_action_kind { DSM_SEND, DSM_WAKE, DSM_TOLD, DSM_RACE };

/*
 * DSM_SEND: data to process to. DSM_WAKE: thread to goes on, its event's result.
 * DSM_TOLD: process to told us data. DSM_RACE: data is a struct dsm_race.
 */
struct dsm_action {
	enum dsm_action_kind kind;
	uint32_t to;
	int result;
	uint8_t *data;
	size_t len;
};

struct dsm_actions {
	struct dsm_action *v;
	size_t n, room;
};

#define DSM_RACE_LOCKS	8u

/* One of two intervals that wrote the same bytes, and the locks its process had at its end. */
struct dsm_race_side {
	uint64_t interval;
	uint32_t process;
	uint32_t nlocks;	/* more than DSM_RACE_LOCKS: only so many are named */
	bool is_forgotten;	/* too long ago: its locks are not known any more */
	uint64_t locks[DSM_RACE_LOCKS];
};

/*
 * Bytes that two processes wrote without one knowing of the other's interval, seen at
 * their home; each byte is told of once. See race.c for what cannot be seen. Or, possibly
 * (race_read.c): side 0 read something in the page, side 1 wrote from offset on, all of
 * len bytes or some.
 */
struct dsm_race {
	uint32_t page, offset, len;
	bool is_read;
	struct dsm_race_side side[2];	/* in the order in which they came home */
};

enum dsm_message {
	DSM_FETCH = 1,
	DSM_PAGE,
	DSM_DIFF,
	DSM_ACK,
	DSM_LOCK,
	DSM_FORWARD,
	DSM_GRANT,
	DSM_BUSY,
	DSM_ARRIVE,
	DSM_DEPART,
	DSM_ENQUEUE,
	DSM_ENQUEUED,
	DSM_SIGNAL,
	DSM_RESUME,
	DSM_NOTICES,
	DSM_LEAVE,
	DSM_TELL,
	DSM_FETCH_LIST,
	DSM_PAGES,
	DSM_MESSAGES,		/* how many kinds, and one more */
};

struct dsm_counters {
	uint64_t messages[DSM_MESSAGES], bytes[DSM_MESSAGES];
	uint64_t read_faults, write_faults, fetches, refetches, twins, diffs, diff_bytes;
	uint64_t intervals, notices, invalidations, merges, handovers, duplicates, deferred;
	uint64_t races;		/* pieces of memory, found here as their home */
	uint64_t copies;	/* of a page by the host, as far as that was asked about */
};

struct dsm_core;

/* -EINVAL: a number in @config makes no sense; -ENOMEM. */
int dsm_core_create(struct dsm_core **core, const struct dsm_config *config);
void dsm_core_destroy(struct dsm_core *core);

/* Before the first event, and alike in all processes; without it: page mod processes. */
int dsm_core_set_home(struct dsm_core *core, uint32_t page, uint32_t home);
uint32_t dsm_core_home(const struct dsm_core *core, uint32_t page);
/* The host can copy pages of @process: only those are offered to it. -EINVAL, -ENOMEM. */
int dsm_core_set_peer(struct dsm_core *core, uint32_t process);

/*
 * Every event of a thread but DSM_EV_CANCEL is answered by one DSM_WAKE, at once or
 * later; until then the thread waits. An error is the end of this core: -ENOMEM,
 * -EBADMSG (a message is damaged), -EPROTO (it cannot be, by the protocol), -EINVAL (the
 * event), or what the host returned.
 */
int dsm_core_step(struct dsm_core *core, const struct dsm_event *event, struct dsm_actions *out);

void dsm_actions_clear(struct dsm_actions *actions);	/* frees the data */
void dsm_actions_free(struct dsm_actions *actions);

const struct dsm_counters *dsm_core_counters(const struct dsm_core *core);
size_t dsm_core_notices(const struct dsm_core *core);	/* kept now */
const char *dsm_message_name(enum dsm_message message);

#endif
