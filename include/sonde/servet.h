/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: servet - caches by the method of Servet, to compare with
 *
 * González-Domínguez, Taboada, Fraguela, Martín and Touriño, "Servet: a
 * benchmark suite for autotuning on multicore clusters", IPDPS 2010. What it
 * tells is not as good as what sonde_probe_cache() tells; it is here so that
 * anybody can see by how much.
 */
#ifndef SONDE_SERVET_H
#define SONDE_SERVET_H

#include <sonde/clock.h>
#include <sonde/probe.h>
#include <sonde/share.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * sonde_servet_cache() - find the caches of a CPU as Servet does
 * @clk: the clock to time with
 * @options: how; the seed is of no use, since the method walks in order. When
 *           the budget is spent, larger sizes are left out
 * @report: where the report goes, to be freed with sonde_cache_report_free();
 *          untouched on failure
 *
 * A walk in steps of 1 KiB through the first part of one array, over sizes that
 * double below 2 MiB and grow by 1 MiB above. The first peak in the ratio of
 * neighbouring sizes' costs is the first level; each later rise is a level,
 * whose size is the peak's if it is alone, and else that of the cache whose
 * misses differ least from the rise when pages fall into it at random (sections
 * 2.1 and figures 1 and 3 of the paper).
 *
 * The method always answers and knows no doubt: every level has the confidence
 * 1 and an interval that is its size.
 *
 * Return: 0, -EINVAL (options), -ENOMEM (not even the smallest sweep fits),
 * -ECANCELED (by options->progress), -EPERM (may not run on that CPU).
 *
 * Since: 0.1
 */
int sonde_servet_cache(const struct sonde_clock *clk, const struct sonde_cache_options *options,
		       struct sonde_cache_report **report);

/**
 * sonde_servet_share() - find out who shares which cache as Servet does
 * @clk: the clock to time with
 * @options: how; .cpus and .caches must be there, usually of sonde_servet_cache().
 *           .all_pairs is always so, .seed of no use, .recorder must be NULL
 * @report: where the report goes, to be freed with sonde_share_report_free();
 *          untouched on failure
 *
 * Every two CPUs walk two thirds of a level each at the same time: if that costs
 * more than one and a half times what it costs one CPU alone, they share it
 * (section 2.2 and figure 4 of the paper). A pair's .contention is that ratio; its
 * cycles are 0. Groups are CPUs tied by a chain of pairs. A level without a size,
 * or too large for the memory, is not compared, and a note says so.
 *
 * Return: 0, -ENODATA (fewer than two CPUs), -EINVAL (options), -ENOMEM,
 * -ECANCELED (by options->progress), -EPERM (may not run on one of the CPUs),
 * -EAGAIN (two CPUs did not come together in time).
 *
 * Since: 0.1
 */
int sonde_servet_share(const struct sonde_clock *clk, const struct sonde_share_options *options,
		       struct sonde_share_report **report);

#ifdef __cplusplus
}
#endif

#endif
