// SPDX-License-Identifier: GPL-2.0-or-later
/* Geometry by conflicts, and classes of pages, on machines whose truth is known. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/probe/answers.h"
#include "../../lib/probe/classes.h"
#include "../../lib/probe/geometry.h"
#include "../../lib/probe/notes.h"
#include "../sim/machine.h"
#include "tap.h"

#define KIB	1024UL
#define MIB	(1024 * KIB)
#define POOL	(64 * MIB)

static struct machine_model model;
static struct geometry *g;

/* A small machine of three levels, so that a test takes a second. */
static void make_machine(void)
{
	model = (struct machine_model){
		.cache = {
			{ .bytes = 32 * KIB, .ways = 8, .policy = POLICY_PLRU, .cycles = 4 },
			{ .bytes = 256 * KIB, .ways = 8, .cycles = 12 },
			{ .bytes = 3 * MIB, .ways = 12, .cycles = 40,
			  .index = INDEX_SLICED, .slices = 4 },
		},
		.memory_cycles = 250,
		.tlb = { { 64, 4, 7 }, { 1024, 8, 20 } },
		.prefetch = PREFETCH_NEXT | PREFETCH_PAIR | PREFETCH_STREAM | PREFETCH_STRIDE,
		.ghz = 3, .tick_ghz = 2.6, .max_bytes = 512 * MIB,
	};
	g = calloc(1, sizeof(*g));
	ck_assert_ptr_nonnull(g);
}

static void drop_machine(void)
{
	free(g);
}

static void find_in(size_t bytes, uint64_t seed)
{
	struct meter *meter;
	struct trial t;

	ck_assert_int_eq(machine_open(&meter, &model, seed), 0);
	trial_open(&t, meter, seed);
	ck_assert_int_eq(geometry_find(&t, bytes, 0, g), 0);
	trial_close(&t);
	meter->ops->close(meter);
}

static void find(uint64_t seed)
{
	find_in(POOL, seed);
}

static void assert_level(size_t i, size_t size, unsigned int ways, unsigned int line)
{
	ck_assert_uint_gt(g->nlevels, i);
	ck_assert_uint_eq(g->level[i].size, size);
	ck_assert_uint_eq(g->level[i].survey.ways, ways);
	ck_assert_uint_eq(g->level[i].survey.line, line);
	ck_assert_double_ge(g->level[i].confidence, 0.95);
}

START_TEST(tells_all_of_three_levels_exactly)
{
	find((uint64_t)_i + 1);
	ck_assert_uint_eq(g->nlevels, 3);
	assert_level(0, 32 * KIB, 8, 64);
	assert_level(1, 256 * KIB, 8, 64);
	ck_assert_uint_eq(g->level[2].size, 3 * MIB);
	ck_assert_uint_eq(g->level[2].survey.ways, 12);
	ck_assert_uint_eq(g->level[2].survey.line, 64);
	ck_assert_uint_eq(g->level[1].colours, 8);
	ck_assert(g->ends);
	ck_assert_double_eq_tol(g->level[1].survey.hit, 12, 0.5);
}
END_TEST

static const enum machine_policy policies[] = {
	POLICY_LRU, POLICY_PLRU, POLICY_RANDOM, POLICY_MRU, POLICY_QLRU_H11_M1_R0_U0,
};

START_TEST(knows_nothing_of_replacement_and_needs_not)
{
	model.cache[1].policy = policies[_i];
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	ck_assert_uint_eq(g->nlevels, 2);
	assert_level(1, 256 * KIB, 8, 64);
}
END_TEST

START_TEST(sees_that_an_index_mixes_bits_of_the_offset)
{
	model.cache[1].index = INDEX_XOR;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	assert_level(1, 256 * KIB, 8, 64);
	ck_assert_uint_gt(g->level[1].survey.fold, 1);
}
END_TEST

START_TEST(tells_an_exclusive_level_and_its_size)
{
	model.cache[1].bytes = MIB;
	model.cache[1].ways = 16;
	model.cache[1].inclusion = EXCLUSIVE;
	model.cache[0].policy = POLICY_LRU;
	model.prefetch = 0;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	ck_assert_int_eq(g->level[1].survey.holding, HOLDING_OTHER);
	ck_assert_uint_eq(g->level[1].survey.ways, 16);
	ck_assert_uint_eq(g->level[1].size, MIB);
}
END_TEST

/* After some looks: the counter's step, and the core clock to a share of @error. */
static void check_clock(uint64_t step, double error)
{
	uint32_t places[40];
	struct meter *meter;
	struct trial t;

	for (uint32_t i = 0; i < 40; i++)
		places[i] = i * METER_CHUNK_PLACES;
	ck_assert_int_eq(machine_open(&meter, &model, 1), 0);
	trial_open(&t, meter, 1);
	ck_assert_int_eq(meter->ops->pages(meter, 40), 0);
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(trial_ring(&t, places, 40, 0), 0);
		trial_look(&t, 4, 4);
	}
	ck_assert_uint_eq(t.step, step);
	ck_assert_double_eq_tol(meter->chain_cycles / t.chain_ns, model.ghz, error * model.ghz);
	trial_close(&t);
	meter->ops->close(meter);
}

/* The chain takes 28.5 steps of the counter: a median of some is off by half a one. */
START_TEST(knows_the_core_clock_better_than_a_step_of_the_counter)
{
	model.ghz = 3.5874;
	model.tick_ghz = 2.596;
	model.tick_step = 26;
	check_clock(26, 0.01);
}
END_TEST

