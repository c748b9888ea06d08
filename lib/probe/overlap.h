/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which windows of several CPUs were proven to be taken at the same time.
 *
 * Two threads that run together usually do not. A window counts only if every
 * other CPU's own uninterrupted windows cover it: a measurement without that proof
 * found no contention where there was a third (README.md).
 */
#ifndef SONDE_LIB_PROBE_OVERLAP_H
#define SONDE_LIB_PROBE_OVERLAP_H

#include "../meter.h"

/**
 * struct overlap_lane - the windows of one CPU, in the order they were taken
 * @out: @nout of them
 * @nout: how many
 */
struct overlap_lane {
	struct meter_window *out;
	size_t nout;
};

/*
 * A window during which its CPU was away is no proof of load: its .ticks become 0.
 * 0, -ENOMEM.
 */
int overlap_forget_gaps(const struct overlap_lane *lanes, size_t n);

/* Windows of lane @mine that every other lane covers, to @kept, room for all of
 * them. Return: how many. */
size_t overlap_keep(const struct overlap_lane *lanes, size_t n, size_t mine,
		    struct meter_window *kept);

#endif
