// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Molecules: forces of pairs are added up under a lock for each molecule. Numbers are of
 * fixed point, so that the order in which they are added up does not matter.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps.h"

#define FIXED	0x1p32
#define DT	1e-3

struct molecule {
	double at[3], speed[3];
	int64_t force[3];
	sonde_dsm_mutex_t lock;
};

static void pair(struct molecule *a, const struct molecule *b, int64_t *fa, int64_t *fb)
{
	double d[3], r2 = 0.01, f;

	for (int k = 0; k < 3; k++) {
		d[k] = a->at[k] - b->at[k];
		r2 += d[k] * d[k];
	}
	f = 1 / (r2 * sqrt(r2));
	for (int k = 0; k < 3; k++) {
		int64_t v = (int64_t)(f * d[k] * FIXED);

		fa[k] += v;
		fb[k] -= v;
	}
}

static void forces(struct molecule *m, size_t n, size_t first, size_t end, int64_t (*own)[3])
{
	memset(own, 0, n * sizeof(*own));
	for (size_t i = first; i < end; i++)
		for (size_t j = i + 1; j < n; j++)
			pair(&m[i], &m[j], own[i], own[j]);
	for (size_t i = 0; i < n; i++) {
		if (!own[i][0] && !own[i][1] && !own[i][2])
			continue;
		sonde_dsm_mutex_lock(&m[i].lock);
		for (int k = 0; k < 3; k++)
			m[i].force[k] += own[i][k];
		sonde_dsm_mutex_unlock(&m[i].lock);
	}
	apps_barrier();
}

static void move(struct molecule *m, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		for (int k = 0; k < 3; k++) {
			m[i].speed[k] += DT * (double)m[i].force[k] / FIXED;
			m[i].at[k] += DT * m[i].speed[k];
			m[i].force[k] = 0;
		}
	}
	apps_barrier();
}

uint64_t apps_water(unsigned int scale)
{
	const size_t n = 24 * scale;
	struct molecule *m = apps_make(n * sizeof(*m));
	int64_t (*own)[3] = malloc(n * sizeof(*own));
	size_t first, end;
	uint64_t sum = 0;

	if (!own)
		abort();
	apps_share(n, &first, &end);
	for (size_t i = first; i < end; i++) {
		for (size_t k = 0; k < 3; k++)
			m[i].at[k] = apps_uniform(3 * i + k);
		sonde_dsm_mutex_init(&m[i].lock, NULL);
	}
	apps_barrier();
	for (int step = 0; step < 2; step++) {
		forces(m, n, first, end, own);
		move(m, first, end);
	}
	for (size_t i = 0; !apps_me && i < n; i++)
		sum = sum * 31 + apps_sum(m[i].at, sizeof(m[i].at));
	free(own);
	apps_drop(m);
	return sum;
}
