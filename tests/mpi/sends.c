// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sends - a job that keeps its own account of what it sends
 *
 * Under libsonde-record the file it leaves must say the same. Each rank writes its
 * account as lines "KIND FROM TO MESSAGES BYTES" into the folder that is given,
 * KIND s for sends and c for collectives.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 64		/* ranks */
#define INTS 4096

static int rank, size;
static uint64_t messages[2][MOST], bytes[2][MOST];
static int from[INTS], to[INTS];

static void expect(char kind, int peer, size_t n)
{
	messages[kind == 'c'][peer]++;
	bytes[kind == 'c'][peer] += n;
}

static void expect_others(size_t n)
{
	for (int i = 0; i < size; i++)
		if (i != rank)
			expect('c', i, n);
}

/* ---- sends --------------------------------------------------------------- */

typedef int (*send_fn)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*isend_fn)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* Every way to send, once, to the next rank of @comm, which is @next in the world. */
static void send_all_ways(MPI_Comm comm, int base, int next)
{
	const send_fn sends[] = { MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend };
	const isend_fn isends[] = { MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend };
	int me, n, right, left;
	MPI_Request requests[2];
	MPI_Status statuses[2];

	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &n);
	right = (me + 1) % n;
	left = (me + n - 1) % n;
	for (int i = 0; i < 4; i++) {
		MPI_Irecv(to, INTS, MPI_INT, left, i, comm, &requests[0]);
		/* A ready send needs its receive to be there. */
		MPI_Barrier(comm);
		sends[i](from, base + i, MPI_INT, right, i, comm);
		expect('s', next, 4 * (size_t)(base + i));
		MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
		MPI_Irecv(to, INTS, MPI_INT, left, i, comm, &requests[0]);
		MPI_Barrier(comm);
		isends[i](from, base + 10 + i, MPI_INT, right, i, comm, &requests[1]);
		expect('s', next, 4 * (size_t)(base + 10 + i));
		MPI_Waitall(2, requests, statuses);
	}
	MPI_Sendrecv(from, base, MPI_INT, right, 9, to, INTS, MPI_INT, left, 9, comm,
		     MPI_STATUS_IGNORE);
	expect('s', next, 4 * (size_t)base);
	MPI_Sendrecv_replace(to, base, MPI_INT, right, 9, left, 9, comm, MPI_STATUS_IGNORE);
	expect('s', next, 4 * (size_t)base);
}

static void send_again_and_again(int next, int left)
{
	MPI_Request requests[2];
	MPI_Status statuses[2];

	MPI_Send_init(from, 100, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[0]);
	MPI_Recv_init(to, INTS, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[1]);
	for (int i = 0; i < 3; i++) {
		MPI_Startall(2, requests);
		expect('s', next, 400);
		MPI_Waitall(2, requests, statuses);
	}
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
	/* Never started: nothing is sent. */
	MPI_Ssend_init(from, 100, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[0]);
	MPI_Request_free(&requests[0]);
	/* A handle of the past may come again, for a receive. */
	MPI_Recv_init(to, INTS, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[1]);
	MPI_Start(&requests[1]);
	MPI_Send(from, 1, MPI_INT, next, 2, MPI_COMM_WORLD);
	expect('s', next, 4);
	MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
	MPI_Request_free(&requests[1]);
}

/* Gaps are not sent, and what goes nowhere is none. */
static void send_typed(int next, int left)
{
	MPI_Datatype gaps;

	MPI_Type_vector(5, 2, 7, MPI_DOUBLE, &gaps);
	MPI_Type_commit(&gaps);
	MPI_Sendrecv(from, 3, gaps, next, 3, to, INTS, MPI_INT, left, 3, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	expect('s', next, 3 * 5 * 2 * 8);
	MPI_Type_free(&gaps);
	MPI_Send(from, 10, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
	MPI_Sendrecv(from, 0, MPI_INT, next, 3, to, 0, MPI_INT, left, 3, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	expect('s', next, 0);
}

/* The even and the odd ones, and between them. */
static void send_between_groups(void)
{
	MPI_Comm mine, inter;
	int members, me;

	if (size < 2)
		return;
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &mine);
	MPI_Comm_size(mine, &members);
	MPI_Comm_rank(mine, &me);
	/* In reverse order: the next is the one before. */
	send_all_ways(mine, 30, rank - 2 >= 0 ? rank - 2 : (size - 1 - rank) / 2 * 2 + rank);
	/* The leader of the other group is its last rank in the world. */
	MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD,
			     (size - 1) % 2 == rank % 2 ? size - 2 : size - 1, 4, &inter);
	if (rank == 0)
		MPI_Send(from, 17, MPI_INT, 0, 5, inter);
	if (rank == 0)
		expect('s', (size - 1) % 2 ? size - 1 : size - 2, 68);
	if (rank % 2 && !me)
		MPI_Recv(to, INTS, MPI_INT, MPI_ANY_SOURCE, 5, inter, MPI_STATUS_IGNORE);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&mine);
}

/* ---- threads ------------------------------------------------------------- */

#define THREADS 4
#define EACH 250

