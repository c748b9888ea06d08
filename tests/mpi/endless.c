// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * endless - MPI_Alltoall() again and again, and nothing else, until somebody ends it
 *
 *   endless [BYTES]    of a block
 *
 * Each rank says "ready" when what is done once is behind it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <mpi.h>

int main(int argc, char **argv)
{
	const int bytes = argc > 1 ? atoi(argv[1]) : 8;
	char *send, *recv;
	int size;

	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	send = calloc((size_t)size, (size_t)bytes);
	recv = calloc((size_t)size, (size_t)bytes);
	if (!send || !recv)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (unsigned long calls = 1;; calls++) {
		MPI_Alltoall(send, bytes, MPI_BYTE, recv, bytes, MPI_BYTE, MPI_COMM_WORLD);
		if (calls == 100) {
			puts("ready");
			fflush(stdout);
		}
	}
}
