// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * outer_local - all ranks are on one node
 *
 * Cost: that of the exchange in the node, for every chunk of the blocks that
 * fits in the areas.
 */
#include <errno.h>

#include "outer.h"
#include "plan.h"

/* More would cost who has no gaps in the end, fewer who asks each time. */
#define PACKED_CALLS	31

static const struct coll_choice through_segment = { .outer = COLL_LOCAL, .way = COLL_SHM };

/*
 * Blocks with gaps must be packed: straight into the segment, where it has room for
 * whole ones, and not into memory that others then read. Of another rank they may
 * have none, so this one says so.
 */
static int is_to_be_packed(const struct coll_call *call)
{
	return (!call->send.type.is_dense || !call->recv.type.is_dense) &&
	       coll_outer_chunk(call->plan, &through_segment, call->block) == call->block;
}

static int run(struct coll_call *call, const struct coll_choice *choice,
	       const struct coll_map *map)
{
	size_t chunk = 0;
	char *base;
	int err;

	call->went = choice->way;
	err = coll_outer_begin(call, choice, &chunk);

	for (size_t off = 0; off < call->block && !err; off += chunk) {
		const size_t left = call->block - off;

		err = coll_in_node_of(choice)->collect(call, map, off,
						       left < chunk ? left : chunk, &base);
	}
	return err;
}

/* Of blocks that were packed the next calls' are likely to be too: nobody asks. */
static int is_expected(struct coll_plan *plan, size_t block)
{
	if (plan->packed_block != block || !plan->packed_calls)
		return 0;
	plan->packed_calls--;
	return 1;
}

static int run_pull(struct coll_call *call, const struct coll_choice *choice,
		    const struct coll_map *map)
{
	struct coll_plan *plan = call->plan;
	int err;

	if (is_expected(plan, call->block))
		return run(call, &through_segment, map);
	call->is_declined = is_to_be_packed(call);
	err = run(call, choice, map);
	if (err != COLL_DECLINED)
		return err;
	plan->packed_block = call->block;
	plan->packed_calls = PACKED_CALLS;
	return run(call, &through_segment, map);
}

int coll_run_local(struct coll_call *call, const struct coll_choice *choice)
{
	const struct coll_map *map = coll_map_get(call->plan, COLL_MAP_LOCAL, 0);
	int err = map ? 0 : -ENOMEM;

	if (call->op == COLL_ALLTOALLV)
		return coll_run_local_v(call, choice);
	if (!err)
		err = coll_way_is_shared(choice->way) ? run(call, choice, map) :
		      run_pull(call, choice, map);
	return coll_call_finish(call, err);
}
