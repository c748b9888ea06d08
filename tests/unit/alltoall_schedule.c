// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The schedules of alltoall: what is sent is received, everything is sent, and
 * one node stands for all of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../../coll/sim/exchange.h"
#include "../../coll/sim/goal.h"
#include "tap.h"

static const struct {
	uint32_t nodes, ppn;
} systems[] = {
	{ 1, 1 }, { 1, 4 }, { 2, 1 }, { 2, 3 }, { 3, 4 }, { 4, 4 }, { 5, 2 }, { 7, 3 }, { 8, 2 },
	{ 4, 8 },
};

static const struct a2a_class *class_of(size_t i)
{
	return a2a_class(i % A2A_CLASSES);
}

/* Calls @check for every scheme, exchange, system, size and radix. */
static void for_all(void (*check)(const struct a2a_request *request))
{
	static const uint64_t sizes[] = { 1, 200, 3000 };
	static const uint32_t radices[] = { 2, 3, 5 };

	for (int outer = 0; outer < A2A_OUTERS; outer++)
		for (int inner = A2A_BRUCK; inner < A2A_INNERS; inner++)
			for (size_t s = 0; s < sizeof(systems) / sizeof(systems[0]); s++)
				for (size_t i = 0; i < 3; i++) {
					const struct a2a_request request = {
						.outer = (enum a2a_outer)outer,
						.inner = (enum a2a_inner)inner,
						.nodes = systems[s].nodes, .ppn = systems[s].ppn,
						.bytes = sizes[i], .radix = radices[i],
						.leaders = (systems[s].ppn + 1) / 2,
					};

					check(&request);
				}
}

static void plan_of(const struct a2a_request *request, struct a2a_plan *plan)
{
	ck_assert_int_eq(a2a_plan_make(request, class_of(0), plan), 0);
}

/* ---- messages ------------------------------------------------------------ */

struct counted {
	uint32_t src, dst, tag;
	uint64_t bytes;
};

