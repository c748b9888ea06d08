// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde sim alltoall - its options, and which of its outputs is wanted
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "sim.h"

#define MOST_CLASS_BYTES	((size_t)64 << 10)
#define MOST_PERTURBATIONS	1000000
#define MOST_BYTES		((size_t)1 << 30)

/* ---- progress ------------------------------------------------------------ */

static double read_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int look(void *ctx, uint64_t events)
{
	struct sim_progress *p = ctx;
	char what[128];

	if (read_clock() - p->started_s > 2) {
		snprintf(what, sizeof(what), "%s, %" PRIu64 " million steps", p->what,
			 events / 1000000);
		cli_progress(p->done / p->total, what);
	}
	return cli_stop_requested();
}

void sim_progress_start(struct sim_progress *progress, const char *what, double total)
{
	*progress = (struct sim_progress){
		.started_s = read_clock(), .total = total, .what = what,
		.watch = { look, progress },
	};
}

int sim_progress_next(struct sim_progress *progress)
{
	progress->done++;
	if (read_clock() - progress->started_s > 2)
		cli_progress(progress->done / progress->total, progress->what);
	return cli_stop_requested();
}

int sim_refuse(int err, const struct a2a_request *request)
{
	if (err == -ECANCELED)
		return CLI_FAILED;
	if (err == -EINVAL) {
		cli_error("%ux%u with blocks of %" PRIu64 " bytes is more than can be counted; take "
			  "a smaller --system or --max-size", request->nodes, request->ppn,
			  request->bytes);
		return CLI_USAGE;
	}
	cli_error(err == -ENOMEM ? "not enough memory for so large a system; take a smaller one "
		  "or leave out --full" : "the simulation failed: %s", strerror(-err));
	return CLI_FAILED;
}

const char *sim_system(char text[SIM_SYSTEM], uint32_t nodes, uint32_t ppn)
{
	snprintf(text, SIM_SYSTEM, "%ux%u", nodes, ppn);
	return text;
}

/* ---- options ------------------------------------------------------------- */

/* What was typed, since not every output has a use for every option. */
enum {
	CLASS, CLASS_FILE, SYSTEM, ALGORITHM, INNER, LEADERS, RADIX, MIN_SIZE, MAX_SIZE, FULL,
	PERTURB, SEED, JSON, TYPED
};

#define BIT(option) (1u << (option))

static const char *const typed_names[TYPED] = {
	"class", "class-file", "system", "algorithm", "inner", "leaders", "radix", "min-size",
	"max-size", "full", "perturb", "seed", "json",
};

#define SET_FLAG(member) \
	static int set_##member(void *options, const char *arg) \
	{ \
		(void)arg; \
		((struct sim_options *)options)->member = 1; \
		return CLI_DONE; \
	}

#define SET_TEXT(member) \
	static int set_##member(void *options, const char *arg) \
	{ \
		((struct sim_options *)options)->member = arg; \
		return CLI_DONE; \
	}

SET_FLAG(has_classes)
SET_FLAG(has_claims)
SET_FLAG(has_counts)
SET_TEXT(figures)
SET_TEXT(goal)

static int set_full(void *options, const char *arg)
{
	struct sim_options *o = options;

	(void)arg;
	o->typed |= BIT(FULL);
	o->is_full = 1;
	return CLI_DONE;
}

static int set_json(void *options, const char *arg)
{
	((struct sim_options *)options)->typed |= BIT(JSON);
	return cli_set_json(options, arg);
}

static int set_class_file(void *options, const char *arg)
{
	struct sim_options *o = options;

	o->typed |= BIT(CLASS_FILE);
	o->class_file = arg;
	return CLI_DONE;
}

