// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde report - measure everything there is, for people and for programs
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "comm.h"
#include "compare.h"
#include "text.h"
#include "describe.h"
#include "memory.h"
#include "output.h"
#include "page.h"
#include "profile.h"
#include "sharing.h"

#define DEFAULT_DIR "sonde-report"
/* For bandwidth; less holds nothing that a cache does not. */
#define MEMORY_LEAST	((size_t)256 << 20)

struct report_options {
	struct measure_options measure;
	const char *dir;
	int save;
	const char *compared[2];
	int schema;
	const char *hwloc;
};

static int set_dir(void *opts, const char *arg)
{
	struct report_options *o = opts;

	if (!*arg) {
		cli_error("--output: the folder's name is empty");
		return CLI_USAGE;
	}
	o->dir = arg;
	return CLI_DONE;
}

static int set_save(void *opts, const char *arg)
{
	struct report_options *o = opts;

	(void)arg;
	o->save = 1;
	return CLI_DONE;
}

static int set_compare(void *opts, const char *arg)
{
	struct report_options *o = opts;

	o->compared[0] = arg;
	return CLI_DONE;
}

static int set_schema(void *opts, const char *arg)
{
	struct report_options *o = opts;

	(void)arg;
	o->schema = 1;
	return CLI_DONE;
}

static int set_hwloc(void *opts, const char *arg)
{
	struct report_options *o = opts;

	o->hwloc = arg;
	return CLI_DONE;
}

static int set_second(void *opts, const char *arg)
{
	struct report_options *o = opts;

	o->compared[1] = arg;
	return CLI_DONE;
}

static const struct cli_option options[] = {
	{ "output", 'o', "DIR", "the folder for both files; else " DEFAULT_DIR, set_dir },
	{ "save", 0, NULL, "also make it the profile that programs find by default", set_save },
	{ "compare", 0, "A B", "measure nothing: what differs between two profiles", set_compare },
	{ "schema", 0, NULL, "measure nothing: print the JSON Schema of profiles", set_schema },
	{ "hwloc", 0, "FILE", "measure nothing: print hwloc's XML with this profile's values",
	  set_hwloc },
	MEASURE_OPTIONS,
	CLI_COMMON_OPTIONS
};

static void copy_why(struct picture *to, const char *what, const struct picture *from)
{
	const char *why = strchr(from->why, ':');

	snprintf(to->why, sizeof(to->why), "no picture of %s%s", what, why ? why : "");
}

/* What gnuplot did not do once it is not asked for again: it may take its time. */
static void draw_plots(struct page *page)
{
	int err = picture_curve(page->machine, &page->curve);

	if (err && err != -ENODATA) {
		copy_why(&page->sweeps, "misses by lines of one set", &page->curve);
		copy_why(&page->capacity, "capacity by set sampling", &page->curve);
		copy_why(&page->transfers, "copies between processes", &page->curve);
		copy_why(&page->scaling, "bandwidth by cores", &page->curve);
		copy_why(&page->load, "latency under load", &page->curve);
		copy_why(&page->messages, "messages by size", &page->curve);
		return;
	}
	picture_sweeps(page->machine, &page->sweeps);
	if (!cli_stop_requested())
		picture_capacity(page->machine, &page->capacity);
	if (!cli_stop_requested())
		picture_transfers(page->machine, &page->transfers);
	if (!cli_stop_requested())
		picture_scaling(page->machine, &page->scaling);
	if (!cli_stop_requested())
		picture_load(page->machine, &page->load);
	if (page->machine->comm && !cli_stop_requested())
		picture_messages(page->machine, &page->messages);
}

/* A picture less is a report still. */
static void draw_pictures(struct page *page)
{
	cli_progress(0.97, "drawing the curve");
	draw_plots(page);
	picture_classes(page->machine, &page->classes);
	picture_sharing(page->machine, &page->sharing);
	if (page->machine->comm)
		picture_latency(page->machine, &page->latency);
	cli_progress(0.99, "drawing the topology");
	if (!cli_stop_requested())
		picture_topology(&page->topology);
	cli_progress_end();
	if (cli_stop_requested())
		return;
	if (!page->curve.svg)
		cli_error("%s", page->curve.why);
	if (!page->topology.svg)
		cli_error("%s", page->topology.why);
}

