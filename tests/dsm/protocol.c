// SPDX-License-Identifier: GPL-2.0-or-later
/* What operations cost in messages, one by one; bad configurations; damaged messages. */
#include <errno.h>
#include <string.h>

#include "../../dsm/core/wire.h"
#include "../../dsm/sim/world.h"
#include "../../lib/rng.h"
#include "../unit/tap.h"

static struct world *w;

static uint64_t count(enum dsm_message kind)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < w->c.processes; i++) {
		const struct dsm_counters *c = dsm_core_counters(w->processes[i].core);

		for (int k = 1; k < DSM_MESSAGES; k++)
			n += kind == DSM_MESSAGES || (int)kind == k ? c->messages[k] : 0;
	}
	return n;
}

static uint64_t all_messages(void)
{
	return count(DSM_MESSAGES);
}

static void open_world(uint32_t processes, uint32_t threads, uint32_t pages)
{
	w = world_create(&(struct world_config){ .processes = processes, .threads = threads,
						 .pages = pages, .unit = 4096 });
}

static void close_world(void)
{
	ck_assert_str_eq("", w->why);
	world_destroy(w);
}

static void event(uint32_t process, enum dsm_event_kind kind, uint64_t id, uint64_t arg)
{
	world_event(w, process, 0, kind, id, arg);
	world_settle(w);
}

static uint8_t *touch(uint32_t process, uint32_t page, bool write)
{
	uint8_t *at;

	for (int tries = 0; tries < 4; tries++) {
		at = world_touch(w, process, 0, page, write);
		if (at)
			return at;
		world_settle(w);
	}
	ck_abort_msg("no access after four faults");
}

static void barrier(void)
{
	for (uint32_t i = 0; i < w->c.processes; i++)
		world_event(w, i, 0, DSM_EV_BARRIER, 7, 1);
	world_settle(w);
	for (uint32_t i = 0; i < w->c.processes; i++)
		ck_assert(!w->processes[i].threads[0].blocked);
}

START_TEST(a_page_nobody_wrote_is_zeros_without_a_message)
{
	open_world(4, 1, 8);
	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t page = 0; page < 8; page++)
			ck_assert_uint_eq(0, *touch(i, page, false));
	ck_assert_uint_eq(0, all_messages());
	close_world();
}
END_TEST

START_TEST(a_lock_costs_three_messages_and_nothing_where_it_was_last)
{
	open_world(4, 1, 4);
	/* Lock 1's manager is process 1: first it has the token itself. */
	event(0, DSM_EV_LOCK, 1, 0);
	ck_assert_uint_eq(2, all_messages());
	event(0, DSM_EV_UNLOCK, 1, 0);
	event(0, DSM_EV_LOCK, 1, 0);
	event(0, DSM_EV_UNLOCK, 1, 0);
	ck_assert_uint_eq(2, all_messages());
	event(2, DSM_EV_LOCK, 1, 0);
	ck_assert_uint_eq(5, all_messages());
	close_world();
}
END_TEST

START_TEST(a_release_costs_two_messages_for_each_home)
{
	open_world(4, 1, 12);
	event(0, DSM_EV_LOCK, 0, 0);
	for (uint32_t page = 0; page < 12; page++)
		touch(0, page, true)[page] = 1;
	ck_assert_uint_eq(0, all_messages());
	event(0, DSM_EV_UNLOCK, 0, 0);
	ck_assert_uint_eq(3, count(DSM_DIFF));
	ck_assert_uint_eq(3, count(DSM_ACK));
	ck_assert_uint_eq(6, all_messages());
	close_world();
}
END_TEST

START_TEST(a_miss_is_one_request_and_one_reply)
{
	open_world(2, 1, 2);
	touch(0, 0, true)[5] = 9;
	barrier();
	ck_assert_uint_eq(2, all_messages());
	ck_assert_uint_eq(9, touch(1, 0, false)[5]);
	ck_assert_uint_eq(4, all_messages());
	close_world();
}
END_TEST