static int compare_counted(const void *a, const void *b)
{
	const struct counted *x = a, *y = b;

	if (x->src != y->src)
		return x->src < y->src ? -1 : 1;
	if (x->dst != y->dst)
		return x->dst < y->dst ? -1 : 1;
	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

#define MOST_MESSAGES 4096

static size_t list_messages(const struct a2a_program *p, enum a2a_kind kind, struct counted *list)
{
	struct a2a_op op;
	size_t n = 0;

	for (uint32_t rank = 0; rank < p->nodes * p->ppn; rank++)
		for (uint64_t i = 0; p->get(p->ctx, rank, i, &op); i++) {
			if (op.kind != kind)
				continue;
			ck_assert_uint_lt(n, MOST_MESSAGES);
			ck_assert_uint_lt(op.peer, p->nodes * p->ppn);
			ck_assert_uint_ne(op.peer, rank);
			list[n].src = kind == A2A_SEND ? rank : op.peer;
			list[n].dst = kind == A2A_SEND ? op.peer : rank;
			list[n].tag = op.tag;
			list[n++].bytes = op.bytes;
		}
	qsort(list, n, sizeof(*list), compare_counted);
	return n;
}

static void check_pairs(const struct a2a_request *request)
{
	static struct counted sent[MOST_MESSAGES], received[MOST_MESSAGES];
	struct a2a_program program;
	struct a2a_plan plan;
	size_t n;

	plan_of(request, &plan);
	program = a2a_plan_program(&plan);
	n = list_messages(&program, A2A_SEND, sent);
	ck_assert_uint_eq(n, list_messages(&program, A2A_RECV, received));
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(compare_counted(&sent[i], &received[i]), 0);
}

START_TEST(every_message_has_its_receive_with_the_same_tag_and_size)
{
	for_all(check_pairs);
}
END_TEST

static void check_order(const struct a2a_request *request)
{
	struct a2a_program program;
	struct a2a_plan plan;
	struct a2a_op op;

	plan_of(request, &plan);
	program = a2a_plan_program(&plan);
	for (uint32_t rank = 0; rank < program.nodes * program.ppn; rank++) {
		uint64_t due = 0;
		uint32_t tag = 0;

		for (uint64_t i = 0; program.get(program.ctx, rank, i, &op); i++) {
			if (op.kind == A2A_COPY || op.kind == A2A_BARRIER)
				continue;
			ck_assert_uint_ge(op.tag, tag);
			ck_assert(op.tag == tag || !due);
			tag = op.tag;
			due = op.kind == A2A_WAIT ? 0 : due + 1;
		}
		ck_assert_uint_eq(due, 0);
	}
}

START_TEST(tags_never_fall_and_all_of_one_is_waited_for)
{
	for_all(check_order);
}
END_TEST

static uint64_t sum_wire(const struct a2a_request *request)
{
	struct a2a_program program;
	struct a2a_counts counts;
	struct a2a_plan plan;
	uint64_t sum = 0;

	plan_of(request, &plan);
	program = a2a_plan_program(&plan);
	for (uint32_t rank = 0; rank < program.nodes * program.ppn; rank++) {
		a2a_count(&program, rank, &counts);
		sum += counts.wire_bytes;
	}
	return sum;
}

/* Everything that must go from node to node goes, and but for Bruck only once. */
static void check_volume(const struct a2a_request *r)
{
	uint64_t ranks = (uint64_t)r->nodes * r->ppn;
	uint64_t needed = ranks * (ranks - r->ppn) * r->bytes;

	if (r->inner == A2A_BRUCK)
		ck_assert_uint_ge(sum_wire(r), needed);
	else
		ck_assert_uint_eq(sum_wire(r), needed);
}

START_TEST(every_block_goes_to_its_node_once_and_by_Bruck_at_least_once)
{
	for_all(check_volume);
}
END_TEST

START_TEST(counts_are_those_of_the_formulas)
{
	const struct {
		enum a2a_outer outer;
		enum a2a_inner inner;
		uint32_t rank;
		struct a2a_counts counts;
	} known[] = {
		/* 3x4, blocks of 10: 8 ranks elsewhere, 3 here */
		{ A2A_FLAT, A2A_ISEND, 5, { 8, 80, 3, 30, 10, 0 } },
		{ A2A_FLAT, A2A_PAIRWISE, 5, { 8, 80, 3, 30, 10, 0 } },
		{ A2A_SA, A2A_ISEND, 5, { 2, 80, 0, 0, 120 + 40, 2 } },
		{ A2A_RD, A2A_PAIRWISE, 5, { 2, 80, 0, 0, 120 + 40, 2 } },
		{ A2A_LEADER, A2A_ISEND, 4, { 2, 320, 0, 0, 240 + 160, 3 } },
		{ A2A_LEADER, A2A_ISEND, 5, { 0, 0, 0, 0, 240, 3 } },
		{ A2A_LEADERS, A2A_ISEND, 5, { 2, 160, 0, 0, 240 + 80, 3 } },
		/* Three members, two rounds of one block; rotations of three, in and out of one. */
		{ A2A_SA, A2A_BRUCK, 0, { 2, 80, 0, 0, 120 + 2 * 120 + 2 * 2 * 40, 2 } },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct a2a_request request = {
			.outer = known[i].outer, .inner = known[i].inner, .nodes = 3, .ppn = 4,
			.bytes = 10, .leaders = 2, .radix = 2,
		};
		struct a2a_program program;
		struct a2a_counts counts;
		struct a2a_plan plan;

		plan_of(&request, &plan);
		program = a2a_plan_program(&plan);
		a2a_count(&program, known[i].rank, &counts);
		ck_assert_mem_eq(&counts, &known[i].counts, sizeof(counts));
	}
}
END_TEST

START_TEST(leaders_that_do_not_divide_a_node_share_it_as_evenly_as_can_be)
{
	const struct a2a_request request = {
		.outer = A2A_LEADERS, .inner = A2A_ISEND, .nodes = 2, .ppn = 8, .bytes = 1,
		.leaders = 3, .radix = 2,
	};
	static const uint64_t served[] = { 3, 3, 2, 0 };
	struct a2a_program program;
	struct a2a_counts counts;
	struct a2a_plan plan;

	plan_of(&request, &plan);
	program = a2a_plan_program(&plan);
	for (uint32_t rank = 0; rank < 4; rank++) {
		a2a_count(&program, rank, &counts);
		ck_assert_uint_eq(counts.wire_bytes, 8 * served[rank]);
	}
}
END_TEST

/* ---- Bruck --------------------------------------------------------------- */

START_TEST(blocks_by_digit_are_those_that_one_counts)
{
	for (uint32_t n = 1; n < 70; n++)
		for (uint32_t radix = 2; radix < 9; radix++)
			for (uint32_t place = 1; place < n; place *= radix)
				for (uint32_t digit = 0; digit < radix; digit++) {
					uint32_t found = 0;

					for (uint32_t i = 0; i < n; i++)
						found += i / place % radix == digit;
					ck_assert_uint_eq(exchange_count_blocks(n, radix, place,
										digit), found);
				}
}
END_TEST

/*
 * Blocks are moved as the messages say: in round j those whose distance still to
 * go has digit d at that place go d places on. At the end all have arrived.
 */
START_TEST(rounds_of_Bruck_bring_every_block_to_its_place)
{
	for (uint32_t n = 2; n < 40; n++)
		for (uint32_t radix = 2; radix < 7; radix++) {
			const struct exchange e = { A2A_BRUCK, n, 0, radix, 1 };
			uint32_t gone[40] = { 0 };
			struct a2a_op op;

			for (uint64_t i = 0; i < exchange_length(&e); i++) {
				uint32_t place = 1, moved = 0;

				exchange_get(&e, i, &op);
				if (op.kind != A2A_SEND)
					continue;
				for (uint32_t round = 0; round < op.tag; round++)
					place *= radix;
				ck_assert_uint_eq(op.peer % place, 0);
				for (uint32_t to = 0; to < n; to++)
					if (to / place % radix == op.peer / place) {
						gone[to] += op.peer;
						moved++;
					}
				ck_assert_uint_eq(op.bytes, moved);
			}
			for (uint32_t to = 0; to < n; to++)
				ck_assert_uint_eq(gone[to], to);
		}
}
END_TEST

START_TEST(a_radix_of_all_members_sends_each_block_straight)
{
	const struct exchange e = { A2A_BRUCK, 9, 0, 9, 7 };
	struct a2a_op op;
	uint32_t sends = 0;

	for (uint64_t i = 0; i < exchange_length(&e); i++) {
		exchange_get(&e, i, &op);
		if (op.kind == A2A_SEND) {
			ck_assert_uint_eq(op.bytes, 7);
			ck_assert_uint_eq(op.peer, ++sends);
		}
	}
	ck_assert_uint_eq(sends, 8);
}
END_TEST

/* ---- simulated ----------------------------------------------------------- */

static void check_conservation(const struct a2a_request *request)
{
	struct a2a_stats stats;

	for (size_t c = 0; c < A2A_CLASSES; c++) {
		ck_assert_int_eq(a2a_predict(request, class_of(c), 1, NULL, &stats), 0);
		ck_assert_uint_eq(stats.received, stats.messages);
		ck_assert_uint_eq(stats.received_bytes, stats.bytes);
		ck_assert_uint_eq(stats.wire_bytes, sum_wire(request));
	}
}

START_TEST(every_byte_that_is_sent_is_received)
{
	for_all(check_conservation);
}
END_TEST

/* To the last bit: the same sums in the same order. */
static void check_reduction(const struct a2a_request *request)
{
	static double full[64], one[64];
	struct a2a_stats all, alone;
	struct a2a_program program;
	struct a2a_plan plan;

	for (size_t c = 0; c < A2A_CLASSES; c++) {
		ck_assert_int_eq(a2a_plan_make(request, class_of(c), &plan), 0);
		program = a2a_plan_program(&plan);
		ck_assert_int_eq(a2a_simulate(&program, class_of(c), 0, NULL, &all, full), 0);
		ck_assert_int_eq(a2a_simulate(&program, class_of(c), 1, NULL, &alone, one), 0);
		for (uint32_t r = 0; r < request->nodes * request->ppn; r++)
			ck_assert(full[r] == one[r % request->ppn]);
		ck_assert(all.time_ns == alone.time_ns);
		ck_assert_uint_eq(all.messages, request->nodes * alone.messages);
		ck_assert_uint_eq(all.wire_bytes, request->nodes * alone.wire_bytes);
		ck_assert_uint_eq(all.qp_misses, request->nodes * alone.qp_misses);
		ck_assert_uint_eq(all.events, request->nodes * alone.events);
	}
}

START_TEST(one_node_alone_goes_through_the_same_as_all_of_them)
{
	for_all(check_reduction);
}
END_TEST

START_TEST(the_same_request_gives_the_same_result)
{
	const struct a2a_request request = { A2A_FLAT, A2A_TUNED, 16, 8, 1000, 1, 2 };
	struct a2a_stats first, again;

	ck_assert_int_eq(a2a_predict(&request, class_of(1), 1, NULL, &first), 0);
	ck_assert_int_eq(a2a_predict(&request, class_of(1), 1, NULL, &again), 0);
	ck_assert_mem_eq(&first, &again, sizeof(first));
}
END_TEST

START_TEST(tuned_takes_the_exchange_that_the_class_has_for_the_size_of_its_messages)
{
	static const struct {
		enum a2a_outer outer;
		uint64_t bytes;
		enum a2a_inner inner;
	} known[] = {
		{ A2A_FLAT, 256, A2A_BRUCK }, { A2A_FLAT, 257, A2A_ISEND },
		{ A2A_FLAT, 32768, A2A_ISEND }, { A2A_FLAT, 32769, A2A_PAIRWISE },
		{ A2A_SA, 32, A2A_BRUCK }, { A2A_SA, 33, A2A_ISEND },
		{ A2A_RD, 4096, A2A_ISEND }, { A2A_RD, 4097, A2A_PAIRWISE },
		{ A2A_LEADER, 4, A2A_BRUCK }, { A2A_LEADER, 5, A2A_ISEND },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct a2a_request request = {
			.outer = known[i].outer, .nodes = 64, .ppn = 8, .bytes = known[i].bytes,
			.radix = 2,
		};
		struct a2a_plan plan;

		plan_of(&request, &plan);
		ck_assert_int_eq(plan.inner, known[i].inner);
	}
}
END_TEST

START_TEST(requests_that_make_no_sense_are_refused)
{
	static const struct a2a_request bad[] = {
		{ A2A_FLAT, A2A_ISEND, 0, 1, 1, 1, 2 },
		{ A2A_FLAT, A2A_ISEND, 1, 0, 1, 1, 2 },
		{ A2A_FLAT, A2A_ISEND, A2A_MAX_NODES, A2A_MAX_PPN, 1, 1, 2 },
		{ A2A_FLAT, A2A_BRUCK, 2, 2, 1, 1, 1 },
		{ A2A_FLAT, A2A_BRUCK, 2, 2, 1, 1, 0 },
		{ A2A_FLAT, A2A_ISEND, 2, 2, UINT64_MAX, 1, 2 },
		{ A2A_LEADERS, A2A_ISEND, 2, 2, 1, 0, 2 },
		{ A2A_LEADERS, A2A_ISEND, 2, 2, 1, 3, 2 },
		{ A2A_OUTERS, A2A_ISEND, 2, 2, 1, 1, 2 },
	};
	struct a2a_plan plan;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_int_eq(a2a_plan_make(&bad[i], class_of(0), &plan), -EINVAL);
}
END_TEST

/*
 * LogGOPSim (76451de) of the schedules that --goal writes, blocks of 1, 100 and
 * 5000 bytes: txt2bin -i X.goal -o X.bin; LogGOPSim -f X.bin -L 2500 -o 1500
 * -g 1000 -G 6 -O 0 -S 1000000000
 */
START_TEST(times_are_those_of_LogGOPSim_to_the_nanosecond)
{
	static const struct a2a_class class = {
		.latency_ns = 2500, .send_ns = 1500, .recv_ns = 1500, .gap_ns = 1000,
		.byte_ns = 6, .eager_max_bytes = 1e9, .packet_bytes = 2048,
	};
	static const uint64_t sizes[] = { 1, 100, 5000 };
	static const struct {
		uint32_t ranks;
		enum a2a_inner inner;
		double ns[3];
	} known[] = {
		{ 2, A2A_ISEND, { 5500, 6094, 35494 } },
		{ 2, A2A_PAIRWISE, { 5500, 6094, 35494 } },
		{ 2, A2A_BRUCK, { 5500, 6094, 35494 } },
		{ 3, A2A_PAIRWISE, { 11000, 12188, 70988 } },
		{ 3, A2A_BRUCK, { 11000, 12188, 70988 } },
		{ 8, A2A_PAIRWISE, { 38500, 42658, 248458 } },
		{ 8, A2A_BRUCK, { 16554, 23682, 376482 } },
		{ 13, A2A_PAIRWISE, { 66000, 73128, 425928 } },
		{ 13, A2A_BRUCK, { 22108, 35176, 681976 } },
		{ 32, A2A_PAIRWISE, { 170500, 188914, 1100314 } },
		{ 32, A2A_BRUCK, { 27950, 75470, 2427470 } },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		for (size_t s = 0; s < 3; s++) {
			const struct a2a_request request = {
				.outer = A2A_FLAT, .inner = known[i].inner, .nodes = known[i].ranks,
				.ppn = 1, .bytes = sizes[s], .radix = 2,
			};
			struct a2a_stats stats;

			ck_assert_int_eq(a2a_predict(&request, &class, 1, NULL, &stats), 0);
			ck_assert_double_eq(stats.time_ns, known[i].ns[s]);
		}
}
END_TEST

/* ---- GOAL ---------------------------------------------------------------- */

static char *write_goal(const struct a2a_request *request)
{
	struct a2a_program program;
	struct a2a_plan plan;
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	ck_assert_ptr_nonnull(out);
	plan_of(request, &plan);
	program = a2a_plan_program(&plan);
	ck_assert_int_eq(a2a_goal_write(&program, class_of(0), NULL, out), 0);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

START_TEST(a_schedule_of_two_ranks_is_the_text_that_one_would_write)
{
	const struct a2a_request request = { A2A_FLAT, A2A_ISEND, 2, 1, 100, 1, 2 };
	char *text = write_goal(&request);

	ck_assert_str_eq(text,
		"num_ranks 2\n"
		"\nrank 0 {\n"
		"l1: calc 40\n"
		"l2: recv 100b from 1 tag 0\nl2 requires l1\n"
		"l3: send 100b to 1 tag 0\nl3 requires l1\n"
		"l4: calc 0\nl4 requires l3\nl4 requires l2\n"
		"}\n"
		"\nrank 1 {\n"
		"l1: calc 40\n"
		"l2: recv 100b from 0 tag 0\nl2 requires l1\n"
		"l3: send 100b to 0 tag 0\nl3 requires l1\n"
		"l4: calc 0\nl4 requires l3\nl4 requires l2\n"
		"}\n");
	free(text);
}
END_TEST

static unsigned int count_words(const char *text, const char *word)
{
	unsigned int n = 0;

	for (; (text = strstr(text, word)); text++)
		n++;
	return n;
}

START_TEST(barriers_become_messages_of_a_byte)
{
	const struct a2a_request request = { A2A_SA, A2A_ISEND, 2, 3, 100, 1, 2 };
	char *text = write_goal(&request);

	/* Six ranks, two barriers, two steps each, and a message to the other node. */
	ck_assert_uint_eq(count_words(text, "send 1b "), 6 * 2 * 2);
	ck_assert_uint_eq(count_words(text, "recv 1b "), 6 * 2 * 2);
	ck_assert_uint_eq(count_words(text, "send 300b "), 6);
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("alltoall_schedule");
	TCase *tc = tcase_create("schedule"), *simulated = tcase_create("simulated");

	tcase_add_test(tc, every_message_has_its_receive_with_the_same_tag_and_size);
	tcase_add_test(tc, tags_never_fall_and_all_of_one_is_waited_for);
	tcase_add_test(tc, every_block_goes_to_its_node_once_and_by_Bruck_at_least_once);
	tcase_add_test(tc, counts_are_those_of_the_formulas);
	tcase_add_test(tc, leaders_that_do_not_divide_a_node_share_it_as_evenly_as_can_be);
	tcase_add_test(tc, blocks_by_digit_are_those_that_one_counts);
	tcase_add_test(tc, rounds_of_Bruck_bring_every_block_to_its_place);
	tcase_add_test(tc, a_radix_of_all_members_sends_each_block_straight);
	tcase_add_test(tc, tuned_takes_the_exchange_that_the_class_has_for_the_size_of_its_messages);
	tcase_add_test(tc, requests_that_make_no_sense_are_refused);
	tcase_add_test(tc, a_schedule_of_two_ranks_is_the_text_that_one_would_write);
	tcase_add_test(tc, barriers_become_messages_of_a_byte);
	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 60);
	tcase_set_timeout(simulated, 120);
	tcase_add_test(simulated, every_byte_that_is_sent_is_received);
	tcase_add_test(simulated, one_node_alone_goes_through_the_same_as_all_of_them);
	tcase_add_test(simulated, times_are_those_of_LogGOPSim_to_the_nanosecond);
	tcase_add_test(simulated, the_same_request_gives_the_same_result);
	suite_add_tcase(suite, simulated);
	return tap_run(suite);
}
