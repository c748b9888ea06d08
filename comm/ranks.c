// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * ranks - on which node, and where on it, each rank is
 *
 * A node is what MPI says may share memory. Where on it a rank is, is known only if it
 * may run on one CPU; ranks of which it is not known are all taken to be alike.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <hwloc.h>

#include "../lib/allowed_cpus.h"
#include "comm.h"

/* Above what numbers a group on a node. */
#define NODE_SHIFT	20

/* What each rank tells the others. */
struct about {
	struct sonde_comm_place place;
	unsigned int groups[RANK_DEPTH];
};

static unsigned int get_ancestor(hwloc_topology_t topo, hwloc_obj_t pu, hwloc_obj_type_t type)
{
	hwloc_obj_t at = hwloc_get_ancestor_obj_by_type(topo, type, pu);

	return at ? at->logical_index : 0;
}

static unsigned int get_cache(hwloc_obj_t pu)
{
	for (hwloc_obj_t at = pu; at; at = at->parent)
		if (hwloc_obj_type_is_dcache(at->type) && hwloc_bitmap_weight(at->cpuset) > 1)
			return (unsigned int)at->depth << 16 | at->logical_index;
	return 0;
}

/* What cannot be told is the same for all: no difference is claimed then. */
static void find_groups(struct about *about)
{
	hwloc_topology_t topo;
	hwloc_obj_t pu;

	if (about->place.cpu < 0 || hwloc_topology_init(&topo))
		return;
	if (!hwloc_topology_load(topo)) {
		pu = hwloc_get_pu_obj_by_os_index(topo, (unsigned int)about->place.cpu);
		if (pu) {
			about->groups[1] = get_ancestor(topo, pu, HWLOC_OBJ_PACKAGE);
			about->groups[2] = get_cache(pu);
			about->groups[3] = get_ancestor(topo, pu, HWLOC_OBJ_CORE);
		}
	}
	hwloc_topology_destroy(topo);
}

static void describe_self(struct about *about)
{
	unsigned int cpus[CPU_SETSIZE];
	MPI_Comm node;
	int rank;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	about->place.rank = rank;
	about->place.cpu = allowed_cpus(cpus) == 1 ? (int)cpus[0] : -1;
	gethostname(about->place.host, sizeof(about->place.host) - 1);
	find_groups(about);
	/* The lowest rank on the node, until number_nodes(). */
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
	MPI_Bcast(&rank, 1, MPI_INT, 0, node);
	MPI_Comm_free(&node);
	about->place.node = (unsigned int)rank;
}

/* From lowest ranks to numbers without gaps; what is on different nodes is different. */
static void number_nodes(struct ranks *ranks)
{
	unsigned int nodes = 0;

	for (size_t i = 0; i < ranks->n; i++) {
		struct sonde_comm_place *p = &ranks->places[i];

		p->node = p->node == i ? nodes++ : ranks->places[p->node].node;
		ranks->groups[i * RANK_DEPTH] = p->node;
		for (size_t d = 1; d < RANK_DEPTH; d++)
			ranks->groups[i * RANK_DEPTH + d] |= p->node << NODE_SHIFT;
	}
}

int agree(int err)
{
	int all;

	MPI_Allreduce(&err, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	return all;
}

int ranks_find(struct ranks *ranks)
{
	struct about self, *all;
	int size;

	memset(&self, 0, sizeof(self));
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	ranks->n = (size_t)size;
	ranks->places = calloc(ranks->n, sizeof(*ranks->places));
	ranks->groups = calloc(ranks->n * RANK_DEPTH, sizeof(*ranks->groups));
	all = calloc(ranks->n, sizeof(*all));
	if (agree(ranks->places && ranks->groups && all ? 0 : -ENOMEM)) {
		free(all);
		return -ENOMEM;
	}
	describe_self(&self);
	MPI_Allgather(&self, sizeof(self), MPI_BYTE, all, sizeof(self), MPI_BYTE, MPI_COMM_WORLD);
	for (size_t i = 0; i < ranks->n; i++) {
		ranks->places[i] = all[i].place;
		memcpy(ranks->groups + i * RANK_DEPTH, all[i].groups, sizeof(all[i].groups));
	}
	free(all);
	number_nodes(ranks);
	return 0;
}

void ranks_free(struct ranks *ranks)
{
	free(ranks->places);
	free(ranks->groups);
}
