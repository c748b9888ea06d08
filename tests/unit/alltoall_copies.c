// SPDX-License-Identifier: GPL-2.0-or-later
/* Copies between processors give every byte, and no other, whatever the length and the place. */
#include <stdlib.h>
#include <string.h>
#include "../../coll/fetch.h"
#include "../../coll/stream.h"
#include "../../lib/rng.h"
#include "tap.h"

#define MOST	((size_t)5 * COLL_FETCH_LEAST)
#define PLACES	((size_t)3 * COLL_FETCH_LINE)
#define RUNS	400

typedef void (*copy_fn)(char *to, const char *from, size_t len);

static void check_copy(copy_fn copy, size_t to, size_t from, size_t len)
{
	static char expected[MOST + 2 * PLACES], source[MOST + PLACES], got[MOST + 2 * PLACES];

	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = (char)(i * 7 + i / 251);
	memset(got, 0x5a, sizeof(got));
	memset(expected, 0x5a, sizeof(expected));
	memcpy(expected + to, source + from, len);
	copy(got + to, source + from, len);
	ck_assert_mem_eq(got, expected, sizeof(got));
}

static void check_all(copy_fn copy)
{
	static const size_t lengths[] = {
		0, 1, 63, 64, 65, COLL_FETCH_LEAST - 1, COLL_FETCH_LEAST, COLL_FETCH_LEAST + 1,
		COLL_FETCH_LEAST + COLL_FETCH_PLACES * COLL_FETCH_LINE - 1, MOST,
	};
	struct sonde_rng rng;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (size_t to = 0; to < 2; to++)
			check_copy(copy, to * 17, (1 - to) * 16, lengths[i]);
	sonde_rng_seed(&rng, 1);
	for (int i = 0; i < RUNS; i++)
		check_copy(copy, sonde_rng_below(&rng, PLACES), sonde_rng_below(&rng, PLACES),
			   sonde_rng_below(&rng, MOST + 1));
}

START_TEST(what_is_fetched_is_what_was_written)
{
	check_all(coll_fetch);
}
END_TEST

START_TEST(what_goes_past_the_cache_arrives)
{
	check_all(coll_stream);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("alltoall_copies");
	TCase *tc = tcase_create("core");

	tcase_add_test(tc, what_is_fetched_is_what_was_written);
	tcase_add_test(tc, what_goes_past_the_cache_arrives);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
