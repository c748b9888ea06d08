/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * choice - a composition: outer algorithm, exchange between nodes, exchange in
 * a node
 *
 * Its name is what a person forces and what is explained:
 * OUTER[:K]/INTER[:PARAMETER]/LOCAL, as "sa/window:8/shm", "flat/bruck:4",
 * "leader:2/pairwise/shm", "local/cma", or "mpi".
 */
#ifndef SONDE_COLL_CHOICE_H
#define SONDE_COLL_CHOICE_H

#include <stddef.h>

#include "settings.h"

struct coll_plan;
struct coll_rule;

enum coll_outer { COLL_MPI, COLL_FLAT, COLL_LOCAL, COLL_SA, COLL_RD, COLL_LEADER, COLL_OUTERS };
enum coll_inter { COLL_NO_INTER, COLL_BRUCK, COLL_WINDOW, COLL_PAIRWISE, COLL_INTERS };

#define COLL_CLASSES	65	/* by the number of bits of a block's bytes */
#define COLL_SENTENCE	192

/**
 * struct coll_choice - what is done for a size class
 * @is_made: the others are filled in
 * @k: leaders
 * @parameter: Bruck's radix, the window's width
 * @is_open: a rule says so: others may be tried beside it
 * @why: the rule that said so
 */
struct coll_choice {
	int is_made, is_open;
	enum coll_outer outer;
	int k;
	enum coll_inter inter;
	int parameter;
	enum coll_way way;
	char why[COLL_SENTENCE];
};

/* By two copies through the segment's areas. */
static inline int coll_way_is_shared(enum coll_way way)
{
	return way == COLL_SHM || way == COLL_STREAM;
}

/* Return: 0; -EINVAL, and a sentence on what is wrong. */
int coll_choice_parse(struct coll_choice *choice, const char *name, char *why, size_t len);

/* The full name, with parameters. Return: @name. */
char *coll_choice_name(const struct coll_choice *choice, char name[COLL_NAME]);

#endif
