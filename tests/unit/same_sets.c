// SPDX-License-Identifier: GPL-2.0-or-later
/* A level with as many sets as the one above, which may or may not hold what that has. */
#include "../../lib/probe/same_sets.h"
#include "geometry_machine.h"

#define PAGES	2048
/* Pages whose lines at one offset share a set, and ways of the second level. */
#define COLOURS	4
#define ABOVE	16
/* Lines of a set that both hold. */
#define BOTH	64

static uint32_t pages[PAGES];
static uint64_t frames[PAGES];

/* @n pages of a colour, the @first-th of it first. */
static void put_colour(uint32_t *page, uint64_t colour, size_t first, size_t n)
{
	for (uint32_t i = 0; i < PAGES && n; i++) {
		if (frames[i] % COLOURS != colour)
			continue;
		if (first) {
			first--;
			continue;
		}
		*page++ = i;
		n--;
	}
	ck_assert_uint_eq(n, 0);
}

/*
 * Exclusive, the third level has ways for what the second has not. Half of the class is of
 * @other_colour, if that is not 0.
 */
static int exclude_seed(enum machine_policy second, enum machine_policy third,
			enum machine_inclusion inclusion, uint32_t other_colour, uint64_t seed)
{
	const unsigned int ways = inclusion == EXCLUSIVE ? BOTH - ABOVE : BOTH;
	uint32_t others[PAGES / 2], calm[ABOVE];
	struct class c = { .n = BOTH + 1 };
	struct meter *meter;
	struct trial t;
	struct hunt h;
	struct same_sets s = {
		.h = &h, .above = ABOVE, .first_ways = 4, .class = &c, .others = others,
		.nothers = PAGES / 8, .calm = calm, .ncalm = ABOVE,
	};
	int told;

	model.cache[0] = (struct machine_cache){ .bytes = 16 * KIB, .ways = 4, .cycles = 4 };
	model.cache[1] = (struct machine_cache){
		.bytes = COLOURS * ABOVE * 4 * KIB, .ways = ABOVE, .cycles = 15, .policy = second,
	};
	model.cache[2] = (struct machine_cache){
		.bytes = (size_t)COLOURS * ways * 4 * KIB, .ways = ways, .cycles = 40,
		.policy = third, .inclusion = inclusion,
	};
	ck_assert_int_eq(machine_open(&meter, &model, seed), 0);
	trial_open(&t, meter, seed);
	ck_assert_int_eq(trial_pages(&t, PAGES), 0);
	ck_assert_int_eq(meter->ops->frames(meter, 0, PAGES, frames), 0);
	for (uint32_t i = 0; i < PAGES; i++)
		pages[i] = i;
	h = (struct hunt){
		.offset = METER_CHUNK - 128, .above = COLOURS * ABOVE, .first_hit = 4,
		.first_lines = 256, .second_hit = 15, .second_lines = 4096, .hit = 50,
		.penalty = 200, .singly = 1, .until = UINT64_MAX,
	};
	ck_assert_int_eq(hunt_open(&h, &t, pages, PAGES), 0);
	put_colour(c.page, 0, 0, other_colour ? c.n / 2 + 1 : c.n);
	put_colour(c.page + c.n / 2 + 1, other_colour, 0, other_colour ? c.n / 2 : 0);
	/* Of these only half are of the class. */
	put_colour(others, 1, c.n, PAGES / 16);
	put_colour(others + PAGES / 16, 0, c.n, PAGES / 16);
	put_colour(calm, 2, 0, ABOVE);
	told = same_sets_exclude(&s);
	hunt_close(&h);
	trial_close(&t);
	meter->ops->close(meter);
	return told;
}

static int exclude(enum machine_policy second, enum machine_policy third,
		   enum machine_inclusion inclusion, uint32_t other_colour)
{
	return exclude_seed(second, third, inclusion, other_colour, 1);
}

static const enum machine_policy kept[] = {
	POLICY_LRU, POLICY_PLRU, POLICY_QLRU_H00_M1_R2_U1, POLICY_QLRU_H11_M1_R0_U0, POLICY_SRRIP,
};

START_TEST(tells_an_exclusive_level)
{
	ck_assert_int_eq(exclude(kept[_i], POLICY_LRU, EXCLUSIVE, 0), 1);
	ck_assert_int_eq(exclude(kept[_i], POLICY_FIFO, EXCLUSIVE, 0), 1);
}
END_TEST

/* A level above that keeps no line for sure; what it lets go is lost one by one. */
START_TEST(tells_an_exclusive_level_where_both_replace_at_random)
{
	const uint64_t seed = (uint64_t)_i + 1;

	ck_assert_int_eq(exclude_seed(POLICY_RANDOM, POLICY_RANDOM, EXCLUSIVE, 0, seed), 1);
	ck_assert_int_eq(exclude_seed(POLICY_RANDOM, POLICY_RANDOM, INCLUSIVE, 0, seed), 0);
	ck_assert_int_eq(exclude_seed(POLICY_RANDOM, POLICY_RANDOM, NON_INCLUSIVE, 0, seed), 0);
}
END_TEST

/* Whatever is replaced, what the level above has is never taken for something else. */
START_TEST(takes_none_for_exclusive_that_holds_what_is_above)
{
	const enum machine_policy second = _i / MACHINE_POLICIES, third = _i % MACHINE_POLICIES;

	ck_assert_int_eq(exclude(second, third, INCLUSIVE, 0), 0);
	ck_assert_int_eq(exclude(second, third, NON_INCLUSIVE, 0), 0);
}
END_TEST

/* A level with fewer sets: then lines of several of the one above meet in one. */
START_TEST(takes_lines_of_two_sets_above_for_none_of_one)
{
	ck_assert_int_eq(exclude(kept[_i], POLICY_LRU, EXCLUSIVE, 1), 0);
}
END_TEST

int main(void)
{
	const int n = (int)(sizeof(kept) / sizeof(*kept));
	Suite *suite = suite_create("same_sets");
	TCase *tc = tcase_create("same_sets");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, make_machine, drop_machine);
	tcase_add_loop_test(tc, tells_an_exclusive_level, 0, tap_loops(n));
	tcase_add_loop_test(tc, tells_an_exclusive_level_where_both_replace_at_random, 0,
			    tap_loops(5));
	tcase_add_loop_test(tc, takes_none_for_exclusive_that_holds_what_is_above, 0,
			    tap_loops(MACHINE_POLICIES * MACHINE_POLICIES));
	tcase_add_loop_test(tc, takes_lines_of_two_sets_above_for_none_of_one, 0, tap_loops(n));
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
