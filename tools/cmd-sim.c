// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde sim - a table of subcommands: what cannot be run here is simulated
 */
#include "sim.h"

static const struct cli_command *const subcommands[] = {
	&sim_alltoall,
	NULL,
};

static int run(int argc, char **argv)
{
	return cli_run_subcommand(&cmd_sim, argc, argv);
}

static const struct cli_option options[] = {
	{ "help", 'h', NULL, "this list; after a subcommand its options", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct cli_command cmd_sim = {
	.name = "sim",
	.summary = "alltoall on clusters that are not at hand, simulated",
	.options = options,
	.run = run,
	.subcommands = subcommands,
};
