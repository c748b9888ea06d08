// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * select - a choice for each size class, made once for each plan
 *
 * In this order: what the communicator's info forces, what the environment
 * forces, the first rule of the profile that matches, the rules below. Beside what
 * rules say others may then be tried: trial.h. All that is asked for here is the same
 * on all ranks, so their answers are.
 *
 * A size class is all sizes from above one power of two up to the next, which is
 * what rules are asked for.
 */
#include <stdint.h>
#include <stdio.h>

#include "algorithms.h"
#include "explain.h"
#include "local_pull.h"
#include "plan.h"
#include "rules.h"
#include "select.h"

/**
 * struct usual - a rule that needs no profile
 * @nodes: from, and up to which (0: any)
 * @bytes: blocks from so many, and up to so many
 * @needs_module: for regions that the module serves
 * @needs_crowd: for nodes with more ranks than processors
 * @needs_in_place: for calls in place
 * @nic, @distribution: for networks of which the profile says so (0: any)
 * @is_v: for MPI_Alltoallv
 * @name: the composition
 */
struct usual {
	int nodes[2];
	size_t bytes[2];
	int needs_module, needs_crowd, needs_in_place, is_v;
	enum coll_nic nic;
	enum coll_distribution distribution;
	const char *name;
	const char *why;
};

/* The figures behind these are bench/alltoall's: see bench/README.md. */
static const struct usual usuals[] = {
	{ .nodes = { 1, 1 }, .bytes = { 0, (size_t)1 << 30 }, .needs_in_place = 1,
	  .name = "local/shm",
	  .why = "one node, in place: what others read must be copied anyway" },
	{ .nodes = { 1, 1 }, .needs_module = 1, .is_v = 1, .name = "local/region",
	  .why = "one node: small blocks by two copies, large ones by one of the module" },
	{ .nodes = { 1, 1 }, .is_v = 1, .name = "local/cma",
	  .why = "one node: small blocks by two copies, large ones by one" },
	{ .nodes = { 1, 1 }, .bytes = { 4 << 10, (size_t)1 << 30 }, .needs_module = 1,
	  .name = "local/region",
	  .why = "one node, and the module copies a rank's blocks in one call" },
	{ .nodes = { 1, 1 }, .bytes = { 0, 16 << 10 }, .needs_crowd = 1, .name = "local/shm",
	  .why = "one node whose ranks share processors: two copies that stay in the cache" },
	{ .nodes = { 1, 1 }, .bytes = { 0, 4 << 10 }, .name = "local/shm",
	  .why = "one node: two copies that stay in the cache cost less than a call a block" },
	{ .nodes = { 1, 1 }, .bytes = { 0, (size_t)1 << 30 }, .name = "local/cma",
	  .why = "one node: large blocks are copied once" },
	{ .nodes = { 1, 1 }, .bytes = { 0, 64 << 10 }, .name = "local/shm",
	  .why = "one node, and no way to read another process's memory" },
	{ .nodes = { 2, 0 }, .is_v = 1, .distribution = COLL_DISTRIBUTION_CHEAPER,
	  .name = "rd/window/shm",
	  .why = "several nodes, where handing out what came costs less than collecting" },
	{ .nodes = { 2, 0 }, .is_v = 1, .name = "sa/window/shm",
	  .why = "several nodes: small blocks in fewer messages, large ones as they are" },
	{ .nodes = { 2, 0 }, .bytes = { 0, 4 << 10 }, .needs_crowd = 1,
	  .name = "leader:1/window/shm",
	  .why = "several nodes whose ranks share processors: fewest messages" },
	{ .nodes = { 2, 0 }, .bytes = { 0, 64 << 10 }, .needs_crowd = 1, .name = "sa/window/shm",
	  .why = "several nodes whose ranks share processors: fewer messages" },
	{ .nodes = { 2, 0 }, .bytes = { 256, 4 << 10 }, .nic = COLL_NIC_OFFLOAD,
	  .name = "leader:1/window/shm",
	  .why = "several nodes whose ranks get in each other's way on the network: one sends" },
	{ .nodes = { 2, 0 }, .bytes = { 0, 8 << 10 }, .distribution = COLL_DISTRIBUTION_CHEAPER,
	  .name = "rd/window/shm",
	  .why = "several nodes, where handing out what came costs less than collecting" },
	{ .nodes = { 2, 0 }, .bytes = { (64 << 10) + 1, (size_t)1 << 30 }, .needs_crowd = 1,
	  .name = "flat/window",
	  .why = "several nodes whose ranks share processors: none waits for one partner" },
	{ .nodes = { 2, 0 }, .bytes = { 0, 8 << 10 }, .name = "sa/window/shm",
	  .why = "several ranks on several nodes: fewer and larger messages" },
};

