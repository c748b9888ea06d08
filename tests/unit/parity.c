// SPDX-License-Identifier: GPL-2.0-or-later
/* Parities that some numbers share. */
#include "../../lib/probe/parity.h"
#include "../../lib/rng.h"
#include "tap.h"

#define N	400

static uint64_t all[N], some[N];
static size_t nsome;

static int parity(uint64_t x)
{
	return __builtin_parityll(x);
}

/* Random numbers of 20 bits; those whose parities under @masks are all even to some. */
static void draw(const uint64_t *masks, unsigned int nmasks)
{
	struct sonde_rng rng;
	unsigned int i;

	sonde_rng_seed(&rng, 7);
	nsome = 0;
	for (size_t k = 0; k < N; k++) {
		all[k] = 0xabc00000 + sonde_rng_below(&rng, 1 << 20);
		for (i = 0; i < nmasks && !parity(all[k] & masks[i]); i++)
			;
		if (i == nmasks)
			some[nsome++] = all[k];
	}
}

START_TEST(numbers_at_random_span_all_bits_and_share_nothing)
{
	uint64_t masks[8];

	draw(NULL, 0);
	ck_assert_uint_eq(parity_rank(all, N), 20);
	ck_assert_uint_eq(parity_rank(all, 1), 0);
	ck_assert_uint_eq(parity_shared(all, N, all, N, masks, 8), 0);
	ck_assert_uint_eq(parity_shared(all, 40, all, N, masks, 8), 0);
}
END_TEST

START_TEST(finds_plain_bits_as_masks_of_one_bit)
{
	const uint64_t low[] = { 1, 2, 4 };
	uint64_t masks[8];

	draw(low, 3);
	ck_assert_uint_eq(parity_rank(some, nsome), 17);
	ck_assert_uint_eq(parity_shared(some, nsome, all, N, masks, 8), 3);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(masks[i], low[i]);
}
END_TEST

START_TEST(finds_masks_that_say_the_same_as_those_of_a_hash)
{
	const uint64_t hash[] = { 0x12345, 0x0f0f0, 0x80001 };
	uint64_t masks[8];

	draw(hash, 3);
	ck_assert_uint_eq(parity_shared(some, nsome, all, N, masks, 8), 3);
	/* Each is shared by the class and not by all. */
	for (int i = 0; i < 3; i++) {
		int first = parity(some[0] & masks[i]), other = 0;

		for (size_t k = 0; k < nsome; k++)
			ck_assert_int_eq(parity(some[k] & masks[i]), first);
		for (size_t k = 0; k < N; k++)
			other |= parity(all[k] & masks[i]) != first;
		ck_assert(other);
	}
}
END_TEST

START_TEST(gives_no_more_masks_than_there_is_room_for)
{
	const uint64_t low[] = { 1, 2, 4 };
	uint64_t masks[2];

	draw(low, 3);
	ck_assert_uint_eq(parity_shared(some, nsome, all, N, masks, 2), 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("parity");
	TCase *tc = tcase_create("parity");

	tcase_add_test(tc, numbers_at_random_span_all_bits_and_share_nothing);
	tcase_add_test(tc, finds_plain_bits_as_masks_of_one_bit);
	tcase_add_test(tc, finds_masks_that_say_the_same_as_those_of_a_hash);
	tcase_add_test(tc, gives_no_more_masks_than_there_is_room_for);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
