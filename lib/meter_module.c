// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The machine below us, measured in the kernel by SONDE_IOC_CHASE.
 *
 * What is timed is what meter_user.c times, by the same loops, but with
 * interrupts off and in memory that the kernel reaches by huge pages: no gaps, and
 * next to no TLB. The thread is bound to the CPU, so the module measures in it,
 * and what it has cached there stays from call to call.
 */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bind.h"
#include "clock.h"
#include "device.h"
#include "free_memory.h"
#include "log.h"
#include "meter_module.h"
#include "meter_user.h"

_Static_assert(METER_PLACE == SONDE_PLACE, "places are the module's");

#define FEATURES	(SONDE_FEAT_ALLOC | SONDE_FEAT_CHASE | SONDE_FEAT_CLOCK)
#define MEMORY_LIMIT	"/sys/module/sonde/parameters/memory_pages"
/* Windows that are fetched at a time. */
#define CHUNK		4096
/* The module gives up where the thread was moved away; the next try is another. */
#define TRIES		10
/* A window that cannot be had is told as one that lasted that long. */
#define NEVER_S		1.0
/* A window this much longer than the fastest was interrupted. */
#define GAP_S		1e-6
#define GAP_STEPS	64

/**
 * struct meter_module - this machine, by the module
 * @meter: what a probe sees
 * @clk: the caller's
 * @dev: the module
 * @before: where the thread might run until open; lanes and moves stay within
 * @cpu: where it is bound to
 * @memory: descriptor of the memory, -1 if there is none
 * @cost: ticks of a read of the counter
 * @raw: CHUNK windows as the module gives them
 */
struct meter_module {
	struct meter meter;
	const struct sonde_clock *clk;
	struct sonde_device *dev;
	cpu_set_t before;
	unsigned int cpu;
	int memory;
	uint64_t cost;
	struct sonde_window *raw;
};

static struct meter_module *to_module(struct meter *m)
{
	return (struct meter_module *)(void *)m;
}

/* ---- the commands -------------------------------------------------------- */

static int alloc_memory(const struct meter_module *mm, size_t bytes)
{
	struct sonde_alloc args = {
		.size = sizeof(args),
		.flags = SONDE_ALLOC_PRIVATE,
		.npages = (bytes + mm->meter.page_size - 1) / mm->meter.page_size,
		.node = -1,
	};
	int err = device_command(mm->dev, SONDE_IOC_ALLOC, &args);

	return err ? err : args.fd;
}

static int chase_lanes(const struct meter_module *mm, int memory, struct sonde_lane *lanes,
		       size_t n)
{
	struct sonde_chase args = {
		.size = sizeof(args),
		.memory = memory,
		.nlanes = (uint32_t)n,
		.lanes = (uintptr_t)lanes,
	};

	return device_command(mm->dev, SONDE_IOC_CHASE, &args);
}

static uint64_t net(uint64_t ticks, uint64_t cost)
{
	return ticks > cost ? ticks - cost : 1;
}

static void convert(const struct meter_module *mm, const struct sonde_window *raw, size_t n,
		    struct meter_window *out)
{
	for (size_t i = 0; i < n; i++) {
		out[i].ticks = net(raw[i].ticks, raw[i].reads * mm->cost);
		out[i].chain = net(raw[i].chain, mm->cost);
		out[i].begin = raw[i].begin;
	}
}

/* ---- one CPU ------------------------------------------------------------- */

static void drop_memory(struct meter_module *mm)
{
	if (mm->memory >= 0)
		close(mm->memory);
	mm->memory = -1;
}

static int module_pages(struct meter *m, size_t chunks)
{
	struct meter_module *mm = to_module(m);
	int fd;

	drop_memory(mm);
	if (chunks > SIZE_MAX / METER_CHUNK)
		return -ENOMEM;
	fd = alloc_memory(mm, chunks * METER_CHUNK);
	switch (fd) {
	case -EDQUOT:
	case -ENOBUFS:
	case -ENOSPC:
		sonde_log("meter: the module gives no %zu pages: %s", chunks, strerror(-fd));
		return -ENOMEM;
	}
	if (fd < 0)
		return fd;
	mm->memory = fd;
	return 0;
}

