/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * call - one call of MPI_Alltoall or MPI_Alltoallv, as bytes
 *
 * Both are blocks: one for each rank on either side. A side knows where its
 * blocks are and how many bytes they have. Of dense types a block is a range of
 * memory; others are packed and unpacked, or made flat as a whole first.
 */
#ifndef SONDE_COLL_CALL_H
#define SONDE_COLL_CALL_H

#include <stddef.h>
#include <string.h>
#include <mpi.h>

struct coll_plan;

enum coll_op { COLL_ALLTOALL, COLL_ALLTOALLV, COLL_OPS };
/* How blocks go from rank to rank of a node. */
enum coll_way { COLL_NO_WAY, COLL_SHM, COLL_CMA, COLL_REGION, COLL_STREAM, COLL_LOCALS };

/**
 * struct coll_type - what a datatype is in bytes
 * @is_dense: its elements follow each other in the order of their type map
 *	without gaps: extent equal to size does not say so yet
 */
struct coll_type {
	MPI_Datatype handle;
	size_t size;
	MPI_Aint lb, extent;
	int is_dense;
};

/**
 * struct coll_side - what is sent, or received
 * @buf: as given
 * @count: of each block, where all have the same
 * @counts, @displs: of MPI_Alltoallv, in elements
 * @large_counts, @large_displs: of MPI_Alltoallv_c
 * @flat: all blocks as bytes; NULL if they are where @buf says
 * @flat_at: where each begins in it; NULL if all have the same size
 */
struct coll_side {
	char *buf;
	struct coll_type type;
	MPI_Count count;
	const int *counts, *displs;
	const MPI_Count *large_counts;
	const MPI_Aint *large_displs;
	char *flat;
	size_t *flat_at;
};

/**
 * struct coll_call - a call
 * @is_in_place: @send is a copy of @recv
 * @is_declined: this rank would not have its memory read: see outer_local.c
 * @went: how blocks went in the node, which is not always as the choice has it
 * @block: bytes of each block of MPI_Alltoall; 0 of MPI_Alltoallv
 */
struct coll_call {
	struct coll_plan *plan;
	enum coll_op op;
	int is_in_place, is_declined;
	enum coll_way went;
	size_t block;
	struct coll_side send, recv;
};

static inline MPI_Count coll_side_count(const struct coll_side *side, int rank)
{
	if (side->counts)
		return side->counts[rank];
	return side->large_counts ? side->large_counts[rank] : side->count;
}

static inline size_t coll_side_bytes(const struct coll_side *side, int rank)
{
	return (size_t)coll_side_count(side, rank) * side->type.size;
}

/* Where the block of a rank begins in the caller's buffer. */
static inline char *coll_side_addr(const struct coll_side *side, int rank)
{
	MPI_Aint at;

	if (side->displs)
		at = side->displs[rank];
	else if (side->large_displs)
		at = side->large_displs[rank];
	else
		at = (MPI_Aint)rank * (MPI_Aint)side->count;
	/* MPI_BOTTOM is a null pointer that one may well add to. */
	return (char *)((MPI_Aint)side->buf + at * side->type.extent);
}

/* The bytes of a block, or NULL if they are not a range of memory. */
static inline char *coll_side_range(const struct coll_side *side, int rank)
{
	if (side->flat)
		return side->flat + (side->flat_at ? side->flat_at[rank] :
				     (size_t)rank * (size_t)side->count * side->type.size);
	return side->type.is_dense ? coll_side_addr(side, rank) : NULL;
}

/* Return: 0, or what MPI said; a handle that MPI does not know is not asked for. */
int coll_type_get(struct coll_type *type, MPI_Datatype handle);

/* Copies the whole of a side to memory, so that every block is a range: 0, -ENOMEM, MPI's. */
int coll_side_flatten(struct coll_call *call, struct coll_side *side);
/* Gives the receive side such memory, to be unpacked by coll_call_finish(). */
int coll_recv_flatten(struct coll_call *call);

/*
 * Bytes [@off, @off + @len) of a block to and from memory. Where the side has no
 * ranges it must be the whole block. Return: 0, or what MPI said.
 */
int coll_put(struct coll_call *call, int to, size_t off, size_t len, char *at);
int coll_take(struct coll_call *call, int from, size_t off, size_t len, const char *at);

/*
 * The same to memory of the segment that @reader, of this node, will read, past the cache
 * if it was last on another processor; and out of memory that @writer has written.
 */
int coll_put_past(struct coll_call *call, int reader, int to, size_t off, size_t len, char *at);
int coll_take_from(struct coll_call *call, int writer, int from, size_t off, size_t len,
		   const char *at);

/* The same bytes of the block for this rank itself. */
int coll_self(struct coll_call *call, size_t off, size_t len);

/* Unpacks what was received flat if @err is 0, and frees. Return: @err, or MPI's. */
int coll_call_finish(struct coll_call *call, int err);

#endif
