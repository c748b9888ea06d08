// SPDX-License-Identifier: GPL-2.0-or-later
/* Ways that take turns, with times made up: each seed is a program's run. */
#include <string.h>
#include "../../coll/turns.h"
#include "../../lib/rng.h"
#include "tap.h"

#define RUNS	500
#define MOST	8192

/**
 * struct world - where calls take time
 * @cost: of a call by each way, in ns
 * @noise: of it, in hundredths: up to so much more
 * @jolts: of a thousand calls that take thirty times as long
 * @carried: hundredths of a call that the next one pays
 */
struct world {
	int64_t cost[COLL_TURNS_WAYS];
	unsigned int noise, jolts, carried;
	struct sonde_rng rng;
	int64_t owed;
};

static int64_t make_call(struct world *w, int way)
{
	int64_t ns = w->cost[way] + w->owed;

	w->owed = w->cost[way] * w->carried / 100;
	ns -= w->owed;
	if (w->noise)
		ns += w->cost[way] * (int64_t)sonde_rng_below(&w->rng, w->noise) / 100;
	if (sonde_rng_below(&w->rng, 1000) < w->jolts)
		ns += 30 * w->cost[way];
	return ns;
}

/* A call of one rank. Return: the way that did it. */
static int step(struct coll_turns *turns, struct world *w, int64_t *ns)
{
	const int way = coll_turns_next(turns);

	*ns = make_call(w, way);
	if (coll_turns_end(turns, *ns))
		coll_turns_decide(turns);
	return way;
}

/* What does the calls after so many. */
static int run(struct world *w, int n, int calls)
{
	struct coll_turns turns;
	int64_t ns;

	coll_turns_begin(&turns, n, MOST);
	while (calls--)
		step(&turns, w, &ns);
	return turns.best;
}

/* In how many runs of so many calls that way did them in the end. */
static int count_runs(const struct world *world, int n, int calls, int way)
{
	int found = 0;

	for (int seed = 0; seed < RUNS; seed++) {
		struct world w = *world;

		sonde_rng_seed(&w.rng, (uint64_t)seed + 1);
		found += run(&w, n, calls) == way;
	}
	return found;
}

START_TEST(the_quickest_is_found_in_noise)
{
	const struct world w = { .cost = { 130, 160, 100 }, .noise = 60, .jolts = 20 };

	ck_assert_int_ge(count_runs(&w, 3, 200, 2), RUNS * 90 / 100);
	/* What luck has spoilt is mended. */
	ck_assert_int_ge(count_runs(&w, 3, 3000, 2), RUNS * 98 / 100);
}
END_TEST

START_TEST(who_comes_after_a_slow_one_does_not_pay_for_it)
{
	/* By calls one by one 0 would look best: each time it leaves most to the next. */
	const struct world w = { .cost = { 200, 150, 100 }, .noise = 10, .carried = 60 };

	ck_assert_int_eq(count_runs(&w, 3, 100, 2), RUNS);
}
END_TEST

START_TEST(what_is_hardly_quicker_does_not_take_over)
{
	const struct world w = { .cost = { 1000, 980, 1000 }, .noise = 3 };

	ck_assert_int_eq(count_runs(&w, 3, 20000, 0), RUNS);
}
END_TEST

/* Calls until that way does them, @most if it does not. */
static int wait_for(struct coll_turns *turns, struct world *w, int way, int most)
{
	int calls = 0;
	int64_t ns;

	while (turns->best != way && calls < most) {
		step(turns, w, &ns);
		calls++;
	}
	return calls;
}

START_TEST(what_becomes_quicker_is_found_in_time)
{
	int soon = 0;

	for (int seed = 0; seed < RUNS; seed++) {
		struct world w = { .cost = { 100, 140, 180 }, .noise = 40, .jolts = 10 };
		struct coll_turns turns;
		int64_t ns;

		sonde_rng_seed(&w.rng, (uint64_t)seed + 1);
		coll_turns_begin(&turns, 3, MOST);
		for (int i = 0; i < 20000; i++)
			step(&turns, &w, &ns);
		w.cost[1] = 60;
		ck_assert_int_lt(wait_for(&turns, &w, 1, 3 * MOST), 3 * MOST);
		/* Who was best comes back before its old interval is over. */
		w.cost[1] = 140;
		soon += wait_for(&turns, &w, 0, 2000) < 2000;
	}
	ck_assert_int_ge(soon, RUNS * 98 / 100);
}
END_TEST

