// SPDX-License-Identifier: GPL-2.0-or-later
/* The cache probe against machines whose truth is known. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "../../lib/probe/cache.h"
#include "../sim/machine.h"
#include "tap.h"

#define KIB	1024UL
#define MIB	(1024 * KIB)

static const struct machine_model three_levels = {
	.cache = {
		{ .bytes = 48 * KIB, .ways = 12, .policy = POLICY_LRU, .cycles = 5 },
		{ .bytes = 256 * KIB, .ways = 8, .policy = POLICY_PLRU, .cycles = 14 },
		{ .bytes = 2 * MIB, .ways = 16, .policy = POLICY_LRU, .cycles = 50 },
	},
	.memory_cycles = 300,
	.tlb = { { 64, 4, 7 } },
	.prefetch = PREFETCH_PAIR,
	.ghz = 3,
	.tick_ghz = 2,
	.noise = { .gaps = 20000, .gap_us = { 20, 20 } },
	.max_bytes = 8 * MIB,
};

static const struct machine_model two_levels = {
	.cache = {
		{ .bytes = 32 * KIB, .ways = 8, .policy = POLICY_PLRU, .cycles = 4 },
		{ .bytes = 256 * KIB, .ways = 16, .policy = POLICY_LRU, .cycles = 12 },
	},
	.memory_cycles = 200,
	.ghz = 2,
	.tick_ghz = 0.1,
	.map = MAP_CONTIGUOUS,
	.noise = { .gaps = 20000, .gap_us = { 20, 20 } },
	.max_bytes = 2 * MIB,
};

/* Memory enough to look for sets. */
static const struct machine_model roomy = {
	.cache = {
		{ .bytes = 32 * KIB, .ways = 8, .policy = POLICY_PLRU, .cycles = 4 },
		{ .bytes = 256 * KIB, .ways = 8, .policy = POLICY_LRU, .cycles = 12 },
		{ .bytes = 3 * MIB, .ways = 12, .policy = POLICY_LRU, .cycles = 40,
		  .index = INDEX_SLICED, .slices = 4 },
	},
	.memory_cycles = 250,
	.tlb = { { 64, 4, 7 }, { 1024, 8, 20 } },
	.prefetch = PREFETCH_STREAM,
	.ghz = 3,
	.tick_ghz = 2.6,
	.max_bytes = 64 * MIB,
};

static struct machine_model without_third_level(void)
{
	struct machine_model model = roomy;

	memset(&model.cache[2], 0, sizeof(model.cache[2]));
	return model;
}

static struct sonde_cache_report *probe_for(const struct machine_model *model, uint64_t seed,
					    double budget_s)
{
	struct sonde_cache_options options = {
		.budget_s = budget_s, .max_bytes = model->max_bytes, .seed = seed,
	};
	struct sonde_cache_report *report;
	struct meter *meter;

	ck_assert_int_eq(machine_open(&meter, model, seed), 0);
	ck_assert_int_eq(probe_cache_with(meter, &options, &report), 0);
	meter->ops->close(meter);
	return report;
}

static struct sonde_cache_report *probe(const struct machine_model *model, uint64_t seed)
{
	return probe_for(model, seed, 1);
}

static void assert_latency(const struct sonde_latency *l, double cycles, double ghz)
{
	ck_assert_double_eq_tol(l->cycles, cycles, 0.03 * cycles);
	ck_assert_double_eq_tol(l->ns, cycles / ghz, 0.03 * cycles / ghz);
}

