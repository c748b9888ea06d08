// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The simulator's core against what can be computed by hand. Numbers of the
 * class are chosen so that every term shows in the sum.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../../coll/sim/engine.h"
#include "../../coll/sim/lru.h"
#include "../../coll/sim/patterns.h"
#include "tap.h"

#define EVERYTHING 1e15

/* o 100 and 200, L 1000, g 50, G 2; nothing else costs. */
static const struct a2a_class plain = {
	.latency_ns = 1000, .send_ns = 100, .recv_ns = 200, .gap_ns = 50, .byte_ns = 2,
	.eager_max_bytes = EVERYTHING, .packet_bytes = 1024, .bruck_max_bytes = 0,
};

#define MOST_OPS 16

/* The steps of every rank, written down. */
struct script {
	struct a2a_op ops[4][MOST_OPS];
};

#define SEND(to, n)	{ .kind = A2A_SEND, .peer = (to), .bytes = (n) }
#define RECV(from, n)	{ .kind = A2A_RECV, .peer = (from), .bytes = (n) }
#define WAIT		{ .kind = A2A_WAIT }
#define STOP		{ .kind = (enum a2a_kind)99 }

static int get_scripted(const void *ctx, uint32_t rank, uint64_t index, struct a2a_op *op)
{
	const struct script *script = ctx;

	*op = script->ops[rank][index];
	return op->kind != (enum a2a_kind)99;
}

static int run(const struct script *script, uint32_t nodes, uint32_t ppn,
	       const struct a2a_class *class, struct a2a_stats *stats, double finish[4])
{
	const struct a2a_program program = {
		.nodes = nodes, .ppn = ppn, .ctx = script, .get = get_scripted,
	};

	return a2a_simulate(&program, class, 0, NULL, stats, finish);
}

static const struct script one_message = { {
	{ SEND(1, 11), STOP },
	{ RECV(0, 11), WAIT, STOP },
} };

START_TEST(one_message_takes_o_and_L_and_the_bytes_after_the_first_and_o)
{
	struct a2a_stats stats;
	double finish[4];

	ck_assert_int_eq(run(&one_message, 2, 1, &plain, &stats, finish), 0);
	ck_assert_double_eq(finish[0], 100);
	ck_assert_double_eq(finish[1], 100 + 1000 + 2 * 10 + 200);
	ck_assert_double_eq(stats.time_ns, finish[1]);
}
END_TEST

START_TEST(the_second_of_two_messages_waits_for_the_gap)
{
	/* Both are ready at 100 and 200; the adapter is busy from 100 to 100 + 200 + 50. */
	static const struct script script = { {
		{ SEND(1, 101), SEND(1, 101), STOP },
		{ RECV(0, 101), RECV(0, 101), WAIT, STOP },
	} };
	struct a2a_stats stats;
	double finish[4];

	ck_assert_int_eq(run(&script, 2, 1, &plain, &stats, finish), 0);
	ck_assert_double_eq(finish[0], 200);
	ck_assert_double_eq(finish[1], 350 + 1000 + 200 + 200);
}
END_TEST

START_TEST(many_senders_queue_at_the_one_receiver)
{
	/* All arrive at 1100; each keeps the receiver's adapter for 200 + 50. */
	static const struct script script = { {
		{ RECV(1, 101), RECV(2, 101), RECV(3, 101), WAIT, STOP },
		{ SEND(0, 101), STOP }, { SEND(0, 101), STOP }, { SEND(0, 101), STOP },
	} };
	struct a2a_stats stats;
	double finish[4];

	ck_assert_int_eq(run(&script, 4, 1, &plain, &stats, finish), 0);
	ck_assert_double_eq(finish[0], 1100 + 2 * 250 + 200 + 200);
}
END_TEST