/* In memory first: then a disk that is full is known by its own error. */
static int write_page(const struct machine *m, struct output *out)
{
	struct page page = { .machine = m };
	char *text = NULL;
	size_t len;
	FILE *memory = open_memstream(&text, &len);
	int err = memory ? 0 : -ENOMEM;

	draw_pictures(&page);
	if (memory) {
		err = page_write(memory, &page);
		if (fclose(memory))
			err = -ENOMEM;
	}
	if (!err && !cli_stop_requested())
		err = output_write(out, text, len);
	free(text);
	picture_free(&page.curve);
	picture_free(&page.sweeps);
	picture_free(&page.capacity);
	picture_free(&page.classes);
	picture_free(&page.sharing);
	picture_free(&page.scaling);
	picture_free(&page.load);
	picture_free(&page.latency);
	picture_free(&page.messages);
	picture_free(&page.transfers);
	picture_free(&page.topology);
	return err;
}

static int save_profile(const struct machine *m, const struct output *out)
{
	char *path = output_path(out, "profile.json");
	int err = path ? sonde_profile_save(m->profile, path) : -ENOMEM;

	free(path);
	return err;
}

/* The profile first: whoever waits for the page finds both. */
static int write_files(const struct machine *m, struct output *out)
{
	const char *what = "report.html";
	int err = write_page(m, out);

	if (cli_stop_requested())
		return CLI_FAILED;
	if (!err) {
		what = "profile.json";
		err = save_profile(m, out);
	}
	if (!err) {
		what = "report.html";
		err = output_commit(out, what);
	}
	if (!err)
		return CLI_DONE;
	cli_error("cannot write %s/%s: %s", out->dir, what, strerror(-err));
	return CLI_FAILED;
}

/* What `sonde tune` has put into the profile that is replaced goes into the new one. */
static int keep_collectives(struct sonde_profile *profile)
{
	struct sonde_profile *old;
	char *text = NULL;
	int err = sonde_profile_load(&old, NULL);

	if (err == -EINVAL || err == -EPROTO)
		cli_error("what was the default profile cannot be read, and is replaced as a whole");
	if (err)
		return err == -ENOMEM ? err : 0;
	err = sonde_profile_collectives(old, &text);
	sonde_profile_free(old);
	if (!err)
		err = sonde_profile_set_collectives(profile, text);
	free(text);
	return err == -ENOENT ? 0 : err;
}

static int save_default(const struct machine *m)
{
	int err = keep_collectives(m->profile);

	if (!err)
		err = sonde_profile_save(m->profile, NULL);
	if (!err)
		return CLI_DONE;
	cli_error("cannot save the default profile: %s; name a file in SONDE_PROFILE",
		  strerror(-err));
	return CLI_FAILED;
}

static int show(const struct machine *m, const struct report_options *o)
{
	if (o->measure.common.json) {
		sonde_profile_dump(m->profile, stdout);
		return CLI_DONE;
	}
	if (print_caches(m)) {
		cli_error("not enough memory for the table");
		return CLI_FAILED;
	}
	putchar('\n');
	if (m->sharing && print_sharing(m)) {
		cli_error("not enough memory for the table");
		return CLI_FAILED;
	}
	putchar('\n');
	if (m->memory && print_memory(m)) {
		cli_error("not enough memory for the table");
		return CLI_FAILED;
	}
	putchar('\n');
	if (m->comm && print_comm(m->comm, 0)) {
		cli_error("not enough memory for the table");
		return CLI_FAILED;
	}
	printf("\nCopies between processes\n");
	bench_describe(m->transfers, m->profile, bench_print_line, NULL);
	printf("\nIn use\n");
	print_backends(m);
	printf("\n%s/profile.json  for programs, see sonde-profile(5)\n"
	       "%s/report.html   for people: the table and what it rests on, as pictures\n",
	       o->dir, o->dir);
	return CLI_DONE;
}

/* One CPU shares nothing: no failure, and the page says so. */
static int measure_sharing(struct machine *m, const struct report_options *o)
{
	int status = machine_measure_sharing(m, &o->measure, NULL, 0, 0);

	return status == CLI_CANNOT_MEASURE ? CLI_DONE : status;
}

/* Whoever allows less than a sweep of memory, or little time, gets less or none of it;
 * CPUs too busy for it are no failure of the report. */
