/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of the program share that a rank of `sonde comm` becomes. */
#ifndef SONDE_COMM_COMM_H
#define SONDE_COMM_COMM_H

#include <mpi.h>

#include "../lib/probe/comm.h"

/* Depths of the groups that ranks are claimed to be in: node, package, nearest shared
 * cache, core. */
#define RANK_DEPTH	4

/**
 * struct ranks - who takes part
 * @places: of @n ranks
 * @groups: RANK_DEPTH for each
 */
struct ranks {
	struct sonde_comm_place *places;
	unsigned int *groups;
	size_t n;
};

/* The same on all ranks; to be freed also on failure. 0, -ENOMEM. */
int ranks_find(struct ranks *ranks);
void ranks_free(struct ranks *ranks);

/* Messages between ranks, of up to @most_bytes. 0, -ENOMEM, on all ranks alike. */
int carrier_open(struct comm_carrier **c, const struct ranks *ranks, size_t most_bytes);

/* What failed anywhere failed everywhere. Return: 0, or the lowest of all errors. */
int agree(int err);

#endif
