// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * isends - what the library sends in one MPI_Alltoall, rank by rank
 *
 *	isends BYTES
 *
 * The library calls PMPI_Isend(), which is this program's own: it counts and
 * hands on. The first call makes the library's plan and is not counted. Rank 0
 * prints a line for each rank: rank, messages and bytes to other nodes, messages
 * and bytes within its node.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <mpi.h>

enum { WIRE_MESSAGES, WIRE_BYTES, LOCAL_MESSAGES, LOCAL_BYTES, NCOUNTS };

static long long counts[NCOUNTS];
static int *nodes;
static int rank;

/* Exported, so that it comes before that of MPI. */
int PMPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
	       MPI_Request *request)
{
	static int (*next)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
	int size, is_local = nodes && nodes[dest] == nodes[rank];

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "PMPI_Isend");
	MPI_Type_size(type, &size);
	counts[is_local ? LOCAL_MESSAGES : WIRE_MESSAGES]++;
	counts[is_local ? LOCAL_BYTES : WIRE_BYTES] += (long long)count * size;
	return next(buf, count, type, dest, tag, comm, request);
}

/* A node's name is its first rank. */
static void find_nodes(int nranks)
{
	int first = rank;
	MPI_Comm node;

	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
	MPI_Bcast(&first, 1, MPI_INT, 0, node);
	MPI_Comm_free(&node);
	nodes = calloc((size_t)nranks, sizeof(*nodes));
	if (!nodes)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Allgather(&first, 1, MPI_INT, nodes, 1, MPI_INT, MPI_COMM_WORLD);
}

/* Block of @from for @to: no two ranks and no two places have the same. */
static unsigned char make_byte(int from, int to, size_t i)
{
	return (unsigned char)(from * 31 + to * 17 + (int)(i % 251));
}

static void exchange(unsigned char *send, unsigned char *recv, size_t bytes, int nranks)
{
	for (int to = 0; to < nranks; to++)
		for (size_t i = 0; i < bytes; i++)
			send[(size_t)to * bytes + i] = make_byte(rank, to, i);
	MPI_Alltoall(send, (int)bytes, MPI_BYTE, recv, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
	for (int from = 0; from < nranks; from++)
		for (size_t i = 0; i < bytes; i++)
			if (recv[(size_t)from * bytes + i] != make_byte(from, rank, i)) {
				fprintf(stderr, "rank %d: wrong byte %zu from %d\n", rank, i, from);
				MPI_Abort(MPI_COMM_WORLD, 1);
			}
}

static void print_counts(const long long *all, int nranks)
{
	for (int r = 0; r < nranks; r++, all += NCOUNTS)
		printf("%d %lld %lld %lld %lld\n", r, all[WIRE_MESSAGES], all[WIRE_BYTES],
		       all[LOCAL_MESSAGES], all[LOCAL_BYTES]);
}

int main(int argc, char **argv)
{
	long long *all;
	unsigned char *send, *recv;
	size_t bytes = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	int nranks;

	if (!bytes) {
		fputs("usage: isends BYTES\n", stderr);
		return 2;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &nranks);
	send = malloc(bytes * (size_t)nranks);
	recv = malloc(bytes * (size_t)nranks);
	all = calloc((size_t)nranks, sizeof(counts));
	if (!send || !recv || !all)
		MPI_Abort(MPI_COMM_WORLD, 1);
	find_nodes(nranks);
	exchange(send, recv, bytes, nranks);
	for (int c = 0; c < NCOUNTS; c++)
		counts[c] = 0;
	exchange(send, recv, bytes, nranks);
	MPI_Gather(counts, NCOUNTS, MPI_LONG_LONG, all, NCOUNTS, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
	if (!rank)
		print_counts(all, nranks);
	free(send);
	free(recv);
	free(all);
	free(nodes);
	MPI_Finalize();
	return 0;
}