START_TEST(what_is_alone_of_its_stream_keeps_the_adapter_longer)
{
	static const struct script same = { {
		{ SEND(1, 1), SEND(1, 1), SEND(1, 1), STOP },
		{ RECV(0, 1), RECV(0, 1), RECV(0, 1), WAIT, STOP }, { STOP },
	} };
	static const struct script other = { {
		{ SEND(1, 1), SEND(2, 1), SEND(1, 1), STOP },
		{ RECV(0, 1), RECV(0, 1), WAIT, STOP }, { RECV(0, 1), WAIT, STOP },
	} };
	struct a2a_class class = plain;
	struct a2a_stats stats;
	double finish[4];

	/*
	 * The first of a stream is alone: its gap ends at 100 + 50 + 300, and when it
	 * comes in also. The others are there at 1450 and 1500, and handled in turn.
	 */
	class.lone_ns = 300;
	ck_assert_int_eq(run(&same, 3, 1, &class, &stats, finish), 0);
	ck_assert_double_eq(finish[1], 1450 + 200 + 200);
	ck_assert_int_eq(run(&other, 3, 1, &class, &stats, finish), 0);
	ck_assert_double_eq(finish[1], 450 + 350 + 1000 + 200);
}
END_TEST

START_TEST(a_processor_that_moves_the_bytes_delays_its_own_message_only)
{
	/* The first packet of 1024 is handed over at 100 + 1024 * 5, all at 100 + 2048 * 5. */
	static const struct script script = { {
		{ SEND(1, 2048), STOP },
		{ RECV(0, 2048), WAIT, STOP },
	} };
	struct a2a_class class = plain;
	struct a2a_stats stats;
	double finish[4];

	class.pio_max_bytes = EVERYTHING;
	class.pio_byte_ns = 5;
	ck_assert_int_eq(run(&script, 2, 1, &class, &stats, finish), 0);
	ck_assert_double_eq(finish[0], 100 + 2048 * 5);
	ck_assert_double_eq(finish[1], 100 + 2048 * 5 + 1000 + 200);
	class.pio_max_bytes = 2047;
	ck_assert_int_eq(run(&script, 2, 1, &class, &stats, finish), 0);
	ck_assert_double_eq(finish[0], 100);
	ck_assert_double_eq(finish[1], 100 + 1000 + 2047 * 2 + 200);
}
END_TEST

START_TEST(eager_messages_are_copied_at_both_ends)
{
	struct a2a_class class = plain;
	struct a2a_stats stats;
	double finish[4];

	class.eager_byte_ns = 3;
	ck_assert_int_eq(run(&one_message, 2, 1, &class, &stats, finish), 0);
	ck_assert_double_eq(finish[0], 100 + 33);
	ck_assert_double_eq(finish[1], 133 + 1000 + 20 + 200 + 33);
}
END_TEST

START_TEST(long_messages_wait_for_their_receiver)
{
	/* Request: 100 + 1000 + 200; grant: + 100 + 1000 + 200; data: + 100 + 1000 + 20 + 200. */
	static const struct script script = { {
		{ SEND(1, 11), WAIT, STOP },
		{ RECV(0, 11), WAIT, STOP },
	} };
	struct a2a_class class = plain;
	struct a2a_stats stats;
	double finish[4];

	class.eager_max_bytes = 10;
	ck_assert_int_eq(run(&script, 2, 1, &class, &stats, finish), 0);
	ck_assert_double_eq(finish[0], 1300 + 1300 + 100);
	ck_assert_double_eq(finish[1], 1300 + 1300 + 1320);
	ck_assert_uint_eq(stats.messages, 1);
	ck_assert_uint_eq(stats.received, 1);
}
END_TEST

START_TEST(turning_to_another_process_costs_once_a_packet_while_both_wait)
{
	/* Two ranks of node 0 send three packets each; the third sends alone. */
	static const struct script script = { {
		{ SEND(2, 3072), STOP }, { SEND(3, 3072), STOP },
		{ RECV(0, 3072), WAIT, STOP }, { RECV(1, 3072), WAIT, STOP },
	} };
	struct a2a_class class = plain;
	struct a2a_stats stats;
	double finish[4];
	const double stream = 3071 * 2;

	class.switch_ns = 7;
	ck_assert_int_eq(run(&script, 2, 2, &class, &stats, finish), 0);
	/*
	 * Both hand over at 100. The first has no other in the queue behind it yet;
	 * the second turns once.
	 */
	ck_assert_double_eq(finish[2], 100 + 1000 + stream + 200);
	ck_assert_double_eq(finish[3], 100 + stream + 50 + 7 + 1000 + stream + 200);
}
END_TEST

