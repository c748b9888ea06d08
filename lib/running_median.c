// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>

#include "running_median.h"

static void heap_push(double *heap, size_t *n, double x)
{
	size_t i = (*n)++;

	while (i && heap[(i - 1) / 2] > x) {
		heap[i] = heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap[i] = x;
}

/* Put @x in and take the smallest out. */
static double heap_exchange(double *heap, size_t n, double x)
{
	double top;
	size_t i = 0, child;

	if (!n || x <= heap[0])
		return x;
	top = heap[0];
	while ((child = 2 * i + 1) < n) {
		if (child + 1 < n && heap[child + 1] < heap[child])
			child++;
		if (heap[child] >= x)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = x;
	return top;
}

int running_median_init(struct running_median *rm, size_t n)
{
	size_t half = n / 2 + 1;

	rm->low = calloc(half, sizeof(*rm->low));
	rm->high = calloc(half, sizeof(*rm->high));
	running_median_reset(rm);
	if (rm->low && rm->high)
		return 0;
	running_median_fini(rm);
	return -ENOMEM;
}

void running_median_fini(struct running_median *rm)
{
	free(rm->low);
	free(rm->high);
	rm->low = NULL;
	rm->high = NULL;
}

void running_median_reset(struct running_median *rm)
{
	rm->nlow = 0;
	rm->nhigh = 0;
	rm->cost = 0;
}

void running_median_add(struct running_median *rm, double x)
{
	double lower = rm->nlow ? -rm->low[0] : x;
	double upper = rm->nlow == rm->nhigh && rm->nhigh ? rm->high[0] : lower;

	if (x < lower)
		rm->cost += lower - x;
	else if (x > upper)
		rm->cost += x - upper;
	if (rm->nlow == rm->nhigh)
		heap_push(rm->low, &rm->nlow, -heap_exchange(rm->high, rm->nhigh, x));
	else
		heap_push(rm->high, &rm->nhigh, -heap_exchange(rm->low, rm->nlow, -x));
}
