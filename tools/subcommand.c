// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * subcommand - commands whose second word says what to do
 */
#include <string.h>
#include "cli.h"

#define MAX_SUBCOMMANDS 16

/* "colour alloc": what is typed is the second word. */
static const char *get_word(const struct cli_command *subcommand)
{
	return strchr(subcommand->name, ' ') + 1;
}

static int refuse(const struct cli_command *command, const char *word)
{
	const char *words[MAX_SUBCOMMANDS];
	const char *near;
	size_t n = 0;

	for (; n < MAX_SUBCOMMANDS && command->subcommands[n]; n++)
		words[n] = get_word(command->subcommands[n]);
	near = cli_suggest(word, words, n);
	if (*word == '-')
		cli_error("unknown option '%s'; `sonde %s --help` lists them", word,
			  command->name);
	else if (near)
		cli_error("unknown subcommand '%s', did you mean '%s'? `sonde %s --help` "
			  "lists them", word, near, command->name);
	else
		cli_error("unknown subcommand '%s'; `sonde %s --help` lists them", word,
			  command->name);
	return CLI_USAGE;
}

int cli_run_subcommand(const struct cli_command *command, int argc, char **argv)
{
	if (argc < 2) {
		cli_error("no subcommand; `sonde %s --help` lists them", command->name);
		return CLI_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		cli_help(command);
		return CLI_DONE;
	}
	for (size_t i = 0; command->subcommands[i]; i++) {
		if (strcmp(argv[1], get_word(command->subcommands[i])))
			continue;
		cli_set_command(command->subcommands[i]->name);
		return command->subcommands[i]->run(argc - 1, argv + 1);
	}
	return refuse(command, argv[1]);
}
