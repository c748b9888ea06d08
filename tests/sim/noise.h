/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happens to a CPU while it measures, at random moments of its time. */
#ifndef TESTS_SIM_NOISE_H
#define TESTS_SIM_NOISE_H

#include "hierarchy.h"

/* Draw when everything happens next, from the CPU's time on. */
void noise_start(struct core *c);

/* All that was due by now happened: c->ns may be later afterwards. */
void noise_happen(struct core *c);

/* With mean 0 and deviation 1. */
double noise_normal(struct hierarchy *h);

/* Let time pass. */
static inline void noise_spend(struct core *c, double cycles)
{
	c->ns += cycles * c->cycle_ns;
	if (c->ns >= c->next_ns)
		noise_happen(c);
}

#endif