/* Nobody has mapped the memory, so nobody can be told what is behind it. */
static int module_frames(struct meter *m, size_t first, size_t n, uint64_t *out)
{
	(void)m;
	(void)first;
	(void)n;
	(void)out;
	return -EPERM;
}

/* One lane where the thread is; it goes on if places are not given. */
static int chase_here(const struct meter_module *mm, struct sonde_lane *lane)
{
	int err = -EAGAIN;

	lane->cpu = mm->cpu;
	for (int i = 0; i < TRIES && err == -EAGAIN; i++)
		err = chase_lanes(mm, mm->memory, lane, 1);
	if (err)
		sonde_log("meter: SONDE_IOC_CHASE: %s", strerror(-err));
	return err;
}

static void module_link(struct meter *m, const uint32_t *places, size_t n)
{
	struct sonde_lane lane = {
		.places = (uintptr_t)places, .nplaces = n, .steps = 1,
	};

	chase_here(to_module(m), &lane);
}

static int skip_loads(const struct meter_module *mm, uint64_t skip)
{
	struct sonde_lane lane = { .steps = 1 };
	int err = 0;

	for (; skip && !err; skip -= lane.skip) {
		lane.skip = skip < SONDE_CHASE_LOADS ? skip : SONDE_CHASE_LOADS;
		err = chase_here(mm, &lane);
	}
	return err;
}

static size_t windows_a_call(unsigned int steps, size_t nout)
{
	size_t most = SONDE_CHASE_LOADS / steps;

	most = most < CHUNK ? most : CHUNK;
	return most < nout ? most : nout;
}

static void never(const struct meter_module *mm, struct meter_window *out, size_t n)
{
	uint64_t ticks = (uint64_t)(NEVER_S * 1e9 / mm->meter.tick_ns);

	for (size_t i = 0; i < n; i++)
		out[i] = (struct meter_window){ .ticks = ticks, .chain = 1 };
}

static void module_chase(struct meter *m, uint64_t skip, unsigned int steps,
			 struct meter_window *out, size_t nout)
{
	const struct meter_module *mm = to_module(m);
	struct sonde_lane lane = { .steps = steps, .windows = (uintptr_t)mm->raw };
	int err = steps && steps <= SONDE_CHASE_LOADS ? 0 : -EINVAL;

	/* A short skip goes with the windows: a call less between them. */
	if (skip <= SONDE_CHASE_LOADS / 2)
		lane.skip = skip;
	else if (!err)
		err = skip_loads(mm, skip);
	for (; nout && !err; out += lane.nwindows, nout -= lane.nwindows) {
		lane.nwindows = (uint32_t)windows_a_call(steps, nout);
		if (lane.skip > SONDE_CHASE_LOADS - (uint64_t)steps * lane.nwindows)
			lane.nwindows = (uint32_t)((SONDE_CHASE_LOADS - lane.skip) / steps);
		err = chase_here(mm, &lane);
		lane.skip = 0;
		if (err)
			break;
		convert(mm, mm->raw, lane.nwindows, out);
	}
	if (err)
		never(mm, out, nout);
}

static int module_flush(struct meter *m, const uint32_t *places, size_t n)
{
	const struct meter_module *mm = to_module(m);
	struct sonde_lane lane = {
		.cpu = mm->cpu, .places = (uintptr_t)places, .nplaces = n, .steps = 1,
	};
	struct sonde_chase args = {
		.size = sizeof(args), .flags = SONDE_CHASE_FLUSH, .memory = mm->memory,
		.nlanes = 1, .lanes = (uintptr_t)&lane,
	};

	if (!(sonde_device_features(mm->dev) & SONDE_FEAT_FLUSH))
		return -EOPNOTSUPP;
	return n ? device_command(mm->dev, SONDE_IOC_CHASE, &args) : 0;
}

