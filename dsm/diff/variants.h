/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One file for each instruction set; variants.c has the list. */
#ifndef SONDE_DSM_DIFF_VARIANTS_H
#define SONDE_DSM_DIFF_VARIANTS_H

#include <string.h>

#include "diff.h"

static inline uint64_t get_le64(const uint8_t *in)
{
	uint64_t v;

	memcpy(&v, in, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

extern const struct dsm_diff_ops dsm_diff_scalar;
const uint8_t *dsm_diff_unpack_runs(uint8_t *block, uint64_t mask, const uint8_t *in);
#ifdef __x86_64__
extern const struct dsm_diff_ops dsm_diff_avx2, dsm_diff_avx512;
#endif

#endif
