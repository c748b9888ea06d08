// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether lines at all offsets show a size, on a machine that costs what a test wants. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "../../lib/probe/survey.h"
#include "tap.h"

#define KIB		1024.0
#define PAGES		512
#define CHAIN_CYCLES	1024.0
#define HIT		12
#define PENALTY		30
/* Of each load, where translation is to hide what a miss costs. */
#define TRANSLATION	60

/*
 * A level of 256 KiB. In the first looks of so many, rings of so many lines at most cost
 * @more than they do; so do the first ones of any, as many as are spoilt.
 */
static struct {
	double cycles, translation, more;
	size_t lines, least, last;
	unsigned int links, looks, disturbed, spoilt;
	int is_guest;
} machine;

static void fake_link(struct meter *m, const uint32_t *places, size_t n)
{
	const double over = (double)n * METER_LINE / (256 * KIB) - 1;
	const double share = fmin(fmax(1.2 * over, 0), 1);

	(void)m, (void)places;
	/* Each look begins with the fewest, in some orders. */
	if (!machine.least)
		machine.least = n;
	machine.looks += n == machine.least && n != machine.last;
	machine.last = n;
	machine.links++;
	machine.cycles = HIT + machine.translation + PENALTY * share;
	if ((n <= machine.lines && machine.looks <= machine.disturbed) ||
	    machine.links <= machine.spoilt)
		machine.cycles += machine.more;
}

static void fake_chase(struct meter *m, uint64_t skip, unsigned int steps,
		       struct meter_window *out, size_t nout)
{
	(void)m, (void)skip;
	for (size_t i = 0; i < nout; i++) {
		out[i].chain = (uint64_t)CHAIN_CYCLES;
		out[i].ticks = (uint64_t)(machine.cycles * steps);
	}
}

static int fake_flush(struct meter *m, const uint32_t *places, size_t n)
{
	(void)m, (void)places, (void)n;
	return 0;
}

static double fake_now(struct meter *m)
{
	(void)m;
	return 0;
}

static struct trial trial;
static uint32_t pages[PAGES];

/* At that machine, from the begin. */
static void open_trial(void)
{
	static const struct meter_ops ops = {
		.link = fake_link, .chase = fake_chase, .flush = fake_flush, .now = fake_now,
	};
	static struct meter meter = { .ops = &ops, .chain_cycles = CHAIN_CYCLES, .tick_ns = 1 };

	for (uint32_t i = 0; i < PAGES; i++)
		pages[i] = i;
	meter.is_guest = machine.is_guest;
	machine.links = machine.looks = 0;
	machine.least = machine.last = 0;
	trial_open(&trial, &meter, 1);
}

static int ask(int (*survey)(struct survey *, const uint32_t *, size_t, double), double bytes)
{
	const struct stride first = { .ways = 8, .way_bytes = 4096 };
	struct survey s = {
		.t = &trial, .first = &first, .ways = 8, .hit = HIT, .penalty = PENALTY,
	};
	int ret;

	open_trial();
	ret = survey(&s, pages, PAGES, bytes);
	trial_close(&trial);
	return ret;
}

static int holds(double bytes)
{
	return ask(survey_holds, bytes);
}

static int holds_more(double bytes)
{
	return ask(survey_holds_more, bytes);
}

static double fits(double above, double most)
{
	double bytes = -1;

	open_trial();
	ck_assert_int_eq(survey_fits(&trial, HIT, pages, PAGES, above, most, &bytes), 0);
	trial_close(&trial);
	return bytes;
}

static void set_up(void)
{
	memset(&machine, 0, sizeof(machine));
}

START_TEST(tells_a_size_from_half_and_twice_as_much)
{
	ck_assert_int_eq(holds(256 * KIB), HOLDS_THIS);
	ck_assert_int_eq(holds(512 * KIB), HOLDS_NOT);
	ck_assert_int_eq(holds(255 * KIB), -ENODATA);
	ck_assert_int_eq(holds(1024 * KIB), -ERANGE);
	machine.translation = TRANSLATION;
	ck_assert_int_eq(holds(256 * KIB), HOLDS_THIS);
	ck_assert_int_eq(holds(512 * KIB), HOLDS_NOT);
}
END_TEST

