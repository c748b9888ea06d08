// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Layers of machines and clusters that nobody has: messages are carried by a model
 * whose latencies are known, with noise that only ever adds.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/meter.h"
#include "../../lib/probe/comm.h"
#include "tap.h"

#define MOST_PLACES	512

/**
 * struct model - a cluster
 * @latency: of two places, ns
 * @sigma: of windows, logarithmic; @slow: of so many windows one is 20 times slower
 * @penalty: of each pair more that is on the way at the same time
 * @failures: rounds that come to nothing, each so many-th; 0: none
 */
struct model {
	struct comm_carrier carrier;
	double (*latency)(const struct model *m, unsigned int a, unsigned int b);
	double sigma, penalty;
	unsigned int slow, failures;
	struct sonde_rng rng;
	double now;
	size_t rounds, together, per_node, nodes;
	struct sonde_comm_place places[MOST_PLACES];
	unsigned int groups[MOST_PLACES * 3];
	size_t depth;
};

static double uniform(struct sonde_rng *rng)
{
	return (double)((sonde_rng_next(rng) >> 11) + 1) * 0x1p-53;
}

/* Never quicker than it can be. */
static double add_noise(struct model *m, double ns)
{
	double z = sqrt(-2 * log(uniform(&m->rng))) * cos(2 * M_PI * uniform(&m->rng));

	ns *= exp(m->sigma * fabs(z));
	return m->slow && !sonde_rng_below(&m->rng, m->slow) ? 20 * ns : ns;
}

/* By run: with a byte each 0.1 ns, 100 ns each to send and to receive, a gap of 150. */
static double take(struct model *m, const struct comm_pair *pair, size_t npairs,
		   const struct comm_run *run)
{
	const double bytes = (double)run->bytes, base = m->latency(m, pair->a, pair->b);
	const double half = (base + 0.1 * (bytes - 1)) * (1 + m->penalty * (double)(npairs - 1));
	const double gap = 150 + 0.1 * (bytes - 1), n = run->turns;

	switch (run->kind) {
	case COMM_PINGPONG:
		return add_noise(m, half);
	case COMM_TRAIN:
		/* Without the delays: what is left of max(o + d, gap) a message. */
		return add_noise(m, 2 * half + (n - 1) * (run->delay_ns > 0 ? 100 : gap));
	default:
		return add_noise(m, 100);
	}
}

static int run_together(struct comm_carrier *c, const struct comm_pair *pairs, size_t npairs,
			const struct comm_run *run, double *ns)
{
	struct model *m = (struct model *)c;

	size_t shared = 0;

	m->rounds++;
	m->together = npairs > m->together ? npairs : m->together;
	ck_assert_uint_le(run->windows, COMM_WINDOWS);
	for (size_t i = 0; i < npairs; i++)
		for (size_t j = 0; j < i; j++)
			shared += pairs[i].a == pairs[j].a || pairs[i].a == pairs[j].b ||
				  pairs[i].b == pairs[j].a || pairs[i].b == pairs[j].b;
	ck_assert_uint_eq(shared, 0);
	m->now += 1e-4;
	if (m->failures && !(m->rounds % m->failures))
		return -EAGAIN;
	for (size_t i = 0; i < npairs * run->windows; i++)
		ns[i] = take(m, &pairs[i / run->windows], npairs, run);
	return 0;
}

static double get_now(struct comm_carrier *c)
{
	return ((struct model *)c)->now;
}

static const struct comm_carrier_ops ops = { .together = run_together, .now = get_now };

/* @nodes of @per_node places, of each half a package. */
static struct model *make(size_t nodes, size_t per_node,
			  double (*latency)(const struct model *, unsigned int, unsigned int))
{
	struct model *m = calloc(1, sizeof(*m));

	ck_assert_ptr_nonnull(m);
	m->nodes = nodes;
	m->per_node = per_node;
	m->latency = latency;
	m->sigma = 0.1;
	m->slow = 5;
	m->depth = 2;
	sonde_rng_seed(&m->rng, 1);
	for (unsigned int i = 0; i < nodes * per_node; i++) {
		m->places[i] = (struct sonde_comm_place){ -1, (int)i, i / (unsigned int)per_node,
							  "" };
		m->groups[i * 2] = i / (unsigned int)per_node;
		m->groups[i * 2 + 1] = 2 * i / (unsigned int)per_node;
	}
	m->carrier = (struct comm_carrier){ &ops, m->places, nodes * per_node, SONDE_COMM_MPI, "",
					    1 << 20 };
	return m;
}

