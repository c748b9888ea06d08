// SPDX-License-Identifier: LGPL-2.1-or-later
/* Modified Gram-Schmidt: the owner of a vector makes it one long, all take it off theirs. */
#include <math.h>

#include "apps.h"

static double dot(const double *a, const double *b, size_t n)
{
	double s = 0;

	for (size_t i = 0; i < n; i++)
		s += a[i] * b[i];
	return s;
}

uint64_t apps_mgs(unsigned int scale)
{
	const size_t n = 16 * scale, length = 128;
	double *v = apps_make(n * length * sizeof(*v));
	uint64_t sum = 0;

	for (size_t i = apps_me; i < n; i += apps_n)
		for (size_t j = 0; j < length; j++)
			v[i * length + j] = apps_uniform(i * length + j) + (i % length == j);
	apps_barrier();
	for (size_t k = 0; k < n; k++) {
		double *at = v + k * length;

		if (k % apps_n == apps_me) {
			double norm = sqrt(dot(at, at, length));

			for (size_t j = 0; j < length; j++)
				at[j] /= norm;
		}
		apps_barrier();
		for (size_t i = k + 1; i < n; i++) {
			double along;

			if (i % apps_n != apps_me)
				continue;
			along = dot(at, v + i * length, length);
			for (size_t j = 0; j < length; j++)
				v[i * length + j] -= along * at[j];
		}
		apps_barrier();
	}
	if (!apps_me)
		sum = apps_sum(v, n * length * sizeof(*v));
	apps_drop(v);
	return sum;
}
