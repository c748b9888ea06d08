// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * flat - every rank with every other, nodes do not matter
 *
 * With a window or in pairs messages are of the caller's datatypes, straight
 * from and to the caller's buffers; Bruck's algorithm works on bytes.
 *
 * Cost (P ranks, m bytes a block; L latency and overhead of a message, G time a
 * byte): window and pairwise (P - 1) (L + m G); see inter_bruck.c for Bruck.
 * R. Thakur, R. Rabenseifner, W. Gropp, Optimization of Collective Communication
 * Operations in MPICH, IJHPCA 19(1), 2005, section 3.4 (the three of them).
 */
#include <errno.h>
#include <stdlib.h>

#include "outer.h"
#include "plan.h"

static int send_blocks(struct coll_call *call, const struct coll_choice *choice)
{
	const int size = call->plan->size, me = call->plan->rank;
	struct coll_exchange exchange = { .nsends = size - 1, .nrecvs = size - 1 };
	struct coll_message *messages = malloc(2 * (size_t)size * sizeof(*messages));
	int err;

	if (!messages)
		return -ENOMEM;
	exchange.sends = messages;
	exchange.recvs = messages + size;
	for (int k = 1; k < size; k++) {
		exchange.sends[k - 1] = coll_outer_message(&call->send, (me + k) % size);
		exchange.recvs[k - 1] = coll_outer_message(&call->recv, (me - k + size) % size);
	}
	err = coll_exchange(call->plan, choice, &exchange);
	free(messages);
	return err;
}

static int run_bruck(struct coll_call *call, const struct coll_choice *choice)
{
	const int size = call->plan->size, me = call->plan->rank;
	const size_t block = call->block;
	struct coll_exchange exchange = { .nsends = size - 1, .nrecvs = size - 1,
					  .block = block };
	struct coll_message *messages = malloc(2 * (size_t)size * sizeof(*messages));
	int err = 0;

	exchange.base = coll_plan_scratch(call->plan, COLL_FOR_COLLECT, (size_t)size * block);
	if (!messages || !exchange.base)
		err = -ENOMEM;
	exchange.sends = messages;
	exchange.recvs = messages + size;
	for (int k = 1; k < size && !err; k++) {
		const int to = (me + k) % size, from = (me - k + size) % size;
		char *at = exchange.base + (size_t)k * block;

		err = coll_put(call, to, 0, block, at);
		exchange.sends[k - 1] = (struct coll_message){ to, at, (MPI_Count)block,
							       MPI_BYTE };
		exchange.recvs[k - 1] = (struct coll_message){ from, NULL, (MPI_Count)block,
							       MPI_BYTE };
	}
	if (!err)
		err = coll_exchange(call->plan, choice, &exchange);
	for (int k = 1; k < size && !err; k++)
		err = coll_take(call, exchange.recvs[k - 1].peer, 0, block,
				exchange.recvs[k - 1].at);
	free(messages);
	return err;
}

int coll_run_flat(struct coll_call *call, const struct coll_choice *choice)
{
	int err = 0;

	if (choice->inter == COLL_BRUCK) {
		err = run_bruck(call, choice);
	} else {
		err = coll_outer_copy_first(call);
		if (!err)
			err = send_blocks(call, choice);
	}
	if (!err)
		err = coll_self(call, 0, coll_side_bytes(&call->recv, call->plan->rank));
	return coll_call_finish(call, err);
}