static struct sonde_comm_report *probe(struct model *m, int all_pairs, uint64_t seed)
{
	static const size_t size = 1;
	struct sonde_comm_options o = {
		.groups = m->groups, .depth = m->depth, .sizes = &size, .nsizes = 1,
		.seed = seed, .all_pairs = all_pairs, .budget_s = 1000,
	};
	struct sonde_comm_report *r = comm_report_new(m->places, m->carrier.n);

	sonde_rng_seed(&m->rng, seed + 100);
	ck_assert_ptr_nonnull(r);
	ck_assert_int_eq(comm_complete_options(&o), 0);
	ck_assert_int_eq(comm_probe(&m->carrier, &o, o.budget_s, 0, 1, r), 0);
	ck_assert_uint_eq(r->nmatrices, 1);
	return r;
}

/* Every pair has the layer that its latency is the number of, among @n of them. */
static void check_layers(const struct model *m, const struct sonde_comm_report *r,
			 const double *latencies, size_t n)
{
	const struct sonde_comm_matrix *x = &r->matrices[0];
	const unsigned int places = (unsigned int)m->carrier.n;
	size_t wrong = 0;

	ck_assert_uint_eq(x->nlayers, n);
	for (unsigned int a = 0; a < places; a++)
		for (unsigned int b = 0; b < places; b++) {
			int layer = x->layer[a * places + b];
			double ns = m->latency(m, a < b ? a : b, a < b ? b : a);

			if (a == b)
				wrong += layer != -1;
			else
				wrong += layer < 0 || fabs(latencies[layer] - ns) > 1e-9;
		}
	ck_assert_uint_eq(wrong, 0);
}

static double by_node(const struct model *m, unsigned int a, unsigned int b)
{
	return m->places[a].node == m->places[b].node ? 500 : 15000;
}

/* Nodes are on two switches, which nobody claims. */
static double by_switch(const struct model *m, unsigned int a, unsigned int b)
{
	if (m->places[a].node == m->places[b].node)
		return 500;
	return (m->places[a].node < m->nodes / 2) == (m->places[b].node < m->nodes / 2) ? 3000 :
											  5000;
}

/* The first and the last of a node share a core: neighbours by number do not. */
static double by_core(const struct model *m, unsigned int a, unsigned int b)
{
	const unsigned int n = (unsigned int)m->per_node;

	return m->places[a].node == m->places[b].node && a % n + b % n == n - 1 ? 100 :
	       by_node(m, a, b);
}

START_TEST(two_ranks_are_one_layer)
{
	static const double latencies[] = { 15000 };
	struct model *m = make(2, 1, by_node);
	struct sonde_comm_report *r = probe(m, 1, (uint64_t)_i);

	check_layers(m, r, latencies, 1);
	ck_assert_uint_eq(r->matrices[0].layers[0].ngroups, 1);
	ck_assert_uint_eq(r->matrices[0].layers[0].nloads, 0);
	sonde_comm_report_free(r);
	free(m);
}
END_TEST

START_TEST(nodes_are_a_layer_with_the_right_members)
{
	static const double latencies[] = { 500, 15000 };
	struct model *m = make(4, 2, by_node);
	struct sonde_comm_report *r = probe(m, 1, (uint64_t)_i);
	const struct sonde_comm_layer *l = r->matrices[0].layers;

	check_layers(m, r, latencies, 2);
	ck_assert_uint_eq(l[0].ngroups, 4);
	ck_assert_uint_eq(l[1].ngroups, 1);
	for (unsigned int i = 0; i < 8; i++)
		ck_assert_uint_eq(l[0].group[i], i / 2);
	ck_assert_uint_eq(l[0].npairs, 4);
	ck_assert_uint_eq(l[1].npairs, 24);
	sonde_comm_report_free(r);
	free(m);
}
END_TEST

START_TEST(places_that_are_all_alike_are_one_layer)
{
	static const double latencies[] = { 500 };
	struct model *m = make(1, 24, by_node);
	struct sonde_comm_report *r = probe(m, 1, (uint64_t)_i);

	check_layers(m, r, latencies, 1);
	sonde_comm_report_free(r);
	free(m);
}
END_TEST

