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

int coll_run_local(struct coll_call *call, const struct coll_choice *choice)
{
	const struct coll_map *map = coll_map_get(call->plan, COLL_MAP_LOCAL, 0);
	size_t chunk = 0;
	char *base;
	int err;

	if (call->op == COLL_ALLTOALLV)
		return coll_run_local_v(call, choice);
	err = map ? coll_outer_begin(call, choice, &chunk) : -ENOMEM;
	for (size_t off = 0; off < call->block && !err; off += chunk) {
		const size_t left = call->block - off;

		err = coll_in_node_of(choice)->collect(call, map, off,
						       left < chunk ? left : chunk, &base);
	}
	return coll_call_finish(call, err);
}
