/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of geometry share: a small machine, and what is found of it. */
#ifndef SONDE_TESTS_GEOMETRY_MACHINE_H
#define SONDE_TESTS_GEOMETRY_MACHINE_H

#include <stdlib.h>
#include <string.h>

#include "../../lib/probe/geometry.h"
#include "../sim/machine.h"
#include "tap.h"

#define KIB	1024UL
#define MIB	(1024 * KIB)
#define POOL	(64 * MIB)

static struct machine_model model;
static struct geometry *g;

/* A small machine of three levels, so that a test takes a second. */
static inline void make_machine(void)
{
	model = (struct machine_model){
		.cache = {
			{ .bytes = 32 * KIB, .ways = 8, .policy = POLICY_PLRU, .cycles = 4 },
			{ .bytes = 256 * KIB, .ways = 8, .cycles = 12 },
			{ .bytes = 3 * MIB, .ways = 12, .cycles = 40,
			  .index = INDEX_SLICED, .slices = 4 },
		},
		.memory_cycles = 250,
		.tlb = { { 64, 4, 7 }, { 1024, 8, 20 } },
		.prefetch = PREFETCH_NEXT | PREFETCH_PAIR | PREFETCH_STREAM | PREFETCH_STRIDE,
		.ghz = 3, .tick_ghz = 2.6, .max_bytes = 512 * MIB,
	};
	g = calloc(1, sizeof(*g));
	ck_assert_ptr_nonnull(g);
}

static inline void drop_machine(void)
{
	free(g);
}

static inline void find_levels(unsigned int levels, size_t bytes, uint64_t seed)
{
	struct meter *meter;
	struct trial t;

	ck_assert_int_eq(machine_open(&meter, &model, seed), 0);
	trial_open(&t, meter, seed);
	ck_assert_int_eq(geometry_find(&t, bytes, levels, g), 0);
	trial_close(&t);
	meter->ops->close(meter);
}

static inline void find_in(size_t bytes, uint64_t seed)
{
	find_levels(0, bytes, seed);
}

static inline void find(uint64_t seed)
{
	find_in(POOL, seed);
}

static inline void assert_level(size_t i, size_t size, unsigned int ways, unsigned int line)
{
	ck_assert_uint_gt(g->nlevels, i);
	ck_assert_uint_eq(g->level[i].size, size);
	ck_assert_uint_eq(g->level[i].survey.ways, ways);
	ck_assert_uint_eq(g->level[i].survey.line, line);
	ck_assert_double_ge(g->level[i].confidence, 0.95);
}

static inline void make_small_level(enum machine_policy policy, unsigned int prefetch,
				    unsigned int line)
{
	model.cache[1] = (struct machine_cache){
		.bytes = 256 * KIB, .ways = 8, .cycles = 12, .policy = policy, .line = line,
	};
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	model.prefetch = prefetch;
}

#endif
