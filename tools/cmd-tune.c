// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde tune - hand over to the program that measures with the job's MPI
 *
 * This program needs no MPI. Each rank becomes the one that was built for the MPI
 * that started it: coll/tune/.
 */
#include <limits.h>
#include <stdio.h>
#include "launcher.h"
#include "tune.h"

static int run_alltoall(int argc, char **argv);

static const struct cli_command tune_alltoall = {
	.name = "tune alltoall",
	.summary = "which composition of MPI_Alltoall is best for each size, in an MPI job",
	.options = tune_options_table,
	.run = run_alltoall,
};

/* Return: -1, or the status to exit with. */
static int choose_program(const struct tune_options *o, const struct launcher *launcher,
			  char path[PATH_MAX])
{
	if (launcher)
		return launcher_choose(launcher, "sonde-tune", o->mpi, path);
	cli_error("it measures an MPI job: start it as sonde run mpiexec -n 8 sonde tune alltoall");
	return CLI_USAGE;
}

static int run_alltoall(int argc, char **argv)
{
	const struct launcher *launcher = launcher_find();
	struct tune_options o = TUNE_DEFAULTS;
	struct launcher_hush hush = { -1, -1 };
	char path[PATH_MAX];
	int status;

	if (!launcher_is_first(launcher))
		launcher_hush(&hush);
	status = cli_parse(&tune_alltoall, argc, argv, &o);
	if (status < 0 && tune_options_check(&o) != CLI_DONE)
		status = CLI_USAGE;
	if (status < 0)
		status = choose_program(&o, launcher, path);
	if (status >= 0)
		return status;
	launcher_unhush(&hush);
	return launcher_become(path, argv);
}

static const struct cli_command *const subcommands[] = {
	&tune_alltoall,
	NULL,
};

static int run(int argc, char **argv)
{
	return cli_run_subcommand(&cmd_tune, argc, argv);
}

static const struct cli_option options[] = {
	{ "help", 'h', NULL, "this list; after a subcommand its options", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct cli_command cmd_tune = {
	.name = "tune",
	.summary = "measure in an MPI job which rules its collectives should follow",
	.options = options,
	.run = run,
	.subcommands = subcommands,
};
