// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * alltoall - an MPI program for tests: exchanges, looks at every byte, ends
 *
 * usage: alltoall [BYTES [CALLS [SECONDS]]]
 *
 * With SECONDS it then calls MPI_Alltoall back to back for about so long and
 * prints microseconds a call, the slowest rank's. The buffers stay the same, so
 * they are in the cache; looking at bytes is not inside the interval.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_BYTES (1 << 20)

static unsigned char byte_of(int from, int to, int i)
{
	return (unsigned char)(31 * from + 7 * to + i);
}

static void exchange(int rank, int ranks, int bytes)
{
	unsigned char *out = malloc((size_t)ranks * (size_t)bytes + 1);
	unsigned char *in = malloc((size_t)ranks * (size_t)bytes + 1);

	if (!out || !in)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int to = 0; to < ranks; to++)
		for (int i = 0; i < bytes; i++)
			out[(size_t)to * (size_t)bytes + (size_t)i] = byte_of(rank, to, i);
	MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
	for (int from = 0; from < ranks; from++)
		for (int i = 0; i < bytes; i++)
			if (in[(size_t)from * (size_t)bytes + (size_t)i] !=
			    byte_of(from, rank, i)) {
				fprintf(stderr, "rank %d: wrong byte %d from %d\n", rank, i, from);
				MPI_Abort(MPI_COMM_WORLD, 1);
			}
	free(out);
	free(in);
}

/*
 * Rank 0 decides how many calls come next, so that there is one broadcast in many
 * calls, and all ranks do the same number.
 */
static void time_calls(int rank, int ranks, int bytes, double seconds)
{
	unsigned char *out = calloc((size_t)ranks, (size_t)bytes + 1);
	unsigned char *in = calloc((size_t)ranks, (size_t)bytes + 1);
	double begin, mine = 0, slowest = 0;
	long calls = 0, more = 1;

	if (!out || !in)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Barrier(MPI_COMM_WORLD);
	begin = MPI_Wtime();
	while (more) {
		for (long i = 0; i < more; i++)
			MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
		calls += more;
		mine = MPI_Wtime() - begin;
		/* At most as many as so far, and no more than the time left allows. */
		more = mine >= seconds ? 0 : (long)((seconds - mine) / mine * (double)calls) + 1;
		if (more > calls)
			more = calls;
		MPI_Bcast(&more, 1, MPI_LONG, 0, MPI_COMM_WORLD);
	}
	MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	if (!rank)
		printf("%.3f us a call\n", slowest / (double)calls * 1e6);
	free(out);
	free(in);
}

int main(int argc, char **argv)
{
	double seconds = argc > 3 ? atof(argv[3]) : 0;
	int bytes = argc > 1 ? atoi(argv[1]) : 8;
	int calls = argc > 2 ? atoi(argv[2]) : 10;
	int rank, ranks;

	if (bytes < 0 || bytes > MOST_BYTES || calls < 0) {
		fputs("usage: alltoall [BYTES [CALLS [SECONDS]]]\n", stderr);
		return 2;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int call = 0; call < calls; call++)
		exchange(rank, ranks, bytes);
	if (!rank)
		printf("%d ranks, %d calls, right\n", ranks, calls);
	if (seconds > 0)
		time_calls(rank, ranks, bytes, seconds);
	MPI_Finalize();
	return 0;
}
