/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* decide - what follows from times: needs no MPI */
#ifndef SONDE_COLL_TUNE_DECIDE_H
#define SONDE_COLL_TUNE_DECIDE_H

#include <stddef.h>

#define TUNE_NAME	64
#define TUNE_WHY	96

/**
 * struct tune_point - what was found for blocks of one size
 * @best: the composition that the rule will have
 * @usual: the one that is taken without rules
 * @is_usual: they are the same: nothing was quicker for sure
 * @tried: how many there were
 * @us, @us_usual, @us_mpi: microseconds a call, medians
 * @ratio, @ratio_mpi: of the best one to the usual one and to MPI, medians of turns
 *	that followed each other
 */
struct tune_point {
	size_t bytes;
	int is_in_place, is_usual, tried;
	char best[TUNE_NAME], usual[TUNE_NAME];
	double us, us_usual, us_mpi, ratio, ratio_mpi;
};

struct tune_rule {
	size_t from, to;
	char name[TUNE_NAME];
	char why[TUNE_WHY];
};

#define TUNE_PAIRS_MOST	27	/* of turns */

enum tune_verdict { TUNE_NOT_QUICKER, TUNE_CANNOT_TELL, TUNE_QUICKER };

/* From the ratios of pairs of turns, 9, 18 or 27. */
enum tune_verdict tune_is_quicker(const double *ratios, int n);

/* Points of one kind, by size, as rules. Return: how many. */
int tune_make_rules(const struct tune_point *points, int n, struct tune_rule *rules);

/* Of @n points of both kinds, one after the other, those of one of them. */
int tune_make_rules_of(const struct tune_point *points, int n, int is_in_place,
		       struct tune_rule *rules);

double tune_median(const double *values, int n);

#endif
