/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which set of a cache an address goes to. What the frame contributes is
 * computed once a chunk, what the place in it contributes once a machine, so a
 * load only joins the two.
 */
#ifndef TESTS_SIM_INDEX_H
#define TESTS_SIM_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "../../lib/rng.h"
#include "machine.h"

/* Frames are this many bits: 256 GiB. */
#define FRAME_BITS	26
#define INDEX_HASH_BITS	14
#define INDEX_ROWS	32

/**
 * struct index - a function of addresses
 * @sets: of all slices
 * @slices: how many, 1 unless sliced
 * @a_slice: sets of one
 * @is_modulo: whether parts are added and reduced, rather than XORed
 * @shift: of the line
 * @row: bits of the line's number that make each bit of the result, which is the
 *       set; sliced: the hash in the upper half, the set of a slice in the lower
 * @nrows: how many
 * @within: what each place of a chunk contributes
 */
struct index {
	uint32_t sets, slices, a_slice;
	int is_modulo;
	unsigned int shift;
	uint64_t row[INDEX_ROWS];
	unsigned int nrows;
	uint32_t within[METER_CHUNK_PLACES];
};

/* 0, -EINVAL (this cache cannot be indexed so). */
int index_open(struct index *x, const struct machine_cache *c, struct sonde_rng *rng);

/* What a frame contributes. */
uint32_t index_base(const struct index *x, uint32_t frame);

static inline uint32_t index_slice(const struct index *x, uint32_t base, uint32_t place)
{
	uint32_t hash = (base ^ x->within[place % METER_CHUNK_PLACES]) >> 16;

	return hash * x->slices >> INDEX_HASH_BITS;
}

/* The set of a place whose chunk has @base. */
static inline uint32_t index_set(const struct index *x, uint32_t base, uint32_t place)
{
	uint32_t set, within = x->within[place % METER_CHUNK_PLACES];

	if (x->is_modulo) {
		set = base + within;
		return set < x->sets ? set : set % x->sets;
	}
	if (x->slices == 1)
		return base ^ within;
	return index_slice(x, base, place) * x->a_slice + ((base ^ within) & 0xffff);
}

#endif
