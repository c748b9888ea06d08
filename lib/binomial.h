/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SONDE_LIB_BINOMIAL_H
#define SONDE_LIB_BINOMIAL_H

/*
 * P(X > @k) where X is binomial of @n trials, a whole number up to 2^53, that
 * succeed with @p each. To nine digits and more, also of small probabilities;
 * what is below the smallest double is 0.
 */
double binomial_above(double n, double p, unsigned int k);

#endif
