/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* slot - the attribute of a communicator that has its plan */
#ifndef SONDE_COLL_SLOT_H
#define SONDE_COLL_SLOT_H

#include <mpi.h>

#include "settings.h"

struct coll_plan;

/**
 * struct coll_slot - of a communicator on which one of our operations was called
 * @is_mpis: all is handed to MPI: an intercommunicator, one rank, no plan to be had
 * @size: ranks
 * @calls: before there was a plan
 * @forced: by the communicator's info
 */
struct coll_slot {
	struct coll_plan *plan;
	int is_mpis, calls, size;
	char forced[COLL_OPS][COLL_NAME];
	MPI_Comm comm;
	struct coll_slot *next, **link;
};

/* NULL: not to be used any more, or no memory: MPI does it. */
struct coll_slot *coll_slot_get(MPI_Comm comm);

/* The plan, made if it is time. NULL: MPI does it. Collective. */
struct coll_plan *coll_slot_plan(struct coll_slot *slot, enum coll_op op);

/* What the keys sonde_coll_alltoall and sonde_coll_alltoallv of an info say. */
void coll_slot_inform(MPI_Comm comm, MPI_Info info);

#endif
