/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* select - which composition a call gets */
#ifndef SONDE_COLL_SELECT_H
#define SONDE_COLL_SELECT_H

#include "choice.h"

struct coll_plan;

/*
 * The choice for blocks of so many bytes (of MPI_Alltoallv: any), the same on all
 * ranks. @forced: a name that the communicator's info gave, or "".
 */
const struct coll_choice *coll_select(struct coll_plan *plan, enum coll_op op, size_t block,
				      int is_in_place, const char *forced);

#endif
