// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What CPUs lose when several use the memory at once, on simulated machines of
 * which it is known: those of Servet's paper by name, and others.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/probe/memory.h"
#include "../sim/contention.h"
#include "../sim/named.h"
#include "tap.h"

/* Those of a test: from 1, without this one. */
#define SEEDS	(tap_loops(5) + 1)
#define NOISE	0.05
#define CPUS	64

static unsigned int numbers[CPUS];

static struct sonde_memory_options options_of(const struct machine_model *model)
{
	for (unsigned int i = 0; i < CPUS; i++)
		numbers[i] = i;
	return (struct sonde_memory_options){
		.cpus = numbers, .ncpus = model->cpus, .cache_bytes = 8 << 20, .seed = 1,
	};
}

static struct sonde_memory_report *probe(const struct machine_model *model, uint64_t seed,
					 const struct sonde_memory_options *options)
{
	struct sonde_memory_report *report = NULL;
	struct meter *m;

	ck_assert_int_eq(machine_open(&m, model, seed), 0);
	ck_assert_int_eq(probe_memory_with(m, options, &report), 0);
	m->ops->close(m);
	ck_assert_ptr_nonnull(report);
	return report;
}

static int has_note(const struct sonde_memory_report *r, const char *words)
{
	for (size_t i = 0; i < r->nnotes; i++)
		if (strstr(r->notes[i], words))
			return 1;
	return 0;
}

static int class_of(const struct sonde_memory_report *r, unsigned int a, unsigned int b)
{
	int class = sonde_memory_class(r, a, b);

	ck_assert_int_ge(class, 0);
	return class;
}

/* ---- Servet, figure 8 ------------------------------------------------------ */

START_TEST(dunnington_has_one_overhead_whichever_two_cpus)
{
	struct machine_model model = machine_dunnington;
	struct sonde_memory_options options = options_of(&model);
	struct sonde_memory_report *r;

	model.stream_noise = NOISE;
	r = probe(&model, (uint64_t)_i, &options);
	ck_assert_uint_eq(r->npairs, 24 * 23 / 2);
	ck_assert_uint_eq(r->nclasses, 1);
	ck_assert_int_eq(r->classes[0].has_overhead, 1);
	ck_assert_uint_eq(r->classes[0].npairs, r->npairs);
	ck_assert_double_eq_tol(r->classes[0].ratio, 0.7, 0.03);
	sonde_memory_report_free(r);
}
END_TEST

START_TEST(finis_terrae_has_three_classes_for_cpu_0)
{
	struct machine_model model = machine_finis_terrae;
	struct sonde_memory_options options = options_of(&model);
	struct sonde_memory_report *r;

	model.stream_noise = NOISE;
	r = probe(&model, (uint64_t)_i, &options);
	ck_assert_uint_eq(r->nclasses, 3);
	for (unsigned int cpu = 1; cpu < 16; cpu++)
		ck_assert_int_eq(class_of(r, 0, cpu), cpu < 4 ? 0 : cpu < 8 ? 1 : 2);
	for (unsigned int a = 0; a < 16; a++)
		for (unsigned int b = a + 1; b < 16; b++)
			ck_assert_int_eq(class_of(r, a, b), a / 4 == b / 4 ? 0 :
					 a / 8 == b / 8 ? 1 : 2);
	ck_assert_int_eq(r->classes[0].has_overhead, 1);
	ck_assert_int_eq(r->classes[1].has_overhead, 1);
	ck_assert_int_eq(r->classes[2].has_overhead, 0);
	/* "aún un 25% menor que el valor de referencia" */
	ck_assert_double_eq_tol(r->classes[1].ratio, 0.75, 0.03);
	sonde_memory_report_free(r);
}
END_TEST

static void check_curve(const struct sonde_memory_curve *curve, size_t ncpus, double most)
{
	ck_assert_uint_eq(curve->ncpus, ncpus);
	ck_assert_uint_eq(curve->cores[0], 1);
	ck_assert_uint_eq(curve->cores[curve->npoints - 1], ncpus);
	ck_assert_double_eq_tol(curve->rate[curve->npoints - 1].bytes_s / 1e9, most, 0.05 * most);
}

