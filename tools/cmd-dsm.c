// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde dsm - a table of subcommands: jobs of libsonde-dsm
 */
#include "dsm.h"

static const struct cli_command *const subcommands[] = {
	&dsm_top,
	NULL,
};

static int run(int argc, char **argv)
{
	return cli_run_subcommand(&cmd_dsm, argc, argv);
}

static const struct cli_option options[] = {
	{ "help", 'h', NULL, "this list; after a subcommand its options", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct cli_command cmd_dsm = {
	.name = "dsm",
	.summary = "running jobs of the distributed shared memory",
	.options = options,
	.run = run,
	.subcommands = subcommands,
};
