// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * messages - what messages between two processes cost, for a class of the simulator
 *
 *   messages [--seconds S] [--repeats N]
 *
 * Run by mpiexec with two ranks. Both ends share one processor, so that times are
 * those of all the work there is: on a machine whose nodes share processors nothing
 * is hidden behind the other end.
 *
 * Printed, one JSON object a line, medians over the repeats of the nanoseconds a
 * message:
 *	"stream"	both ends of one of many: the receives posted, a window of sends,
 *			an answer for each window
 *	"send"		the sender's part of that: until its MPI_Isend() calls return
 *	"pingpong"	half of there and back: both ends, and a turn of the processor
 *	"receive"	one that has come already and is alone: MPI_Recv() takes as long
 *	"eager"		1 if the sender was done before the receiver called MPI
 */
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <mpi.h>

#define WINDOW	16
#define REPEATS	99
#define MOST	(64 << 10)

struct bench {
	int rank, repeats;
	double seconds;
	char *memory;
};

enum { DATA, ANSWER };

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* ---- what is measured, seconds a message --------------------------------- */

static double send_window(const struct bench *b, int bytes, int n)
{
	MPI_Request requests[WINDOW];
	MPI_Status statuses[WINDOW];
	double begin, sending = 0;

	for (int i = 0; i < n; i++) {
		begin = MPI_Wtime();
		for (int k = 0; k < WINDOW; k++)
			MPI_Isend(b->memory + k * MOST, bytes, MPI_BYTE, 1, DATA, MPI_COMM_WORLD,
				  &requests[k]);
		sending += MPI_Wtime() - begin;
		MPI_Waitall(WINDOW, requests, statuses);
		MPI_Recv(NULL, 0, MPI_BYTE, 1, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	return sending / n / WINDOW;
}

static void receive_window(const struct bench *b, int bytes, int n)
{
	MPI_Request requests[WINDOW];
	MPI_Status statuses[WINDOW];

	for (int i = 0; i < n; i++) {
		for (int k = 0; k < WINDOW; k++)
			MPI_Irecv(b->memory + k * MOST, bytes, MPI_BYTE, 0, DATA, MPI_COMM_WORLD,
				  &requests[k]);
		MPI_Waitall(WINDOW, requests, statuses);
		MPI_Send(NULL, 0, MPI_BYTE, 0, ANSWER, MPI_COMM_WORLD);
	}
}

static double stream(const struct bench *b, int bytes, int n, double *sending)
{
	const double begin = MPI_Wtime();

	if (b->rank)
		receive_window(b, bytes, n);
	else
		*sending = send_window(b, bytes, n);
	return (MPI_Wtime() - begin) / n / WINDOW;
}

static double pingpong(const struct bench *b, int bytes, int n, double *unused)
{
	const double begin = MPI_Wtime();

	(void)unused;
	for (int i = 0; i < n; i++) {
		if (!b->rank)
			MPI_Send(b->memory, bytes, MPI_BYTE, 1, DATA, MPI_COMM_WORLD);
		MPI_Recv(b->memory, bytes, MPI_BYTE, !b->rank, DATA, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		if (b->rank)
			MPI_Send(b->memory, bytes, MPI_BYTE, 0, DATA, MPI_COMM_WORLD);
	}
	return (MPI_Wtime() - begin) / n / 2;
}

/* Between nodes many of one sender may come in one read; those of several do not. */
static double receive_lone(const struct bench *b, int bytes, int n)
{
	const struct timespec pause = { .tv_nsec = 50000 };
	double begin, times[REPEATS] = { 0 };

	for (int i = 0; i < n; i++) {
		if (!b->rank) {
			MPI_Send(b->memory, bytes, MPI_BYTE, 1, DATA, MPI_COMM_WORLD);
			MPI_Recv(&times[i], 1, MPI_DOUBLE, 1, ANSWER, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
			continue;
		}
		nanosleep(&pause, NULL);
		begin = MPI_Wtime();
		MPI_Recv(b->memory, bytes, MPI_BYTE, 0, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		times[i] = MPI_Wtime() - begin;
		MPI_Send(&times[i], 1, MPI_DOUBLE, 0, ANSWER, MPI_COMM_WORLD);
	}
	qsort(times, (size_t)n, sizeof(*times), by_value);
	return times[n / 2];
}

/* The receiver stays away from MPI meanwhile. */
static int is_eager(const struct bench *b, int bytes)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	MPI_Request request;
	int is_done = 0;

	MPI_Sendrecv(NULL, 0, MPI_BYTE, !b->rank, ANSWER, NULL, 0, MPI_BYTE, !b->rank, ANSWER,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (b->rank) {
		for (int i = 0; i < 50; i++)
			nanosleep(&pause, NULL);
		MPI_Recv(b->memory, bytes, MPI_BYTE, 0, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		return 0;
	}
	MPI_Isend(b->memory, bytes, MPI_BYTE, 1, DATA, MPI_COMM_WORLD, &request);
	for (int i = 0; i < 20 && !is_done; i++) {
		MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
		nanosleep(&pause, NULL);
	}
	if (!is_done)
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	return is_done;
}

/* ---- all ----------------------------------------------------------------- */

static void print(const struct bench *b, const char *what, int bytes, double *values)
{
	qsort(values, (size_t)b->repeats, sizeof(*values), by_value);
	if (!b->rank)
		printf("{\"what\": \"%s\", \"bytes\": %d, \"ns\": %.1f}\n", what, bytes,
		       values[b->repeats / 2] * 1e9);
}

typedef double measure_fn(const struct bench *b, int bytes, int n, double *sending);

static int find_n(const struct bench *b, measure_fn *measure, int bytes)
{
	double sending, took = measure(b, bytes, 3, &sending);
	int n = 4;

	do {
		n *= 2;
		took = measure(b, bytes, n, &sending) * n;
		MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	} while (took < b->seconds / (measure == stream ? WINDOW : 2) && n < 1 << 20);
	return n;
}

static void run_size(const struct bench *b, int bytes)
{
	static measure_fn *const measures[] = { stream, pingpong };
	static const char *const names[] = { "stream", "pingpong" };
	double times[REPEATS], sends[REPEATS] = { 0 };

	for (int m = 0; m < 2; m++) {
		const int n = find_n(b, measures[m], bytes);

		for (int r = 0; r < b->repeats; r++)
			times[r] = measures[m](b, bytes, n, &sends[r]);
		print(b, names[m], bytes, times);
		if (!m)
			print(b, "send", bytes, sends);
	}
	for (int r = 0; r < b->repeats; r++)
		times[r] = receive_lone(b, bytes, REPEATS);
	print(b, "receive", bytes, times);
	times[0] = is_eager(b, bytes);
	if (!b->rank)
		printf("{\"what\": \"eager\", \"bytes\": %d, \"ns\": %.0f}\n", bytes, times[0]);
	fflush(stdout);
}

/* The first processor that it may use. */
static void stay_on_one(void)
{
	cpu_set_t may, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(may), &may))
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &may)) {
			CPU_SET(cpu, &one);
			sched_setaffinity(0, sizeof(one), &one);
			return;
		}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "repeats", required_argument, NULL, 'r' }, { NULL, 0, NULL, 0 },
	};
	struct bench b = { .repeats = 9, .seconds = 0.02 };
	int c, size, is_wrong = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 's')
			b.seconds = atof(optarg);
		else if (c == 'r')
			b.repeats = atoi(optarg);
		else
			is_wrong = 1;
	}
	if (is_wrong || optind < argc || size != 2 || b.repeats < 1 || b.repeats > REPEATS ||
	    !(b.seconds > 0)) {
		if (!b.rank)
			fputs("messages: two ranks; see the head of bench/messages.c\n", stderr);
		MPI_Finalize();
		return 2;
	}
	b.memory = calloc(WINDOW, MOST);
	stay_on_one();
	for (int bytes = 8; bytes <= MOST; bytes *= 2)
		run_size(&b, bytes);
	free(b.memory);
	MPI_Finalize();
	return 0;
}