START_TEST(the_curve_of_a_class_ends_where_its_bus_is_full)
{
	struct machine_model model = machine_finis_terrae;
	struct sonde_memory_options options = options_of(&model);
	struct sonde_memory_report *r;

	r = probe(&model, 1, &options);
	/* A copy moves three bytes for two. */
	check_curve(&r->classes[0].curve, 4, 4.4 / 1.5);
	check_curve(&r->classes[1].curve, 8, 6 / 1.5);
	ck_assert_uint_eq(r->classes[2].curve.npoints, 0);
	check_curve(&r->all, 16, 12 / 1.5);
	ck_assert_double_eq_tol(r->all.rate[0].bytes_s / 1e9, 4 / 1.5, 0.1);
	sonde_memory_report_free(r);
}
END_TEST

/* ---- other machines --------------------------------------------------------- */

START_TEST(cpus_that_do_not_disturb_each_other_have_no_overhead)
{
	struct machine_model model = machine_finis_terrae;
	struct sonde_memory_options options;
	struct sonde_memory_report *r;

	model.link[1].gbs = model.link[2].gbs = 0;
	model.stream_noise = NOISE;
	options = options_of(&model);
	r = probe(&model, (uint64_t)_i, &options);
	ck_assert_uint_eq(r->nclasses, 1);
	ck_assert_int_eq(r->classes[0].has_overhead, 0);
	sonde_memory_report_free(r);
}
END_TEST

START_TEST(two_cpus_are_enough)
{
	struct machine_model model = machine_dunnington;
	struct sonde_memory_options options = options_of(&model);
	struct sonde_memory_report *r;

	options.ncpus = 2;
	model.stream_noise = NOISE / 2;
	r = probe(&model, (uint64_t)_i, &options);
	ck_assert_uint_eq(r->nclasses, 1);
	ck_assert_int_eq(r->classes[0].has_overhead, 1);
	check_curve(&r->classes[0].curve, 2, 7 / 1.5);
	sonde_memory_report_free(r);
}
END_TEST

START_TEST(one_cpu_has_references_and_no_pairs)
{
	struct machine_model model = machine_dunnington;
	struct sonde_memory_options options = options_of(&model);
	struct sonde_memory_report *r;

	options.ncpus = 1;
	r = probe(&model, 1, &options);
	ck_assert_uint_eq(r->npairs, 0);
	ck_assert_uint_eq(r->nclasses, 0);
	ck_assert_uint_gt(r->nreferences, 0);
	ck_assert_uint_eq(r->nloads, 1);
	ck_assert_double_eq_tol(r->loads[0].latency_ns, 300 / 2.4, 1);
	sonde_memory_report_free(r);
}
END_TEST

/* Buses and cells, as they are or as somebody claims. */
static void claim_groups(unsigned int *groups, unsigned int bus, unsigned int cell)
{
	for (unsigned int i = 0; i < 16; i++) {
		groups[2 * i] = i / cell;
		groups[2 * i + 1] = i / bus;
	}
}

START_TEST(of_pairs_that_are_claimed_to_be_alike_some_are_enough)
{
	struct machine_model model = machine_finis_terrae;
	struct sonde_memory_options options = options_of(&model);
	struct sonde_memory_report *r;
	unsigned int groups[32];

	claim_groups(groups, 4, 8);
	options.groups = groups;
	options.depth = 2;
	model.stream_noise = NOISE;
	r = probe(&model, (uint64_t)_i, &options);
	ck_assert_uint_eq(r->npairs, 36);
	for (unsigned int a = 0; a < 16; a++)
		for (unsigned int b = a + 1; b < 16; b++)
			ck_assert_int_eq(class_of(r, a, b), a / 4 == b / 4 ? 0 :
					 a / 8 == b / 8 ? 1 : 2);
	sonde_memory_report_free(r);
}
END_TEST

START_TEST(a_claim_that_is_wrong_is_found_out)
{
	struct machine_model model = machine_finis_terrae;
	struct sonde_memory_options options = options_of(&model);
	struct sonde_memory_report *r;
	unsigned int groups[32];

	/* One group of all, so all pairs would be alike. */
	claim_groups(groups, 16, 16);
	options.groups = groups;
	options.depth = 2;
	r = probe(&model, 1, &options);
	ck_assert_uint_eq(r->npairs, 120);
	ck_assert_uint_eq(r->nclasses, 3);
	ck_assert(has_note(r, "not all lose alike"));
	sonde_memory_report_free(r);
}
END_TEST

