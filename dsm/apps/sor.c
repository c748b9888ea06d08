// SPDX-License-Identifier: LGPL-2.1-or-later
/* Red-black successive over-relaxation: rows in blocks, neighbours read two rows. */
#include "apps.h"

#define OMEGA	1.25

static void sweep(double *v, size_t rows, size_t columns, size_t colour)
{
	size_t first, end;

	apps_share(rows - 2, &first, &end);
	for (size_t i = first + 1; i < end + 1; i++) {
		double *row = v + i * columns;

		for (size_t j = 1 + (i + colour) % 2; j + 1 < columns; j += 2)
			row[j] += OMEGA * (0.25 * (row[j - columns] + row[j + columns] +
						   row[j - 1] + row[j + 1]) - row[j]);
	}
}

uint64_t apps_sor(unsigned int scale)
{
	const size_t rows = 64 * scale, columns = 256;
	double *v = apps_make(rows * columns * sizeof(*v));
	uint64_t sum = 0;

	for (size_t j = 0; !apps_me && j < columns; j++)
		v[j] = v[(rows - 1) * columns + j] = apps_uniform(j);
	apps_barrier();
	for (int step = 0; step < 6; step++) {
		for (size_t colour = 0; colour < 2; colour++) {
			sweep(v, rows, columns, colour);
			apps_barrier();
		}
	}
	if (!apps_me)
		sum = apps_sum(v, rows * columns * sizeof(*v));
	apps_drop(v);
	return sum;
}
