/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A whole machine from what a table says of it: everything else is chosen by a
 * seed, such as it might be.
 */
#ifndef TESTS_SIM_PLAUSIBLE_H
#define TESTS_SIM_PLAUSIBLE_H

#include "corpus.h"

enum profile {
	PROFILE_LAB,	/* nothing disturbs, frames are told, a fine clock */
	PROFILE_CLOUD,	/* gaps, slices, a neighbour, guest frames, a clock of 10 ns */
};

/* The model of @c's usable levels. */
void plausible_model(const struct corpus_machine *c, enum profile profile, uint64_t seed,
		     struct machine_model *model);

/* Whether a neighbour uses level @i, from 0, too. */
int plausible_is_disturbed(const struct machine_model *model, unsigned int i);

/* A sentence about a model's level @i: what the table does not say of it. */
void plausible_describe(const struct machine_model *model, unsigned int i, char *text,
			size_t size);

#endif