START_TEST(finds_three_levels_in_spite_of_gaps_prefetcher_and_tlb)
{
	struct sonde_cache_report *r = probe(&three_levels, (uint64_t)_i + 2);

	ck_assert_uint_eq(r->nlevels, 3);
	ck_assert_uint_eq(r->levels[0].size, 48 * KIB);
	ck_assert_uint_eq(r->levels[0].size_low, 48 * KIB);
	ck_assert_uint_eq(r->levels[0].size_high, 48 * KIB);
	ck_assert_int_eq(r->levels[0].type, SONDE_CACHE_DATA);
	ck_assert_double_eq_tol((double)r->levels[1].size, 256.0 * KIB, 64.0 * KIB);
	ck_assert_uint_le(r->levels[1].size_low, 256 * KIB);
	ck_assert_uint_ge(r->levels[1].size_high, 256 * KIB);
	/* Exclusive of nothing: what the third level holds is its size. */
	ck_assert_uint_le(r->levels[2].size_low, 2 * MIB);
	ck_assert_uint_ge(r->levels[2].size_high, 2 * MIB);
	assert_latency(&r->levels[0].latency, 5, 3);
	assert_latency(&r->levels[1].latency, 14, 3);
	assert_latency(&r->levels[2].latency, 50, 3);
	assert_latency(&r->memory, 300, 3);
	ck_assert_double_eq_tol(r->core_hz, 3e9, 3e7);
	sonde_cache_report_free(r);
}
END_TEST

START_TEST(finds_the_tlb_and_takes_it_for_no_cache)
{
	struct sonde_cache_report *r = probe(&three_levels, 5);

	ck_assert_uint_ge(r->ntlb, 1);
	/* Of 16 sets of 4 ways, 3 or 4 overflow. */
	ck_assert_uint_ge(r->tlb[0].pages, 64);
	ck_assert_uint_le(r->tlb[0].pages, 68);
	ck_assert_double_eq_tol(r->tlb[0].cycles, 7, 0.5);
	sonde_cache_report_free(r);
}
END_TEST

START_TEST(finds_two_levels_with_a_coarse_counter)
{
	struct sonde_cache_report *r = probe(&two_levels, 1);

	ck_assert_uint_eq(r->nlevels, 2);
	ck_assert_uint_eq(r->levels[0].size, 32 * KIB);
	ck_assert_uint_le(r->levels[1].size_low, 256 * KIB);
	ck_assert_uint_ge(r->levels[1].size_high, 256 * KIB);
	ck_assert_uint_eq(r->ntlb, 0);
	assert_latency(&r->levels[0].latency, 4, 2);
	assert_latency(&r->levels[1].latency, 12, 2);
	sonde_cache_report_free(r);
}
END_TEST

/* Each page has a line in each of its sets, so all overflow at once, between two points. */
START_TEST(an_interval_holds_an_edge_between_two_points_of_the_curve)
{
	struct machine_model model = two_levels;
	struct sonde_cache_report *r;

	model.is_guest = 1;
	model.cache[1].ways = 72;
	model.cache[1].bytes = 72 * 4 * KIB;
	model.cache[1].policy = POLICY_LRU;
	r = probe_for(&model, 1, 0.1);
	ck_assert_uint_eq(r->nlevels, 2);
	ck_assert_uint_lt(r->levels[1].size_low, r->levels[1].size_high);
	ck_assert_uint_le(r->levels[1].size_low, 288 * KIB);
	ck_assert_uint_ge(r->levels[1].size_high, 288 * KIB);
	sonde_cache_report_free(r);
}
END_TEST

START_TEST(sees_a_first_level_that_is_a_page_larger)
{
	struct machine_model model = two_levels;
	struct sonde_cache_report *r;

	model.cache[0].bytes = 36 * KIB;
	model.cache[0].ways = 9;
	model.cache[0].policy = POLICY_LRU;
	r = probe(&model, 1);
	ck_assert_uint_eq(r->levels[0].size, 36 * KIB);
	sonde_cache_report_free(r);
}
END_TEST

START_TEST(says_so_where_there_is_no_cache)
{
	struct machine_model model = two_levels;
	struct sonde_cache_report *r;

	memset(model.cache, 0, sizeof(model.cache));
	r = probe(&model, 1);
	ck_assert_uint_eq(r->nlevels, 0);
	ck_assert_uint_eq(r->nnotes, 1);
	sonde_cache_report_free(r);
}
END_TEST

