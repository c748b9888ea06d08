// SPDX-License-Identifier: LGPL-2.1-or-later
/* A compare is a mask; vpcompressb and vpexpandb pack (VBMI2). */
#ifdef __x86_64__
#include <immintrin.h>

#include "variants.h"

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vbmi2,bmi2,popcnt")))

static TARGET size_t scan(const uint8_t *page, const uint8_t *twin, size_t unit, uint64_t *masks)
{
	size_t bytes = 0;

	for (size_t at = 0; at < unit; at += DSM_BLOCK) {
		uint64_t mask = _mm512_cmpneq_epi8_mask(_mm512_loadu_si512(page + at),
							_mm512_loadu_si512(twin + at));

		masks[at / DSM_BLOCK] = mask;
		bytes += (size_t)__builtin_popcountll(mask);
	}
	return bytes;
}

/* Compressed in a register and stored whole: stores of vpcompressb are slow. */
static TARGET uint8_t *pack(uint8_t *out, const uint8_t *block, uint64_t mask)
{
	_mm512_storeu_si512(out, _mm512_maskz_compress_epi8(mask, _mm512_loadu_si512(block)));
	return out + __builtin_popcountll(mask);
}

static TARGET const uint8_t *unpack(uint8_t *block, uint64_t mask, const uint8_t *in)
{
	unsigned int bytes = (unsigned int)__builtin_popcountll(mask);
	__m512i v = _mm512_maskz_loadu_epi8(_bzhi_u64(~0ull, bytes), in);

	_mm512_mask_storeu_epi8(block, mask, _mm512_maskz_expand_epi8(mask, v));
	return in + bytes;
}

const struct dsm_diff_ops dsm_diff_avx512 = {
	.name = "avx512",
	.scan = scan,
	.pack = pack,
	.unpack = unpack,
};
#endif
