// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * changepoints - optimal partitioning (Jackson et al. 2005) with the pruning of
 * PELT (Killick, Fearnhead and Eckley 2012), which loses nothing
 *
 * best[j] is the least cost of the first j values, with one penalty a segment
 * but the first. Starts i ascend: best[i] is final when its turn comes, and the
 * segment from i grows to the right, one value at a time.
 *
 * Pruning: once ending at j is better than going on from i, whatever starts at
 * j is as much better ever after. It may be cut at j only when the segment
 * after j is long enough.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sonde/stats.h>

#include "running_median.h"

struct partition {
	double *best;		/* n + 1 */
	size_t *start;		/* n + 1: of the last segment of the best partition */
	struct running_median median;
};

static void partition_fini(struct partition *part)
{
	running_median_fini(&part->median);
	free(part->best);
	free(part->start);
}

static int partition_init(struct partition *part, size_t n)
{
	int err = running_median_init(&part->median, n);

	if (err)
		return err;
	part->best = calloc(n + 1, sizeof(*part->best));
	part->start = calloc(n + 1, sizeof(*part->start));
	if (!part->best || !part->start) {
		partition_fini(part);
		return -ENOMEM;
	}
	for (size_t j = 1; j <= n; j++)
		part->best[j] = INFINITY;
	return 0;
}

/* All segments that start at @i. */
static void grow_segment(struct partition *part, const double *x, size_t n, size_t min_segment,
			 double penalty, size_t i)
{
	double before = i ? part->best[i] + penalty : 0;
	size_t end = n;
	double cost;

	running_median_reset(&part->median);
	for (size_t j = i + 1; j <= end; j++) {
		running_median_add(&part->median, x[j - 1]);
		if (j - i < min_segment)
			continue;
		cost = before + part->median.cost;
		if (cost < part->best[j]) {
			part->best[j] = cost;
			part->start[j] = i;
		} else if (cost > part->best[j] + penalty && n - j >= min_segment) {
			/* Segments from @j on count from j + min_segment. */
			if (end > j + min_segment - 1)
				end = j + min_segment - 1;
		}
	}
}

static ssize_t write_changes(const struct partition *part, size_t n, size_t *out, size_t max)
{
	size_t changes = 0, i;

	for (i = part->start[n]; i; i = part->start[i])
		changes++;
	if (changes > max)
		return -ENOSPC;
	i = n;
	for (size_t k = changes; k; k--)
		out[k - 1] = i = part->start[i];
	return (ssize_t)changes;
}

ssize_t sonde_stats_changepoints(const double *x, size_t n, size_t min_segment, double penalty,
				 size_t *out, size_t max)
{
	struct partition part;
	ssize_t changes;
	int err;

	if (!min_segment || !(penalty >= 0))
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (!isfinite(x[i]))
			return -EINVAL;
	if (n / 2 < min_segment)
		return 0;
	err = partition_init(&part, n);
	if (err)
		return err;
	for (size_t i = 0; i + min_segment <= n; i++)
		if (isfinite(part.best[i]))
			grow_segment(&part, x, n, min_segment, penalty, i);
	changes = write_changes(&part, n, out, max);
	partition_fini(&part);
	return changes;
}
