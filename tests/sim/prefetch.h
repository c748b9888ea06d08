/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prefetchers of one CPU, as they are documented or were found out: they see the
 * loads that the first level sees, or those that it missed, and fetch lines that
 * nobody asked for.
 */
#ifndef TESTS_SIM_PREFETCH_H
#define TESTS_SIM_PREFETCH_H

#include <stddef.h>
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
 * struct prefetcher - what all of them know
 * @last: place of the last load
 * @stride: from the one before
 * @same: that was the stride before, too
 * @stream, @region: of pages
 * @seen: lines that were used in the last page that was entered by each line
 * @tag: lines under way into levels 1 and 2, in slots by their tags; 0: none
 * @ready_ns: when each is there
 */
struct prefetcher {
	uint32_t last;
	int same;
	int64_t stride;
	struct stream stream[PREFETCH_PAGES];
	struct region region[PREFETCH_PAGES];
	uint64_t seen[METER_CHUNK_LINES];
	uint32_t tag[2][PREFETCH_PENDING];
	double ready_ns[2][PREFETCH_PENDING];
};

/* Bytes of it that decide on what is fetched; the rest is time. */
#define PREFETCH_STATE	offsetof(struct prefetcher, ready_ns)

struct core;

/* Every load. */
void prefetch_after_load(struct core *c, uint32_t place);

/* A load that missed the first level, and the second if @far. */
void prefetch_after_miss(struct core *c, uint32_t place, int far);

#endif
