// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * comms - plans of communicators: several at once, in threads, freed, duplicated;
 * and what MPI promises beside: progress, errors
 *
 * Run by mpiexec on two ranks or more. Prints TAP on rank 0.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <mpi.h>
#include <sonde/coll.h>

#define THREADS	3

static int rank, size, count;

static int report(int right, const char *name)
{
	int all;

	PMPI_Allreduce(&right, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
	count++;
	if (!rank)
		printf("%s %d - %s\n", all ? "ok" : "not ok", count, name);
	fflush(stdout);
	return all;
}

/* An exchange whose result is known: element j of block r is r's rank, mine and j. */
static int exchange(MPI_Comm comm, int n)
{
	int me, p, right = 1, *send, *recv;

	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &p);
	send = malloc(2 * (size_t)p * (size_t)n * sizeof(int));
	recv = send + p * n;
	for (int r = 0; r < p; r++)
		for (int j = 0; j < n; j++)
			send[r * n + j] = (me * 1000 + r) * 1000 + j;
	right = MPI_Alltoall(send, n, MPI_INT, recv, n, MPI_INT, comm) == MPI_SUCCESS;
	for (int r = 0; r < p && right; r++)
		for (int j = 0; j < n && right; j++)
			right = recv[r * n + j] == (r * 1000 + me) * 1000 + j;
	free(send);
	return right;
}

static int is_ours(void)
{
	return strcmp(sonde_coll_last(), "mpi") != 0;
}

/* ---- tests --------------------------------------------------------------- */

static int test_several(void)
{
	MPI_Comm all, reversed, halves;
	int right = 1;

	MPI_Comm_dup(MPI_COMM_WORLD, &all);
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &halves);
	for (int i = 0; i < 6; i++) {
		right &= exchange(MPI_COMM_WORLD, 1 + 100 * i);
		right &= exchange(reversed, 7);
		right &= exchange(halves, 33);
		right &= exchange(all, 5000);
		right &= exchange(MPI_COMM_SELF, 3);
	}
	MPI_Comm_free(&all);
	MPI_Comm_free(&reversed);
	MPI_Comm_free(&halves);
	return report(right, "communicators of other ranks and orders are used by turns");
}

static int test_first_call(void)
{
	MPI_Comm comm;
	int first, second;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	exchange(comm, 4);
	first = is_ours();
	exchange(comm, 4);
	second = is_ours();
	MPI_Comm_free(&comm);
	return report(!first && second, "a communicator gets a plan when it is used again");
}

static int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static int count_segments(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int n = 0;

	while (maps && fgets(line, sizeof(line), maps))
		n += strstr(line, "sonde-coll") != NULL;
	if (maps)
		fclose(maps);
	return n;
}

static int test_freed(void)
{
	int fds = 0, segments = 0, right = 1, had = 0;

	for (int i = 0; i < 40; i++) {
		MPI_Comm comm, twin;

		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		right &= exchange(comm, 10) && exchange(comm, 10);
		had |= is_ours();
		MPI_Comm_dup(comm, &twin);
		MPI_Comm_free(&comm);
		right &= exchange(twin, 10) && exchange(twin, 10) && is_ours();
		MPI_Comm_free(&twin);
		if (i == 9) {
			fds = count_entries("/proc/self/fd");
			segments = count_segments();
		}
	}
	return report(right && had && count_entries("/proc/self/fd") == fds &&
		      count_segments() == segments,
		      "a duplicate outlives what it was made of; nothing is left of either");
}

static void *run_thread(void *comm)
{
	int right = 1;

	for (int i = 0; i < 30; i++)
		right &= exchange(*(MPI_Comm *)comm, 1 + i * 17);
	return right ? comm : NULL;
}

static int test_threads(int provided)
{
	pthread_t threads[THREADS];
	MPI_Comm comms[THREADS];
	int right = 1;

	if (provided < MPI_THREAD_MULTIPLE)
		return report(1, "threads # SKIP this MPI has no MPI_THREAD_MULTIPLE");
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run_thread, &comms[i]);
	for (int i = 0; i < THREADS; i++) {
		void *result;

		pthread_join(threads[i], &result);
		right &= result != NULL;
	}
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_free(&comms[i]);
	return report(right, "threads make plans and exchange at once, each on its communicator");
}

