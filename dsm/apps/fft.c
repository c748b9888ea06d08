// SPDX-License-Identifier: LGPL-2.1-or-later
/* A transform of n x n points: of rows, transposed, of rows again. All read all. */
#include <complex.h>
#include <math.h>

#include "apps.h"

static void transform(double complex *v, size_t n)
{
	for (size_t i = 1, j = 0; i < n; i++) {
		size_t bit = n >> 1;

		for (; j & bit; bit >>= 1)
			j ^= bit;
		j ^= bit;
		if (i < j) {
			double complex t = v[i];

			v[i] = v[j];
			v[j] = t;
		}
	}
	for (size_t len = 2; len <= n; len *= 2) {
		for (size_t i = 0; i < n; i += len) {
			for (size_t k = 0; k < len / 2; k++) {
				double complex w = cexp(-2 * M_PI * I * (double)k / (double)len);
				double complex a = v[i + k], b = v[i + k + len / 2] * w;

				v[i + k] = a + b;
				v[i + k + len / 2] = a - b;
			}
		}
	}
}

static void rows(double complex *v, size_t n)
{
	size_t first, end;

	apps_share(n, &first, &end);
	for (size_t i = first; i < end; i++)
		transform(v + i * n, n);
	apps_barrier();
}

uint64_t apps_fft(unsigned int scale)
{
	const size_t n = scale < 4 ? 32 : 128;
	double complex *a = apps_make(n * n * sizeof(*a)), *b = apps_make(n * n * sizeof(*b));
	size_t first, end;
	uint64_t sum = 0;

	apps_share(n, &first, &end);
	for (size_t i = first * n; i < end * n; i++)
		a[i] = apps_uniform(2 * i) + I * apps_uniform(2 * i + 1);
	apps_barrier();
	rows(a, n);
	for (size_t i = first; i < end; i++)
		for (size_t j = 0; j < n; j++)
			b[i * n + j] = a[j * n + i];
	apps_barrier();
	rows(b, n);
	if (!apps_me)
		sum = apps_sum(b, n * n * sizeof(*b));
	apps_drop(a);
	apps_drop(b);
	return sum;
}