START_TEST(looking_again_costs_two_hundredths_at_most)
{
	static const int64_t others[][2] = {
		{ 102, 104 }, { 110, 150 }, { 200, 300 }, { 1000, 5000 },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct world w = { .cost = { 100, others[i][0], others[i][1] } };
		struct coll_turns turns;
		int64_t ns, total = 0;

		sonde_rng_seed(&w.rng, 1);
		coll_turns_begin(&turns, 3, MOST);
		for (int call = 0; call < 4000; call++)
			step(&turns, &w, &ns);
		for (int call = 0; call < 100000; call++) {
			step(&turns, &w, &ns);
			total += ns;
		}
		ck_assert_int_eq(turns.best, 0);
		ck_assert_int_ge(total, 100 * 100000 + 1);
		ck_assert_int_le(total, 102 * 100000);
	}
}
END_TEST

START_TEST(calls_of_two_kinds_by_turns_are_told_apart)
{
	/* Kinds of 100 and of 1,000: each way has as many of both. */
	for (int period = 2; period <= 3; period++) {
		struct coll_turns turns;

		coll_turns_begin(&turns, 3, MOST);
		for (int call = 0; call < 400; call++) {
			const int64_t kind = call % period ? 100 : 1000;

			if (coll_turns_end(&turns, kind * (coll_turns_next(&turns) == 1 ? 8 : 10)))
				coll_turns_decide(&turns);
		}
		ck_assert_int_eq(turns.best, 1);
	}
}
END_TEST

/* Adds up what ranks measured, as they do over MPI. */
static void add_up(struct coll_turns *a, struct coll_turns *b)
{
	for (int i = 0; i < COLL_HEAT_TIMES; i++)
		a->heat[i] = b->heat[i] = a->heat[i] + b->heat[i];
}

START_TEST(ranks_that_measure_otherwise_do_the_same)
{
	struct world w[2] = { { .cost = { 100, 120, 90 }, .noise = 80 },
			      { .cost = { 100, 70, 130 }, .noise = 80 } };
	struct coll_turns turns[2];

	for (int rank = 0; rank < 2; rank++) {
		sonde_rng_seed(&w[rank].rng, (uint64_t)rank + 1);
		coll_turns_begin(&turns[rank], 3, MOST);
	}
	for (int call = 0; call < 50000; call++) {
		int is_over[2];

		ck_assert_int_eq(coll_turns_next(&turns[0]), coll_turns_next(&turns[1]));
		for (int rank = 0; rank < 2; rank++)
			is_over[rank] = coll_turns_end(&turns[rank],
						       make_call(&w[rank],
								 coll_turns_next(&turns[rank])));
		ck_assert_int_eq(is_over[0], is_over[1]);
		if (!is_over[0])
			continue;
		add_up(&turns[0], &turns[1]);
		ck_assert_int_eq(coll_turns_decide(&turns[0]), coll_turns_decide(&turns[1]));
	}
	/* 190 of both ranks together, against 200 and 220. */
	ck_assert_int_eq(turns[0].best, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("alltoall_turns");
	TCase *tc = tcase_create("core");

	tcase_add_test(tc, the_quickest_is_found_in_noise);
	tcase_add_test(tc, who_comes_after_a_slow_one_does_not_pay_for_it);
	tcase_add_test(tc, what_is_hardly_quicker_does_not_take_over);
	tcase_add_test(tc, what_becomes_quicker_is_found_in_time);
	tcase_add_test(tc, looking_again_costs_two_hundredths_at_most);
	tcase_add_test(tc, calls_of_two_kinds_by_turns_are_told_apart);
	tcase_add_test(tc, ranks_that_measure_otherwise_do_the_same);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
