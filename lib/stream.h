/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Loops that use as much of the memory's bandwidth as a core can, and the seam's
 * question for several of them at once.
 */
#ifndef SONDE_LIB_STREAM_H
#define SONDE_LIB_STREAM_H

#include <sonde/memory.h>
#include "meter.h"

/* Bytes of a window, those of all arrays together: 20 to 800 microseconds. A
 * multiple of STREAM_PIECE. */
#define STREAM_WINDOW	((size_t)768 << 10)
/* Bytes between two looks at the others, likewise; divisible by 1, 2 and 3 into
 * multiples of STREAM_STEP. */
#define STREAM_PIECE	((size_t)48 << 10)
/* What a turn of any loop takes of an array: eight of the longest vectors. */
#define STREAM_STEP	((size_t)512)
/* Loads of a window of STREAM_CHASE. */
#define STREAM_LOADS	1024

/* Beside those of enum sonde_stream: dependent loads. */
#define STREAM_CHASE	((enum sonde_stream)SONDE_STREAMS)

/**
 * struct meter_stream - what one CPU does to its own memory while others do the
 * same to theirs
 * @cpu: where
 * @kind: what
 * @node: NUMA node of the memory; -1: the CPU's own
 * @pages: what the memory is made of
 * @bytes: how much; it is gone through in turn, also from one call to the next
 * @pause_ns: nanoseconds without any load after every STREAM_PIECE
 * @out: @nout windows of STREAM_WINDOW bytes, or of STREAM_LOADS loads; .chain is 0
 * @nout: how many
 */
struct meter_stream {
	unsigned int cpu;
	enum sonde_stream kind;
	int node;
	enum sonde_pages pages;
	size_t bytes;
	unsigned int pause_ns;
	struct meter_window *out;
	size_t nout;
};

/* @bytes of each array: to @to, from @from and @also where the kind has them. */
typedef void stream_loop(char *to, const char *from, const char *also, size_t bytes);

enum stream_vectors {
	VECTORS_NONE,
	VECTORS_SSE2,
	VECTORS_AVX2,
	VECTORS_AVX512,
	VECTORS_NEON,
	VECTORS
};

/* "plain C", "AVX-512"...; NULL if there is no such number. */
const char *stream_vectors_name(unsigned int vectors);

/**
 * struct stream_loops - loops for one kind of vectors
 * @vectors: which
 * @run: by enum sonde_stream; NULL where the processor has none
 */
struct stream_loops {
	enum stream_vectors vectors;
	stream_loop *run[SONDE_STREAMS];
};

/* The best for this processor. */
const struct stream_loops *stream_choose(void);

/* All that this processor can run, best first, to @out. Return: how many. */
#define STREAM_LOOPS	4
size_t stream_list(const struct stream_loops *out[STREAM_LOOPS]);

/* How many arrays, each a part of the memory. */
static inline size_t stream_arrays(enum sonde_stream kind)
{
	return kind == SONDE_STREAM_TRIAD ? 3 : kind == SONDE_STREAM_COPY ? 2 : 1;
}

/* stream_x86.c: those that the processor has, best first. */
size_t stream_list_x86(const struct stream_loops **out);

#endif
