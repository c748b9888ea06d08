// SPDX-License-Identifier: LGPL-2.1-or-later
/* trial - what is tried for which calls, and what came of it */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "algorithms.h"
#include "plan.h"
#include "segment.h"
#include "trial.h"

/* Calls until one that was slower is tried again, at most; fewer where sizes may change. */
#define REST_MOST	8192
#define REST_MOST_V	1024

static const enum coll_way ways[] = { COLL_SHM, COLL_STREAM, COLL_CMA };

_Static_assert(sizeof(ways) / sizeof(ways[0]) <= COLL_TURNS_WAYS, "room for each");

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

	if (trial->n < COLL_TURNS_WAYS && !is_alike(choice, &trial->choices[0]) &&
	    coll_choice_fits(plan, choice, op, trial->most, why, sizeof(why)))
		trial->choices[trial->n++] = *choice;
}

static void fill(struct coll_plan *plan, struct coll_trial *trial, enum coll_op op,
		 const struct coll_choice *rule)
{
	struct coll_choice choice = *rule;

	trial->choices[trial->n++] = *rule;
	if (rule->outer == COLL_LOCAL) {
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
		      const struct coll_choice *rule)
{
	int class = COLL_TRIAL_FIRST;

	if (rule->outer == COLL_LOCAL && !is_tried_way(rule->way))
		return -1;
	if (op == COLL_ALLTOALLV)
		return rule->outer == COLL_LOCAL ||
		       (rule->outer == COLL_SA && plan->is_crowded) ? COLL_TRIAL_V : -1;
	if (rule->outer != COLL_LOCAL || block <= (size_t)1 << (COLL_TRIAL_FIRST - 1) ||
	    block > (size_t)1 << COLL_TRIAL_LAST)
		return -1;
	while ((size_t)1 << class < block)
		class++;
	return class - COLL_TRIAL_FIRST;
}

struct coll_trial *coll_trial_get(struct coll_plan *plan, enum coll_op op, size_t block,
				  int is_in_place, const struct coll_choice *rule)
{
	const int class = find_class(plan, op, block, rule);
	struct coll_trial *trial;

	if (class < 0 || !plan->settings.is_tried)
		return NULL;
	trial = &plan->trials[is_in_place][class];
	trial->most = class == COLL_TRIAL_V ? 0 : (size_t)1 << (class + COLL_TRIAL_FIRST);
	if (!trial->n) {
		fill(plan, trial, op, rule);
		coll_turns_begin(&trial->turns, trial->n, trial->most ? REST_MOST : REST_MOST_V);
	}
	return trial->n > 1 ? trial : NULL;
}

const struct coll_choice *coll_trial_next(const struct coll_trial *trial)
{
	return &trial->choices[coll_turns_next(&trial->turns)];
}

/* ---- what came of it ---------------------------------------------------- */

/* In a node: MPI may take long for it where ranks share processors. */
static int add_in_node(struct coll_segment *seg, int64_t times[COLL_HEAT_TIMES])
{
	const size_t bytes = COLL_HEAT_TIMES * sizeof(*times);
	const uint64_t step = coll_step_begin(seg);
	int64_t sums[COLL_HEAT_TIMES];
	int err = 0;

	_Static_assert(sizeof(sums) <= COLL_INLINE, "a heat fits in a line");
	for (int x = 0; x < seg->n; x++)
		if (x != seg->me)
			memcpy(coll_line(seg, seg->me, x, step)->payload, times, bytes);
	coll_post_all(seg, step);
	memcpy(sums, times, bytes);
	for (int k = 1; k < seg->n; k++) {
		const int i = (seg->me + k) % seg->n;
		int64_t theirs[COLL_HEAT_TIMES];

		err = coll_wait(seg, i, step);
		if (err)
			break;
		memcpy(theirs, coll_line(seg, i, seg->me, step)->payload, bytes);
		for (int j = 0; j < COLL_HEAT_TIMES; j++)
			sums[j] += theirs[j];
	}
	memcpy(times, sums, bytes);
	return err;
}

/* Whole numbers: sums are the same on all ranks, in whatever order. */
static int add_up(const struct coll_plan *plan, int64_t times[COLL_HEAT_TIMES])
{
	if (plan->nnodes == 1)
		return add_in_node(plan->segment, times);
	return PMPI_Allreduce(MPI_IN_PLACE, times, COLL_HEAT_TIMES, MPI_INT64_T, MPI_SUM,
			      plan->comm) ? -EIO : 0;
}

static void say_times(const struct coll_plan *plan, const struct coll_trial *trial, char *why,
		      size_t len)
{
	size_t at = (size_t)snprintf(why, len, "by turns it took least:");
	char name[COLL_NAME];

	for (int i = 0; i < trial->n && at < len; i++)
		at += (size_t)snprintf(why + at, len - at, "%s %s %.1f us", i ? "," : "",
				       coll_choice_name(&trial->choices[i], name),
				       (double)coll_turns_median(&trial->turns, i) /
				       (1e3 * plan->size));
}

int coll_trial_end(struct coll_plan *plan, struct coll_trial *trial, double seconds, char *why,
		   size_t len)
{
	const int before = trial->turns.best;
	int err;

	*why = '\0';
	if (!coll_turns_end(&trial->turns, (int64_t)(seconds * 1e9)))
		return 0;
	err = add_up(plan, trial->turns.heat);
	if (err)
		return err;
	if (!coll_turns_decide(&trial->turns) ||
	    (trial->has_best && trial->turns.best == before))
		return 0;
	trial->has_best = 1;
	say_times(plan, trial, why, len);
	return 1;
}