START_TEST(a_home_that_nobody_reads_writes_without_faults_and_notices)
{
	uint64_t faults, notices;

	open_world(2, 1, 2);
	touch(0, 0, true)[0] = 1;
	barrier();
	faults = dsm_core_counters(w->processes[0].core)->write_faults;
	notices = dsm_core_counters(w->processes[0].core)->notices;
	for (int i = 0; i < 10; i++) {
		touch(0, 0, true)[0]++;
		barrier();
	}
	ck_assert_uint_eq(faults, dsm_core_counters(w->processes[0].core)->write_faults);
	ck_assert_uint_eq(notices, dsm_core_counters(w->processes[0].core)->notices);
	ck_assert_uint_eq(11, touch(1, 0, false)[0]);
	touch(0, 0, true)[0]++;
	ck_assert_uint_eq(faults + 1, dsm_core_counters(w->processes[0].core)->write_faults);
	close_world();
}
END_TEST

START_TEST(a_sole_writer_keeps_its_copy)
{
	uint64_t fetches;

	open_world(2, 1, 2);
	for (int i = 0; i < 5; i++) {
		touch(0, 1, true)[0]++;
		barrier();
	}
	fetches = count(DSM_FETCH);
	ck_assert_uint_eq(0, fetches);
	close_world();
}
END_TEST

/* n = 2 to 16 central, above by a tree; the same number of messages. */
START_TEST(a_barrier_costs_two_messages_for_each_process_but_one)
{
	static const uint32_t sizes[] = { 1, 2, 3, 16, 17, 40 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint32_t n = sizes[i];

		open_world(n, 1, n);
		barrier();
		ck_assert_uint_eq(2 * (n - 1), all_messages());
		for (uint32_t p = 0; p < n; p++)
			touch(p, p, true)[0] = (uint8_t)(p + 1);
		barrier();
		world_check_idle(w);
		ck_assert_uint_eq(4 * (n - 1), all_messages());
		for (uint32_t p = 0; p < n; p++)
			ck_assert_uint_eq(p + 1, touch((p + 1) % n, p, false)[0]);
		close_world();
	}
}
END_TEST

START_TEST(a_wait_and_a_signal_cost_four_messages_and_the_lock)
{
	open_world(4, 1, 4);
	event(1, DSM_EV_LOCK, 1, 0);
	ck_assert_uint_eq(0, all_messages());
	event(1, DSM_EV_WAIT, 3, 1);
	ck_assert(w->processes[1].threads[0].blocked);
	event(2, DSM_EV_SIGNAL, 3, 0);
	ck_assert(!w->processes[1].threads[0].blocked);
	ck_assert_uint_eq(4, all_messages());
	event(1, DSM_EV_UNLOCK, 1, 0);
	close_world();
}
END_TEST

START_TEST(diffs_above_the_limit_go_in_several_messages)
{
	w = world_create(&(struct world_config){ .processes = 2, .threads = 1, .pages = 64,
						 .unit = 4096, .message_max = 10000 });
	for (uint32_t page = 1; page < 64; page += 2)
		memset(touch(0, page, true), 1, 4096);
	barrier();
	/* 32 pages of 4,108 bytes with what is before them, two in a message. */
	ck_assert_uint_eq(16, count(DSM_DIFF));
	ck_assert_uint_eq(16, count(DSM_ACK));
	for (uint32_t page = 1; page < 64; page += 2)
		ck_assert_uint_eq(1, touch(1, page, false)[4095]);
	close_world();
}
END_TEST

START_TEST(notices_of_a_program_without_barriers_are_collected)
{
	w = world_create(&(struct world_config){ .processes = 3, .threads = 1, .pages = 8,
						 .unit = 4096, .notices_max = 32 });
	for (int i = 0; i < 500; i++) {
		uint32_t p = (uint32_t)i % 2;

		event(p, DSM_EV_LOCK, 0, 0);
		for (uint32_t page = 0; page < 8; page++)
			touch(p, page, true)[0]++;
		event(p, DSM_EV_UNLOCK, 0, 0);
		/* Process 2 says nothing all the time. */
		ck_assert_uint_le(dsm_core_notices(w->processes[p].core), 32);
	}
	ck_assert_uint_le(dsm_core_notices(w->processes[2].core), 32);
	ck_assert_uint_gt(count(DSM_NOTICES), 0);
	ck_assert_uint_lt(count(DSM_NOTICES), 1000);
	event(2, DSM_EV_LOCK, 0, 0);
	ck_assert_uint_eq(500 % 256, touch(2, 3, false)[0]);
	close_world();
}
END_TEST