START_TEST(a_queue_of_two_processes_turns_between_packets)
{
	/* The first message of each goes on while others of both wait. */
	static const struct script script = { {
		{ SEND(2, 2048), SEND(2, 2048), STOP }, { SEND(3, 2048), STOP },
		{ RECV(0, 2048), RECV(0, 2048), WAIT, STOP }, { RECV(1, 2048), WAIT, STOP },
	} };
	struct a2a_class class = plain;
	struct a2a_stats stats;
	double finish[4];
	const double stream = 2047 * 2;

	class.switch_ns = 7;
	ck_assert_int_eq(run(&script, 2, 2, &class, &stats, finish), 0);
	/* The second to go is rank 1's: a turn before it and one between its packets. */
	ck_assert_double_eq(finish[3], 100 + stream + 50 + 7 + 1000 + stream + 7 + 200);
	/* Then rank 0's again, alone in the queue. */
	ck_assert_double_eq(finish[2], 100 + 2 * (stream + 57) + 7 + 1000 + stream + 200);
}
END_TEST

START_TEST(connections_beyond_the_cache_are_fetched_at_both_ends)
{
	/* Rank 0 goes round three peers twice: with room for two, what is wanted has just gone. */
	static const struct script script = { {
		{ SEND(1, 1), SEND(2, 1), SEND(3, 1), SEND(1, 1), SEND(2, 1), SEND(3, 1), STOP },
		{ RECV(0, 1), RECV(0, 1), WAIT, STOP }, { RECV(0, 1), RECV(0, 1), WAIT, STOP },
		{ RECV(0, 1), RECV(0, 1), WAIT, STOP },
	} };
	struct a2a_class class = plain;
	struct a2a_stats stats;
	double finish[4];

	class.qp_miss_ns = 500;
	class.qp_cache = 2;
	ck_assert_int_eq(run(&script, 4, 1, &class, &stats, finish), 0);
	ck_assert_uint_eq(stats.qp_misses, 4);
	ck_assert_uint_eq(stats.qp_hits, 12 - 4);
	class.qp_cache = 3;
	ck_assert_int_eq(run(&script, 4, 1, &class, &stats, finish), 0);
	ck_assert_uint_eq(stats.qp_misses, 0);
	class.qp_cache = 0;
	ck_assert_int_eq(run(&script, 4, 1, &class, &stats, finish), 0);
	ck_assert_uint_eq(stats.qp_misses, 0);
}
END_TEST

START_TEST(a_fetch_delays_the_message)
{
	static const struct script script = { {
		{ SEND(1, 1), SEND(2, 1), STOP }, { RECV(0, 1), WAIT, STOP },
		{ RECV(0, 1), WAIT, STOP },
	} };
	struct a2a_class class = plain;
	struct a2a_stats stats;
	double finish[4];

	class.qp_miss_ns = 500;
	class.qp_cache = 1;
	ck_assert_int_eq(run(&script, 3, 1, &class, &stats, finish), 0);
	ck_assert_double_eq(finish[2], 200 + 500 + 1000 + 200);
}
END_TEST

START_TEST(messages_within_a_node_never_see_the_adapter)
{
	static const struct script script = { {
		{ SEND(1, 10), STOP },
		{ RECV(0, 10), WAIT, STOP },
	} };
	struct a2a_class class = plain;
	struct a2a_stats stats;
	double finish[4];

	class.local_ns = 40;
	class.hot_byte_ns = 3;
	ck_assert_int_eq(run(&script, 1, 2, &class, &stats, finish), 0);
	ck_assert_double_eq(finish[1], 2 * (40 + 30));
	ck_assert_uint_eq(stats.messages, 1);
	ck_assert_uint_eq(stats.wire_messages, 0);
}
END_TEST

START_TEST(a_barrier_ends_for_all_after_the_last_and_its_steps)
{
	static const struct script script = { {
		{ { .kind = A2A_COPY, .bytes = 100 }, { .kind = A2A_BARRIER }, STOP },
		{ { .kind = A2A_COPY, .bytes = 100, .cold = 1 }, { .kind = A2A_BARRIER }, STOP },
		{ { .kind = A2A_COPY, .bytes = 100, .cold = 0.5 }, { .kind = A2A_BARRIER }, STOP },
	} };
	struct a2a_class class = plain;
	struct a2a_stats stats;
	double finish[4];

	class.hot_byte_ns = 1;
	class.cold_byte_ns = 4;
	class.barrier_ns = 30;
	ck_assert_int_eq(run(&script, 1, 3, &class, &stats, finish), 0);
	for (int r = 0; r < 3; r++)
		ck_assert_double_eq(finish[r], 400 + 2 * 30);
}
END_TEST

