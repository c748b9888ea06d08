// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * stream_x86 - the loops with the vectors of x86
 *
 * The library is built for every processor of its architecture: which of these
 * runs is decided by what the processor and the kernel say they can do.
 */
#include "stream.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define FENCE()	_mm_sfence()

#define LOOP(name)	name ## _avx512
#define TARGET		__attribute__((target("avx512f")))
#define BYTES		64
#define STORE_NT(to, x)	_mm512_stream_si512((__m512i *)(to), (__m512i)(x))
#include "stream_loops.h"
#undef LOOP
#undef TARGET
#undef BYTES
#undef STORE_NT

#define LOOP(name)	name ## _avx2
#define TARGET		__attribute__((target("avx2")))
#define BYTES		32
#define STORE_NT(to, x)	_mm256_stream_si256((__m256i *)(to), (__m256i)(x))
#include "stream_loops.h"
#undef LOOP
#undef TARGET
#undef BYTES
#undef STORE_NT

#define LOOP(name)	name ## _sse2
#define TARGET		__attribute__((target("sse2")))
#define BYTES		16
#define STORE_NT(to, x)	_mm_stream_si128((__m128i *)(to), (__m128i)(x))
#include "stream_loops.h"

#define LOOPS(suffix) { \
	[SONDE_STREAM_READ] = read_ ## suffix, \
	[SONDE_STREAM_WRITE] = write_ ## suffix, \
	[SONDE_STREAM_WRITE_NT] = write_nt_ ## suffix, \
	[SONDE_STREAM_COPY] = copy_ ## suffix, \
	[SONDE_STREAM_TRIAD] = triad_ ## suffix, \
}

size_t stream_list_x86(const struct stream_loops **out)
{
	static const struct stream_loops avx512 = { VECTORS_AVX512, LOOPS(avx512) };
	static const struct stream_loops avx2 = { VECTORS_AVX2, LOOPS(avx2) };
	static const struct stream_loops sse2 = { VECTORS_SSE2, LOOPS(sse2) };
	size_t n = 0;

	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f"))
		out[n++] = &avx512;
	if (__builtin_cpu_supports("avx2"))
		out[n++] = &avx2;
	out[n++] = &sse2;
	return n;
}

#else

size_t stream_list_x86(const struct stream_loops **out)
{
	(void)out;
	return 0;
}

#endif
