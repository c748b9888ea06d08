// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random transfers between two processes, by every way that there is here.
 * SONDE_TRANSFERS: how many copies of each; SONDE_SEED: of the choices.
 */
#include "../transfers.h"
#include "tap.h"

#define COUNT 100000

static void go(enum sonde_transfer_way way)
{
	const char *why = transfers_run(way, COUNT);

	ck_assert_msg(!why, "%s", why);
}

START_TEST(no_byte_is_wrong_by_cma)
{
	go(SONDE_TRANSFER_CMA);
}
END_TEST

START_TEST(no_byte_is_wrong_by_shared_memory)
{
	go(SONDE_TRANSFER_SHM);
}
END_TEST

START_TEST(no_byte_is_wrong_where_each_region_goes_the_best_way)
{
	go(SONDE_TRANSFER_AUTO);
}
END_TEST

static int can_open(enum sonde_transfer_way way)
{
	struct sonde_transfer *t;

	if (sonde_transfer_open(&t, way))
		return 0;
	sonde_transfer_close(t);
	return 1;
}

int main(void)
{
	Suite *suite = suite_create("transfers");
	TCase *tc = tcase_create("two processes");

	tcase_set_timeout(tc, getenv("SONDE_TRANSFERS") ? 3600 : 120);
	if (can_open(SONDE_TRANSFER_CMA))
		tcase_add_test(tc, no_byte_is_wrong_by_cma);
	else
		tap_left_out("this kernel lets no process read another's memory");
	tcase_add_test(tc, no_byte_is_wrong_by_shared_memory);
	tcase_add_test(tc, no_byte_is_wrong_where_each_region_goes_the_best_way);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
