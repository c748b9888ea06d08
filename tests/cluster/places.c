// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * places - which rank is on which node, by MPI and by the node's host name
 *
 * Rank 0 prints a line: for each rank its host name's number, and whether MPI's
 * shared-memory communicators hold exactly the ranks of one host name.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The lowest rank of those that share memory with us. */
static int find_first(MPI_Comm node)
{
	int rank, first;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Allreduce(&rank, &first, 1, MPI_INT, MPI_MIN, node);
	return first;
}

/* Two ranks share memory if and only if their hosts have the same number. */
static int is_same_map(const int *hosts, const int *firsts, int ranks)
{
	for (int i = 0; i < ranks; i++)
		for (int j = 0; j < ranks; j++)
			if ((hosts[i] == hosts[j]) != (firsts[i] == firsts[j]))
				return 0;
	return 1;
}

int main(int argc, char **argv)
{
	int rank, ranks, host = -1, first;
	int *hosts, *firsts;
	char name[256] = "";
	MPI_Comm node;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	gethostname(name, sizeof(name) - 1);
	if (sscanf(name, "node%d", &host) != 1)
		host = -1;
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
	first = find_first(node);
	hosts = malloc(2 * (size_t)ranks * sizeof(*hosts));
	if (!hosts)
		MPI_Abort(MPI_COMM_WORLD, 1);
	firsts = hosts + ranks;
	MPI_Gather(&host, 1, MPI_INT, hosts, 1, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Gather(&first, 1, MPI_INT, firsts, 1, MPI_INT, 0, MPI_COMM_WORLD);
	for (int i = 0; !rank && i < ranks; i++)
		printf("%d%s", hosts[i], i < ranks - 1 ? " " : "");
	if (!rank)
		puts(is_same_map(hosts, firsts, ranks) ? "" : " but MPI says otherwise");
	free(hosts);
	MPI_Comm_free(&node);
	MPI_Finalize();
	return 0;
}
