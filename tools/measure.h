/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measuring this machine, for the commands that do. */
#ifndef SONDE_TOOLS_MEASURE_H
#define SONDE_TOOLS_MEASURE_H

#include <sonde/claims.h>
#include <sonde/clock.h>
#include <sonde/comm.h>
#include <sonde/frames.h>
#include <sonde/prefetch.h>
#include <sonde/memory.h>
#include <sonde/probe.h>
#include <sonde/profile.h>
#include <sonde/region.h>
#include <sonde/samples.h>
#include <sonde/share.h>
#include <sonde/topology.h>
#include "cli.h"

/* Seconds for the cache probe. The report's clock, pictures and files come on
 * top, and it promises 90 s, or 20 s with --quick, where the CPUs are not busy. */
#define BUDGET_FULL_S	40.0
#define BUDGET_QUICK_S	8.0

#define MAX_CLAIMS 16

enum measure_method {
	METHOD_SONDE,
	METHOD_SERVET,
};

/**
 * struct measure_options - begins the options of `cache` and `report`
 * @cpu: -1: the first one allowed, or where that is disturbed one like it
 * @levels: to look for by conflicts; 0: all
 * @meter: where the loops run
 * @no_prefetch: with the prefetchers switched off
 * @method: how sizes are found
 * @samples: the file for what the probes are told, NULL for none
 */
struct measure_options {
	struct cli_common common;
	int cpu;
	double budget_s;
	size_t max_bytes;
	unsigned int levels;
	uint64_t seed;
	enum sonde_meter meter;
	int no_prefetch;
	enum measure_method method;
	const char *samples;
};

#define MEASURE_DEFAULTS { .cpu = -1, .budget_s = BUDGET_FULL_S, .seed = 1 }

int measure_set_cpu(void *options, const char *arg);
int measure_set_budget(void *options, const char *arg);
int measure_set_quick(void *options, const char *arg);
int measure_set_max_size(void *options, const char *arg);
int measure_set_seed(void *options, const char *arg);
int measure_set_samples(void *options, const char *arg);
int measure_set_method(void *options, const char *arg);
int measure_set_meter(void *options, const char *arg);
int measure_set_no_prefetch(void *options, const char *arg);

#define MEASURE_OPTIONS \
	{ "cpu", 0, "N", "measure on this CPU; else on one that is allowed", \
	  measure_set_cpu }, \
	{ "budget", 0, "SECONDS", "the most that the latency curve may take; else 40", \
	  measure_set_budget }, \
	{ "quick", 0, NULL, "the same as --budget 8", measure_set_quick }, \
	{ "max-size", 0, "SIZE", "largest working set; else chosen from the free memory", \
	  measure_set_max_size }, \
	{ "seed", 0, "N", "of the random walks: the same seed, the same walks; else 1", \
	  measure_set_seed }, \
	MEASURE_METER_OPTIONS, \
	MEASURE_SAMPLES_OPTION

#define MEASURE_METHOD_OPTION \
	{ "method", 0, "NAME", "sonde, or servet as published, to compare; else sonde", \
	  measure_set_method }

#define MEASURE_METER_OPTIONS \
	{ "meter", 0, "NAME", "the loops run in user space, or in the module; else user", \
	  measure_set_meter }, \
	{ "no-prefetch", 0, NULL, "prefetchers off meanwhile (the module, root)", \
	  measure_set_no_prefetch }

#define MEASURE_SAMPLES_OPTION \
	{ "samples", 0, "FILE", "keep the raw samples, for sonde analyse", measure_set_samples }

/**
 * struct machine - what is known of this machine
 * @cpu: the one to measure on, or that was measured
 * @claims: @nclaims caches that hwloc claims of it
 * @claimed: what every source claims of it
 * @caches: NULL until measured
 * @sharing: NULL until measured
 * @memory: likewise
 * @comm: likewise
 * @transfers: what copies between processes cost; NULL until measured
 * @profile: all of it as a document
 * @recorder: of the samples; NULL if they are not kept
 * @prefetch: holds the prefetchers off; NULL if they are as they were
 */
struct machine {
	struct sonde_topology *topo;
	struct sonde_clock *clk;
	struct sonde_frames_source *frames;
	struct sonde_transfer *transfer;
	unsigned int cpu;
	struct sonde_cache_claim claims[MAX_CLAIMS];
	size_t nclaims;
	struct sonde_claims *claimed;
	struct sonde_cache_report *caches;
	struct sonde_share_report *sharing;
	struct sonde_memory_report *memory;
	struct sonde_comm_report *comm;
	struct bench_result *transfers;
	struct sonde_profile *profile;
	struct sonde_recorder *recorder;
	struct sonde_prefetch_switch *prefetch;
};

/* Both return an exit status, after an error was said. machine_close() takes
 * what machine_open() left, also on failure. */
int machine_open(struct machine *m, int cpu);

/* The CPUs this process may run on, to be freed. Return: how many, -ENOMEM. */
int machine_list_cpus(const struct machine *m, unsigned int **cpus);

/*
 * Those of them, without m->cpu, of which hwloc claims the same caches, to be freed: one may be
 * measured instead, if the options name none. Return: how many, -ENOMEM.
 */
int machine_list_alike(const struct machine *m, const struct measure_options *options,
		       unsigned int **cpus);

/* For what is measured from now on, as the options say. Return: an exit status,
 * after an error was said. */
int machine_choose_meter(struct machine *m, const struct measure_options *options);

int machine_measure_caches(struct machine *m, const struct measure_options *options);

/* Copies between processes, for a tenth of the time that caches may take. */
int machine_measure_transfers(struct machine *m, const struct measure_options *options);

/* m->caches, and what is claimed of the CPU that was measured, to the profile. Return: an
 * exit status. */
int machine_keep_caches(struct machine *m, enum measure_method method);

/* Begins the file of samples, if they are to be kept and it is not begun. Return: an
 * exit status. */
int machine_start_samples(struct machine *m, const struct measure_options *options);

/* Puts the samples into their file, if they are to be kept: after all that was
 * measured, before it is shown. Return: an exit status. */
int machine_save_samples(struct machine *m, const struct measure_options *options);

void machine_close(struct machine *m);
#endif
