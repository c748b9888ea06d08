// SPDX-License-Identifier: GPL-2.0-or-later
/* Diffs of every variant against a loop over bytes, and against damaged input. */
#include <errno.h>
#include <string.h>

#include "../../dsm/diff/diff.h"
#include "../../lib/rng.h"
#include "../unit/tap.h"

#define UNIT	8192u

static struct sonde_rng rng;
static uint8_t page[UNIT], twin[UNIT], there[UNIT], there_twin[UNIT];
static uint64_t masks[UNIT / DSM_BLOCK];
static uint8_t *out;

static uint32_t draw(uint32_t n)
{
	return (uint32_t)sonde_rng_below(&rng, n);
}

static void fill(uint8_t *to)
{
	for (uint32_t i = 0; i < UNIT; i++)
		to[i] = (uint8_t)draw(256);
}

/* Changes of one of some shapes: single bytes, runs, every nth word, all. */
static void change(uint32_t shape)
{
	uint32_t step = 1 + draw(16), at, len;

	memcpy(page, twin, UNIT);
	switch (shape) {
	case 0:
		for (uint32_t n = 1 + draw(20); n; n--)
			page[draw(UNIT)] ^= (uint8_t)(1 + draw(255));
		break;
	case 1:
		for (uint32_t n = 1 + draw(4); n; n--) {
			at = draw(UNIT);
			len = 1 + draw(UNIT - at);
			for (uint32_t i = at; i < at + len; i++)
				page[i] = (uint8_t)draw(256);
		}
		break;
	case 2:
		for (uint32_t i = 0; i < UNIT / 4; i += step)
			page[4 * i + draw(4)] ^= 0x55;
		break;
	case 3:
		for (uint32_t i = 0; i < UNIT; i++)
			page[i] ^= 0xff;
		break;
	default:
		for (uint32_t i = 0; i < UNIT; i++)
			if (draw(2))
				page[i] ^= (uint8_t)(1 + draw(255));
	}
}

/* What a byte loop says: those that differ go there, all others stay. */
static void check_applied(const uint8_t *before, const uint8_t *after)
{
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < UNIT; i++)
		wrong += after[i] != (page[i] != twin[i] ? page[i] : before[i]);
	ck_assert_uint_eq(0, wrong);
}

START_TEST(gives_what_a_loop_over_bytes_gives)
{
	static uint8_t before[UNIT], before_twin[UNIT];

	for (uint32_t round = 0; round < 50; round++) {
		fill(twin);
		change(round % 5);
		for (const struct dsm_diff_ops *const *v = dsm_diff_variants(); *v; v++) {
			size_t len = dsm_diff_encode(*v, page, twin, UNIT, masks, out);

			ck_assert_uint_gt(len, 0);
			ck_assert_uint_le(len, dsm_diff_bound(UNIT) - DSM_DIFF_SLACK);
			for (const struct dsm_diff_ops *const *u = dsm_diff_variants(); *u; u++) {
				fill(before);
				fill(before_twin);
				memcpy(there, before, UNIT);
				memcpy(there_twin, before_twin, UNIT);
				ck_assert_int_eq(0, dsm_diff_apply(*u, there, there_twin, UNIT,
								   out, len));
				check_applied(before, there);
				check_applied(before_twin, there_twin);
			}
		}
	}
}
END_TEST

START_TEST(variants_make_the_same_bytes)
{
	static uint8_t first[UNIT * 2];

	for (uint32_t round = 0; round < 100; round++) {
		const struct dsm_diff_ops *const *v = dsm_diff_variants();
		size_t len;

		fill(twin);
		change(round % 5);
		len = dsm_diff_encode(*v, page, twin, UNIT, masks, first);
		while (*++v) {
			ck_assert_uint_eq(len, dsm_diff_encode(*v, page, twin, UNIT, masks, out));
			ck_assert_int_eq(0, memcmp(first, out, len));
		}
	}
}
END_TEST

START_TEST(equal_pages_have_no_diff)
{
	fill(twin);
	memcpy(page, twin, UNIT);
	for (const struct dsm_diff_ops *const *v = dsm_diff_variants(); *v; v++)
		ck_assert_uint_eq(0, dsm_diff_encode(*v, page, twin, UNIT, masks, out));
}
END_TEST

START_TEST(takes_the_shorter_encoding)
{
	const struct dsm_diff_ops *ops = dsm_diff_best();

	memset(twin, 0, UNIT);
	memset(page, 0, UNIT);
	page[100] = 1;
	ck_assert_uint_eq(4, dsm_diff_encode(ops, page, twin, UNIT, masks, out));
	memset(page, 1, UNIT);
	ck_assert_uint_eq(1 + 1 + 2 + UNIT, dsm_diff_encode(ops, page, twin, UNIT, masks, out));
	for (uint32_t i = 0; i < UNIT; i += 2)
		page[i] = 0;
	ck_assert_uint_eq(1 + UNIT / 512 + UNIT / 8 + UNIT / 2,
			  dsm_diff_encode(ops, page, twin, UNIT, masks, out));
}
END_TEST

/* Copies of exact length, so that the sanitizers see a byte too far. */
START_TEST(damaged_diffs_are_refused_and_write_nothing)
{
	static uint8_t before[UNIT];
	uint32_t refused = 0;

	fill(before);
	for (uint32_t round = 0; round < 600; round++) {
		const struct dsm_diff_ops *ops = dsm_diff_variants()[0];
		size_t len, cut;
		uint8_t *copy;

		if (round % 2)
			ops = dsm_diff_best();
		fill(twin);
		change(round % 5);
		len = dsm_diff_encode(ops, page, twin, UNIT, masks, out);
		cut = draw(3) ? len : draw((uint32_t)len + 1);
		copy = malloc(cut ? cut : 1);
		memcpy(copy, out, cut);
		for (uint32_t n = draw(4); n && cut; n--)
			copy[draw(cut < 32 ? (uint32_t)cut : 32)] = (uint8_t)draw(256);
		memcpy(there, before, UNIT);
		if (dsm_diff_apply(ops, there, NULL, UNIT, copy, cut)) {
			refused++;
			ck_assert_int_eq(0, memcmp(there, before, UNIT));
		}
		free(copy);
	}
	ck_assert_uint_gt(refused, 60);
}
END_TEST

START_TEST(merging_keeps_own_bytes_and_takes_all_others)
{
	static uint8_t newer[UNIT], mine[UNIT];

	for (uint32_t round = 0; round < 50; round++) {
		for (const struct dsm_diff_ops *const *v = dsm_diff_variants(); *v; v++) {
			fill(twin);
			fill(newer);
			change(round % 5);
			memcpy(mine, page, UNIT);
			memcpy(there_twin, twin, UNIT);
			dsm_diff_merge(*v, mine, there_twin, newer, UNIT, masks);
			check_applied(newer, mine);
			ck_assert_int_eq(0, memcmp(there_twin, newer, UNIT));
		}
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("diff");
	TCase *t = tcase_create("diff");

	out = malloc(dsm_diff_bound(UNIT));
	sonde_rng_seed(&rng, 1);
	tcase_set_timeout(t, 300);
	tcase_add_test(t, gives_what_a_loop_over_bytes_gives);
	tcase_add_test(t, variants_make_the_same_bytes);
	tcase_add_test(t, equal_pages_have_no_diff);
	tcase_add_test(t, takes_the_shorter_encoding);
	tcase_add_test(t, damaged_diffs_are_refused_and_write_nothing);
	tcase_add_test(t, merging_keeps_own_bytes_and_takes_all_others);
	suite_add_tcase(s, t);
	return tap_run(s);
}
