// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stencil - what a 2-D stencil's messages cost: borders to four neighbours, and on
 *
 * usage: stencil NX NY BYTES STEPS. Ranks stand in rows of NX; each sends BYTES to
 * each of its neighbours, STEPS times. Nothing is computed between. Prints the
 * microseconds of a step, of the slowest rank.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define NEIGHBOURS 4

struct stencil {
	int to[NEIGHBOURS];
	int bytes;
	char *out, *in[NEIGHBOURS];
};

static int set_up(struct stencil *s, int rank, int nx, int ny, int bytes)
{
	int x = rank % nx, y = rank / nx;

	s->to[0] = x > 0 ? rank - 1 : MPI_PROC_NULL;
	s->to[1] = x < nx - 1 ? rank + 1 : MPI_PROC_NULL;
	s->to[2] = y > 0 ? rank - nx : MPI_PROC_NULL;
	s->to[3] = y < ny - 1 ? rank + nx : MPI_PROC_NULL;
	s->bytes = bytes;
	s->out = calloc(1, (size_t)bytes);
	for (int i = 0; i < NEIGHBOURS; i++) {
		s->in[i] = calloc(1, (size_t)bytes);
		if (!s->out || !s->in[i])
			return -1;
	}
	return 0;
}

static void step(const struct stencil *s)
{
	MPI_Request requests[2 * NEIGHBOURS];
	MPI_Status statuses[2 * NEIGHBOURS];

	for (int i = 0; i < NEIGHBOURS; i++)
		MPI_Irecv(s->in[i], s->bytes, MPI_BYTE, s->to[i], i ^ 1, MPI_COMM_WORLD,
			  &requests[i]);
	for (int i = 0; i < NEIGHBOURS; i++)
		MPI_Isend(s->out, s->bytes, MPI_BYTE, s->to[i], i, MPI_COMM_WORLD,
			  &requests[NEIGHBOURS + i]);
	MPI_Waitall(2 * NEIGHBOURS, requests, statuses);
}

int main(int argc, char **argv)
{
	int nx = argc > 1 ? atoi(argv[1]) : 0, ny = argc > 2 ? atoi(argv[2]) : 0;
	int bytes = argc > 3 ? atoi(argv[3]) : 0, steps = argc > 4 ? atoi(argv[4]) : 0;
	double begin, took, most;
	struct stencil s;
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc != 5 || nx < 1 || ny < 1 || nx * ny != ranks || bytes < 1 || steps < 1 ||
	    set_up(&s, rank, nx, ny, bytes)) {
		if (!rank)
			fputs("usage: stencil NX NY BYTES STEPS, with NX x NY ranks\n", stderr);
		MPI_Finalize();
		return 2;
	}
	/* Connections are made when they are first used. */
	step(&s);
	MPI_Barrier(MPI_COMM_WORLD);
	begin = MPI_Wtime();
	for (int i = 0; i < steps; i++)
		step(&s);
	took = MPI_Wtime() - begin;
	MPI_Reduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	if (!rank)
		printf("%.1f\n", most * 1e6 / steps);
	for (int i = 0; i < NEIGHBOURS; i++)
		free(s.in[i]);
	free(s.out);
	MPI_Finalize();
	return 0;
}
