// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * clock - the counter if it is one, CLOCK_MONOTONIC_RAW if not
 */
#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "log.h"

struct sonde_clock {
	struct sonde_clock_info info;
	double ns_per_tick;
};

/* Return: 0, or -ENOTSUP with info->why. */
static int try_counter(struct sonde_clock_info *info)
{
	struct clock_facts facts;

	clock_gather_facts(&facts);
	info->why = clock_judge(&facts);
	if (info->why)
		return -ENOTSUP;
	if (clock_calibrate(clock_read_counter, info)) {
		info->why = "the counter does not keep a constant rate beside CLOCK_MONOTONIC_RAW";
		return -ENOTSUP;
	}
	if (clock_must_compare_cpus(&facts) && clock_compare_cpus(clock_read_counter, info->hz)) {
		info->why = "the counter is not the same on all CPUs";
		return -ENOTSUP;
	}
	info->source = SONDE_CLOCK_COUNTER;
	info->name = facts.name;
	info->claimed_hz = facts.claimed_hz;
	info->overhead_ticks = clock_measure_overhead(clock_read_counter);
	info->step_ticks = clock_measure_step(clock_read_counter);
	return 0;
}

/* It is the standard that the counter is held against: its rate is exact. */
static void use_monotonic_raw(struct sonde_clock_info *info)
{
	info->source = SONDE_CLOCK_MONOTONIC_RAW;
	info->name = "monotonic-raw";
	info->hz = 1e9;
	info->hz_low = 1e9;
	info->hz_high = 1e9;
	info->overhead_ticks = clock_measure_overhead(clock_read_monotonic_raw);
	info->step_ticks = clock_measure_step(clock_read_monotonic_raw);
}

static int choose(struct sonde_clock_info *info, enum sonde_clock_source source)
{
	int err;

	if (source == SONDE_CLOCK_MONOTONIC_RAW) {
		info->why = "CLOCK_MONOTONIC_RAW was asked for";
	} else {
		err = try_counter(info);
		if (!err)
			return 0;
		sonde_log("clock: %s", info->why);
		if (source == SONDE_CLOCK_COUNTER)
			return err;
	}
	use_monotonic_raw(info);
	return 0;
}

int sonde_clock_open(struct sonde_clock **out, enum sonde_clock_source source)
{
	struct sonde_clock *clk;
	int err;

	if (source != SONDE_CLOCK_AUTO && source != SONDE_CLOCK_COUNTER &&
	    source != SONDE_CLOCK_MONOTONIC_RAW)
		return -EINVAL;
	clk = calloc(1, sizeof(*clk));
	if (!clk)
		return -ENOMEM;
	err = choose(&clk->info, source);
	if (err) {
		free(clk);
		return err;
	}
	clk->ns_per_tick = 1e9 / clk->info.hz;
	*out = clk;
	return 0;
}

void sonde_clock_close(struct sonde_clock *clk)
{
	free(clk);
}

const struct sonde_clock_info *sonde_clock_info(const struct sonde_clock *clk)
{
	return &clk->info;
}

uint64_t sonde_clock_now(const struct sonde_clock *clk)
{
	if (clk->info.source == SONDE_CLOCK_COUNTER)
		return clock_read_counter();
	return clock_read_monotonic_raw();
}

double sonde_clock_ns(const struct sonde_clock *clk, double ticks)
{
	return ticks * clk->ns_per_tick;
}
