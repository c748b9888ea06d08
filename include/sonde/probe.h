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

struct sonde_recorder;

/* Where the loops that are timed run. */
enum sonde_meter {
	SONDE_METER_USER,	/* in the calling thread */
	SONDE_METER_MODULE,	/* in the kernel: interrupts off, next to no translation */
};

/**
 * sonde_meter_name() - "user space" or "module"
 * @meter: which; of another value "unknown"
 *
 * Return: a constant. Since: 0.1
 */
const char *sonde_meter_name(enum sonde_meter meter);

/**
 * struct sonde_cache_options - how to measure caches
 * @cpu: the CPU to measure on; the calling thread is bound to it meanwhile
 * @alike: @nalike other CPUs with such caches: in a guest, as long as another thread of the
 *         core, of another guest, disturbs, one of the first seven where none does is measured
 *         instead; may be NULL
 * @nalike: how many
 * @meter: where the loops run; with the module memory is reached by huge pages of
 *         the kernel, so that steps of translation are not the process's
 * @budget_s: seconds that the latency curve may take, after the geometry, which
 *            takes what it takes; 0: no curve
 * @max_bytes: largest working set, 256 KiB or more; 0: 192 MiB, and up to 2 GiB for
 *             the sets of a last level that no other guest shares, if less does not
 *             tell them. Half of the free memory at most
 * @levels: only so many are looked for by conflicts, from the first on; 0: all
 * @seed: of the permutations: same seed, same walks
 * @progress: called now and then with the done share (0 to 1) and what is being
 *            done; a non-zero return stops the probe with -ECANCELED; may be NULL
 * @progress_ctx: handed to @progress
 * @recorder: keeps what the probe was told, see sonde/samples.h; may be NULL
 */
struct sonde_cache_options {
	unsigned int cpu;
	const unsigned int *alike;
	size_t nalike;
	enum sonde_meter meter;
	double budget_s;
	size_t max_bytes;
	unsigned int levels;
	uint64_t seed;
	int (*progress)(void *ctx, double done, const char *what);
	void *progress_ctx;
	struct sonde_recorder *recorder;
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

/* Whether a level holds lines that the level above holds too. */
enum sonde_cache_holding {
	SONDE_HOLDING_UNKNOWN,
	SONDE_HOLDING_ALSO,		/* inclusive, or neither inclusive nor exclusive */
	SONDE_HOLDING_OTHER,		/* exclusive: a line is in one of them */
};

/* How a level's size was found. */
enum sonde_cache_method {
	SONDE_METHOD_CURVE,		/* from the slope of the latency curve */
	SONDE_METHOD_STRIDES,		/* knees of strided rings */
	SONDE_METHOD_CONFLICTS,		/* smallest sets of lines that overflow it */
	SONDE_METHOD_SAMPLING,		/* lines of one set above, whole pages */
	SONDE_METHOD_SERVET,		/* as the paper says */
};

/**
 * struct sonde_cache_sweep - misses over how many lines of one set are taken in turn
 * @offset: bytes into the page of the lines
 * @ways: where the misses begin
 * @n: lines in the longest trial
 * @misses: a turn of 1 to @n lines; [0] is 0
 */
struct sonde_cache_sweep {
	unsigned int offset;
	unsigned int ways;
	unsigned int n;
	double *misses;
};

/**
 * struct sonde_cache_reach - a capacity curve by set sampling
 * @n: points
 * @bytes: of the level that the lines of the point stand for
 * @cycles: a load, without translation
 */
struct sonde_cache_reach {
	unsigned int n;
	double *bytes;
	double *cycles;
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
 * @ways: associativity, 0 not told; with @line, as sure as @confidence
 * @line: bytes of a line, 0 not told
 * @sets: how many, 0 not told
 * @colours: classes of pages whose lines share sets, 0 not told
 * @softness: share of the misses of strict LRU that one line more than ways
 *            causes; 0 not told
 * @holding: towards the level above
 * @method: how the size was found
 * @samples: windows that went into it
 * @discarded: share of them thrown away because something interrupted them
 * @sweeps: @nsweeps sets of lines that were found
 * @reach: capacity curve; .n is 0 if none was taken
 */
struct sonde_cache_level {
	unsigned int level;
	enum sonde_cache_type type;
	uint64_t size, size_low, size_high;
	struct sonde_latency latency;
	double confidence;
	unsigned int ways;
	unsigned int line;
	uint64_t sets;
	unsigned int colours;
	double softness;
	enum sonde_cache_holding holding;
	enum sonde_cache_method method;
	uint64_t samples;
	double discarded;
	struct sonde_cache_sweep *sweeps;
	size_t nsweeps;
	struct sonde_cache_reach reach;
};

/**
 * struct sonde_cache_report - what the probe found
 * @cpu: where, at last: @cpu of the options, or one like it
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
 * Sizes, ways and lines by sets of lines that overflow a level, found by timing;
 * the latency curve by a dependent chase over a random cyclic permutation of the
 * lines of working sets of many sizes (Saavedra and Smith 1995; Servet 2.1 for
 * what follows from physical indexing). All timed in short windows.
 *
 * Return: 0, -EINVAL (options), -ENOMEM (not even the smallest sweep fits), -ECANCELED
 * (by @progress), -EPERM (may not run on that CPU, or on one like it).
 *
 * Since: 0.1
 */
int sonde_probe_cache(const struct sonde_clock *clk, const struct sonde_cache_options *options,
		      struct sonde_cache_report **report);

/** SONDE_CACHE_SURE - the least confidence of what contradicts a claim. Since: 0.1 */
#define SONDE_CACHE_SURE 0.9

/**
 * sonde_cache_agrees() - hold a claim against a measurement of the same level
 *
 * Return: 1 if the claimed size lies within the measured interval, 0 if not and
 * the measurement is sure (SONDE_CACHE_SURE), -ENODATA if it is not, or if no size
 * is claimed or none could be told.
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
