// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde sim alltoall - times, counts, classes, schedules: tables and JSON
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include "../coll/sim/goal.h"
#include "sim.h"

#define OUTERS_OF_THE_PAPER (1u << A2A_FLAT | 1u << A2A_LEADER | 1u << A2A_SA | 1u << A2A_RD)

static unsigned int get_outers(const struct sim_options *o)
{
	return o->outers ? o->outers : OUTERS_OF_THE_PAPER;
}

static int has_outer(const struct sim_options *o, int outer)
{
	return get_outers(o) >> outer & 1;
}

static struct a2a_request make_request(const struct sim_options *o, int outer, uint64_t bytes)
{
	return (struct a2a_request){
		.outer = (enum a2a_outer)outer, .inner = o->inner, .nodes = o->nodes,
		.ppn = o->ppn, .bytes = bytes, .leaders = (uint32_t)o->leaders,
		.radix = (uint32_t)o->radix,
	};
}

/* The next size: twice as much, and the largest as well. 0 after that. */
static uint64_t next_size(const struct sim_options *o, uint64_t bytes)
{
	if (bytes >= o->most)
		return 0;
	return 2 * bytes < o->most ? 2 * bytes : o->most;
}

static int count_runs(const struct sim_options *o)
{
	int n = 0;

	for (uint64_t bytes = o->least; bytes; bytes = next_size(o, bytes))
		n += __builtin_popcount(get_outers(o));
	return n;
}

int sim_print_json(json_t *root)
{
	int is_made = !!root;
	int err = !is_made || json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10));

	json_decref(root);
	if (!err) {
		putchar('\n');
		return CLI_DONE;
	}
	/* What cannot be written is said at the end of every command. */
	if (!is_made)
		cli_error("not enough memory for the JSON");
	return CLI_FAILED;
}

/* What tables and JSON begin with. */
static json_t *new_root(const struct sim_options *o, const char *list_name, json_t *list)
{
	return json_pack("{s:s, s:s, s:i, s:i, s:o}", "schema", "sonde-sim-1", "class",
			 o->class.name, "nodes", (int)o->nodes, "ppn", (int)o->ppn, list_name,
			 list);
}

static void print_head(const struct sim_options *o, const char *what)
{
	char system[SIM_SYSTEM];

	printf("%s, %s, %s\n\n%-9s", o->class.name,
	       sim_system(system, o->nodes, o->ppn), what, "block");
	for (int outer = 0; outer < A2A_OUTERS; outer++)
		if (has_outer(o, outer))
			printf(" %12s", a2a_outer_name((enum a2a_outer)outer));
}

/* ---- times --------------------------------------------------------------- */

static json_t *pack_time(const struct a2a_request *r, const struct a2a_class *class,
			 const struct a2a_stats *s)
{
	struct a2a_plan plan;

	a2a_plan_make(r, class, &plan);
	return json_pack("{s:s, s:s, s:I, s:f, s:I, s:I, s:I, s:I}", "algorithm",
			 a2a_outer_name(r->outer), "inner", a2a_inner_name(plan.inner), "bytes",
			 (json_int_t)r->bytes, "ns", s->time_ns, "wire_messages",
			 (json_int_t)s->wire_messages, "wire_bytes", (json_int_t)s->wire_bytes,
			 "connection_misses", (json_int_t)s->qp_misses, "events",
			 (json_int_t)s->events);
}

/* One line of the table: all schemes at one size. */
static int simulate_size(const struct sim_options *o, uint64_t bytes,
			 struct sim_progress *progress, json_t *points)
{
	const char *best = "";
	double least = 0;

