/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every interleaving of a program: depth first over what can happen next, a state
 * that was seen before is not gone into again. Going back is done by running the
 * choices up to there anew, so nothing needs to be copied but a path.
 */
#ifndef SONDE_DSM_SIM_SEARCH_H
#define SONDE_DSM_SIM_SEARCH_H

#include "program.h"

struct search {
	uint64_t states, ends, transitions, most;	/* most: states before it gives up */
	bool complete, is_quiet;	/* is_quiet: a failure is wanted, and not printed */
	uint32_t deepest;
	char why[160];			/* of the first failure; empty if none */
	/* Called at each end. */
	void (*at_end)(void *ctx, const struct run *r);
	void *ctx;
};

/* False if an invariant was broken somewhere; how, and the path to it, is printed. */
bool search_run(struct search *s, const struct program *p);

#endif
