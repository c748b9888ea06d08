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

#ifdef __cplusplus
}
#endif

#endif
