// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * memory - measure what CPUs get of the memory, and what is claimed of their places
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <hwloc.h>
#include "memory.h"

/**
 * struct places - what hwloc claims of the CPUs' places
 * @groups: see struct sonde_memory_options; NULL if it is not told
 * @nodes: NUMA nodes with memory, by the operating system's numbers
 */
struct places {
	unsigned int *groups, *nodes;
	size_t depth, nnodes;
};

static int watch_probe(void *ctx, double done, const char *what)
{
	(void)ctx;
	cli_progress(done, what);
	return cli_stop_requested();
}

/* From the machine down to cores: which object of each depth a CPU is in. */
static int fill_groups(hwloc_topology_t topo, const unsigned int *cpus, size_t n,
		       struct places *places)
{
	size_t depth = (size_t)hwloc_topology_get_depth(topo) - 1;
	hwloc_obj_t at;

	places->groups = calloc(n * depth, sizeof(*places->groups));
	if (!places->groups)
		return -ENOMEM;
	places->depth = depth;
	for (size_t i = 0; i < n; i++) {
		at = hwloc_get_pu_obj_by_os_index(topo, cpus[i]);
		if (!at) {
			/* A topology from elsewhere: no pair is like another. */
			free(places->groups);
			places->groups = NULL;
			return 0;
		}
		for (at = at->parent; at; at = at->parent)
			if (at->depth >= 0 && (size_t)at->depth < depth)
				places->groups[i * depth + (size_t)at->depth] = at->logical_index;
	}
	return 0;
}

static int fill_nodes(hwloc_topology_t topo, struct places *places)
{
	int n = hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_NUMANODE);
	hwloc_obj_t node = NULL;

	places->nodes = calloc(n > 0 ? (size_t)n : 1, sizeof(*places->nodes));
	if (!places->nodes)
		return -ENOMEM;
	while ((node = hwloc_get_next_obj_by_type(topo, HWLOC_OBJ_NUMANODE, node)))
		places->nodes[places->nnodes++] = node->os_index;
	return 0;
}

static int find_places(const unsigned int *cpus, size_t n, struct places *places)
{
	hwloc_topology_t topo;
	int err;

	if (hwloc_topology_init(&topo))
		return -ENOMEM;
	err = hwloc_topology_load(topo) ? -ENOMEM : 0;
	if (!err)
		err = fill_groups(topo, cpus, n, places);
	if (!err)
		err = fill_nodes(topo, places);
	hwloc_topology_destroy(topo);
	return err;
}

static int refuse(int err)
{
	switch (err) {
	case -ENOMEM:
		cli_error("not enough memory to measure memory; raise the limit (ulimit -v, the "
			  "cgroup's memory.max) or --max-size, or name fewer CPUs");
		return CLI_FAILED;
	case -EPERM:
		cli_error("may not run on all of these CPUs any more");
		return CLI_FAILED;
	case -EAGAIN:
		cli_error("the CPUs are so busy that nothing could be measured; try again when "
			  "they are not, or as root");
		return CLI_CANNOT_MEASURE;
	default:
		cli_error("cannot measure memory: %s", strerror(-err));
		return CLI_FAILED;
	}
}

int machine_keep_memory(struct machine *m)
{
	if (!sonde_profile_set_bandwidth(m->profile, m->memory))
		return CLI_DONE;
	cli_error("not enough memory for the profile");
	return CLI_FAILED;
}

/* A claim bounds the memory that is used; nothing else of it goes into the result. */
static size_t find_largest(const struct machine *m)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < m->nclaims; i++)
		if (m->claims[i].size > largest)
			largest = m->claims[i].size;
	return (size_t)largest;
}

int machine_measure_memory(struct machine *m, const struct measure_options *options,
			   const unsigned int *cpus, size_t ncpus, int all_pairs)
{
	struct places places = { .groups = NULL };
	int err = find_places(cpus, ncpus, &places);
	struct sonde_memory_options how = {
		.cpus = cpus,
		.ncpus = ncpus,
		.groups = places.groups,
		.depth = places.depth,
		.nodes = places.nodes,
		.nnodes = places.nnodes,
		.cache_bytes = find_largest(m),
		.max_bytes = options->max_bytes,
		.seed = options->seed,
		.all_pairs = all_pairs,
		.progress = watch_probe,
		.recorder = m->recorder,
	};

	if (!err)
		err = sonde_probe_memory(m->clk, &how, &m->memory);
	free(places.groups);
	free(places.nodes);
	cli_progress_end();
	if (cli_stop_requested())
		return CLI_FAILED;
	return err ? refuse(err) : machine_keep_memory(m);
}
