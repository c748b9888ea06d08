// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../meter.h"
#include "ring.h"
#include "shuffle.h"

/*
 * Line @i in the order of one page, by a permutation of the page's pairs of
 * lines that @key picks. It must be the same in each sweep without being kept
 * for all pages, hence arithmetic: two rounds of multiply and add with odd
 * factors and a shift, each a bijection of 0..31, so that the lines of a sweep
 * are not evenly spaced. The lines of an aligned pair are half a turn apart:
 * fetching one brings the other on many processors.
 */
static uint32_t pick_line(uint64_t key, uint32_t i)
{
	const uint32_t half = METER_CHUNK_LINES / 2;
	uint32_t pair = i % half;
	uint32_t side = (uint32_t)(key >> (32 + pair)) & 1;

	pair = (pair * ((uint32_t)key | 1) + (uint32_t)(key >> 5)) % half;
	pair ^= pair >> 3;
	pair = (pair * ((uint32_t)(key >> 10) | 1) + (uint32_t)(key >> 15)) % half;
	return 2 * pair + (i < half ? side : !side);
}

static void visit_page(uint64_t turn, uint32_t chunk, unsigned int sweep, uint32_t *out)
{
	uint64_t state = turn + chunk, key = sonde_rng_splitmix(&state);

	for (uint32_t i = 0; i < RING_VISIT; i++)
		out[i] = chunk * METER_CHUNK_LINES + pick_line(key, sweep * RING_VISIT + i);
}

void ring_sweeps(struct sonde_rng *rng, const uint32_t *chunks, size_t n, uint32_t *lines)
{
	uint64_t turn = sonde_rng_next(rng);
	size_t group;

	for (unsigned int sweep = 0; sweep < METER_CHUNK_LINES / RING_VISIT; sweep++) {
		for (size_t at = 0; at < n; at += group) {
			group = n - at < RING_GROUP ? n - at : RING_GROUP;
			for (size_t i = 0; i < group; i++)
				visit_page(turn, chunks[at + i], sweep, lines + i * RING_VISIT);
			shuffle(rng, lines, group * RING_VISIT);
			lines += group * RING_VISIT;
		}
	}
}

void ring_one_a_page(struct sonde_rng *rng, const uint32_t *chunks, size_t n, uint32_t *lines)
{
	for (size_t i = 0; i < n; i++)
		lines[i] = chunks[i] * METER_CHUNK_LINES + (uint32_t)(i % METER_CHUNK_LINES);
	shuffle(rng, lines, n);
}