/* One of a thousand ticks is as much as two misses in a ring of a thousand lines. */
START_TEST(knows_the_core_clock_better_than_a_tick)
{
	model.ghz = 3.3;
	model.tick_ghz = 1.9001;
	check_clock(1, 0.0003);
}
END_TEST

/* As on a Zen 4: beside a hit in the second level a translation costs less than beside one
 * in the first, and lines at one offset are in eight times as many sets. */
START_TEST(is_not_misled_by_hits_that_hide_translation)
{
	model.cache[1] = (struct machine_cache){
		.bytes = MIB, .ways = 8, .cycles = 16, .policy = POLICY_PLRU, .index = INDEX_XOR,
	};
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	model.memory_cycles = 52;
	model.tlb[0] = (struct machine_tlb){ 72, 0, 7 };
	model.tlb[1] = (struct machine_tlb){ 3072, 12, 30 };
	model.hidden = 0.3;
	model.ghz = 3.5874;
	model.tick_ghz = 2.596;
	model.tick_step = 26;
	find(1ULL << _i);
	assert_level(1, MIB, 8, 64);
}
END_TEST

/* Which two levels together hold: what they cost more than a hit, told a bit low, is no penalty. */
START_TEST(learns_no_penalty_from_lines_that_all_hit)
{
	static const uint32_t none[HUNT_WAYS];
	struct hunt h = { .above = 8, .first_hit = 4, .first_lines = 512, .hit = 11.9, .penalty = 200 };
	uint64_t frame[4096];
	struct class c = { .n = 0 };
	struct meter *meter;
	struct trial t;

	model.cache[0].policy = POLICY_LRU;
	model.cache[1].inclusion = EXCLUSIVE;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	ck_assert_int_eq(machine_open(&meter, &model, 1), 0);
	trial_open(&t, meter, 1);
	ck_assert_int_eq(meter->ops->pages(meter, 4096), 0);
	ck_assert_int_eq(meter->ops->frames(meter, 0, 4096, frame), 0);
	ck_assert_int_eq(hunt_open(&h, &t, none, HUNT_WAYS), 0);
	/* 512 sets, a page of 64 lines: eight colours. */
	for (uint32_t i = 0; i < 4096 && c.n < 16; i++)
		if (frame[i] % 8 == 0)
			c.page[c.n++] = i;
	ck_assert_int_eq(hunt_refine(&h, &c, c.n), 0);
	ck_assert_double_eq_tol(h.penalty, 200, 1e-9);
	/* 24 lines are more than both hold. */
	for (uint32_t i = c.page[15] + 1; i < 4096 && c.n < 24; i++)
		if (frame[i] % 8 == 0)
			c.page[c.n++] = i;
	ck_assert_int_eq(hunt_refine(&h, &c, c.n), 0);
	ck_assert_double_eq_tol(h.penalty, 250 - 12, 12);
	hunt_close(&h);
	trial_close(&t);
	meter->ops->close(meter);
}
END_TEST

/* Seven colours have as many lines as ways and one has more: those of that one are enough. */
START_TEST(keeps_few_of_many_lines_that_overflow)
{
	struct hunt h = { .above = 8, .first_hit = 4, .first_lines = 512, .hit = 12, .penalty = 28 };
	size_t n = 0, few, crowd = 0, count[8] = { 0 };
	uint64_t frame[4096];
	uint32_t from[68];
	struct meter *meter;
	struct trial t;

	model.cache[1].policy = (enum machine_policy[]){ POLICY_LRU, POLICY_RANDOM, POLICY_SRRIP }[_i];
	ck_assert_int_eq(machine_open(&meter, &model, 1), 0);
	trial_open(&t, meter, 1);
	ck_assert_int_eq(meter->ops->pages(meter, 4096), 0);
	ck_assert_int_eq(meter->ops->frames(meter, 0, 4096, frame), 0);
	for (uint32_t i = 0; i < 4096 && n < 68; i++)
		if (count[frame[i] % 8]++ < (frame[i] % 8 ? 8 : 12))
			from[n++] = i;
	ck_assert_uint_eq(n, 68);
	ck_assert_int_eq(hunt_open(&h, &t, from, n), 0);
	few = n;
	ck_assert_int_eq(hunt_narrow(&h, from, &few), 0);
	ck_assert_uint_le(few, n / 2);
	for (size_t i = 0; i < few; i++)
		crowd += frame[from[i]] % 8 == 0;
	ck_assert_uint_gt(crowd, 8);
	hunt_close(&h);
	trial_close(&t);
	meter->ops->close(meter);
}
END_TEST

START_TEST(looks_for_no_more_levels_than_are_asked_for)
{
	struct meter *meter;
	struct trial t;

	for (unsigned int levels = 1; levels <= 3; levels++) {
		ck_assert_int_eq(machine_open(&meter, &model, 1), 0);
		trial_open(&t, meter, 1);
		ck_assert_int_eq(geometry_find(&t, POOL, levels, g), 0);
		ck_assert_uint_eq(g->nlevels, levels);
		ck_assert_int_eq(g->ends, levels == 3);
		trial_close(&t);
		meter->ops->close(meter);
	}
}
END_TEST

/*
 * In a guest its sets are estimated, not counted. Lines at all offsets show whether it holds
 * so many, if it holds far more than the first.
 */
