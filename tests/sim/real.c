// SPDX-License-Identifier: GPL-2.0-or-later
#include "real.h"

#define KIB	1024UL
#define MIB	(1024 * KIB)

/*
 * Of the policies here only this one of the second level gives the cost of K
 * lines of one set that was measured, for all K. Eight slices of the third show
 * as latencies by line offset, 42 to 56 cycles. Index bits 10 and 11 of the
 * second level are hashed with upper ones, those below are not.
 */
const struct machine_model real_turin = {
	.cache = {
		{ .bytes = 48 * KIB, .ways = 12, .policy = POLICY_LRU, .cycles = 4 },
		{ .bytes = 1 * MIB, .ways = 16, .policy = POLICY_QLRU_H00_M1_R2_U1, .cycles = 14,
		  .index = INDEX_XOR },
		{ .bytes = 32 * MIB, .ways = 16, .policy = POLICY_SRRIP, .cycles = 48,
		  .index = INDEX_SLICED, .slices = 8, .spread = 14, .inclusion = EXCLUSIVE,
		  .shared = 2 },
	},
	.memory_cycles = 580,
	.snoop_cycles = 10,
	.tlb = { { 96, 0, 7 }, { 4096, 16, 25 } },
	.prefetch = PREFETCH_ALL,
	.frames = FRAMES_GUEST,
	.is_guest = 1,
	.ghz = 4.2,
	.tick_ghz = 2.6,
	.tick_step = 26,
	.cpus = 2,
	.max_bytes = 4UL << 30,
};

const struct machine_model real_emerald_rapids = {
	.cache = {
		{ .bytes = 48 * KIB, .ways = 12, .policy = POLICY_LRU, .cycles = 5 },
		{ .bytes = 2 * MIB, .ways = 16, .policy = POLICY_QLRU_H00_M1_R2_U1, .cycles = 16 },
		{ .bytes = 300 * MIB, .ways = 20, .policy = POLICY_SRRIP, .cycles = 105,
		  .index = INDEX_SLICED, .slices = 60, .spread = 20, .shared = 2 },
	},
	.memory_cycles = 390,
	.tlb = { { 96, 6, 7 }, { 2048, 16, 30 } },
	.prefetch = PREFETCH_ALL,
	.frames = FRAMES_GUEST,
	.is_guest = 1,
	.ghz = 3,
	.tick_ghz = 2,
	.cpus = 2,
	.max_bytes = 4UL << 30,
};
