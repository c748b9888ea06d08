/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The meter seam: what a probe may do to a machine, in batches. A probe sees
 * only this; the loops that are timed are behind it, so the same probe runs on
 * this machine and on a simulated one. A call a load would change what is
 * measured, so a call stands for thousands.
 *
 * Memory is a pool of chunks of 4 KiB, the finest grain at which the operating
 * system places memory; places in it are numbered from 0, 16 bytes each, half of
 * the shortest line known. Both are units of addressing, not claims about the
 * machine. The pool is contiguous in virtual addresses and starts at a multiple
 * of METER_ALIGN, so a first level that is indexed virtually can be filled.
 */
#ifndef SONDE_LIB_METER_H
#define SONDE_LIB_METER_H

#include <stddef.h>
#include <stdint.h>
#include <sonde/clock.h>
#include <sonde/probe.h>

#define METER_PLACE	16
#define METER_LINE	64
#define METER_CHUNK	4096
#define METER_ALIGN	(2UL << 20)
#define METER_CHUNK_LINES (METER_CHUNK / METER_LINE)
#define METER_LINE_PLACES (METER_LINE / METER_PLACE)
#define METER_CHUNK_PLACES (METER_CHUNK / METER_PLACE)

/* The place so many bytes from the begin of a chunk. */
static inline uint32_t meter_place(uint32_t chunk, uint32_t bytes)
{
	return chunk * METER_CHUNK_PLACES + bytes / METER_PLACE;
}

struct meter;
struct meter_stream;

/**
 * struct meter_window - one timed stretch of a chase
 * @ticks: clock ticks of the stretch, the clock's own cost subtracted
 * @chain: clock ticks of meter.chain_cycles core cycles, timed just before it or, beside
 *         several short ones, some microseconds
 * @begin: the clock at the stretch's begin, the same clock on every CPU
 */
struct meter_window {
	uint64_t ticks;
	uint64_t chain;
	uint64_t begin;
};

/**
 * struct meter_lane - what one CPU does while others do the same
 * @cpu: where
 * @places: @n places that are made one cycle, none of another lane
 * @n: how many
 * @skip: loads untimed before the start
 * @steps: loads of a window, any number; unrolled by METER_UNROLL
 * @out: @nout windows
 * @nout: how many
 */
struct meter_lane {
	unsigned int cpu;
	const uint32_t *places;
	size_t n;
	uint64_t skip;
	unsigned int steps;
	struct meter_window *out;
	size_t nout;
};

/**
 * struct meter_ops - one machine
 * @pages: have @chunks chunks of memory, each with a frame; drops what was there.
 *         0, -ENOMEM
 * @frames: frame numbers (of METER_CHUNK bytes) of the @n chunks from @first on.
 *          0, -EPERM (not told to this process), -EOPNOTSUPP
 * @link: make the places @places[0..@n) one cycle in this order. Every place is
 *        written, in order
 * @chase: go on along the cycle: @skip loads untimed, then @nout windows of
 *         @steps loads (any number), back to back but for the
 *         chain between them
 * @flush: have the lines of the @n places leave all caches, of every CPU and every
 *         level; each level's own line. 0, -EOPNOTSUPP (the processor has nothing for it)
 * @move: go on on CPU @cpu: link and chase run there from now on. What this CPU
 *        has cached stays as it is but for some lines. 0, -EPERM (may not run
 *        there), -EINVAL (no such CPU)
 * @settle: go on on CPU @cpu as if the machine had been opened there, and not together
 *          with who opened it, as after @move. 0, -EPERM, -EINVAL
 * @together: run the lanes at the same time, each on its CPU, from a common
 *            start. Each links its cycle, goes @skip loads, waits for the
 *            others, then takes its windows without pause; goes on untimed until
 *            all are done, so that every window was taken against the others'
 *            load. Proof of overlap is @begin of the windows. 0, -EPERM,
 *            -EINVAL, -ENOMEM, -EAGAIN (the lanes did not come together in time)
 * @stream: as together, but each lane goes through memory of its own as fast as it
 *          can; see stream.h. Also -EOPNOTSUPP (no such memory, or no such loop
 *          here). NULL: not with this meter
 * @rest: do nothing for @seconds, so that whoever shares the machine may see that
 * @gaps: how often a second something takes the CPU away, watched for @seconds
 * @now: seconds since some moment
 * @close: free everything, also @m
 */
struct meter_ops {
	int (*pages)(struct meter *m, size_t chunks);
	int (*frames)(struct meter *m, size_t first, size_t n, uint64_t *out);
	void (*link)(struct meter *m, const uint32_t *places, size_t n);
	void (*chase)(struct meter *m, uint64_t skip, unsigned int steps,
		      struct meter_window *out, size_t nout);
	int (*flush)(struct meter *m, const uint32_t *places, size_t n);
	int (*move)(struct meter *m, unsigned int cpu);
	int (*settle)(struct meter *m, unsigned int cpu);
	int (*together)(struct meter *m, const struct meter_lane *lanes, size_t nlanes);
	int (*stream)(struct meter *m, const struct meter_stream *lanes, size_t nlanes);
	void (*rest)(struct meter *m, double seconds);
	double (*gaps)(struct meter *m, double seconds);
	double (*now)(struct meter *m);
	void (*close)(struct meter *m);
};

#define METER_UNROLL	16

/**
 * struct meter - a machine to measure
 * @ops: how
 * @page_size: bytes of a page, a multiple of METER_CHUNK
 * @max_bytes: most memory that may be asked for
 * @chain_cycles: core cycles that meter_window.chain stands for
 * @tick_ns: nanoseconds of a tick
 * @is_guest: whether other guests of the same host may use its shared caches
 * @vectors: those of the loops of @stream, see stream_vectors_name()
 */
struct meter {
	const struct meter_ops *ops;
	size_t page_size;
	size_t max_bytes;
	double chain_cycles;
	double tick_ns;
	int is_guest;
	unsigned int vectors;
};

/*
 * This machine, by loops in user space, on one CPU: the calling thread is bound
 * to it, or to where it settles, until close(). 0, -ENOMEM, -EPERM (may not run there), -EINVAL.
 */
int meter_user_open(struct meter **m, const struct sonde_clock *clk, unsigned int cpu);

/* That, or meter_module_open(). -EINVAL: no such kind. */
int meter_open(struct meter **m, enum sonde_meter kind, const struct sonde_clock *clk,
	       unsigned int cpu);

#endif
