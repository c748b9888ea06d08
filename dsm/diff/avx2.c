// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * 64 bytes in two compares; packing by pext, eight bytes at a time. (Zen before
 * its third edition has a slow pext: the scan is what counts there.) Unpacking is
 * as without: a pdep would write the bytes between as well.
 */
#ifdef __x86_64__
#include <immintrin.h>
#include <string.h>

#include "variants.h"

#define TARGET __attribute__((target("avx2,bmi2,popcnt")))

static inline TARGET uint64_t equal32(const uint8_t *a, const uint8_t *b)
{
	__m256i x = _mm256_loadu_si256((const __m256i_u *)a);
	__m256i y = _mm256_loadu_si256((const __m256i_u *)b);

	return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, y));
}

static TARGET size_t scan(const uint8_t *page, const uint8_t *twin, size_t unit, uint64_t *masks)
{
	size_t bytes = 0;

	for (size_t at = 0; at < unit; at += DSM_BLOCK) {
		uint64_t mask = ~(equal32(page + at, twin + at) |
				  equal32(page + at + 32, twin + at + 32) << 32);

		masks[at / DSM_BLOCK] = mask;
		bytes += (size_t)__builtin_popcountll(mask);
	}
	return bytes;
}

/* Eight bits to eight bytes of all ones. */
static inline TARGET uint64_t spread(uint64_t bits)
{
	return _pdep_u64(bits, 0x0101010101010101) * 0xff;
}

static TARGET uint8_t *pack(uint8_t *out, const uint8_t *block, uint64_t mask)
{
	for (; mask; mask >>= 8, block += 8) {
		uint64_t v;

		memcpy(&v, block, 8);
		v = _pext_u64(v, spread(mask & 0xff));
		memcpy(out, &v, 8);
		out += __builtin_popcountll(mask & 0xff);
	}
	return out;
}

const struct dsm_diff_ops dsm_diff_avx2 = {
	.name = "avx2",
	.scan = scan,
	.pack = pack,
	.unpack = dsm_diff_unpack_runs,
};
#endif
