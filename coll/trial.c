// SPDX-License-Identifier: LGPL-2.1-or-later
/* trial - taking turns, and what came of it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms.h"
#include "plan.h"
#include "trial.h"

/* Then all are tried again: a turn is one call of 150, or of 57 where sizes may change. */
#define CALLS_A_TRIAL	4096
#define CALLS_A_TRIAL_V	1024
/* What is not so much quicker than the usual one is not taken: the best of three by luck. */
#define WORTH		0.95

static const enum coll_way ways[] = { COLL_SHM, COLL_STREAM, COLL_CMA };

_Static_assert(sizeof(ways) / sizeof(ways[0]) <= COLL_TRIAL_MOST, "room for each");

static unsigned int count_turns(const struct coll_trial *trial)
{
	return (unsigned int)trial->n * COLL_TRIAL_TURNS;
}

/* ---- what is tried ------------------------------------------------------ */

static int is_alike(const struct coll_choice *a, const struct coll_choice *b)
{
	return a->outer == b->outer && a->k == b->k && a->inter == b->inter &&
	       a->parameter == b->parameter && a->way == b->way;
}

/* If it can be done here; all ranks answer the same. */
static void add(struct coll_plan *plan, struct coll_trial *trial, enum coll_op op,
		const struct coll_choice *choice)
{
	char why[COLL_SENTENCE];

	if (trial->n < COLL_TRIAL_MOST && !is_alike(choice, &trial->choices[0]) &&
	    coll_choice_fits(plan, choice, op, trial->most, why, sizeof(why)))
		trial->choices[trial->n++] = *choice;
}

static void fill(struct coll_plan *plan, struct coll_trial *trial, enum coll_op op,
		 const struct coll_choice *usual)
{
	struct coll_choice choice = *usual;

	trial->choices[trial->n++] = *usual;
	if (usual->outer == COLL_LOCAL) {
		for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
			choice.way = ways[i];
			add(plan, trial, op, &choice);
		}
		return;
	}
	choice.outer = COLL_LEADER;
	choice.k = 1;
	add(plan, trial, op, &choice);
}

static int is_tried_way(enum coll_way way)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (ways[i] == way)
			return 1;
	return 0;
}

/* Which of a plan's trials; -1: none. */
static int find_class(const struct coll_plan *plan, enum coll_op op, size_t block,
		      int is_in_place, const struct coll_choice *usual)
{
	const int last = is_in_place ? COLL_TRIAL_LAST_IN_PLACE : COLL_TRIAL_LAST;
	int class = COLL_TRIAL_FIRST;

	if (usual->outer == COLL_LOCAL && !is_tried_way(usual->way))
		return -1;
	if (op == COLL_ALLTOALLV)
		return usual->outer == COLL_LOCAL ||
		       (usual->outer == COLL_SA && plan->is_crowded) ? COLL_TRIAL_V : -1;
	if (usual->outer != COLL_LOCAL || block <= (size_t)1 << (COLL_TRIAL_FIRST - 1) ||
	    block > (size_t)1 << last)
		return -1;
	while ((size_t)1 << class < block)
		class++;
	return class - COLL_TRIAL_FIRST;
}

struct coll_trial *coll_trial_get(struct coll_plan *plan, enum coll_op op, size_t block,
				  int is_in_place, const struct coll_choice *usual)
{
	const int class = find_class(plan, op, block, is_in_place, usual);
	struct coll_trial *trial;

	if (class < 0 || !plan->settings.is_tried)
		return NULL;
	trial = &plan->trials[is_in_place][class];
	trial->most = class == COLL_TRIAL_V ? 0 : (size_t)1 << (class + COLL_TRIAL_FIRST);
	if (!trial->n)
		fill(plan, trial, op, usual);
	return trial->n > 1 ? trial : NULL;
}

/* ---- turns -------------------------------------------------------------- */

/*
 * Whose turn a call is. A program may have calls of two kinds by turns: each round
 * begins elsewhere, and goes backwards where its number has an odd number of ones.
 */
static unsigned int find_turn(const struct coll_trial *trial, unsigned int call)
{
	const unsigned int n = (unsigned int)trial->n, round = call / n, i = call % n;
	const unsigned int at = __builtin_parity(round) ? n - 1 - i : i;

	return n > 2 ? (at + round) % n : at;
}

const struct coll_choice *coll_trial_next(const struct coll_trial *trial)
{
	if (trial->calls < count_turns(trial))
		return &trial->choices[find_turn(trial, trial->calls)];
	return &trial->choices[trial->best];
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The mean over ranks of each one's median. Return: 1; 0: there is nothing to be had. */
static int agree(const struct coll_plan *plan, struct coll_trial *trial,
		 double medians[COLL_TRIAL_MOST])
{
	double mine[COLL_TRIAL_MOST] = { 0 };

	for (int i = 0; i < trial->n; i++) {
		qsort(trial->times[i], COLL_TRIAL_TURNS, sizeof(double), by_value);
		mine[i] = trial->times[i][COLL_TRIAL_TURNS / 2] / plan->size;
	}
	return !PMPI_Allreduce(mine, medians, COLL_TRIAL_MOST, MPI_DOUBLE, MPI_SUM, plan->comm);
}

static void decide(const struct coll_plan *plan, struct coll_trial *trial, char *why, size_t len)
{
	double medians[COLL_TRIAL_MOST];
	char name[COLL_NAME];
	size_t at;
	int best = 0;

	if (!agree(plan, trial, medians))
		return;
	for (int i = 1; i < trial->n; i++)
		if (medians[i] < medians[best] * (best ? 1 : WORTH))
			best = i;
	trial->best = best;
	at = (size_t)snprintf(why, len, "of %u calls by turns it took least:",
			      count_turns(trial));
	for (int i = 0; i < trial->n && at < len; i++)
		at += (size_t)snprintf(why + at, len - at, "%s %s %.1f us", i ? "," : "",
				       coll_choice_name(&trial->choices[i], name),
				       medians[i] * 1e6);
}

int coll_trial_end(struct coll_plan *plan, struct coll_trial *trial, double seconds, char *why,
		   size_t len)
{
	const unsigned int turns = count_turns(trial), n = (unsigned int)trial->n;
	const unsigned int call = trial->calls++;
	const int before = trial->best;

	*why = '\0';
	if (call < turns)
		trial->times[find_turn(trial, call)][call / n] = seconds;
	if (call + 1 == turns)
		decide(plan, trial, why, len);
	if (trial->calls == (trial->most ? CALLS_A_TRIAL : CALLS_A_TRIAL_V))
		trial->calls = 0;
	if (!*why || (trial->has_best && trial->best == before))
		return 0;
	trial->has_best = 1;
	return 1;
}
