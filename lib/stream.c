// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * stream - the loops with vectors as the compiler makes them, and the choice
 *
 * On arm64 the compiler makes NEON of them, which every such processor has.
 */
#include "stream.h"

#define LOOP(name)	name ## _plain
#define TARGET
#define BYTES		16
#include "stream_loops.h"

static const struct stream_loops plain = {
#if defined(__aarch64__)
	.vectors = VECTORS_NEON,
#else
	.vectors = VECTORS_NONE,
#endif
	.run = {
		[SONDE_STREAM_READ] = read_plain,
		[SONDE_STREAM_WRITE] = write_plain,
		[SONDE_STREAM_COPY] = copy_plain,
		[SONDE_STREAM_TRIAD] = triad_plain,
	},
};

size_t stream_list(const struct stream_loops *out[STREAM_LOOPS])
{
	size_t n = stream_list_x86(out);

	out[n++] = &plain;
	return n;
}

const struct stream_loops *stream_choose(void)
{
	const struct stream_loops *loops[STREAM_LOOPS];

	stream_list(loops);
	return loops[0];
}

const char *stream_vectors_name(unsigned int vectors)
{
	static const char *const names[VECTORS] = {
		[VECTORS_NONE] = "plain C",
		[VECTORS_SSE2] = "SSE2",
		[VECTORS_AVX2] = "AVX2",
		[VECTORS_AVX512] = "AVX-512",
		[VECTORS_NEON] = "NEON",
	};

	return vectors < VECTORS ? names[vectors] : NULL;
}

const char *sonde_stream_vectors(void)
{
	return stream_vectors_name(stream_choose()->vectors);
}

const char *sonde_stream_name(enum sonde_stream kind)
{
	static const char *const names[SONDE_STREAMS] = {
		[SONDE_STREAM_READ] = "read",
		[SONDE_STREAM_WRITE] = "write",
		[SONDE_STREAM_WRITE_NT] = "write-nt",
		[SONDE_STREAM_COPY] = "copy",
		[SONDE_STREAM_TRIAD] = "triad",
	};

	return (unsigned int)kind < SONDE_STREAMS ? names[kind] : "unknown";
}
