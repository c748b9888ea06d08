// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * volume - what a call sends, by what it means
 *
 * A collective is counted as what has to reach whom, each piece in one message
 * from where it comes from to where it is wanted, whatever algorithm MPI takes:
 * that is the same under each MPI, and for each number of nodes. Where results
 * are wanted by all (MPI_Allreduce) it is the least volume there is, that of a
 * reduce-scatter and an allgather. MPI_Barrier carries nothing.
 */
#include <stdlib.h>

#include "record.h"

static MPI_Count get_count(struct record_counts counts, int i)
{
	return counts.small ? counts.small[i] : counts.large[i];
}

void record_send(MPI_Count count, MPI_Datatype type, int to, MPI_Comm comm,
		 struct record_flows *flows)
{
	struct record_call call;

	if (record_begin(&call, RECORD_SENDS, comm, flows))
		record_flow(&call, to, record_bytes(count, type));
}

/* A collective's piece; nothing is nothing, and what stays here is not sent. */
static void give(const struct record_call *call, int to, uint64_t bytes)
{
	if (bytes && to != call->rank)
		record_flow(call, to, bytes);
}

static void give_all(const struct record_call *call, uint64_t bytes)
{
	for (int i = 0; i < call->size; i++)
		give(call, i, bytes);
}

/* MPI_Allgather, MPI_Alltoall, MPI_Reduce_scatter_block: as much to each. */
void record_to_all(MPI_Count count, MPI_Datatype type, MPI_Comm comm,
		   struct record_flows *flows)
{
	struct record_call call;

	if (record_begin(&call, RECORD_COLLECTIVES, comm, flows))
		give_all(&call, record_bytes(count, type));
}

/* MPI_Alltoallv, MPI_Reduce_scatter: to each its count. */
void record_each_to_all(struct record_counts counts, MPI_Datatype type, MPI_Comm comm,
			struct record_flows *flows)
{
	struct record_call call;

	if (!record_begin(&call, RECORD_COLLECTIVES, comm, flows))
		return;
	for (int i = 0; i < call.size; i++)
		give(&call, i, record_bytes(get_count(counts, i), type));
}

/* MPI_Alltoallw: and its type. */
void record_each_typed(struct record_counts counts, const MPI_Datatype *types, MPI_Comm comm,
		       struct record_flows *flows)
{
	struct record_call call;

	if (!record_begin(&call, RECORD_COLLECTIVES, comm, flows))
		return;
	for (int i = 0; i < call.size; i++)
		if (get_count(counts, i) > 0)
			give(&call, i, record_bytes(get_count(counts, i), types[i]));
}

/* MPI_Allgatherv: to each the count of our own. */
void record_own_to_all(struct record_counts counts, MPI_Datatype type, MPI_Comm comm,
		       struct record_flows *flows)
{
	struct record_call call;

	if (record_begin(&call, RECORD_COLLECTIVES, comm, flows))
		give_all(&call, record_bytes(get_count(counts, call.rank), type));
}

/* MPI_Gather, MPI_Gatherv, MPI_Reduce: arguments of the root are not looked at. */
void record_to_root(MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
		    struct record_flows *flows)
{
	struct record_call call;

	if (record_begin(&call, RECORD_COLLECTIVES, comm, flows) && call.rank != root)
		give(&call, root, record_bytes(count, type));
}

/* MPI_Bcast, MPI_Scatter. */
void record_from_root(MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
		      struct record_flows *flows)
{
	struct record_call call;

	if (record_begin(&call, RECORD_COLLECTIVES, comm, flows) && call.rank == root)
		give_all(&call, record_bytes(count, type));
}

/* MPI_Scatterv. */
void record_each_from_root(struct record_counts counts, MPI_Datatype type, int root,
			   MPI_Comm comm, struct record_flows *flows)
{
	struct record_call call;

	if (!record_begin(&call, RECORD_COLLECTIVES, comm, flows) || call.rank != root)
		return;
	for (int i = 0; i < call.size; i++)
		give(&call, i, record_bytes(get_count(counts, i), type));
}

