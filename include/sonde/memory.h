/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: memory - what CPUs lose when several use the memory at once
 *
 * Servet's characterisation of memory overheads (2.3, figure 5): what one core
 * gets, what each of two gets that run at the same time, groups of pairs that
 * lose alike, and for a representative of each group what 1 to n cores get. In
 * addition every NUMA node and page size, and latency under load. Only windows
 * that are proven to have overlapped count.
 */
#ifndef SONDE_MEMORY_H
#define SONDE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sonde/clock.h>
#include <sonde/probe.h>
#include <sonde/stats.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is done to memory. Bytes are those that the program reads and writes: what
 * a cache reads before it is written to is not counted. */
enum sonde_stream {
	SONDE_STREAM_READ,
	SONDE_STREAM_WRITE,
	SONDE_STREAM_WRITE_NT,	/* stores that go past the caches */
	SONDE_STREAM_COPY,
	SONDE_STREAM_TRIAD,	/* a = b + s * c, as STREAM's */
	SONDE_STREAMS
};

/** sonde_stream_name() - "read", "write", "write-nt", "copy", "triad". Since: 0.1 */
const char *sonde_stream_name(enum sonde_stream kind);

/** sonde_stream_vectors() - the loops this processor gets: "AVX-512", "AVX2",
 * "SSE2", "NEON" or "plain C". Since: 0.1 */
const char *sonde_stream_vectors(void);

enum sonde_pages {
	SONDE_PAGES_BASE,
	SONDE_PAGES_HUGE,	/* transparent ones, verified */
};

/**
 * struct sonde_memory_options - how to measure memory
 * @cpus: @ncpus CPUs, ascending; NULL: all that the calling thread may run on
 * @ncpus: how many
 * @groups: for each CPU, the numbers of the groups that it is claimed to be in, from
 *          the largest to the smallest: @depth of them. Pairs whose smallest
 *          common group is as deep are taken to be alike until measured
 *          otherwise. NULL: no pair is taken to be like another
 * @depth: how many
 * @nodes: @nnodes NUMA nodes whose memory is measured from the first CPU, beside its
 *         own; may be NULL
 * @nnodes: how many
 * @cache_bytes: the largest cache there may be: memory that is walked through is
 *               larger, four times if it can be; 0: 32 MiB
 * @max_bytes: most memory to use; 0: a quarter of the free memory, which is also
 *             the most
 * @seed: of the choice of pairs
 * @all_pairs: measure every pair
 * @progress: as in struct sonde_cache_options
 * @progress_ctx: handed to @progress
 * @recorder: keeps what the probe was told, see sonde/samples.h; may be NULL
 */
struct sonde_memory_options {
	const unsigned int *cpus;
	size_t ncpus;
	const unsigned int *groups;
	size_t depth;
	const unsigned int *nodes;
	size_t nnodes;
	size_t cache_bytes;
	size_t max_bytes;
	uint64_t seed;
	int all_pairs;
	int (*progress)(void *ctx, double done, const char *what);
	void *progress_ctx;
	struct sonde_recorder *recorder;
};

/**
 * struct sonde_memory_rate - a bandwidth
 * @bytes_s: bytes a second, median of rounds; 0 if it could not be measured
 * @ci: its 95 % interval
 * @rounds: how many
 * @discarded: share of windows that were interrupted, or not proven to overlap
 */
struct sonde_memory_rate {
	double bytes_s;
	struct sonde_interval ci;
	unsigned int rounds;
	double discarded;
};

/**
 * struct sonde_memory_reference - what one core gets by itself
 * @kind: what it does
 * @node: NUMA node of the memory; -1: the CPU's own
 * @pages: of the memory
 * @rate: what it gets
 */
struct sonde_memory_reference {
	enum sonde_stream kind;
	int node;
	enum sonde_pages pages;
	struct sonde_memory_rate rate;
};

/**
 * struct sonde_memory_pair - two CPUs that copy at the same time
 * @cpu: the two, ascending
 * @ratio: what each gets of what it gets alone, geometric mean of both; 0 if no
 *         overlap was proven
 * @ci: its 95 % interval
 * @group: its class: index into the report's classes; -1: cannot be told
 * @rounds: how many
 * @discarded: share of windows
 */
