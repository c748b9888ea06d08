/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rules - what `sonde tune alltoall` has found best, from the profile */
#ifndef SONDE_COLL_RULES_H
#define SONDE_COLL_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "choice.h"
#include "network.h"

struct coll_plan;

#define COLL_RULES	128	/* the most of a profile */
#define COLL_RULE_WHY	96	/* bytes of a rule's reason */

/**
 * struct coll_rule - a composition for a range of each
 * @in_place: 1, 0, or -1: for both
 * @mapping: an enum coll_mapping, or -1: for all
 * @nodes, @ranks, @ppn, @bytes: from and up to, both included
 * @why: what was measured; empty if the profile does not say
 */
struct coll_rule {
	uint64_t nodes[2], ranks[2], ppn[2], bytes[2];
	int in_place, mapping;
	enum coll_op op;
	char name[COLL_NAME];
	char why[COLL_RULE_WHY];
};

/**
 * struct coll_rules - all of a profile
 * @network: what joins the nodes
 */
struct coll_rules {
	struct coll_rule list[COLL_RULES];
	int n;
	struct coll_network network;
};

/* Rank 0's rules to all. Collective. Return: 0, -EIO, -ENOMEM. */
int coll_rules_share(struct coll_plan *plan);

/* The first rule that matches and fits. Return: 1, 0. */
int coll_rules_try(struct coll_plan *plan, enum coll_op op, size_t block,
		   int is_in_place, struct coll_choice *choice);

/*
 * From the text of a profile. Return: 0; -EINVAL, and a sentence with the line
 * that is wrong: then there are no rules.
 */
int coll_rules_parse(const char *text, size_t len, struct coll_rules *rules, char *why,
		     size_t whylen);

#endif
