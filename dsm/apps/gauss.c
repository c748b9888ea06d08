// SPDX-License-Identifier: LGPL-2.1-or-later
/* Elimination without pivots: rows in turns, all read the pivot's row. */
#include "apps.h"

static void fill(float *a, size_t n)
{
	for (size_t i = apps_me; i < n; i += apps_n)
		for (size_t j = 0; j < n; j++)
			a[i * n + j] = (float)apps_uniform(i * n + j) + (i == j ? (float)n : 0);
}

uint64_t apps_gauss(unsigned int scale)
{
	const size_t n = 32 * scale;
	float *a = apps_make(n * n * sizeof(*a));
	uint64_t sum = 0;

	fill(a, n);
	apps_barrier();
	for (size_t k = 0; k + 1 < n; k++) {
		for (size_t i = k + 1; i < n; i++) {
			float factor;

			if (i % apps_n != apps_me)
				continue;
			factor = a[i * n + k] / a[k * n + k];
			for (size_t j = k; j < n; j++)
				a[i * n + j] -= factor * a[k * n + j];
		}
		apps_barrier();
	}
	if (!apps_me)
		sum = apps_sum(a, n * n * sizeof(*a));
	apps_drop(a);
	return sum;
}
