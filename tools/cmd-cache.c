// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde cache - sizes and latencies of the caches, measured beside claimed
 */
#include "text.h"
#include "describe.h"

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

static const struct cli_option options[] = {
	MEASURE_OPTIONS,
	{ "curve", 0, NULL, "print the latency curve too (--json always has it)", set_curve },
	CLI_COMMON_OPTIONS
};

static int show(const struct machine *m, const struct cache_options *o)
{
	if (o->measure.common.json) {
		sonde_profile_dump(m->profile, stdout);
	} else if (print_caches(m)) {
		cli_error("not enough memory for the table");
		return CLI_FAILED;
	} else if (o->curve) {
		print_curve(m->caches);
	}
	return m->caches->nlevels ? CLI_DONE : CLI_CANNOT_MEASURE;
}

static int run(int argc, char **argv)
{
	struct cache_options o = { .measure = MEASURE_DEFAULTS };
	struct machine m;
	int status = cli_parse(&cmd_cache, argc, argv, &o);

	if (status >= 0)
		return status;
	cli_stop_catch();
	status = machine_open(&m, o.measure.cpu);
	if (status == CLI_DONE)
		status = machine_measure_caches(&m, &o.measure);
	if (status == CLI_DONE && !cli_stop_requested())
		status = show(&m, &o);
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
