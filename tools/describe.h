/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results in words: the same cells for the terminal and for the page. */
#ifndef SONDE_TOOLS_DESCRIBE_H
#define SONDE_TOOLS_DESCRIBE_H

#include <stdio.h>
#include "measure.h"
#include "text.h"

#define CELL_LEN 256

/* Whether a claim fits what was measured. */
enum verdict {
	VERDICT_NONE,		/* nothing claimed, or nothing measured */
	VERDICT_AGREES,
	VERDICT_DISAGREES,
	VERDICT_OPEN,		/* the size cannot be told, so nothing can */
	VERDICT_UNSURE,		/* it is not the same, but that is not sure */
};

/**
 * struct cache_row - one line of the table of caches
 * @level: "L1d", "L2", "memory"; "" where a line is a further claim of the level
 *         above it
 * @by: who claims
 * @claim_verdict: the verdict as a word, "" if there is none
 */
struct cache_row {
	char level[16];
	char measured[CELL_LEN];
	char ns[TEXT_LEN];
	char cycles[TEXT_LEN];
	char confidence[16];
	char claimed[CELL_LEN];
	char by[CELL_LEN];
	enum verdict verdict;
	char claim_verdict[24];
};

/* For every level measured or claimed, nearest first, a row for each thing that
 * is claimed of it, and memory; to be freed. Return: how many, -ENOMEM. */
int describe_caches(const struct machine *m, struct cache_row **rows);

/* "48 KiB", "2.04 MiB (1.68 MiB to 2.45 MiB)", "cannot be told here" */
void describe_size(const struct sonde_cache_level *level, char *buf, size_t len);

/* "1.68 MiB to 2.45 MiB", "at least 1 MiB"; "" if both ends are 0 */
void describe_interval(uint64_t low, uint64_t high, char *buf, size_t len);

/* "L1d", "L2" */
void describe_level_name(const struct machine *m, unsigned int level, char *buf, size_t len);

/* The deepest level measured or claimed; what was measured of one, or NULL. */
unsigned int find_deepest(const struct machine *m);
const struct sonde_cache_level *find_level(const struct machine *m, unsigned int number);

/* "96 pages (384 KiB): 7.0 cycles more a load beyond" */
char *describe_tlb_step(const struct machine *m, const struct sonde_tlb_step *step, char *buf,
			size_t len);

/* What is claimed or measured of the machine and the clock: names and values. */
struct fact {
	const char *name;
	char value[CELL_LEN];
};

#define MAX_FACTS 8

size_t describe_machine(const struct machine *m, struct fact facts[MAX_FACTS]);
size_t describe_clock(const struct sonde_clock_info *info, struct fact facts[MAX_FACTS]);

/**
 * struct backend - what a seam uses
 * @why: why nothing better and what is lost; NULL if it is the best
 */
struct backend {
	const char *seam;
	const char *purpose;
	const char *using;
	const char *why;
};

#define NBACKENDS 4

void describe_backends(const struct machine *m, struct backend backends[NBACKENDS]);

/* The table on standard output. */
int print_caches(const struct machine *m);

/* All that `sonde cache` prints. Return: its exit status. */
int show_caches(const struct machine *m, int json, int curve);
void print_curve(const struct sonde_cache_report *caches);
void print_facts(const struct fact *facts, size_t n);
void print_backends(const struct machine *m);

#endif
