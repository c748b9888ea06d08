// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde bench copy - what a copy from another process costs, by every way there is
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sonde/topology.h>
#include "bench.h"
#include "text.h"

#define DEFAULT_BYTES	((size_t)64 << 20)
#define DEFAULT_S	10.0

struct copy_options {
	struct cli_common common;
	const char *cpus;
	size_t max_bytes;
	double budget_s;
	enum bench_pages pages;
	const char *figure;
	int save;
};

static int set_cpus(void *opts, const char *arg)
{
	((struct copy_options *)opts)->cpus = arg;
	return CLI_DONE;
}

static int set_max_size(void *opts, const char *arg)
{
	return cli_parse_size("max-size", arg, &((struct copy_options *)opts)->max_bytes);
}

static int set_budget(void *opts, const char *arg)
{
	return cli_parse_seconds("budget", arg, &((struct copy_options *)opts)->budget_s);
}

static int set_pages(void *opts, const char *arg)
{
	static const char *const names[] = {
		[BENCH_PAGES_SYSTEM] = "system", [BENCH_PAGES_SMALL] = "small",
		[BENCH_PAGES_HUGE] = "huge",
	};
	struct copy_options *o = opts;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(arg, names[i]) != 0)
			continue;
		o->pages = (enum bench_pages)i;
		return CLI_DONE;
	}
	cli_error("--pages %s: not one of system, small, huge", arg);
	return CLI_USAGE;
}

static int set_figure(void *opts, const char *arg)
{
	((struct copy_options *)opts)->figure = arg;
	return CLI_DONE;
}

static int set_save(void *opts, const char *arg)
{
	(void)arg;
	((struct copy_options *)opts)->save = 1;
	return CLI_DONE;
}

static const struct cli_option options[] = {
	{ "cpus", 0, "READER,OWNER", "where the two processes run; else the first two allowed",
	  set_cpus },
	{ "max-size", 0, "SIZE", "the largest copy; else 64M", set_max_size },
	{ "budget", 0, "SECONDS", "how long to measure, about; else 10", set_budget },
	{ "pages", 0, "KIND", "of private memory: small, huge, or as the system does (system)",
	  set_pages },
	{ "figure", 0, "FILE", "also draw it, as SVG; needs gnuplot", set_figure },
	{ "save", 0, NULL, "also into the profile that programs find by default", set_save },
	CLI_COMMON_OPTIONS
};

/* ---- where -------------------------------------------------------------- */

static int parse_cpus(const char *text, unsigned int cpus[2])
{
	char end;

	if (*text >= '0' && *text <= '9' && strchr(text, ',') &&
	    strchr(text, ',')[1] >= '0' && strchr(text, ',')[1] <= '9' &&
	    sscanf(text, "%5u,%5u%c", &cpus[0], &cpus[1], &end) == 2)
		return CLI_DONE;
	cli_error("--cpus wants two CPUs such as 0,1, not '%s'", text);
	return CLI_USAGE;
}

static int is_among(unsigned int cpu, const unsigned int *cpus, int n)
{
	for (int i = 0; i < n; i++)
		if (cpus[i] == cpu)
			return 1;
	return 0;
}

int bench_choose_cpus(const char *text, const struct sonde_topology *topo,
		      unsigned int chosen[2])
{
	int n = sonde_topology_cpus(topo, NULL, 0);
	unsigned int *cpus = n > 0 ? calloc((size_t)n, sizeof(*cpus)) : NULL;
	int status = CLI_DONE;
	char *list;

	if (!cpus) {
		cli_error("not enough memory for the list of CPUs");
		return CLI_FAILED;
	}
	n = sonde_topology_cpus(topo, cpus, (size_t)n);
	chosen[0] = cpus[0];
	chosen[1] = cpus[n > 1];
	if (text)
		status = parse_cpus(text, chosen);
	for (int i = 0; i < 2 && status == CLI_DONE; i++) {
		if (is_among(chosen[i], cpus, n))
			continue;
		list = text_cpus(cpus, (size_t)n);
		cli_error("CPU %u is not among those this process may run on: %s", chosen[i],
			  list ? list : "?");
		free(list);
		status = CLI_USAGE;
	}
	free(cpus);
	return status;
}

