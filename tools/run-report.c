// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * run-report - what `sonde run` did, and what was lost
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "cli.h"
#include "run-report.h"

void ranks_read(struct ranks *ranks, const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	*ranks = (struct ranks){ 0 };
	while (file && getline(&line, &room, file) > 0) {
		uint64_t yields, busy, switches, settled;

		if (sscanf(line, "sonde-yield: rank %*[^:]: yields %" SCNu64 ", busy %" SCNu64
			   ", switches %" SCNu64 ", settled %" SCNu64, &yields, &busy, &switches,
			   &settled) != 4)
			continue;
		ranks->n++;
		ranks->yields += yields;
		ranks->busy += busy;
		ranks->switches += switches;
		ranks->settled += settled;
	}
	free(line);
	if (file)
		fclose(file);
}

static const char *tell_way(const struct place *place)
{
	switch (place->way) {
	case WAY_ALREADY:
		return "nothing to do, ranks share a run queue as it is";
	case WAY_CGROUP:
		return place->is_v2 ? "a cgroup of the job's own (version 2): "
				    : "a cgroup of the job's own (version 1): ";
	case WAY_SESSION:
		return "the launcher makes no sessions";
	case WAY_AUTOGROUP:
		return "kernel.sched_autogroup_enabled is off, for the whole machine";
	default:
		return "none";
	}
}

static void print_lost(const struct place *place, FILE *out)
{
	if (place->way == WAY_NONE)
		fputs("sonde run: lost: a rank that waits cannot give way to one that works; with "
		      "more ranks than CPUs each wait lasts until the clock's next tick\n", out);
	for (int way = 0; way < NWAYS; way++)
		if (*place->why[way])
			fprintf(out, "sonde run: not by %s: %s\n", way_name((enum way)way),
				place->why[way]);
}

static void print_ranks(const struct ranks *ranks, FILE *out)
{
	if (!ranks->n) {
		fputs("sonde run: ranks: none polled UCX with libsonde-yield in it\n", out);
		return;
	}
	fprintf(out, "sonde run: ranks: %" PRIu64 "; %" PRIu64 " yields, %" PRIu64
		" switches, %" PRIu64 " times too busy; MPI_Finalize settled in %" PRIu64 "\n",
		ranks->n, ranks->yields, ranks->switches, ranks->busy, ranks->settled);
}

void report_text(const struct run_report *report, FILE *out)
{
	const struct place *place = report->place;

	fprintf(out, "sonde run: group: %s%s\n", tell_way(place), place->cgroup);
	print_lost(place, out);
	for (size_t i = 0; i < report->npreloads; i++)
		fprintf(out, "sonde run: %s: %s%s\n", report->preloads[i].name,
			*report->preloads[i].path ? report->preloads[i].path : "left out: ",
			report->preloads[i].why);
	if (report->counted)
		print_ranks(&report->ranks, out);
}

static json_t *pack_place(const struct place *place)
{
	json_t *refused = json_object();

	for (int way = 0; way < NWAYS; way++)
		if (*place->why[way])
			json_object_set_new(refused, way_name((enum way)way),
					    json_string(place->why[way]));
	return json_pack("{s:s, s:s?, s:o?, s:o}", "way", way_name(place->way),
			 "cgroup", *place->cgroup ? place->cgroup : NULL,
			 "weight", *place->cgroup ? json_integer(place->weight) : NULL,
			 "refused", refused);
}

static json_t *pack_preloads(const struct run_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; i < report->npreloads; i++) {
		const struct preload *p = &report->preloads[i];

		json_array_append_new(list, json_pack("{s:s, s:s?, s:s?}", "name", p->name,
						      "path", *p->path ? p->path : NULL,
						      "why", *p->why ? p->why : NULL));
	}
	return list;
}

static json_t *pack_ranks(const struct ranks *ranks)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "n", (json_int_t)ranks->n,
			 "yields", (json_int_t)ranks->yields, "busy", (json_int_t)ranks->busy,
			 "switches", (json_int_t)ranks->switches,
			 "settled", (json_int_t)ranks->settled);
}

int report_json(const struct run_report *report, FILE *out)
{
	int status = report->status;
	json_t *root = json_pack("{s:o, s:o, s:o?, s:o, s:o}",
				 "group", pack_place(report->place),
				 "preloads", pack_preloads(report),
				 "ranks", report->counted ? pack_ranks(&report->ranks) : NULL,
				 "exit_status", WIFEXITED(status) ?
				 json_integer(WEXITSTATUS(status)) : json_null(),
				 "signal", WIFSIGNALED(status) ?
				 json_integer(WTERMSIG(status)) : json_null());
	int err = root ? 0 : -ENOMEM;

	if (!err && json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9)))
		err = -EIO;
	fputc('\n', out);
	json_decref(root);
	return err;
}