/* Home of page p is process p mod 3. */
static void write_all(uint8_t value)
{
	for (uint32_t page = 0; page < 12; page++)
		touch(0, page, true)[page] = value;
}

START_TEST(a_prefetch_is_one_request_to_each_home_and_one_answer)
{
	uint64_t before;

	open_world(3, 1, 12);
	write_all(7);
	barrier();
	before = all_messages();
	event(1, DSM_EV_PREFETCH, 0, 12);
	ck_assert_uint_eq(2, count(DSM_FETCH_LIST));
	ck_assert_uint_eq(2, count(DSM_PAGES));
	for (uint32_t page = 0; page < 12; page++)
		ck_assert_uint_eq(7, touch(1, page, false)[page]);
	/* Nothing is old any more. */
	event(1, DSM_EV_PREFETCH, 0, 12);
	ck_assert_uint_eq(before + 4, all_messages());
	close_world();
}
END_TEST

START_TEST(an_acquire_of_the_newest_copies_moves_no_page)
{
	const struct dsm_counters *home;
	uint64_t before;

	open_world(3, 1, 12);
	write_all(7);
	barrier();
	event(1, DSM_EV_ACQUIRE, 0, 12);
	home = dsm_core_counters(w->processes[0].core);
	before = home->bytes[DSM_PAGES];
	ck_assert_uint_gt(before, 4 * 4096);
	event(1, DSM_EV_ACQUIRE, 0, 12);
	ck_assert_uint_lt(home->bytes[DSM_PAGES], before + 200);
	ck_assert_uint_eq(7, touch(1, 3, false)[3]);
	ck_assert_uint_eq(0, count(DSM_FETCH));
	close_world();
}
END_TEST

START_TEST(a_release_of_a_range_sends_its_pages_and_leaves_the_others)
{
	open_world(3, 1, 12);
	write_all(7);
	event(0, DSM_EV_RELEASE, 4, 6);
	ck_assert_uint_eq(2, count(DSM_DIFF));
	ck_assert_uint_eq(2, dsm_core_counters(w->processes[0].core)->diffs);
	event(2, DSM_EV_ACQUIRE, 3, 6);
	ck_assert_uint_eq(7, touch(2, 4, false)[4]);
	ck_assert_uint_eq(7, touch(2, 5, false)[5]);
	barrier();
	for (uint32_t page = 0; page < 12; page++)
		ck_assert_uint_eq(7, touch(2, page, false)[page]);
	close_world();
}
END_TEST

START_TEST(refuses_what_makes_no_sense)
{
	struct dsm_config no_host = { .processes = 2, .pages = 1, .unit = 4096, .threads = 1 };
	struct dsm_core *core = NULL;

	ck_assert_int_eq(-EINVAL, dsm_core_create(&core, &no_host));
	ck_assert_ptr_null(core);
	open_world(2, 1, 2);
	ck_assert_int_eq(-EINVAL, dsm_core_set_home(w->processes[0].core, 2, 0));
	ck_assert_int_eq(-EINVAL, dsm_core_set_home(w->processes[0].core, 0, 2));
	ck_assert_int_eq(0, dsm_core_set_home(w->processes[0].core, 1, 0));
	close_world();

	open_world(2, 1, 2);
	world_event(w, 0, 0, DSM_EV_UNLOCK, 5, 0);
	ck_assert_str_ne("", w->why);
	world_destroy(w);
	open_world(2, 1, 2);
	world_event(w, 0, 0, DSM_EV_READ, 2, 0);
	ck_assert_str_ne("", w->why);
	world_destroy(w);
	for (int i = 0; i < 2; i++) {
		open_world(2, 1, 2);
		world_event(w, 0, 0, DSM_EV_ACQUIRE, 1, i ? 3 : 1);
		ck_assert_str_ne("", w->why);
		world_destroy(w);
	}
}
END_TEST

static void *no_twin(void *ctx, uint32_t page)
{
	(void)ctx;
	(void)page;
	return NULL;
}

static void *one_page(void *ctx, uint32_t page)
{
	(void)page;
	return ctx;
}

