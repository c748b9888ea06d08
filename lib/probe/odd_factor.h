/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How simple a number of ways or sets is. */
#ifndef SONDE_LIB_PROBE_ODD_FACTOR_H
#define SONDE_LIB_PROBE_ODD_FACTOR_H

#include <math.h>

/* What is left of @x without its factors of two. */
static inline double odd_factor(double x)
{
	while (x > 1 && fmod(x, 2) == 0)
		x /= 2;
	return x;
}

#endif
