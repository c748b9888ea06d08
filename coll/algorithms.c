// SPDX-License-Identifier: LGPL-2.1-or-later
/* algorithms - the table, and whether a composition fits a communicator and a call */
#include <stdio.h>

#include "algorithms.h"
#include "local_pull.h"
#include "plan.h"
#include "stream.h"

#define MODERATE	((size_t)1 << 30)

const struct coll_algorithm coll_algorithms[] = {
	{ COLL_OUTER, COLL_MPI, "mpi", 0, 0, 0, 0, "what the MPI library does", .run = NULL },
	{ COLL_OUTER, COLL_FLAT, "flat", 0, 0, 0, 0,
	  "every rank with every other", .run = coll_run_flat },
	{ COLL_OUTER, COLL_LOCAL, "local", 0, 0, 0,
	  COLL_NEEDS_ONE_NODE | COLL_NEEDS_PEERS | COLL_NEEDS_SEGMENT | COLL_NEEDS_MODERATE,
	  "all ranks are on one node", .run = coll_run_local },
	{ COLL_OUTER, COLL_SA, "sa", 0, 0, 0,
	  COLL_NEEDS_NODES | COLL_NEEDS_PEERS | COLL_NEEDS_SEGMENT | COLL_NEEDS_MODERATE,
	  "send-side aggregation: a message from a node to each rank of another",
	  .run = coll_run_sa },
	{ COLL_OUTER, COLL_RD, "rd", 0, 0, 0,
	  COLL_NEEDS_NODES | COLL_NEEDS_PEERS | COLL_NEEDS_SEGMENT | COLL_NEEDS_MODERATE,
	  "receive-side distribution: a message from each rank to another node",
	  .run = coll_run_rd },
	{ COLL_OUTER, COLL_LEADER, "leader", 1, 1024, 1,
	  COLL_NEEDS_NODES | COLL_NEEDS_PEERS | COLL_NEEDS_SEGMENT | COLL_NEEDS_MODERATE,
	  "K ranks of each node send and receive for all of it", .run = coll_run_leader },

	{ COLL_INTER, COLL_BRUCK, "bruck", 2, 64, 2,
	  COLL_NEEDS_REGULAR | COLL_NEEDS_ALIKE | COLL_NEEDS_MEMORY,
	  "Bruck's algorithm of radix K: few, larger messages",
	  .exchange = coll_exchange_bruck },
	{ COLL_INTER, COLL_WINDOW, "window", 1, 256, 32, 0,
	  "irecv and isend, at most K of each under way",
	  .exchange = coll_exchange_window },
	{ COLL_INTER, COLL_PAIRWISE, "pairwise", 0, 0, 0, COLL_NEEDS_REGULAR,
	  "in each step to one and from one", .exchange = coll_exchange_pairwise },

	{ COLL_IN_NODE, COLL_SHM, "shm", 0, 0, 0, COLL_NEEDS_SEGMENT,
	  "two copies through shared memory", .in_node = &coll_in_node_shm },
	{ COLL_IN_NODE, COLL_CMA, "cma", 0, 0, 0, COLL_NEEDS_SEGMENT,
	  "one copy by process_vm_readv()", .in_node = &coll_in_node_cma },
	{ COLL_IN_NODE, COLL_REGION, "region", 0, 0, 0, COLL_NEEDS_SEGMENT,
	  "one batch of copies from regions, by the module where it is",
	  .in_node = &coll_in_node_region },
	{ COLL_IN_NODE, COLL_STREAM, "stream", 0, 0, 0,
	  COLL_NEEDS_ONE_NODE | COLL_NEEDS_SEGMENT | COLL_NEEDS_STREAMING,
	  "as shm, but past the writer's cache to who reads on another processor",
	  .in_node = &coll_in_node_stream },
};

const size_t coll_nalgorithms = sizeof(coll_algorithms) / sizeof(coll_algorithms[0]);

const struct coll_algorithm *coll_algorithm_find(enum coll_kind kind, int id)
{
	for (size_t i = 0; i < coll_nalgorithms; i++)
		if (coll_algorithms[i].kind == kind && coll_algorithms[i].id == id)
			return &coll_algorithms[i];
	return NULL;
}

