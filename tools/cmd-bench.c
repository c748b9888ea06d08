// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde bench - a table of subcommands: what programs can choose by is measured
 */
#include "bench.h"

static const struct cli_command *const subcommands[] = {
	&bench_copy,
	NULL,
};

static int run(int argc, char **argv)
{
	return cli_run_subcommand(&cmd_bench, argc, argv);
}

static const struct cli_option options[] = {
	{ "help", 'h', NULL, "this list; after a subcommand its options", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct cli_command cmd_bench = {
	.name = "bench",
	.summary = "what copies between processes cost, by every way there is",
	.options = options,
	.run = run,
	.subcommands = subcommands,
};
