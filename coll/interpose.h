/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* interpose - what the entries of C and Fortran share */
#ifndef SONDE_COLL_INTERPOSE_H
#define SONDE_COLL_INTERPOSE_H

#include "call.h"

/* MPI's own call must be made, with the caller's arguments. */
#define COLL_NOT_OURS	(-1)

/* Return: MPI_SUCCESS or an error, which the handler has seen; or COLL_NOT_OURS. */
int coll_alltoall(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
		  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm);

/* Sides with buffers and counts filled in; types not. */
int coll_alltoallv(struct coll_side *send, MPI_Datatype sendtype, struct coll_side *recv,
		   MPI_Datatype recvtype, MPI_Comm comm);

#endif
