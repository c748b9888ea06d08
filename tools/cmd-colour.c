// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde colour - a table of subcommands, one file each
 */
#include <string.h>
#include "colour.h"

static const struct cli_command *const subcommands[] = {
	&colour_alloc,
	&colour_map,
	&colour_verify,
	&colour_classes,
	NULL,
};

#define NSUBCOMMANDS (sizeof(subcommands) / sizeof(subcommands[0]) - 1)

/* "colour alloc": what is typed is the second word. */
static const char *get_word(const struct cli_command *subcommand)
{
	return strchr(subcommand->name, ' ') + 1;
}

static int refuse(const char *word)
{
	const char *words[NSUBCOMMANDS];
	const char *near;

	for (size_t i = 0; i < NSUBCOMMANDS; i++)
		words[i] = get_word(subcommands[i]);
	near = cli_suggest(word, words, NSUBCOMMANDS);
	if (*word == '-')
		cli_error("unknown option '%s'; `sonde colour --help` lists them", word);
	else if (near)
		cli_error("unknown subcommand '%s', did you mean '%s'? `sonde colour --help` "
			  "lists them", word, near);
	else
		cli_error("unknown subcommand '%s'; `sonde colour --help` lists them", word);
	return CLI_USAGE;
}

static int run(int argc, char **argv)
{
	if (argc < 2) {
		cli_error("no subcommand; `sonde colour --help` lists them");
		return CLI_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		cli_help(&cmd_colour);
		return CLI_DONE;
	}
	for (size_t i = 0; i < NSUBCOMMANDS; i++) {
		if (strcmp(argv[1], get_word(subcommands[i])))
			continue;
		cli_set_command(subcommands[i]->name);
		return subcommands[i]->run(argc - 1, argv + 1);
	}
	return refuse(argv[1]);
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
