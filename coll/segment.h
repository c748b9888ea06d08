/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * segment - memory that the ranks of a node share, one for each plan
 *
 * Time goes in steps, numbered from 1, the same for all ranks of the node. In a
 * step every rank posts one line to every other and waits for one of every
 * other. A line is 128 bytes, has one writer and one reader, and carries the
 * step's number, which only grows, and a payload. There are two sets of lines
 * and of areas, used by turns.
 *
 * Why two are enough, and no step needs a second barrier: who begins step s + 2
 * has waited for everybody's line of s + 1, and each posted that after it was
 * done with s. So nobody reads any more what step s has written.
 */
#ifndef SONDE_COLL_SEGMENT_H
#define SONDE_COLL_SEGMENT_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <mpi.h>

#define COLL_LINE	128	/* a pair of cache lines: the prefetcher takes both */
#define COLL_INLINE	(COLL_LINE - sizeof(uint64_t))
#define COLL_HEAD_BYTES	4096

struct coll_plan;

/* The writer's last store is @step. */
struct coll_line {
	_Alignas(COLL_LINE) _Atomic uint64_t step;
	unsigned char payload[COLL_INLINE];
};

/*
 * Of each rank. @is_asleep: waiting: what sleepers need. @cpu: where it last ran, as it
 * said: a hint of what copies cost, no more.
 */
struct coll_bell {
	_Alignas(COLL_LINE) _Atomic uint32_t is_asleep;
	_Alignas(COLL_LINE) _Atomic int cpu;
};

/**
 * struct coll_segment - one rank's view
 * @me, @n: of the ranks of the node
 * @base: where it is mapped
 * @slice_bytes: of each rank, the same for all
 * @area: bytes of an area that are backed by memory on all nodes; see coll_segment_grow()
 * @area_most: bytes that it may have
 * @step: the last that this rank began
 * @pids: of the others, to see whether they still live
 * @idle: what a way needs done while this rank waits; may be NULL
 * @is_crowded: there are more ranks than processors for them
 * @spins: looks before the first yield, as experience has it
 */
struct coll_segment {
	int me, n, fd;
	char *base;
	size_t bytes, slice_bytes, lines_bytes;
	size_t area, area_most;
	uint64_t step;
	int *pids;
	int is_crowded, spins;
	MPI_Comm comm;
	void (*idle)(void *of);
	void *idle_of;
};

/*
 * Collective over the plan's node. On failure all ranks of it have none.
 * Return: 0, or why: -ENOMEM, -ENOSPC, -EACCES...
 */
int coll_segment_open(struct coll_segment **segment, struct coll_plan *plan);
void coll_segment_close(struct coll_segment *segment);

/* Backs so much more of this rank's own areas. Return: 0, -ENOSPC, -ENOMEM. */
int coll_segment_back(struct coll_segment *segment, size_t area);

static inline char *coll_slice(const struct coll_segment *seg, int rank)
{
	return seg->base + COLL_HEAD_BYTES + (size_t)rank * seg->slice_bytes;
}

/* From one rank to another, of a step. The reader's slice has it. */
static inline struct coll_line *coll_line(const struct coll_segment *seg, int from, int to,
					  uint64_t step)
{
	return (struct coll_line *)(void *)(coll_slice(seg, to) + sizeof(struct coll_bell)) +
	       (step & 1) * (uint64_t)seg->n + from;
}

/* An area of a rank, of a step: whoever the algorithm says writes to it. */
static inline char *coll_area(const struct coll_segment *seg, int rank, uint64_t step)
{
	return coll_slice(seg, rank) + seg->lines_bytes + (step & 1) * seg->area_most;
}

static inline uint64_t coll_step_begin(struct coll_segment *seg)
{
	return ++seg->step;
}

/* Release: what was written before is seen by who sees the step. */
static inline void coll_post(struct coll_segment *seg, int to, uint64_t step)
{
	atomic_store_explicit(&coll_line(seg, seg->me, to, step)->step, step,
			      memory_order_release);
}

/* Acquire: the partner of coll_post(). */
static inline int coll_is_posted(const struct coll_segment *seg, int from, uint64_t step)
{
	return atomic_load_explicit(&coll_line(seg, from, seg->me, step)->step,
				    memory_order_acquire) >= step;
}

/* After the last coll_post() of a step: wakes who sleeps. */
void coll_wake(struct coll_segment *segment);

/* Waits for a line: 0, or -EOWNERDEAD if its writer has ended. */
int coll_wait_slowly(struct coll_segment *segment, int from, uint64_t step);

static inline int coll_wait(struct coll_segment *seg, int from, uint64_t step)
{
	return coll_is_posted(seg, from, step) ? 0 : coll_wait_slowly(seg, from, step);
}

/* Posts to all; with nothing to say but that this rank came so far. */
void coll_post_all(struct coll_segment *segment, uint64_t step);

struct coll_head {
	uint64_t nonce[2];
	/* A rank has said that another one ended. */
	_Atomic uint32_t is_told;
	/* Written when somebody falls asleep or awakes, read at every step. */
	_Alignas(COLL_LINE) _Atomic uint32_t sleepers;
};

static inline struct coll_head *coll_head(const struct coll_segment *seg)
{
	return (struct coll_head *)(void *)seg->base;
}

static inline struct coll_bell *coll_bell(const struct coll_segment *seg, int rank)
{
	return (struct coll_bell *)(void *)coll_slice(seg, rank);
}

static inline void coll_tell_cpu(const struct coll_segment *seg)
{
	_Atomic int *cpu = &coll_bell(seg, seg->me)->cpu;
	const int now = sched_getcpu();

	/* The line stays in the caches of all as long as nothing changes. */
	if (atomic_load_explicit(cpu, memory_order_relaxed) != now)
		atomic_store_explicit(cpu, now, memory_order_relaxed);
}

static inline int coll_shares_cpu(const struct coll_segment *seg, int rank)
{
	return atomic_load_explicit(&coll_bell(seg, rank)->cpu, memory_order_relaxed) ==
	       atomic_load_explicit(&coll_bell(seg, seg->me)->cpu, memory_order_relaxed);
}

#endif