START_TEST(is_sure_of_the_size_of_an_exclusive_level_if_lines_show_it)
{
	model.is_guest = 1;
	model.cache[1].bytes = _i ? 256 * KIB : 128 * KIB;
	model.cache[1].inclusion = EXCLUSIVE;
	model.cache[1].index = INDEX_XOR;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	ck_assert_int_eq(g->level[1].survey.holding, HOLDING_OTHER);
	ck_assert_int_eq(g->level[1].confidence >= 0.95, _i);
	if (_i)
		ck_assert_uint_eq(g->level[1].size, 256 * KIB);
}
END_TEST

START_TEST(counts_what_an_exclusive_second_level_holds)
{
	/* Too small for lines at all offsets to show it. */
	model.cache[1].bytes = 128 * KIB;
	model.cache[1].inclusion = EXCLUSIVE;
	model.cache[1].index = INDEX_XOR;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	assert_level(1, 128 * KIB, 8, 64);
	ck_assert_int_eq(g->level[1].survey.holding, HOLDING_OTHER);
	ck_assert_uint_eq(g->level[1].survey.sorted, 16);
}
END_TEST

/* Lines of a set are taken out and put back each turn, so in most orders a stranger stays. */
START_TEST(tells_an_exclusive_second_level_that_keeps_strangers)
{
	model.cache[0].bytes = 16 * KIB;
	model.cache[0].ways = 4;
	model.cache[1].inclusion = EXCLUSIVE;
	model.cache[1].policy = POLICY_PLRU;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find((uint64_t)_i + 1);
	assert_level(1, 256 * KIB, 8, 64);
}
END_TEST

/* Private second levels of more than a MiB, behind a first level that keeps lines. */
static const struct {
	enum machine_policy first;
	struct machine_cache second;
} large[] = {
	{ POLICY_RANDOM, { .bytes = 2 * MIB, .ways = 16, .cycles = 17,
			   .policy = POLICY_QLRU_H11_M1_R0_U0 } },
	/* Colours mixed with the offset. */
	{ POLICY_SRRIP, { .bytes = 1280 * KIB, .ways = 10, .cycles = 17,
			  .policy = POLICY_QLRU_H11_M1_R0_U0, .index = INDEX_XOR } },
};

START_TEST(tells_large_private_second_levels)
{
	model.cache[0] = (struct machine_cache){
		.bytes = 48 * KIB, .ways = 12, .policy = large[_i].first, .cycles = 5,
	};
	model.cache[1] = large[_i].second;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	ck_assert_uint_eq(g->nlevels, 2);
	/* Its line is another matter: a prefetcher of pairs is there too. */
	ck_assert_uint_eq(g->level[1].size, model.cache[1].bytes);
	ck_assert_uint_eq(g->level[1].survey.ways, model.cache[1].ways);
	ck_assert_double_ge(g->level[1].confidence, 0.95);
}
END_TEST

/* The level above has three times as many ways as a hunt has room for flush lines. */
START_TEST(flushes_a_first_level_of_very_many_ways)
{
	model.cache[0].bytes = 256 * KIB;
	model.cache[0].ways = 64;
	model.cache[1].bytes = 2 * MIB;
	model.cache[1].ways = 16;
	model.prefetch = 0;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	assert_level(0, 256 * KIB, 64, 64);
	assert_level(1, 2 * MIB, 16, 64);
}
END_TEST

/*
 * Its lines and those that should flush the level above are all in the same set, but several
 * sets above are.
 */
START_TEST(does_not_take_the_ways_of_two_levels_for_those_of_one)
{
	const int is_exclusive = _i % 2;

	model.cache[0] = (struct machine_cache){ .bytes = 64 * KIB, .ways = 4, .line = 32,
						 .policy = POLICY_SRRIP, .cycles = 5 };
	model.cache[1] = (struct machine_cache){
		.bytes = 64 * KIB, .ways = 16, .line = 32, .cycles = 12, .policy = policies[_i / 2],
		.inclusion = is_exclusive ? EXCLUSIVE : NON_INCLUSIVE,
	};
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	assert_level(0, 64 * KIB, 4, 32);
	/* What holds no more than the first level may not be seen. */
	if (is_exclusive || (g->nlevels > 1 && g->level[1].size))
		assert_level(1, 64 * KIB, 16, 32);
}
END_TEST

/* 1.3 times the lines that the level holds, without those that flush: some classes have too few. */
START_TEST(counts_classes_that_have_too_few_lines_to_overflow)
{
	find_in(4608 * KIB, (uint64_t)_i + 1);
	assert_level(2, 3 * MIB, 12, 64);
	ck_assert_uint_gt(g->level[2].survey.sorted, 0);
}
END_TEST

START_TEST(divides_out_sets_of_the_second_level_that_share_one_of_the_third)
{
	model.cache[1].bytes = MIB;	/* 2048 sets, and 512 of each slice */
	model.cache[2] = (struct machine_cache){
		.bytes = 6 * MIB, .ways = 12, .cycles = 40, .index = INDEX_SLICED, .slices = 16,
	};
	find(1);
	ck_assert_uint_eq(g->nlevels, 3);
	assert_level(2, 6 * MIB, 12, 64);
}
END_TEST