START_TEST(says_so_where_the_sweep_ends_inside_the_last_level)
{
	struct machine_model model = three_levels;
	struct sonde_cache_report *r;

	model.max_bytes = 400 * KIB;
	r = probe(&model, 1);
	ck_assert_uint_ge(r->nlevels, 2);
	ck_assert_uint_eq(r->levels[r->nlevels - 1].size, 0);
	ck_assert_double_eq(r->memory.ns, 0);
	sonde_cache_report_free(r);
}
END_TEST

START_TEST(gives_the_same_answer_for_the_same_seed)
{
	struct sonde_cache_report *a = probe(&two_levels, 9), *b = probe(&two_levels, 9);

	ck_assert_uint_eq(a->nlevels, b->nlevels);
	ck_assert_uint_eq(a->npoints, b->npoints);
	for (size_t i = 0; i < a->nlevels; i++) {
		ck_assert_uint_eq(a->levels[i].size, b->levels[i].size);
		ck_assert_uint_eq(a->levels[i].ways, b->levels[i].ways);
		ck_assert_double_eq(a->levels[i].latency.cycles, b->levels[i].latency.cycles);
		ck_assert_double_eq(a->levels[i].confidence, b->levels[i].confidence);
	}
	ck_assert_mem_eq(a->points, b->points, a->npoints * sizeof(*a->points));
	sonde_cache_report_free(a);
	sonde_cache_report_free(b);
}
END_TEST

START_TEST(counts_what_it_throws_away)
{
	struct sonde_cache_report *r = probe(&two_levels, 2);
	double most = 0;

	for (size_t i = 0; i < r->npoints; i++) {
		ck_assert_uint_gt(r->points[i].windows, 0);
		ck_assert_double_ge(r->points[i].discarded, 0);
		if (r->points[i].discarded > most)
			most = r->points[i].discarded;
	}
	/* A tenth of the windows meets a gap. */
	ck_assert_double_gt(most, 0.02);
	ck_assert_double_lt(most, 0.6);
	sonde_cache_report_free(r);
}
END_TEST

START_TEST(says_so_where_there_is_no_room_for_sets_and_no_curve)
{
	struct sonde_cache_report *r = probe_for(&two_levels, 1, 0);

	ck_assert_uint_eq(r->nlevels, 0);
	ck_assert_uint_eq(r->nnotes, 1);
	sonde_cache_report_free(r);
}
END_TEST

static int stop_soon(void *ctx, double done, const char *what)
{
	int *calls = ctx;

	ck_assert_double_ge(done, 0);
	ck_assert_double_le(done, 1);
	ck_assert_ptr_nonnull(what);
	return ++*calls == 100;
}

START_TEST(stops_when_told_to)
{
	struct sonde_cache_report *report = NULL;
	struct meter *meter;
	int calls = 0;
	struct sonde_cache_options options = {
		.budget_s = 1, .max_bytes = MIB, .progress = stop_soon, .progress_ctx = &calls,
	};

	ck_assert_int_eq(machine_open(&meter, &two_levels, 1), 0);
	ck_assert_int_eq(probe_cache_with(meter, &options, &report), -ECANCELED);
	ck_assert_int_eq(calls, 100);
	ck_assert_ptr_null(report);
	meter->ops->close(meter);
}
END_TEST

static void assert_exact(const struct sonde_cache_level *level, uint64_t size, unsigned int ways)
{
	ck_assert_uint_eq(level->size, size);
	ck_assert_uint_eq(level->size_low, size);
	ck_assert_uint_eq(level->size_high, size);
	ck_assert_uint_eq(level->ways, ways);
	ck_assert_uint_eq(level->line, 64);
	ck_assert_uint_eq(level->sets, size / ways / 64);
	/* From the third level on slices may hide sets: told, without confidence. */
	ck_assert_double_gt(level->confidence, level->level < 3 ? 0.8 : 0.5);
	ck_assert_uint_gt(level->samples, 0);
	ck_assert_double_ge(level->discarded, 0);
	ck_assert_double_le(level->discarded, 1);
}