struct sonde_memory_pair {
	unsigned int cpu[2];
	double ratio;
	struct sonde_interval ci;
	int group;
	unsigned int rounds;
	double discarded;
};

/**
 * struct sonde_memory_curve - bandwidth by the number of cores
 * @cpus: the first n are those of the point with n cores
 * @ncpus: how many
 * @cores: of each of @npoints points
 * @rate: of all cores of the point together
 */
struct sonde_memory_curve {
	unsigned int *cpus;
	size_t ncpus;
	unsigned int *cores;
	struct sonde_memory_rate *rate;
	size_t npoints;
};

/**
 * struct sonde_memory_class - pairs that lose alike
 * @ratio: median of the pairs
 * @ratio_low: of the pair that loses most
 * @ratio_high: of the pair that loses least
 * @has_overhead: whether it is told from CPUs by themselves
 * @npairs: how many were measured
 * @curve: of a group in which every pair with its first CPU is of this class or
 *         loses more; .npoints is 0 without overhead
 */
struct sonde_memory_class {
	double ratio, ratio_low, ratio_high;
	int has_overhead;
	size_t npairs;
	struct sonde_memory_curve curve;
};

/**
 * struct sonde_memory_load - latency under load
 * @bytes_s: what the other CPUs read, together
 * @latency_ns: of a dependent load of this CPU meanwhile, median
 * @ci: its 95 % interval
 */
struct sonde_memory_load {
	double bytes_s;
	double latency_ns;
	struct sonde_interval ci;
};

/**
 * struct sonde_memory_report - what was found
 * @cpus: @ncpus, ascending
 * @vectors: see sonde_stream_vectors()
 * @buffer_bytes: memory of each core
 * @references: @nreferences, of the first CPU
 * @alone: of each CPU, what it copies by itself
 * @pairs: @npairs that were measured, in their order
 * @classes: @nclasses, those that lose most first
 * @matrix: @ncpus * @ncpus: the class of each two, measured or that of the pairs
 *          they are taken to be like; -1: cannot be told
 * @all: 1 core to all of them
 * @loads: @nloads, the least load first, of the first CPU
 * @load_pages: what its memory was made of
 * @elapsed_s: seconds it took
 * @notes: @nnotes sentences on what was lost or is doubtful
 */
struct sonde_memory_report {
	unsigned int *cpus;
	size_t ncpus;
	const char *vectors;
	size_t buffer_bytes;
	struct sonde_memory_reference *references;
	size_t nreferences;
	struct sonde_memory_rate *alone;
	struct sonde_memory_pair *pairs;
	size_t npairs;
	struct sonde_memory_class *classes;
	size_t nclasses;
	int *matrix;
	struct sonde_memory_curve all;
	struct sonde_memory_load *loads;
	size_t nloads;
	enum sonde_pages load_pages;
	double elapsed_s;
	char **notes;
	size_t nnotes;
};

/**
 * sonde_probe_memory() - measure bandwidth, contention, and latency under load
 * @clk: the clock to time with
 * @options: how
 * @report: where the report goes, to be freed with sonde_memory_report_free();
 *          untouched on failure
 *
 * Return: 0, -EINVAL (options), -ENOMEM (not even the smallest buffers fit),
 * -EPERM (may not run on one of the CPUs), -ECANCELED (by @progress), -EAGAIN
 * (the CPUs are so busy that nothing could be measured).
 *
 * Since: 0.1
 */
int sonde_probe_memory(const struct sonde_clock *clk, const struct sonde_memory_options *options,
		       struct sonde_memory_report **report);

/**
 * sonde_memory_class() - how two CPUs of a report disturb each other
 *
 * Return: the number of their class, measured or that of the pairs they are taken
 * to be like; -ENODATA if that cannot be told. Since: 0.1
 */
int sonde_memory_class(const struct sonde_memory_report *report, unsigned int a, unsigned int b);

/** sonde_memory_report_free() - free; @report may be NULL. Since: 0.1 */
void sonde_memory_report_free(struct sonde_memory_report *report);

#ifdef __cplusplus
}
#endif

#endif
