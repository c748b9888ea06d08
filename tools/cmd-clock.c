// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde clock - the clock that times everything else
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "text.h"
#include "describe.h"

static const struct cli_option options[] = {
	CLI_COMMON_OPTIONS
};

/* The CPU whose counter is surely the furthest from the reference's. */
static const struct sonde_clock_offset *find_furthest(const struct sonde_clock_kernel *kernel)
{
	const struct sonde_clock_offset *found = NULL, *o;
	double sure, most = -1;

	for (size_t i = 0; i < kernel->noffsets; i++) {
		o = &kernel->offsets[i];
		sure = fabs(o->offset_ticks) - o->error_ticks;
		if (sure < 0)
			sure = 0;
		if (sure > most) {
			most = sure;
			found = o;
		}
	}
	return found;
}

static size_t describe_offsets(const struct sonde_clock_kernel *kernel, struct fact *facts)
{
	const struct sonde_clock_offset *o = find_furthest(kernel);

	if (!o)
		return 0;
	facts[0].name = "other CPUs";
	snprintf(facts[0].value, CELL_LEN, "%zu compared with CPU %u", kernel->noffsets,
		 kernel->reference);
	facts[1].name = "furthest";
	snprintf(facts[1].value, CELL_LEN, "CPU %u: %+.0f ticks (to within %.0f)", o->cpu,
		 o->offset_ticks, o->error_ticks);
	facts[2].name = "it drifts";
	snprintf(facts[2].value, CELL_LEN, "%+.0f ppb (to within %.0f)", o->drift_ppb,
		 o->drift_error_ppb);
	return 3;
}

/* Beside what was measured from user space; nothing where there is no module. */
static void print_kernel(void)
{
	struct sonde_clock_kernel *kernel;
	struct fact facts[MAX_FACTS];
	size_t n = 0;

	if (sonde_clock_ask_kernel(&kernel))
		return;
	facts[n].name = "frequency";
	snprintf(facts[n++].value, CELL_LEN, "%.6f MHz, %s", kernel->hz / 1e6,
		 kernel->is_told ? "told by the processor" : "calibrated");
	facts[n].name = "counter";
	snprintf(facts[n++].value, CELL_LEN, "%s, %s", kernel->is_invariant ?
		 "constant and never stopping" : "not promised to be constant",
		 kernel->is_stable ? "stable" : "found unstable");
	facts[n].name = "read costs";
	snprintf(facts[n++].value, CELL_LEN, "%.6g ticks, interrupts off",
		 kernel->overhead_ticks);
	facts[n].name = "step";
	snprintf(facts[n++].value, CELL_LEN, "%llu %s", (unsigned long long)kernel->step_ticks,
		 kernel->step_ticks == 1 ? "tick" : "ticks");
	n += describe_offsets(kernel, &facts[n]);
	puts("\nThe processor's counter, as the module sees it");
	print_facts(facts, n);
	sonde_clock_kernel_free(kernel);
}

static int run(int argc, char **argv)
{
	struct cli_common common = { 0 };
	struct fact facts[MAX_FACTS];
	struct machine m;
	int status = cli_parse(&cmd_clock, argc, argv, &common);

	if (status >= 0)
		return status;
	status = machine_open(&m, -1);
	if (status == CLI_DONE && common.json) {
		sonde_profile_dump(m.profile, stdout);
	} else if (status == CLI_DONE) {
		puts("Clock");
		print_facts(facts, describe_clock(sonde_clock_info(m.clk), facts));
		print_kernel();
	}
	machine_close(&m);
	return status;
}

const struct cli_command cmd_clock = {
	.name = "clock",
	.summary = "the clock that times: frequency, cost of a read, step",
	.options = options,
	.run = run,
};