START_TEST(with_all_pairs_no_claim_is_believed)
{
	struct machine_model model = machine_finis_terrae;
	struct sonde_memory_options options = options_of(&model);
	struct sonde_memory_report *r;
	unsigned int groups[32];

	claim_groups(groups, 4, 8);
	options.groups = groups;
	options.depth = 2;
	options.all_pairs = 1;
	r = probe(&model, 1, &options);
	ck_assert_uint_eq(r->npairs, 120);
	sonde_memory_report_free(r);
}
END_TEST

START_TEST(latency_rises_with_the_load_of_others)
{
	struct machine_model model = machine_dunnington;
	struct sonde_memory_options options = options_of(&model);
	struct sonde_memory_report *r = probe(&model, 1, &options);
	const struct sonde_memory_load *first = &r->loads[0], *last = &r->loads[r->nloads - 1];

	ck_assert_uint_ge(r->nloads, 5);
	ck_assert_double_eq(first->bytes_s, 0);
	ck_assert_double_eq_tol(first->latency_ns, 300 / 2.4, 1);
	ck_assert_double_gt(last->bytes_s, 6e9);
	ck_assert_double_gt(last->latency_ns, 2 * first->latency_ns);
	for (size_t i = 1; i < r->nloads; i++) {
		ck_assert_double_ge(r->loads[i].bytes_s, r->loads[i - 1].bytes_s);
		ck_assert_double_ge(r->loads[i].latency_ns, 0.99 * r->loads[i - 1].latency_ns);
	}
	sonde_memory_report_free(r);
}
END_TEST

static const struct sonde_memory_reference *find(const struct sonde_memory_report *r,
						 enum sonde_stream kind, int node,
						 enum sonde_pages pages)
{
	for (size_t i = 0; i < r->nreferences; i++)
		if (r->references[i].kind == kind && r->references[i].node == node &&
		    r->references[i].pages == pages)
			return &r->references[i];
	return NULL;
}

START_TEST(every_node_has_its_bandwidth)
{
	static const unsigned int nodes[] = { 0, 1, 7 };
	struct machine_model model = machine_finis_terrae;
	struct sonde_memory_options options = options_of(&model);
	struct sonde_memory_report *r;
	double own, near, far;

	options.ncpus = 2;
	options.nodes = nodes;
	options.nnodes = 3;
	r = probe(&model, 1, &options);
	own = find(r, SONDE_STREAM_READ, -1, SONDE_PAGES_BASE)->rate.bytes_s;
	near = find(r, SONDE_STREAM_READ, 0, SONDE_PAGES_BASE)->rate.bytes_s;
	far = find(r, SONDE_STREAM_READ, 1, SONDE_PAGES_BASE)->rate.bytes_s;
	ck_assert_double_eq_tol(own / 4e9, 1, 0.01);
	ck_assert_double_eq_tol(near / own, 1, 0.01);
	ck_assert_double_eq_tol(far / own, 0.8, 0.01);
	ck_assert_ptr_null(find(r, SONDE_STREAM_READ, 7, SONDE_PAGES_BASE));
	ck_assert_ptr_null(find(r, SONDE_STREAM_READ, -1, SONDE_PAGES_HUGE));
	ck_assert(has_note(r, "huge pages cannot be had"));
	ck_assert(has_note(r, "NUMA node 7"));
	sonde_memory_report_free(r);
}
END_TEST

START_TEST(a_lane_that_is_put_aside_is_no_word)
{
	struct machine_model model = machine_dunnington;
	struct sonde_memory_options options = options_of(&model);
	struct sonde_memory_report *r;

	/* A quarter of the time others have the CPU; what they do to caches is no matter. */
	memset(model.cache, 0, sizeof(model.cache));
	model.noise = (struct machine_noise){ .slices = 50, .slice_ms = { 2, 8 } };
	options.ncpus = 6;
	r = probe(&model, (uint64_t)_i, &options);
	for (size_t i = 0; i < r->npairs; i++)
		if (r->pairs[i].rounds)
			ck_assert_double_eq_tol(r->pairs[i].ratio, 0.7, 0.02);
	ck_assert_uint_eq(r->nclasses, 1);
	sonde_memory_report_free(r);
}
END_TEST

