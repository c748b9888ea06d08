/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measuring this machine, for the commands that do. */
#ifndef SONDE_TOOLS_MEASURE_H
#define SONDE_TOOLS_MEASURE_H

#include <sonde/clock.h>
#include <sonde/frames.h>
#include <sonde/probe.h>
#include <sonde/profile.h>
#include <sonde/topology.h>
#include "cli.h"

/* Seconds for the cache probe. The report's clock, pictures and files come on
 * top, and it promises 60 s, or 15 s with --quick, on a machine that is busy. */
#define BUDGET_FULL_S	40.0
#define BUDGET_QUICK_S	8.0

#define MAX_CLAIMS 16

/**
 * struct measure_options - begins the options of `cache` and `report`
 * @cpu: -1: the first one allowed
 */
struct measure_options {
	struct cli_common common;
	int cpu;
	double budget_s;
	size_t max_bytes;
	uint64_t seed;
};

#define MEASURE_DEFAULTS { .cpu = -1, .budget_s = BUDGET_FULL_S, .seed = 1 }

int measure_set_cpu(void *options, const char *arg);
int measure_set_budget(void *options, const char *arg);
int measure_set_quick(void *options, const char *arg);
int measure_set_max_size(void *options, const char *arg);
int measure_set_seed(void *options, const char *arg);

#define MEASURE_OPTIONS \
	{ "cpu", 0, "N", "measure on this CPU; else on the first one allowed", \
	  measure_set_cpu }, \
	{ "budget", 0, "SECONDS", "the most that measuring caches may take; else 40", \
	  measure_set_budget }, \
	{ "quick", 0, NULL, "the same as --budget 8", measure_set_quick }, \
	{ "max-size", 0, "SIZE", "largest working set; else chosen from the free memory", \
	  measure_set_max_size }, \
	{ "seed", 0, "N", "of the random walks: the same seed, the same walks; else 1", \
	  measure_set_seed }

/**
 * struct machine - what is known of this machine
 * @cpu: the one to measure on
 * @claims: @nclaims caches claimed of it
 * @caches: NULL until measured
 * @profile: all of it as a document
 */
struct machine {
	struct sonde_topology *topo;
	struct sonde_clock *clk;
	struct sonde_frames_source *frames;
	unsigned int cpu;
	struct sonde_cache_claim claims[MAX_CLAIMS];
	size_t nclaims;
	struct sonde_cache_report *caches;
	struct sonde_profile *profile;
};

/* Both return an exit status, after an error was said. machine_close() takes
 * what machine_open() left, also on failure. */
int machine_open(struct machine *m, int cpu);
int machine_measure_caches(struct machine *m, const struct measure_options *options);
void machine_close(struct machine *m);

/* What measures: a seam with one implementation so far. */
#define METER_NAME	"user space"

#endif
