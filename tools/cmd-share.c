// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde share - which CPUs share which cache
 */
#include <stdlib.h>
#include "cpus.h"
#include "sharing.h"

/* Sizes and latencies of the levels, before CPUs are compared. */
#define BUDGET_CACHES_S	3.0
/* Walks through the pool come on top of it: see lib/probe/README.md. */
#define MEMORY_MOST	((size_t)192 << 20)

struct share_options {
	struct measure_options measure;
	const char *list;
	int matrix;
};

static int set_cpus(void *opts, const char *arg)
{
	struct share_options *o = opts;

	o->list = arg;
	return CLI_DONE;
}

static int set_matrix(void *opts, const char *arg)
{
	struct share_options *o = opts;

	(void)arg;
	o->matrix = 1;
	return CLI_DONE;
}

static const struct cli_option options[] = {
	{ "cpus", 0, "LIST", "compare these CPUs (0-3,8); else all that are allowed", set_cpus },
	{ "matrix", 0, NULL, "compare every two, and print what each comparison gave",
	  set_matrix },
	{ "budget", 0, "SECONDS", "the most that the latency curve may take first; else 3",
	  measure_set_budget },
	{ "max-size", 0, "SIZE", "the most memory to walk through; else 192M",
	  measure_set_max_size },
	{ "seed", 0, "N", "of the random walks: the same seed, the same walks; else 1",
	  measure_set_seed },
	MEASURE_METHOD_OPTION,
	MEASURE_METER_OPTIONS,
	MEASURE_SAMPLES_OPTION,
	CLI_COMMON_OPTIONS
};

/* Before anything is measured, and so before the machine is opened. */
static int check_options(const struct share_options *o)
{
	if (o->list && cpus_check(o->list) != CLI_DONE)
		return CLI_USAGE;
	if (o->measure.samples && o->measure.method == METHOD_SERVET)
		cli_error("--samples: of Servet's comparisons none are kept; leave --samples or "
			  "--method servet out");
	else
		return CLI_DONE;
	return CLI_USAGE;
}

static int choose_cpus(const struct share_options *o, unsigned int **cpus, size_t *n)
{
	int status = cpus_choose(o->list, cpus, n);

	if (status != CLI_DONE || *n >= 2)
		return status;
	if (!o->list) {
		cli_error("this process may run on CPU %u only, and one CPU shares nothing; give "
			  "it more (taskset, cpuset)", **cpus);
		return CLI_CANNOT_MEASURE;
	}
	cli_error("--cpus: one CPU shares nothing; name two or more");
	return CLI_USAGE;
}

static int is_known(const struct sonde_share_report *r)
{
	for (size_t i = 0; i < r->nlevels; i++)
		for (size_t g = 0; g < r->levels[i].ngroups; g++)
			if (r->levels[i].groups[g].verdict != SONDE_SHARE_UNKNOWN)
				return 1;
	return 0;
}

int show_sharing(const struct machine *m, int json, int matrix)
{
	if (json) {
		sonde_profile_dump(m->profile, stdout);
	} else if (print_sharing(m)) {
		cli_error("not enough memory for the table");
		return CLI_FAILED;
	} else if (matrix) {
		print_sharing_matrix(m->sharing);
	}
	return is_known(m->sharing) ? CLI_DONE : CLI_CANNOT_MEASURE;
}

static int measure(struct machine *m, const struct share_options *o, const unsigned int *cpus,
		   size_t ncpus)
{
	int status = machine_open(m, (int)cpus[0]);

	if (status == CLI_DONE)
		status = machine_choose_meter(m, &o->measure);
	if (status == CLI_DONE)
		status = machine_measure_caches(m, &o->measure);
	if (status == CLI_DONE)
		status = machine_measure_sharing(m, &o->measure, cpus, ncpus, o->matrix);
	if (status == CLI_DONE)
		status = machine_save_samples(m, &o->measure);
	if (status == CLI_DONE && !cli_stop_requested())
		status = show_sharing(m, o->measure.common.json, o->matrix);
	machine_close(m);
	return status;
}

static int run(int argc, char **argv)
{
	struct share_options o = {
		.measure = { .cpu = -1, .budget_s = BUDGET_CACHES_S, .seed = 1,
			     .max_bytes = MEMORY_MOST },
	};
	struct machine m;
	unsigned int *cpus = NULL;
	size_t ncpus = 0;
	int status = cli_parse(&cmd_share, argc, argv, &o);

	if (status >= 0)
		return status;
	status = check_options(&o);
	if (status == CLI_DONE)
		status = choose_cpus(&o, &cpus, &ncpus);
	if (status == CLI_DONE) {
		cli_stop_catch();
		status = measure(&m, &o, cpus, ncpus);
	}
	free(cpus);
	if (cli_stop_requested())
		cli_stop_die();
	return status;
}

const struct cli_command cmd_share = {
	.name = "share",
	.summary = "which CPUs share which cache, measured beside claimed",
	.options = options,
	.run = run,
};
