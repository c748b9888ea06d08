// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * carrier - messages between the ranks of an MPI job
 *
 * Every rank runs the plan and calls this for every round. Ranks that are no part of
 * a round must not disturb it: libraries wait by polling, and where ranks share
 * processors who polls takes them away from the pair that is measured. So between
 * rounds a rank looks whether all have come, and sleeps a little between two looks.
 * The times of a round are told to all, so that all decide alike.
 *
 * Ranks that may run anywhere on their node are where the scheduler puts them, for some
 * milliseconds two on one CPU. That is no layer. So for its windows each rank of a pair
 * goes to a CPU of its own, as long as the node has enough, and is free again later.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../lib/allowed_cpus.h"
#include "comm.h"

#define TAG		1
/* Between two looks: for the start, which all come to at once; for the end of a round. */
#define NAP_START_NS	50000
#define NAP_MOST_NS	1000000
#define NAP_LEAST_NS	10000

/**
 * struct carrier - this rank's part
 * @begin: of the clock
 * @send, @receive: what messages are made of
 * @times: of a round, @room
 * @cpus: @ncpus that this rank may run on; @allowed: the same, to go back to
 */
struct carrier {
	struct comm_carrier base;
	MPI_Comm comm;
	unsigned int rank;
	double begin;
	char *send, *receive;
	double *times;
	size_t room;
	unsigned int cpus[CPU_SETSIZE];
	int ncpus;
	cpu_set_t allowed;
};

struct end {
	struct comm_end end;
	struct carrier *carrier;
	int peer;
};

static int send_message(struct comm_end *end, size_t bytes)
{
	struct end *e = (struct end *)end;

	return MPI_Send(e->carrier->send, (int)bytes, MPI_BYTE, e->peer, TAG, e->carrier->comm) ?
	       -EIO : 0;
}

static int receive_message(struct comm_end *end, size_t bytes)
{
	struct end *e = (struct end *)end;

	return MPI_Recv(e->carrier->receive, (int)bytes, MPI_BYTE, e->peer, TAG, e->carrier->comm,
			MPI_STATUS_IGNORE) ? -EIO : 0;
}

static double now_ns(struct comm_end *end)
{
	return (MPI_Wtime() - ((struct end *)end)->carrier->begin) * 1e9;
}

static void wait_napping(MPI_Request *request, long most_ns)
{
	struct timespec nap = { 0, NAP_LEAST_NS };
	int done;

	for (;;) {
		MPI_Test(request, &done, MPI_STATUS_IGNORE);
		if (done)
			return;
		nanosleep(&nap, NULL);
		nap.tv_nsec = 2 * nap.tv_nsec < most_ns ? 2 * nap.tv_nsec : most_ns;
	}
}

/* How many places of pairs before this one are on the same node. */
static unsigned int count_before(const struct carrier *c, const struct comm_pair *pairs, size_t is,
				 unsigned int place)
{
	const struct sonde_comm_place *places = c->base.places;
	unsigned int count = 0;

	for (size_t i = 0; i < is; i++)
		count += (places[pairs[i].a].node == places[place].node) +
			 (places[pairs[i].b].node == places[place].node);
	return count;
}