START_TEST(what_comes_for_a_later_tag_waits_until_the_rank_does)
{
	/* Rank 2's message of tag 1 is there long before rank 0's of tag 0. */
	static const struct script script = { {
		{ { .kind = A2A_COPY, .bytes = 1000 }, SEND(1, 1), STOP },
		{ RECV(0, 1), WAIT, { .kind = A2A_RECV, .peer = 2, .bytes = 1, .tag = 1 },
		  { .kind = A2A_WAIT, .tag = 1 }, STOP },
		{ { .kind = A2A_SEND, .peer = 1, .bytes = 1, .tag = 1 }, STOP },
	} };
	struct a2a_class class = plain;
	struct a2a_stats stats;
	double finish[4];

	class.hot_byte_ns = 10;
	ck_assert_int_eq(run(&script, 3, 1, &class, &stats, finish), 0);
	ck_assert_double_eq(finish[1], 10000 + 100 + 1000 + 200 + 200);
}
END_TEST

START_TEST(ranks_that_share_processors_take_turns)
{
	/* Two copies of 100 ns, one of 400 and one of 100, on two processors. */
	static const struct script script = { {
		{ { .kind = A2A_COPY, .bytes = 100 }, { .kind = A2A_COPY, .bytes = 100 }, STOP },
		{ { .kind = A2A_COPY, .bytes = 400 }, STOP },
		{ { .kind = A2A_COPY, .bytes = 100 }, STOP },
	} };
	const struct a2a_program program = {
		.nodes = 3, .ppn = 1, .symmetry = A2A_CYCLIC, .ctx = &script, .get = get_scripted,
	};
	struct a2a_class class = plain;
	struct a2a_stats stats;
	double finish[4];

	class.hot_byte_ns = 1;
	class.processors = 2;
	ck_assert_int_eq(run(&script, 3, 1, &class, &stats, finish), 0);
	/* A rank keeps its processor until it has nothing to do; the third waits for it. */
	ck_assert_double_eq(finish[0], 200);
	ck_assert_double_eq(finish[1], 400);
	ck_assert_double_eq(finish[2], 300);
	class.turn_ns = 50;
	ck_assert_int_eq(run(&script, 3, 1, &class, &stats, finish), 0);
	ck_assert_double_eq(finish[0], 200);
	ck_assert_double_eq(finish[2], 350);
	class.processors = 3;
	ck_assert_int_eq(run(&script, 3, 1, &class, &stats, finish), 0);
	ck_assert_double_eq(finish[1], 400);
	ck_assert_int_eq(a2a_simulate(&program, &class, 1, NULL, &stats, NULL), -EINVAL);
}
END_TEST

START_TEST(ranks_that_wait_take_turns_to_look_in_vain)
{
	static const struct script script = { {
		{ SEND(1, 11), STOP },
		{ RECV(0, 11), WAIT, SEND(2, 11), STOP },
		{ RECV(1, 11), WAIT, STOP },
	} };
	static const struct script deadlock = { {
		{ RECV(1, 1), WAIT, STOP }, { RECV(2, 1), WAIT, STOP }, { RECV(0, 1), WAIT, STOP },
	} };
	struct a2a_class class = plain;
	struct a2a_stats stats;
	double finish[4];

	class.processors = 1;
	ck_assert_int_eq(run(&script, 3, 1, &class, &stats, finish), 0);
	ck_assert_double_eq(finish[1], 1420);
	ck_assert_double_eq(finish[2], 2640);
	/*
	 * Rank 1 gives way at 118, then both by turns every 18: rank 1 has the
	 * processor from 1108 to 1126 and takes what came at 1120 at the end of it.
	 */
	class.turn_ns = 10;
	class.poll_ns = 8;
	ck_assert_int_eq(run(&script, 3, 1, &class, &stats, finish), 0);
	ck_assert_double_eq(finish[1], 1426);
	ck_assert_double_eq(finish[2], 2646);
	ck_assert_int_eq(run(&deadlock, 3, 1, &class, &stats, finish), -EDEADLK);
}
END_TEST