/* What is not so, or NULL. */
static const char *find_lack(const struct coll_plan *plan, unsigned int needs, enum coll_op op,
			     size_t block)
{
	if (needs & COLL_NEEDS_ONE_NODE && plan->nnodes > 1)
		return "there are several nodes";
	if (needs & COLL_NEEDS_NODES && plan->nnodes == 1)
		return "there is one node";
	if (needs & COLL_NEEDS_PEERS && plan->most == 1)
		return "no node has two ranks";
	if (needs & COLL_NEEDS_SEGMENT && !plan->segment)
		return "there is no shared memory";
	if (needs & COLL_NEEDS_REGULAR && !coll_is_regular(plan))
		return "nodes have different numbers of ranks";
	if (needs & COLL_NEEDS_ALIKE && op == COLL_ALLTOALLV)
		return "blocks of MPI_Alltoallv differ";
	if (needs & COLL_NEEDS_MODERATE && op == COLL_ALLTOALL && block > MODERATE)
		return "blocks are larger than 1 GiB";
	if (needs & COLL_NEEDS_MEMORY && op == COLL_ALLTOALL &&
	    block > MODERATE / (size_t)plan->size)
		return "all blocks together are larger than 1 GiB";
	if (needs & COLL_NEEDS_STREAMING && !COLL_CAN_STREAM)
		return "this processor has no stores that go past its cache";
	return NULL;
}

static int fits(const struct coll_plan *plan, const struct coll_algorithm *algorithm,
		unsigned int needs, enum coll_op op, size_t block, char *why, size_t len)
{
	const char *lack = find_lack(plan, needs, op, block);

	if (!lack)
		return 1;
	snprintf(why, len, "%s: %s", algorithm->name, lack);
	return 0;
}

/* A rank's areas must have room for a byte of every block that it collects. */
static int has_room(const struct coll_plan *plan, const struct coll_choice *choice, char *why,
		    size_t len)
{
	if (coll_outer_chunk(plan, choice, 1) > 0)
		return 1;
	snprintf(why, len, "%s: areas of %zu bytes have no room for blocks of %d ranks",
		 coll_algorithm_find(COLL_IN_NODE, choice->way)->name, plan->settings.area_most,
		 plan->size);
	return 0;
}

int coll_choice_fits(struct coll_plan *plan, const struct coll_choice *choice,
		     enum coll_op op, size_t block, char *why, size_t len)
{
	const struct coll_algorithm *outer = coll_algorithm_find(COLL_OUTER, choice->outer);
	const struct coll_algorithm *inter = coll_algorithm_find(COLL_INTER, choice->inter);
	const struct coll_algorithm *way = coll_algorithm_find(COLL_IN_NODE, choice->way);
	unsigned int needs;

	if (!fits(plan, outer, outer->needs, op, block, why, len))
		return 0;
	if (inter) {
		needs = inter->needs;
		if (choice->outer == COLL_FLAT)
			needs &= ~(unsigned int)COLL_NEEDS_REGULAR;
		if (!fits(plan, inter, needs, op, block, why, len))
			return 0;
	}
	if (!way)
		return 1;
	if (!fits(plan, way, way->needs, op, block, why, len))
		return 0;
	if (op == COLL_ALLTOALLV && inter && choice->outer != COLL_FLAT &&
	    (choice->inter != COLL_WINDOW || choice->way != COLL_SHM)) {
		snprintf(why, len, "%s: of MPI_Alltoallv it is %s/window/shm only", outer->name,
			 outer->name);
		return 0;
	}
	if (choice->outer == COLL_LEADER && choice->k > plan->least) {
		snprintf(why, len, "leader: a node has %d ranks only", plan->least);
		return 0;
	}
	if (!coll_pull_is_there(plan, choice->way, why, len))
		return 0;
	return !coll_way_is_shared(choice->way) || has_room(plan, choice, why, len);
}

int coll_exchange(struct coll_plan *plan, const struct coll_choice *choice,
		  struct coll_exchange *exchange)
{
	return coll_algorithm_find(COLL_INTER, choice->inter)->exchange(plan, choice, exchange);
}

const struct coll_in_node *coll_in_node_of(const struct coll_choice *choice)
{
	return coll_algorithm_find(COLL_IN_NODE, choice->way)->in_node;
}
