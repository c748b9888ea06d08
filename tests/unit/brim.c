// SPDX-License-Identifier: GPL-2.0-or-later
/* A level filled until no line fits, on machines whose truth is known. */
#include "../../lib/probe/brim.h"
#include "geometry_machine.h"

#define PAGES	1024
/* Behind them, in no pool. */
#define OTHERS	1024

static struct meter *meter;
static struct trial t;
static uint32_t pages[PAGES];
static struct hunt h;

/* The level under test is the second: eight colours of eight ways at one offset. */
static void open_machine(enum machine_policy policy, enum machine_inclusion inclusion,
			 enum machine_index index)
{
	make_small_level(policy, PREFETCH_ALL, 64);
	model.cache[1].inclusion = inclusion;
	model.cache[1].index = index;
	ck_assert_int_eq(machine_open(&meter, &model, 1), 0);
	trial_open(&t, meter, 1);
	ck_assert_int_eq(trial_pages(&t, PAGES + OTHERS), 0);
	for (uint32_t i = 0; i < PAGES; i++)
		pages[i] = i;
}

/* Lines of other pages, whose sets lead, miss: from now on new ones are put where they go first. */
static void duel(void)
{
	uint32_t places[OTHERS];

	for (uint32_t i = 0; i < OTHERS; i++)
		places[i] = meter_place(PAGES + i, 0);
	ck_assert_int_eq(trial_ring(&t, places, OTHERS, 0), 0);
	trial_walk(&t, 4);
	/* Those that prefetchers bring beside them are at the hunt's offset. */
	for (uint32_t i = 0; i < OTHERS; i++)
		places[i] = meter_place(PAGES + i, METER_CHUNK - 192);
	ck_assert_int_eq(trial_ring(&t, places, OTHERS, 0), 0);
	trial_walk(&t, 100);
}

static void open_hunt(void)
{
	h = (struct hunt){
		.offset = METER_CHUNK - 128, .above = 8, .first_hit = 4, .first_lines = 512, .hit = 12,
		.penalty = 238, .singly = 1, .until = UINT64_MAX,
	};
	ck_assert_int_eq(hunt_open(&h, &t, pages, PAGES), 0);
}

static void open_level(enum machine_policy policy, enum machine_inclusion inclusion,
		       enum machine_index index)
{
	open_machine(policy, inclusion, index);
	open_hunt();
}

static void close_level(void)
{
	hunt_close(&h);
	trial_close(&t);
	meter->ops->close(meter);
}

static const struct {
	enum machine_policy policy;
	enum machine_inclusion inclusion;
} is[] = {
	{ POLICY_LRU, NON_INCLUSIVE }, { POLICY_RANDOM, NON_INCLUSIVE }, { POLICY_PLRU, INCLUSIVE },
	{ POLICY_LRU, EXCLUSIVE }, { POLICY_FIFO, EXCLUSIVE }, { POLICY_RANDOM, EXCLUSIVE },
	{ POLICY_PLRU, EXCLUSIVE }, { POLICY_SRRIP, EXCLUSIVE },
	{ POLICY_QLRU_H11_M1_R0_U0, NON_INCLUSIVE }, { POLICY_QLRU_H11_M1_R0_U0, EXCLUSIVE },
};

/* Of an exclusive level, too, once the level above was seen without lines of each set. */
START_TEST(fits_sets_times_ways_whatever_is_replaced)
{
	unsigned int ways;
	struct class c;
	struct brim b;

	open_level(is[_i].policy, is[_i].inclusion, INDEX_BITS);
	ck_assert_int_eq(brim_open(&b, &h, 0, 0), 0);
	ck_assert_int_eq(brim_fill(&b, 24), 0);
	ck_assert_int_eq(brim_ways(&b, &ways, &c), 1);
	ck_assert_uint_eq(ways, 8);
	ck_assert_uint_eq(c.n, 9);
	ck_assert_int_eq(brim_settle(&b, ways), 0);
	ck_assert_uint_eq(b.n, 64);
	ck_assert_int_eq(brim_is_full(&b, ways), 1);
	brim_close(&b);
	close_level();
}
END_TEST

