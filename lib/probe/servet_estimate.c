// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What Servet reads from its curve: the first peak of the gradients C[k+1]/C[k],
 * where the curve rises after it, and figure 3, the size whose misses explain a
 * rise.
 *
 * A page falls into any of the CS/(K * PS) page sets of a cache alike, so of NP
 * pages X are in one set, binomial of NP trials with K * PS/CS each; P(X > K) is
 * taken for the miss rate. (It is the share of sets that overflow, rather than
 * that of loads that miss; published so, and kept.)
 *
 * Left open by the paper, and chosen here:
 * - A gradient is above 1 if it is above RISE; a peak if above SERVET_PEAK.
 * - A rise ends before the first gradient that is not above 1, or where it is
 *   above by less than VALLEY of what it is at peaks on both sides: two caches,
 *   as of 3 and 12 MiB in the paper. It counts if the cost grows by SERVET_PEAK in all.
 * - Its range begins one size before it and ends two sizes after its last
 *   gradient above 1, as the paper's only complete example: gradients in 512 KiB
 *   to 2 MiB, the range 256 KiB to 4 MiB.
 * - The hit time and the largest cost are those of the range.
 * - The possible CS are the sizes of the range; the possible K are all from 2 to
 *   32 that leave a page set or more.
 */
#include <math.h>

#include "../binomial.h"
#include "servet.h"

#define RISE		1.02
#define VALLEY		(1 / 3.0)
#define WAYS_MIN	2
#define WAYS_MAX	32

static double gradient(const double *cycles, size_t k)
{
	return cycles[k + 1] / cycles[k];
}

size_t servet_first_peak(const double *cycles, size_t n)
{
	for (size_t k = 0; k + 1 < n; k++) {
		if (gradient(cycles, k) <= SERVET_PEAK)
			continue;
		while (k + 2 < n && gradient(cycles, k + 1) > gradient(cycles, k))
			k++;
		return k;
	}
	return n;
}

static double excess(const double *cycles, size_t k)
{
	return gradient(cycles, k) - 1;
}

/*
 * From @k, where it rises, on: as far as one cache goes, which is to where it
 * ends, or to a valley between two peaks. Return: the last gradient of it.
 */
static size_t follow_rise(const double *cycles, size_t n, size_t k, struct servet_range *range)
{
	size_t first = k, valley = k;

	range->peak = k;
	for (; k + 1 < n && gradient(cycles, k) > RISE; k++) {
		if (excess(cycles, k) < excess(cycles, valley))
			valley = k;
		if (excess(cycles, valley) < VALLEY * excess(cycles, range->peak) &&
		    excess(cycles, valley) < VALLEY * excess(cycles, k)) {
			k = valley;
			break;
		}
		if (excess(cycles, k) > excess(cycles, range->peak))
			range->peak = valley = k;
	}
	range->risen = k - first;
	return k - 1;
}

int servet_next_range(const double *cycles, size_t n, size_t from, struct servet_range *range)
{
	size_t last;

	for (size_t k = from; k + 1 < n; k++) {
		if (gradient(cycles, k) <= RISE)
			continue;
		last = follow_rise(cycles, n, k, range);
		range->first = k > from ? k - 1 : from;
		range->last = last + 2 < n ? last + 2 : n - 1;
		if (cycles[last + 1] / cycles[k] > SERVET_PEAK)
			return 1;
		k = last;
	}
	return 0;
}

/* How much the misses of one possible cache differ from what was measured. */
static double diverge(const double *size, const double *cycles, size_t n, double hit,
		      double overhead, double page, double cache, unsigned int ways)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += fabs((cycles[i] - hit) / overhead -
			    binomial_above(floor(size[i] / page), ways * page / cache, ways));
	return sum;
}

double servet_estimate(const double *size, const double *cycles, size_t n, size_t page,
		       unsigned int *ways)
{
	double hit = INFINITY, top = 0, least = INFINITY, best = size[0], sum;

	for (size_t i = 0; i < n; i++) {
		hit = fmin(hit, cycles[i]);
		top = fmax(top, cycles[i]);
	}
	for (size_t i = 0; i < n; i++) {
		for (unsigned int k = WAYS_MIN; k <= WAYS_MAX; k++) {
			if ((double)k * (double)page > size[i])
				break;
			sum = diverge(size, cycles, n, hit, top - hit, (double)page, size[i], k);
			if (sum >= least)
				continue;
			least = sum;
			best = size[i];
			if (ways)
				*ways = k;
		}
	}
	return best;
}