START_TEST(cores_that_nobody_claims_are_found_by_all_pairs)
{
	static const double latencies[] = { 100, 500, 15000 };
	struct model *m = make(2, 8, by_core);
	struct sonde_comm_report *r = probe(m, 1, (uint64_t)_i);

	check_layers(m, r, latencies, 3);
	sonde_comm_report_free(r);
	free(m);
}
END_TEST

START_TEST(of_512_ranks_few_pairs_tell_all_where_they_are_as_claimed)
{
	static const double latencies[] = { 500, 15000 };
	struct model *m = make(64, 8, by_node);
	struct sonde_comm_report *r = probe(m, 0, (uint64_t)_i);

	check_layers(m, r, latencies, 2);
	ck_assert_uint_le(r->matrices[0].npairs, 3 * 64);
	/* And many at a time, on nodes of their own. */
	ck_assert_uint_ge(m->together, 16);
	sonde_comm_report_free(r);
	free(m);
}
END_TEST

START_TEST(of_512_ranks_more_are_measured_where_they_are_not)
{
	static const double latencies[] = { 500, 3000, 5000 };
	struct model *m = make(64, 8, by_switch);
	struct sonde_comm_report *r = probe(m, 0, (uint64_t)_i);

	check_layers(m, r, latencies, 3);
	ck_assert_uint_le(r->matrices[0].npairs, 3 * 64 * 64);
	ck_assert_uint_eq(r->nnotes, 1);
	ck_assert_ptr_nonnull(strstr(r->notes[0], "claimed to be alike"));
	ck_assert_uint_eq(r->matrices[0].layers[1].ngroups, 2);
	sonde_comm_report_free(r);
	free(m);
}
END_TEST

START_TEST(pairs_of_a_node_take_turns)
{
	struct model *m = make(1, 8, by_node);
	struct sonde_comm_report *r;

	/* Only the loads, at the end, are of several at once. */
	m->penalty = 0.5;
	r = probe(m, 1, 1);
	ck_assert_double_ge(r->matrices[0].layers[0].ns, 500);
	ck_assert_double_le(r->matrices[0].layers[0].ns, 550);
	sonde_comm_report_free(r);
	free(m);
}
END_TEST

START_TEST(pairs_at_the_same_time_lose_what_they_do)
{
	struct model *m = make(1, 8, by_node);
	struct sonde_comm_report *r;
	const struct sonde_comm_layer *l;

	m->penalty = 0.25;
	m->slow = 0;
	r = probe(m, 1, 1);
	l = r->matrices[0].layers;
	ck_assert_uint_eq(l->nloads, 2);
	ck_assert_uint_eq(l->loads[0].pairs, 2);
	ck_assert_uint_eq(l->loads[1].pairs, 4);
	ck_assert_double_eq_tol(l->loads[0].ratio, 1 / 1.25, 0.05);
	ck_assert_double_eq_tol(l->loads[1].ratio, 1 / 1.75, 0.05);
	sonde_comm_report_free(r);
	free(m);
}
END_TEST

START_TEST(messages_have_the_parameters_they_were_made_of)
{
	struct model *m = make(2, 1, by_node);
	struct sonde_comm_report *r;
	const struct sonde_loggp *l;

	m->sigma = 0.01;
	r = probe(m, 1, (uint64_t)_i);
	l = &r->matrices[0].layers[0].loggp;
	ck_assert_uint_eq(l->nsegments, 1);
	ck_assert_double_eq_tol(l->segments[0].start_ns, 15000, 300);
	ck_assert_double_eq_tol(l->segments[0].per_byte_ns, 0.1, 0.01);
	ck_assert_double_eq_tol(l->segments[0].byte_ns, 0.1, 0.01);
	ck_assert_double_eq_tol(l->send_ns, 100, 50);
	ck_assert_double_eq_tol(l->receive_ns, 100, 5);
	ck_assert_double_eq_tol(l->latency_ns, 14800, 300);
	sonde_comm_report_free(r);
	free(m);
}
END_TEST