	if (!points)
		printf("%-9" PRIu64, bytes);
	for (int outer = 0; outer < A2A_OUTERS; outer++) {
		struct a2a_request request = make_request(o, outer, bytes);
		struct a2a_stats stats;
		int err;

		if (!has_outer(o, outer))
			continue;
		err = a2a_predict(&request, &o->class, o->is_full, &progress->watch, &stats);
		if (err)
			return sim_refuse(err, &request);
		sim_progress_next(progress);
		if (!*best || stats.time_ns < least) {
			best = a2a_outer_name(request.outer);
			least = stats.time_ns;
		}
		if (points)
			json_array_append_new(points, pack_time(&request, &o->class, &stats));
		else
			printf(" %12.1f", stats.time_ns / 1e3);
	}
	if (!points)
		printf("  %s\n", best);
	return CLI_DONE;
}

int sim_times(const struct sim_options *o)
{
	json_t *points = o->common.json ? json_array() : NULL;
	struct sim_progress progress;
	int status = CLI_DONE;

	sim_progress_start(&progress, "simulating", count_runs(o));
	if (!points) {
		print_head(o, "microseconds");
		puts("  best");
	}
	for (uint64_t bytes = o->least; bytes && status == CLI_DONE; bytes = next_size(o, bytes))
		status = simulate_size(o, bytes, &progress, points);
	cli_progress_end();
	if (status == CLI_DONE && points)
		return sim_print_json(new_root(o, "points", points));
	json_decref(points);
	return status;
}

/* ---- counts -------------------------------------------------------------- */

static json_t *pack_counts(const struct a2a_request *r, const struct a2a_plan *plan,
			   uint32_t rank, const struct a2a_counts *c)
{
	return json_pack("{s:s, s:s, s:I, s:i, s:I, s:I, s:I, s:I, s:I, s:I}", "algorithm",
			 a2a_outer_name(r->outer), "inner", a2a_inner_name(plan->inner), "bytes",
			 (json_int_t)r->bytes, "local_rank", (int)rank, "wire_messages",
			 (json_int_t)c->wire_messages, "wire_bytes", (json_int_t)c->wire_bytes,
			 "local_messages", (json_int_t)c->local_messages, "local_bytes",
			 (json_int_t)c->local_bytes, "copied_bytes", (json_int_t)c->copied,
			 "barriers", (json_int_t)c->barriers);
}

static int count_request(const struct sim_options *o, const struct a2a_request *request,
			 json_t *ranks)
{
	struct a2a_counts counts;
	struct a2a_program program;
	struct a2a_plan plan;
	int err = a2a_plan_make(request, &o->class, &plan);

	if (err)
		return sim_refuse(err, request);
	program = a2a_plan_program(&plan);
	for (uint32_t rank = 0; rank < o->ppn && !cli_stop_requested(); rank++) {
		a2a_count(&program, rank, &counts);
		if (ranks) {
			json_array_append_new(ranks, pack_counts(request, &plan, rank, &counts));
			continue;
		}
		printf("%-8s %-9s %9" PRIu64 " %6u %10" PRIu64 " %14" PRIu64 " %9" PRIu64 " %12"
		       PRIu64 " %14" PRIu64 " %8" PRIu64 "\n", a2a_outer_name(request->outer),
		       a2a_inner_name(plan.inner), request->bytes, rank, counts.wire_messages,
		       counts.wire_bytes, counts.local_messages, counts.local_bytes,
		       counts.copied, counts.barriers);
	}
	return CLI_DONE;
}

int sim_counts(const struct sim_options *o)
{
	json_t *ranks = o->common.json ? json_array() : NULL;
	char system[SIM_SYSTEM];
	int status = CLI_DONE;

	if (!ranks)
		printf("%s, %s, what each rank of a node sends; all nodes send the same\n\n"
		       "%-8s %-9s %9s %6s %10s %14s %9s %12s %14s %8s\n", o->class.name,
		       sim_system(system, o->nodes, o->ppn), "scheme", "exchange", "block", "rank",
		       "messages", "bytes", "local", "bytes", "copied", "barriers");
	for (uint64_t bytes = o->least; bytes; bytes = next_size(o, bytes))
		for (int outer = 0; outer < A2A_OUTERS && status == CLI_DONE; outer++) {
			struct a2a_request request = make_request(o, outer, bytes);

			if (has_outer(o, outer))
				status = count_request(o, &request, ranks);
		}
	if (status == CLI_DONE && ranks)
		return sim_print_json(new_root(o, "ranks", ranks));
	json_decref(ranks);
	return status;
}

