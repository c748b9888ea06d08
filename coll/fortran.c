// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * fortran - the entries of Fortran, where they would go past those of C
 *
 * MPICH's Fortran library calls MPI_Alltoall() and MPI_Alltoall_c(), which are
 * ours already, after it has turned Fortran's MPI_IN_PLACE into C's. That of Open
 * MPI calls PMPI_Alltoall(): so its entries are taken over too, in every spelling
 * that compilers use. Its mpi_f08 module ends in the same arguments, but that the
 * last, ierror, may be absent.
 *
 * Open MPI's Fortran constants are variables: who passes MPI_IN_PLACE passes the
 * address of one, whose name has the spelling of the caller's compiler.
 */
#include <mpi.h>

#ifdef OPEN_MPI
#include <stdint.h>
#include <stdlib.h>

#include "interpose.h"

#define WEAK __attribute__((weak))

extern int mpi_fortran_in_place WEAK, mpi_fortran_in_place_ WEAK, mpi_fortran_in_place__ WEAK;
extern int MPI_FORTRAN_IN_PLACE WEAK;
extern int mpi_fortran_bottom WEAK, mpi_fortran_bottom_ WEAK, mpi_fortran_bottom__ WEAK;
extern int MPI_FORTRAN_BOTTOM WEAK;

/* What C would have been given. */
static void *to_c(void *buf)
{
	const void *const in_place[] = { &mpi_fortran_in_place, &mpi_fortran_in_place_,
					 &mpi_fortran_in_place__, &MPI_FORTRAN_IN_PLACE };
	const void *const bottom[] = { &mpi_fortran_bottom, &mpi_fortran_bottom_,
				       &mpi_fortran_bottom__, &MPI_FORTRAN_BOTTOM };

	for (size_t i = 0; i < sizeof(in_place) / sizeof(in_place[0]); i++) {
		if (buf && buf == in_place[i])
			return MPI_IN_PLACE;
		if (buf && buf == bottom[i])
			return MPI_BOTTOM;
	}
	return buf;
}

static void alltoall(void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, void *recvbuf,
		     MPI_Fint *recvcount, MPI_Fint *recvtype, MPI_Fint *comm, MPI_Fint *ierror)
{
	void *from = to_c(sendbuf);
	/* In place they have no meaning and may be anything. */
	MPI_Datatype type = from == MPI_IN_PLACE ? MPI_DATATYPE_NULL : PMPI_Type_f2c(*sendtype);
	int err = MPI_Alltoall(from, *sendcount, type, to_c(recvbuf), *recvcount,
			       PMPI_Type_f2c(*recvtype), PMPI_Comm_f2c(*comm));

	if (ierror)
		*ierror = err;
}

static void alltoallv(void *sendbuf, MPI_Fint *sendcounts, MPI_Fint *sdispls, MPI_Fint *sendtype,
		      void *recvbuf, MPI_Fint *recvcounts, MPI_Fint *rdispls, MPI_Fint *recvtype,
		      MPI_Fint *comm, MPI_Fint *ierror)
{
	void *from = to_c(sendbuf);
	MPI_Datatype type = from == MPI_IN_PLACE ? MPI_DATATYPE_NULL : PMPI_Type_f2c(*sendtype);
	int err = MPI_Alltoallv(from, sendcounts, sdispls, type, to_c(recvbuf), recvcounts,
				rdispls, PMPI_Type_f2c(*recvtype), PMPI_Comm_f2c(*comm));

	if (ierror)
		*ierror = err;
}

_Static_assert(sizeof(MPI_Fint) == sizeof(int), "counts go to C as they are");

#define ALLTOALL(name) \
	void name(void *, MPI_Fint *, MPI_Fint *, void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, \
		  MPI_Fint *) __attribute__((alias("alltoall")))
#define ALLTOALLV(name) \
	void name(void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, void *, MPI_Fint *, MPI_Fint *, \
		  MPI_Fint *, MPI_Fint *, MPI_Fint *) __attribute__((alias("alltoallv")))

ALLTOALL(mpi_alltoall);
ALLTOALL(mpi_alltoall_);
ALLTOALL(mpi_alltoall__);
ALLTOALL(MPI_ALLTOALL);
ALLTOALL(mpi_alltoall_f08_);
ALLTOALLV(mpi_alltoallv);
ALLTOALLV(mpi_alltoallv_);
ALLTOALLV(mpi_alltoallv__);
ALLTOALLV(MPI_ALLTOALLV);
ALLTOALLV(mpi_alltoallv_f08_);
#endif