/* Hardly any, a quarter and three quarters, each in three orders; in two in a guest, if alike. */
START_TEST(looks_no_further_where_less_than_it_holds_misses)
{
	holds(512 * KIB);
	ck_assert_uint_eq(machine.links, 9);
	machine.is_guest = 1;
	holds(512 * KIB);
	ck_assert_uint_eq(machine.links, 6);
}
END_TEST

START_TEST(takes_a_third_order_where_two_differ)
{
	machine.is_guest = 1;
	machine.spoilt = 1;
	machine.more = PENALTY;
	holds(512 * KIB);
	ck_assert_uint_eq(machine.links, 7);
}
END_TEST

/* What disturbs hardly any lines does not make hits of misses: a quarter tells what hits cost. */
START_TEST(takes_nothing_that_costs_more_than_a_quarter_for_hits)
{
	machine.translation = TRANSLATION;
	machine.more = PENALTY / 2;
	machine.lines = 1536;
	machine.disturbed = 100;
	ck_assert_int_eq(holds(512 * KIB), HOLDS_NOT);
}
END_TEST

/* Nor does what disturbs a quarter and half, once, where it may be far more than misses. */
START_TEST(looks_twice_where_translation_costs_more_than_a_miss)
{
	machine.translation = TRANSLATION;
	machine.more = PENALTY / 2;
	machine.lines = 4096;
	machine.disturbed = 1;
	ck_assert_int_eq(holds(512 * KIB), HOLDS_NOT);
	ck_assert_uint_eq(machine.looks, 2);
}
END_TEST

/* Three times as many as what is above holds, and half as many more each time. */
START_TEST(says_how_much_fits_at_least)
{
	for (int i = 0; i < 2; i++) {
		ck_assert_double_eq(fits(32 * KIB, 2048 * KIB), 216 * KIB);
		ck_assert_double_eq(fits(32 * KIB, 200 * KIB), 200 * KIB);
		ck_assert_double_eq(fits(32 * KIB, 95 * KIB), 0);
		ck_assert_double_eq(fits(96 * KIB, 2048 * KIB), 288 * KIB);
		ck_assert_double_eq(fits(128 * KIB, 2048 * KIB), 0);
		/* There are no more pages. */
		ck_assert_double_eq(fits(1024 * KIB, 8192 * KIB), 0);
		machine.translation = TRANSLATION;
	}
}
END_TEST

/* Half as many more lines do not miss, or not a quarter of them. */
START_TEST(says_if_it_holds_more)
{
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(holds_more(256 * KIB), 0);
		ck_assert_int_eq(holds_more(210 * KIB), 0);
		ck_assert_int_eq(holds_more(200 * KIB), 1);
		ck_assert_int_eq(holds_more(160 * KIB), 1);
		/* Hardly any are half of these, or they are more than the pages have: nobody knows. */
		ck_assert_int_eq(holds_more(128 * KIB), 0);
		ck_assert_int_eq(holds_more(2048 * KIB), 0);
		machine.translation = TRANSLATION;
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("survey_holds");
	TCase *tc = tcase_create("survey_holds");

	tcase_add_checked_fixture(tc, set_up, NULL);
	tcase_add_test(tc, tells_a_size_from_half_and_twice_as_much);
	tcase_add_test(tc, looks_no_further_where_less_than_it_holds_misses);
	tcase_add_test(tc, takes_a_third_order_where_two_differ);
	tcase_add_test(tc, takes_nothing_that_costs_more_than_a_quarter_for_hits);
	tcase_add_test(tc, looks_twice_where_translation_costs_more_than_a_miss);
	tcase_add_test(tc, says_how_much_fits_at_least);
	tcase_add_test(tc, says_if_it_holds_more);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
