/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared buses and memory controllers: what each of several streams gets.
 */
#ifndef TESTS_SIM_CONTENTION_H
#define TESTS_SIM_CONTENTION_H

#include "../../lib/stream.h"
#include "machine.h"

/*
 * Nanoseconds of a window of each lane to @ns. Bandwidth is shared fairly: all get
 * more until a link is full, then those that go through it get no more (max-min
 * fairness). A chase waits the longer, the fuller the fullest of its links.
 */
void contention_windows(const struct machine_model *model, const struct meter_stream *lanes,
			size_t n, double *ns);

#endif