static int protect_nothing(void *ctx, const uint32_t *pages, size_t n, enum dsm_prot prot)
{
	(void)ctx;
	(void)pages;
	(void)n;
	(void)prot;
	return 0;
}

static void no_untwin(void *ctx, uint32_t page)
{
	(void)ctx;
	(void)page;
}

START_TEST(a_twin_that_cannot_be_had_is_an_error_and_nobody_goes_on)
{
	static uint8_t page[4096];
	struct dsm_config config = {
		.processes = 2, .pages = 2, .unit = 4096, .threads = 1,
		.host = { .ctx = page, .page = one_page, .protect = protect_nothing,
			  .twin = no_twin, .untwin = no_untwin },
	};
	struct dsm_actions out = { 0 };
	struct dsm_core *core;

	ck_assert_int_eq(0, dsm_core_create(&core, &config));
	ck_assert_int_eq(-ENOMEM, dsm_core_step(core, &(struct dsm_event){ .kind = DSM_EV_WRITE,
							.id = 1 }, &out));
	ck_assert_uint_eq(0, out.n);
	dsm_actions_free(&out);
	dsm_core_destroy(core);
}
END_TEST

/* A message is what it is or an error; the sanitizers look for the rest. */
START_TEST(damaged_messages_are_errors)
{
	struct sonde_rng rng;
	uint32_t refused = 0;

	sonde_rng_seed(&rng, 3);
	for (int round = 0; round < 3000; round++) {
		struct dsm_actions out = { 0 };
		size_t len = DSM_HEAD + sonde_rng_below(&rng, 90);
		struct dsm_message_head h = {
			.kind = (uint8_t)(1 + sonde_rng_below(&rng, DSM_MESSAGES)),
			.from = 1, .len = (uint32_t)(len - DSM_HEAD), .number = 1,
			.id = sonde_rng_below(&rng, 4), .arg = sonde_rng_below(&rng, 4),
		};
		uint8_t *data = malloc(len);

		open_world(3, 2, 3);
		for (size_t i = DSM_HEAD; i < len; i++)
			data[i] = sonde_rng_below(&rng, 3) ? 0 : (uint8_t)sonde_rng_next(&rng);
		dsm_put_head(data, &h);
		if (!sonde_rng_below(&rng, 8))
			data[sonde_rng_below(&rng, len)] ^= 0xff;
		refused += dsm_core_step(w->processes[0].core, &(struct dsm_event){
			.kind = DSM_EV_MESSAGE, .id = 1, .data = data, .len = len }, &out) != 0;
		dsm_actions_free(&out);
		free(data);
		world_destroy(w);
	}
	ck_assert_uint_gt(refused, 1000);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("protocol");
	TCase *t = tcase_create("protocol");

	tcase_set_timeout(t, 300);
	tcase_add_test(t, a_page_nobody_wrote_is_zeros_without_a_message);
	tcase_add_test(t, a_lock_costs_three_messages_and_nothing_where_it_was_last);
	tcase_add_test(t, a_release_costs_two_messages_for_each_home);
	tcase_add_test(t, a_miss_is_one_request_and_one_reply);
	tcase_add_test(t, a_home_that_nobody_reads_writes_without_faults_and_notices);
	tcase_add_test(t, a_sole_writer_keeps_its_copy);
	tcase_add_test(t, a_barrier_costs_two_messages_for_each_process_but_one);
	tcase_add_test(t, a_wait_and_a_signal_cost_four_messages_and_the_lock);
	tcase_add_test(t, diffs_above_the_limit_go_in_several_messages);
	tcase_add_test(t, notices_of_a_program_without_barriers_are_collected);
	tcase_add_test(t, a_prefetch_is_one_request_to_each_home_and_one_answer);
	tcase_add_test(t, an_acquire_of_the_newest_copies_moves_no_page);
	tcase_add_test(t, a_release_of_a_range_sends_its_pages_and_leaves_the_others);
	tcase_add_test(t, refuses_what_makes_no_sense);
	tcase_add_test(t, a_twin_that_cannot_be_had_is_an_error_and_nobody_goes_on);
	tcase_add_test(t, damaged_messages_are_errors);
	suite_add_tcase(s, t);
	return tap_run(s);
}
