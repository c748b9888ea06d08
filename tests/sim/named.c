// SPDX-License-Identifier: GPL-2.0-or-later
#include "named.h"

#define KB(n)	((size_t)(n) << 10)
#define MB(n)	((size_t)(n) << 20)

/* Processor, pair, which of the pair. */
static const unsigned char dunnington_place[24] = {
	0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22,
	1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23,
};

const struct machine_model machine_dunnington = {
	.cache = {
		{ .bytes = KB(32), .ways = 8, .cycles = 3 },
		{ .bytes = MB(3), .ways = 12, .cycles = 15, .shared = 2 },
		{ .bytes = MB(12), .ways = 24, .cycles = 60, .shared = 6 },
	},
	.memory_cycles = 300,
	.snoop_cycles = 40,
	.tlb = { { .pages = 256, .cycles = 7 } },
	.map = MAP_RANDOM,
	.ghz = 2.4,
	.tick_ghz = 2.4,
	.cpus = 24,
	.place = dunnington_place,
	.link = { { .gbs = 5 }, { .gbs = 9, .shared = 6 }, { .gbs = 7, .shared = 24 } },
	.max_bytes = MB(256),
};

const struct machine_model machine_finis_terrae = {
	.cache = {
		{ .bytes = KB(16), .ways = 4, .cycles = 2 },
		{ .bytes = KB(256), .ways = 8, .cycles = 6, .line = 128 },
		{ .bytes = MB(9), .ways = 18, .cycles = 14, .line = 128 },
	},
	.memory_cycles = 350,
	.tlb = { { .pages = 128, .cycles = 10 } },
	.map = MAP_RANDOM,
	.ghz = 1.6,
	.tick_ghz = 1.6,
	.cpus = 16,
	.link = { { .gbs = 4 }, { .gbs = 4.4, .shared = 4 }, { .gbs = 6, .shared = 8 } },
	.node_cpus = 8,
	.remote = 0.8,
	.no_huge = 1,
	.max_bytes = MB(256),
};
