/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the paper says of alltoall on its machines, as questions that the
 * simulator answers with yes or no and a number.
 */
#ifndef SONDE_COLL_SIM_CLAIMS_H
#define SONDE_COLL_SIM_CLAIMS_H

#include "class.h"

enum a2a_claim {
	A2A_CLAIM_REDUCTION,
	A2A_CLAIM_GROWS,
	A2A_CLAIM_SA_BEST,
	A2A_CLAIM_RD_DEARER,
	A2A_CLAIM_CATCHES_UP,
	A2A_CLAIM_LEADER_BEST,
	A2A_CLAIM_SAME,
	A2A_CLAIM_CONNECTX,
	A2A_CLAIMS
};

/**
 * struct a2a_claim_text - about a claim
 * @name: a word or two with dashes
 * @what: the claim; @value: what the number is
 * @share: of perturbations in which it is asked to hold
 */
struct a2a_claim_text {
	const char *name;
	const char *what;
	const char *value;
	double share;
};

const struct a2a_claim_text *a2a_claim_text(enum a2a_claim claim);

struct a2a_verdict {
	int holds;
	double value;
};

/**
 * a2a_claims_check() - all of them at once
 * @classes: the built-in ones, in their order, changed or not
 *
 * Return: 0, -ENOMEM.
 */
int a2a_claims_check(const struct a2a_class classes[A2A_CLASSES],
		     struct a2a_verdict verdicts[A2A_CLAIMS]);

/*
 * The built-in classes with every cost changed by up to a quarter, number @i of
 * those that @seed gives.
 */
#define A2A_PERTURBATION 0.25
void a2a_claims_perturb(struct a2a_class classes[A2A_CLASSES], uint64_t seed, uint64_t i);

#endif
