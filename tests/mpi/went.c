// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * went - sonde_coll_last() says how a call went, not how it was to go
 *
 *   went            by ways that read another's memory, what has gaps or is small
 *   went --trial    where nobody forces anything: which ways were tried, and what then
 *
 * Run by mpiexec with libsonde-coll linked, all ranks on one node. Prints TAP on rank 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <mpi.h>
#include <sonde/coll.h>

#define MOST	((size_t)128 << 10)	/* bytes of a block */
#define ONCE	12			/* calls in which each of three ways has a turn */
#define TRIED	108			/* of the first trial of three ways, at most */
#define LEAST	256			/* from one trial to the next, at least */
#define PERIOD	(8192 + TRIED)		/* and until it is over, at most */

static int rank, size, number;
static char *send, *recv;

static int report(int right, const char *what)
{
	int all;

	PMPI_Allreduce(&right, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
	number++;
	if (!rank)
		printf("%s %d - %s\n", all ? "ok" : "not ok", number, what);
	fflush(stdout);
	return !all;
}

static int was(const char *name)
{
	if (!strcmp(sonde_coll_last(), name))
		return 1;
	printf("# rank %d: %s, not %s\n", rank, sonde_coll_last(), name);
	return 0;
}

static MPI_Comm get_comm(const char *name)
{
	MPI_Info info;
	MPI_Comm comm;

	MPI_Info_create(&info);
	MPI_Info_set(info, "sonde_coll_alltoall", name);
	MPI_Info_set(info, "sonde_coll_alltoallv", name);
	MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
	MPI_Info_free(&info);
	return comm;
}

/* What arrives is looked at: block of rank r is r + 1 + @salt all through. */
static int exchange(MPI_Comm comm, size_t block, int salt)
{
	int right = 1;

	memset(send, rank + 1 + salt, (size_t)size * block);
	memset(recv, 0, (size_t)size * block);
	MPI_Alltoall(send, (int)block, MPI_BYTE, recv, (int)block, MPI_BYTE, comm);
	for (int r = 0; r < size; r++)
		for (size_t i = 0; i < block; i++)
			right &= recv[(size_t)r * block + i] == (char)(r + 1 + salt);
	return right;
}

static void exchange_gaps(MPI_Comm comm)
{
	MPI_Datatype type;

	MPI_Type_vector(512, 1, 2, MPI_DOUBLE, &type);
	MPI_Type_commit(&type);
	MPI_Alltoall(send, 1, type, recv, 1, type, comm);
	MPI_Type_free(&type);
}

static void exchange_v(MPI_Comm comm, size_t block)
{
	int *counts = calloc(2 * (size_t)size, sizeof(int)), *displs = counts + size;

	for (int r = 0; r < size; r++) {
		counts[r] = (int)block;
		displs[r] = r * (int)block;
	}
	MPI_Alltoallv(send, counts, displs, MPI_BYTE, recv, counts, displs, MPI_BYTE, comm);
	free(counts);
}

static int run_forced(void)
{
	MPI_Comm comm = get_comm("local/cma");
	int failed = report(exchange(comm, 4096, 0) && was("local/cma"),
			    "what has no gaps was read from where it is");

	exchange_gaps(comm);
	failed |= report(was("local/shm"), "what has gaps went through the segment");
	exchange_gaps(comm);
	failed |= report(was("local/shm"), "also unasked");
	exchange_v(comm, 512);
	failed |= report(was("local/shm"), "so did small blocks of MPI_Alltoallv");
	exchange_v(comm, MOST);
	failed |= report(was("local/cma"), "large ones were read");
	MPI_Alltoall(MPI_IN_PLACE, 0, MPI_BYTE, recv, 0, MPI_BYTE, comm);
	failed |= report(was("mpi"), "nothing is the MPI library's");
	MPI_Comm_free(&comm);
	return failed;
}

/* Which ways calls went: a bit each; *@right: with what they were to bring. */
static unsigned int run_calls(MPI_Comm comm, size_t block, int n, int *right)
{
	static const char *const names[] = { "local/shm", "local/stream", "local/cma" };
	unsigned int seen = 0;

	for (int i = 0; i < n; i++) {
		*right &= exchange(comm, block, i);
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			if (!strcmp(sonde_coll_last(), names[k]))
				seen |= 1u << k;
	}
	return seen;
}

static int is_same_everywhere(unsigned int seen)
{
	unsigned int mine[2] = { seen, ~seen }, most[2];

	PMPI_Allreduce(mine, most, 2, MPI_UNSIGNED, MPI_MAX, MPI_COMM_WORLD);
	return most[0] == seen && most[1] == ~seen;
}

static int is_one(unsigned int seen)
{
	return seen && !(seen & (seen - 1));
}

/* How many ways there are depends on the machine, two at least. */
static int run_trial(void)
{
	MPI_Comm comm;
	unsigned int seen, again;
	int right = 1, failed;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	exchange(comm, 4096, 0);	/* before there is a plan */
	seen = run_calls(comm, 4096, ONCE, &right);
	failed = report(right && !is_one(seen) && is_same_everywhere(seen),
			"the first calls take turns, and bring what they should");
	run_calls(comm, 4096, TRIED - ONCE, &right);
	seen = run_calls(comm, 4096, LEAST - TRIED, &right);
	failed |= report(right && is_one(seen) && is_same_everywhere(seen),
			 "then one way does it, the same on all ranks");
	again = run_calls(comm, 4096, PERIOD, &right);
	failed |= report(right && !is_one(again) && is_same_everywhere(again),
			 "after some time the others are tried again");
	seen = run_calls(comm, 512, TRIED, &right);
	failed |= report(right && is_one(seen), "smaller blocks have no trial");
	seen = run_calls(comm, MOST, ONCE, &right);
	failed |= report(right && !is_one(seen) && is_same_everywhere(seen),
			 "larger ones have one of their own");
	MPI_Comm_free(&comm);
	return failed;
}

int main(int argc, char **argv)
{
	const int is_trial = argc > 1 && !strcmp(argv[1], "--trial");
	int failed;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	send = calloc((size_t)size, MOST);
	recv = calloc((size_t)size, MOST);
	failed = is_trial ? run_trial() : run_forced();
	if (!rank)
		printf("1..%d\n", number);
	free(send);
	free(recv);
	MPI_Finalize();
	return failed;
}
