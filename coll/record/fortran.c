// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * fortran - the entries of Fortran, where they would go past those of C
 *
 * MPICH's Fortran library calls C's functions, which are ours already. That of
 * Open MPI calls those with a P: so its entries are taken over too, in every
 * spelling that compilers use, and handed on as they came. Its mpi_f08 module ends
 * in the same arguments, but that the last, ierror, may be absent.
 */
#include <mpi.h>

#ifdef OPEN_MPI
#include <stdlib.h>

#include "record.h"

#define WEAK __attribute__((weak))

extern int mpi_fortran_in_place WEAK, mpi_fortran_in_place_ WEAK, mpi_fortran_in_place__ WEAK;
extern int MPI_FORTRAN_IN_PLACE WEAK;

/* A variable's address, whose name has the spelling of the caller's compiler. */
static int is_in_place(const void *buf)
{
	return buf && (buf == &mpi_fortran_in_place || buf == &mpi_fortran_in_place_ ||
		       buf == &mpi_fortran_in_place__ || buf == &MPI_FORTRAN_IN_PLACE);
}

_Static_assert(sizeof(MPI_Fint) == sizeof(int), "counts are C's");

#define C(comm)		PMPI_Comm_f2c(*(comm))
#define T(type)		PMPI_Type_f2c(*(type))
#define MANY(counts)	((struct record_counts){ .small = (counts) })
#define BARE(...)	__VA_ARGS__

#define SPELLINGS(lower, UPPER, params) \
	void mpi_##lower params __attribute__((alias("call_" #lower))); \
	void mpi_##lower##_ params __attribute__((alias("call_" #lower))); \
	void mpi_##lower##__ params __attribute__((alias("call_" #lower))); \
	void MPI_##UPPER params __attribute__((alias("call_" #lower))); \
	void mpi_##lower##_f08_ params __attribute__((alias("call_" #lower)))

