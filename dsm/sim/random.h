/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Random programs and schedules from one number: run again, it does the same again.
 */
#ifndef SONDE_DSM_SIM_RANDOM_H
#define SONDE_DSM_SIM_RANDOM_H

#include "program.h"

struct random_tally {
	uint64_t runs, steps, checked, messages, duplicates, merges, refetches, deferred;
	uint64_t handovers, collections, fills, lists;
	uint64_t raced, told;	/* bytes, and programs with any */
	uint64_t racy_runs, told_runs;
	/* Pages, each once a reader and a writer: unordered, at one byte, told of, both of these */
	uint64_t pages_unordered, pages_raced, pages_told, pages_right;
};

/* False if it failed; @why (160 bytes) says how. @tally may be NULL. */
bool random_run(uint64_t seed, char *why, struct random_tally *tally);

/* The same program, and writes that race stay in it; the cores look for races. */
bool random_racy_run(uint64_t seed, char *why, struct random_tally *tally);

/* Leaves out of a program that fails what can be, and prints what is left. */
void random_shrink(uint64_t seed);

#endif
