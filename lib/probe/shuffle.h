/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SONDE_LIB_PROBE_SHUFFLE_H
#define SONDE_LIB_PROBE_SHUFFLE_H

#include <stddef.h>
#include "../rng.h"

/* A random order of @x[0..@n), each as likely as any other (Fisher and Yates). */
static inline void shuffle(struct sonde_rng *rng, uint32_t *x, size_t n)
{
	uint32_t t;
	size_t j;

	for (size_t i = n; i > 1; i--) {
		j = sonde_rng_below(rng, i);
		t = x[i - 1];
		x[i - 1] = x[j];
		x[j] = t;
	}
}

#endif