/* Whichever lines of a set go, as many are left as it has ways. */
START_TEST(throws_out_what_came_in_and_does_not_fit)
{
	struct brim b;

	open_level(is[_i].policy, is[_i].inclusion, INDEX_BITS);
	ck_assert_int_eq(brim_open(&b, &h, 0, 0), 0);
	ck_assert_int_eq(brim_fill(&b, 24), 0);
	b.n = 80;
	ck_assert_int_eq(brim_settle(&b, 8), 0);
	ck_assert_uint_eq(b.n, 64);
	brim_close(&b);
	close_level();
}
END_TEST

/* A line that comes back is put where it goes first, one that is never used stays. */
START_TEST(has_room_where_sets_duel_and_were_not_empty)
{
	struct brim b;

	open_machine(POLICY_DIP, EXCLUSIVE, INDEX_BITS);
	duel();
	open_hunt();
	ck_assert_int_eq(brim_open(&b, &h, 0, 0), 0);
	ck_assert_int_eq(brim_fill(&b, 24), 0);
	ck_assert_int_eq(brim_settle(&b, 8), 0);
	ck_assert_uint_eq(b.n, 64);
	brim_close(&b);
	close_level();
}
END_TEST

/* Of ten ways, 40 lines of the level above would be in it at nearly any time. */
START_TEST(says_when_the_level_above_is_never_empty)
{
	struct brim b;

	open_level(POLICY_LRU, EXCLUSIVE, INDEX_BITS);
	ck_assert_int_eq(brim_open(&b, &h, 0, 0), 0);
	ck_assert_int_eq(brim_fill(&b, 24), 0);
	h.above = 40;
	ck_assert_int_eq(brim_settle(&b, 32), 0);
	ck_assert_uint_eq(b.n, 0);
	brim_close(&b);
	close_level();
}
END_TEST

START_TEST(says_when_a_pool_leaves_sets_short_of_lines)
{
	unsigned int ways;
	struct class c;
	struct brim b;

	open_level(POLICY_LRU, NON_INCLUSIVE, INDEX_BITS);
	ck_assert_int_eq(brim_open(&b, &h, 0, 0), 0);
	b.npages = 96;
	ck_assert_int_eq(brim_fill(&b, 24), 0);
	ck_assert_int_eq(brim_ways(&b, &ways, &c), 1);
	ck_assert_int_eq(brim_is_full(&b, ways), 0);
	ck_assert_uint_gt(brim_enough(&b, ways), 96);
	brim_close(&b);
	close_level();
}
END_TEST

/* Where bits of the offset are mixed with others, the sets are those of other offsets, too. */
START_TEST(tells_offsets_that_share_sets)
{
	unsigned int mixed = 0;
	int shares;
	struct brim b;

	for (int is_mixed = 0; is_mixed < 2; is_mixed++) {
		open_level(POLICY_LRU, NON_INCLUSIVE, is_mixed ? INDEX_XOR : INDEX_BITS);
		ck_assert_int_eq(brim_open(&b, &h, 0, 0), 0);
		ck_assert_int_eq(brim_fill(&b, 24), 0);
		for (uint32_t distance = 64; distance < METER_CHUNK; distance *= 2) {
			shares = brim_shares_sets(&b, distance);
			if (is_mixed)
				mixed += shares == 1;
			else
				ck_assert_int_eq(shares, 0);
		}
		brim_close(&b);
		close_level();
	}
	ck_assert_uint_eq(mixed, 2);
}
END_TEST

int main(void)
{
	const int n = (int)(sizeof(is) / sizeof(*is));
	Suite *suite = suite_create("brim");
	TCase *tc = tcase_create("brim"), *quick = tcase_create("quick");

	tcase_set_timeout(quick, 120);
	tcase_add_checked_fixture(quick, make_machine, drop_machine);
	tcase_add_loop_test(quick, throws_out_what_came_in_and_does_not_fit, 0, 1);
	suite_add_tcase(suite, quick);
	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, make_machine, drop_machine);
	tcase_add_loop_test(tc, fits_sets_times_ways_whatever_is_replaced, 0, n);
	tcase_add_loop_test(tc, throws_out_what_came_in_and_does_not_fit, 1, n);
	tcase_add_test(tc, has_room_where_sets_duel_and_were_not_empty);
	tcase_add_test(tc, says_when_the_level_above_is_never_empty);
	tcase_add_test(tc, says_when_a_pool_leaves_sets_short_of_lines);
	tcase_add_test(tc, tells_offsets_that_share_sets);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
