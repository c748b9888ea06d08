/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Processes of a distributed shared memory in one thread: their cores, simulated
 * pages with protections, and a queue of messages for each ordered pair. Nothing
 * happens by itself: somebody chooses which thread goes on or which queue's first
 * message arrives, so every interleaving can be had, and had again.
 */
#ifndef SONDE_DSM_SIM_WORLD_H
#define SONDE_DSM_SIM_WORLD_H

#include "../core/core.h"

struct world_letter {
	struct world_letter *next;
	uint8_t *data;
	size_t len;
};

struct world_channel {
	struct world_letter *head, **end;
};

struct world_thread {
	bool blocked;
	int result;
};

/* A page that the host may fill. */
struct world_offer {
	uint64_t least, got;
	uint32_t home;
	bool is_open;
};

struct world_process {
	struct world *world;
	struct dsm_core *core;
	uint8_t *memory, *prot;
	uint8_t **twins;
	bool *is_noted, *is_taken;	/* written unseen; its twin is the core's */
	struct world_offer *offers;
	uint64_t *published;
	bool *is_copied;	/* written by the home since: that is noted */
	bool *is_told;		/* an event told of it, and is not answered */
	uint64_t *versions;	/* as last seen, by page */
	uint32_t ntwins;
	struct world_thread *threads;
};

struct world_config {
	uint32_t processes, threads, pages, unit;
	uint32_t home_shift;		/* page p is at home in p + this, mod processes */
	uint32_t fanout, handovers, notices_max, message_max;
	const struct dsm_diff_ops *diff;
	bool unseen;			/* a host with written(): first writes are no events */
	uint32_t nodes;			/* and with offer(): it fills pages of processes that are
					 * alike modulo this; 0: none */
	bool races, race_reads;		/* are looked for */
};

struct world {
	struct world_config c;
	struct world_process *processes;
	struct world_channel *channels;	/* from * processes + to */
	struct dsm_actions actions;
	uint64_t steps;
	uint64_t fills;			/* pages copied by hosts */
	uint64_t told;			/* bit n: a process was told n, by DSM_EV_TELL */
	/*
	 * Called before and after what the host does in the middle of a step: other threads
	 * of @process may touch pages there. May be NULL.
	 */
	void (*between)(void *ctx, uint32_t process);
	void *ctx;
	/* Called with each race that a core tells of. */
	void (*race)(void *ctx, const struct dsm_race *race);
	void *race_ctx;
	char why[160];			/* what went wrong first; empty if nothing did */
};

/* Ends the program if there is no memory: this is for tests. */
struct world *world_create(const struct world_config *config);
void world_destroy(struct world *w);

/* Remembers what went wrong first. */
__attribute__((format(printf, 2, 3))) void world_fail(struct world *w, const char *format, ...);

/* What it does stops, if that can be. */
void world_cancel(struct world *w, uint32_t process, uint32_t thread);

/* DSM_EV_TELL of one byte, @what, below 64. */
void world_tell(struct world *w, uint32_t process, uint32_t thread, uint32_t to, uint8_t what);

/* Whether world_touch() would give the page at once. */
bool world_can_touch(const struct world *w, uint32_t process, uint32_t page, bool write);

/* The thread is blocked until it is woken, maybe at once. */
void world_event(struct world *w, uint32_t process, uint32_t thread, enum dsm_event_kind kind,
		 uint64_t id, uint64_t arg);

/*
 * The page's memory if @thread may do that to it, else NULL: then it has faulted,
 * and tries again when it is not blocked.
 */
uint8_t *world_touch(struct world *w, uint32_t process, uint32_t thread, uint32_t page,
		     bool write);

static inline struct world_channel *world_channel(struct world *w, uint32_t from, uint32_t to)
{
	return &w->channels[from * w->c.processes + to];
}

/* The first message of a channel arrives. @twice: a copy of it will come once more. */
void world_deliver(struct world *w, uint32_t from, uint32_t to, bool twice);

/* Messages arrive, pair after pair, until there are none. */
void world_settle(struct world *w);

/* Versions never fall and none is beyond its home's; no lock has two tokens. */
void world_check(struct world *w);
/* After a barrier and nothing since: no twins, no notices, nothing on its way. */
void world_check_idle(struct world *w);

/* Of all that decides what can happen next; the same for equal states. */
uint64_t world_digest(struct world *w, uint64_t seed);

static inline uint64_t world_mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15;
	return h ^ h >> 29;
}

uint64_t world_mix_bytes(uint64_t h, const void *bytes, size_t n);

#endif
