/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The measurements that tell classes of adapters apart, simulated. */
#ifndef SONDE_COLL_SIM_PATTERNS_H
#define SONDE_COLL_SIM_PATTERNS_H

#include "class.h"

/*
 * Bandwidth between two nodes of @pairs processes each, both ways together, in
 * MB/s (10^6): each sends windows of 64 messages to its partner and waits for
 * as many. Return: 0, -EINVAL, -ENOMEM.
 */
int a2a_bandwidth(const struct a2a_class *class, uint32_t pairs, uint64_t bytes, double *mb_s);

/*
 * What the ranks of a node take to aggregate, or to distribute, for an alltoall
 * with blocks of @bytes, in ns. Return: 0, -EINVAL, -ENOMEM.
 */
int a2a_copy_time(const struct a2a_class *class, uint32_t nodes, uint32_t ppn, uint64_t bytes,
		  int is_distribution, double *ns);

#endif
