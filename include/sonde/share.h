/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: share - which CPUs share which cache
 *
 * By hand-over: one CPU loads lines, another one reads them for the first time.
 * If it gets them as fast as when it reads them again, they were in a cache of
 * both. Confirmed, where the sizes allow it, by contention: both walk sets that
 * together do not fit, and only what was proven to overlap counts. Nothing that
 * firmware claims goes into a result.
 */
#ifndef SONDE_SHARE_H
#define SONDE_SHARE_H

#include <stddef.h>
#include <stdint.h>
#include <sonde/clock.h>
#include <sonde/probe.h>
#include <sonde/topology.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct sonde_share_options - how to look for shared caches
 * @cpus: @ncpus CPUs to compare, ascending; NULL: all that the calling thread
 *        may run on
 * @ncpus: how many
 * @meter: where the loops run
 * @caches: sizes and latencies of the levels, as measured on one of the CPUs;
 *          NULL: they are measured first, in @caches_s seconds
 * @caches_s: seconds for that; 0: 3
 * @max_bytes: most memory to use; 0: 192 MiB. Half of the free memory at most
 * @seed: of the permutations
 * @all_pairs: measure every pair, not only those that decide the groups
 * @progress: as in struct sonde_cache_options
 * @progress_ctx: handed to @progress
 * @recorder: keeps what the probe was told, see sonde/samples.h; may be NULL
 */
struct sonde_share_options {
	const unsigned int *cpus;
	size_t ncpus;
	enum sonde_meter meter;
	const struct sonde_cache_report *caches;
	double caches_s;
	size_t max_bytes;
	uint64_t seed;
	int all_pairs;
	int (*progress)(void *ctx, double done, const char *what);
	void *progress_ctx;
	struct sonde_recorder *recorder;
};

enum sonde_share_verdict {
	SONDE_SHARE_UNKNOWN,	/* cannot be told here */
	SONDE_SHARE_NO,
	SONDE_SHARE_YES,
};

/**
 * struct sonde_share_pair - one comparison of two CPUs at one level
 * @level: 1 is nearest to the core
 * @cpu: the two, ascending
 * @verdict: whether they share it
 * @confidence: of @verdict, 0 to 1; 0 if unknown
 * @first_cycles: what a load costs that finds the other CPU's line
 * @again_cycles: what it costs when this CPU has loaded it itself; both are
 *                medians over the samples, cycles of the reader
 * @beyond_cycles: what it costs from the next level
 * @contention: what a load costs beside the other CPU's, over what it costs
 *              alone; 0 if it was not to be had
 * @samples: hand-overs
 * @discarded: share of their windows that something interrupted
 */
struct sonde_share_pair {
	unsigned int level;
	unsigned int cpu[2];
	enum sonde_share_verdict verdict;
	double confidence;
	double first_cycles, again_cycles, beyond_cycles;
	double contention;
	unsigned int samples;
	double discarded;
};

/**
 * struct sonde_share_group - CPUs with one cache of a level
 * @cpus: which, as hwloc's list ("0-3,8")
 * @cpuset: the same as hwloc's bitmap ("0x0000010f")
 * @ncpus: how many
 * @verdict: YES: they share it; NO: it is the only CPU's own; UNKNOWN: they may
 *           share it with another group whose verdict is UNKNOWN
 * @confidence: the least of the comparisons it rests on; 0 if unknown
 * @samples: hand-overs it rests on
 * @discarded: share of their windows that something interrupted
 */
struct sonde_share_group {
	char *cpus;
	char *cpuset;
	unsigned int ncpus;
	enum sonde_share_verdict verdict;
	double confidence;
	unsigned int samples;
	double discarded;
};

/**
 * struct sonde_share_level - one level of cache
 * @level: 1 is nearest to the core
 * @groups: @ngroups, by their first CPU; each CPU is in one
 */
struct sonde_share_level {
	unsigned int level;
	struct sonde_share_group *groups;
	size_t ngroups;
};

/**
 * struct sonde_share_report - what was found
 * @cpus: those compared, ascending
 * @ncpus: how many
 * @levels: @nlevels, nearest first
 * @pairs: @npairs comparisons, in the order they were made
 * @pooled: measurements of many CPUs at once, beside @pairs
 * @elapsed_s: seconds it took
 * @notes: @nnotes sentences on what was lost or is doubtful
 */
struct sonde_share_report {
	unsigned int *cpus;
	size_t ncpus;
	struct sonde_share_level *levels;
	size_t nlevels;
	struct sonde_share_pair *pairs;
	size_t npairs;
	size_t pooled;
	double elapsed_s;
	char **notes;
	size_t nnotes;
};

/**
 * sonde_probe_share() - find out which CPUs share which cache
 * @clk: the clock to time with
 * @options: how
 * @report: where the report goes, to be freed with sonde_share_report_free();
 *          untouched on failure
 *
 * Threads are bound to the CPUs in turn; the calling thread is bound to the
 * first one meanwhile. The idea of the contention test is Servet's (2.2, figure
 * 4); the number of comparisons grows with CPUs times caches of the last level,
 * not with the square of CPUs. In a guest, whose CPUs the host may move, a last level
 * that no two were seen to share within three more seconds is unknown.
 *
 * Return: 0; -ENODATA (fewer than two CPUs: nothing to compare), -EINVAL
 * (options), -EPERM (may not run on one of the CPUs), -ENOMEM, -ECANCELED (by
 * @progress).
 *
 * Since: 0.1
 */
int sonde_probe_share(const struct sonde_clock *clk, const struct sonde_share_options *options,
		      struct sonde_share_report **report);

/**
 * sonde_share_nearest() - the nearest cache that two CPUs share
 * @report: what was measured
 * @a: a CPU
 * @b: another one
 *
 * Return: its level; 0 if they share none; -ENODATA if that cannot be told, or a
 * CPU was not measured. Since: 0.1
 */
int sonde_share_nearest(const struct sonde_share_report *report, unsigned int a, unsigned int b);

/**
 * sonde_share_claimed() - who shares a level of cache according to hwloc
 * @report: whose CPUs are asked for; others are left out
 * @topo: the machine as claimed
 * @level: 1 is nearest to the core
 * @out: filled in, to be freed with sonde_share_level_clear(); untouched on
 *       failure. Verdicts are YES and NO; confidence and samples are 0
 *
 * Return: 0, -ENODATA (nothing is claimed), -ENOMEM. Since: 0.1
 */
int sonde_share_claimed(const struct sonde_share_report *report,
			const struct sonde_topology *topo, unsigned int level,
			struct sonde_share_level *out);

/**
 * sonde_share_agrees() - hold a claim against a measurement of the same level
 *
 * Return: 1 if the groups are the same, 0 if not, -ENODATA if nothing is claimed
 * or a group is unknown. Since: 0.1
 */
int sonde_share_agrees(const struct sonde_share_level *measured,
		       const struct sonde_share_level *claimed);

/** sonde_share_level_clear() - free what sonde_share_claimed() gave. Since: 0.1 */
void sonde_share_level_clear(struct sonde_share_level *level);

/** sonde_share_report_free() - free; @report may be NULL. Since: 0.1 */
void sonde_share_report_free(struct sonde_share_report *report);

#ifdef __cplusplus
}
#endif

#endif
