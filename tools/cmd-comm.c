// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde comm - communication between CPUs, or in an MPI job between its ranks
 *
 * A rank becomes the program of its MPI, which finds mistakes too: only there can
 * ranks see whether all were told the same.
 */
#include <limits.h>
#include <stdlib.h>
#include "comm.h"
#include "cpus.h"
#include "launcher.h"

static int show(const struct machine *m, const struct comm_options *o)
{
	if (o->common.json) {
		sonde_profile_dump(m->profile, stdout);
	} else if (print_comm(m->comm, 1)) {
		cli_error("not enough memory for the table");
		return CLI_FAILED;
	}
	return CLI_DONE;
}

static int measure(struct machine *m, const struct comm_options *o, const unsigned int *cpus,
		   size_t ncpus)
{
	int status = machine_open(m, (int)cpus[0]);

	if (status == CLI_DONE)
		status = machine_measure_comm(m, o, cpus, ncpus);
	if (status == CLI_DONE && o->figure)
		status = write_latency_figure(m->comm, o->figure);
	if (status == CLI_DONE && !cli_stop_requested())
		status = show(m, o);
	machine_close(m);
	return status;
}

static int run_here(const struct comm_options *o)
{
	unsigned int *cpus = NULL;
	size_t ncpus = 0;
	struct machine m;
	int status = o->list ? cpus_check(o->list) : CLI_DONE;

	if (status == CLI_DONE)
		status = cpus_choose(o->list, &cpus, &ncpus);
	if (status == CLI_DONE) {
		cli_stop_catch();
		status = measure(&m, o, cpus, ncpus);
	}
	free(cpus);
	if (cli_stop_requested())
		cli_stop_die();
	return status;
}

/* Whoever asks for help gets it once. */
static int run_rank(const struct launcher *launcher, int argc, char **argv)
{
	struct comm_options o = COMM_DEFAULTS;
	const int is_first = launcher_is_first(launcher);
	struct launcher_hush hush;
	char path[PATH_MAX];
	int status;

	launcher_hush(&hush);
	status = cli_parse(&cmd_comm, argc, argv, &o);
	launcher_unhush(&hush);
	if (status == CLI_DONE)
		return is_first ? cli_parse(&cmd_comm, argc, argv, &o) : status;
	if (!is_first)
		launcher_hush(&hush);
	status = launcher_choose(launcher, "sonde-comm", o.mpi, path);
	if (!is_first)
		launcher_unhush(&hush);
	return status >= 0 ? status : launcher_become(path, argv);
}

static int run(int argc, char **argv)
{
	const struct launcher *launcher = launcher_find();
	struct comm_options o = COMM_DEFAULTS;
	int status;

	if (launcher)
		return run_rank(launcher, argc, argv);
	status = cli_parse(&cmd_comm, argc, argv, &o);
	return status >= 0 ? status : run_here(&o);
}

const struct cli_command cmd_comm = {
	.name = "comm",
	.summary = "what messages cost between CPUs, or in an MPI job between its ranks",
	.options = comm_options_table,
	.run = run,
};
