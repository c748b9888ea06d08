/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: probe - measure a machine
 *
 * Probes time memory through the meter seam and say what they found with a
 * confidence. "Cannot be told here" is an answer; a confident wrong value is
 * the only failure. Nothing that firmware claims goes into a result.
 */
#ifndef SONDE_PROBE_H
#define SONDE_PROBE_H

#include <stddef.h>
#include <stdint.h>
#include <sonde/clock.h>
#include <sonde/stats.h>
#include <sonde/topology.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct sonde_cache_options - how to measure caches
 * @cpu: the CPU to measure on; the calling thread is bound to it meanwhile
 * @budget_s: seconds the measurement may take
 * @max_bytes: largest working set, 256 KiB or more; 0: 256 MiB. Half of the free
 *             memory at most
 * @seed: of the permutations: same seed, same walks
 * @progress: called now and then with the done share (0 to 1) and what is being
 *            done; a non-zero return stops the probe with -ECANCELED; may be NULL
 * @progress_ctx: handed to @progress
 */
struct sonde_cache_options {
	unsigned int cpu;
	double budget_s;
	size_t max_bytes;
	uint64_t seed;
	int (*progress)(void *ctx, double done, const char *what);
	void *progress_ctx;
};

/**
 * struct sonde_latency - a latency with its 95 % interval
 * @ns: nanoseconds
 * @cycles: core cycles, by a dependent chain timed beside each sample
 * @cycles_ci: 95 % interval of @cycles
 */
struct sonde_latency {
	double ns;
	double cycles;
	struct sonde_interval cycles_ci;
};

/**
 * struct sonde_cache_point - one size of the latency curve
 * @bytes: the working set
 * @latency: of one dependent load, lower quartile of windows
 * @windows: windows kept
 * @discarded: share of windows thrown away because something interrupted them
 */
struct sonde_cache_point {
	size_t bytes;
	struct sonde_latency latency;
	unsigned int windows;
	double discarded;
};

/**
 * struct sonde_tlb_step - a step in the cost of address translation
 * @pages: base pages that still fit: beyond them, a quarter of the step is done
 * @cycles: core cycles that a load costs more beyond them
 */
struct sonde_tlb_step {
	unsigned int pages;
	double cycles;
};

/**
 * struct sonde_cache_level - one level of cache
 * @level: 1 is nearest to the core
 * @type: SONDE_CACHE_DATA for level 1, SONDE_CACHE_UNIFIED below: a data walk
 *        cannot tell a unified cache from a data cache
 * @size: bytes, the best single value; 0 if it cannot be told here
 * @size_low: bytes, lower end of the interval that holds the size
 * @size_high: bytes, upper end of it
 * @latency: of a hit
 * @confidence: that the size lies within @size_low to @size_high, and that this
 *              is a cache; 0 to 1
 * @ways: associativity, 0 not measured
 * @line: bytes of a line, 0 not measured
 */
struct sonde_cache_level {
	unsigned int level;
	enum sonde_cache_type type;
	uint64_t size, size_low, size_high;
	struct sonde_latency latency;
	double confidence;
	unsigned int ways;
	unsigned int line;
};

/**
 * struct sonde_cache_report - what the probe found
 * @cpu: where
 * @core_hz: core clock during the measurement, median
 * @levels: @nlevels caches, nearest first
 * @memory: latency of a load that misses every cache; .ns is 0 if the sweep
 *          did not reach memory
 * @tlb: @ntlb steps
 * @points: @npoints of the latency curve, by size
 * @elapsed_s: seconds it took
 * @notes: @nnotes sentences on what was lost or is doubtful
 */
struct sonde_cache_report {
	unsigned int cpu;
	double core_hz;
	struct sonde_cache_level *levels;
	size_t nlevels;
	struct sonde_latency memory;
	struct sonde_tlb_step *tlb;
	size_t ntlb;
	struct sonde_cache_point *points;
	size_t npoints;
	double elapsed_s;
	char **notes;
	size_t nnotes;
};

/**
 * sonde_probe_cache() - measure the data caches seen from one CPU
 * @clk: the clock to time with
 * @options: how
 * @report: where the report goes, to be freed with sonde_cache_report_free();
 *          untouched on failure
 *
 * A dependent chase over a random cyclic permutation of the lines of working
 * sets of many sizes (Saavedra and Smith 1995; Servet 2.1 for what follows from
 * physical indexing), timed in short windows.
 *
 * Return: 0, -EINVAL (options), -ENOMEM (not even the smallest sweep fits), -ECANCELED
 * (by @progress), -EPERM (may not run on that CPU).
 *
 * Since: 0.1
 */
int sonde_probe_cache(const struct sonde_clock *clk, const struct sonde_cache_options *options,
		      struct sonde_cache_report **report);

/**
 * sonde_cache_agrees() - hold a claim against a measurement of the same level
 *
 * Return: 1 if the claimed size lies within the measured interval, 0 if not,
 * -ENODATA if no size is claimed or none could be told.
 *
 * Since: 0.1
 */
int sonde_cache_agrees(const struct sonde_cache_level *level,
		       const struct sonde_cache_claim *claim);

/** sonde_cache_report_free() - free; @report may be NULL. Since: 0.1 */
void sonde_cache_report_free(struct sonde_cache_report *report);

#ifdef __cplusplus
}
#endif

#endif