/* ---- what is told ------------------------------------------------------- */

static const struct sonde_transfer_point *find_point(const struct bench_result *result,
						     const char *way, uint64_t bytes)
{
	for (size_t i = 0; i < result->npoints; i++)
		if (result->points[i].bytes == bytes && !strcmp(result->points[i].way, way))
			return &result->points[i];
	return NULL;
}

static int is_measured(const struct bench_result *result, const char *way)
{
	for (size_t i = 0; i < result->npoints; i++)
		if (!strcmp(result->points[i].way, way))
			return 1;
	return 0;
}

static void format_ratio(char buf[TEXT_LEN], double ratio)
{
	snprintf(buf, TEXT_LEN, "%.*fx", ratio < 99.5 ? 1 : 0, ratio);
}

/* Two columns of a method, but one of memcpy, which all are held against. */
static void print_cells(const char *time, const char *ratio, int has_ratio)
{
	printf("  %8s", time);
	if (has_ratio)
		printf(" %6s", ratio);
}

static void print_row(const struct bench_result *result, uint64_t bytes)
{
	const struct sonde_transfer_point *base = find_point(result, "memcpy", bytes), *p;
	char time[TEXT_LEN], ratio[TEXT_LEN];

	for (int m = 0; m < BENCH_METHODS; m++) {
		const char *way = bench_method_name((enum bench_method)m);

		if (!is_measured(result, way))
			continue;
		p = find_point(result, way, bytes);
		snprintf(time, sizeof(time), "-");
		snprintf(ratio, sizeof(ratio), "-");
		if (p)
			text_time(time, p->ns);
		if (p && base)
			format_ratio(ratio, p->ns / base->ns);
		print_cells(time, ratio, m != BENCH_MEMCPY);
	}
	putchar('\n');
}

static void print_table(const struct bench_result *result)
{
	char size[TEXT_LEN];

	printf("%-8s", "copy of");
	for (int m = 0; m < BENCH_METHODS; m++) {
		const char *way = bench_method_name((enum bench_method)m);

		/* Names longer than a time take room of the ratio. */
		if (is_measured(result, way))
			printf(m == BENCH_MEMCPY ? "  %8s" : "  %15s", way);
	}
	putchar('\n');
	for (size_t i = 0; i < result->nsizes; i++) {
		printf("%-8s", text_size(size, result->sizes[i]));
		print_row(result, result->sizes[i]);
	}
}

static void print_result(const struct bench_result *result, const struct sonde_profile *profile,
			 const struct bench_request *request)
{
	printf("Copies by a process on CPU %u from one on CPU %u; medians, and their ratio to "
	       "memcpy from\nshared memory\n\n", request->cpus[0], request->cpus[1]);
	print_table(result);
	printf("\n95 %% intervals of the medians: within %.1f %%\n", 100 * result->worst);
	bench_describe(result, profile, bench_print_line, NULL);
	if (request->cpus[0] == request->cpus[1])
		puts("no twice: two processes on one CPU cannot copy at once");
}

/* ---- the profile -------------------------------------------------------- */

static int fill_profile(struct sonde_profile *profile, const struct bench_result *result)
{
	const char *why = *result->whys[SONDE_TRANSFER_MODULE] ?
			  result->whys[SONDE_TRANSFER_MODULE] : NULL;
	const char *best = !why ? "module" : *result->whys[SONDE_TRANSFER_CMA] ? "shm" : "cma";
	int err = sonde_profile_set_transfers(profile, result->points, result->npoints);

	return err ? err : sonde_profile_set_backend(profile, "transfer", best, why);
}

