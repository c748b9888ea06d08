// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * candidates - every composition of the table that differs from the others here
 *
 * Whether one fits a size is asked later. Parameters that make no difference on
 * so few nodes are left out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../algorithms.h"
#include "tune.h"

static int add(struct tune *t, const struct coll_choice *choice)
{
	struct tune_candidate *c = &t->candidates[t->ncandidates];

	if (t->ncandidates == TUNE_CANDIDATES)
		return -ENOBUFS;
	c->choice = *choice;
	c->choice.is_made = 1;
	coll_choice_name(choice, c->name);
	t->ncandidates++;
	return 0;
}

/* By every way in the node, if the composition has one. */
static int add_ways(struct tune *t, struct coll_choice choice)
{
	int err = 0;

	if (choice.outer == COLL_FLAT)
		return add(t, &choice);
	for (int way = COLL_SHM; way < COLL_LOCALS && !err; way++) {
		choice.way = (enum coll_way)way;
		err = add(t, &choice);
	}
	return err;
}

/* @peers: ranks that one sends to, about. */
static int add_exchanges(struct tune *t, struct coll_choice choice, int peers)
{
	static const int windows[] = { 4, 32 }, radices[] = { 2, 4, 8 };
	int err = 0;

	choice.inter = COLL_WINDOW;
	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]) && !err; i++) {
		choice.parameter = windows[i];
		if (windows[i] < peers || windows[i] == 32)
			err = add_ways(t, choice);
	}
	choice.inter = COLL_BRUCK;
	for (size_t i = 0; i < sizeof(radices) / sizeof(radices[0]) && !err; i++) {
		choice.parameter = radices[i];
		if (radices[i] <= peers)
			err = add_ways(t, choice);
	}
	choice.inter = COLL_PAIRWISE;
	choice.parameter = 0;
	return err || peers < 2 ? err : add_ways(t, choice);
}

static int add_outer(struct tune *t, enum coll_outer outer)
{
	const int nodes = t->plan->nnodes, least = t->plan->least;
	struct coll_choice choice = { .outer = outer };
	int err = 0;

	switch (outer) {
	case COLL_MPI:
		return add(t, &choice);
	case COLL_FLAT:
		return add_exchanges(t, choice, t->size - 1);
	case COLL_LOCAL:
		return nodes == 1 ? add_ways(t, choice) : 0;
	case COLL_LEADER:
		for (choice.k = 1; choice.k < least && !err && nodes > 1; choice.k *= 2)
			err = add_exchanges(t, choice, nodes - 1);
		return err;
	default:
		return nodes > 1 ? add_exchanges(t, choice, nodes - 1) : 0;
	}
}

int tune_list_candidates(struct tune *t)
{
	int err = 0;

	t->candidates = calloc(TUNE_CANDIDATES, sizeof(*t->candidates));
	if (!t->candidates)
		return -ENOMEM;
	for (int outer = 0; outer < COLL_OUTERS && !err; outer++)
		err = add_outer(t, (enum coll_outer)outer);
	/* More than there is room for: those that are left are tried less. */
	return err == -ENOBUFS ? 0 : err;
}
