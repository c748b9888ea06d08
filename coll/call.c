// SPDX-License-Identifier: LGPL-2.1-or-later
/* call - blocks to and from memory */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

#include "call.h"
#include "fetch.h"
#include "plan.h"
#include "segment.h"
#include "stream.h"

/* ---- packing ------------------------------------------------------------ */

/* Since MPI 4 counts may be large; before, a call packs less than 2 GiB. */
#if MPI_VERSION >= 4
#define PACK_MOST	SIZE_MAX
#define PACK(from, n, type, to, bytes, at, comm) \
	PMPI_Pack_c(from, n, type, to, (MPI_Count)(bytes), at, comm)
#define UNPACK(from, bytes, at, to, n, type, comm) \
	PMPI_Unpack_c(from, (MPI_Count)(bytes), at, to, n, type, comm)
typedef MPI_Count pack_count;
#else
#define PACK_MOST	((size_t)INT_MAX)
#define PACK(from, n, type, to, bytes, at, comm) \
	PMPI_Pack(from, n, type, to, (int)(bytes), at, comm)
#define UNPACK(from, bytes, at, to, n, type, comm) \
	PMPI_Unpack(from, (int)(bytes), at, to, n, type, comm)
typedef int pack_count;
#endif

/* Elements that one call packs: 0 if not even one. */
static MPI_Count most_elements(const struct coll_type *type)
{
	return type->size ? (MPI_Count)(PACK_MOST / 2 / type->size) : INT_MAX;
}

static int pack(const struct coll_call *call, const struct coll_side *side, int rank, char *to)
{
	const MPI_Count most = most_elements(&side->type);
	const char *from = coll_side_addr(side, rank);
	MPI_Count left = coll_side_count(side, rank);
	int err = most ? 0 : MPI_ERR_COUNT;

	while (left > 0 && !err) {
		const pack_count n = (pack_count)(left < most ? left : most);
		const size_t bytes = (size_t)n * side->type.size;
		pack_count at = 0;

		err = PACK(from, n, side->type.handle, to, bytes, &at, call->plan->comm);
		from += n * side->type.extent;
		to += bytes;
		left -= n;
	}
	return err;
}

static int unpack(const struct coll_call *call, const struct coll_side *side, int rank,
		  const char *from)
{
	const MPI_Count most = most_elements(&side->type);
	char *to = coll_side_addr(side, rank);
	MPI_Count left = coll_side_count(side, rank);
	int err = most ? 0 : MPI_ERR_COUNT;

	while (left > 0 && !err) {
		const pack_count n = (pack_count)(left < most ? left : most);
		const size_t bytes = (size_t)n * side->type.size;
		pack_count at = 0;

		err = UNPACK(from, bytes, &at, to, n, side->type.handle, call->plan->comm);
		to += n * side->type.extent;
		from += bytes;
		left -= n;
	}
	return err;
}

/* ---- a whole side ------------------------------------------------------- */

/*
 * Memory for all blocks of a side, the plan's: new memory in each call would cost a
 * page fault for every page, more than packing does.
 */
static int add_flat(const struct coll_call *call, struct coll_side *side,
		    enum coll_scratch_use use)
{
	const int size = call->plan->size;
	size_t total = 0;

	if (call->op == COLL_ALLTOALLV) {
		side->flat_at = malloc((size_t)size * sizeof(*side->flat_at));
		if (!side->flat_at)
			return -ENOMEM;
		for (int r = 0; r < size; r++) {
			side->flat_at[r] = total;
			total += coll_side_bytes(side, r);
		}
	} else {
		total = (size_t)size * call->block;
	}
	side->flat = coll_plan_scratch(call->plan, use, total);
	if (side->flat)
		return 0;
	free(side->flat_at);
	side->flat_at = NULL;
	return -ENOMEM;
}

static int fill_block(const struct coll_call *call, const struct coll_side *side, int rank,
		      char *to)
{
	if (!side->type.is_dense)
		return pack(call, side, rank, to);
	memcpy(to, coll_side_addr(side, rank), coll_side_bytes(side, rank));
	return 0;
}

int coll_side_flatten(struct coll_call *call, struct coll_side *side)
{
	int err;

	if (side->flat)
		return 0;
	err = add_flat(call, side, COLL_FOR_FLAT_SEND);
	for (int r = 0; r < call->plan->size && !err; r++)
		err = fill_block(call, side, r, coll_side_range(side, r));
	return err;
}

int coll_recv_flatten(struct coll_call *call)
{
	return call->recv.flat ? 0 : add_flat(call, &call->recv, COLL_FOR_FLAT_RECEIVE);
}

static void free_flat(struct coll_side *side)
{
	free(side->flat_at);
	side->flat = NULL;
	side->flat_at = NULL;
}

int coll_call_finish(struct coll_call *call, int err)
{
	struct coll_side *recv = &call->recv;

	for (int r = 0; recv->flat && r < call->plan->size && !err; r++) {
		const char *from = coll_side_range(recv, r);

		if (recv->type.is_dense)
			memcpy(coll_side_addr(recv, r), from, coll_side_bytes(recv, r));
		else
			err = unpack(call, recv, r, from);
	}
	free_flat(recv);
	free_flat(&call->send);
	return err;
}

/* ---- parts of a block --------------------------------------------------- */

int coll_put(struct coll_call *call, int to, size_t off, size_t len, char *at)
{
	const char *range = coll_side_range(&call->send, to);

	if (!range)
		return pack(call, &call->send, to, at);
	memcpy(at, range + off, len);
	return 0;
}

int coll_take(struct coll_call *call, int from, size_t off, size_t len, const char *at)
{
	char *range = coll_side_range(&call->recv, from);

	if (!range)
		return unpack(call, &call->recv, from, at);
	memcpy(range + off, at, len);
	return 0;
}

int coll_put_past(struct coll_call *call, int reader, int to, size_t off, size_t len, char *at)
{
	const char *range = coll_side_range(&call->send, to);

	if (!range || coll_shares_cpu(call->plan->segment, reader))
		return coll_put(call, to, off, len, at);
	coll_stream(at, range + off, len);
	return 0;
}

int coll_take_from(struct coll_call *call, int writer, int from, size_t off, size_t len,
		   const char *at)
{
	char *range = coll_side_range(&call->recv, from);

	if (!range || coll_shares_cpu(call->plan->segment, writer))
		return coll_take(call, from, off, len, at);
	coll_fetch(range + off, at, len);
	return 0;
}

int coll_self(struct coll_call *call, size_t off, size_t len)
{
	const int me = call->plan->rank;
	const char *from = coll_side_range(&call->send, me);
	char *to = coll_side_range(&call->recv, me), *packed;
	int err;

	if (from && to) {
		if (from != to)
			memcpy(to + off, from + off, len);
		return 0;
	}
	if (call->is_in_place && !call->recv.flat)
		return 0;
	if (from)
		return unpack(call, &call->recv, me, from);
	if (to)
		return pack(call, &call->send, me, to);
	packed = malloc(len ? len : 1);
	if (!packed)
		return -ENOMEM;
	err = pack(call, &call->send, me, packed);
	if (!err)
		err = unpack(call, &call->recv, me, packed);
	free(packed);
	return err;
}
