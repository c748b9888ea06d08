/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * turns - which of a few ways is quickest, found by calls that take turns
 *
 * A turn is four calls by one way, of which the first is not counted: it pays for what
 * the way before has left, its lines in others' caches and its ranks that are still on
 * their way. A round is a turn of each, a heat three rounds. After a heat ranks add up
 * what they measured; what is slower than the quickest in three rounds of four is out.
 * When one is left, or after three heats, the quickest by its median does all calls.
 *
 * It may have been luck, and it may change: so each of the others comes back, alone
 * against what does the calls. The calls until then double each time that it loses, and
 * are so many that at most a hundredth of the time is lost by it. When the choice changes
 * they all begin anew.
 *
 * Needs neither MPI nor a clock. Ranks that make the same calls and decide by the same
 * sums do the same.
 */
#ifndef SONDE_COLL_TURNS_H
#define SONDE_COLL_TURNS_H

#include <stdint.h>

#define COLL_TURNS_WAYS		3	/* the most */
#define COLL_TURN_CALLS		4
#define COLL_HEAT_ROUNDS	3
#define COLL_TURNS_HEATS	3
#define COLL_TURNS_ROUNDS	(COLL_HEAT_ROUNDS * COLL_TURNS_HEATS)
#define COLL_HEAT_TIMES		(COLL_TURNS_WAYS * COLL_HEAT_ROUNDS)

/**
 * struct coll_turns - what takes turns
 * @n: ways; the first is what is taken if none is clearly quicker
 * @best: what does the calls that are nobody's turn
 * @most: calls until one comes back, at most
 * @in: of those that take turns now; @nin 0: none does
 * @round, @call: rounds that are over; calls in the one that is not
 * @heat: nanoseconds of each turn of this heat, by round and @in
 * @times: of all its heats, by way and round, of all ranks together
 * @interval, @left: calls until it comes back, in all and from now
 */
struct coll_turns {
	int n, best;
	unsigned int most;
	int in[COLL_TURNS_WAYS], nin;
	int round, call;
	int64_t heat[COLL_HEAT_TIMES];
	int64_t times[COLL_TURNS_WAYS][COLL_TURNS_ROUNDS];
	unsigned int interval[COLL_TURNS_WAYS], left[COLL_TURNS_WAYS];
};

/* All of @n ways take turns first. */
void coll_turns_begin(struct coll_turns *turns, int n, unsigned int most);

/* Which way does the next call. */
int coll_turns_next(const struct coll_turns *turns);

/*
 * That call is over and took so long on this rank. Return: 1: so is a heat: before the
 * next call @heat is to be the sum over ranks, and coll_turns_decide() is due; else 0.
 */
int coll_turns_end(struct coll_turns *turns, int64_t ns);

/* Return: 1: no turns are under way any more, and @best has been found; else 0. */
int coll_turns_decide(struct coll_turns *turns);

/* Nanoseconds of a counted call of a way in the last turns that it had, over all ranks. */
int64_t coll_turns_median(const struct coll_turns *turns, int way);

#endif
