/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What hwloc claims of where CPUs are: which of them are taken to be alike. */
#ifndef SONDE_TOOLS_PLACES_H
#define SONDE_TOOLS_PLACES_H

#include <stddef.h>

/**
 * struct places - what hwloc claims of the CPUs' places
 * @groups: for each CPU the object of each depth that it is in, from the machine down
 *	to the core: @depth of them; NULL if it is not told
 * @nodes: NUMA nodes with memory, by the operating system's numbers
 */
struct places {
	unsigned int *groups, *nodes;
	size_t depth, nnodes;
};

/* Of @n CPUs, to be freed also on failure. 0, -ENOMEM. */
int places_find(const unsigned int *cpus, size_t n, struct places *places);

void places_free(struct places *places);

#endif
