/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs small enough for every interleaving, with the oracle on. Places 0 and 1 are
 * neighbours in page 0, place 2 is in page 1, if there is one.
 */
#ifndef SONDE_TESTS_DSM_SMALL_H
#define SONDE_TESTS_DSM_SMALL_H

#include "../../dsm/sim/search.h"

#define READ(p)		{ .kind = OP_READ, .place = (p), .len = 1 }
#define WRITE(p, v)	{ .kind = OP_WRITE, .place = (p), .len = 1, .value = (v) }
#define LOAD(p, r)	{ .kind = OP_LOAD, .place = (p), .value = (r) }
#define STORE(p, v)	{ .kind = OP_STORE, .place = (p), .value = (v) }
#define STORE_REG(p, r)	{ .kind = OP_STORE, .place = (p), .value = (r), .len = 1 }
#define LOCK(l)		{ .kind = OP_LOCK, .lock = (l) }
#define TRY(l, n)	{ .kind = OP_TRYLOCK, .lock = (l), .len = (n) }
#define UNLOCK(l)	{ .kind = OP_UNLOCK, .lock = (l) }
#define BARRIER		{ .kind = OP_BARRIER }
#define ADD(p, v)	{ .kind = OP_ADD, .place = (p), .value = (v) }
#define WAIT(p, l)	{ .kind = OP_WAIT, .place = (p), .lock = (l) }
#define TIMED(l, n)	{ .kind = OP_TIMEDLOCK, .lock = (l), .len = (n) }
#define TELL(q, what)	{ .kind = OP_TELL, .lock = (q), .value = (what) }
#define HEAR(what)	{ .kind = OP_HEAR, .value = (what) }
#define PREFETCH(p, n)	{ .kind = OP_PREFETCH, .place = (p), .len = (n) }
#define RELEASE(p, n, what) { .kind = OP_RELEASE, .place = (p), .len = (n), .value = (what) }
#define ACQUIRE(p, n, what) { .kind = OP_ACQUIRE, .place = (p), .len = (n), .value = (what) }
#define SIGNAL(c, all)	{ .kind = OP_SIGNAL, .lock = (c), .len = (all) }

#define SMALL_OPS	12
#define SMALL_THREADS	6

struct small {
	const char *name;
	uint32_t processes, threads, pages, barrier_threads;
	bool idle, slow;	/* slow: only in the long version */
	uint32_t n[SMALL_THREADS];
	struct op ops[SMALL_THREADS][SMALL_OPS];
	uint32_t notices_max, cancels;
	bool unseen;
};

/* Sequences of one thread, by number of operations. */
#define T(...)	{ __VA_ARGS__ }

