// SPDX-License-Identifier: GPL-2.0-or-later
#include "../../lib/probe/shuffle.h"
#include "index.h"
#include "pagemap.h"

#define RUN_BITS	10	/* the longest run of a buddy allocator: 4 MiB */
#define HUGE_BITS	9
#define ROUNDS		4

/*
 * A permutation of the numbers of @bits bits: a Feistel network with halves that
 * may differ by one bit. No table, and any part of it can be had alone.
 */
static uint32_t permute(uint32_t x, unsigned int bits, uint64_t seed)
{
	unsigned int low = bits / 2, high = bits - low, t;
	uint32_t l = x >> low, r = x & ((1U << low) - 1), mixed;
	uint64_t state;

	for (unsigned int i = 0; i < 2 * ROUNDS; i++) {
		state = seed + ((uint64_t)i << 56) + r;
		mixed = (uint32_t)sonde_rng_splitmix(&state) & ((1U << high) - 1);
		mixed ^= l;
		l = r;
		r = mixed;
		t = low;
		low = high;
		high = t;
	}
	return l << low | r;
}

/* Aligned blocks of the largest order, each in pieces of one order, these in any order. */
static void fill_runs(uint32_t *frame, size_t n, uint64_t seed)
{
	uint32_t piece[1 << RUN_BITS], block = 0, order = 0;
	struct sonde_rng rng;

	sonde_rng_seed(&rng, seed);
	for (size_t i = 0; i < n; i++) {
		uint32_t at = i & ((1 << RUN_BITS) - 1);

		if (!at) {
			block = permute((uint32_t)(i >> RUN_BITS), FRAME_BITS - RUN_BITS, seed);
			order = (uint32_t)sonde_rng_below(&rng, RUN_BITS + 1);
			for (uint32_t j = 0; j < 1U << (RUN_BITS - order); j++)
				piece[j] = j;
			shuffle(&rng, piece, (size_t)1 << (RUN_BITS - order));
		}
		frame[i] = block << RUN_BITS | piece[at >> order] << order |
			   (at & ((1U << order) - 1));
	}
}

static void fill_colours(uint32_t *frame, size_t n, unsigned int colours, uint64_t seed)
{
	unsigned int bits = 31 - (unsigned int)__builtin_clz(colours);

	for (size_t i = 0; i < n; i++)
		frame[i] = permute((uint32_t)(i >> bits), FRAME_BITS - bits, seed) << bits |
			   (i & ((1U << bits) - 1));
}

void pagemap_fill(uint32_t *frame, size_t n, enum machine_map map, unsigned int colours,
		  uint64_t seed)
{
	uint32_t first = permute(0, FRAME_BITS - 1, seed);

	switch (map) {
	case MAP_CONTIGUOUS:
		for (size_t i = 0; i < n; i++)
			frame[i] = first + (uint32_t)i;
		break;
	case MAP_BUDDY:
		fill_runs(frame, n, seed);
		break;
	case MAP_COLOURED:
		fill_colours(frame, n, colours ? colours : 1, seed);
		break;
	case MAP_HUGE:
		fill_colours(frame, n, 1U << HUGE_BITS, seed);
		break;
	default:
		fill_colours(frame, n, 1, seed);
	}
}
