// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde - the command: a table of commands and what they have in common
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"

static const struct cli_command *const commands[] = {
	&cmd_info,
	&cmd_report,
	&cmd_cache,
	&cmd_share,
	&cmd_memory,
	&cmd_comm,
	&cmd_colour,
	&cmd_clock,
	&cmd_bench,
	&cmd_run,
	&cmd_sim,
	&cmd_tune,
	&cmd_map,
	&cmd_dsm,
	&cmd_analyse,
};

#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(void)
{
	puts("usage: sonde COMMAND [OPTION...]\n"
	     "\n"
	     "Measures a machine: what its caches and clocks really are, beside what it claims.\n"
	     "\n"
	     "Commands:");
	for (size_t i = 0; i < NCOMMANDS; i++)
		printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
	puts("  help       what a command does and takes: sonde help COMMAND\n"
	     "\n"
	     "Options:\n"
	     "  -h, --help     this list\n"
	     "  -V, --version  the version\n"
	     "\n"
	     "Manual: sonde(1)");
}

static const struct cli_command *find_command(const char *name)
{
	for (size_t i = 0; i < NCOMMANDS; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static int refuse_command(const char *name)
{
	const char *names[NCOMMANDS + 1];
	const char *near;

	for (size_t i = 0; i < NCOMMANDS; i++)
		names[i] = commands[i]->name;
	names[NCOMMANDS] = "help";
	near = cli_suggest(name, names, NCOMMANDS + 1);
	if (*name == '-')
		cli_error("unknown option '%s'; `sonde --help` lists them", name);
	else if (near)
		cli_error("unknown command '%s', did you mean '%s'? `sonde --help` lists them",
			  name, near);
	else
		cli_error("unknown command '%s'; `sonde --help` lists them", name);
	return CLI_USAGE;
}

static int run_help(int argc, char **argv)
{
	const struct cli_command *command;

	if (argc < 2) {
		print_help();
		return CLI_DONE;
	}
	if (argc > 2) {
		cli_error("help takes one command, not '%s' too", argv[2]);
		return CLI_USAGE;
	}
	command = find_command(argv[1]);
	if (!command)
		return refuse_command(argv[1]);
	cli_help(command);
	return CLI_DONE;
}

static int run(int argc, char **argv)
{
	const struct cli_command *command;
	const char *name = argc > 1 ? argv[1] : NULL;

	if (!name) {
		cli_error("no command; `sonde --help` lists them");
		return CLI_USAGE;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
		print_help();
		return CLI_DONE;
	}
	if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
		puts("sonde " SONDE_VERSION);
		return CLI_DONE;
	}
	if (!strcmp(name, "help"))
		return run_help(argc - 1, argv + 1);
	command = find_command(name);
	if (!command)
		return refuse_command(name);
	cli_set_command(name);
	return command->run(argc - 1, argv + 1);
}

/*
 * A file opened where a standard stream is closed would get its descriptor,
 * and what is printed would go into it. Standard output is opened for reading,
 * so that writing to it fails and is noticed.
 */
static void fill_standard_streams(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			open("/dev/null", fd == 1 ? O_RDONLY : O_RDWR);
}

int main(int argc, char **argv)
{
	int status;

	fill_standard_streams();
	status = run(argc, argv);
	errno = 0;
	if (fflush(stdout) || ferror(stdout)) {
		cli_error("cannot write to standard output%s%s", errno ? ": " : "",
			  errno ? strerror(errno) : "");
		return status == CLI_DONE ? CLI_FAILED : status;
	}
	return status;
}
