// SPDX-License-Identifier: LGPL-2.1-or-later
/* turns - whose it is, and what comes of it */
#include <stdlib.h>
#include <string.h>

#include "turns.h"

#define LEAST	256u	/* calls until one comes back */
#define SHARE	100	/* one of so many calls' time may be lost by one that is slower */
/* What is not so much quicker does not take over: the best of three by luck. */
#define WORTH	0.95

static void enter(struct coll_turns *turns, int way)
{
	turns->in[turns->nin++] = way;
	memset(turns->times[way], 0, sizeof(turns->times[way]));
	turns->round = turns->call = 0;
}

void coll_turns_begin(struct coll_turns *turns, int n, unsigned int most)
{
	*turns = (struct coll_turns){ .n = n, .most = most };
	for (int way = 0; way < n; way++)
		enter(turns, way);
}

/* ---- calls -------------------------------------------------------------- */

/*
 * Each round begins elsewhere, and goes backwards where its number has an odd number of
 * ones: a program may have calls of several kinds in turn.
 */
static int find_turn(const struct coll_turns *turns)
{
	const int n = turns->nin, i = turns->call / COLL_TURN_CALLS;
	const int at = __builtin_parity((unsigned int)turns->round) ? n - 1 - i : i;

	return n > 2 ? (at + turns->round) % n : at;
}

int coll_turns_next(const struct coll_turns *turns)
{
	return turns->nin ? turns->in[find_turn(turns)] : turns->best;
}

/* One that has rested long enough against what does the calls. */
static void count_rest(struct coll_turns *turns)
{
	for (int way = 0; way < turns->n; way++)
		turns->left[way] -= turns->left[way] > 0;
	for (int way = 0; way < turns->n && !turns->nin; way++)
		if (way != turns->best && !turns->left[way]) {
			enter(turns, turns->best);
			enter(turns, way);
		}
}

int coll_turns_end(struct coll_turns *turns, int64_t ns)
{
	const int row = turns->round % COLL_HEAT_ROUNDS * COLL_TURNS_WAYS;

	if (!turns->nin) {
		count_rest(turns);
		return 0;
	}
	if (turns->call % COLL_TURN_CALLS)
		turns->heat[row + find_turn(turns)] += ns;
	if (++turns->call < turns->nin * COLL_TURN_CALLS)
		return 0;
	turns->call = 0;
	turns->round++;
	return !(turns->round % COLL_HEAT_ROUNDS);
}

/* ---- decisions ---------------------------------------------------------- */

static void keep_heat(struct coll_turns *turns)
{
	for (int r = 0; r < COLL_HEAT_ROUNDS; r++)
		for (int i = 0; i < turns->nin; i++)
			turns->times[turns->in[i]][turns->round - COLL_HEAT_ROUNDS + r] =
				turns->heat[r * COLL_TURNS_WAYS + i];
	memset(turns->heat, 0, sizeof(turns->heat));
}

static int by_value(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Rounds that it did not take part in have no time. */
int64_t coll_turns_median(const struct coll_turns *turns, int way)
{
	int64_t sorted[COLL_TURNS_ROUNDS];
	int n = 0;

	for (int r = 0; r < COLL_TURNS_ROUNDS; r++)
		if (turns->times[way][r])
			sorted[n++] = turns->times[way][r];
	qsort(sorted, (size_t)n, sizeof(*sorted), by_value);
	return n ? sorted[n / 2] / (COLL_TURN_CALLS - 1) : 0;
}

static int is_slower(const struct coll_turns *turns, int way, int than)
{
	int slower = 0;

	for (int r = 0; r < turns->round; r++)
		slower += turns->times[way][r] > turns->times[than][r];
	return slower >= turns->round - turns->round / 4;
}

static int find_quickest(const struct coll_turns *turns)
{
	int quickest = turns->in[0];

	for (int i = 1; i < turns->nin; i++)
		if (coll_turns_median(turns, turns->in[i]) < coll_turns_median(turns, quickest))
			quickest = turns->in[i];
	return quickest;
}

static int is_worth(const struct coll_turns *turns, int way)
{
	return (double)coll_turns_median(turns, way) <
	       WORTH * (double)coll_turns_median(turns, turns->best);
}

/* The longer the more its next turns would cost. */
static void rest(struct coll_turns *turns, int way)
{
	const double lost = (double)coll_turns_median(turns, way) /
			    (double)coll_turns_median(turns, turns->best) - 1;
	const double calls = COLL_HEAT_ROUNDS * COLL_TURN_CALLS * SHARE * lost;
	const unsigned int doubled = turns->interval[way] ? 2 * turns->interval[way] : LEAST;
	const double longer = calls > doubled ? calls : doubled;

	turns->interval[way] = longer < turns->most ? (unsigned int)longer : turns->most;
	turns->left[way] = turns->interval[way];
}

static void drop_slower(struct coll_turns *turns, int quickest)
{
	int kept = 0;

	for (int i = 0; i < turns->nin; i++)
		if (!is_slower(turns, turns->in[i], quickest))
			turns->in[kept++] = turns->in[i];
	turns->nin = kept;
}

/* Those that had turns rest, and all do where another is best now. */
static void finish(struct coll_turns *turns, int quickest)
{
	const int is_new = is_worth(turns, quickest);

	turns->nin = 0;
	if (is_new)
		turns->best = quickest;
	for (int way = 0; way < turns->n; way++) {
		if (is_new)
			turns->interval[way] = 0;
		if (way != turns->best && (is_new || !turns->left[way]))
			rest(turns, way);
	}
}

int coll_turns_decide(struct coll_turns *turns)
{
	int quickest;

	keep_heat(turns);
	quickest = find_quickest(turns);
	drop_slower(turns, quickest);
	if (turns->nin > 1 && turns->round < COLL_TURNS_ROUNDS)
		return 0;
	finish(turns, quickest);
	return 1;
}