/* Draws tell too few sets, since lines come and go otherwise than in the sweep. */
START_TEST(counts_the_sets_of_an_exclusive_third_level)
{
	model.cache[2] = (struct machine_cache){
		.bytes = 2 * MIB, .ways = 16, .cycles = 40, .index = INDEX_SLICED, .slices = 8,
		.inclusion = EXCLUSIVE,
	};
	find_in(128 * MIB, 1);
	ck_assert_uint_eq(g->nlevels, 3);
	assert_level(2, 2 * MIB, 16, 64);
}
END_TEST

/* Of few sets, and of replacement that others do not tell the classes of. */
static const struct machine_cache exclusive[] = {
	{ .bytes = 1536 * KIB, .ways = 12, .slices = 4, .policy = POLICY_FIFO },
	{ .bytes = 1536 * KIB, .ways = 12, .slices = 4, .policy = POLICY_RANDOM },
	{ .bytes = 1536 * KIB, .ways = 12, .slices = 4, .policy = POLICY_MRU },
};

START_TEST(fills_an_exclusive_third_level_to_the_brim)
{
	unsigned int told = 0;

	for (size_t i = 0; i < sizeof(exclusive) / sizeof(*exclusive); i++) {
		model.cache[2] = exclusive[i];
		model.cache[2].cycles = 40;
		model.cache[2].index = INDEX_SLICED;
		model.cache[2].inclusion = EXCLUSIVE;
		find(1);
		ck_assert_uint_eq(g->nlevels, 3);
		if (!g->level[2].size)
			continue;
		ck_assert_uint_eq(g->level[2].size, model.cache[2].bytes);
		ck_assert_uint_eq(g->level[2].survey.ways, model.cache[2].ways);
		ck_assert_uint_eq(g->level[2].survey.line, 64);
		told++;
	}
	/* Not each time is the level above seen without a set's lines. */
	ck_assert_uint_gt(told, 1);
}
END_TEST

/*
 * Two sets for lines that share one above, so lines that flush that are in the same sets;
 * and of these lines it holds no more than a few times as many as the level above.
 */
static const struct machine_cache crowded[] = {
	{ .bytes = MIB, .ways = 16, .slices = 2, .policy = POLICY_QLRU_H11_M1_R0_U0 },
	{ .bytes = MIB, .ways = 16, .slices = 2, .policy = POLICY_SRRIP },
};

START_TEST(tells_an_exclusive_third_level_of_two_sets)
{
	model.cache[2] = crowded[_i];
	model.cache[2].cycles = 40;
	model.cache[2].index = INDEX_SLICED;
	model.cache[2].inclusion = EXCLUSIVE;
	find(1);
	ck_assert_uint_eq(g->nlevels, 3);
	ck_assert_uint_eq(g->level[2].size, crowded[_i].bytes);
	ck_assert_uint_eq(g->level[2].survey.ways, crowded[_i].ways);
	ck_assert_uint_eq(g->level[2].survey.line, 64);
}
END_TEST

/*
 * Eight sets above share one of a slice, and what is above holds lines of each: draws of all
 * show less than three octaves.
 */
START_TEST(divides_out_sets_that_share_one_of_an_exclusive_level)
{
	model.cache[2] = (struct machine_cache){
		.bytes = MIB, .ways = 16, .cycles = 40, .index = INDEX_SLICED, .slices = 16,
		.inclusion = EXCLUSIVE, .policy = POLICY_SRRIP,
	};
	find_in(256 * MIB, 1);
	ck_assert_uint_eq(g->nlevels, 3);
	assert_level(2, MIB, 16, 64);
}
END_TEST

/* Without those of the level above it would be the simpler number: 32. */
START_TEST(believes_any_ways_of_a_level_that_is_seen_to_be_exclusive)
{
	model.cache[1].bytes = 512 * KIB;
	model.cache[1].ways = 16;
	model.cache[2] = (struct machine_cache){
		.bytes = 3 * MIB, .ways = 48, .cycles = 40, .index = INDEX_SLICED, .slices = 2,
		.inclusion = EXCLUSIVE,
	};
	find(1);
	ck_assert_uint_eq(g->nlevels, 3);
	ck_assert_uint_eq(g->level[2].size, 3 * MIB);
	ck_assert_uint_eq(g->level[2].survey.ways, 48);
}
END_TEST

/* Misses of the third level are in what its draws cost, and it changes its mind. */
START_TEST(tells_a_second_level_above_one_that_duels)
{
	model.cache[2].policy = POLICY_DIP;
	model.is_guest = 1;	/* the third level takes long */
	find(1);
	ck_assert_uint_eq(g->level[1].size, 256 * KIB);
	ck_assert_uint_eq(g->level[1].survey.ways, 8);
}
END_TEST

/* So that a set keeps a stranger, and two of its own lines miss instead of one. */
START_TEST(is_not_misled_by_a_tree_over_ways_that_are_no_power_of_two)
{
	model.cache[1] = (struct machine_cache){
		.bytes = 384 * KIB, .ways = 12, .cycles = 12, .policy = POLICY_PLRU,
	};
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find((uint64_t)_i + 1);
	assert_level(1, 384 * KIB, 12, 64);
}
END_TEST