/* @count is told of the arguments after the call; what it may need. */
#define ENTRY(lower, UPPER, params, args, count) \
	static void call_##lower params \
	{ \
		void (*next) params = NULL; \
		MPI_Fint own; \
		\
		if (!ierror) \
			ierror = &own; \
		*(void **)&next = record_next("mpi_" #lower "_", NULL); \
		*ierror = MPI_ERR_OTHER; \
		record_depth++; \
		if (next) \
			next args; \
		record_depth--; \
		if (*ierror == MPI_SUCCESS && !record_depth) { \
			count; \
		} \
	} \
	SPELLINGS(lower, UPPER, params)

typedef MPI_Fint *fint;

/* ---- sends --------------------------------------------------------------- */

#define SEND(lower, UPPER) \
	ENTRY(lower, UPPER, (void *buf, fint n, fint type, fint to, fint tag, fint comm, fint ierror), \
	      (buf, n, type, to, tag, comm, ierror), \
	      record_send(*n, T(type), *to, C(comm), NULL))
#define ISEND(lower, UPPER) \
	ENTRY(lower, UPPER, (void *buf, fint n, fint type, fint to, fint tag, fint comm, \
			     fint request, fint ierror), \
	      (buf, n, type, to, tag, comm, request, ierror), \
	      record_send(*n, T(type), *to, C(comm), NULL))
#define SEND_INIT(lower, UPPER) \
	ENTRY(lower, UPPER, (void *buf, fint n, fint type, fint to, fint tag, fint comm, \
			     fint request, fint ierror), \
	      (buf, n, type, to, tag, comm, request, ierror), \
	      add_request(*n, T(type), *to, C(comm), request))

static void add_request(int n, MPI_Datatype type, int to, MPI_Comm comm, fint request)
{
	struct record_flows flows = { 0 };

	if (!record_row())
		return;
	record_send(n, type, to, comm, &flows);
	record_request_add(PMPI_Request_f2c(*request), &flows);
}

SEND(send, SEND);
SEND(ssend, SSEND);
SEND(bsend, BSEND);
SEND(rsend, RSEND);
ISEND(isend, ISEND);
ISEND(issend, ISSEND);
ISEND(ibsend, IBSEND);
ISEND(irsend, IRSEND);
SEND_INIT(send_init, SEND_INIT);
SEND_INIT(ssend_init, SSEND_INIT);
SEND_INIT(bsend_init, BSEND_INIT);
SEND_INIT(rsend_init, RSEND_INIT);
ENTRY(sendrecv, SENDRECV,
      (void *sendbuf, fint n, fint type, fint to, fint tag, void *recvbuf, fint recvn,
       fint recvtype, fint from, fint recvtag, fint comm, fint status, fint ierror),
      (sendbuf, n, type, to, tag, recvbuf, recvn, recvtype, from, recvtag, comm, status, ierror),
      record_send(*n, T(type), *to, C(comm), NULL));
ENTRY(sendrecv_replace, SENDRECV_REPLACE,
      (void *buf, fint n, fint type, fint to, fint tag, fint from, fint recvtag, fint comm,
       fint status, fint ierror),
      (buf, n, type, to, tag, from, recvtag, comm, status, ierror),
      record_send(*n, T(type), *to, C(comm), NULL));

/* ---- collectives --------------------------------------------------------- */

#define COLLECTIVE(lower, UPPER, params, args, count) \
	ENTRY(lower, UPPER, (BARE params, fint ierror), (BARE args, ierror), count); \
	ENTRY(i##lower, I##UPPER, (BARE params, fint request, fint ierror), \
	      (BARE args, request, ierror), count)
#define SIDES	void *sendbuf, fint sendn, fint sendtype, void *recvbuf
#define ONE	fint recvn, fint recvtype

COLLECTIVE(bcast, BCAST, (void *buf, fint n, fint type, fint root, fint comm),
	   (buf, n, type, root, comm), record_from_root(*n, T(type), *root, C(comm), NULL));
COLLECTIVE(gather, GATHER, (SIDES, ONE, fint root, fint comm),
	   (sendbuf, sendn, sendtype, recvbuf, recvn, recvtype, root, comm),
	   record_to_root(*sendn, T(sendtype), *root, C(comm), NULL));
COLLECTIVE(gatherv, GATHERV, (SIDES, fint recvn, fint displs, fint recvtype, fint root, fint comm),
	   (sendbuf, sendn, sendtype, recvbuf, recvn, displs, recvtype, root, comm),
	   record_to_root(*sendn, T(sendtype), *root, C(comm), NULL));
COLLECTIVE(scatter, SCATTER, (SIDES, ONE, fint root, fint comm),
	   (sendbuf, sendn, sendtype, recvbuf, recvn, recvtype, root, comm),
	   record_from_root(*sendn, T(sendtype), *root, C(comm), NULL));
COLLECTIVE(scatterv, SCATTERV,
	   (void *sendbuf, fint sendn, fint displs, fint sendtype, void *recvbuf, ONE, fint root,
	    fint comm),
	   (sendbuf, sendn, displs, sendtype, recvbuf, recvn, recvtype, root, comm),
	   record_each_from_root(MANY(sendn), T(sendtype), *root, C(comm), NULL));
COLLECTIVE(allgather, ALLGATHER, (SIDES, ONE, fint comm),
	   (sendbuf, sendn, sendtype, recvbuf, recvn, recvtype, comm),
	   record_to_all(*recvn, T(recvtype), C(comm), NULL));
COLLECTIVE(allgatherv, ALLGATHERV, (SIDES, fint recvn, fint displs, fint recvtype, fint comm),
	   (sendbuf, sendn, sendtype, recvbuf, recvn, displs, recvtype, comm),
	   record_own_to_all(MANY(recvn), T(recvtype), C(comm), NULL));
COLLECTIVE(alltoall, ALLTOALL, (SIDES, ONE, fint comm),
	   (sendbuf, sendn, sendtype, recvbuf, recvn, recvtype, comm),
	   record_to_all(*recvn, T(recvtype), C(comm), NULL));
COLLECTIVE(alltoallv, ALLTOALLV,
	   (void *sendbuf, fint sendn, fint sdispls, fint sendtype, void *recvbuf, fint recvn,
	    fint rdispls, fint recvtype, fint comm),
	   (sendbuf, sendn, sdispls, sendtype, recvbuf, recvn, rdispls, recvtype, comm),
	   is_in_place(sendbuf) ? record_each_to_all(MANY(recvn), T(recvtype), C(comm), NULL) :
				  record_each_to_all(MANY(sendn), T(sendtype), C(comm), NULL));

#define VECTORS	void *sendbuf, void *recvbuf, fint n, fint type, fint op

COLLECTIVE(reduce, REDUCE, (VECTORS, fint root, fint comm),
	   (sendbuf, recvbuf, n, type, op, root, comm),
	   record_to_root(*n, T(type), *root, C(comm), NULL));
COLLECTIVE(allreduce, ALLREDUCE, (VECTORS, fint comm), (sendbuf, recvbuf, n, type, op, comm),
	   record_allreduce(*n, T(type), C(comm), NULL));
COLLECTIVE(reduce_scatter, REDUCE_SCATTER, (VECTORS, fint comm),
	   (sendbuf, recvbuf, n, type, op, comm),
	   record_each_to_all(MANY(n), T(type), C(comm), NULL));
COLLECTIVE(reduce_scatter_block, REDUCE_SCATTER_BLOCK, (VECTORS, fint comm),
	   (sendbuf, recvbuf, n, type, op, comm), record_to_all(*n, T(type), C(comm), NULL));
COLLECTIVE(scan, SCAN, (VECTORS, fint comm), (sendbuf, recvbuf, n, type, op, comm),
	   record_scan(*n, T(type), C(comm), NULL));
COLLECTIVE(exscan, EXSCAN, (VECTORS, fint comm), (sendbuf, recvbuf, n, type, op, comm),
	   record_scan(*n, T(type), C(comm), NULL));

COLLECTIVE(neighbor_allgather, NEIGHBOR_ALLGATHER, (SIDES, ONE, fint comm),
	   (sendbuf, sendn, sendtype, recvbuf, recvn, recvtype, comm),
	   record_neighbours(*sendn, T(sendtype), C(comm), NULL));
COLLECTIVE(neighbor_allgatherv, NEIGHBOR_ALLGATHERV,
	   (SIDES, fint recvn, fint displs, fint recvtype, fint comm),
	   (sendbuf, sendn, sendtype, recvbuf, recvn, displs, recvtype, comm),
	   record_neighbours(*sendn, T(sendtype), C(comm), NULL));
COLLECTIVE(neighbor_alltoall, NEIGHBOR_ALLTOALL, (SIDES, ONE, fint comm),
	   (sendbuf, sendn, sendtype, recvbuf, recvn, recvtype, comm),
	   record_neighbours(*sendn, T(sendtype), C(comm), NULL));
COLLECTIVE(neighbor_alltoallv, NEIGHBOR_ALLTOALLV,
	   (void *sendbuf, fint sendn, fint sdispls, fint sendtype, void *recvbuf, fint recvn,
	    fint rdispls, fint recvtype, fint comm),
	   (sendbuf, sendn, sdispls, sendtype, recvbuf, recvn, rdispls, recvtype, comm),
	   record_each_neighbour(MANY(sendn), T(sendtype), NULL, C(comm), NULL));
#endif
