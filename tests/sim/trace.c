// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "room.h"
#include "trace.h"

/* Longer stretches are not remembered: 3 MiB of loads. */
#define LOADS_MAX	(1UL << 17)
#define LINES_MAX	(1UL << 18)

void trace_open(struct trace *t)
{
	t->is_open = 1;
	t->is_lost = 0;
	t->nloads = 0;
	t->nlines = 0;
	t->pending = 0;
}

void trace_add_line(struct trace *t, double *ready_ns, double cycles, int is_wanted)
{
	struct trace_line *line;

	line = t->is_lost || t->nlines == LINES_MAX ? NULL :
	       room_for(t->line, &t->lines_room, t->nlines + 1, sizeof(*line));
	if (!line) {
		t->is_lost = 1;
		return;
	}
	t->line = line;
	line[t->nlines++] = (struct trace_line){ ready_ns, cycles, is_wanted };
	t->pending++;
}

void trace_add_load(struct trace *t, double before, double cycles)
{
	struct trace_load *load;

	load = t->is_lost || t->nloads == LOADS_MAX ? NULL :
	       room_for(t->load, &t->loads_room, t->nloads + 1, sizeof(*load));
	if (!load) {
		t->is_lost = 1;
		return;
	}
	t->load = load;
	load[t->nloads++] = (struct trace_load){ before, cycles, t->pending };
	t->pending = 0;
}

void trace_free(struct trace *t)
{
	free(t->load);
	free(t->line);
	*t = (struct trace){ 0 };
}
