// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde map - where to put which rank, by who talks to whom
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sonde/log.h>
#include <sonde/profile.h>
#include "../lib/replace.h"
#include "cli.h"
#include "map.h"

struct map_options {
	struct cli_common common;
	const char *matrix, *profile, *hosts, *topology, *output;
	uint64_t nodes, per_node;
	int format;
	int no_bind, sends_only;
};

#define NO_FORMAT (-1)

#define SET_STRING(name, field) \
	static int set_##name(void *options, const char *arg) \
	{ \
		if (!*arg) { \
			cli_error("--" #name ": the name is empty"); \
			return CLI_USAGE; \
		} \
		((struct map_options *)options)->field = arg; \
		return CLI_DONE; \
	}

SET_STRING(matrix, matrix)
SET_STRING(profile, profile)
SET_STRING(hosts, hosts)
SET_STRING(topology, topology)
SET_STRING(output, output)

static int set_positive(const char *name, const char *arg, uint64_t *value)
{
	if (cli_parse_count(name, arg, MAP_MOST, value) != CLI_DONE)
		return CLI_USAGE;
	if (*value)
		return CLI_DONE;
	cli_error("--%s 0: give at least 1", name);
	return CLI_USAGE;
}

static int set_nodes(void *options, const char *arg)
{
	return set_positive("nodes", arg, &((struct map_options *)options)->nodes);
}

static int set_per_node(void *options, const char *arg)
{
	return set_positive("ranks-per-node", arg, &((struct map_options *)options)->per_node);
}

static int set_no_bind(void *options, const char *arg)
{
	(void)arg;
	((struct map_options *)options)->no_bind = 1;
	return CLI_DONE;
}

static int set_sends_only(void *options, const char *arg)
{
	(void)arg;
	((struct map_options *)options)->sends_only = 1;
	return CLI_DONE;
}

static int set_format(void *options, const char *arg)
{
	for (int f = 0; f < MAP_FORMATS; f++)
		if (!strcmp(arg, map_format_name((enum map_format)f))) {
			((struct map_options *)options)->format = f;
			return CLI_DONE;
		}
	cli_error("--format %s: not one of hydra, openmpi, slurm, script", arg);
	return CLI_USAGE;
}

static const struct cli_option options_table[] = {
	{ "matrix", 'm', "FILE", "who talks to whom: of sonde run --record, or n lines of n numbers",
	  set_matrix },
	{ "sends-only", 0, NULL, "leave out what was recorded of collectives", set_sends_only },
	{ "nodes", 'n', "N", "how many equal nodes; else 1", set_nodes },
	{ "ranks-per-node", 'r', "N", "places on each; else its cores", set_per_node },
	{ "hosts", 0, "FILE", "the nodes: HOST, HOST:RANKS or HOST slots=RANKS, a line each",
	  set_hosts },
	{ "topology", 0, "WHAT", "of a node: a file of hwloc's XML, or \"package:2 core:4 pu:1\"; "
	  "else this machine's", set_topology },
	{ "profile", 'p', "FILE", "what was measured of a node, by sonde report", set_profile },
	{ "no-bind", 0, NULL, "ranks get a node, but no CPU", set_no_bind },
	{ "format", 'f', "FORMAT", "write for hydra, openmpi, slurm, or a script that binds",
	  set_format },
	{ "output", 'o', "FILE", "write it there, and print the report; else in place of it",
	  set_output },
	{ "json", 0, NULL, "print the report as JSON, see sonde-map(1)", cli_set_json },
	{ "help", 'h', NULL, "this list", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static int check_options(const struct map_options *o)
{
	if (!o->matrix)
		cli_error("--matrix FILE is missing: record one with sonde run --record FILE mpiexec ...");
	else if (o->hosts && o->nodes)
		cli_error("--hosts and --nodes: give one of them");
	else if (o->output && o->format == NO_FORMAT)
		cli_error("--output %s: say in which --format", o->output);
	else if (o->common.json && o->format != NO_FORMAT && !o->output)
		cli_error("--json and --format both go to standard output; give --output FILE");
	else if (o->no_bind && o->format == MAP_SCRIPT)
		cli_error("--format script binds, --no-bind does not: give one of them");
	else
		return CLI_DONE;
	return CLI_USAGE;
}

/* ---- input ---------------------------------------------------------------- */

/* The library's reason for the last failure, which it tells before it returns. */
static void keep_reason(void *ctx, const char *message)
{
	snprintf(ctx, MAP_WHY, "%s", message);
}

/* The document, after it was held against its schema. */
static int read_profile(const char *path, json_t **root)
{
	struct sonde_profile *profile;
	char reason[MAP_WHY] = "", *text = NULL;
	size_t len = 0;
	FILE *memory;
	int err;

	sonde_set_log(keep_reason, reason);
	err = sonde_profile_load(&profile, path);
	sonde_set_log(NULL, NULL);
	if (err) {
		cli_error("--profile: %s", *reason ? reason : strerror(-err));
		return CLI_FAILED;
	}
	memory = open_memstream(&text, &len);
	err = memory ? sonde_profile_dump(profile, memory) : -ENOMEM;
	if (memory && fclose(memory))
		err = -ENOMEM;
	*root = err ? NULL : json_loads(text, 0, NULL);
	free(text);
	sonde_profile_free(profile);
	if (*root)
		return CLI_DONE;
	cli_error("not enough memory for %s", path);
	return CLI_FAILED;
}

static int open_machine(const struct map_options *o, struct map_machine *machine)
{
	struct map_wish wish = { .nodes = o->nodes, .per_node = o->per_node, .hosts = o->hosts,
				 .topology = o->topology, .is_unbound = o->no_bind };
	json_t *profile = NULL;
	char why[MAP_WHY] = "";
	int err;

	if (o->profile && read_profile(o->profile, &profile) != CLI_DONE)
		return CLI_FAILED;
	wish.profile = profile;
	err = map_machine_open(machine, &wish, why);
	json_decref(profile);
	if (!err)
		return CLI_DONE;
	cli_error("%s", why);
	return CLI_FAILED;
}

/* ---- output --------------------------------------------------------------- */

static int write_ranks(const struct map_options *o, const struct map_result *result)
{
	struct replace r;
	int err;

	if (!o->output) {
		map_write((enum map_format)o->format, result->machine, result->matrix->n,
			  result->place, stdout);
		return CLI_DONE;
	}
	err = replace_open(&r, o->output);
	if (!err) {
		map_write((enum map_format)o->format, result->machine, result->matrix->n,
			  result->place, r.file);
		if (o->format == MAP_SCRIPT)
			fchmod(fileno(r.file), 0755);
		err = replace_commit(&r);
	}
	if (!err)
		return CLI_DONE;
	cli_error("cannot write %s: %s", o->output, strerror(-err));
	return CLI_FAILED;
}

static int write_report(const struct map_options *o, struct map_result *result)
{
	char *command = NULL;
	size_t len = 0;
	FILE *memory;
	int err;

	if (o->output) {
		memory = open_memstream(&command, &len);
		if (memory) {
			map_command((enum map_format)o->format, result->machine, result->matrix->n,
				    result->place, o->output, memory);
			fclose(memory);
		}
		result->command = command;
	}
	err = o->common.json ? map_report_json(result, stdout) : map_report_text(result, stdout);
	result->command = NULL;
	free(command);
	if (err == -ENOMEM)
		cli_error("not enough memory for the report");
	return err == -ENOMEM ? CLI_FAILED : CLI_DONE;
}

/* ---- between them --------------------------------------------------------- */

static void tell(double done)
{
	cli_progress(done, "placing ranks");
}

static int place_ranks(struct map_result *result, unsigned int *place)
{
	const struct map_machine *machine = result->machine;
	const struct map_matrix *m = result->matrix;
	int err;

	map_place_identity(m->n, place);
	err = map_price(machine, m, place, &result->identity);
	if (!err)
		err = map_place_round_robin(machine, m->n, place);
	if (!err)
		err = map_price(machine, m, place, &result->round_robin);
	if (!err)
		err = map_place_best(machine, m, place, &result->how, tell);
	cli_progress_end();
	if (!err)
		err = map_price(machine, m, place, &result->best);
	result->place = place;
	return err;
}

static int map(const struct map_options *o, const struct map_matrix *m,
	       const struct map_machine *machine)
{
	struct map_result result = { .machine = machine, .matrix = m };
	unsigned int *place;
	int status = CLI_FAILED;

	if (m->n > machine->n) {
		cli_error("%zu ranks, but places for %zu; give more --nodes, --ranks-per-node or hosts",
			  m->n, machine->n);
		return CLI_FAILED;
	}
	place = calloc(m->n, sizeof(*place));
	if (!place || place_ranks(&result, place))
		cli_error("not enough memory for %zu ranks", m->n);
	else
		status = CLI_DONE;
	if (status == CLI_DONE && o->format != NO_FORMAT)
		status = write_ranks(o, &result);
	if (status == CLI_DONE && (o->format == NO_FORMAT || o->output))
		status = write_report(o, &result);
	free(place);
	return status;
}

static int run(int argc, char **argv)
{
	struct map_options o = { .format = NO_FORMAT };
	int status = cli_parse(&cmd_map, argc, argv, &o);
	struct map_machine machine;
	struct map_matrix matrix;
	char why[MAP_WHY] = "";

	if (status < 0 && check_options(&o) != CLI_DONE)
		status = CLI_USAGE;
	if (status >= 0)
		return status;
	if (map_matrix_read(&matrix, o.matrix, o.sends_only, why)) {
		cli_error("%s: %s", o.matrix, why);
		return CLI_FAILED;
	}
	status = open_machine(&o, &machine);
	if (status == CLI_DONE) {
		status = map(&o, &matrix, &machine);
		map_machine_close(&machine);
	}
	map_matrix_free(&matrix);
	return status;
}

const struct cli_command cmd_map = {
	.name = "map",
	.summary = "where to put which rank of a job, by who talks to whom",
	.options = options_table,
	.run = run,
};
