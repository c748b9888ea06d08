// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde run - start an MPI job so that ranks that wait give way
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli.h"
#include "run-report.h"

/* As shells and env(1) say it. */
#define CANNOT_EXECUTE 126
#define NOT_FOUND 127

/* The recorders are last: they are there if it is asked for. */
enum { COLL, COLL_OPENMPI, YIELD, RECORD, RECORD_OPENMPI, NPRELOADS };

struct options {
	struct cli_common common;
	int explain;
	const char *output;
	const char *record;
	int wanted;
	uint64_t weight;
	int no_yield;
	int no_coll;
	char **program;
};

static int set_group(void *options, const char *arg)
{
	struct options *o = options;

	if (!strcmp(arg, "auto")) {
		o->wanted = WAY_ANY;
		return CLI_DONE;
	}
	for (int way = 0; way < NWAYS; way++) {
		if (way == WAY_ALREADY || strcmp(arg, way_name((enum way)way)))
			continue;
		o->wanted = way;
		return CLI_DONE;
	}
	cli_error("--group %s: not one of auto, cgroup, session, autogroup, none", arg);
	return CLI_USAGE;
}

static int set_weight(void *options, const char *arg)
{
	struct options *o = options;

	if (cli_parse_count("weight", arg, MOST_WEIGHT, &o->weight) != CLI_DONE)
		return CLI_USAGE;
	if (o->weight)
		return CLI_DONE;
	cli_error("--weight 0: not a number of tasks from 1 to %d", MOST_WEIGHT);
	return CLI_USAGE;
}

static int set_no_yield(void *options, const char *arg)
{
	(void)arg;
	((struct options *)options)->no_yield = 1;
	return CLI_DONE;
}

static int set_no_coll(void *options, const char *arg)
{
	(void)arg;
	((struct options *)options)->no_coll = 1;
	return CLI_DONE;
}

static int set_explain(void *options, const char *arg)
{
	(void)arg;
	((struct options *)options)->explain = 1;
	return CLI_DONE;
}

static int set_output(void *options, const char *arg)
{
	((struct options *)options)->output = arg;
	return CLI_DONE;
}

static int set_record(void *options, const char *arg)
{
	if (!*arg) {
		cli_error("--record: the file's name is empty");
		return CLI_USAGE;
	}
	((struct options *)options)->record = arg;
	return CLI_DONE;
}

static int set_program(void *options, char **argv)
{
	((struct options *)options)->program = argv;
	return CLI_DONE;
}

static const struct cli_option options_table[] = {
	{ "group", 'g', "WAY", "how ranks come to share a run queue: auto, cgroup, session, "
	  "autogroup, none", set_group },
	{ "weight", 'w', "N", "of the job's cgroup, as many tasks (one a CPU)", set_weight },
	{ "no-yield", 0, NULL, "ranks neither yield nor settle before MPI_Finalize", set_no_yield },
	{ "no-coll", 0, NULL, "leave libsonde-coll out", set_no_coll },
	{ "record", 'r', "FILE", "write there who sent how much to whom, for sonde map", set_record },
	{ "explain", 'e', NULL, "say what was done and what it did", set_explain },
	{ "output", 'o', "FILE", "say it there in place of standard error", set_output },
	CLI_COMMON_OPTIONS
};

/* The file that ranks leave their counts in; NULL without, or if it cannot be. */
static char *make_counts(const struct options *o)
{
	const char *dir = getenv("TMPDIR");
	char *path;
	int fd;

	if ((!o->explain && !o->common.json) || getenv("SONDE_YIELD_STATS"))
		return NULL;
	if (asprintf(&path, "%s/sonde-run.XXXXXX", dir && *dir ? dir : "/tmp") < 0)
		return NULL;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		return path;
	}
	free(path);
	return NULL;
}

static void find_preloads(const struct options *o, struct preload preloads[NPRELOADS])
{
	static const struct preload known[NPRELOADS] = {
		[COLL] = { .name = "libsonde-coll.so.0", .variable = "SONDE_RUN_COLL_MPICH" },
		[COLL_OPENMPI] = { .name = "libsonde-coll-openmpi.so.0",
				   .variable = "SONDE_RUN_COLL_OPENMPI" },
		[YIELD] = { .name = "libsonde-yield.so" },
		[RECORD] = { .name = "libsonde-record.so.0", .variable = "SONDE_RUN_RECORD_MPICH" },
		[RECORD_OPENMPI] = { .name = "libsonde-record-openmpi.so.0",
				     .variable = "SONDE_RUN_RECORD_OPENMPI" },
	};

	for (int i = 0; i < NPRELOADS; i++) {
		preloads[i] = known[i];
		if (i <= COLL_OPENMPI && o->no_coll)
			snprintf(preloads[i].why, sizeof(preloads[i].why), "by option");
		else
			preload_find(&preloads[i]);
	}
	if (o->no_yield && *preloads[YIELD].path)
		snprintf(preloads[YIELD].why, sizeof(preloads[YIELD].why),
			 " (yields and settles not, by option)");
}

static int set_variable(const char *name, const char *value)
{
	return setenv(name, value, 1) ? -errno : 0;
}

