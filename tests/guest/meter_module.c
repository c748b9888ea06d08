/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The meter over the module: what meter.h promises, and that a probe runs over it
 * to its end. What an emulator's caches are is of no interest here.
 */
#include <sys/resource.h>
#include <sonde/probe.h>

#include "../../lib/meter_module.h"
#include "../../lib/probe/cache.h"
#include "chase.h"

#define CHUNKS	64
#define LINES	(CHUNKS * METER_CHUNK_LINES)
#define WINDOWS	300
#define STEPS	512

static struct sonde_clock *clk;
static struct meter *meter;

static void open_meter(unsigned int cpu)
{
	check_int(sonde_clock_open(&clk, SONDE_CLOCK_AUTO), 0);
	check_int(meter_module_open(&meter, clk, cpu), 0);
	check(meter->tick_ns > 0 && meter->max_bytes >= CHUNKS * METER_CHUNK);
	check_int(meter->ops->pages(meter, CHUNKS), 0);
}

static void fill_places(uint32_t *places, uint32_t first, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		places[i] = (first + (i * 5 + 3) % n) * METER_LINE_PLACES;
}

static void check_windows(const struct meter_window *w, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		check(w[i].ticks && w[i].chain && w[i].begin);
		if (i)
			check(w[i].begin > w[i - 1].begin);
	}
}

static void chases_along_what_was_linked(void)
{
	static uint32_t places[LINES];
	static struct meter_window w[WINDOWS];
	unsigned int i;

	open_meter(0);
	fill_places(places, 0, LINES);
	meter->ops->link(meter, places, LINES);
	for (i = 0; i < 3; i++) {
		memset(w, 0, sizeof(w));
		meter->ops->chase(meter, i * 100, STEPS, w, WINDOWS);
		check_windows(w, WINDOWS);
	}
	meter->ops->close(meter);
	sonde_clock_close(clk);
}

/* More windows than the module gives at a time. */
static void fetches_many_windows_in_parts(void)
{
	const size_t n = 10000;
	struct meter_window *w = calloc(n, sizeof(*w));
	static uint32_t places[16];

	open_meter(0);
	fill_places(places, 0, 16);
	meter->ops->link(meter, places, 16);
	meter->ops->chase(meter, 0, 16, w, n);
	check_windows(w, n);
}

static void without_a_cycle_no_window_looks_quick(void)
{
	struct meter_window w[4];
	int i;

	open_meter(0);
	meter->ops->chase(meter, 0, STEPS, w, 4);
	for (i = 0; i < 4; i++)
		check(w[i].ticks * meter->tick_ns / STEPS > 100000);
}

static void moves_within_the_callers_cpus(void)
{
	static uint32_t places[LINES];
	static struct meter_window w[WINDOWS];

	need_two_cpus();
	open_meter(0);
	fill_places(places, 0, LINES);
	meter->ops->link(meter, places, LINES);
	check_int(meter->ops->move(meter, 1), 0);
	check_int(sched_getcpu(), 1);
	meter->ops->chase(meter, 10, STEPS, w, WINDOWS);
	check_windows(w, WINDOWS);
	check_int(meter->ops->move(meter, CPU_SETSIZE), -EINVAL);
	check_int(meter->ops->move(meter, CPU_SETSIZE - 1), -EPERM);
	meter->ops->close(meter);
	check(count_cpus() > 1);	/* as before */
}

static void lanes_overlap(void)
{
	static struct meter_window w[2][WINDOWS];
	static uint32_t places[2][LINES / 2];
	struct meter_lane lanes[2] = {
		{ .cpu = 0, .places = places[0], .n = LINES / 2, .skip = 1000,
		  .steps = STEPS, .out = w[0], .nout = WINDOWS },
		{ .cpu = 1, .places = places[1], .n = LINES / 2,
		  .steps = STEPS, .out = w[1], .nout = WINDOWS },
	};

	int tries = 0;

	need_two_cpus();
	open_meter(0);
	fill_places(places[0], 0, LINES / 2);
	fill_places(places[1], LINES / 2, LINES / 2);
	/* Who emulates the CPUs may take one away for longer than that. */
	do {
		check(tries++ < 500);
		check_int(meter->ops->together(meter, lanes, 2), 0);
		check_windows(w[0], WINDOWS);
		check_windows(w[1], WINDOWS);
	} while (w[0][0].begin >= w[1][WINDOWS - 1].begin ||
		 w[1][0].begin >= w[0][WINDOWS - 1].begin);
	check_int(count_cpus(), 1);	/* bound again */
	lanes[1].cpu = CPU_SETSIZE;
	check_int(meter->ops->together(meter, lanes, 2), -EINVAL);
	lanes[1].cpu = CPU_SETSIZE - 1;
	check_int(meter->ops->together(meter, lanes, 2), -EPERM);
	lanes[1].cpu = 0;
	check_int(meter->ops->together(meter, lanes, 2), -EINVAL);
	check_int(meter->ops->together(meter, lanes, 0), -EINVAL);
}

static void says_what_it_cannot_give(void)
{
	uint64_t frame;

	open_meter(0);
	check_int(meter->ops->frames(meter, 0, 1, &frame), -EPERM);
	check_int(meter->ops->pages(meter, 1UL << 40), -ENOMEM);
	check(meter->ops->gaps(meter, 0.05) >= 0);
	check(meter->ops->now(meter) > 0);
}

static void needs_no_right_but_the_nodes(void)
{
	struct meter_window w[4];
	uint32_t place = 0;

	/* Old kernels give 64 KiB. */
	check_int(setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ 1 << 20, 1 << 20 }), 0);
	become_nobody(probe_group());
	open_meter(0);
	meter->ops->link(meter, &place, 1);
	meter->ops->chase(meter, 0, STEPS, w, 4);
	check_windows(w, 4);
}

static void a_probe_runs_to_its_end(void)
{
	const struct sonde_cache_options options = {
		.cpu = 0, .budget_s = 4, .max_bytes = 8 << 20, .seed = 1,
	};
	struct sonde_cache_report *report = NULL;

	check_int(sonde_clock_open(&clk, SONDE_CLOCK_AUTO), 0);
	check_int(meter_module_open(&meter, clk, 0), 0);
	check_int(probe_cache_with(meter, &options, &report), 0);
	printf("# %zu points, %zu levels, %.1f s\n", report->npoints,
	       report->nlevels, report->elapsed_s);
	check(report->npoints > 4);
	check(report->points[0].windows > 0);
	sonde_cache_report_free(report);
	meter->ops->close(meter);
}

static void no_module_is_enodev(void)
{
	check_int(setenv("SONDE_DEV_DIR", "/nowhere", 1), 0);
	check_int(sonde_clock_open(&clk, SONDE_CLOCK_AUTO), 0);
	check_int(meter_module_open(&meter, clk, 0), -ENODEV);
}

static const struct tap_test tests[] = {
	TAP_TEST(chases_along_what_was_linked),
	TAP_TEST(fetches_many_windows_in_parts),
	TAP_TEST(without_a_cycle_no_window_looks_quick),
	TAP_TEST(moves_within_the_callers_cpus),
	TAP_TEST(lanes_overlap),
	TAP_TEST(says_what_it_cannot_give),
	TAP_TEST(needs_no_right_but_the_nodes),
	TAP_TEST(a_probe_runs_to_its_end),
	TAP_TEST(no_module_is_enodev),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