static void *send_many(void *arg)
{
	MPI_Comm comm = *(MPI_Comm *)arg;
	int n, me, in, out = 7;

	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &n);
	for (int i = 0; i < EACH; i++)
		MPI_Sendrecv(&out, 1, MPI_INT, (me + 1) % n, 0, &in, 1, MPI_INT, (me + n - 1) % n,
			     0, comm, MPI_STATUS_IGNORE);
	return NULL;
}

/* Two threads for each communicator that no thread has used before. */
static void send_from_threads(int next)
{
	pthread_t threads[THREADS];
	MPI_Comm comms[THREADS];

	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, send_many, &comms[i / 2]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_free(&comms[i]);
	for (int i = 0; i < THREADS * EACH; i++)
		expect('s', next, 4);
}

/* ---- collectives --------------------------------------------------------- */

static void call_rooted(int root, int counts[], int displs[])
{
	MPI_Bcast(from, 5, MPI_INT, root, MPI_COMM_WORLD);
	if (rank == root)
		expect_others(20);
	MPI_Scatter(from, 2, MPI_INT, rank == root ? MPI_IN_PLACE : to, 2, MPI_INT, root,
		    MPI_COMM_WORLD);
	if (rank == root)
		expect_others(8);
	MPI_Gather(rank == root ? MPI_IN_PLACE : from, 3, MPI_INT, to, 3, MPI_INT, root,
		   MPI_COMM_WORLD);
	if (rank != root)
		expect('c', root, 12);
	MPI_Gatherv(from, rank + 1, MPI_INT, to, counts, displs, MPI_INT, root, MPI_COMM_WORLD);
	if (rank != root)
		expect('c', root, 4 * (size_t)(rank + 1));
	MPI_Scatterv(from, counts, displs, MPI_INT, to, rank + 1, MPI_INT, root, MPI_COMM_WORLD);
	for (int i = 0; rank == root && i < size; i++)
		if (i != rank)
			expect('c', i, 4 * (size_t)(i + 1));
	MPI_Reduce(from, to, 9, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
	if (rank != root)
		expect('c', root, 36);
}

static void call_for_all(int counts[], int displs[])
{
	int mine[MOST];
	MPI_Request request;

	MPI_Allgather(from, 2, MPI_INT, to, 2, MPI_INT, MPI_COMM_WORLD);
	expect_others(8);
	MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, to, counts, displs, MPI_INT, MPI_COMM_WORLD);
	expect_others(4 * (size_t)(rank + 1));
	MPI_Ialltoall(from, 3, MPI_INT, to, 3, MPI_INT, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	expect_others(12);
	/* From i to j as many as j's number; nothing to rank 0. */
	for (int i = 0; i < size; i++)
		mine[i] = rank;
	for (int i = 0; i < size; i++)
		counts[i] = i, displs[i] = i * MOST;
	MPI_Alltoallv(from, counts, displs, MPI_INT, to, mine, displs, MPI_INT, MPI_COMM_WORLD);
	for (int i = 1; i < size; i++)
		if (i != rank)
			expect('c', i, 4 * (size_t)i);
	MPI_Allreduce(MPI_IN_PLACE, to, size * 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	expect_others(8);
	expect_others(8);
	MPI_Exscan(from, to, 6, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank + 1 < size)
		expect('c', rank + 1, 24);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* A line of ranks that does not close. */
static void call_neighbours(void)
{
	const int open = 0;
	MPI_Comm line;

	MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &open, 0, &line);
	MPI_Neighbor_allgather(from, 4, MPI_INT, to, 4, MPI_INT, line);
	if (rank > 0)
		expect('c', rank - 1, 16);
	if (rank < size - 1)
		expect('c', rank + 1, 16);
	MPI_Comm_free(&line);
}

/* ------------------------------------------------------------------------- */

static int write_account(const char *dir)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%d", dir, rank);
	file = fopen(path, "w");
	if (!file)
		return 1;
	for (int kind = 0; kind < 2; kind++)
		for (int i = 0; i < size; i++)
			if (messages[kind][i])
				fprintf(file, "%c %d %d %llu %llu\n", "sc"[kind], rank, i,
					(unsigned long long)messages[kind][i],
					(unsigned long long)bytes[kind][i]);
	return fclose(file) != 0;
}

int main(int argc, char **argv)
{
	static char attached[1 << 16];
	int counts[MOST], displs[MOST], provided, next, left, status;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc < 2 || size > MOST || MPI_Buffer_attach(attached, sizeof(attached)))
		MPI_Abort(MPI_COMM_WORLD, 2);
	next = (rank + 1) % size;
	left = (rank + size - 1) % size;
	for (int i = 0; i < size; i++)
		counts[i] = i + 1, displs[i] = i * MOST;
	send_all_ways(MPI_COMM_WORLD, 20, next);
	send_again_and_again(next, left);
	send_typed(next, left);
	send_between_groups();
	if (provided == MPI_THREAD_MULTIPLE)
		send_from_threads(next);
	call_rooted(size - 1, counts, displs);
	call_for_all(counts, displs);
	call_neighbours();
	status = write_account(argv[1]);
	MPI_Buffer_detach(&displs, &provided);
	MPI_Finalize();
	return status;
}