static int set_class(void *options, const char *arg)
{
	struct sim_options *o = options;
	const char *names[A2A_CLASSES];
	const struct a2a_class *class = a2a_class_find(arg);
	const char *near;

	for (size_t i = 0; i < A2A_CLASSES; i++)
		names[i] = a2a_class(i)->name;
	near = cli_suggest(arg, names, A2A_CLASSES);
	o->typed |= BIT(CLASS);
	o->class_name = arg;
	if (class) {
		o->class = *class;
		return CLI_DONE;
	}
	cli_error("no class is called '%s'%s%s%s; --classes lists them", arg,
		  near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
	return CLI_USAGE;
}

static int set_system(void *options, const char *arg)
{
	struct sim_options *o = options;
	unsigned long nodes, ppn = 0;
	char *end;

	nodes = strtoul(arg, &end, 10);
	if (*arg >= '1' && *arg <= '9' && *end == 'x' && end[1] >= '1' && end[1] <= '9')
		ppn = strtoul(end + 1, &end, 10);
	if (!ppn || *end || nodes > A2A_MAX_NODES || ppn > A2A_MAX_PPN ||
	    nodes * ppn > A2A_MAX_RANKS) {
		cli_error("--system %s: not nodes x ranks of a node such as 64x8, up to %ux%u and "
			  "%u ranks", arg, A2A_MAX_NODES, A2A_MAX_PPN, A2A_MAX_RANKS);
		return CLI_USAGE;
	}
	o->nodes = (uint32_t)nodes;
	o->ppn = (uint32_t)ppn;
	o->typed |= BIT(SYSTEM);
	o->system = arg;
	return CLI_DONE;
}

static int set_algorithm(void *options, const char *arg)
{
	struct sim_options *o = options;
	char *list = strdup(arg), *rest = list, *name;
	int status = list ? CLI_DONE : CLI_FAILED;

	o->typed |= BIT(ALGORITHM);
	while (status == CLI_DONE && (name = strsep(&rest, ","))) {
		int outer = a2a_outer_find(name);

		if (outer < 0) {
			cli_error("no algorithm is called '%s'; there are flat, leader, leaders, "
				  "sa, rd", name);
			status = CLI_USAGE;
		} else {
			o->outers |= 1u << outer;
		}
	}
	free(list);
	return status;
}

static int set_inner(void *options, const char *arg)
{
	struct sim_options *o = options;
	int inner = a2a_inner_find(arg);

	if (inner < 0) {
		cli_error("no exchange is called '%s'; there are tuned, bruck, isend, pairwise",
			  arg);
		return CLI_USAGE;
	}
	o->typed |= BIT(INNER);
	o->inner = (enum a2a_inner)inner;
	return CLI_DONE;
}

static int set_count(const char *name, const char *arg, uint64_t least, uint64_t most,
		     uint64_t *value)
{
	if (cli_parse_count(name, arg, most, value) != CLI_DONE)
		return CLI_USAGE;
	if (*value >= least)
		return CLI_DONE;
	cli_error("--%s %s: not a whole number from %" PRIu64 " to %" PRIu64, name, arg, least,
		  most);
	return CLI_USAGE;
}

static int set_leaders(void *options, const char *arg)
{
	struct sim_options *o = options;

	o->typed |= BIT(LEADERS);
	return set_count("leaders", arg, 1, A2A_MAX_PPN, &o->leaders);
}

static int set_radix(void *options, const char *arg)
{
	struct sim_options *o = options;

	o->typed |= BIT(RADIX);
	return set_count("radix", arg, 2, A2A_MAX_RANKS, &o->radix);
}

static int set_perturb(void *options, const char *arg)
{
	struct sim_options *o = options;

	o->typed |= BIT(PERTURB);
	return set_count("perturb", arg, 1, MOST_PERTURBATIONS, &o->perturbations);
}

static int set_seed(void *options, const char *arg)
{
	struct sim_options *o = options;

	o->typed |= BIT(SEED);
	return cli_parse_count("seed", arg, UINT64_MAX, &o->seed);
}

static int set_bytes(const char *name, const char *arg, size_t *bytes)
{
	if (cli_parse_size(name, arg, bytes) != CLI_DONE)
		return CLI_USAGE;
	if (*bytes <= MOST_BYTES)
		return CLI_DONE;
	cli_error("--%s %s: blocks of up to 1G are simulated", name, arg);
	return CLI_USAGE;
}

static int set_least(void *options, const char *arg)
{
	struct sim_options *o = options;

	o->typed |= BIT(MIN_SIZE);
	return set_bytes("min-size", arg, &o->least);
}

static int set_most(void *options, const char *arg)
{
	struct sim_options *o = options;

	o->typed |= BIT(MAX_SIZE);
	return set_bytes("max-size", arg, &o->most);
}

static const struct cli_option options[] = {
	{ "class", 'c', "NAME", "the machine: infinipath, infinihost3, connectx; else infinipath",
	  set_class },
	{ "class-file", 0, "FILE", "the machine as a file of its parameters says", set_class_file },
	{ "classes", 0, NULL, "print the parameters, each with its source", set_has_classes },
	{ "system", 's', "NxP", "nodes and ranks of each; else 64x8", set_system },
	{ "algorithm", 'a', "LIST", "of flat, leader, leaders, sa, rd; else all but leaders",
	  set_algorithm },
	{ "inner", 0, "NAME", "exchange: tuned, bruck, isend, pairwise; else tuned", set_inner },
	{ "leaders", 0, "K", "of each node, for leaders; else 2", set_leaders },
	{ "radix", 0, "K", "of Bruck's algorithm; else 2", set_radix },
	{ "min-size", 0, "SIZE", "the least block; else 4", set_least },
	{ "max-size", 0, "SIZE", "the largest; else 8K", set_most },
	{ "full", 0, NULL, "simulate every node, where one would stand for all", set_full },
	{ "counts", 0, NULL, "print messages and bytes in place of times", set_has_counts },
	{ "goal", 0, "FILE", "write the schedule for LogGOPSim: one algorithm, one size", set_goal },
	{ "figures", 0, "FOLDER", "draw the paper's figures 1 to 5 and 7 to 12", set_figures },
	{ "claims", 0, NULL, "hold what the paper says against the simulation", set_has_claims },
	{ "perturb", 0, "N", "the same with all costs off by up to 25 %, N times", set_perturb },
	{ "seed", 0, "N", "of --perturb: the same seed, the same numbers; else 1", set_seed },
	{ "json", 0, NULL, "print JSON", set_json },
	{ "help", 'h', NULL, "this list", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

/* ---- what is wanted ------------------------------------------------------ */

/* A file's text, to be freed; NULL after an error was said. */
static char *read_text(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = file ? calloc(1, MOST_CLASS_BYTES + 1) : NULL;
	size_t n = text ? fread(text, 1, MOST_CLASS_BYTES + 1, file) : 0;

	if (!file || (text && ferror(file))) {
		cli_error("cannot read the class %s: %s", path, strerror(errno));
		free(text);
		text = NULL;
	} else if (!text) {
		cli_error("not enough memory for the class %s", path);
	} else if (n > MOST_CLASS_BYTES || memchr(text, 0, n)) {
		cli_error("the class %s: it is not JSON of up to 64 KiB", path);
		free(text);
		text = NULL;
	}
	if (file)
		fclose(file);
	return text;
}

static int load_class(struct sim_options *o)
{
	char why[160], *text;
	int err;

	if (!o->class_file)
		return CLI_DONE;
	if (o->class_name) {
		cli_error("--class and --class-file: name one machine");
		return CLI_USAGE;
	}
	text = read_text(o->class_file);
	if (!text)
		return CLI_FAILED;
	err = a2a_class_parse(text, &o->class, why, sizeof(why));
	free(text);
	if (!err)
		return CLI_DONE;
	cli_error("the class %s: %s; sonde-sim(1) says what it may have", o->class_file, why);
	return CLI_FAILED;
}

#define SCHEDULE (BIT(CLASS) | BIT(CLASS_FILE) | BIT(SYSTEM) | BIT(ALGORITHM) | BIT(INNER) | \
		  BIT(LEADERS) | BIT(RADIX) | BIT(MIN_SIZE) | BIT(MAX_SIZE))

/**
 * struct output - one of the things that can be printed or written
 * @name: of the option that asks for it; NULL: the table of times
 * @takes: options that it has a use for
 */
struct output {
	const char *name;
	unsigned int takes;
	int (*make)(const struct sim_options *o);
};

static const struct output outputs[] = {
	{ NULL, SCHEDULE | BIT(FULL) | BIT(JSON), sim_times },
	{ "classes", BIT(CLASS) | BIT(CLASS_FILE) | BIT(JSON), sim_classes },
	{ "counts", SCHEDULE | BIT(JSON), sim_counts },
	{ "goal", SCHEDULE, sim_goal },
	{ "figures", BIT(SYSTEM) | BIT(MIN_SIZE) | BIT(MAX_SIZE) | BIT(FULL) | BIT(JSON),
	  sim_figures },
	{ "claims", BIT(PERTURB) | BIT(SEED) | BIT(JSON), sim_claims },
};

/* NULL after an error was said. */
static const struct output *choose_output(const struct sim_options *o)
{
	const int wanted[] = {
		0, o->has_classes, o->has_counts, !!o->goal, !!o->figures,
		o->has_claims || o->perturbations,
	};
	size_t chosen = 0, n = 0;

	for (size_t i = 1; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (wanted[i]) {
			chosen = i;
			n++;
		}
	if (n <= 1)
		return &outputs[chosen];
	cli_error("of --classes, --counts, --claims, --goal and --figures one at a time");
	return NULL;
}

static int check_typed(const struct sim_options *o, const struct output *output)
{
	unsigned int useless = o->typed & ~output->takes;

	if (o->typed & BIT(SEED) && !(o->typed & BIT(PERTURB))) {
		cli_error("--seed is that of --perturb; say how many");
		return CLI_USAGE;
	}
	if (!useless)
		return CLI_DONE;
	cli_error("--%s has no use for --%s", output->name,
		  typed_names[__builtin_ctz(useless)]);
	return CLI_USAGE;
}

static int check_numbers(const struct sim_options *o)
{
	int has_leaders = o->outers >> A2A_LEADERS & 1;

	if (o->least > o->most)
		cli_error("--min-size is larger than --max-size");
	else if (o->goal && (o->least != o->most || !o->outers || (o->outers & (o->outers - 1))))
		cli_error("--goal wants one algorithm and one size: -a, --min-size, --max-size");
	else if (o->typed & BIT(LEADERS) && !has_leaders)
		cli_error("--leaders is for -a leaders");
	else if (has_leaders && o->leaders > o->ppn)
		cli_error("--leaders %" PRIu64 ": a node has %u ranks", o->leaders, o->ppn);
	else
		return CLI_DONE;
	return CLI_USAGE;
}

static int run(int argc, char **argv)
{
	struct sim_options o = {
		.class = *a2a_class(0), .nodes = 64, .ppn = 8, .leaders = 2, .radix = 2,
		.least = 4, .most = 8192, .seed = 1,
	};
	const struct output *output;
	int status = cli_parse(&sim_alltoall, argc, argv, &o);

	if (status >= 0)
		return status;
	output = choose_output(&o);
	status = output ? check_typed(&o, output) : CLI_USAGE;
	if (status == CLI_DONE)
		status = check_numbers(&o);
	if (status == CLI_DONE)
		status = load_class(&o);
	if (status == CLI_DONE) {
		cli_stop_catch();
		status = output->make(&o);
		cli_progress_end();
	}
	if (cli_stop_requested())
		cli_stop_die();
	return status;
}

const struct cli_command sim_alltoall = {
	.name = "sim alltoall",
	.summary = "how long each scheme of alltoall takes on a cluster, by discrete events",
	.options = options,
	.run = run,
};
