/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stream - a copy whose stores go past the cache
 *
 * A store to a line that another processor has read must first take it back; a store
 * past the cache needs only to invalidate it, and does not wait. What is written is
 * not in this processor's cache then. Stores of SSE2, which every x86-64 has (Intel
 * SDM, volume 1, section 10.4.6.2).
 */
#ifndef SONDE_COLL_STREAM_H
#define SONDE_COLL_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

#define COLL_CAN_STREAM	1

/*
 * Ordered before all stores that follow it, as those of memcpy() before a release. A
 * function of its own, so that samples tell of it.
 */
static __attribute__((noinline, unused)) void coll_stream(char *to, const char *from, size_t len)
{
	const size_t to_line = (size_t)(-(uintptr_t)to & 63), head = to_line < len ? to_line : len;

	memcpy(to, from, head);
	for (to += head, from += head, len -= head; len >= 64; to += 64, from += 64, len -= 64)
		for (int i = 0; i < 4; i++) {
			const __m128i *part = (const __m128i *)(const void *)from + i;

			_mm_stream_si128((__m128i *)(void *)to + i, _mm_loadu_si128(part));
		}
	memcpy(to, from, len);
	/* Partner: the acquire of coll_is_posted(). Release does not order such stores. */
	_mm_sfence();
}
#else
#define COLL_CAN_STREAM	0

static inline void coll_stream(char *to, const char *from, size_t len)
{
	memcpy(to, from, len);
}
#endif

#endif
