// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * places - what is claimed of where CPUs are
 */
#include <errno.h>
#include <stdlib.h>
#include <hwloc.h>
#include "places.h"

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

int places_find(const unsigned int *cpus, size_t n, struct places *places)
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

void places_free(struct places *places)
{
	free(places->groups);
	free(places->nodes);
}