/* A part of the vector to whom reduces it, and a reduced part back. */
void record_allreduce(MPI_Count count, MPI_Datatype type, MPI_Comm comm,
		      struct record_flows *flows)
{
	struct record_call call;
	uint64_t part;

	if (!record_begin(&call, RECORD_COLLECTIVES, comm, flows))
		return;
	part = (record_bytes(count, type) + (uint64_t)call.size - 1) / (uint64_t)call.size;
	give_all(&call, part);
	give_all(&call, part);
}

/* MPI_Scan, MPI_Exscan: what is reduced so far goes to the next. */
void record_scan(MPI_Count count, MPI_Datatype type, MPI_Comm comm, struct record_flows *flows)
{
	struct record_call call;

	if (record_begin(&call, RECORD_COLLECTIVES, comm, flows))
		give(&call, call.rank + 1, record_bytes(count, type));
}

/* ---- neighbours ---------------------------------------------------------- */

/* Left and right in each dimension, as MPI 4.0 orders them (8.6). */
static int list_cart(MPI_Comm comm, int **to)
{
	int dims = 0;

	PMPI_Cartdim_get(comm, &dims);
	*to = malloc(2 * ((size_t)dims + 1) * sizeof(**to));
	for (int d = 0; *to && d < dims; d++)
		PMPI_Cart_shift(comm, d, 1, &(*to)[2 * d], &(*to)[2 * d + 1]);
	return 2 * dims;
}

static int list_graph(MPI_Comm comm, int **to)
{
	int rank, n = 0;

	PMPI_Comm_rank(comm, &rank);
	PMPI_Graph_neighbors_count(comm, rank, &n);
	*to = malloc(((size_t)n + 1) * sizeof(**to));
	if (*to)
		PMPI_Graph_neighbors(comm, rank, n, *to);
	return n;
}

static int list_dist_graph(MPI_Comm comm, int **to)
{
	int from = 0, n = 0, is_weighted;
	int *rest;

	PMPI_Dist_graph_neighbors_count(comm, &from, &n, &is_weighted);
	rest = malloc((2 * (size_t)from + (size_t)n + 1) * sizeof(*rest));
	*to = malloc(((size_t)n + 1) * sizeof(**to));
	if (rest && *to) {
		PMPI_Dist_graph_neighbors(comm, from, rest, rest + from, n, *to, rest + 2 * from);
	} else {
		free(*to);
		*to = NULL;
	}
	free(rest);
	return n;
}

/* Those that are sent to, in MPI's order; @to to be freed. */
static int list_neighbours(MPI_Comm comm, int **to)
{
	int topology = MPI_UNDEFINED;

	*to = NULL;
	PMPI_Topo_test(comm, &topology);
	if (topology == MPI_CART)
		return list_cart(comm, to);
	if (topology == MPI_GRAPH)
		return list_graph(comm, to);
	return topology == MPI_DIST_GRAPH ? list_dist_graph(comm, to) : 0;
}

/* MPI_Neighbor_allgather, MPI_Neighbor_allgatherv, MPI_Neighbor_alltoall. */
void record_neighbours(MPI_Count count, MPI_Datatype type, MPI_Comm comm,
		       struct record_flows *flows)
{
	struct record_call call;
	int *to, n;

	if (!record_begin(&call, RECORD_COLLECTIVES, comm, flows))
		return;
	n = list_neighbours(comm, &to);
	for (int i = 0; to && i < n; i++)
		give(&call, to[i], record_bytes(count, type));
	free(to);
}

/* MPI_Neighbor_alltoallv; MPI_Neighbor_alltoallw has @types. */
void record_each_neighbour(struct record_counts counts, MPI_Datatype type,
			   const MPI_Datatype *types, MPI_Comm comm, struct record_flows *flows)
{
	struct record_call call;
	int *to, n;

	if (!record_begin(&call, RECORD_COLLECTIVES, comm, flows))
		return;
	n = list_neighbours(comm, &to);
	for (int i = 0; to && i < n; i++)
		give(&call, to[i], record_bytes(get_count(counts, i), types ? types[i] : type));
	free(to);
}
