/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tune - what the parts of the tuning program share
 *
 * Every rank runs all of it and comes to the same decisions: times are the
 * slowest rank's, which all are told, and what a clock decides rank 0 decides.
 */
#ifndef SONDE_COLL_TUNE_H
#define SONDE_COLL_TUNE_H

#include <jansson.h>
#include <mpi.h>

#include "../../tools/tune.h"
#include "../plan.h"
#include "../rules.h"
#include "decide.h"

_Static_assert(TUNE_NAME == COLL_NAME && TUNE_WHY == COLL_RULE_WHY, "as the library has them");

#define TUNE_CANDIDATES	256
#define TUNE_CLASSES	27	/* blocks of up to 64 MiB */
#define TUNE_ROUNDS	9

/**
 * struct tune_candidate - a composition
 * @rest: size classes for which it is not tried any more
 * @estimate: seconds a call by few calls; what goes on by that
 * @calls: of a turn
 * @times: seconds a call, by rounds
 */
struct tune_candidate {
	struct coll_choice choice;
	char name[COLL_NAME];
	int rest, is_in, calls;
	double estimate;
	double times[TUNE_ROUNDS];
};

#define TUNE_PAIRS	8	/* 1, 2, 4, ... pairs */
#define TUNE_SIZES	5

/**
 * struct tune_network - what the network does, between two nodes
 * @pairs: of ranks; of each
 * @mbs: megabytes a second of all pairs in both directions, by size and pairs
 * @collect_us, @hand_out_us: of the copies of aggregation and distribution, by size
 * @bandwidths, @copies: ratios, of all pairs to one and of distribution to aggregation
 * @is_crowded: ranks share processors
 * @is: the class
 */
struct tune_network {
	int npairs, pairs[TUNE_PAIRS], nsizes;
	size_t sizes[TUNE_SIZES];
	double mbs[TUNE_SIZES][TUNE_PAIRS];
	double collect_us[TUNE_SIZES], hand_out_us[TUNE_SIZES];
	double bandwidths, copies;
	int is_crowded;
	struct coll_network is;
};

#define TUNE_MIX	6	/* 1 B, 8 B, 64 B, ... 32 KiB */

/**
 * struct tune_mix - what MPI_Alltoallv is measured by: see mix.c
 * @sizes: bytes of blocks in the mean
 * @calls: of each, in one go
 * @counts, @displs: of each size and rank
 */
struct tune_mix {
	int n;
	size_t sizes[TUNE_MIX];
	int calls[TUNE_MIX];
	int *counts, *displs;
};

/**
 * struct tune - all of it
 * @comm: the one that exchanges are made on, with @plan
 * @points: of MPI_Alltoall
 * @mix, @v: of MPI_Alltoallv
 * @begin: by rank 0's clock
 * @is_measured: of @network: there is one
 */
struct tune {
	struct tune_options options;
	MPI_Comm comm;
	struct coll_plan *plan;
	int rank, size;
	double begin;
	char *send, *recv;
	struct tune_candidate *candidates;
	int ncandidates;
	struct tune_point points[2 * TUNE_CLASSES];
	int npoints;
	struct tune_mix mix;
	struct tune_point v;
	struct tune_network network;
	int is_measured;
};

/* candidates.c: what the table has for this communicator, in its order. */
int tune_list_candidates(struct tune *t);

/* measure.c: the best for blocks of 2^class bytes; @seconds that it may take. */
void tune_measure(struct tune *t, unsigned int class, int is_in_place, double seconds,
		  struct tune_point *point);
/* The best for MPI_Alltoallv, to @v. */
void tune_measure_v(struct tune *t, double seconds);

/* mix.c: within --min and --max. Return: 0, -ENOMEM, on all ranks alike. */
int tune_open_mix(struct tune *t);
/* Calls of each size so that each takes as long, by what @plan chooses now. */
void tune_weigh_mix(struct tune *t);
/* All calls of one go, and how many they are. */
void tune_call_mix(struct tune *t);
int tune_count_mix(const struct tune *t);
void tune_close_mix(struct tune *t);

/* Rank 0's clock since the begin, for all. */
double tune_clock(struct tune *t);

/* network.c: with two nodes or more. Return: 0, -ENOMEM, -EIO, on all ranks alike. */
int tune_measure_network(struct tune *t, double seconds);

/* document.c: rank 0 only. */
/* The file can be read, or is not there. Return: 0, or -1 after that was said. */
int tune_check_profile(const struct tune *t);
/* Rules into the profile, and on standard output. Return: an exit status. */
int tune_write(const struct tune *t);

/* show.c: for a person, on standard output. */
void tune_show_head(const struct tune *t);
void tune_show_point(const struct tune *t, const struct tune_point *point);
void tune_show_v(const struct tune *t);
void tune_show_network(const struct tune *t);
void tune_show_rules(const struct tune *t);

#endif
