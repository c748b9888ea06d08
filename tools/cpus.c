// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cpus - lists of CPUs as they are typed
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <hwloc.h>
#include <sonde/topology.h>
#include "cli.h"
#include "cpus.h"
#include "text.h"

/* Digits, commas and ranges that ascend: hwloc also takes what it cannot read. */
static int is_list(const char *text)
{
	unsigned long low, high;
	char *end;

	do {
		if (*text < '0' || *text > '9')
			return 0;
		low = high = strtoul(text, &end, 10);
		if (*end == '-' && end[1] >= '0' && end[1] <= '9')
			high = strtoul(end + 1, &end, 10);
		if (high < low || high >= 1 << 20)
			return 0;
		text = end + 1;
	} while (*end == ',');
	return !*end;
}

static hwloc_bitmap_t parse_list(const char *list)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	if (set && hwloc_bitmap_list_sscanf(set, list)) {
		hwloc_bitmap_free(set);
		set = NULL;
	}
	return set;
}

static void say_allowed(unsigned int cpu, const unsigned int *allowed, size_t n)
{
	char *list = text_cpus(allowed, n);

	cli_error("CPU %u is not among those this process may run on: %s", cpu,
		  list ? list : "?");
	free(list);
}

static int is_among(unsigned int cpu, const unsigned int *cpus, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (cpus[i] == cpu)
			return 1;
	return 0;
}

/* Keeps of @cpus those of the list; all of the list must be among them. */
static int choose_listed(const char *list, unsigned int *cpus, size_t *n)
{
	hwloc_bitmap_t set = parse_list(list);
	unsigned int cpu;
	size_t kept = 0;
	int status = CLI_DONE;

	if (!set) {
		cli_error("not enough memory for the list of CPUs");
		return CLI_FAILED;
	}
	hwloc_bitmap_foreach_begin(cpu, set)
		if (status == CLI_DONE && !is_among(cpu, cpus, *n)) {
			say_allowed(cpu, cpus, *n);
			status = CLI_USAGE;
		}
	hwloc_bitmap_foreach_end();
	for (size_t i = 0; i < *n; i++)
		if (hwloc_bitmap_isset(set, cpus[i]))
			cpus[kept++] = cpus[i];
	hwloc_bitmap_free(set);
	*n = kept;
	return status;
}

static int list_allowed(unsigned int **cpus, size_t *n)
{
	struct sonde_topology *topo;
	int err = sonde_topology_open(&topo), count;

	if (err) {
		cli_error("cannot open the topology: %s", strerror(-err));
		return CLI_FAILED;
	}
	count = sonde_topology_cpus(topo, NULL, 0);
	*cpus = count < 0 ? NULL : calloc((size_t)count + 1, sizeof(**cpus));
	if (*cpus)
		*n = (size_t)sonde_topology_cpus(topo, *cpus, (size_t)count);
	sonde_topology_close(topo);
	if (*cpus)
		return CLI_DONE;
	cli_error("not enough memory for the list of CPUs");
	return CLI_FAILED;
}

int cpus_check(const char *list)
{
	if (is_list(list))
		return CLI_DONE;
	cli_error("--cpus wants a list of CPUs such as 0-3,8, not '%s'", list);
	return CLI_USAGE;
}

int cpus_choose(const char *list, unsigned int **cpus, size_t *n)
{
	int status = list_allowed(cpus, n);

	return status == CLI_DONE && list ? choose_listed(list, *cpus, n) : status;
}