/* Ranks may be in another folder. */
static int set_record_variable(const char *path)
{
	char *folder = *path == '/' ? NULL : getcwd(NULL, 0), *whole;
	int err;

	if (*path == '/')
		return set_variable("SONDE_RECORD", path);
	if (!folder)
		return -errno;
	err = asprintf(&whole, "%s/%s", folder, path) < 0 ? -ENOMEM : 0;
	free(folder);
	if (err)
		return err;
	err = set_variable("SONDE_RECORD", whole);
	free(whole);
	return err;
}

static size_t count_preloads(const struct options *o)
{
	return o->record ? NPRELOADS : RECORD;
}

static int set_environment(const struct options *o, const struct place *place,
			   const struct preload *preloads, const char *counts)
{
	int err = preload_set(preloads, count_preloads(o));

	if (!err && o->record)
		err = set_record_variable(o->record);

	if (!err && place->way == WAY_SESSION)
		err = set_variable("SONDE_RUN_SESSION", "keep");
	if (!err && o->no_yield)
		err = set_variable("SONDE_YIELD", "never");
	if (!err && o->no_yield)
		err = set_variable("SONDE_YIELD_FINALIZE", "mpi");
	if (!err && counts)
		err = set_variable("SONDE_YIELD_STATS", counts);
	return err;
}

static int write_report(const struct options *o, const struct run_report *report)
{
	FILE *out = stderr;
	int err = 0;

	if (!o->explain && !o->common.json)
		return 0;
	if (o->output)
		out = fopen(o->output, "we");
	if (!out)
		return -errno;
	if (o->common.json)
		err = report_json(report, out);
	else
		report_text(report, out);
	if (fflush(out) && !err)
		err = -errno;
	if (out != stderr && fclose(out) && !err)
		err = -errno;
	return err;
}

/* What kept the program from starting is not the job's status. */
static int refuse_program(const char *name, int err)
{
	if (err == -ENOENT) {
		cli_error("%s: not found; is its package installed, and PATH right?", name);
		return NOT_FOUND;
	}
	cli_error("cannot start %s: %s", name, strerror(-err));
	return err == -EACCES || err == -ENOEXEC ? CANNOT_EXECUTE : CLI_FAILED;
}

/* End as the job did. Its core, if any, is enough. */
static int end_as(int status)
{
	const struct rlimit no_core = { 0, 0 };

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &no_core);
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

static int run_program(const struct options *o, const struct place *place, pid_t keeper,
		       const char *counts, int *status)
{
	struct preload preloads[NPRELOADS];
	struct run_report report = { .place = place, .preloads = preloads,
				     .npreloads = count_preloads(o), .counted = counts != NULL };
	int err;

	find_preloads(o, preloads);
	if (o->record && !*preloads[RECORD].path && !*preloads[RECORD_OPENMPI].path) {
		cli_error("--record: libsonde-record: %s", preloads[RECORD].why);
		return CLI_FAILED;
	}
	err = set_environment(o, place, preloads, counts);
	if (err) {
		cli_error("cannot set the environment: %s", strerror(-err));
		return CLI_FAILED;
	}
	err = job_run(o->program, place, keeper, status);
	if (err)
		return refuse_program(o->program[0], err);
	report.status = *status;
	if (counts)
		ranks_read(&report.ranks, counts);
	err = write_report(o, &report);
	if (!err)
		return CLI_DONE;
	cli_error("cannot write %s: %s", o->output ? o->output : "to standard error",
		  strerror(-err));
	/* A job that failed is worse news. */
	return *status ? CLI_DONE : CLI_FAILED;
}

static int take_place(const struct options *o, struct place *place)
{
	int err = place_take(place, o->wanted);

	if (!err)
		return CLI_DONE;
	cli_error("--group %s: %s", way_name((enum way)o->wanted), place->why[o->wanted]);
	return CLI_FAILED;
}

/* From here on a keeper watches, and all that is made is undone at the end. */
static int run_kept(const struct options *o, struct place *place, int *status)
{
	char *counts = make_counts(o);
	struct keeper keeper;
	int err = keeper_start(&keeper, place, counts);
	int result = CLI_FAILED;

	if (err) {
		cli_error("cannot start a process to clean up: %s", strerror(-err));
	} else {
		result = take_place(o, place);
		if (result == CLI_DONE)
			result = run_program(o, place, keeper.pid, counts, status);
		place_undo(place, 0);
	}
	if (counts)
		unlink(counts);
	free(counts);
	if (!err)
		keeper_dismiss(&keeper);
	return result;
}

static int run(int argc, char **argv)
{
	struct options o = { .wanted = WAY_ANY };
	int status = cli_parse(&cmd_run, argc, argv, &o);
	struct place *place;
	int how = 0;

	if (status >= 0)
		return status;
	place = place_new();
	if (!place) {
		cli_error("not enough memory");
		return CLI_FAILED;
	}
	place->weight = (int)o.weight;
	if (o.wanted == WAY_AUTOGROUP &&
	    autogroup_open(place, place->why[WAY_AUTOGROUP], sizeof(place->why[WAY_AUTOGROUP]))) {
		cli_error("--group autogroup: %s", place->why[WAY_AUTOGROUP]);
		return CLI_FAILED;
	}
	status = run_kept(&o, place, &how);
	return status == CLI_DONE ? end_as(how) : status;
}

const struct cli_command cmd_run = {
	.name = "run",
	.summary = "start an MPI job so that ranks that wait give way",
	.options = options_table,
	.operand = "PROGRAM [ARGUMENT...]",
	.set_program = set_program,
	.run = run,
};