START_TEST(a_rank_that_waits_for_nobody_is_told_apart_from_one_that_is_done)
{
	static const struct script script = { {
		{ RECV(1, 1), WAIT, STOP },
		{ STOP },
	} };
	struct a2a_stats stats = { .time_ns = 5 };

	ck_assert_int_eq(run(&script, 2, 1, &plain, &stats, NULL), -EDEADLK);
	ck_assert_double_eq(stats.time_ns, 5);
}
END_TEST

static int stop_at_once(void *ctx, uint64_t events)
{
	*(uint64_t *)ctx = events;
	return 1;
}

/* A barrier after another, without end. */
static int get_barrier(const void *ctx, uint32_t rank, uint64_t index, struct a2a_op *op)
{
	(void)ctx;
	(void)rank;
	(void)index;
	*op = (struct a2a_op){ .kind = A2A_BARRIER };
	return 1;
}

START_TEST(a_watcher_can_end_it)
{
	const struct a2a_program program = { .nodes = 1, .ppn = 1, .get = get_barrier };
	uint64_t seen = 0;
	const struct a2a_watch watch = { stop_at_once, &seen };
	struct a2a_stats stats;

	ck_assert_int_eq(a2a_simulate(&program, &plain, 0, &watch, &stats, NULL), -ECANCELED);
	ck_assert_uint_gt(seen, 0);
}
END_TEST

START_TEST(sizes_out_of_bounds_are_refused)
{
	static const struct {
		uint32_t nodes, ppn;
		int is_reduced;
	} bad[] = {
		{ 0, 1, 0 }, { 1, 0, 0 }, { A2A_MAX_NODES + 1, 1, 0 }, { 1, A2A_MAX_PPN + 1, 0 },
		{ A2A_MAX_NODES, A2A_MAX_PPN, 0 }, { 2, 1, 1 },
	};
	struct a2a_stats stats;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct a2a_program program = {
			.nodes = bad[i].nodes, .ppn = bad[i].ppn, .ctx = &one_message,
			.get = get_scripted,
		};

		ck_assert_int_eq(a2a_simulate(&program, &plain, bad[i].is_reduced, NULL, &stats,
					      NULL), -EINVAL);
	}
}
END_TEST

START_TEST(the_cache_forgets_what_was_used_least_recently)
{
	struct a2a_lru *lru = a2a_lru_new(2);

	ck_assert_ptr_nonnull(lru);
	ck_assert_int_eq(a2a_lru_touch(lru, 10), A2A_ROOM);
	ck_assert_int_eq(a2a_lru_touch(lru, 20), A2A_ROOM);
	ck_assert_int_eq(a2a_lru_touch(lru, 10), A2A_HIT);
	ck_assert_int_eq(a2a_lru_touch(lru, 30), A2A_MISS);
	ck_assert_int_eq(a2a_lru_touch(lru, 10), A2A_HIT);
	ck_assert_int_eq(a2a_lru_touch(lru, 20), A2A_MISS);
	ck_assert_int_eq(a2a_lru_touch(lru, 30), A2A_MISS);
	a2a_lru_free(lru);
}
END_TEST

/* Against a list in order of use: keys that hash to the same slots come often. */
START_TEST(the_cache_agrees_with_a_list)
{
	enum { CAPACITY = 13, KEYS = 40 };
	struct a2a_lru *lru = a2a_lru_new(CAPACITY);
	uint64_t list[CAPACITY], state = 1;
	size_t n = 0;

	ck_assert_ptr_nonnull(lru);
	for (int i = 0; i < 200000; i++) {
		uint64_t key;
		size_t at = 0;

		state = state * 6364136223846793005 + 1442695040888963407;
		key = (state >> 33) % KEYS << 32 | (state >> 40) % 3;
		while (at < n && list[at] != key)
			at++;
		ck_assert_int_eq(a2a_lru_touch(lru, key),
				 at < n ? A2A_HIT : n < CAPACITY ? A2A_ROOM : A2A_MISS);
		if (at == n && n < CAPACITY)
			n++;
		if (at == CAPACITY)
			at--;
		memmove(list + 1, list, at * sizeof(*list));
		list[0] = key;
	}
	a2a_lru_free(lru);
}
END_TEST

