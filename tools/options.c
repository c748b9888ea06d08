// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * options - a command's options from its table: parsing, help, refusals
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sonde/log.h>
#include "cli.h"

#define MAX_OPTIONS 32

static const char *command_name;

void cli_set_command(const char *name)
{
	command_name = name;
}

void cli_error(const char *fmt, ...)
{
	va_list ap;

	cli_progress_end();
	fprintf(stderr, "sonde%s%s: ", command_name ? " " : "", command_name ? command_name : "");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void print_log(void *ctx, const char *line)
{
	(void)ctx;
	cli_error("%s", line);
}

int cli_set_json(void *options, const char *arg)
{
	struct cli_common *common = options;

	(void)arg;
	common->json = 1;
	return CLI_DONE;
}

int cli_set_verbose(void *options, const char *arg)
{
	(void)options;
	(void)arg;
	sonde_set_log(print_log, NULL);
	return CLI_DONE;
}

static void list_subcommands(const struct cli_command *const *subcommand)
{
	for (; *subcommand; subcommand++)
		printf("  %-10s %s\n", strchr((*subcommand)->name, ' ') + 1,
		       (*subcommand)->summary);
	putchar('\n');
}

void cli_help(const struct cli_command *command)
{
	printf("usage: sonde %s%s [OPTION...]%s%s\n\n%s\n\n", command->name,
	       command->subcommands ? " SUBCOMMAND" : "", command->operand ? " " : "",
	       command->operand ? command->operand : "", command->summary);
	if (command->subcommands)
		list_subcommands(command->subcommands);
	for (const struct cli_option *o = command->options; o->name; o++) {
		char left[48];

		snprintf(left, sizeof(left), "%c%c%s --%s%s%s", o->letter ? '-' : ' ',
			 o->letter ? o->letter : ' ', o->letter ? "," : " ", o->name,
			 o->arg ? " " : "", o->arg ? o->arg : "");
		printf("  %-24s %s\n", left, o->help);
	}
	printf("\nManual: sonde-%.*s(1)\n", (int)strcspn(command->name, " "), command->name);
}

/* getopt_long's two views of the table; long options return 256 + index. */
static void fill_getopt(const struct cli_command *command, struct option *longs, char *shorts)
{
	const struct cli_option *table = command->options;
	size_t n = 0;

	/* What follows a program's name is the program's. */
	if (command->set_program)
		*shorts++ = '+';
	*shorts++ = ':';
	for (const struct cli_option *o = table; o->name && n < MAX_OPTIONS; o++, n++) {
		longs[n] = (struct option){
			.name = o->name,
			.has_arg = o->arg ? required_argument : no_argument,
			.val = 256 + (int)n,
		};
		if (!o->letter)
			continue;
		*shorts++ = (char)o->letter;
		if (o->arg)
			*shorts++ = ':';
	}
	*shorts = '\0';
	longs[n] = (struct option){ .name = NULL };
}

static const struct cli_option *find_option(const struct cli_option *table, int key)
{
	if (key >= 256)
		return &table[key - 256];
	for (const struct cli_option *o = table; o->name; o++)
		if (o->letter == key)
			return o;
	return NULL;
}

static int refuse_option(const struct cli_command *command, const char *word)
{
	const char *names[MAX_OPTIONS];
	const char *near = NULL;
	const struct cli_option *known = find_option(command->options, optopt);
	size_t n = 0;

	for (const struct cli_option *o = command->options; o->name && n < MAX_OPTIONS; o++)
		names[n++] = o->name;
	if (optopt >= 256 && known) {
		cli_error("--%s takes no argument", known->name);
		return CLI_USAGE;
	}
	if (!strncmp(word, "--", 2))
		near = cli_suggest(word + 2, names, n);
	if (near)
		cli_error("unknown option '%s', did you mean '--%s'? `sonde %s --help` lists them",
			  word, near, command->name);
	else if (optopt)
		cli_error("unknown option '-%c'; `sonde %s --help` lists them", optopt,
			  command->name);
	else
		cli_error("unknown option '%s'; `sonde %s --help` lists them", word,
			  command->name);
	return CLI_USAGE;
}

static int take_operand(const struct cli_command *command, int n, char **words, void *options)
{
	int taken = command->set_operand && n;

	if (n && command->set_program)
		return command->set_program(options, words);
	if (n > taken) {
		cli_error("does not take '%s'; `sonde %s --help` lists the options",
			  words[taken], command->name);
		return CLI_USAGE;
	}
	if (command->operand && !n) {
		cli_error("needs %s; `sonde %s --help` lists the options", command->operand,
			  command->name);
		return CLI_USAGE;
	}
	return taken ? command->set_operand(options, words[0]) : CLI_DONE;
}

int cli_parse(const struct cli_command *command, int argc, char **argv, void *options)
{
	struct option longs[MAX_OPTIONS + 1];
	char shorts[2 * MAX_OPTIONS + 3];
	int key;

	fill_getopt(command, longs, shorts);
	opterr = 0;
	optind = 0;
	while ((key = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct cli_option *option = NULL;

		if (key == '?')
			return refuse_option(command, argv[optind - 1]);
		option = find_option(command->options, key == ':' ? optopt : key);
		if (key == ':') {
			cli_error("--%s needs its argument: %s", option->name, option->arg);
			return CLI_USAGE;
		}
		if (!option->set) {
			cli_help(command);
			return CLI_DONE;
		}
		if (option->set(options, optarg) != CLI_DONE)
			return CLI_USAGE;
	}
	return take_operand(command, argc - optind, argv + optind, options) == CLI_DONE ? -1
										 : CLI_USAGE;
}