/* Pages a way of the first level apart have few of its sets to be in. */
START_TEST(needs_few_lines_of_a_first_level_of_two_ways)
{
	model.cache[0] = (struct machine_cache){ .bytes = 64 * KIB, .ways = 2, .cycles = 4 };
	model.cache[1] = (struct machine_cache){
		.bytes = MIB, .ways = 16, .cycles = 14, .policy = POLICY_FIFO, .index = INDEX_XOR,
	};
	model.prefetch = 0;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	ck_assert_uint_eq(g->level[1].survey.ways, 16);
	ck_assert_uint_eq(g->level[1].size, MIB);
}
END_TEST

/* Lines that are there already, in another order, make FIFO miss two in a turn, not all. */
START_TEST(counts_the_sets_of_a_fifo_with_a_mixed_index)
{
	model.cache[0] = (struct machine_cache){
		.bytes = 64 * KIB, .ways = 2, .cycles = 5,
		.policy = POLICY_QLRU_H21_M2_R0_U0_UMO,
	};
	model.cache[1] = (struct machine_cache){
		.bytes = MIB, .ways = 16, .cycles = 14, .policy = POLICY_FIFO, .index = INDEX_XOR,
	};
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	model.prefetch = PREFETCH_STREAM | PREFETCH_STRIDE | PREFETCH_REGION;
	find((uint64_t)_i + 1);
	assert_level(1, MIB, 16, 64);
	for (unsigned int i = 0; i < g->level[1].survey.nsweeps; i++)
		ck_assert_double_eq_tol(g->level[1].survey.sweep[i].miss[17], 17, 0.5);
}
END_TEST

/* A class's lines soon overflow that one, too: they tell what memory costs, not what it does. */
START_TEST(tells_a_second_level_whose_next_is_hardly_larger)
{
	model.cache[0].bytes = 16 * KIB;
	model.cache[0].policy = POLICY_FIFO;
	model.cache[1] = (struct machine_cache){
		.bytes = MIB, .ways = 8, .cycles = 17, .policy = POLICY_MRU,
	};
	model.cache[2] = (struct machine_cache){
		.bytes = 4 * MIB, .ways = 16, .cycles = 39, .policy = POLICY_SRRIP,
		.inclusion = EXCLUSIVE,
	};
	model.prefetch = PREFETCH_PAIR | PREFETCH_STRIDE | PREFETCH_REGION;
	model.is_guest = 1;
	find_in(16 * MIB, 1);
	assert_level(1, MIB, 8, 64);
	ck_assert_double_eq_tol(g->level[1].survey.penalty, 39 - 17, 3);
}
END_TEST

START_TEST(tells_longer_lines_from_prefetched_ones)
{
	model.cache[1].line = 128;
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	assert_level(0, 32 * KIB, 8, 64);
	ck_assert_uint_eq(g->level[1].size, 256 * KIB);
	ck_assert_uint_eq(g->level[1].survey.line, 128);
}
END_TEST

static void make_small_level(enum machine_policy policy, unsigned int prefetch, unsigned int line)
{
	model.cache[1] = (struct machine_cache){
		.bytes = 256 * KIB, .ways = 8, .cycles = 12, .policy = policy, .line = line,
	};
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	model.prefetch = prefetch;
}

/*
 * By use, by chance or by order of arrival: which of these says how pairs would look. Where it
 * does not, another prefetcher may bring one line without the other.
 */
START_TEST(says_that_a_line_is_longer_only_where_pairs_would_not_look_so)
{
	static const struct {
		enum machine_policy policy;
		unsigned int prefetch, line;
		int is_told;
	} is[] = {
		{ POLICY_LRU, 0, 128, 1 }, { POLICY_SRRIP, 0, 128, 1 }, { POLICY_RANDOM, 0, 64, 1 },
		{ POLICY_FIFO, 0, 128, 0 }, { POLICY_FIFO, 0, 64, 0 },
		{ POLICY_FIFO, PREFETCH_NEXT, 128, 1 }, { POLICY_FIFO, PREFETCH_NEXT, 64, 1 },
		{ POLICY_FIFO, PREFETCH_STREAM, 128, 1 }, { POLICY_FIFO, PREFETCH_STREAM, 64, 1 },
		{ POLICY_FIFO, PREFETCH_STRIDE, 128, 0 }, { POLICY_FIFO, PREFETCH_STRIDE, 64, 1 },
	};

	make_small_level(is[_i].policy, PREFETCH_PAIR | is[_i].prefetch, is[_i].line);
	find(1);
	ck_assert_uint_eq(g->level[1].size, 256 * KIB);
	ck_assert_int_eq(survey_has_line(&g->level[1].survey, &g->first), is[_i].is_told);
	if (is[_i].is_told)
		ck_assert_uint_eq(g->level[1].survey.line, is[_i].line);
}
END_TEST

/* The first two levels, and @pages to hold the second against; both are to be closed. */
static void find_and_stay(struct meter **meter, struct trial *t, uint32_t *pages)
{
	ck_assert_int_eq(machine_open(meter, &model, 1), 0);
	trial_open(t, *meter, 1);
	ck_assert_int_eq(geometry_find(t, POOL, 2, g), 0);
	ck_assert_uint_eq(g->level[1].size, 256 * KIB);
	ck_assert_int_eq((*meter)->ops->pages(*meter, POOL / METER_CHUNK), 0);
	for (uint32_t i = 0; i < POOL / METER_CHUNK; i++)
		pages[i] = i;
}

