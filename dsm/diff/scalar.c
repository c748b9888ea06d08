// SPDX-License-Identifier: LGPL-2.1-or-later
/* Words of eight bytes; the masks by arithmetic. What every machine can do. */
#include <string.h>

#include "variants.h"

/* A bit for each byte of @x that is not zero, the lowest byte's first. */
static uint64_t nonzero_bytes(uint64_t x)
{
	const uint64_t low7 = 0x7f7f7f7f7f7f7f7f;

	x = (((x & low7) + low7) | x) & ~low7;
	/* Gathers the top bits: each product of a bit lands in the top byte. */
	return ((x >> 7) * 0x0102040810204080) >> 56;
}

static size_t scan(const uint8_t *page, const uint8_t *twin, size_t unit, uint64_t *masks)
{
	size_t bytes = 0;

	for (size_t at = 0; at < unit; at += DSM_BLOCK) {
		uint64_t x[8], any = 0, mask = 0;

		for (unsigned int i = 0; i < 8; i++) {
			x[i] = get_le64(page + at + 8 * i) ^ get_le64(twin + at + 8 * i);
			any |= x[i];
		}
		for (unsigned int i = 0; any && i < 8; i++)
			mask |= nonzero_bytes(x[i]) << (8 * i);
		masks[at / DSM_BLOCK] = mask;
		bytes += mask ? (size_t)__builtin_popcountll(mask) : 0;
	}
	return bytes;
}

/* The lowest run of ones in @mask, which is not 0; takes it out. */
static unsigned int take_run(uint64_t *mask, unsigned int *start)
{
	uint64_t rest;
	unsigned int len;

	*start = (unsigned int)__builtin_ctzll(*mask);
	rest = ~(*mask >> *start);
	len = rest ? (unsigned int)__builtin_ctzll(rest) : 64;
	*mask = *start + len < 64 ? *mask & ~(uint64_t)0 << (*start + len) : 0;
	return len;
}

static uint8_t *pack(uint8_t *out, const uint8_t *block, uint64_t mask)
{
	while (mask) {
		unsigned int start, len = take_run(&mask, &start);

		memcpy(out, block + start, len);
		out += len;
	}
	return out;
}

/* Not a byte beside is touched: threads of the home may be writing those. */
const uint8_t *dsm_diff_unpack_runs(uint8_t *block, uint64_t mask, const uint8_t *in)
{
	while (mask) {
		unsigned int start, len = take_run(&mask, &start);

		memcpy(block + start, in, len);
		in += len;
	}
	return in;
}

const struct dsm_diff_ops dsm_diff_scalar = {
	.name = "scalar",
	.scan = scan,
	.pack = pack,
	.unpack = dsm_diff_unpack_runs,
};