START_TEST(a_cache_that_is_as_large_as_the_memory_is_said)
{
	struct machine_model model = machine_dunnington;
	struct sonde_memory_options options = options_of(&model);
	struct sonde_memory_report *r;

	options.ncpus = 1;
	options.cache_bytes = 512 << 20;
	r = probe(&model, 1, &options);
	ck_assert(has_note(r, "less than twice the largest cache"));
	sonde_memory_report_free(r);
}
END_TEST

/* ---- errors ------------------------------------------------------------------ */

static int stop(void *ctx, double done, const char *what)
{
	int *left = ctx;

	ck_assert(done >= 0 && done <= 1);
	ck_assert_ptr_nonnull(what);
	return --*left == 0;
}

START_TEST(whoever_watches_may_stop_it)
{
	struct sonde_memory_options options = options_of(&machine_dunnington);
	struct sonde_memory_report *r = NULL;
	int left = 40 << _i;
	struct meter *m;

	options.progress = stop;
	options.progress_ctx = &left;
	ck_assert_int_eq(machine_open(&m, &machine_dunnington, 1), 0);
	ck_assert_int_eq(probe_memory_with(m, &options, &r), -ECANCELED);
	ck_assert_ptr_null(r);
	m->ops->close(m);
}
END_TEST

START_TEST(too_little_memory_is_an_error)
{
	struct sonde_memory_options options = options_of(&machine_dunnington);
	struct sonde_memory_report *r = NULL;
	struct meter *m;

	options.max_bytes = 16 << 20;
	ck_assert_int_eq(machine_open(&m, &machine_dunnington, 1), 0);
	ck_assert_int_eq(probe_memory_with(m, &options, &r), -ENOMEM);
	ck_assert_ptr_null(r);
	m->ops->close(m);
}
END_TEST

START_TEST(a_meter_without_streams_says_so)
{
	struct sonde_memory_options options = options_of(&machine_dunnington);
	struct sonde_memory_report *r = NULL;
	struct meter *m, without;
	struct meter_ops ops;

	ck_assert_int_eq(machine_open(&m, &machine_dunnington, 1), 0);
	ops = *m->ops;
	ops.stream = NULL;
	without = *m;
	without.ops = &ops;
	ck_assert_int_eq(probe_memory_with(&without, &options, &r), -EOPNOTSUPP);
	m->ops->close(m);
}
END_TEST

static TCase *add_case(Suite *s, const char *name)
{
	TCase *c = tcase_create(name);

	tcase_set_timeout(c, 60);
	suite_add_tcase(s, c);
	return c;
}

int main(void)
{
	Suite *s = suite_create("memory");
	TCase *c = add_case(s, "Servet");

	tcase_add_loop_test(c, dunnington_has_one_overhead_whichever_two_cpus, 1, SEEDS);
	tcase_add_loop_test(c, finis_terrae_has_three_classes_for_cpu_0, 1, SEEDS);
	tcase_add_test(c, the_curve_of_a_class_ends_where_its_bus_is_full);
	c = add_case(s, "other machines");
	tcase_add_loop_test(c, cpus_that_do_not_disturb_each_other_have_no_overhead, 1, SEEDS);
	tcase_add_loop_test(c, two_cpus_are_enough, 1, SEEDS);
	tcase_add_test(c, one_cpu_has_references_and_no_pairs);
	tcase_add_loop_test(c, of_pairs_that_are_claimed_to_be_alike_some_are_enough, 1, SEEDS);
	tcase_add_test(c, a_claim_that_is_wrong_is_found_out);
	tcase_add_test(c, with_all_pairs_no_claim_is_believed);
	tcase_add_test(c, latency_rises_with_the_load_of_others);
	tcase_add_test(c, every_node_has_its_bandwidth);
	tcase_add_loop_test(c, a_lane_that_is_put_aside_is_no_word, 1, SEEDS);
	tcase_add_test(c, a_cache_that_is_as_large_as_the_memory_is_said);
	c = add_case(s, "errors");
	tcase_add_loop_test(c, whoever_watches_may_stop_it, 0, 6);
	tcase_add_test(c, too_little_memory_is_an_error);
	tcase_add_test(c, a_meter_without_streams_says_so);
	return tap_run(s);
}
