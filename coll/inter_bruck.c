// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * inter_bruck - Bruck's algorithm of radix k
 *
 * Block j of n is for the participant j ahead. The distance is written in base k:
 * for each digit w k^t all blocks that have it go that far in one message, each
 * block over as many messages as it has digits that are not 0. In the end block
 * j is from the participant j behind.
 *
 * Cost for blocks of s bytes: (k - 1) ceil(log_k n) messages; with k = 2
 * log2(n) L + n/2 log2(n) s G. Few messages, many bytes: for small s.
 * J. Bruck et al., Efficient Algorithms for All-to-All Communications in Multiport
 * Message-Passing Systems, IEEE TPDS 8(11), 1997, section 3.
 */
#include <errno.h>
#include <string.h>

#include "algorithms.h"
#include "plan.h"

/**
 * struct hop - all blocks with digit @digit at @weight
 * @n: participants, this rank included
 */
struct hop {
	const struct coll_exchange *exchange;
	int n, radix, weight, digit;
};

static int goes(const struct hop *hop, int j)
{
	return j / hop->weight % hop->radix == hop->digit;
}

static size_t gather(const struct hop *hop, char *to)
{
	const size_t block = hop->exchange->block;
	size_t at = 0;

	for (int j = hop->weight; j < hop->n; j++)
		if (goes(hop, j)) {
			memcpy(to + at, hop->exchange->base + (size_t)j * block, block);
			at += block;
		}
	return at;
}

static void scatter(const struct hop *hop, const char *from)
{
	const size_t block = hop->exchange->block;

	for (int j = hop->weight; j < hop->n; j++)
		if (goes(hop, j)) {
			memcpy(hop->exchange->base + (size_t)j * block, from, block);
			from += block;
		}
}

/* Distance of the hop: message j - 1 says who is j ahead, and who is j behind. */
static int do_hop(struct coll_plan *plan, const struct hop *hop, char *out, char *in,
		  const struct coll_choice *window)
{
	const int distance = hop->digit * hop->weight;
	const MPI_Count bytes = (MPI_Count)gather(hop, out);
	struct coll_message send = { hop->exchange->sends[distance - 1].peer, out, bytes,
				     MPI_BYTE };
	struct coll_message recv = { hop->exchange->recvs[distance - 1].peer, in, bytes,
				     MPI_BYTE };
	struct coll_exchange pair = { .sends = &send, .recvs = &recv, .nsends = 1, .nrecvs = 1,
				      .piece = hop->exchange->piece };
	int err = coll_exchange_window(plan, window, &pair);

	if (!err)
		scatter(hop, in);
	return err;
}

static int do_hops(struct coll_plan *plan, struct hop *hop, char *out, char *in)
{
	const struct coll_choice window = { .inter = COLL_WINDOW, .parameter = 8 };
	int err = 0;

	for (; hop->weight < hop->n && !err; hop->weight *= hop->radix)
		for (hop->digit = 1; hop->digit < hop->radix && !err &&
				     hop->digit * hop->weight < hop->n; hop->digit++)
			err = do_hop(plan, hop, out, in, &window);
	return err;
}

int coll_exchange_bruck(struct coll_plan *plan, const struct coll_choice *choice,
			struct coll_exchange *exchange)
{
	struct hop hop = { exchange, exchange->nsends + 1, choice->parameter, 1, 0 };
	const size_t most = (size_t)hop.n * exchange->block;
	char *out = coll_plan_scratch(plan, COLL_FOR_SEND, 2 * most);
	int err = out ? do_hops(plan, &hop, out, out + most) : -ENOMEM;

	for (int j = 1; j < hop.n && !err; j++) {
		struct coll_message *recv = &exchange->recvs[j - 1];
		char *at = exchange->base + (size_t)j * exchange->block;

		if (recv->at)
			memcpy(recv->at, at, exchange->block);
		else
			recv->at = at;
	}
	return err;
}