/* What else it says of this machine stays. */
static int save(const struct bench_result *result, const struct sonde_topology *topo)
{
	struct sonde_profile *profile = NULL;
	const char *what = "read";
	int err = sonde_profile_load(&profile, NULL);

	if (err == -ENOENT) {
		err = sonde_profile_new(&profile);
		if (!err)
			err = sonde_profile_set_machine(profile, topo);
	}
	if (!err)
		err = fill_profile(profile, result);
	if (!err) {
		what = "save";
		err = sonde_profile_save(profile, NULL);
	}
	sonde_profile_free(profile);
	if (!err)
		return CLI_DONE;
	cli_error("cannot %s the default profile: %s; name a file in SONDE_PROFILE", what,
		  strerror(-err));
	return CLI_FAILED;
}

static int show(const struct copy_options *o, const struct bench_request *request,
		const struct bench_result *result, const struct sonde_topology *topo)
{
	struct sonde_profile *profile;
	int status = CLI_DONE, err = sonde_profile_new(&profile);

	if (!err) {
		err = sonde_profile_set_machine(profile, topo);
		if (!err)
			err = sonde_profile_set_clock(profile, sonde_clock_info(request->clk));
		if (!err)
			err = fill_profile(profile, result);
		if (!err && o->common.json)
			sonde_profile_dump(profile, stdout);
		else if (!err)
			print_result(result, profile, request);
		sonde_profile_free(profile);
	}
	if (err) {
		cli_error("not enough memory for the result");
		return CLI_FAILED;
	}
	if (o->save)
		status = save(result, topo);
	return status;
}

static int measure(const struct copy_options *o, const struct sonde_topology *topo,
		   struct bench_request *request, struct bench_result *result)
{
	struct sonde_clock *clk;
	int status, err = sonde_clock_open(&clk, SONDE_CLOCK_AUTO);

	if (err) {
		cli_error("cannot open the clock: %s", strerror(-err));
		return CLI_FAILED;
	}
	request->clk = clk;
	status = bench_measure(request, result);
	if (status == CLI_DONE && !cli_stop_requested())
		status = show(o, request, result, topo);
	sonde_clock_close(clk);
	return status;
}

/* A file that was there before is emptied only when there is a figure. */
static int measure_and_draw(const struct copy_options *o, const struct sonde_topology *topo,
			    struct bench_request *request, struct bench_result *result)
{
	const int was_there = o->figure && !access(o->figure, F_OK);
	int status, fd;

	if (!o->figure)
		return measure(o, topo, request, result);
	fd = bench_figure_open(o->figure);
	if (fd < 0)
		return CLI_FAILED;
	status = measure(o, topo, request, result);
	if (status == CLI_DONE && !cli_stop_requested())
		status = bench_figure_write(result, o->figure, fd);
	if (!was_there && (status != CLI_DONE || cli_stop_requested()))
		unlink(o->figure);
	close(fd);
	return status;
}

static int run(int argc, char **argv)
{
	struct copy_options o = { .max_bytes = DEFAULT_BYTES, .budget_s = DEFAULT_S };
	struct bench_request request = { .clk = NULL };
	struct sonde_topology *topo;
	struct bench_result *result;
	int status = cli_parse(&bench_copy, argc, argv, &o);

	if (status >= 0)
		return status;
	status = o.cpus ? parse_cpus(o.cpus, request.cpus) : CLI_DONE;
	if (status != CLI_DONE)
		return status;
	request.max_bytes = o.max_bytes;
	request.budget_s = o.budget_s;
	request.pages = o.pages;
	result = calloc(1, sizeof(*result));
	if (!result || sonde_topology_open(&topo)) {
		cli_error("not enough memory for the topology");
		free(result);
		return CLI_FAILED;
	}
	status = bench_choose_cpus(o.cpus, topo, request.cpus);
	if (status == CLI_DONE) {
		cli_stop_catch();
		status = measure_and_draw(&o, topo, &request, result);
	}
	sonde_topology_close(topo);
	free(result);
	if (cli_stop_requested())
		cli_stop_die();
	return status;
}

const struct cli_command bench_copy = {
	.name = "bench copy",
	.summary = "copies from another process by module, CMA and shared memory",
	.options = options,
	.run = run,
};
