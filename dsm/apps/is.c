// SPDX-License-Identifier: LGPL-2.1-or-later
/* Integer sort by counting: each adds its counts to the shared ones, in turns. */
#include <stdlib.h>

#include "apps.h"

#define KEYS	1024u

static sonde_dsm_mutex_t lock = SONDE_DSM_MUTEX_INITIALIZER;

uint64_t apps_is(unsigned int scale)
{
	const size_t n = 8192 * scale;
	uint32_t *counts = apps_make(KEYS * sizeof(*counts)), own[KEYS];
	size_t first, end;
	uint64_t sum = 0;

	apps_share(n, &first, &end);
	for (int round = 0; round < 4; round++) {
		for (size_t k = 0; k < KEYS; k++)
			own[k] = 0;
		for (size_t i = first; i < end; i++)
			own[apps_random(i + (size_t)round * n) % KEYS]++;
		sonde_dsm_mutex_lock(&lock);
		for (size_t k = 0; k < KEYS; k++)
			counts[k] += own[k];
		sonde_dsm_mutex_unlock(&lock);
		apps_barrier();
		/* Ranks, as the sort wants them. */
		if (!apps_me)
			sum = sum * 31 + apps_sum(counts, KEYS * sizeof(*counts));
		apps_barrier();
	}
	apps_drop(counts);
	return sum;
}