START_TEST(without_a_budget_it_tells_sizes_and_ways_and_takes_no_curve)
{
	struct sonde_cache_report *r = probe_for(&roomy, (uint64_t)_i + 1, 0);

	ck_assert_uint_eq(r->nlevels, 3);
	assert_exact(&r->levels[0], 32 * KIB, 8);
	assert_exact(&r->levels[1], 256 * KIB, 8);
	assert_exact(&r->levels[2], 3 * MIB, 12);
	ck_assert_int_eq(r->levels[0].method, SONDE_METHOD_STRIDES);
	ck_assert_int_eq(r->levels[1].method, SONDE_METHOD_CONFLICTS);
	ck_assert_int_eq(r->levels[2].method, SONDE_METHOD_CONFLICTS);
	ck_assert_uint_eq(r->levels[1].colours, 8);
	ck_assert_uint_eq(r->levels[2].colours, 64);
	assert_latency(&r->levels[0].latency, 4, 3);
	assert_latency(&r->levels[1].latency, 12, 3);
	ck_assert_double_eq_tol(r->core_hz, 3e9, 3e7);
	ck_assert_uint_eq(r->npoints, 0);
	ck_assert_uint_eq(r->ntlb, 0);
	sonde_cache_report_free(r);
}
END_TEST

START_TEST(gives_the_sweeps_over_which_it_found_the_ways)
{
	struct machine_model model = without_third_level();
	struct sonde_cache_report *r = probe_for(&model, 3, 0);
	const struct sonde_cache_level *l = &r->levels[1];

	ck_assert_uint_eq(r->nlevels, 2);
	ck_assert_uint_eq(r->levels[0].nsweeps, 0);
	ck_assert_uint_ge(l->nsweeps, 2);
	for (size_t i = 0; i < l->nsweeps; i++) {
		const struct sonde_cache_sweep *s = &l->sweeps[i];

		ck_assert_uint_eq(s->ways, 8);
		ck_assert_uint_gt(s->n, s->ways);
		ck_assert_uint_lt(s->offset, METER_CHUNK);
		ck_assert_double_eq(s->misses[0], 0);
		/* Of strict LRU all lines miss, or none. */
		ck_assert_double_lt(s->misses[s->ways], 0.5);
		ck_assert_double_eq_tol(s->misses[s->ways + 1], s->ways + 1, 1.5);
	}
	ck_assert_double_eq_tol(l->softness, 1, 0.15);
	assert_latency(&r->memory, 250, 3);
	sonde_cache_report_free(r);
}
END_TEST

START_TEST(gives_a_capacity_curve_of_the_third_level)
{
	struct sonde_cache_report *r = probe_for(&roomy, 2, 0);
	const struct sonde_cache_reach *reach = &r->levels[2].reach;

	ck_assert_uint_ge(r->nlevels, 3);
	ck_assert_uint_ge(reach->n, 4);
	for (unsigned int i = 1; i < reach->n; i++)
		ck_assert_double_gt(reach->bytes[i], reach->bytes[i - 1]);
	ck_assert_double_lt(reach->bytes[0], 3.0 * MIB);
	ck_assert_double_gt(reach->bytes[reach->n - 1], 6.0 * MIB);
	ck_assert_double_eq_tol(reach->cycles[0], 40, 6);
	ck_assert_double_eq_tol(reach->cycles[reach->n - 1], 250, 40);
	ck_assert_uint_eq(r->levels[0].reach.n, 0);
	ck_assert_uint_eq(r->levels[1].reach.n, 0);
	sonde_cache_report_free(r);
}
END_TEST

START_TEST(tells_a_level_that_is_not_exclusive_from_one_that_is)
{
	struct machine_model model = without_third_level();
	struct sonde_cache_report *r;

	model.cache[0].policy = POLICY_LRU;
	model.cache[1].inclusion = EXCLUSIVE;
	r = probe_for(&model, 1, 0);
	ck_assert_uint_eq(r->nlevels, 2);
	ck_assert_int_ne(r->levels[1].holding, SONDE_HOLDING_ALSO);
	sonde_cache_report_free(r);
	model.cache[1].inclusion = NON_INCLUSIVE;
	r = probe_for(&model, 1, 0);
	ck_assert_int_eq(r->levels[1].holding, SONDE_HOLDING_ALSO);
	sonde_cache_report_free(r);
}
END_TEST

