// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde clock - the clock that times everything else
 */
#include <errno.h>
#include <string.h>
#include "text.h"
#include "describe.h"

static const struct cli_option options[] = {
	CLI_COMMON_OPTIONS
};

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