START_TEST(rounds_that_come_to_nothing_are_tried_again)
{
	static const double latencies[] = { 500, 15000 };
	struct model *m = make(2, 4, by_node);
	struct sonde_comm_report *r;

	m->failures = 3;
	r = probe(m, 1, 1);
	check_layers(m, r, latencies, 2);
	sonde_comm_report_free(r);
	free(m);
}
END_TEST

static int stop_soon(void *ctx, double done, const char *what)
{
	int *left = ctx;

	ck_assert(done >= 0 && done <= 1.001);
	ck_assert_ptr_nonnull(what);
	return !--*left;
}

START_TEST(whoever_watches_can_stop_it)
{
	static const size_t size = 1;
	struct model *m = make(2, 2, by_node);
	struct sonde_comm_report *r = comm_report_new(m->places, 4);
	int left = _i;
	struct sonde_comm_options o = {
		.sizes = &size, .nsizes = 1, .progress = stop_soon, .progress_ctx = &left,
	};

	ck_assert_int_eq(comm_complete_options(&o), 0);
	ck_assert_int_eq(comm_probe(&m->carrier, &o, 1, 0, 1, r), -ECANCELED);
	ck_assert_int_eq(left, 0);
	sonde_comm_report_free(r);
	free(m);
}
END_TEST

START_TEST(a_carrier_that_fails_ends_it)
{
	static const size_t size = 1;
	struct model *m = make(2, 2, by_node);
	struct sonde_comm_report *r = comm_report_new(m->places, 4);
	struct sonde_comm_options o = { .sizes = &size, .nsizes = 1 };

	m->failures = 1;
	ck_assert_int_eq(comm_complete_options(&o), 0);
	ck_assert_int_eq(comm_probe(&m->carrier, &o, 1, 0, 1, r), -EAGAIN);
	sonde_comm_report_free(r);
	free(m);
}
END_TEST

START_TEST(options_that_cannot_be_are_refused)
{
	static const size_t sizes[] = { 1, 0 };
	static const unsigned int one[] = { 0 }, twice[] = { 0, 0 };
	struct sonde_comm_options o = { .sizes = sizes, .nsizes = 2, .cpus = one, .ncpus = 1 };
	struct sonde_comm_report *r = NULL;
	struct sonde_clock *clk;

	ck_assert_int_eq(sonde_clock_open(&clk, SONDE_CLOCK_AUTO), 0);
	ck_assert_int_eq(sonde_probe_comm(clk, &o, &r), -EINVAL);
	o.nsizes = 1;
	ck_assert_int_eq(sonde_probe_comm(clk, &o, &r), -ERANGE);
	o.cpus = twice;
	o.ncpus = 2;
	ck_assert_int_eq(sonde_probe_comm(clk, &o, &r), -EINVAL);
	o.methods = 1 << SONDE_COMM_MPI;
	ck_assert_int_eq(sonde_probe_comm(clk, &o, &r), -EINVAL);
	ck_assert_ptr_null(r);
	sonde_clock_close(clk);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("comm");
	TCase *c = tcase_create("comm");

	tcase_set_timeout(c, 60);
	tcase_add_loop_test(c, two_ranks_are_one_layer, 0, tap_loops(5));
	tcase_add_loop_test(c, nodes_are_a_layer_with_the_right_members, 0, tap_loops(20));
	tcase_add_loop_test(c, places_that_are_all_alike_are_one_layer, 0, tap_loops(5));
	tcase_add_loop_test(c, cores_that_nobody_claims_are_found_by_all_pairs, 0, tap_loops(5));
	tcase_add_loop_test(c, of_512_ranks_few_pairs_tell_all_where_they_are_as_claimed, 0, tap_loops(2));
	tcase_add_loop_test(c, of_512_ranks_more_are_measured_where_they_are_not, 0, tap_loops(2));
	tcase_add_test(c, pairs_of_a_node_take_turns);
	tcase_add_test(c, pairs_at_the_same_time_lose_what_they_do);
	tcase_add_loop_test(c, messages_have_the_parameters_they_were_made_of, 0, tap_loops(5));
	tcase_add_test(c, rounds_that_come_to_nothing_are_tried_again);
	tcase_add_loop_test(c, whoever_watches_can_stop_it, 1, 20);
	tcase_add_test(c, a_carrier_that_fails_ends_it);
	tcase_add_test(c, options_that_cannot_be_are_refused);
	suite_add_tcase(suite, c);
	return tap_run(suite);
}