static int in(const int range[2], int n)
{
	return n >= range[0] && (!range[1] || n <= range[1]);
}

/* 0: not forced. */
static int try_name(struct coll_plan *plan, const char *name, const char *who, enum coll_op op,
		    size_t block, struct coll_choice *choice)
{
	struct coll_choice named;
	char why[COLL_SENTENCE / 2] = "";

	if (!*name || coll_choice_parse(&named, name, why, sizeof(why)))
		return 0;
	if (!coll_choice_fits(plan, &named, op, block, why, sizeof(why))) {
		snprintf(choice->why, sizeof(choice->why), "%s asks for %s, but %s", who, name,
			 why);
		return 0;
	}
	*choice = named;
	snprintf(choice->why, sizeof(choice->why), "%s says so", who);
	return 1;
}

static int is_for(const struct usual *u, const struct coll_plan *plan, enum coll_op op,
		  size_t block, int is_in_place)
{
	return in(u->nodes, plan->nnodes) && (!u->is_v || op == COLL_ALLTOALLV) &&
	       block >= u->bytes[0] && block <= u->bytes[1] &&
	       (!u->needs_module || plan->has_module) && (!u->needs_crowd || plan->is_crowded) &&
	       (!u->needs_in_place || is_in_place) &&
	       (!u->nic || u->nic == plan->network.nic) &&
	       (!u->distribution || u->distribution == plan->network.distribution);
}

static int try_usual(struct coll_plan *plan, enum coll_op op, size_t block, int is_in_place,
		     struct coll_choice *choice)
{
	for (size_t i = 0; i < sizeof(usuals) / sizeof(usuals[0]); i++) {
		const struct usual *u = &usuals[i];
		struct coll_choice named;
		char why[COLL_SENTENCE];

		if (!is_for(u, plan, op, block, is_in_place) ||
		    coll_choice_parse(&named, u->name, why, sizeof(why)) ||
		    !coll_choice_fits(plan, &named, op, block, why, sizeof(why)))
			continue;
		*choice = named;
		snprintf(choice->why, sizeof(choice->why), "usual rule %zu: %s", i + 1, u->why);
		return 1;
	}
	return 0;
}

static void choose(struct coll_plan *plan, enum coll_op op, size_t block, int is_in_place,
		   const char *forced, struct coll_choice *choice)
{
	struct coll_choice c = { .outer = COLL_MPI, .why = "no rule is for it" };

	if (!try_name(plan, forced, "the communicator's info", op, block, &c) &&
	    !try_name(plan, plan->settings.forced[op], op == COLL_ALLTOALL ?
		      "SONDE_COLL_ALLTOALL" : "SONDE_COLL_ALLTOALLV", op, block, &c) &&
	    !*forced && !*plan->settings.forced[op])
		c.is_open = coll_rules_try(plan, op, block, is_in_place, &c) ||
			    try_usual(plan, op, block, is_in_place, &c);
	*choice = c;
	choice->is_made = 1;
	coll_explain(plan, op, block, is_in_place, choice);
}

/* Sizes up to 2^n, more than 2^(n-1): class n. */
static unsigned int get_class(size_t block)
{
	return block > 1 ? 64 - (unsigned int)__builtin_clzll(block - 1) : 0;
}

static size_t get_largest(unsigned int class)
{
	return class >= 64 ? SIZE_MAX : (size_t)1 << class;
}

const struct coll_choice *coll_select(struct coll_plan *plan, enum coll_op op, size_t block,
				      int is_in_place, const char *forced)
{
	const unsigned int class = op == COLL_ALLTOALL ? get_class(block) : 0;
	struct coll_choice *choice = &plan->choices[op][is_in_place][class];

	if (!choice->is_made)
		choose(plan, op, op == COLL_ALLTOALL ? get_largest(class) : 0, is_in_place,
		       forced, choice);
	return choice;
}
