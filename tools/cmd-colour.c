// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde colour - a table of subcommands, one file each
 */
#include "colour.h"

static const struct cli_command *const subcommands[] = {
	&colour_alloc,
	&colour_map,
	&colour_verify,
	&colour_classes,
	NULL,
};

static int run(int argc, char **argv)
{
	return cli_run_subcommand(&cmd_colour, argc, argv);
}

static const struct cli_option options[] = {
	{ "help", 'h', NULL, "this list; after a subcommand its options", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct cli_command cmd_colour = {
	.name = "colour",
	.summary = "memory of chosen colours, and what colours there are",
	.options = options,
	.run = run,
	.subcommands = subcommands,
};
