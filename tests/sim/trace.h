/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a stretch of loads did to a CPU's time, so that it can be done again
 * without the loads: the same additions in the same order, to the last bit.
 */
#ifndef TESTS_SIM_TRACE_H
#define TESTS_SIM_TRACE_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct trace_line - a load's dealings with a line under way
 * @ready_ns: when that line is there
 * @cycles: those that it takes from now on, or those after which it is wanted
 * @is_wanted: the load waits for it; else the load set it on its way
 */
struct trace_line {
	double *ready_ns;
	double cycles;
	int is_wanted;
};

/**
 * struct trace_load - a load
 * @before: cycles of translation, where they are not in @cycles
 * @cycles: the others, without waiting
 * @nlines: so many of the trace's lines are its
 */
struct trace_load {
	double before, cycles;
	uint32_t nlines;
};

/**
 * struct trace - a stretch
 * @is_open: loads are written down
 * @is_lost: it became too long
 * @load: @nloads, in order
 * @line: @nlines, in order
 * @pending: lines so far of the load that is not there yet
 */
struct trace {
	int is_open, is_lost;
	struct trace_load *load;
	size_t nloads, loads_room;
	struct trace_line *line;
	size_t nlines, lines_room;
	uint32_t pending;
};

/* From now on. */
void trace_open(struct trace *t);

/* Nothing more is written down. */
static inline void trace_shut(struct trace *t)
{
	t->is_open = 0;
}

/* In the order in which they happen: lines of a load, then the load. */
void trace_add_line(struct trace *t, double *ready_ns, double cycles, int is_wanted);
void trace_add_load(struct trace *t, double before, double cycles);

void trace_free(struct trace *t);

#endif
