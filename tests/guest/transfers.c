// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random transfers between two processes over the module: what tests/unit/transfers.c
 * does by the other ways. SONDE_TRANSFERS: how many copies of each; SONDE_LONG: more.
 */
#include "../transfers.h"

#include "nodes.h"
#include "tap.h"

#define COUNT		25000
#define COUNT_LONG	100000
/* With all checks of the debug kernel each takes several times as long. */
#define COUNT_DEBUG	20000

static void go(enum sonde_transfer_way way)
{
	const char *kernel = getenv("SONDE_GUEST");
	int is_debug = kernel && !strcmp(kernel, "debug");
	unsigned int count = tap_long() ? COUNT_LONG : COUNT;
	const char *why = transfers_run(way, is_debug ? COUNT_DEBUG : count);

	check_msg(!why, "%s", why);
}

static void no_byte_is_wrong_by_the_module(void)
{
	go(SONDE_TRANSFER_MODULE);
}

static void no_byte_is_wrong_by_cma_in_the_same_guest(void)
{
	go(SONDE_TRANSFER_CMA);
}

static void no_byte_is_wrong_where_each_region_goes_the_best_way(void)
{
	go(SONDE_TRANSFER_AUTO);
}

static const struct tap_test tests[] = {
	TAP_TEST(no_byte_is_wrong_by_the_module),
	TAP_TEST(no_byte_is_wrong_by_cma_in_the_same_guest),
	TAP_TEST(no_byte_is_wrong_where_each_region_goes_the_best_way),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