START_TEST(streams_of_infinipath_are_those_that_its_maker_measured)
{
	/* QLogic IB6054601-00 D, A.3: MB/s of four processes, one way. Within a quarter. */
	static const struct {
		uint64_t bytes;
		double mb_s;
	} measured[] = {
		{ 128, 569.7 }, { 256, 725.8 }, { 512, 839.5 }, { 1024, 913.4 }, { 2048, 954.5 },
		{ 16384, 954.5 }, { 1048576, 952.5 },
	};

	for (size_t i = 0; i < sizeof(measured) / sizeof(measured[0]); i++) {
		double both;

		ck_assert_int_eq(a2a_bandwidth(a2a_class(0), 4, measured[i].bytes, &both), 0);
		ck_assert_double_gt(both / 2, 0.75 * measured[i].mb_s);
		ck_assert_double_lt(both / 2, 1.25 * measured[i].mb_s);
	}
}
END_TEST

START_TEST(more_pairs_help_infinipath_and_connectx_and_hurt_infinihost)
{
	double one, four;

	for (size_t c = 0; c < A2A_CLASSES; c++) {
		int is_infinihost = !strcmp(a2a_class(c)->name, "infinihost3");
		uint64_t bytes = is_infinihost ? 65536 : 2048;

		ck_assert_int_eq(a2a_bandwidth(a2a_class(c), 1, bytes, &one), 0);
		ck_assert_int_eq(a2a_bandwidth(a2a_class(c), 4, bytes, &four), 0);
		if (is_infinihost)
			ck_assert_double_lt(four, 0.8 * one);
		else
			ck_assert_double_gt(four, 1.2 * one);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("alltoall_engine");
	TCase *tc = tcase_create("engine"), *machines = tcase_create("machines");

	tcase_add_test(tc, one_message_takes_o_and_L_and_the_bytes_after_the_first_and_o);
	tcase_add_test(tc, the_second_of_two_messages_waits_for_the_gap);
	tcase_add_test(tc, many_senders_queue_at_the_one_receiver);
	tcase_add_test(tc, what_is_alone_of_its_stream_keeps_the_adapter_longer);
	tcase_add_test(tc, a_processor_that_moves_the_bytes_delays_its_own_message_only);
	tcase_add_test(tc, eager_messages_are_copied_at_both_ends);
	tcase_add_test(tc, long_messages_wait_for_their_receiver);
	tcase_add_test(tc, turning_to_another_process_costs_once_a_packet_while_both_wait);
	tcase_add_test(tc, a_queue_of_two_processes_turns_between_packets);
	tcase_add_test(tc, connections_beyond_the_cache_are_fetched_at_both_ends);
	tcase_add_test(tc, a_fetch_delays_the_message);
	tcase_add_test(tc, messages_within_a_node_never_see_the_adapter);
	tcase_add_test(tc, a_barrier_ends_for_all_after_the_last_and_its_steps);
	tcase_add_test(tc, what_comes_for_a_later_tag_waits_until_the_rank_does);
	tcase_add_test(tc, ranks_that_share_processors_take_turns);
	tcase_add_test(tc, ranks_that_wait_take_turns_to_look_in_vain);
	tcase_add_test(tc, a_rank_that_waits_for_nobody_is_told_apart_from_one_that_is_done);
	tcase_add_test(tc, a_watcher_can_end_it);
	tcase_add_test(tc, sizes_out_of_bounds_are_refused);
	tcase_add_test(tc, the_cache_forgets_what_was_used_least_recently);
	tcase_add_test(tc, the_cache_agrees_with_a_list);
	suite_add_tcase(suite, tc);
	tcase_set_timeout(machines, 60);
	tcase_add_test(machines, streams_of_infinipath_are_those_that_its_maker_measured);
	tcase_add_test(machines, more_pairs_help_infinipath_and_connectx_and_hurt_infinihost);
	suite_add_tcase(suite, machines);
	return tap_run(suite);
}