/* To a CPU that no other one of the round has, if there are as many. */
static void settle(struct carrier *c, const struct comm_pair *pairs, size_t is)
{
	const unsigned int is_second = pairs[is].b == c->rank;
	unsigned int before = count_before(c, pairs, is, c->rank);
	cpu_set_t one;

	if (c->ncpus < 2)
		return;
	/* On two nodes that are one machine the second still has another one. */
	before += is_second;
	CPU_ZERO(&one);
	CPU_SET(c->cpus[before % (unsigned int)c->ncpus], &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void leave(const struct carrier *c)
{
	if (c->ncpus > 1)
		sched_setaffinity(0, sizeof(c->allowed), &c->allowed);
}

/* The first window warms up. */
static int take_windows(struct carrier *c, const struct comm_pair *pair,
			const struct comm_run *run, double *ns)
{
	const int is_second = pair->b == c->rank;
	struct end e = { { send_message, receive_message, now_ns }, c,
			 (int)(is_second ? pair->a : pair->b) };
	struct comm_run own = *run;
	double x = 0;
	int err = 0;

	if (pair->turns)
		own.turns = pair->turns;
	for (unsigned int i = 0; i <= run->windows && !err; i++) {
		err = is_second ? comm_window_second(&e.end, &own, &x)
				: comm_window_first(&e.end, &own, &x);
		if (i && is_second == comm_second_times(run))
			ns[i - 1] = x;
	}
	return err;
}

static int have_room(struct carrier *c, size_t n)
{
	double *times;

	if (n <= c->room)
		return 0;
	times = realloc(c->times, n * sizeof(*times));
	if (!times)
		return -ENOMEM;
	c->times = times;
	c->room = n;
	return 0;
}

/* One value more than there are windows: how many ranks failed. */
static int run_together(struct comm_carrier *base, const struct comm_pair *pairs, size_t npairs,
			const struct comm_run *run, double *ns)
{
	struct carrier *c = (struct carrier *)base;
	const size_t n = npairs * run->windows;
	MPI_Request request;
	int err = agree(have_room(c, n + 1));

	if (err)
		return err;
	memset(c->times, 0, (n + 1) * sizeof(*c->times));
	MPI_Ibarrier(c->comm, &request);
	wait_napping(&request, NAP_START_NS);
	for (size_t i = 0; i < npairs; i++)
		if (pairs[i].a == c->rank || pairs[i].b == c->rank) {
			settle(c, pairs, i);
			err = take_windows(c, &pairs[i], run, c->times + i * run->windows);
			leave(c);
		}
	c->times[n] = err != 0;
	MPI_Iallreduce(MPI_IN_PLACE, c->times, (int)n + 1, MPI_DOUBLE, MPI_SUM, c->comm, &request);
	wait_napping(&request, NAP_MOST_NS);
	memcpy(ns, c->times, n * sizeof(*ns));
	return c->times[n] > 0 ? -EIO : 0;
}

/* Rank 0's, for all. */
static double now_s(struct comm_carrier *base)
{
	struct carrier *c = (struct carrier *)base;
	double now = MPI_Wtime() - c->begin;

	MPI_Bcast(&now, 1, MPI_DOUBLE, 0, c->comm);
	return now;
}

static void close_carrier(struct comm_carrier *base)
{
	struct carrier *c = (struct carrier *)base;

	MPI_Comm_free(&c->comm);
	free(c->send);
	free(c->receive);
	free(c->times);
	free(c);
}

static const struct comm_carrier_ops mpi_ops = {
	.together = run_together,
	.now = now_s,
	.close = close_carrier,
};

/* What this program was built with. */
static void name_mpi(char *name, size_t len)
{
#ifdef OPEN_MPI
	snprintf(name, len, "Open MPI %d.%d.%d", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
		 OMPI_RELEASE_VERSION);
#else
	snprintf(name, len, "MPICH %s", MPICH_VERSION);
#endif
}

int carrier_open(struct comm_carrier **out, const struct ranks *ranks, size_t most_bytes)
{
	struct carrier *c = calloc(1, sizeof(*c));
	int rank;

	if (c) {
		c->base = (struct comm_carrier){ &mpi_ops, ranks->places, ranks->n, SONDE_COMM_MPI,
						 "", most_bytes };
		c->send = calloc(1, most_bytes);
		c->receive = calloc(1, most_bytes);
	}
	if (agree(c && c->send && c->receive ? 0 : -ENOMEM)) {
		if (c) {
			free(c->send);
			free(c->receive);
		}
		free(c);
		return -ENOMEM;
	}
	name_mpi(c->base.via, sizeof(c->base.via));
	MPI_Comm_dup(MPI_COMM_WORLD, &c->comm);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	c->rank = (unsigned int)rank;
	c->ncpus = allowed_cpus(c->cpus);
	if (sched_getaffinity(0, sizeof(c->allowed), &c->allowed))
		c->ncpus = 0;
	c->begin = MPI_Wtime();
	*out = &c->base;
	return 0;
}
