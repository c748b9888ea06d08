// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * large - blocks and buffers past 2^31 bytes
 *
 *   large MIB NAME: blocks of so many MiB, by a composition or by MPI if it must
 *
 * The send buffer is untouched memory but for a mark at the begin, the middle and
 * the end of each block, so only what is received takes memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <mpi.h>
#include <sonde/coll.h>

static char *get_memory(size_t bytes)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static void get_places(size_t block, size_t places[3])
{
	places[0] = 0;
	places[1] = block / 2 + 1;
	places[2] = block - 1;
}

int main(int argc, char **argv)
{
	int rank, size, right = 1, all;
	size_t block, places[3];
	char *send, *recv;
	MPI_Comm comm;
	MPI_Info info;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	block = argc == 3 ? strtoull(argv[1], NULL, 10) << 20 : 0;
	send = get_memory(block * (size_t)size);
	recv = get_memory(block * (size_t)size);
	if (!block || !send || !recv)
		MPI_Abort(MPI_COMM_WORLD, 2);
	get_places(block, places);
	for (int r = 0; r < size; r++)
		for (int i = 0; i < 3; i++)
			send[(size_t)r * block + places[i]] = (char)(1 + rank * 20 + r * 3 + i);
	MPI_Info_create(&info);
	MPI_Info_set(info, "sonde_coll_alltoall", argv[2]);
	MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
	MPI_Info_free(&info);
	MPI_Alltoall(send, (int)(block / 4), MPI_INT, recv, (int)(block / 4), MPI_INT, comm);
	for (int r = 0; r < size; r++)
		for (int i = 0; i < 3; i++)
			right &= recv[(size_t)r * block + places[i]] ==
				 (char)(1 + r * 20 + rank * 3 + i);
	MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
	if (!rank)
		printf("%s 1 - %d blocks of %zu MiB by %s\n1..1\n", all ? "ok" : "not ok", size,
		       block >> 20, sonde_coll_last());
	MPI_Comm_free(&comm);
	MPI_Finalize();
	return !all;
}
