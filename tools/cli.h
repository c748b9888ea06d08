/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands of `sonde` share: options, errors, signals, progress. */
#ifndef SONDE_TOOLS_CLI_H
#define SONDE_TOOLS_CLI_H

#include <stddef.h>
#include <stdint.h>

/* Exit statuses. */
enum {
	CLI_DONE = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
	CLI_CANNOT_MEASURE = 77,
};

/**
 * struct cli_option - one option of a command; a table ends with .name NULL
 * @name: long form without dashes
 * @letter: short form, 0 if there is none
 * @arg: what its argument is called, NULL if it takes none
 * @help: one line
 * @set: stores @arg in the command's options; returns CLI_DONE, or CLI_USAGE
 *       after it said why not
 */
struct cli_option {
	const char *name;
	int letter;
	const char *arg;
	const char *help;
	int (*set)(void *options, const char *arg);
};

/**
 * struct cli_command - one command of `sonde`
 * @name: as typed
 * @summary: what it does, half a line
 * @options: its table
 * @run: takes argv from the command's name on; returns the exit status
 * @subcommands: ends with NULL; NULL if it has none. Their names are two words
 * @operand: what it takes beside options, exactly one; NULL if nothing, or if
 *           there is a set_operand() none or one
 * @set_operand: as cli_option.set
 * @set_program: in place of an operand: takes a program and its arguments, up to
 *               a NULL; options end where it begins
 */
struct cli_command {
	const char *name;
	const char *summary;
	const struct cli_option *options;
	int (*run)(int argc, char **argv);
	const struct cli_command *const *subcommands;
	const char *operand;
	int (*set_operand)(void *options, const char *arg);
	int (*set_program)(void *options, char **argv);
};

extern const struct cli_command cmd_analyse, cmd_bench, cmd_cache, cmd_clock, cmd_colour, cmd_comm,
	cmd_dsm, cmd_info, cmd_map, cmd_memory, cmd_report, cmd_run, cmd_share, cmd_sim, cmd_tune;

/* Every command's options begin with this, and its table ends with the macro. */
struct cli_common {
	int json;
};

int cli_set_json(void *options, const char *arg);
int cli_set_verbose(void *options, const char *arg);

#define CLI_COMMON_OPTIONS \
	{ "json", 0, NULL, "print JSON, see sonde-profile(5)", cli_set_json }, \
	{ "verbose", 'v', NULL, "say on standard error what the library decides", \
	  cli_set_verbose }, \
	{ "help", 'h', NULL, "this list", NULL }, \
	{ NULL, 0, NULL, NULL, NULL }

/**
 * cli_parse() - options of a command by its table
 * @options: handed to each set()
 *
 * Return: -1 to go on, else the status to exit with (help given, usage error).
 */
int cli_parse(const struct cli_command *command, int argc, char **argv, void *options);

void cli_help(const struct cli_command *command);

/**
 * cli_run_subcommand() - the one that argv[1] names
 * @command: with its table of subcommands
 *
 * Return: its exit status, or CLI_USAGE after it was said that there is none.
 */
int cli_run_subcommand(const struct cli_command *command, int argc, char **argv);

/**
 * cli_error() - one line on standard error: "sonde COMMAND: ..."
 *
 * Clears the progress line first.
 */
__attribute__((format(printf, 1, 2)))
void cli_error(const char *fmt, ...);

/* The command that speaks in cli_error(). */
void cli_set_command(const char *name);

/* Numbers: CLI_DONE, or CLI_USAGE after saying what @name wants. */
int cli_parse_count(const char *name, const char *arg, uint64_t max, uint64_t *value);
int cli_parse_seconds(const char *name, const char *arg, double *value);
int cli_parse_size(const char *name, const char *arg, size_t *value);

/* The nearest of @n words, or NULL if none is near enough to be meant. */
const char *cli_suggest(const char *word, const char *const *words, size_t n);

/* Signals that end a program: the first one is remembered, so that what has
 * begun can be undone; then cli_stop_die() ends as that signal would have. */
void cli_stop_catch(void);
int cli_stop_requested(void);
_Noreturn void cli_stop_die(void);

/* One line on a terminal, rewritten; nothing if standard error is not one. */
void cli_progress(double done, const char *what);
void cli_progress_end(void);

#endif
