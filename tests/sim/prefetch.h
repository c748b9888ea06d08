/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prefetchers of one CPU, as they are documented or were found out: they see the
 * loads that the first level sees, or those that it missed, and fetch lines that
 * nobody asked for.
 */
#ifndef TESTS_SIM_PREFETCH_H
#define TESTS_SIM_PREFETCH_H

#include <stdint.h>

#include "machine.h"

#define PREFETCH_PAGES	32
#define PREFETCH_PENDING 64

/**
 * struct stream - what a page saw last
 * @chunk: the page, + 1
 * @line: last line in it
 * @run: lines in one direction so far, negative downwards
 */
struct stream {
	uint32_t chunk;
	int line, run;
};

/**
 * struct region - which lines of a page were used
 * @chunk: the page, + 1
 * @first: line by which it was entered
 * @used: a bit a line of METER_LINE bytes
 */
struct region {
	uint32_t chunk, first;
	uint64_t used;
};

/**
 * struct pending - a line under way
 * @tag: which, 0: none
 * @ready_ns: when it is there
 */
struct pending {
	uint32_t tag;
	double ready_ns;
};

struct prefetcher {
	uint32_t last;
	int64_t stride;
	unsigned int same;
	struct stream stream[PREFETCH_PAGES];
	struct region region[PREFETCH_PAGES];
	uint64_t seen[METER_CHUNK_LINES];
	struct pending pending[2][PREFETCH_PENDING];
};

struct core;

/* Every load. */
void prefetch_after_load(struct core *c, uint32_t place);

/* A load that missed the first level, and the second if @far. */
void prefetch_after_miss(struct core *c, uint32_t place, int far);

#endif