/* Lines at all offsets tell a size from half and twice as much, however soft replacement is. */
START_TEST(checks_a_size_by_lines_at_all_offsets)
{
	static const enum machine_policy policy[] = {
		POLICY_LRU, POLICY_PLRU, POLICY_RANDOM, POLICY_SRRIP, POLICY_FIFO,
	};
	uint32_t pages[POOL / METER_CHUNK];
	struct survey *s = &g->level[1].survey;
	struct meter *meter;
	struct trial t;

	make_small_level(policy[_i], PREFETCH_ALL, 64);
	find_and_stay(&meter, &t, pages);
	ck_assert_int_eq(s->held, 1);
	ck_assert_int_eq(survey_holds(s, pages, POOL / METER_CHUNK, 256 * KIB), HOLDS_THIS);
	for (size_t bytes = 512 * KIB; bytes <= 4 * MIB; bytes *= 2)
		ck_assert_int_eq(survey_holds(s, pages, POOL / METER_CHUNK, (double)bytes), HOLDS_NOT);
	s->first = &(struct stride){ .ways = 4, .way_bytes = 4 * KIB };
	ck_assert_int_eq(survey_holds(s, pages, POOL / METER_CHUNK, 128 * KIB), HOLDS_NOT);
	/* Just enough pages, too few, or hardly more than the first level. */
	ck_assert_int_eq(survey_holds(s, pages, 192, 256 * KIB), HOLDS_THIS);
	ck_assert_int_eq(survey_holds(s, pages, 191, 256 * KIB), -ERANGE);
	ck_assert_int_eq(survey_holds(s, pages, POOL / METER_CHUNK, 64 * KIB), -ENODATA);
	trial_close(&t);
	meter->ops->close(meter);
}
END_TEST

/*
 * Beside misses of the next level, where that is no larger than what is asked of, its hits look
 * like hits of the level that is asked about.
 */
START_TEST(takes_no_hits_of_the_next_level_for_its_own)
{
	uint32_t pages[POOL / METER_CHUNK];
	struct survey *s = &g->level[1].survey;
	struct meter *meter;
	struct trial t;

	model.cache[2] = (struct machine_cache){ .bytes = 2 * MIB, .ways = 16, .cycles = 40 };
	find_and_stay(&meter, &t, pages);
	s->penalty = model.memory_cycles - s->hit;
	ck_assert_int_eq(survey_holds(s, pages, POOL / METER_CHUNK, 2 * MIB), HOLDS_MAYBE);
	trial_close(&t);
	meter->ops->close(meter);
}
END_TEST

/* No second level has 13 ways: who has the others may let go of them. Not counted, in a guest. */
START_TEST(says_no_size_of_ways_that_others_leave)
{
	make_small_level(POLICY_LRU, PREFETCH_ALL, 64);
	model.is_guest = 1;
	model.cache[1].bytes = 13 * 64 * 512;
	model.cache[1].ways = 13;
	find(1);
	ck_assert_uint_gt(g->nlevels, 1);
	ck_assert_uint_eq(g->level[1].size, 0);
	ck_assert_uint_eq(g->level[1].survey.ways, 0);
}
END_TEST

/* Prefetched pairs come into the first level if the second is exclusive, and FIFO keeps both. */
START_TEST(says_no_wrong_line_of_a_first_level_that_pairs_come_into)
{
	make_small_level(POLICY_LRU, PREFETCH_PAIR, 64);
	model.cache[0].policy = POLICY_FIFO;
	model.cache[1].inclusion = EXCLUSIVE;
	find(1);
	ck_assert_uint_eq(g->level[0].size, 32 * KIB);
	ck_assert(g->first.line == 64 || !survey_has_line(&g->level[0].survey, &g->first));
	for (size_t i = 0; i < g->nlevels; i++)
		ck_assert(!survey_has_line(&g->level[i].survey, &g->first) ||
			  g->level[i].survey.line == 64);
}
END_TEST

/* Rings of more lines than have several orders: one look is not to make them overflow. */
START_TEST(looks_twice_at_large_rings_that_do_not_overflow)
{
	struct hunt h = { .above = 8, .penalty = 40, .hit = 11, .first_hit = 4 };
	uint32_t pages[1500];
	struct meter *meter;
	struct trial t;

	make_small_level(POLICY_LRU, 0, 64);
	model.cache[1].bytes = 16 * MIB;
	model.cache[1].ways = 16;
	for (uint32_t i = 0; i < 1500; i++)
		pages[i] = i;
	ck_assert_int_eq(machine_open(&meter, &model, 1), 0);
	trial_open(&t, meter, 1);
	ck_assert_int_eq(meter->ops->pages(meter, 1500), 0);
	ck_assert_int_eq(hunt_open(&h, &t, pages, 1500), 0);
	ck_assert_int_eq(hunt_overflows(&h, pages, 1100), 0);
	hunt_close(&h);
	trial_close(&t);
	meter->ops->close(meter);
}
END_TEST

START_TEST(names_no_size_of_a_guests_last_level)
{
	model.is_guest = 1;
	find(1);
	ck_assert_uint_eq(g->nlevels, 3);
	ck_assert_uint_eq(g->level[2].size, 0);
	ck_assert_uint_le(g->level[2].low, 3 * MIB);
	ck_assert_uint_ge(g->level[2].high, 3 * MIB);
	ck_assert_double_lt(g->level[2].confidence, 0.95);
}
END_TEST

