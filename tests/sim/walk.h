/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A CPU's way along a cycle of places, again and again. Once caches, TLBs and
 * prefetchers are as they were some turns ago, all that follows is known, until
 * something happens from outside: then only time goes on, by the same additions in
 * the same order, and the caches are brought up to date when somebody needs them.
 * Whoever looks at them, or changes them, settles the walk first.
 */
#ifndef TESTS_SIM_WALK_H
#define TESTS_SIM_WALK_H

#include "hierarchy.h"
#include "trace.h"

enum walk_state {
	WALK_PLAIN,
	WALK_WATCHED,	/* whether it repeats itself */
	WALK_REPEATING,	/* caches are as at the begin of the period */
};

/**
 * struct walk - a cycle that a CPU goes along
 * @core: which
 * @places: of the cycle
 * @n: how many
 * @at: the next one
 * @left: loads that are still to be expected; without many, watching does not pay
 * @state: what is known of it
 * @turn: turns since it was linked or disturbed
 * @until: turn at which to stop watching, or not to begin before
 * @trace: the turns watched: a period, if it repeats itself
 * @next: load of the trace that is next
 * @line: its first line
 * @page: of the core at the period's begin
 * @prefetcher: of the core at the period's begin
 * @loads: of the hierarchy at the period's begin, then those of a period
 */
struct walk {
	struct core *core;
	uint32_t *places;
	size_t n, room, at;
	uint64_t left;
	enum walk_state state;
	uint64_t turn, until;
	struct trace trace;
	size_t next, line;
	uint32_t page;
	struct prefetcher prefetcher;
	uint64_t loads;
};

/* Make @places[0..@n) the cycle. 0, -ENOMEM. */
int walk_link(struct walk *w, const uint32_t *places, size_t n);

/* Write every place once, in order. */
void walk_write(struct walk *w);

/* So many loads. */
void walk_go(struct walk *w, uint64_t steps);

/* One load, among those of other CPUs. */
void walk_step(struct walk *w);

/* Have caches, TLBs and prefetchers as they are after the last load. */
void walk_settle(struct walk *w);

void walk_close(struct walk *w);

#endif
