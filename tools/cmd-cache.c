// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde cache - sizes and latencies of the caches, measured beside claimed
 */
#include "text.h"
#include "describe.h"

/* More than any machine has. */
#define MOST_LEVELS	8

struct cache_options {
	struct measure_options measure;
	int curve;
};

static int set_curve(void *opts, const char *arg)
{
	struct cache_options *o = opts;

	(void)arg;
	o->curve = 1;
	return CLI_DONE;
}

static int set_no_curve(void *opts, const char *arg)
{
	struct measure_options *o = opts;

	(void)arg;
	o->budget_s = 0;
	return CLI_DONE;
}

static int set_levels(void *opts, const char *arg)
{
	struct measure_options *o = opts;
	uint64_t levels;

	if (cli_parse_count("levels", arg, MOST_LEVELS, &levels) != CLI_DONE)
		return CLI_USAGE;
	if (!levels) {
		cli_error("--levels 0: that is none; 1 to %d, or leave it out for all", MOST_LEVELS);
		return CLI_USAGE;
	}
	o->levels = (unsigned int)levels;
	return CLI_DONE;
}

static const struct cli_option options[] = {
	MEASURE_OPTIONS,
	{ "levels", 0, "N", "look for the sets of the first N levels only; else of all", set_levels },
	{ "no-curve", 0, NULL, "sizes, ways and lines only, as quickly as that goes", set_no_curve },
	MEASURE_METHOD_OPTION,
	{ "curve", 0, NULL, "print the latency curve too (--json always has it)", set_curve },
	CLI_COMMON_OPTIONS
};

int show_caches(const struct machine *m, int json, int curve)
{
	if (json) {
		sonde_profile_dump(m->profile, stdout);
	} else if (print_caches(m)) {
		cli_error("not enough memory for the table");
		return CLI_FAILED;
	} else if (curve) {
		print_curve(m->caches);
	}
	return m->caches->nlevels ? CLI_DONE : CLI_CANNOT_MEASURE;
}

/* Without the curve, what is nothing but the curve cannot be had; with it alone, no sets. */
static int check_options(const struct cache_options *o)
{
	if (o->measure.levels && o->measure.method == METHOD_SERVET) {
		cli_error("--levels: servet looks for no sets; leave --levels or --method servet out");
		return CLI_USAGE;
	}
	if (o->measure.budget_s > 0)
		return CLI_DONE;
	if (o->curve)
		cli_error("--curve and --no-curve exclude each other; leave one out");
	else if (o->measure.method == METHOD_SERVET)
		cli_error("--no-curve: servet finds caches by the curve alone; "
			  "leave --no-curve or --method servet out");
	else
		return CLI_DONE;
	return CLI_USAGE;
}

static int run(int argc, char **argv)
{
	struct cache_options o = { .measure = MEASURE_DEFAULTS };
	struct machine m;
	int status = cli_parse(&cmd_cache, argc, argv, &o);

	if (status >= 0)
		return status;
	status = check_options(&o);
	if (status != CLI_DONE)
		return status;
	cli_stop_catch();
	status = machine_open(&m, o.measure.cpu);
	if (status == CLI_DONE)
		status = machine_choose_meter(&m, &o.measure);
	if (status == CLI_DONE)
		status = machine_measure_caches(&m, &o.measure);
	if (status == CLI_DONE)
		status = machine_save_samples(&m, &o.measure);
	if (status == CLI_DONE && !cli_stop_requested())
		status = show_caches(&m, o.measure.common.json, o.curve);
	machine_close(&m);
	if (cli_stop_requested())
		cli_stop_die();
	return status;
}

const struct cli_command cmd_cache = {
	.name = "cache",
	.summary = "size and latency of each cache, measured beside claimed",
	.options = options,
	.run = run,
};