/* Too few of them share a set of the second level to tell what a hit in the third costs. */
START_TEST(names_no_end_of_a_level_that_a_small_pool_does_not_fill)
{
	model.is_guest = 1;
	find_in(1536 * KIB, 3);
	assert_level(1, 256 * KIB, 8, 64);
	ck_assert_uint_eq(g->level[2].low, 0);
	ck_assert_uint_eq(g->level[2].high, 0);
}
END_TEST

/* ---- classes and frames -------------------------------------------------- */

static struct sonde_classes_report *classes(int sort)
{
	struct sonde_classes_options options = { .npages = 1024, .sort = sort, .seed = 1 };
	struct sonde_classes_report *report;
	struct meter *meter;

	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	ck_assert_int_eq(machine_open(&meter, &model, 1), 0);
	ck_assert_int_eq(probe_classes_with(meter, &options, &report), 0);
	meter->ops->close(meter);
	return report;
}

START_TEST(true_frames_predict_plainly)
{
	struct sonde_classes_report *r = classes(0);

	ck_assert_int_eq(r->verdict, SONDE_CLASSES_PLAIN);
	ck_assert_uint_ge(10 * r->agree, 9 * r->members);
	ck_assert_double_lt(r->p_chance, 1e-6);
	ck_assert_uint_eq(r->nmasks, 3);
	ck_assert_uint_eq(r->masks[0] | r->masks[1] | r->masks[2], 7);
	sonde_classes_report_free(r);
}
END_TEST

START_TEST(a_guests_frames_do_not_and_that_is_said_with_a_number)
{
	struct sonde_classes_report *r;

	model.frames = FRAMES_GUEST;
	r = classes(0);
	ck_assert_int_eq(r->verdict, SONDE_CLASSES_SCRAMBLED);
	ck_assert_double_lt(r->p_predict, 1e-6);
	sonde_classes_report_free(r);
}
END_TEST

START_TEST(without_frames_there_is_no_verdict)
{
	struct sonde_classes_report *r;

	model.frames = FRAMES_REFUSED;
	r = classes(0);
	ck_assert_int_eq(r->verdict, SONDE_CLASSES_UNKNOWN);
	ck_assert_int_eq(r->frames_err, -EPERM);
	ck_assert_uint_eq(r->ways, 8);
	sonde_classes_report_free(r);
}
END_TEST

START_TEST(sorts_every_page_into_its_class)
{
	struct sonde_classes_report *r;
	size_t sum = 0;

	model.cache[1].bytes = MIB;
	model.cache[1].ways = 16;
	r = classes(1);
	ck_assert_uint_eq(r->nsizes, 16);
	ck_assert_double_eq(r->classes, 16);
	for (size_t i = 0; i < r->nsizes; i++) {
		ck_assert_uint_gt(r->sizes[i], 32);
		sum += r->sizes[i];
	}
	ck_assert_uint_eq(sum + r->unsorted, 1024);
	ck_assert_uint_lt(r->unsorted, 64);
	sonde_classes_report_free(r);
}
END_TEST

START_TEST(refuses_pools_that_are_too_small_or_too_large)
{
	struct sonde_classes_options options = { .npages = 10 };
	struct sonde_classes_report *report = NULL;
	struct meter *meter;

	ck_assert_int_eq(machine_open(&meter, &model, 1), 0);
	ck_assert_int_eq(probe_classes_with(meter, &options, &report), -EINVAL);
	options.npages = 1 << 20;
	ck_assert_int_eq(probe_classes_with(meter, &options, &report), -EINVAL);
	ck_assert_ptr_null(report);
	meter->ops->close(meter);
}
END_TEST

START_TEST(tells_one_level_before_memory)
{
	memset(&model.cache[1], 0, 2 * sizeof(model.cache[1]));
	find(1);
	ck_assert_uint_eq(g->nlevels, 1);
	assert_level(0, 32 * KIB, 8, 64);
	ck_assert(g->ends);
}
END_TEST

/* As 12 ways look of which another thread of the core has one in every set, all the time. */
START_TEST(names_no_size_of_a_first_level_that_others_may_have_a_part_of)
{
	model.cache[0] = (struct machine_cache){ .bytes = 44 * KIB, .ways = 11, .cycles = 4 };
	memset(&model.cache[1], 0, sizeof(model.cache[1]));
	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	find(1);
	ck_assert_uint_eq(g->nlevels, 1);
	ck_assert_uint_eq(g->level[0].size, 0);
	ck_assert_uint_eq(g->level[0].low, 44 * KIB);
	ck_assert_uint_eq(g->level[0].survey.ways, 0);
	ck_assert_double_lt(g->level[0].confidence, 0.9);
}
END_TEST

