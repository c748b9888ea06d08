// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * measure - which composition is best for blocks of one size
 *
 * 1. Each is tried with few calls; what is far behind goes, and for the next
 *    sizes too.
 * 2. Those that are left take turns, and after each round of turns what is behind
 *    goes.
 * 3. The best one, the usual one and MPI alone take turns: times that were not
 *    chosen from. Only if they say for sure that it is quicker it becomes a rule:
 *    of many that are alike one always looks best by chance.
 *
 * Inside an interval: the calls of a turn, as a program makes them; outside: a
 * barrier before. Its time is the slowest rank's.
 */
#include <stdlib.h>
#include <string.h>
#include <sonde/coll.h>

#include "../algorithms.h"
#include "../select.h"
#include "tune.h"

#define TRY_S		2e-4	/* seconds of a first turn */
#define TURN_MOST_S	0.03
#define TURN_LEAST_S	3e-4
#define CALLS_MOST	(1 << 16)
#define KEPT		6	/* that take turns */
#define FAR_BEHIND	1.5	/* times the best one's first estimate */
#define HOPELESS	3.0
#define RESTS		2	/* size classes */
#define BEHIND		1.1	/* times the best median */
#define ALIKE		1.03	/* within that the last size's best one stays */
#define PAIRS		9	/* at a time */
#define GONE		1e9