static int measure_memory(struct machine *m, const struct report_options *o)
{
	struct measure_options how = o->measure;
	unsigned int *cpus;
	int n, status;

	if (how.max_bytes && how.max_bytes < MEMORY_LEAST)
		return CLI_DONE;
	if (!how.max_bytes && how.budget_s < BUDGET_FULL_S)
		how.max_bytes = MEMORY_LEAST;
	n = machine_list_cpus(m, &cpus);
	if (n < 0) {
		cli_error("not enough memory for the list of CPUs");
		return CLI_FAILED;
	}
	status = machine_measure_memory(m, &how, cpus, (size_t)n, 0);
	free(cpus);
	return status == CLI_CANNOT_MEASURE ? CLI_DONE : status;
}

/* Likewise; for a tenth of the time that caches may take. */
static int measure_comm(struct machine *m, const struct report_options *o)
{
	struct comm_options how = { .seed = o->measure.seed,
				    .budget_s = o->measure.budget_s / 10 };
	unsigned int *cpus;
	int n = machine_list_cpus(m, &cpus), status;

	if (n < 0) {
		cli_error("not enough memory for the list of CPUs");
		return CLI_FAILED;
	}
	status = n < 2 ? CLI_DONE : machine_measure_comm(m, &how, cpus, (size_t)n);
	free(cpus);
	return status == CLI_CANNOT_MEASURE ? CLI_DONE : status;
}

static int measure_and_write(struct machine *m, struct output *out,
			     const struct report_options *o)
{
	int status = machine_open(m, o->measure.cpu);

	if (status == CLI_DONE)
		status = machine_choose_meter(m, &o->measure);
	if (status == CLI_DONE)
		status = output_open(out, o->dir);
	if (status == CLI_DONE)
		status = machine_measure_caches(m, &o->measure);
	if (status == CLI_DONE)
		status = measure_sharing(m, o);
	if (status == CLI_DONE)
		status = measure_memory(m, o);
	if (status == CLI_DONE)
		status = measure_comm(m, o);
	if (status == CLI_DONE)
		status = machine_measure_transfers(m, &o->measure);
	if (status == CLI_DONE)
		status = machine_save_samples(m, &o->measure);
	if (status == CLI_DONE)
		status = write_files(m, out);
	if (status == CLI_DONE && o->save)
		status = save_default(m);
	return status == CLI_DONE ? show(m, o) : status;
}

static int compare(const struct report_options *o)
{
	if (o->compared[0] && o->compared[1])
		return compare_profiles(o->compared, o->measure.common.json);
	if (o->compared[0])
		cli_error("--compare needs two profiles: --compare A.json B.json");
	else
		cli_error("does not take '%s' without --compare; `sonde report --help` lists the "
			  "options", o->compared[1]);
	return CLI_USAGE;
}

static int print_hwloc(const char *path)
{
	struct sonde_profile *profile = profile_open(path);
	int err;

	if (!profile)
		return CLI_FAILED;
	err = sonde_profile_hwloc(profile, stdout);
	sonde_profile_free(profile);
	if (err == -EXDEV)
		cli_error("%s is of another machine; run `sonde report` here", path);
	else if (err == -ENOENT)
		cli_error("%s does not say of which machine it is; run `sonde report` anew", path);
	else if (err)
		cli_error("cannot print the topology: %s", strerror(-err));
	return err ? CLI_FAILED : CLI_DONE;
}

static int run(int argc, char **argv)
{
	struct report_options o = { .measure = MEASURE_DEFAULTS, .dir = DEFAULT_DIR };
	struct output out = OUTPUT_CLOSED;
	struct machine m;
	int status = cli_parse(&cmd_report, argc, argv, &o);

	if (status >= 0)
		return status;
	if (o.compared[0] || o.compared[1])
		return compare(&o);
	if (o.hwloc)
		return print_hwloc(o.hwloc);
	if (o.schema)
		return sonde_profile_schema(stdout) ? CLI_FAILED : CLI_DONE;
	cli_stop_catch();
	status = measure_and_write(&m, &out, &o);
	output_close(&out);
	machine_close(&m);
	if (cli_stop_requested())
		cli_stop_die();
	return status;
}

const struct cli_command cmd_report = {
	.name = "report",
	.summary = "measure everything: a table, a profile for programs, a page to share",
	.options = options,
	.run = run,
	.set_operand = set_second,
};
