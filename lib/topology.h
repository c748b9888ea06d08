/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside the library: a topology as data, wherever it comes from. */
#ifndef SONDE_LIB_TOPOLOGY_H
#define SONDE_LIB_TOPOLOGY_H

#include <hwloc.h>
#include <sonde/topology.h>

/**
 * struct topology_cache - a data or unified cache
 * @claim: of it; .cpus is its own copy
 * @cpus: CPUs sharing it
 */
struct topology_cache {
	struct sonde_cache_claim claim;
	hwloc_bitmap_t cpus;
};

/**
 * struct sonde_topology - what is claimed of a machine
 * @model: the CPU's name
 * @nodes: NUMA nodes with memory
 * @memory: bytes
 * @page: bytes of a base page
 * @known: CPUs there are
 * @cpus: those that this process may run on
 * @cache: @ncaches, nearest level first
 */
struct sonde_topology {
	char *model;
	unsigned int nodes;
	uint64_t memory, page;
	hwloc_bitmap_t known, cpus;
	struct topology_cache *cache;
	size_t ncaches;
};

/* Of an unknown machine, without CPUs; to be closed. NULL for want of memory. */
struct sonde_topology *topology_new(void);

/* 0, -ENOMEM. */
int topology_set_model(struct sonde_topology *topo, const char *model);

/* A cache more, after those of nearer levels; @claim->cpus is ignored. 0, -ENOMEM. */
int topology_add_cache(struct sonde_topology *topo, const struct sonde_cache_claim *claim,
		       hwloc_const_bitmap_t cpus);

#endif