double tune_clock(struct tune *t)
{
	double now = MPI_Wtime() - t->begin;

	PMPI_Bcast(&now, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	return now;
}

/* ---- turns --------------------------------------------------------------- */

/**
 * struct work - of one size, or of MPI_Alltoallv
 * @class, @bytes: none of MPI_Alltoallv
 * @until: by tune_clock()
 * @usual, @mpi, @last: candidates; @last is the best one of the size before, or -1
 */
struct work {
	struct tune *t;
	enum coll_op op;
	unsigned int class;
	size_t bytes;
	int is_in_place;
	double until;
	int usual, mpi, last;
	int tried;
};

/* A call, or one go of the mixture. */
static void call_once(const struct work *w)
{
	const void *from = w->is_in_place ? MPI_IN_PLACE : w->t->send;

	if (w->op == COLL_ALLTOALLV)
		tune_call_mix(w->t);
	else
		MPI_Alltoall(from, (int)w->bytes, MPI_BYTE, w->t->recv, (int)w->bytes, MPI_BYTE,
			     w->t->comm);
}

/* How blocks of MPI_Alltoallv go in a node depends on their size. */
static int went_so(const struct work *w, const struct tune_candidate *c)
{
	if (w->op == COLL_ALLTOALLV)
		return !strcmp(sonde_coll_last(), "mpi") == (c->choice.outer == COLL_MPI);
	return !strcmp(sonde_coll_last(), c->name);
}

static struct coll_choice *find_choice(const struct work *w)
{
	return &w->t->plan->choices[w->op][w->is_in_place][w->class];
}

/* Seconds a call; GONE if it went another way, which all ranks then know. */
static double time_turn(struct work *w, const struct tune_candidate *c, int calls)
{
	double mine[2], all[2], begin;

	*find_choice(w) = c->choice;
	PMPI_Barrier(MPI_COMM_WORLD);
	begin = MPI_Wtime();
	for (int i = 0; i < calls; i++)
		call_once(w);
	mine[0] = (MPI_Wtime() - begin) / calls;
	mine[1] = !went_so(w, c);
	PMPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return all[1] > 0 ? GONE : all[0];
}

static int count_calls(double seconds, double a_call)
{
	const double n = a_call > 0 ? seconds / a_call : CALLS_MOST;

	return n < 1 ? 1 : n > CALLS_MOST ? CALLS_MOST : (int)n;
}

/* ---- 1. ------------------------------------------------------------------ */

/* The first call makes connections and memory. 0: it cannot be done. */
static int try_one(struct work *w, struct tune_candidate *c, double best)
{
	char why[COLL_SENTENCE];

	c->is_in = 0;
	if (!coll_choice_fits(w->t->plan, &c->choice, w->op, w->bytes, why, sizeof(why)) ||
	    time_turn(w, c, 1) >= GONE)
		return 0;
	c->estimate = time_turn(w, c, 1);
	/* Once more where it matters: one call is easily disturbed. */
	for (int i = 0; i < 2 && (best <= 0 || c->estimate < HOPELESS * best); i++) {
		const double again = time_turn(w, c, count_calls(TRY_S, c->estimate));

		if (again < c->estimate)
			c->estimate = again;
	}
	c->is_in = c->estimate < GONE;
	w->tried += c->is_in;
	return c->is_in;
}

static double find_least(const struct tune *t)
{
	double least = 0;

	for (int i = 0; i < t->ncandidates; i++)
		if (t->candidates[i].is_in &&
		    (least <= 0 || t->candidates[i].estimate < least))
			least = t->candidates[i].estimate;
	return least;
}

static int count_in(const struct tune *t)
{
	int n = 0;

	for (int i = 0; i < t->ncandidates; i++)
		n += t->candidates[i].is_in;
	return n;
}

/* What is far behind, then what is slowest, but never the usual one. */
static void drop_slow(struct work *w)
{
	struct tune *t = w->t;
	const double least = find_least(t);

	for (int i = 0; i < t->ncandidates; i++) {
		struct tune_candidate *c = &t->candidates[i];

		if (!c->is_in || i == w->usual)
			continue;
		c->is_in = c->estimate <= FAR_BEHIND * least;
		c->rest = c->estimate > HOPELESS * least ? RESTS : 0;
	}
	while (count_in(t) > KEPT) {
		int worst = -1;

		for (int i = 0; i < t->ncandidates; i++)
			if (t->candidates[i].is_in && i != w->usual &&
			    (worst < 0 || t->candidates[i].estimate >
					  t->candidates[worst].estimate))
				worst = i;
		t->candidates[worst].is_in = 0;
	}
}

/* The usual one, MPI and the last best one always, others while there is time. */
static void try_all(struct work *w)
{
	struct tune *t = w->t;
	const int must[] = { w->usual, w->mpi, w->last };
	const double begin = tune_clock(t), until = begin + (w->until - begin) / 2;
	double best = 0;

	for (int i = 0; i < t->ncandidates; i++)
		t->candidates[i].is_in = 0;
	for (size_t i = 0; i < sizeof(must) / sizeof(must[0]); i++)
		if (must[i] >= 0 && !t->candidates[must[i]].is_in)
			try_one(w, &t->candidates[must[i]], 0);
	/* What is handed over when it comes to it is MPI's. */
	if (!t->candidates[w->usual].is_in)
		w->usual = w->mpi;
	for (int i = 0; i < t->ncandidates; i++) {
		struct tune_candidate *c = &t->candidates[i];

		if (i == w->usual || i == w->mpi || i == w->last)
			continue;
		if (c->rest > 0) {
			c->rest--;
			continue;
		}
		if (tune_clock(t) > until)
			break;
		best = find_least(t);
		try_one(w, c, best);
	}
	drop_slow(w);
}

/* ---- 2. ------------------------------------------------------------------ */

static void drop_behind(struct work *w, int rounds)
{
	struct tune *t = w->t;
	double least = 0;

	for (int i = 0; i < t->ncandidates; i++) {
		const double m = tune_median(t->candidates[i].times, rounds);

		if (t->candidates[i].is_in && (least <= 0 || m < least))
			least = m;
	}
	for (int i = 0; i < t->ncandidates; i++)
		if (i != w->usual && t->candidates[i].is_in)
			t->candidates[i].is_in = tune_median(t->candidates[i].times, rounds) <=
						 BEHIND * least;
}

static void plan_turns(struct work *w, double turn)
{
	for (int i = 0; i < w->t->ncandidates; i++)
		w->t->candidates[i].calls = count_calls(turn, w->t->candidates[i].estimate);
}

/* Return: how many rounds there were. */
static int take_turns(struct work *w)
{
	struct tune *t = w->t;
	double turn = (w->until - tune_clock(t)) / (count_in(t) * TUNE_ROUNDS + 3 * PAIRS);
	int r = 0;

	turn = turn < TURN_LEAST_S ? TURN_LEAST_S : turn > TURN_MOST_S ? TURN_MOST_S : turn;
	plan_turns(w, turn);
	while (r < TUNE_ROUNDS && count_in(t) > 1) {
		for (int i = 0; i < t->ncandidates; i++) {
			struct tune_candidate *c = &t->candidates[(i + r) % t->ncandidates];

			if (c->is_in)
				c->times[r] = time_turn(w, c, c->calls);
		}
		if (++r < 3)
			continue;
		drop_behind(w, r);
		/* What is left is for the last step. */
		if (tune_clock(t) > w->until - 3 * PAIRS * turn)
			break;
	}
	return r;
}

/* ---- 3. ------------------------------------------------------------------ */

static int pick(const struct work *w, int rounds)
{
	const struct tune *t = w->t;
	double best_time = 0;
	int best = w->usual;

	if (!rounds)
		return best;
	for (int i = 0; i < t->ncandidates; i++) {
		const double m = tune_median(t->candidates[i].times, rounds);

		if (t->candidates[i].is_in && (best_time <= 0 || m < best_time)) {
			best_time = m;
			best = i;
		}
	}
	if (w->last >= 0 && t->candidates[w->last].is_in &&
	    tune_median(t->candidates[w->last].times, rounds) <= ALIKE * best_time)
		return w->last;
	return best;
}

/**
 * struct trio - turns that follow each other
 * @of: the best one, the usual one, MPI
 */
struct trio {
	int of[3], n;
	double times[3][TUNE_PAIRS_MOST];
};

/* In an order that changes; what is twice among them has one turn. */
static void take_trio(struct work *w, struct trio *trio)
{
	struct tune_candidate *all = w->t->candidates;

	for (int i = 0; i < 3; i++) {
		const int k = (i + trio->n) % 3;
		int first = 0;

		while (trio->of[first] != trio->of[k])
			first++;
		if (first == k)
			trio->times[k][trio->n] = time_turn(w, &all[trio->of[k]],
							    all[trio->of[k]].calls);
	}
	for (int k = 1; k < 3; k++)
		for (int first = 0; first < k; first++)
			if (trio->of[first] == trio->of[k])
				trio->times[k][trio->n] = trio->times[first][trio->n];
	trio->n++;
}

/* Of one of them to another: the median of ratios, all to @ratios. */
static double get_ratio(const struct trio *trio, int a, int b, double ratios[TUNE_PAIRS_MOST])
{
	for (int i = 0; i < trio->n; i++)
		ratios[i] = trio->times[a][i] / trio->times[b][i];
	return tune_median(ratios, trio->n);
}

/* Which one it is, with all its figures. */
static void confirm(struct work *w, int best, struct tune_point *point)
{
	struct trio trio = { .of = { best, w->usual, w->mpi } };
	double ratios[TUNE_PAIRS_MOST];
	enum tune_verdict verdict;

	do {
		for (int i = 0; i < PAIRS; i++)
			take_trio(w, &trio);
		get_ratio(&trio, 0, 1, ratios);
		verdict = tune_is_quicker(ratios, trio.n);
	} while (best != w->usual && verdict == TUNE_CANNOT_TELL);
	point->is_usual = best == w->usual || verdict != TUNE_QUICKER;
	best = point->is_usual;
	point->ratio = get_ratio(&trio, best, 1, ratios);
	point->ratio_mpi = get_ratio(&trio, best, 2, ratios);
	point->us = tune_median(trio.times[best], trio.n) * 1e6;
	point->us_usual = tune_median(trio.times[1], trio.n) * 1e6;
	point->us_mpi = tune_median(trio.times[2], trio.n) * 1e6;
	strcpy(point->best, w->t->candidates[trio.of[best]].name);
}

/* ---- all ----------------------------------------------------------------- */

static int find_name(const struct tune *t, const char *name)
{
	for (int i = 0; i < t->ncandidates; i++)
		if (!strcmp(t->candidates[i].name, name))
			return i;
	return -1;
}

/* What the library does without rules. It is among the candidates, or becomes one. */
static int find_usual(struct work *w)
{
	struct tune *t = w->t;
	struct coll_choice *choice = find_choice(w);
	char name[COLL_NAME];
	int i;

	choice->is_made = 0;
	coll_select(t->plan, w->op, w->bytes, w->is_in_place, "");
	/* Alone: nothing is tried beside it. */
	choice->is_open = 0;
	coll_choice_name(choice, name);
	i = find_name(t, name);
	if (i >= 0)
		return i;
	i = t->ncandidates < TUNE_CANDIDATES ? t->ncandidates++ : TUNE_CANDIDATES - 1;
	t->candidates[i] = (struct tune_candidate){ .choice = *choice };
	strcpy(t->candidates[i].name, name);
	return i;
}

/* All three steps; @before: the point of the size before, if there is one. */
static void measure(struct work *w, const struct tune_point *before, struct tune_point *point)
{
	struct tune *t = w->t;

	w->mpi = find_name(t, "mpi");
	w->last = before ? find_name(t, before->best) : -1;
	try_all(w);
	*point = (struct tune_point){ .bytes = w->bytes, .is_in_place = w->is_in_place,
				      .tried = w->tried };
	confirm(w, pick(w, take_turns(w)), point);
	strcpy(point->usual, t->candidates[w->usual].name);
}

void tune_measure(struct tune *t, unsigned int class, int is_in_place, double seconds,
		  struct tune_point *point)
{
	const struct tune_point *before = point > t->points ? point - 1 : NULL;
	struct work w = { .t = t, .op = COLL_ALLTOALL, .class = class,
			  .bytes = (size_t)1 << class, .is_in_place = is_in_place,
			  .until = tune_clock(t) + seconds };

	w.usual = find_usual(&w);
	measure(&w, before && before->is_in_place == is_in_place ? before : NULL, point);
}

void tune_measure_v(struct tune *t, double seconds)
{
	struct work w = { .t = t, .op = COLL_ALLTOALLV, .until = tune_clock(t) + seconds };

	w.usual = find_usual(&w);
	tune_weigh_mix(t);
	measure(&w, NULL, &t->v);
}
