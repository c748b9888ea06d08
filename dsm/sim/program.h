/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Small programs for simulated threads, and the oracle that watches them: a flat
 * memory that is written when a thread writes, and vector clocks of threads, locks
 * and barriers (Flanagan and Freund 2009). An access that would race is left out, so
 * every program is free of data races, whatever it looks like; what is read must then
 * be what was written last. Where accesses that race are left in, the oracle knows which
 * processes raced at which byte, and which of them read and wrote a page unordered. Cores
 * that look for races may tell of no other.
 */
#ifndef SONDE_DSM_SIM_PROGRAM_H
#define SONDE_DSM_SIM_PROGRAM_H

#include "world.h"

#define PROGRAM_THREADS	12	/* over all processes */
#define PROGRAM_PLACES	96	/* bytes that are looked at */
#define PROGRAM_LOCKS	4
#define PROGRAM_REGS	4
#define PROGRAM_MAIL	64	/* that are told, each once */
#define PROGRAM_PARCELS	16	/* released ranges, each acquired once */
#define PROGRAM_PAGES	8

enum op_kind {
	OP_READ,	/* len places from place, against the oracle */
	OP_WRITE,	/* value, value + 1, ... */
	OP_LOAD,	/* place to register value; no oracle */
	OP_STORE,	/* value to place, len: that register; no oracle */
	OP_LOCK,	/* lock */
	OP_TRYLOCK,	/* lock; if another has it, skips len operations */
	OP_UNLOCK,
	OP_BARRIER,	/* barrier value */
	OP_ADD,		/* value to place, which the lock held protects */
	OP_WAIT,	/* while place is 0 waits for condition lock, with that lock */
	OP_SIGNAL,	/* condition lock; len: all */
	OP_TIMEDLOCK,	/* lock; if its time is over first, skips len operations */
	OP_TELL,	/* process lock is told value */
	OP_HEAR,	/* waits until its process was told value */
	OP_PREFETCH,	/* len pages from place */
	OP_RELEASE,	/* the same; then parcel value is there, if below PROGRAM_PARCELS */
	OP_ACQUIRE,	/* the same, when parcel value is there */
};

struct op {
	uint8_t kind, lock, value, len;
	uint16_t place;
	uint16_t unit;	/* what is left out together when a failure is shrunk */
};

struct program {
	struct world_config world;
	uint32_t nplaces, nunits;
	uint32_t address[PROGRAM_PLACES];	/* page * unit + offset; a run lies in one page */
	struct op *ops[PROGRAM_THREADS];
	uint32_t nops[PROGRAM_THREADS];
	uint32_t barrier_threads;	/* of each process, the first ones */
	bool idle_at_end;		/* the last barrier leaves nothing behind */
	uint32_t cancels;		/* of timed locks and of waits, at most */
	bool is_racy;			/* writes that race are not left out, nor reads if those
					 * are looked at */
};

struct place {
	uint8_t value;
	uint32_t writer, written;		/* thread, and its clock then */
	uint32_t wrote[PROGRAM_THREADS];	/* the clock of each one's last write */
	uint64_t raced, told;			/* bit 8 a + b: processes a < b, here */
	uint32_t read[PROGRAM_THREADS];
};

/* Of reads and writes; bit 8 a + b: process a read, b wrote. */
struct seen_page {
	uint32_t read[PROGRAM_THREADS], wrote[PROGRAM_THREADS];	/* clocks of the last ones */
	uint64_t unordered, raced, told;	/* somewhere here; the same byte; by a core */
};

struct run {
	const struct program *program;
	const bool *skip;			/* by unit; NULL: none */
	struct world *world;
	uint32_t threads;
	uint32_t pc[PROGRAM_THREADS];
	uint8_t phase[PROGRAM_THREADS];		/* within an operation */
	uint8_t reg[PROGRAM_THREADS][PROGRAM_REGS];
	uint32_t clock[PROGRAM_THREADS][PROGRAM_THREADS];
	uint32_t lock_clock[PROGRAM_LOCKS][PROGRAM_THREADS];
	uint32_t holder[PROGRAM_LOCKS];		/* thread + 1 */
	uint32_t barrier_clock[2][PROGRAM_THREADS];
	uint32_t barrier_in[2];
	uint8_t barrier_turn[PROGRAM_THREADS];
	struct place places[PROGRAM_PLACES];
	struct seen_page pages[PROGRAM_PAGES];
	uint32_t mail_clock[PROGRAM_MAIL][PROGRAM_THREADS];
	/* What is known of one page only, as it was acquired. */
	uint32_t page_clock[PROGRAM_THREADS][PROGRAM_PAGES][PROGRAM_THREADS];
	uint32_t parcel_clock[PROGRAM_PARCELS][PROGRAM_PAGES][PROGRAM_THREADS];
	uint32_t parcels;			/* bit n: it is there */
	uint32_t cancels;			/* so far */
	uint64_t checked;			/* bytes read that the oracle had a say on */
};

void run_start(struct run *r, const struct program *p, const bool *skip);
void run_end(struct run *r);

/*
 * What can happen next: threads 0 and on, then PROGRAM_THREADS + a thread whose time is
 * over, then 2 * PROGRAM_THREADS + a channel's number.
 * Returns how many; with none the run is over, or stuck.
 */
uint32_t run_options(struct run *r, uint32_t *options);
/*
 * The thread's next operation touches a page that is there for it. That needs no event,
 * so it may happen in the middle of a step.
 */
bool run_can_touch(const struct run *r, uint32_t g);
void run_touch(struct run *r, uint32_t g);
void run_take(struct run *r, uint32_t option, bool twice);
bool run_is_done(const struct run *r);
/* After the last step: all threads through, everything idle. */
void run_finish(struct run *r);
uint64_t run_digest(struct run *r);

void program_print(const struct program *p, const bool *skip);

#endif