static int module_move(struct meter *m, unsigned int cpu)
{
	struct meter_module *mm = to_module(m);
	int err;

	if (cpu >= CPU_SETSIZE)
		return -EINVAL;
	if (!CPU_ISSET(cpu, &mm->before))
		return -EPERM;
	err = bind_to(cpu);
	if (!err)
		mm->cpu = cpu;
	return err;
}

/* ---- several CPUs -------------------------------------------------------- */

/* Return: windows of all lanes, or -errno. */
static ssize_t check_lanes(const struct meter_module *mm, const struct meter_lane *lanes,
			   size_t nlanes)
{
	size_t windows = 0;

	if (!nlanes || mm->memory < 0)
		return -EINVAL;
	for (size_t i = 0; i < nlanes; i++) {
		if (lanes[i].cpu >= CPU_SETSIZE || lanes[i].nout > SONDE_CHASE_WINDOWS)
			return -EINVAL;
		if (!CPU_ISSET(lanes[i].cpu, &mm->before))
			return -EPERM;
		windows += lanes[i].nout;
	}
	return windows > SONDE_CHASE_WINDOWS ? -EINVAL : (ssize_t)windows;
}

static int run_lanes(struct meter_module *mm, const struct meter_lane *lanes, size_t nlanes,
		     struct sonde_lane *args, struct sonde_window *raw)
{
	struct sonde_window *at = raw;
	int err;

	for (size_t i = 0; i < nlanes; i++) {
		args[i] = (struct sonde_lane){
			.cpu = lanes[i].cpu,
			.steps = lanes[i].steps,
			.places = (uintptr_t)lanes[i].places,
			.nplaces = lanes[i].n,
			.skip = lanes[i].skip,
			.windows = (uintptr_t)at,
			.nwindows = (uint32_t)lanes[i].nout,
		};
		at += lanes[i].nout;
	}
	/* The module takes no CPU that the thread may not run on. */
	if (sched_setaffinity(0, sizeof(mm->before), &mm->before))
		return -errno;
	err = chase_lanes(mm, mm->memory, args, nlanes);
	module_move(&mm->meter, mm->cpu);
	for (size_t i = 0; i < nlanes && !err; i++) {
		convert(mm, raw, lanes[i].nout, lanes[i].out);
		raw += lanes[i].nout;
	}
	return err;
}

static int module_together(struct meter *m, const struct meter_lane *lanes, size_t nlanes)
{
	struct meter_module *mm = to_module(m);
	ssize_t windows = check_lanes(mm, lanes, nlanes);
	struct sonde_window *raw;
	struct sonde_lane *args;
	int err = -ENOMEM;

	if (windows < 0)
		return (int)windows;
	raw = calloc((size_t)windows + 1, sizeof(*raw));
	args = calloc(nlanes, sizeof(*args));
	if (raw && args)
		err = run_lanes(mm, lanes, nlanes, args, raw);
	free(raw);
	free(args);
	return err;
}

/* ---- time ---------------------------------------------------------------- */

static double module_now(struct meter *m)
{
	const struct meter_module *mm = to_module(m);

	return sonde_clock_ns(mm->clk, (double)sonde_clock_now(mm->clk)) / 1e9;
}

/* Adds what CHUNK windows show. */
static int watch(struct meter_module *mm, int memory, uint64_t *ticks, unsigned int *gaps)
{
	static const uint32_t place;
	uint64_t gap = (uint64_t)(GAP_S * 1e9 / mm->meter.tick_ns), fastest = UINT64_MAX;
	struct sonde_lane lane = {
		.cpu = mm->cpu, .places = (uintptr_t)&place, .nplaces = 1, .skip = GAP_STEPS,
		.steps = GAP_STEPS, .windows = (uintptr_t)mm->raw, .nwindows = CHUNK,
	};
	int err = chase_lanes(mm, memory, &lane, 1);

	for (size_t i = 0; i < CHUNK && !err; i++)
		if (mm->raw[i].ticks < fastest)
			fastest = mm->raw[i].ticks;
	for (size_t i = 0; i < CHUNK && !err; i++) {
		*ticks += mm->raw[i].ticks;
		*gaps += mm->raw[i].ticks > fastest + gap;
	}
	return err == -EAGAIN ? 0 : err;
}

