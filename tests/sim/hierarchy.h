/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Caches and TLBs of all CPUs: what a load costs, and what it does to them.
 * Lines are known by their place in the pool, whatever frame it has: the pool
 * has no frame twice. Frames decide only on sets.
 */
#ifndef TESTS_SIM_HIERARCHY_H
#define TESTS_SIM_HIERARCHY_H

#include "../../lib/rng.h"
#include "index.h"
#include "journal.h"
#include "prefetch.h"
#include "store.h"
#include "trace.h"

struct hierarchy;
struct walk;

/* What disturbs a CPU, and when next. */
enum event {
	EVENT_GAP,
	EVENT_SLICE,
	EVENT_SPIKE,
	EVENT_EVICTION,
	EVENT_NEIGHBOUR,	/* its share changes */
	EVENT_SIBLING,		/* it used some lines */
	EVENT_DRIFT,
	EVENTS
};

/**
 * struct core - a CPU
 * @h: the machine's caches
 * @cpu: its number
 * @level: its caches, some of them others' as well
 * @tlb: its TLBs
 * @page: page of the last load, + 1
 * @prefetcher: its prefetchers
 * @ns: its time
 * @cycle_ns: of a cycle now
 * @next_ns: when something happens next
 * @event_ns: when each kind does
 * @pauses: gaps and slices so far
 * @trace: what loads do to its time is written down there; NULL: nowhere
 * @walk: the walk that watches for all that happens to the CPU, NULL: none does
 */
struct core {
	struct hierarchy *h;
	unsigned int cpu;
	struct store *level[MACHINE_LEVELS];
	struct store tlb[MACHINE_TLBS];
	uint32_t page;
	struct prefetcher prefetcher;
	double ns, cycle_ns, next_ns;
	double event_ns[EVENTS];
	uint64_t pauses;
	struct trace *trace;
	struct walk *walk;
};

/**
 * struct hierarchy - all caches
 * @model: what they are
 * @n: levels
 * @top: level into which prefetchers fetch
 * @shift: of a place, to its line in each level
 * @page_shift: of a place, to its page
 * @index: of each level
 * @cost: cycles of a hit, by level and slice
 * @store: of each level, by CPU over those that share; NULL: never used
 * @core: by number, NULL: never used
 * @active: those that were used, @nactive
 * @base: what each chunk's frame contributes to each index
 * @share: of the neighbour, now
 * @memory_ns: when the memory is free again
 * @rng: of everything random
 * @loads: so far
 * @journal: of all sets
 */
struct hierarchy {
	const struct machine_model *model;
	unsigned int n, top;
	unsigned int shift[MACHINE_LEVELS], page_shift;
	struct index index[MACHINE_LEVELS];
	double *cost[MACHINE_LEVELS];
	struct store **store[MACHINE_LEVELS];
	struct core **core;
	struct core **active;
	unsigned int nactive;
	uint32_t *base;
	size_t chunks;
	double share;
	double memory_ns;
	struct sonde_rng rng;
	uint64_t loads;
	struct journal journal;
};

/* 0, -ENOMEM, -EINVAL. @model must live as long. */
int hierarchy_open(struct hierarchy *h, const struct machine_model *model, uint64_t seed);
void hierarchy_close(struct hierarchy *h);

/* A pool of @n chunks with these frames; caches forget what was there. 0, -ENOMEM. */
int hierarchy_pool(struct hierarchy *h, const uint32_t *frame, size_t n);

/* The CPU of that number. NULL: no memory. */
struct core *hierarchy_core(struct hierarchy *h, unsigned int cpu);

/* A load: core cycles. */
double hierarchy_load(struct core *c, uint32_t place);

/* The CPU has written to @place: nobody else has the line in caches of its own. */
void hierarchy_own(struct core *c, uint32_t place);

/* The line of @place leaves all levels of all CPUs: in each the one that it has there. */
void hierarchy_flush(struct hierarchy *h, uint32_t place);

/* Fetch the line of @place, if it is not there, into level @top. */
void hierarchy_prefetch(struct core *c, uint32_t place, unsigned int top);

/* Somebody else's lines replace @n of level @i, anywhere. */
void hierarchy_disturb(struct core *c, unsigned int i, size_t n);

/* Somebody else's load of that line of theirs, from the first level on. */
void hierarchy_use_foreign(struct core *c, size_t line);

/* Cycles until a line is there that is wanted @cycles after @ns. */
static inline double hierarchy_wait(double ready_ns, double ns, double cycle_ns, double cycles)
{
	double wait = (ready_ns - ns) / cycle_ns - cycles;

	return wait > 0 ? wait : 0;
}

/* Uniform on 0 to 1. */
static inline double hierarchy_chance(struct hierarchy *h)
{
	return (double)(sonde_rng_next(&h->rng) >> 11) * 0x1p-53;
}

#endif
