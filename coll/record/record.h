/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * record - who sends how much to whom: what the parts of libsonde-record share
 *
 * A rank has one row: messages and bytes to each rank of MPI_COMM_WORLD, those of
 * sends and those of collectives apart. Rank 0 collects the rows when the job ends.
 */
#ifndef SONDE_COLL_RECORD_H
#define SONDE_COLL_RECORD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <mpi.h>

enum record_kind { RECORD_SENDS, RECORD_COLLECTIVES, RECORD_KINDS };

/**
 * struct record_cell - what this rank sent to one other
 * @messages: how many
 * @bytes: in all of them
 */
struct record_cell {
	_Atomic uint64_t messages;
	_Atomic uint64_t bytes;
};

/**
 * struct record_row - this rank's
 * @size: of MPI_COMM_WORLD
 * @rank: in it
 * @cells: @size of them, by kind
 * @outside: messages to ranks of other jobs, that MPI_Comm_spawn() and its kin made
 * @lost: calls that there was no memory to count
 */
struct record_row {
	int size;
	int rank;
	struct record_cell *cells[RECORD_KINDS];
	_Atomic uint64_t outside;
	_Atomic uint64_t lost;
};

/* This rank's, NULL if nothing is recorded: SONDE_RECORD is not set, or MPI is not up. */
struct record_row *record_row(void);

/**
 * struct record_flows - what a persistent request sends each time it is started
 * @n: how many flows
 * @flow: them
 */
struct record_flows {
	size_t n;
	struct record_flow {
		int to;
		enum record_kind kind;
		uint64_t bytes;
	} *flow;
};

/**
 * struct record_call - a call that is being counted
 * @rank: ours in the communicator
 * @size: of the group that is sent to
 * @world: rank in MPI_COMM_WORLD of each of that group, MPI_UNDEFINED if it has none;
 *         NULL: the same
 * @kind: of the call
 * @flows: where it is noted for later; NULL: it is counted now
 */
struct record_call {
	int rank;
	int size;
	const int *world;
	enum record_kind kind;
	struct record_flows *flows;
};

/*
 * Begin to count a call that has succeeded, so that its arguments are right. False:
 * it is not to be counted, as collectives of intercommunicators are not.
 */
int record_begin(struct record_call *call, enum record_kind kind, MPI_Comm comm,
		 struct record_flows *flows);

/* One message to a rank of the call's group; MPI_PROC_NULL gets none. */
void record_flow(const struct record_call *call, int to, uint64_t bytes);
/* Count what was noted. */
void record_replay(const struct record_flows *flows);

uint64_t record_bytes(MPI_Count count, MPI_Datatype type);

/* The end, on all ranks before MPI's own: the file is written. */
void record_end(void);

/* The next definition of @name after ours, that of MPI if there is no other. */
void *record_next(const char *name, void *mpis);

/*
 * Calls of ours that this thread is in. What stands between us and MPI may call MPI
 * in its turn (libsonde-coll does, and Fortran's entries): only the first is counted.
 */
extern _Thread_local int record_depth
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Persistent requests. @flows is taken over. */
void record_request_add(MPI_Request request, struct record_flows *flows);
void record_request_start(MPI_Request request);
void record_request_forget(MPI_Request request);

/* ---- what a call sends; each is called after it has succeeded ------------ */

/* Counts of either size: one of them is not NULL. */
struct record_counts {
	const int *small;
	const MPI_Count *large;
};

void record_send(MPI_Count count, MPI_Datatype type, int to, MPI_Comm comm,
		 struct record_flows *flows);

void record_to_all(MPI_Count count, MPI_Datatype type, MPI_Comm comm,
		   struct record_flows *flows);
void record_each_to_all(struct record_counts counts, MPI_Datatype type, MPI_Comm comm,
			struct record_flows *flows);
void record_each_typed(struct record_counts counts, const MPI_Datatype *types, MPI_Comm comm,
		       struct record_flows *flows);
void record_own_to_all(struct record_counts counts, MPI_Datatype type, MPI_Comm comm,
		       struct record_flows *flows);
void record_to_root(MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
		    struct record_flows *flows);
void record_from_root(MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
		      struct record_flows *flows);
void record_each_from_root(struct record_counts counts, MPI_Datatype type, int root,
			   MPI_Comm comm, struct record_flows *flows);
void record_allreduce(MPI_Count count, MPI_Datatype type, MPI_Comm comm,
		      struct record_flows *flows);
void record_scan(MPI_Count count, MPI_Datatype type, MPI_Comm comm, struct record_flows *flows);

void record_neighbours(MPI_Count count, MPI_Datatype type, MPI_Comm comm,
		       struct record_flows *flows);
void record_each_neighbour(struct record_counts counts, MPI_Datatype type,
			   const MPI_Datatype *types, MPI_Comm comm, struct record_flows *flows);

#endif
