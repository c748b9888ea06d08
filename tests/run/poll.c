// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * poll - polls a UCX that never has anything, as an MPI would
 *
 * What polls is a library of its own (poll-mpi.c), which is an MPI by its version
 * string, so that what libsonde-yield makes of the caller can be told.
 *
 * usage: poll VERSION POLLS ROUNDS GAP_US: each round polls POLLS times, GAP_US
 * microseconds apart; then one poll has something.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "poll.h"

static void pass_time(long us)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000L +
	       (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

int main(int argc, char **argv)
{
	long polls, rounds, gap;

	if (argc != 5) {
		fputs("usage: poll VERSION POLLS ROUNDS GAP_US\n", stderr);
		return 2;
	}
	mpi_set_version(argv[1]);
	polls = atol(argv[2]);
	rounds = atol(argv[3]);
	gap = atol(argv[4]);
	for (long round = 0; round < rounds; round++) {
		for (long i = 0; i < polls; i++) {
			mpi_poll(0);
			if (gap)
				pass_time(gap);
		}
		mpi_poll(1);
	}
	return 0;
}
