// SPDX-License-Identifier: GPL-2.0-or-later
/* tune-options - the options of `sonde tune alltoall` */
#include <string.h>
#include "tune.h"

static int set_budget(void *options, const char *arg)
{
	return cli_parse_seconds("budget", arg, &((struct tune_options *)options)->budget_s);
}

static int set_size(const char *name, const char *arg, size_t *value)
{
	if (cli_parse_size(name, arg, value) != CLI_DONE)
		return CLI_USAGE;
	if (*value <= TUNE_MOST)
		return CLI_DONE;
	cli_error("--%s %s: blocks of at most 64M are tuned for", name, arg);
	return CLI_USAGE;
}

static int set_min(void *options, const char *arg)
{
	return set_size("min", arg, &((struct tune_options *)options)->min);
}

static int set_max(void *options, const char *arg)
{
	return set_size("max", arg, &((struct tune_options *)options)->max);
}

static int set_save(void *options, const char *arg)
{
	if (!*arg) {
		cli_error("--save: the file's name is empty");
		return CLI_USAGE;
	}
	((struct tune_options *)options)->save = arg;
	return CLI_DONE;
}

static int set_no_save(void *options, const char *arg)
{
	(void)arg;
	((struct tune_options *)options)->no_save = 1;
	return CLI_DONE;
}

static int set_mpi(void *options, const char *arg)
{
	if (strcmp(arg, "mpich") && strcmp(arg, "openmpi")) {
		cli_error("--mpi %s: not one of mpich, openmpi", arg);
		return CLI_USAGE;
	}
	((struct tune_options *)options)->mpi = arg;
	return CLI_DONE;
}

const struct cli_option tune_options_table[] = {
	{ "budget", 'b', "SECONDS", "about how long it may take; else 60", set_budget },
	{ "min", 0, "SIZE", "the smallest block; else 8", set_min },
	{ "max", 0, "SIZE", "the largest block; else 1M, or what memory has room for", set_max },
	{ "save", 's', "FILE", "the profile to put rules into; else the default one", set_save },
	{ "no-save", 'n', NULL, "write no profile", set_no_save },
	{ "mpi", 0, "NAME", "mpich or openmpi; else by what started it", set_mpi },
	{ "json", 0, NULL, "print JSON, see sonde-profile(5)", cli_set_json },
	{ "help", 'h', NULL, "this list", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

int tune_options_check(const struct tune_options *options)
{
	if (options->max && options->min > options->max) {
		cli_error("--min %zu is more than --max %zu", options->min, options->max);
		return CLI_USAGE;
	}
	if (options->no_save && options->save) {
		cli_error("--no-save and --save %s: give one of them", options->save);
		return CLI_USAGE;
	}
	return CLI_DONE;
}
