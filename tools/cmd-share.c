// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde share - which CPUs share which cache
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <hwloc.h>
#include "sharing.h"
#include "text.h"

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
	{ "budget", 0, "SECONDS", "the most that measuring the caches first may take; else 3",
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

/* Digits, commas and ranges that ascend: hwloc also takes what it cannot read. */
static int is_list(const char *text)
{
	unsigned long low, high;
	char *end;

	do {
		if (*text < '0' || *text > '9')
			return 0;
		low = high = strtoul(text, &end, 10);
		if (*end == '-' && end[1] >= '0' && end[1] <= '9')
			high = strtoul(end + 1, &end, 10);
		if (high < low || high >= 1 << 20)
			return 0;
		text = end + 1;
	} while (*end == ',');
	return !*end;
}

static hwloc_bitmap_t parse_list(const char *list)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	if (set && hwloc_bitmap_list_sscanf(set, list)) {
		hwloc_bitmap_free(set);
		set = NULL;
	}
	return set;
}

static void say_allowed(unsigned int cpu, const unsigned int *allowed, size_t n)
{
	char *list = text_cpus(allowed, n);

	cli_error("CPU %u is not among those this process may run on: %s", cpu,
		  list ? list : "?");
	free(list);
}

static int is_among(unsigned int cpu, const unsigned int *cpus, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (cpus[i] == cpu)
			return 1;
	return 0;
}

/* Keeps of @cpus those of the list; all of the list must be among them. */
static int choose_listed(const char *list, unsigned int *cpus, size_t *n)
{
	hwloc_bitmap_t set = parse_list(list);
	unsigned int cpu;
	size_t kept = 0;
	int status = CLI_DONE;

	if (!set) {
		cli_error("not enough memory for the list of CPUs");
		return CLI_FAILED;
	}
	hwloc_bitmap_foreach_begin(cpu, set)
		if (status == CLI_DONE && !is_among(cpu, cpus, *n)) {
			say_allowed(cpu, cpus, *n);
			status = CLI_USAGE;
		}
	hwloc_bitmap_foreach_end();
	for (size_t i = 0; i < *n; i++)
		if (hwloc_bitmap_isset(set, cpus[i]))
			cpus[kept++] = cpus[i];
	hwloc_bitmap_free(set);
	*n = kept;
	return status;
}

/* Before anything is measured, and so before the machine is opened. */
static int check_options(const struct share_options *o)
{
	if (o->list && !is_list(o->list))
		cli_error("--cpus wants a list of CPUs such as 0-3,8, not '%s'", o->list);
	else if (o->measure.samples && o->measure.method == METHOD_SERVET)
		cli_error("--samples: of Servet's comparisons none are kept; leave --samples or "
			  "--method servet out");
	else
		return CLI_DONE;
	return CLI_USAGE;
}

static int list_allowed(unsigned int **cpus, size_t *n)
{
	struct sonde_topology *topo;
	int err = sonde_topology_open(&topo), count;

	if (err) {
		cli_error("cannot open the topology: %s", strerror(-err));
		return CLI_FAILED;
	}
	count = sonde_topology_cpus(topo, NULL, 0);
	*cpus = count < 0 ? NULL : calloc((size_t)count + 1, sizeof(**cpus));
	if (*cpus)
		*n = (size_t)sonde_topology_cpus(topo, *cpus, (size_t)count);
	sonde_topology_close(topo);
	if (*cpus)
		return CLI_DONE;
	cli_error("not enough memory for the list of CPUs");
	return CLI_FAILED;
}

static int choose_cpus(const struct share_options *o, unsigned int **cpus, size_t *n)
{
	int status = list_allowed(cpus, n);

	if (status != CLI_DONE)
		return status;
	if (*n < 2) {
		cli_error("this process may run on CPU %u only, and one CPU shares nothing; give "
			  "it more (taskset, cpuset)", **cpus);
		return CLI_CANNOT_MEASURE;
	}
	if (o->list)
		status = choose_listed(o->list, *cpus, n);
	if (status == CLI_DONE && *n < 2) {
		cli_error("--cpus: one CPU shares nothing; name two or more");
		status = CLI_USAGE;
	}
	return status;
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
