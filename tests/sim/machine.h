/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A simulated machine behind the meter seam: caches, a TLB, page frames, a
 * prefetcher and a noisy clock, all known, so that a probe's answer can be held
 * against the truth. Time is virtual: the same seed gives the same run anywhere.
 */
#ifndef TESTS_SIM_MACHINE_H
#define TESTS_SIM_MACHINE_H

#include "../../lib/meter.h"

#define MACHINE_LEVELS	4

enum machine_policy {
	POLICY_LRU,
	POLICY_PLRU,	/* a tree of bits; ways a power of two */
	POLICY_RANDOM,
};

/**
 * struct machine_cache - one level
 * @bytes: size, 0 for no such level
 * @ways: associativity
 * @policy: what is replaced
 * @cycles: latency of a hit, from the core
 */
struct machine_cache {
	size_t bytes;
	unsigned int ways;
	enum machine_policy policy;
	double cycles;
};

/**
 * struct machine_model - a whole machine
 * @cache: levels, nearest first; the first is indexed virtually
 * @memory_cycles: latency of memory
 * @tlb_pages: entries of the TLB, a multiple of 4; 0 for one that never misses
 * @tlb_cycles: what a TLB miss costs
 * @pair_prefetch: whether a miss fetches the other line of the pair too
 * @contiguous: whether pages that follow each other do so in memory as well
 * @ghz: core clock; the tick is a nanosecond over @tick_ghz
 * @tick_ghz: counter clock
 * @gaps: pauses of 20 microseconds a second, at random
 * @max_bytes: memory
 */
struct machine_model {
	struct machine_cache cache[MACHINE_LEVELS];
	double memory_cycles;
	unsigned int tlb_pages;
	double tlb_cycles;
	int pair_prefetch;
	int contiguous;
	double ghz, tick_ghz;
	double gaps;
	size_t max_bytes;
};

/* 0, -ENOMEM. Close through the ops. */
int machine_open(struct meter **m, const struct machine_model *model, uint64_t seed);

#endif