/* A send of rank 1 ends when rank 0, which is in the exchange already, takes it. */
static int test_progress(void)
{
	const int n = 4 << 20;
	char *bytes = calloc(1, (size_t)n);
	MPI_Request request;
	int right = 1;

	for (int i = 0; i < 4; i++) {
		if (!rank)
			MPI_Irecv(bytes, n, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &request);
		if (rank == 1)
			MPI_Send(bytes, n, MPI_BYTE, 0, 7, MPI_COMM_WORLD);
		right &= exchange(MPI_COMM_WORLD, 3);
		if (!rank)
			MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	free(bytes);
	return report(right, "who waits in the exchange still takes a rendezvous");
}

static int test_inter(void)
{
	MPI_Comm half, inter;
	int send[64], recv[64], n, right = 1;

	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &inter);
	MPI_Comm_remote_size(inter, &n);
	for (int i = 0; i < 3; i++) {
		for (int r = 0; r < n; r++)
			send[r] = rank * 100 + r;
		right &= MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, inter) == MPI_SUCCESS;
		right &= !is_ours();
		for (int r = 0; r < n; r++)
			right &= recv[r] == (2 * r + 1 - rank % 2) * 100 + rank / 2;
	}
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
	return report(right, "an intercommunicator is MPI's");
}

static int get_class(int err)
{
	int class = MPI_SUCCESS;

	MPI_Error_class(err, &class);
	return class;
}

static int test_errors(void)
{
	int send[64] = { 0 }, recv[64], right, counts[64] = { -1 }, displs[64] = { 0 };
	MPI_Comm comm;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	right = exchange(comm, 1) && exchange(comm, 1);
	right &= get_class(MPI_Alltoall(send, -1, MPI_INT, recv, 1, MPI_INT, comm)) ==
		 MPI_ERR_COUNT;
	right &= get_class(MPI_Alltoall(send, 1, MPI_DATATYPE_NULL, recv, 1, MPI_INT, comm)) ==
		 MPI_ERR_TYPE;
	right &= get_class(MPI_Alltoallv(send, counts, displs, MPI_INT, recv, counts, displs,
					 MPI_INT, comm)) == MPI_ERR_COUNT;
	right &= exchange(comm, 1);
	MPI_Comm_free(&comm);
	return report(right, "wrong arguments get MPI's own errors, and the plan lives on");
}

/* MPICH has some 2,000 communicators; a plan wants two. */
static int test_exhausted(void)
{
	static MPI_Comm comms[4096];
	int n = 0, right = 1;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	while (n < 2100 && MPI_Comm_dup(MPI_COMM_WORLD, &comms[n]) == MPI_SUCCESS)
		n++;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	for (int i = 0; i < 3 && n; i++)
		right &= exchange(comms[n - 1], 9);
	while (n)
		MPI_Comm_free(&comms[--n]);
	return report(right, "where no communicators are left MPI does the exchange");
}

static int test_forced(void)
{
	MPI_Info info;
	MPI_Comm comm;
	int right;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Info_create(&info);
	MPI_Info_set(info, "sonde_coll_alltoall", "flat/pairwise");
	MPI_Comm_set_info(comm, info);
	right = exchange(comm, 12) && !strcmp(sonde_coll_last(), "flat/pairwise");
	MPI_Info_set(info, "sonde_coll_alltoall", "flat/bruck:4");
	MPI_Comm_set_info(comm, info);
	right &= exchange(comm, 12) && !strcmp(sonde_coll_last(), "flat/bruck:4");
	MPI_Info_set(info, "sonde_coll_alltoall", "auto");
	MPI_Comm_set_info(comm, info);
	right &= exchange(comm, 12) && strncmp(sonde_coll_last(), "flat", 4);
	MPI_Info_free(&info);
	MPI_Comm_free(&comm);
	return report(right, "an info forces, changes and frees the choice");
}

int main(int argc, char **argv)
{
	int right = 1, provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	right &= test_several();
	right &= test_first_call();
	right &= test_freed();
	right &= test_threads(provided);
	right &= test_progress();
	right &= test_inter();
	right &= test_errors();
	right &= test_forced();
	if (argc > 1 && !strcmp(argv[1], "--exhaust"))
		right &= test_exhausted();
	/* A plan that nobody frees, and a use of it right before the end. */
	right &= exchange(MPI_COMM_WORLD, 77);
	if (!rank)
		printf("1..%d\n", count);
	fflush(stdout);
	MPI_Finalize();
	return !right;
}
