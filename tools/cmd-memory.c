// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde memory - what CPUs get of the memory, alone and together
 */
#include <stdlib.h>
#include "cpus.h"
#include "memory.h"

struct memory_options {
	struct measure_options measure;
	const char *list;
	int all_pairs;
};

static int set_cpus(void *opts, const char *arg)
{
	struct memory_options *o = opts;

	o->list = arg;
	return CLI_DONE;
}

static int set_all_pairs(void *opts, const char *arg)
{
	struct memory_options *o = opts;

	(void)arg;
	o->all_pairs = 1;
	return CLI_DONE;
}

static const struct cli_option options[] = {
	{ "cpus", 0, "LIST", "measure these CPUs (0-3,8); else all that are allowed", set_cpus },
	{ "all-pairs", 0, NULL, "measure every two, also those that are claimed to be alike",
	  set_all_pairs },
	{ "max-size", 0, "SIZE", "the most memory to use; else a quarter of what is free",
	  measure_set_max_size },
	{ "seed", 0, "N", "of the choice of pairs; else 1", measure_set_seed },
	MEASURE_SAMPLES_OPTION,
	CLI_COMMON_OPTIONS
};

static int measure(struct machine *m, const struct memory_options *o, const unsigned int *cpus,
		   size_t ncpus)
{
	int status = machine_open(m, (int)cpus[0]);

	if (status == CLI_DONE)
		status = machine_start_samples(m, &o->measure);
	if (status == CLI_DONE)
		status = machine_measure_memory(m, &o->measure, cpus, ncpus, o->all_pairs);
	if (status == CLI_DONE)
		status = machine_save_samples(m, &o->measure);
	if (status == CLI_DONE && !cli_stop_requested())
		status = show_memory(m, o->measure.common.json);
	machine_close(m);
	return status;
}

static int run(int argc, char **argv)
{
	struct memory_options o = { .measure = { .cpu = -1, .seed = 1 } };
	unsigned int *cpus = NULL;
	struct machine m;
	size_t ncpus = 0;
	int status = cli_parse(&cmd_memory, argc, argv, &o);

	if (status >= 0)
		return status;
	status = o.list ? cpus_check(o.list) : CLI_DONE;
	if (status == CLI_DONE)
		status = cpus_choose(o.list, &cpus, &ncpus);
	if (status == CLI_DONE) {
		cli_stop_catch();
		status = measure(&m, &o, cpus, ncpus);
	}
	free(cpus);
	if (cli_stop_requested())
		cli_stop_die();
	return status;
}

const struct cli_command cmd_memory = {
	.name = "memory",
	.summary = "what CPUs get of the memory, alone and together, and what it costs them",
	.options = options,
	.run = run,
};
