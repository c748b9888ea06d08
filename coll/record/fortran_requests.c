// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * fortran_requests - the entries of Fortran without a buffer
 *
 * MPICH's mpi_f08 module calls C's functions with a P for these, and for these only,
 * so they are taken over in both MPIs. Open MPI's others are in fortran.c.
 */
#include <mpi.h>

#include "record.h"

typedef MPI_Fint *fint;

static void start_all(int n, fint requests)
{
	for (int i = 0; i < n; i++)
		record_request_start(PMPI_Request_f2c(requests[i]));
}

/* @first is done before the call, @then after it if it is the program's and went well. */
#define ENTRY(name, params, args, first, then) \
	void name params; \
	void name params \
	{ \
		void (*next) params = NULL; \
		MPI_Fint own; \
		\
		if (!ierror) \
			ierror = &own; \
		*(void **)&next = record_next(#name, NULL); \
		*ierror = MPI_ERR_OTHER; \
		first; \
		record_depth++; \
		if (next) \
			next args; \
		record_depth--; \
		if (*ierror == MPI_SUCCESS && !record_depth) { \
			then; \
		} \
	}

#define REQUESTS(start, startall, request_free, finalize) \
	ENTRY(start, (fint request, fint ierror), (request, ierror), , start_all(1, request)) \
	ENTRY(startall, (fint n, fint requests, fint ierror), (n, requests, ierror), , \
	      start_all(*n, requests)) \
	ENTRY(request_free, (fint request, fint ierror), (request, ierror), \
	      record_request_forget(PMPI_Request_f2c(*request)), ) \
	ENTRY(finalize, (fint ierror), (ierror), record_end(), )

REQUESTS(mpi_start_f08_, mpi_startall_f08_, mpi_request_free_f08_, mpi_finalize_f08_)
#ifdef OPEN_MPI
REQUESTS(mpi_start, mpi_startall, mpi_request_free, mpi_finalize)
REQUESTS(mpi_start_, mpi_startall_, mpi_request_free_, mpi_finalize_)
REQUESTS(mpi_start__, mpi_startall__, mpi_request_free__, mpi_finalize__)
REQUESTS(MPI_START, MPI_STARTALL, MPI_REQUEST_FREE, MPI_FINALIZE)
#endif
