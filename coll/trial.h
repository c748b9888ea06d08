/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * trial - which of a few compositions is quickest here, found by the calls themselves
 *
 * In a node: what a line costs that another processor has used depends on where the
 * two are, and that may change while a job runs: a virtual machine's processors are
 * moved. From 1 KiB on it decides which of three ways is best, and so does whether the
 * program has written what it sends since the call before: one copy by reading leaves
 * lines with the reader, which the next write must take back. Of MPI_Alltoallv: how
 * large blocks are no rank knows of the others.
 *
 * So where nobody forces anything, the first calls take turns, each is timed on
 * all ranks, and what has taken least does the others; from time to time they are tried
 * again: turns.h. A turn is calls of the program, so a trial costs what the worse ones
 * take longer, and one small step of the node, or a reduction, for a heat.
 */
#ifndef SONDE_COLL_TRIAL_H
#define SONDE_COLL_TRIAL_H

#include "call.h"
#include "choice.h"
#include "turns.h"

#define COLL_TRIAL_FIRST	10	/* size classes: 1 KiB */
#define COLL_TRIAL_LAST		24	/* 16 MiB */
#define COLL_TRIAL_V		(COLL_TRIAL_LAST - COLL_TRIAL_FIRST + 1)	/* MPI_Alltoallv */
#define COLL_TRIAL_CLASSES	(COLL_TRIAL_V + 1)

struct coll_plan;

/**
 * struct coll_trial - of a size class of a plan, or of its calls of MPI_Alltoallv
 * @choices: what takes turns, the rule's first
 * @n: 0: not begun; 1: nothing to try
 * @has_best: it has been told what is best
 * @most: bytes of the largest block of the class
 */
struct coll_trial {
	struct coll_choice choices[COLL_TURNS_WAYS];
	int n, has_best;
	size_t most;
	struct coll_turns turns;
};

/* For such calls, begun by what a rule says; NULL: nothing is tried. */
struct coll_trial *coll_trial_get(struct coll_plan *plan, enum coll_op op, size_t block,
				  int is_in_place, const struct coll_choice *rule);

/* What the next call is to be done by. */
const struct coll_choice *coll_trial_next(const struct coll_trial *trial);

/*
 * The call is over and took so many seconds. Collective: after a heat all ranks agree.
 * Return: 1 if that has changed what is best, and @why says how; 0; -EOWNERDEAD, -EIO.
 */
int coll_trial_end(struct coll_plan *plan, struct coll_trial *trial, double seconds, char *why,
		   size_t len);

#endif
