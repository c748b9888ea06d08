/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of SONDE_IOC_CHASE and SONDE_IOC_CLOCK share. */
#ifndef TESTS_GUEST_CHASE_H
#define TESTS_GUEST_CHASE_H

#include <linux/perf_event.h>
#include <sched.h>
#include <sys/syscall.h>

#include "nodes.h"

#define LINE_PLACES	4	/* places of a cache line */
#define PAGE_PLACES	(SMALL_PAGE / SONDE_PLACE)

__attribute__((unused))
static int alloc_memory(int probe, uint64_t npages, uint32_t flags)
{
	struct sonde_alloc args = {
		.size = sizeof(args), .flags = flags, .npages = npages,
		.node = -1, .fd = -1,
	};

	check_int(do_ioctl(probe, SONDE_IOC_ALLOC, &args), 0);
	return args.fd;
}

/* Lines @first, @first + 1, ... of the memory, in an order that is none. */
__attribute__((unused))
static uint32_t *make_places(uint32_t first, uint32_t n)
{
	uint32_t *places = calloc(n, sizeof(*places)), i;

	check(places && (n & (n - 1)) == 0);
	for (i = 0; i < n; i++)
		places[i] = (first + (i * 5 + 3) % n) * LINE_PLACES;
	return places;
}

/* 0 or -errno; what came out of it is in @lanes. */
__attribute__((unused))
static int chase_lanes(int probe, int memory, struct sonde_lane *lanes,
		       uint32_t n)
{
	struct sonde_chase args = {
		.size = sizeof(args), .memory = memory, .nlanes = n,
		.lanes = (uintptr_t)lanes,
	};

	return do_ioctl(probe, SONDE_IOC_CHASE, &args);
}

__attribute__((unused))
static int bind_to(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

__attribute__((unused))
static unsigned int count_cpus(void)
{
	cpu_set_t set;

	check_int(sched_getaffinity(0, sizeof(set), &set), 0);
	return CPU_COUNT(&set);
}

/*
 * The first event of a task makes the kernel patch jumps in its scheduler, and the
 * first software event of each kind patches others there; the end of the last one
 * patches them back. QEMU 7.2's emulated CPUs, translating code while another one
 * writes to it, may run into the breakpoint of such a patch for ever after it is
 * gone from memory (7.3: "Oops: int3" in __schedule; 6.1: a hang in
 * finish_task_switch). So all those jumps are patched once, while nothing else
 * runs, and these descriptors, which stay open, keep them.
 */
__attribute__((unused))
static void keep_events_open(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .exclude_kernel = 1,
	};

	for (attr.config = 0; attr.config < PERF_COUNT_SW_MAX; attr.config++)
		syscall(SYS_perf_event_open, &attr, 0, -1, -1,
			PERF_FLAG_FD_CLOEXEC);
}

__attribute__((unused))
static void need_two_cpus(void)
{
	if (count_cpus() < 2)
		tap_skip("needs two CPUs");
}

#endif