START_TEST(takes_back_what_the_curve_said_of_a_level_that_sets_tell)
{
	struct sonde_cache_report *report = calloc(1, sizeof(*report));

	ck_assert_ptr_nonnull(report);
	g->first.line = 64;
	g->nlevels = 2;
	g->level[0].size = 32 * KIB;
	g->level[0].survey.ways = 8;
	g->level[0].survey.line = 64;
	ck_assert_int_eq(notes_say(&report->notes, &report->nnotes, "level 1: cannot be told"), 0);
	ck_assert_int_eq(notes_say(&report->notes, &report->nnotes, "level 2: cannot be told"), 0);
	ck_assert_int_eq(notes_say(&report->notes, &report->nnotes, "something else"), 0);
	ck_assert_int_eq(answers_put(g, report), 0);
	ck_assert_uint_eq(report->nlevels, 2);
	ck_assert_uint_eq(report->levels[0].size, 32 * KIB);
	ck_assert_uint_eq(report->nnotes, 2);
	ck_assert_str_eq(report->notes[0], "level 2: cannot be told");
	ck_assert_str_eq(report->notes[1], "something else");
	sonde_cache_report_free(report);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("geometry");
	TCase *tc = tcase_create("geometry"), *quick = tcase_create("quick");
	TCase *few = tcase_create("few");

	tcase_set_timeout(few, 300);
	tcase_add_checked_fixture(few, make_machine, drop_machine);
	tcase_add_loop_test(few, tells_an_exclusive_third_level_of_two_sets, 0,
			    (int)(sizeof(crowded) / sizeof(*crowded)));
	tcase_add_test(few, divides_out_sets_that_share_one_of_an_exclusive_level);
	tcase_add_test(few, believes_any_ways_of_a_level_that_is_seen_to_be_exclusive);
	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, make_machine, drop_machine);
	tcase_add_loop_test(tc, tells_all_of_three_levels_exactly, 0, 2);
	tcase_add_loop_test(tc, knows_nothing_of_replacement_and_needs_not, 0,
			    (int)(sizeof(policies) / sizeof(*policies)));
	tcase_add_test(tc, sees_that_an_index_mixes_bits_of_the_offset);
	tcase_add_test(tc, knows_the_core_clock_better_than_a_step_of_the_counter);
	tcase_add_loop_test(tc, is_not_misled_by_hits_that_hide_translation, 0, 3);
	tcase_add_test(tc, tells_an_exclusive_level_and_its_size);
	tcase_add_test(tc, looks_for_no_more_levels_than_are_asked_for);
	tcase_add_loop_test(tc, keeps_few_of_many_lines_that_overflow, 0, 3);
	tcase_add_loop_test(tc, is_sure_of_the_size_of_an_exclusive_level_if_lines_show_it, 0, 2);
	tcase_add_test(tc, counts_what_an_exclusive_second_level_holds);
	tcase_add_loop_test(tc, tells_an_exclusive_second_level_that_keeps_strangers, 0, 2);
	tcase_add_loop_test(tc, tells_large_private_second_levels, 0,
			    (int)(sizeof(large) / sizeof(*large)));
	tcase_add_test(tc, flushes_a_first_level_of_very_many_ways);
	tcase_add_loop_test(tc, does_not_take_the_ways_of_two_levels_for_those_of_one, 0, 10);
	tcase_add_loop_test(tc, counts_classes_that_have_too_few_lines_to_overflow, 0, 2);
	tcase_add_test(tc, divides_out_sets_of_the_second_level_that_share_one_of_the_third);
	tcase_add_test(tc, counts_the_sets_of_an_exclusive_third_level);
	tcase_add_test(tc, fills_an_exclusive_third_level_to_the_brim);
	tcase_add_test(tc, tells_a_second_level_above_one_that_duels);
	tcase_add_loop_test(tc, is_not_misled_by_a_tree_over_ways_that_are_no_power_of_two, 0, 3);
	tcase_add_test(tc, needs_few_lines_of_a_first_level_of_two_ways);
	tcase_add_loop_test(tc, counts_the_sets_of_a_fifo_with_a_mixed_index, 0, 2);
	tcase_add_test(tc, tells_a_second_level_whose_next_is_hardly_larger);
	tcase_add_test(tc, tells_longer_lines_from_prefetched_ones);
	tcase_add_test(tc, takes_no_hits_of_the_next_level_for_its_own);
	tcase_add_loop_test(tc, checks_a_size_by_lines_at_all_offsets, 0, 5);
	tcase_add_test(tc, says_no_size_of_ways_that_others_leave);
	tcase_add_loop_test(tc, says_that_a_line_is_longer_only_where_pairs_would_not_look_so, 0, 11);
	tcase_add_test(tc, says_no_wrong_line_of_a_first_level_that_pairs_come_into);
	tcase_add_test(tc, looks_twice_at_large_rings_that_do_not_overflow);
	tcase_add_test(tc, names_no_size_of_a_guests_last_level);
	tcase_add_test(tc, names_no_end_of_a_level_that_a_small_pool_does_not_fill);
	tcase_add_test(tc, true_frames_predict_plainly);
	tcase_add_test(tc, a_guests_frames_do_not_and_that_is_said_with_a_number);
	tcase_add_test(tc, without_frames_there_is_no_verdict);
	tcase_add_test(tc, sorts_every_page_into_its_class);
	suite_add_tcase(suite, tc);
	/* Also for valgrind, under which a simulated machine takes minutes. */
	tcase_set_timeout(quick, 300);
	tcase_add_checked_fixture(quick, make_machine, drop_machine);
	tcase_add_test(quick, takes_back_what_the_curve_said_of_a_level_that_sets_tell);
	tcase_add_test(quick, names_no_size_of_a_first_level_that_others_may_have_a_part_of);
	tcase_add_test(quick, refuses_pools_that_are_too_small_or_too_large);
	tcase_add_test(quick, tells_one_level_before_memory);
	tcase_add_test(quick, learns_no_penalty_from_lines_that_all_hit);
	tcase_add_test(quick, knows_the_core_clock_better_than_a_tick);
	suite_add_tcase(suite, few);
	suite_add_tcase(suite, quick);
	return tap_run(suite);
}