/* Of the time within windows: what happens between slices is in no window. */
static double module_gaps(struct meter *m, double seconds)
{
	struct meter_module *mm = to_module(m);
	double end = module_now(m) + seconds;
	int memory = alloc_memory(mm, mm->meter.page_size);
	unsigned int gaps = 0;
	uint64_t ticks = 0;

	if (memory < 0)
		return 0;
	while (module_now(m) < end && !watch(mm, memory, &ticks, &gaps))
		;
	close(memory);
	return ticks ? gaps / ((double)ticks * m->tick_ns / 1e9) : 0;
}

/* ---- open and close ------------------------------------------------------ */

static void module_close(struct meter *m)
{
	struct meter_module *mm = to_module(m);

	drop_memory(mm);
	sonde_device_close(mm->dev);
	sched_setaffinity(0, sizeof(mm->before), &mm->before);
	free(mm->raw);
	free(mm);
}

static const struct meter_ops module_ops = {
	.pages = module_pages,
	.frames = module_frames,
	.link = module_link,
	.chase = module_chase,
	.flush = module_flush,
	.move = module_move,
	.settle = module_move,
	.together = module_together,
	.rest = meter_user_rest,
	.gaps = module_gaps,
	.now = module_now,
	.close = module_close,
};

/* What the module will give: its own bound, and what one may lock. */
static size_t most_bytes(size_t page_size)
{
	size_t most = free_memory("") / 2, bound;
	struct rlimit limit;
	unsigned long pages;
	FILE *f = fopen(MEMORY_LIMIT, "re");

	if (f && fscanf(f, "%lu", &pages) == 1) {
		bound = pages < SIZE_MAX / page_size ? pages * page_size : SIZE_MAX;
		most = bound < most ? bound : most;
	}
	if (f)
		fclose(f);
	if (geteuid() && !getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur < most)
		most = (size_t)limit.rlim_cur;
	return most;
}

static int describe(struct meter_module *mm)
{
	const struct sonde_clock_info *own = sonde_clock_info(mm->clk);
	struct sonde_clocks clocks = { .size = sizeof(clocks) };
	struct clock_facts facts;
	int err;

	err = device_command(mm->dev, SONDE_IOC_CLOCK, &clocks);
	if (err)
		return err;
	if (!clocks.hz)
		return -EOPNOTSUPP;
	clock_gather_facts(&facts);
	/* User space took it of the same counter, and of a core that has woken up. */
	mm->cost = own->source == SONDE_CLOCK_COUNTER ? (uint64_t)llround(own->overhead_ticks) :
							clocks.cost;
	mm->meter = (struct meter){
		.ops = &module_ops,
		.page_size = (size_t)sysconf(_SC_PAGESIZE),
		.chain_cycles = SONDE_CHAIN_CYCLES,
		.tick_ns = 1e9 / (double)clocks.hz,
		.is_guest = facts.is_guest,
	};
	mm->meter.max_bytes = most_bytes(mm->meter.page_size);
	return 0;
}

int meter_module_open(struct meter **m, const struct sonde_clock *clk, unsigned int cpu)
{
	struct meter_module *mm = calloc(1, sizeof(*mm));
	int err;

	if (!mm)
		return -ENOMEM;
	mm->clk = clk;
	mm->memory = -1;
	mm->raw = calloc(CHUNK, sizeof(*mm->raw));
	err = -ENOMEM;
	if (mm->raw)
		err = device_open_with(&mm->dev, SONDE_NODE_PROBE, FEATURES, -EOPNOTSUPP);
	if (!err && sched_getaffinity(0, sizeof(mm->before), &mm->before))
		err = -errno;
	if (!err)
		err = describe(mm);
	if (!err)
		err = module_move(&mm->meter, cpu);
	if (err) {
		sonde_device_close(mm->dev);
		free(mm->raw);
		free(mm);
		return err;
	}
	*m = &mm->meter;
	return 0;
}
