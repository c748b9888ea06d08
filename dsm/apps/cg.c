// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Conjugate gradients for a sparse matrix of seven diagonals: each has some rows of the
 * vectors. Sums are made of products that stand in shared memory, in one order, by each.
 */
#include "apps.h"

static const size_t diagonals[] = { 1, 7, 64 };

static double row_times(const double *x, size_t n, size_t i)
{
	double s = 8 * x[i];

	for (size_t d = 0; d < 3; d++) {
		if (i >= diagonals[d])
			s -= x[i - diagonals[d]];
		if (i + diagonals[d] < n)
			s -= x[i + diagonals[d]];
	}
	return s;
}

/* After a barrier all read all, and add them up alike. */
static double sum_of(const double *a, const double *b, size_t n)
{
	double s = 0;

	for (size_t i = 0; i < n; i++)
		s += a[i] * b[i];
	return s;
}

uint64_t apps_cg(unsigned int scale)
{
	const size_t n = 1024 * scale, bytes = n * sizeof(double);
	double *x = apps_make(bytes), *r = apps_make(bytes), *p = apps_make(bytes);
	double *q = apps_make(bytes), rho, before;
	size_t first, end;
	uint64_t sum = 0;

	apps_share(n, &first, &end);
	for (size_t i = first; i < end; i++)
		r[i] = p[i] = apps_uniform(i);
	apps_barrier();
	rho = sum_of(r, r, n);
	for (int step = 0; step < 6; step++) {
		double alpha;

		for (size_t i = first; i < end; i++)
			q[i] = row_times(p, n, i);
		apps_barrier();
		alpha = rho / sum_of(p, q, n);
		for (size_t i = first; i < end; i++) {
			x[i] += alpha * p[i];
			r[i] -= alpha * q[i];
		}
		apps_barrier();
		before = rho;
		rho = sum_of(r, r, n);
		for (size_t i = first; i < end; i++)
			p[i] = r[i] + rho / before * p[i];
		apps_barrier();
	}
	if (!apps_me)
		sum = apps_sum(x, bytes);
	apps_drop(x);
	apps_drop(r);
	apps_drop(p);
	apps_drop(q);
	return sum;
}