START_TEST(refuses_time_that_is_none_and_too_little_memory)
{
	static const double wrong[] = { -1, -INFINITY, NAN };
	struct sonde_cache_report *report = NULL;
	struct sonde_cache_options options = { .budget_s = 0 };
	struct meter *meter;

	ck_assert_int_eq(machine_open(&meter, &two_levels, 1), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		options.budget_s = wrong[i];
		ck_assert_int_eq(probe_cache_with(meter, &options, &report), -EINVAL);
	}
	options.budget_s = 1;
	options.max_bytes = 100 * KIB;
	ck_assert_int_eq(probe_cache_with(meter, &options, &report), -EINVAL);
	meter->max_bytes = 100 * KIB;
	options.max_bytes = 0;
	ck_assert_int_eq(probe_cache_with(meter, &options, &report), -ENOMEM);
	ck_assert_ptr_null(report);
	meter->ops->close(meter);
}
END_TEST

START_TEST(holds_a_claim_against_the_interval)
{
	struct sonde_cache_level level = {
		.size = 100, .size_low = 90, .size_high = 110, .confidence = 0.95,
	};
	struct sonde_cache_claim claim = { .size = 90 };

	ck_assert_int_eq(sonde_cache_agrees(&level, &claim), 1);
	claim.size = 111;
	ck_assert_int_eq(sonde_cache_agrees(&level, &claim), 0);
	level.confidence = 0.6;
	ck_assert_int_eq(sonde_cache_agrees(&level, &claim), -ENODATA);
	claim.size = 0;
	ck_assert_int_eq(sonde_cache_agrees(&level, &claim), -ENODATA);
	claim.size = 100;
	level.size = 0;
	ck_assert_int_eq(sonde_cache_agrees(&level, &claim), -ENODATA);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("probe_cache");
	/* Two cases, so that what runs everything slowly can run the quick one. */
	TCase *tc = tcase_create("simulated"), *quick = tcase_create("quick");

	tcase_set_timeout(tc, 300);
	tcase_set_timeout(quick, 60);
	tcase_add_loop_test(tc, finds_three_levels_in_spite_of_gaps_prefetcher_and_tlb, 0, 2);
	tcase_add_test(tc, finds_the_tlb_and_takes_it_for_no_cache);
	tcase_add_test(tc, finds_two_levels_with_a_coarse_counter);
	tcase_add_test(tc, an_interval_holds_an_edge_between_two_points_of_the_curve);
	tcase_add_test(tc, sees_a_first_level_that_is_a_page_larger);
	tcase_add_test(tc, says_so_where_there_is_no_cache);
	tcase_add_test(tc, says_so_where_the_sweep_ends_inside_the_last_level);
	tcase_add_test(tc, gives_the_same_answer_for_the_same_seed);
	tcase_add_test(tc, counts_what_it_throws_away);
	tcase_add_loop_test(tc, without_a_budget_it_tells_sizes_and_ways_and_takes_no_curve, 0, 2);
	tcase_add_test(tc, gives_a_capacity_curve_of_the_third_level);
	tcase_add_test(tc, tells_a_level_that_is_not_exclusive_from_one_that_is);
	tcase_add_test(quick, gives_the_sweeps_over_which_it_found_the_ways);
	tcase_add_test(quick, says_so_where_there_is_no_room_for_sets_and_no_curve);
	tcase_add_test(quick, stops_when_told_to);
	tcase_add_test(quick, refuses_time_that_is_none_and_too_little_memory);
	tcase_add_test(quick, holds_a_claim_against_the_interval);
	suite_add_tcase(suite, tc);
	suite_add_tcase(suite, quick);
	return tap_run(suite);
}