static const struct small small[] = {
	{ "a lock and a barrier, two processes", 2, 1, 1, 1, true, false, { 7, 8 }, {
		T(LOCK(1), READ(0), WRITE(0, 1), UNLOCK(1), BARRIER, READ(0), READ(1)),
		T(LOCK(1), READ(0), WRITE(0, 2), UNLOCK(1), WRITE(1, 4), BARRIER, READ(0),
		  READ(1)) }, 0, 0, false },
	{ "a lock and a barrier, three processes", 3, 1, 1, 1, true, false, { 7, 8, 7 }, {
		T(LOCK(1), READ(0), WRITE(0, 1), UNLOCK(1), BARRIER, READ(0), READ(1)),
		T(LOCK(1), READ(0), WRITE(0, 2), UNLOCK(1), WRITE(1, 4), BARRIER, READ(0),
		  READ(1)),
		T(LOCK(1), READ(0), WRITE(0, 3), UNLOCK(1), BARRIER, READ(0), READ(1)) }, 0, 0, false },
	{ "two pages, the same lock twice", 2, 1, 2, 1, true, false, { 11, 11 }, {
		T(LOCK(0), READ(0), WRITE(2, 1), UNLOCK(0), LOCK(0), READ(2), WRITE(0, 2),
		  UNLOCK(0), BARRIER, READ(0), READ(2)),
		T(LOCK(0), READ(2), WRITE(0, 3), UNLOCK(0), LOCK(0), READ(0), WRITE(2, 4),
		  UNLOCK(0), BARRIER, READ(0), READ(2)) }, 0, 0, false },
	{ "neighbours written at once, one dirty across an acquire", 2, 1, 2, 1, true, false,
	  { 8, 9 }, {
		T(WRITE(0, 1), LOCK(0), WRITE(2, 1), UNLOCK(0), WRITE(0, 5), BARRIER, READ(1),
		  READ(0)),
		T(WRITE(1, 2), LOCK(0), READ(2), READ(0), UNLOCK(0), WRITE(1, 7), BARRIER,
		  READ(0), READ(1)) }, 0, 0, false },
	{ "two threads in a process, a lock handed over inside", 2, 2, 1, 2, true, false,
	  { 5, 5, 5, 1 }, {
		T(LOCK(1), READ(0), WRITE(0, 1), UNLOCK(1), BARRIER),
		T(LOCK(1), READ(0), WRITE(0, 2), UNLOCK(1), BARRIER),
		T(LOCK(1), READ(0), WRITE(0, 3), UNLOCK(1), BARRIER),
		T(BARRIER) }, 0, 0, false },
	{ "a thread beside the barrier", 2, 2, 2, 1, false, false, { 3, 4, 3, 4 }, {
		T(WRITE(0, 1), BARRIER, READ(0)),
		T(LOCK(1), READ(0), WRITE(2, 1), UNLOCK(1)),
		T(BARRIER, READ(0), READ(2)),
		T(LOCK(1), READ(2), READ(0), UNLOCK(1)) }, 0, 0, false },
	{ "a wait and a signal", 2, 1, 1, 1, true, false, { 6, 6 }, {
		T(LOCK(0), ADD(0, 1), SIGNAL(0, 0), UNLOCK(0), BARRIER, READ(0)),
		T(LOCK(0), WAIT(0, 0), ADD(0, 255), UNLOCK(0), BARRIER, READ(0)) }, 0, 0, false },
	{ "a signal after the lock was given up", 3, 1, 1, 1, true, false, { 5, 5, 5 }, {
		T(LOCK(1), ADD(0, 2), UNLOCK(1), SIGNAL(1, 1), BARRIER),
		T(LOCK(1), WAIT(0, 1), ADD(0, 255), UNLOCK(1), BARRIER),
		T(LOCK(1), WAIT(0, 1), ADD(0, 255), UNLOCK(1), BARRIER) }, 0, 0, false },
	{ "two posts, each before its signal", 3, 1, 1, 1, true, false, { 9, 6, 6 }, {
		T(LOCK(1), ADD(0, 1), UNLOCK(1), SIGNAL(1, 0), LOCK(1), ADD(0, 1), UNLOCK(1),
		  SIGNAL(1, 0), BARRIER),
		T(LOCK(1), WRITE(1, 1), WAIT(0, 1), ADD(0, 255), UNLOCK(1), BARRIER),
		T(LOCK(1), WRITE(1, 2), WAIT(0, 1), ADD(0, 255), UNLOCK(1), BARRIER) }, 0, 0, false },
	{ "who tries and who waits", 3, 1, 1, 1, true, false, { 5, 5, 5 }, {
		T(LOCK(1), READ(0), WRITE(0, 1), UNLOCK(1), BARRIER),
		T(TRY(1, 3), READ(0), WRITE(0, 2), UNLOCK(1), BARRIER),
		T(TRY(1, 3), READ(0), WRITE(0, 3), UNLOCK(1), BARRIER) }, 0, 0, false },
	{ "a lock that overtakes a departure", 3, 2, 1, 1, false, false, { 2, 0, 1, 3, 3, 0 }, {
		T(WRITE(0, 1), BARRIER),
		T(READ(0)),
		T(BARRIER),
		T(LOCK(2), READ(0), UNLOCK(2)),
		T(BARRIER, LOCK(2), UNLOCK(2)),
		T(READ(0)) }, 0, 0, false },
	{ "locks only, notices handed out at once", 3, 1, 2, 1, false, false, { 4, 4, 4 }, {
		T(LOCK(1), WRITE(0, 1), WRITE(2, 1), UNLOCK(1)),
		T(LOCK(1), WRITE(0, 2), UNLOCK(1), READ(0)),
		T(LOCK(1), READ(2), READ(0), UNLOCK(1)) }, 1, 0, false },
	{ "neighbours written unseen, one dirty across an acquire", 2, 1, 2, 1, true, false,
	  { 8, 9 }, {
		T(WRITE(0, 1), LOCK(0), WRITE(2, 1), UNLOCK(0), WRITE(0, 5), BARRIER, READ(1),
		  READ(0)),
		T(WRITE(1, 2), LOCK(0), READ(2), READ(0), UNLOCK(0), WRITE(1, 7), BARRIER,
		  READ(0), READ(1)) }, 0, 0, true },
	{ "two threads in a process, writes unseen", 2, 2, 1, 2, true, false,
	  { 6, 5, 5, 1 }, {
		T(LOCK(1), READ(0), WRITE(0, 1), UNLOCK(1), WRITE(1, 8), BARRIER),
		T(LOCK(1), READ(0), WRITE(0, 2), UNLOCK(1), BARRIER),
		T(LOCK(1), READ(0), WRITE(0, 3), UNLOCK(1), BARRIER),
		T(BARRIER) }, 0, 0, true },
	{ "a lock whose time is over", 3, 1, 1, 1, true, false, { 5, 5, 5 }, {
		T(LOCK(1), READ(0), WRITE(0, 1), UNLOCK(1), BARRIER),
		T(TIMED(1, 3), READ(0), WRITE(0, 2), UNLOCK(1), BARRIER),
		T(TIMED(1, 3), READ(0), WRITE(0, 3), UNLOCK(1), BARRIER) }, 0, 2, false },
	{ "a wait whose time is over, and two signals", 3, 1, 1, 1, true, false, { 9, 5, 5 }, {
		T(LOCK(1), ADD(0, 1), UNLOCK(1), SIGNAL(1, 0), LOCK(1), ADD(0, 1), UNLOCK(1),
		  SIGNAL(1, 1), BARRIER),
		T(LOCK(1), WAIT(0, 1), ADD(0, 255), UNLOCK(1), BARRIER),
		T(LOCK(1), WAIT(0, 1), ADD(0, 255), UNLOCK(1), BARRIER) }, 0, 1, false },
	{ "a thread is made and ends", 3, 1, 2, 1, false, false, { 6, 4, 4 }, {
		T(WRITE(0, 1), WRITE(2, 3), TELL(1, 0), HEAR(2), READ(1), READ(2)),
		T(HEAR(0), READ(0), WRITE(1, 2), TELL(2, 1)),
		T(HEAR(1), READ(1), WRITE(2, 5), TELL(0, 2)) }, 0, 0, false },
	{ "a range is released, acquired, and released again", 2, 1, 2, 1, true, false, { 7, 8 }, {
		T(WRITE(0, 1), WRITE(2, 1), RELEASE(0, 1, 0), ACQUIRE(0, 2, 1), READ(0), READ(2),
		  BARRIER),
		T(WRITE(1, 2), PREFETCH(0, 2), ACQUIRE(0, 2, 0), READ(0), WRITE(0, 3),
		  RELEASE(0, 2, 1), BARRIER, READ(2)) }, 0, 0, false },
	{ "a range between three, a lock beside, writes unseen", 3, 1, 2, 1, true, false,
	  { 3, 6, 4 }, {
		T(WRITE(0, 1), RELEASE(0, 2, 0), BARRIER),
		T(LOCK(1), WRITE(2, 2), ACQUIRE(0, 1, 0), WRITE(0, 3), UNLOCK(1), BARRIER),
		T(LOCK(1), READ(0), UNLOCK(1), BARRIER) }, 0, 0, true },
	{ "two locks, notices handed out at once", 3, 1, 2, 1, false, true, { 4, 8, 4 }, {
		T(LOCK(1), WRITE(0, 1), WRITE(2, 1), UNLOCK(1)),
		T(LOCK(1), WRITE(0, 2), UNLOCK(1), LOCK(2), READ(0), WRITE(2, 9), UNLOCK(2),
		  READ(0)),
		T(LOCK(2), READ(2), READ(0), UNLOCK(2)) }, 1, 0, false },
	{ "three processes, the lock twice each", 3, 1, 1, 1, true, true, { 9, 9, 9 }, {
		T(LOCK(1), READ(0), WRITE(0, 1), UNLOCK(1), LOCK(1), WRITE(0, 4), UNLOCK(1),
		  BARRIER, READ(0)),
		T(LOCK(1), READ(0), WRITE(0, 2), UNLOCK(1), LOCK(1), WRITE(0, 5), UNLOCK(1),
		  BARRIER, READ(0)),
		T(LOCK(1), READ(0), WRITE(0, 3), UNLOCK(1), LOCK(1), WRITE(0, 6), UNLOCK(1),
		  BARRIER, READ(0)) }, 0, 0, false },
};

#define NSMALL	(sizeof(small) / sizeof(*small))

static inline void small_program(struct program *p, const struct small *s)
{
	*p = (struct program){
		.world = { .processes = s->processes, .threads = s->threads,
			   .pages = s->pages, .unit = 4096, .handovers = 1,
			   .notices_max = s->notices_max, .unseen = s->unseen },
		.nplaces = 3,
		.address = { 63, 64, s->pages > 1 ? 4096 : 128 },
		.barrier_threads = s->barrier_threads,
		.idle_at_end = s->idle,
		.cancels = s->cancels,
	};
	for (uint32_t g = 0; g < SMALL_THREADS; g++) {
		p->ops[g] = (struct op *)s->ops[g];
		p->nops[g] = s->n[g];
	}
}

#endif
