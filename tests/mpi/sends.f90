! SPDX-License-Identifier: GPL-2.0-or-later
! What Fortran sends, by mpi_f08 and by mpif.h, with ierror and without. Rank r sends
! to r+1: 3 messages of 10 integers, then, each of 5 doubles, 2 of a persistent request
! and 2 the old way; collectives are a broadcast of 7 integers by rank 0 and one
! MPI_Alltoallv in place of 2 integers from each to each.
program sends
	use mpi_f08
	implicit none
	integer :: rank, ranks, next, left, i
	integer :: out(10), in(10)
	integer, allocatable :: all(:), counts(:), displs(:)
	double precision :: dout(5), din(5)
	type(MPI_Request) :: requests(2)

	call MPI_Init()
	call MPI_Comm_rank(MPI_COMM_WORLD, rank)
	call MPI_Comm_size(MPI_COMM_WORLD, ranks)
	next = mod(rank + 1, ranks)
	left = mod(rank + ranks - 1, ranks)
	out = rank
	dout = rank
	call MPI_Sendrecv(out, 10, MPI_INTEGER, next, 1, in, 10, MPI_INTEGER, left, 1, &
		MPI_COMM_WORLD, MPI_STATUS_IGNORE)
	call MPI_Irecv(in, 10, MPI_INTEGER, left, 2, MPI_COMM_WORLD, requests(1))
	call MPI_Isend(out, 10, MPI_INTEGER, next, 2, MPI_COMM_WORLD, requests(2))
	call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
	call MPI_Irecv(in, 10, MPI_INTEGER, left, 3, MPI_COMM_WORLD, requests(1))
	call MPI_Send(out, 10, MPI_INTEGER, next, 3, MPI_COMM_WORLD, i)
	call MPI_Wait(requests(1), MPI_STATUS_IGNORE)

	call MPI_Send_init(dout, 5, MPI_DOUBLE_PRECISION, next, 4, MPI_COMM_WORLD, requests(1))
	call MPI_Recv_init(din, 5, MPI_DOUBLE_PRECISION, left, 4, MPI_COMM_WORLD, requests(2))
	call MPI_Startall(2, requests)
	call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
	call MPI_Start(requests(2))
	call MPI_Start(requests(1))
	call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
	call MPI_Request_free(requests(1))
	call MPI_Request_free(requests(2))
	call old_way(dout, din, next, left)

	call MPI_Bcast(out, 7, MPI_INTEGER, 0, MPI_COMM_WORLD)
	allocate(all(2 * ranks), counts(ranks), displs(ranks))
	counts = 2
	displs = [(2 * i, i = 0, ranks - 1)]
	all = rank
	call MPI_Alltoallv(MPI_IN_PLACE, counts, displs, MPI_INTEGER, all, counts, displs, &
		MPI_INTEGER, MPI_COMM_WORLD)
	call MPI_Finalize()
end program

subroutine old_way(dout, din, next, left)
	implicit none
	include 'mpif.h'
	double precision :: dout(5), din(5)
	integer :: next, left, request, ierror

	call MPI_Irecv(din, 5, MPI_DOUBLE_PRECISION, left, 5, MPI_COMM_WORLD, request, ierror)
	call MPI_Ssend(dout, 5, MPI_DOUBLE_PRECISION, next, 5, MPI_COMM_WORLD, ierror)
	call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
	call MPI_Sendrecv_replace(dout, 5, MPI_DOUBLE_PRECISION, next, 6, left, 6, &
		MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
end subroutine
