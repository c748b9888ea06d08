// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The upper tail of the binomial distribution, for a small @k and an @n of any
 * size: a sum of probabilities on that side of @k that holds less, so that
 * nothing small is ever the difference of two large numbers.
 */
#include <math.h>

#include "binomial.h"

/* Terms this much below the sum change nothing any more. */
#define NEGLIGIBLE	1e-17

/* P(X = @k): its logarithm term by term, since (1 - p)^n alone underflows. */
static double probability(double n, double p, unsigned int k)
{
	double sum = (n - k) * log1p(-p);

	for (unsigned int i = 1; i <= k; i++)
		sum += log((n - k + i) / i * p);
	return exp(sum);
}

/* P(X <= @k) where @k is below the mean: terms fall as they go down. */
static double sum_down(double n, double p, unsigned int k)
{
	double term = probability(n, p, k), sum = 0;

	for (double x = k; x >= 0 && term > sum * NEGLIGIBLE; x--) {
		sum += term;
		term *= x / (n - x + 1) * (1 - p) / p;
	}
	return sum;
}

/* P(X > @k) where @k is the mean or above: terms fall as they go up. */
static double sum_up(double n, double p, unsigned int k)
{
	double term = probability(n, p, k + 1), sum = 0;

	for (double x = k + 1.0; x <= n && term > sum * NEGLIGIBLE; x++) {
		sum += term;
		term *= (n - x) / (x + 1) * p / (1 - p);
	}
	return sum;
}

double binomial_above(double n, double p, unsigned int k)
{
	if (p <= 0 || k >= n)
		return 0;
	if (p >= 1)
		return 1;
	return k < n * p ? 1 - sum_down(n, p, k) : sum_up(n, p, k);
}
