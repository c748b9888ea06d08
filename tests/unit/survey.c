// SPDX-License-Identifier: GPL-2.0-or-later
/* What one survey of a level finds, and what its size is held against. */
#include <errno.h>

#include "geometry_machine.h"

/* The first two levels, and @pages to hold the second against; both are to be closed. */
static void find_and_stay(struct meter **meter, struct trial *t, uint32_t *pages)
{
	ck_assert_int_eq(machine_open(meter, &model, 1), 0);
	trial_open(t, *meter, 1);
	ck_assert_int_eq(geometry_find(t, POOL, 2, g), 0);
	ck_assert_uint_eq(g->level[1].size, 256 * KIB);
	ck_assert_int_eq((*meter)->ops->pages(*meter, POOL / METER_CHUNK), 0);
	for (uint32_t i = 0; i < POOL / METER_CHUNK; i++)
		pages[i] = i;
}

/* Lines at all offsets tell a size from half and twice as much, however soft replacement is. */
START_TEST(checks_a_size_by_lines_at_all_offsets)
{
	static const enum machine_policy policy[] = {
		POLICY_LRU, POLICY_PLRU, POLICY_RANDOM, POLICY_SRRIP, POLICY_FIFO,
	};
	uint32_t pages[POOL / METER_CHUNK];
	struct survey *s = &g->level[1].survey;
	struct meter *meter;
	struct trial t;

	make_small_level(policy[_i], PREFETCH_ALL, 64);
	find_and_stay(&meter, &t, pages);
	ck_assert_int_eq(s->held, 1);
	ck_assert_int_eq(survey_holds(s, pages, POOL / METER_CHUNK, 256 * KIB), HOLDS_THIS);
	for (size_t bytes = 512 * KIB; bytes <= 4 * MIB; bytes *= 2)
		ck_assert_int_eq(survey_holds(s, pages, POOL / METER_CHUNK, (double)bytes), HOLDS_NOT);
	s->first = &(struct stride){ .ways = 4, .way_bytes = 4 * KIB };
	ck_assert_int_eq(survey_holds(s, pages, POOL / METER_CHUNK, 128 * KIB), HOLDS_NOT);
	/* Just enough pages, too few, or hardly more than the first level. */
	ck_assert_int_eq(survey_holds(s, pages, 192, 256 * KIB), HOLDS_THIS);
	ck_assert_int_eq(survey_holds(s, pages, 191, 256 * KIB), -ERANGE);
	ck_assert_int_eq(survey_holds(s, pages, POOL / METER_CHUNK, 64 * KIB), -ENODATA);
	trial_close(&t);
	meter->ops->close(meter);
}
END_TEST

/*
 * Beside misses of the next level, where that is no larger than what is asked of, its hits look
 * like hits of the level that is asked about.
 */
START_TEST(takes_no_hits_of_the_next_level_for_its_own)
{
	uint32_t pages[POOL / METER_CHUNK];
	struct survey *s = &g->level[1].survey;
	struct meter *meter;
	struct trial t;

	model.cache[2] = (struct machine_cache){ .bytes = 2 * MIB, .ways = 16, .cycles = 40 };
	find_and_stay(&meter, &t, pages);
	s->penalty = s->penalty_least = model.memory_cycles - s->hit;
	ck_assert_int_eq(survey_holds(s, pages, POOL / METER_CHUNK, 2 * MIB), HOLDS_MAYBE);
	trial_close(&t);
	meter->ops->close(meter);
}
END_TEST

/* The second level in a pool of 2048 pages, by a survey as @asked for. */
static void survey(struct meter **meter, struct trial *t, struct stride *first, uint32_t *pages,
		   const struct survey *asked)
{
	struct survey *s = &g->level[1].survey;

	ck_assert_int_eq(machine_open(meter, &model, 1), 0);
	trial_open(t, *meter, 1);
	ck_assert_int_eq((*meter)->ops->pages(*meter, STRIDE_CHUNKS), 0);
	ck_assert_int_eq(stride_find(t, first), 0);
	ck_assert_int_eq((*meter)->ops->pages(*meter, 2048), 0);
	for (uint32_t i = 0; i < 2048; i++)
		pages[i] = i;
	*s = *asked;
	s->t = t;
	s->first = first;
	s->above = first->ways;
	s->pages = pages;
	s->npages = 2048;
	ck_assert_int_eq(survey_level(s), 0);
}

/* What was seen to share sets does so, also where a later look sees nothing. */
START_TEST(forgets_no_offsets_that_share_sets)
{
	struct survey *s = &g->level[1].survey;
	uint32_t pages[2048];
	struct stride first;
	struct meter *meter;
	struct trial t;
	unsigned int fold;

	make_small_level(POLICY_LRU, 0, 64);
	model.cache[1].index = INDEX_XOR;
	survey(&meter, &t, &first, pages, &(struct survey){ .ways = 0 });
	ck_assert_uint_eq(s->ways, 8);
	ck_assert_uint_eq(s->fold, 0);
	ck_assert_int_eq(survey_fold(s), 0);
	fold = s->fold;
	ck_assert_uint_gt(fold, 1);
	ck_assert_double_eq_tol(s->ways * s->classes * METER_CHUNK / fold, 256 * KIB, 40 * KIB);
	ck_assert_int_eq(s->doubtful, 0);
	s->npages = 128;
	ck_assert_int_eq(survey_fold(s), 0);
	ck_assert_int_eq(s->doubtful, 1);
	ck_assert_uint_eq(s->fold, fold);
	trial_close(&t);
	meter->ops->close(meter);
}
END_TEST

/* What many lines miss may be two levels: then it is not to hide the misses of a few. */
START_TEST(takes_the_next_level_to_be_near_if_asked_to)
{
	struct survey *s = &g->level[1].survey;
	uint32_t pages[2048];
	struct stride first;
	struct meter *meter;
	struct trial t;

	make_small_level(POLICY_LRU, 0, 64);
	for (int is_near = 0; is_near < 2; is_near++) {
		survey(&meter, &t, &first, pages,
		       &(struct survey){ .brief = 1, .is_near = is_near });
		ck_assert_uint_eq(s->ways, 8);
		/* Two hits, of which a class makes four times as much at most. */
		if (is_near)
			ck_assert_double_le(s->penalty, 4 * 2 * 12.5);
		else
			ck_assert_double_eq_tol(s->penalty, 250 - 12, 24);
		trial_close(&t);
		meter->ops->close(meter);
	}
}
END_TEST

START_TEST(gives_up_when_its_patience_is_over)
{
	struct survey *s = &g->level[1].survey;
	uint32_t pages[2048];
	struct stride first;
	struct meter *meter;
	struct trial t;

	make_small_level(POLICY_LRU, 0, 64);
	survey(&meter, &t, &first, pages, &(struct survey){ .patience = 1 });
	ck_assert_int_eq(s->seen, 1);
	ck_assert_uint_eq(s->ways, 0);
	trial_close(&t);
	meter->ops->close(meter);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("survey");
	TCase *tc = tcase_create("survey");

	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, make_machine, drop_machine);
	tcase_add_loop_test(tc, checks_a_size_by_lines_at_all_offsets, 0, 5);
	tcase_add_test(tc, takes_no_hits_of_the_next_level_for_its_own);
	tcase_add_test(tc, forgets_no_offsets_that_share_sets);
	tcase_add_test(tc, takes_the_next_level_to_be_near_if_asked_to);
	tcase_add_test(tc, gives_up_when_its_patience_is_over);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
