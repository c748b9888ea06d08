// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "index.h"

/* Bits of the index from this one on are mixed where there is a matrix. */
#define MIXED_FROM	4
/* Bits above the index that each of those is mixed with. */
#define MIXED_WITH	3

static unsigned int log2_of(uint64_t x)
{
	return 63 - (unsigned int)__builtin_clzll(x);
}

static int is_power(uint64_t x)
{
	return x && !(x & (x - 1));
}

static uint64_t random_bits(struct sonde_rng *rng, unsigned int from, unsigned int to)
{
	uint64_t mask = (1ULL << to) - (1ULL << from);

	return sonde_rng_next(rng) & mask;
}

static void rows_of_bits(struct index *x, uint32_t sets)
{
	x->nrows = log2_of(sets);
	for (unsigned int i = 0; i < x->nrows; i++)
		x->row[i] = 1ULL << i;
}

/*
 * The lowest bits as they are, as in every processor that was looked at; the
 * others mixed with bits above the index, which keeps it even.
 */
static void mix_rows(struct index *x, unsigned int bits, struct sonde_rng *rng)
{
	for (unsigned int i = MIXED_FROM; i < x->nrows; i++)
		for (unsigned int j = 0; j < MIXED_WITH; j++)
			x->row[i] ^= 1ULL << (x->nrows + sonde_rng_below(rng, bits - x->nrows));
}

/* Rank of the rows @row[0..@n), of which only the bits in @mask count. */
static unsigned int rank_of(const uint64_t *row, unsigned int n, uint64_t mask)
{
	uint64_t basis[64] = { 0 }, r;
	unsigned int rank = 0;

	for (unsigned int i = 0; i < n; i++) {
		for (r = row[i] & mask; r; r ^= basis[log2_of(r)]) {
			if (!basis[log2_of(r)]) {
				basis[log2_of(r)] = r;
				rank++;
				break;
			}
		}
	}
	return rank;
}

/*
 * Half of all bits fold into each bit of the hash. It is even in every set of a
 * slice if the bits above the set are enough to make all of its values.
 */
static int rows_of_slices(struct index *x, unsigned int bits, struct sonde_rng *rng)
{
	uint64_t above = ~((1ULL << log2_of(x->a_slice)) - 1);

	if (!is_power(x->a_slice) || x->a_slice > 1 << 16 || x->slices > 1 << INDEX_HASH_BITS ||
	    log2_of(x->a_slice) + INDEX_HASH_BITS > bits)
		return -EINVAL;
	rows_of_bits(x, x->a_slice);
	x->nrows = 16 + INDEX_HASH_BITS;
	do {
		for (unsigned int i = 16; i < x->nrows; i++)
			x->row[i] = random_bits(rng, 0, bits);
	} while (rank_of(x->row + 16, INDEX_HASH_BITS, above) < INDEX_HASH_BITS);
	return 0;
}

static uint32_t multiply(const struct index *x, uint64_t line)
{
	uint32_t result = 0;

	if (x->is_modulo)
		return (uint32_t)(line % x->sets);
	for (unsigned int i = 0; i < x->nrows; i++)
		result |= (uint32_t)__builtin_parityll(line & x->row[i]) << i;
	return result;
}

uint32_t index_base(const struct index *x, uint32_t frame)
{
	return multiply(x, (uint64_t)frame * METER_CHUNK >> x->shift);
}

int index_open(struct index *x, const struct machine_cache *c, struct sonde_rng *rng)
{
	unsigned int line = c->line ? c->line : METER_LINE, bits;
	size_t sets = c->bytes / line / (c->ways ? c->ways : 1);

	*x = (struct index){ .slices = 1 };
	if (!is_power(line) || line < METER_PLACE || line > METER_CHUNK || !c->ways || !sets ||
	    sets > INT32_MAX || sets * line * c->ways != c->bytes)
		return -EINVAL;
	x->shift = log2_of(line);
	x->sets = (uint32_t)sets;
	x->a_slice = x->sets;
	bits = FRAME_BITS + log2_of(METER_CHUNK) - x->shift;
	if (c->index == INDEX_SLICED && c->slices > 1) {
		if (sets % c->slices)
			return -EINVAL;
		x->slices = c->slices;
		x->a_slice = x->sets / c->slices;
		if (rows_of_slices(x, bits, rng))
			return -EINVAL;
	} else if (is_power(sets)) {
		rows_of_bits(x, x->sets);
		if (c->index == INDEX_XOR)
			mix_rows(x, bits, rng);
	} else {
		x->is_modulo = 1;
	}
	for (uint32_t p = 0; p < METER_CHUNK_PLACES; p++)
		x->within[p] = multiply(x, p * METER_PLACE >> x->shift);
	return 0;
}