/* ---- classes ------------------------------------------------------------- */

/* Of the user's own class nobody knows the sources. */
static const struct a2a_source *find_source(const struct sim_options *o, size_t class, size_t field)
{
	return o->class_file ? NULL : a2a_class_source(class, field);
}

static json_t *pack_class(const struct sim_options *o, const struct a2a_class *class, size_t number)
{
	json_t *parameters = json_object();

	for (size_t f = 0; f < A2A_FIELDS; f++) {
		const struct a2a_source *s = find_source(o, number, f);
		json_t *entry = json_pack("{s:f, s:s, s:s}", "value", a2a_get(class, f), "unit",
					  a2a_fields[f].unit, "what", a2a_fields[f].what);

		if (s)
			json_object_update_new(entry, json_pack("{s:f, s:f, s:s, s:s}", "low",
					       s->low, "high", s->high, "basis",
					       a2a_basis_name(s->basis), "source", s->text));
		json_object_set_new(parameters, a2a_fields[f].name, entry);
	}
	return json_pack("{s:s, s:o}", "name", class->name, "parameters", parameters);
}

static void print_class(const struct sim_options *o, const struct a2a_class *class, size_t number)
{
	printf("%s\n", class->name);
	for (size_t f = 0; f < A2A_FIELDS; f++) {
		const struct a2a_source *s = find_source(o, number, f);

		printf("  %-16s %10g %-4s  %s\n", a2a_fields[f].name, a2a_get(class, f),
		       a2a_fields[f].unit, a2a_fields[f].what);
		if (s)
			printf("    %s, %g to %g: %s\n", a2a_basis_name(s->basis), s->low, s->high,
			       s->text);
	}
}

int sim_classes(const struct sim_options *o)
{
	json_t *list = o->common.json ? json_array() : NULL;

	for (size_t i = 0; i < (o->class_file ? 1 : A2A_CLASSES); i++) {
		const struct a2a_class *class = o->class_file ? &o->class : a2a_class(i);

		if (o->class_name && strcmp(o->class_name, class->name) != 0)
			continue;
		if (list)
			json_array_append_new(list, pack_class(o, class, i));
		else
			print_class(o, class, i);
	}
	if (!list)
		return CLI_DONE;
	return sim_print_json(json_pack("{s:s, s:o}", "schema", "sonde-sim-1", "classes", list));
}

/* ---- schedules ----------------------------------------------------------- */

static int look_at_rank(void *ctx, uint64_t rank)
{
	(void)rank;
	return sim_progress_next(ctx);
}

static int write_goal(const struct sim_options *o, const struct a2a_plan *plan, FILE *out)
{
	struct a2a_program program = a2a_plan_program(plan);
	struct sim_progress progress;
	struct a2a_watch watch = { look_at_rank, &progress };

	sim_progress_start(&progress, "writing the schedule", (double)o->nodes * o->ppn);
	return a2a_goal_write(&program, &o->class, &watch, out);
}

int sim_goal(const struct sim_options *o)
{
	struct a2a_request request = make_request(o, __builtin_ctz(o->outers), o->least);
	struct sim_file file;
	struct a2a_plan plan;
	int err = a2a_plan_make(&request, &o->class, &plan);

	if (err)
		return sim_refuse(err, &request);
	err = sim_file_open(&file, o->goal);
	if (!err) {
		err = write_goal(o, &plan, file.file);
		err = sim_file_close(&file, err);
	}
	if (!err)
		return CLI_DONE;
	if (err != -ECANCELED)
		cli_error("cannot write %s: %s; name another with --goal", o->goal,
			  strerror(-err));
	return CLI_FAILED;
}
