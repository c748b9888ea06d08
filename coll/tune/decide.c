// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * decide - what is quicker for sure; crossovers
 *
 * Sizes that follow each other and have the same best composition are one rule.
 * A rule is for all sizes from above the power of two before, since that is what
 * the library asks for. The first one begins at nothing if it was measured with so
 * few bytes that less makes no difference.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decide.h"

#define SMALL	8
#define SPAN	20	/* bytes of "0.25 to 1000.00" */

#define VALUES	64

/* To be quicker for sure: by 5 %. Chance wins 8 of 9 in 2 %, 15 of 18 in 0.4 %. */
#define QUICKER	0.95
static const struct { int pairs, wins; } enough[] = { { 9, 8 }, { 18, 15 }, { 27, 21 } };

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double tune_median(const double *values, int n)
{
	double sorted[VALUES];

	if (n < 1 || n > VALUES)
		return 0;
	memcpy(sorted, values, (size_t)n * sizeof(*values));
	qsort(sorted, (size_t)n, sizeof(*sorted), by_value);
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

enum tune_verdict tune_is_quicker(const double *ratios, int n)
{
	const size_t last = sizeof(enough) / sizeof(enough[0]) - 1;
	int wins = 0;

	for (int i = 0; i < n; i++)
		wins += ratios[i] < 1;
	if (tune_median(ratios, n) > QUICKER)
		return TUNE_NOT_QUICKER;
	for (size_t i = 0; i <= last; i++)
		if (n == enough[i].pairs && wins >= enough[i].wins)
			return TUNE_QUICKER;
	return n < enough[last].pairs && 3 * wins >= 2 * n ? TUNE_CANNOT_TELL : TUNE_NOT_QUICKER;
}

/* Least and most of a ratio over the points of a rule. */
struct span {
	double least, most;
};

static void widen(struct span *span, double x)
{
	if (x < span->least)
		span->least = x;
	if (x > span->most)
		span->most = x;
}

static void say_span(const struct span *span, char text[SPAN])
{
	char least[8], most[8];

	snprintf(least, sizeof(least), "%.2f", span->least);
	snprintf(most, sizeof(most), "%.2f", span->most < 1000 ? span->most : 1000);
	if (strcmp(least, most))
		snprintf(text, SPAN, "%s to %s", least, most);
	else
		snprintf(text, SPAN, "%s", least);
}

static void say_why(const struct tune_point *points, int n, struct tune_rule *rule)
{
	struct span mpi = { 1e9, 0 }, usual = { 1e9, 0 };
	char of_mpi[SPAN], of_usual[SPAN];

	for (int i = 0; i < n; i++) {
		widen(&mpi, points[i].ratio_mpi);
		widen(&usual, points[i].ratio);
	}
	say_span(&mpi, of_mpi);
	say_span(&usual, of_usual);
	if (usual.least < 1)
		snprintf(rule->why, sizeof(rule->why), "measured: %s of MPI's time, %s of the usual "
			 "rule's", of_mpi, of_usual);
	else
		snprintf(rule->why, sizeof(rule->why), "measured: %s of MPI's time, as the usual rule",
			 of_mpi);
}

int tune_make_rules(const struct tune_point *points, int n, struct tune_rule *rules)
{
	int nrules = 0;

	for (int i = 0, next; i < n; i = next) {
		struct tune_rule *rule = &rules[nrules++];

		for (next = i + 1; next < n && !strcmp(points[next].best, points[i].best); next++)
			;
		rule->from = !i && points[i].bytes <= SMALL ? 0 : points[i].bytes / 2 + 1;
		rule->to = points[next - 1].bytes;
		strcpy(rule->name, points[i].best);
		say_why(points + i, next - i, rule);
	}
	return nrules;
}

int tune_make_rules_of(const struct tune_point *points, int n, int is_in_place,
		       struct tune_rule *rules)
{
	int first = 0, end;

	while (first < n && points[first].is_in_place != is_in_place)
		first++;
	for (end = first; end < n && points[end].is_in_place == is_in_place;)
		end++;
	return tune_make_rules(points + first, end - first, rules);
}
