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

__attribute__((unused))
static void need_two_cpus(void)
{
	if (count_cpus() < 2)
		tap_skip("needs two CPUs");
}

#endif
