! SPDX-License-Identifier: GPL-2.0-or-later
! The entries of Fortran are taken over: right, in place, and with ierror left out.
! Prints a line for each on rank 0; who was asked is told by SONDE_COLL_EXPLAIN=1.
program fortran
	use mpi_f08
	implicit none
	integer :: rank, ranks, i, n, failed, all_failed
	integer, allocatable :: sent(:), got(:), counts(:), displs(:)

	call MPI_Init()
	call MPI_Comm_rank(MPI_COMM_WORLD, rank)
	call MPI_Comm_size(MPI_COMM_WORLD, ranks)
	failed = 0
	n = 5
	allocate(sent(n * ranks), got(n * ranks), counts(ranks), displs(ranks))
	do i = 1, 3
		call fill(sent)
		got = -1
		call MPI_Alltoall(sent, n, MPI_INTEGER, got, n, MPI_INTEGER, MPI_COMM_WORLD)
		call check(got)
		call fill(got)
		call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, n, MPI_INTEGER, &
			MPI_COMM_WORLD)
		call check(got)
		call set_counts()
		call fill(sent)
		got = -1
		call MPI_Alltoallv(sent, counts, displs, MPI_INTEGER, got, counts, displs, &
			MPI_INTEGER, MPI_COMM_WORLD)
		call check(got)
		call old_way(sent, got, n, rank, ranks, failed)
	end do
	call MPI_Allreduce(failed, all_failed, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
	if (rank == 0) then
		if (all_failed == 0) then
			print '(a)', 'fortran: right'
		else
			print '(a)', 'fortran: wrong'
		end if
	end if
	call MPI_Finalize()
	if (all_failed /= 0) stop 1

contains
	subroutine fill(values)
		integer, intent(out) :: values(:)
		integer :: r, j

		do r = 0, ranks - 1
			do j = 1, n
				values(r * n + j) = (rank * 100 + r) * 100 + j
			end do
		end do
	end subroutine

	subroutine check(values)
		integer, intent(in) :: values(:)
		integer :: r, j

		do r = 0, ranks - 1
			do j = 1, n
				if (values(r * n + j) /= (r * 100 + rank) * 100 + j) failed = failed + 1
			end do
		end do
	end subroutine

	subroutine set_counts()
		integer :: r

		counts = n
		displs = [(r * n, r = 0, ranks - 1)]
	end subroutine
end program

! As programs of Fortran 77 call it: arguments without types, ierror present.
subroutine old_way(sent, got, n, rank, ranks, failed)
	implicit none
	include 'mpif.h'
	integer :: n, rank, ranks, failed, ierror, r, j
	integer :: sent(n * ranks), got(n * ranks)

	got = -1
	call MPI_ALLTOALL(sent, n, MPI_INTEGER, got, n, MPI_INTEGER, MPI_COMM_WORLD, ierror)
	if (ierror /= MPI_SUCCESS) failed = failed + 1
	do r = 0, ranks - 1
		do j = 1, n
			if (got(r * n + j) /= (r * 100 + rank) * 100 + j) failed = failed + 1
		end do
	end do
end subroutine
