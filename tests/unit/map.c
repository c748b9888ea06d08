// SPDX-License-Identifier: GPL-2.0-or-later
/* `sonde map`: matrices, machines by hwloc's descriptions, placements, prices. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "../../lib/rng.h"
#include "../../tools/map.h"
#include "tap.h"

#define MOST 512

/* As @nodes nodes of what @topology describes. */
static struct map_machine open_machine(size_t nodes, size_t per_node, const char *topology)
{
	const struct map_wish wish = { .nodes = nodes, .per_node = per_node, .topology = topology };
	struct map_machine machine;
	char why[MAP_WHY];

	ck_assert_msg(!map_machine_open(&machine, &wish, why), "%s", why);
	return machine;
}

/* Of @nx x @ny points each sends @bytes to its four neighbours; rank of point: @rank. */
static struct map_matrix make_stencil(int nx, int ny, double bytes, const unsigned int *rank)
{
	size_t n = (size_t)(nx * ny);
	double *cells = calloc(n * n, sizeof(*cells));
	struct map_matrix m;

	ck_assert_ptr_nonnull(cells);
	for (int i = 0; i < nx * ny; i++) {
		const int to[] = { i % nx ? i - 1 : -1, i % nx < nx - 1 ? i + 1 : -1, i - nx, i + nx };

		for (int k = 0; k < 4; k++)
			if (to[k] >= 0 && to[k] < nx * ny)
				cells[(rank ? rank[i] : (unsigned int)i) * n +
				      (rank ? rank[to[k]] : (unsigned int)to[k])] = bytes;
	}
	ck_assert_int_eq(map_matrix_make(&m, n, cells, NULL), 0);
	free(cells);
	return m;
}

static void shuffle(unsigned int *rank, unsigned int n, uint64_t seed)
{
	struct sonde_rng rng;

	sonde_rng_seed(&rng, seed);
	for (unsigned int i = 0; i < n; i++)
		rank[i] = i;
	for (unsigned int i = n - 1; i > 0; i--) {
		unsigned int j = (unsigned int)sonde_rng_below(&rng, i + 1), kept = rank[i];

		rank[i] = rank[j];
		rank[j] = kept;
	}
}

/* The price of the best, after it was looked at: each rank one place, none twice, and
 * not dearer than either of the plain ones. */
static struct map_price find_best(const struct map_machine *machine, const struct map_matrix *m)
{
	unsigned int place[MOST], again[MOST];
	char is_taken[MOST] = "";
	struct map_price identity, round_robin, best;
	const char *how;

	map_place_identity(m->n, place);
	ck_assert_int_eq(map_price(machine, m, place, &identity), 0);
	ck_assert_int_eq(map_place_round_robin(machine, m->n, place), 0);
	ck_assert_int_eq(map_price(machine, m, place, &round_robin), 0);
	ck_assert_int_eq(map_place_best(machine, m, place, &how, NULL), 0);
	ck_assert_int_eq(map_price(machine, m, place, &best), 0);
	ck_assert_double_le(best.total_ns, identity.total_ns);
	ck_assert_double_le(best.total_ns, round_robin.total_ns);
	for (size_t r = 0; r < m->n; r++) {
		ck_assert_uint_lt(place[r], machine->n);
		ck_assert_int_eq(is_taken[place[r]], 0);
		is_taken[place[r]] = 1;
	}
	ck_assert_int_eq(map_place_best(machine, m, again, &how, NULL), 0);
	ck_assert_int_eq(memcmp(place, again, m->n * sizeof(*place)), 0);
	return best;
}

/* What is built in alone finds a better placement, but not always the best. */
static int has_scotch(const struct map_machine *machine, const struct map_matrix *m)
{
	unsigned int place[MOST];

	return map_place_scotch(machine, m, place) != -ENOSYS;
}

START_TEST(two_cliques_go_to_two_nodes)
{
	struct map_machine machine = open_machine(2, 4, "l3:1 core:4 pu:1");
	double cells[64];
	struct map_matrix m;
	struct map_price best;

	/* The even ranks and the odd ones, and one byte between 0 and 1. */
	for (int i = 0; i < 64; i++)
		cells[i] = i / 8 % 2 == i % 2 ? 1000 : 0;
	cells[1] = 1;
	ck_assert_int_eq(map_matrix_make(&m, 8, cells, NULL), 0);
	best = find_best(&machine, &m);
	ck_assert_double_eq(best.network_bytes, 1);
	ck_assert_double_eq(best.link_bytes, 1);
	map_matrix_free(&m);
	map_machine_close(&machine);
}
END_TEST

/* A ring is cut twice at least, whatever the order of its ranks. */
START_TEST(a_shuffled_ring_is_cut_once_for_each_node)
{
	struct map_machine machine = open_machine(4, 4, "l3:1 core:4 pu:1");

	for (uint64_t seed = 1; seed <= 10; seed++) {
		static double cells[16 * 16];
		unsigned int rank[16];
		struct map_matrix m;

		memset(cells, 0, sizeof(cells));
		shuffle(rank, 16, seed);
		for (int i = 0; i < 16; i++)
			cells[rank[i] * 16 + rank[(i + 1) % 16]] = 100;
		ck_assert_int_eq(map_matrix_make(&m, 16, cells, NULL), 0);
		ck_assert_double_eq(find_best(&machine, &m).network_bytes, 400);
		map_matrix_free(&m);
	}
	map_machine_close(&machine);
}
END_TEST

/* 8 x 8 points on 4 nodes of 16: squares of 4 x 4, 16 edges between them. */
START_TEST(a_stencil_is_cut_into_squares)
{
	struct map_machine machine = open_machine(4, 16, "package:2 l3:1 core:8 pu:1");
	struct map_matrix m = make_stencil(8, 8, 1000, NULL);
	struct map_price best = find_best(&machine, &m);

	/* Identity has 24: node after node two rows of 8. */
	ck_assert_double_le(best.network_bytes, 2 * 24 * 1000);
	if (has_scotch(&machine, &m))
		ck_assert_double_eq(best.network_bytes, 2 * 16 * 1000);
	map_matrix_free(&m);
	map_machine_close(&machine);
}
END_TEST

START_TEST(a_stencil_beats_round_robin_in_any_order_of_ranks)
{
	struct map_machine machine = open_machine(8, 16, "package:2 l3:1 core:8 pu:1");

	for (uint64_t seed = 1; seed <= 3; seed++) {
		unsigned int rank[128], place[128];
		struct map_price round_robin, best;
		struct map_matrix m;

		shuffle(rank, 128, seed);
		m = make_stencil(16, 8, 1000, rank);
		ck_assert_int_eq(map_place_round_robin(&machine, m.n, place), 0);
		ck_assert_int_eq(map_price(&machine, &m, place, &round_robin), 0);
		best = find_best(&machine, &m);
		/* By hand: 4 x 4 points a node, 10 borders of 4 edges. A third more is let pass. */
		if (has_scotch(&machine, &m))
			ck_assert_double_le(best.network_bytes, 2 * 40 * 1000 * 4. / 3);
		ck_assert_double_lt(best.total_ns, 0.5 * round_robin.total_ns);
		map_matrix_free(&m);
	}
	map_machine_close(&machine);
}
END_TEST

START_TEST(pairs_share_a_cache_on_one_node)
{
	struct map_machine machine = open_machine(1, 0, "package:2 l3:2 l2:2 core:2 pu:1");
	double cells[256] = { 0 };
	struct map_matrix m;

	/* Rank i and i + 8 talk: 8 pairs, 8 second levels. */
	for (int i = 0; i < 8; i++)
		cells[i * 16 + i + 8] = 100;
	ck_assert_int_eq(map_matrix_make(&m, 16, cells, NULL), 0);
	ck_assert_double_eq_tol(find_best(&machine, &m).total_ns,
				8 * 100 * machine.layer[MAP_L2].byte_ns, 1e-9);
	map_matrix_free(&m);
	map_machine_close(&machine);
}
END_TEST

START_TEST(ranks_may_be_fewer_than_places)
{
	struct map_machine machine = open_machine(3, 4, "core:4 pu:1");
	double cells[16] = { [1] = 10, [2] = 10, [3] = 10 };
	struct map_matrix m;

	ck_assert_int_eq(map_matrix_make(&m, 4, cells, NULL), 0);
	ck_assert_double_eq(find_best(&machine, &m).network_bytes, 0);
	map_matrix_free(&m);
	map_machine_close(&machine);
}
END_TEST

START_TEST(messages_count_without_bytes)
{
	struct map_machine machine = open_machine(2, 2, "core:2 pu:1");
	const double bytes[16] = { 0 };
	double messages[16] = { [2] = 5 };
	struct map_matrix m;

	ck_assert_int_eq(map_matrix_make(&m, 4, bytes, messages), 0);
	ck_assert_double_eq_tol(find_best(&machine, &m).total_ns,
				5 * machine.layer[MAP_NUMA].message_ns, 1e-9);
	map_matrix_free(&m);
	map_machine_close(&machine);
}
END_TEST

/* Matrices that nobody would send, on nodes that are not alike in size. */
START_TEST(hostile_matrices_are_placed)
{
	struct map_machine machine = open_machine(5, 3, "core:3 pu:1");
	static double cells[15 * 15];
	struct sonde_rng rng;

	sonde_rng_seed(&rng, 7);
	for (int kind = 0; kind < 6; kind++) {
		struct map_matrix m;

		for (int i = 0; i < 225; i++)
			cells[i] = kind == 0 ? 0 : kind == 1 ? 9e15 : kind == 2 ? 1e-300 :
				   kind == 3 ? i == 7 ? 9e15 : 1e-12 :
				   kind == 4 ? i / 15 == 0 || i % 15 == 0 :
				   (double)sonde_rng_below(&rng, 1u << (sonde_rng_below(&rng, 31)));
		ck_assert_int_eq(map_matrix_make(&m, 15, cells, NULL), 0);
		ck_assert(isfinite(find_best(&machine, &m).total_ns));
		map_matrix_free(&m);
	}
	map_machine_close(&machine);
}
END_TEST

START_TEST(one_rank_has_nobody_to_talk_to)
{
	struct map_machine machine = open_machine(1, 1, "core:1 pu:1");
	const double own = 12;
	struct map_matrix m;

	ck_assert_int_eq(map_matrix_make(&m, 1, &own, NULL), 0);
	ck_assert_double_eq(find_best(&machine, &m).total_ns, 0);
	map_matrix_free(&m);
	map_machine_close(&machine);
}
END_TEST

START_TEST(threads_of_a_core_are_used_last)
{
	struct map_machine machine = open_machine(1, 6, "core:4 pu:2");

	for (size_t slot = 0; slot < 4; slot++)
		ck_assert_uint_eq(machine.core[slot], slot);
	ck_assert_uint_eq(machine.core[4], 0);
	ck_assert_int_eq(map_distance(&machine, 0, 4), MAP_CORE);
	ck_assert_int_ne(map_distance(&machine, 0, 1), MAP_CORE);
	ck_assert_int_eq(machine.is_threads, 1);
	map_machine_close(&machine);
}
END_TEST

/* What was measured of caches goes before what is claimed of them. */
START_TEST(sharing_of_the_profile_corrects_the_topology)
{
	json_t *profile = json_pack("{s:{s:[{s:i, s:[{s:s, s:s}, {s:s, s:s}]}]}}", "sharing",
				    "levels", "level", 2, "groups", "cpus", "0,3", "verdict",
				    "shared", "cpus", "1,2", "verdict", "shared");
	const struct map_wish wish = { .topology = "l2:2 core:2 pu:1", .profile = profile };
	struct map_machine machine;
	char why[MAP_WHY];

	ck_assert_ptr_nonnull(profile);
	ck_assert_msg(!map_machine_open(&machine, &wish, why), "%s", why);
	ck_assert_int_eq(map_distance(&machine, 0, 3), MAP_L2);
	ck_assert_int_eq(map_distance(&machine, 0, 1), MAP_NUMA);
	map_machine_close(&machine);
	json_decref(profile);
}
END_TEST

START_TEST(copies_of_the_profile_scale_what_a_byte_costs)
{
	/* 100 ns to begin with, which is no message, and 0.5 ns a byte. */
	json_t *profile = json_pack("{s:{s:[{s:s, s:i, s:f}, {s:s, s:i, s:f}]}}", "transfers",
				    "points", "way", "cma", "bytes", 100, "ns", 150.0,
				    "way", "cma", "bytes", 1100, "ns", 650.0);
	struct map_layer usual[MAP_DISTANCES], layers[MAP_DISTANCES];

	map_layers_fill(usual, NULL);
	map_layers_fill(layers, profile);
	ck_assert_double_eq(layers[MAP_L3].message_ns, usual[MAP_L3].message_ns);
	ck_assert_double_eq_tol(layers[MAP_L3].byte_ns, 0.5, 1e-9);
	ck_assert_double_eq(layers[MAP_NETWORK].byte_ns, usual[MAP_NETWORK].byte_ns);
	for (int d = 1; d < MAP_NETWORK; d++)
		ck_assert_double_gt(layers[d].byte_ns, layers[d - 1].byte_ns);
	json_decref(profile);
}
END_TEST

#define RECORDING "tests/recordings/profile-two-buses.json"

static struct map_machine open_measured(const json_t *profile, const char *topology, size_t nodes,
					int is_unbound)
{
	const struct map_wish wish = { .topology = topology, .profile = profile, .nodes = nodes,
				       .is_unbound = is_unbound };
	struct map_machine machine;
	char why[MAP_WHY];

	ck_assert_ptr_nonnull(profile);
	ck_assert_msg(!map_machine_open(&machine, &wish, why), "%s", why);
	return machine;
}

/* The topology says 0 to 3 and 4 to 7; what was measured, 0 and 4, 1 and 5, ... */
START_TEST(layers_that_were_measured_go_before_the_topology_by_size)
{
	json_t *profile = json_load_file(RECORDING, 0, NULL);
	struct map_machine machine = open_measured(profile, "package:2 core:4 pu:1", 1, 0);

	ck_assert_double_eq_tol(map_cost(&machine, 0, 4, 1, 512), 80 + .025 * 512, 1e-6);
	ck_assert_double_eq_tol(map_cost(&machine, 4, 0, 2, 1024), 2 * (80 + .025 * 512), 1e-6);
	ck_assert_double_eq_tol(map_cost(&machine, 3, 7, 1, 1e7), 80 + .025 * 1e7, 1);
	ck_assert_double_eq_tol(map_cost(&machine, 0, 2, 1, 512), 160 + .04 * 512, 1e-6);
	ck_assert_double_eq_tol(map_cost(&machine, 0, 1, 1, 512), 400 + .085 * 512, 1e-6);
	ck_assert_double_eq_tol(map_cost(&machine, 0, 1, 1, 0), 400.085, 1e-6);
	ck_assert_ptr_nonnull(strstr(machine.layer[map_layer_of(&machine, 0, 4)].source, "shm"));
	map_machine_close(&machine);
	json_decref(profile);
}
END_TEST

START_TEST(ranks_without_cpus_talk_as_most_pairs_of_a_node_do)
{
	json_t *profile = json_load_file(RECORDING, 0, NULL);
	struct map_machine machine = open_measured(profile, "package:2 core:4 pu:1", 1, 1);

	ck_assert_double_eq_tol(map_cost(&machine, 0, 4, 1, 512), 400 + .085 * 512, 1e-6);
	map_machine_close(&machine);
	json_decref(profile);
}
END_TEST

START_TEST(cpus_that_were_not_measured_cost_as_others_as_far_apart)
{
	json_t *profile = json_load_file(RECORDING, 0, NULL), *section;
	struct map_machine machine;

	ck_assert_ptr_nonnull(profile);
	section = json_object_get(profile, "communication");
	/* Nothing of 5, 6 and 7: of pairs in two packages 0 and 4, 2 and 4 are known. */
	for (size_t i = 5; i < 8; i++)
		json_object_set_new(json_array_get(json_object_get(section, "places"), i), "cpu",
				    json_integer((json_int_t)(100 + i)));
	machine = open_measured(profile, "package:2 core:4 pu:1", 1, 0);
	ck_assert_double_eq_tol(map_cost(&machine, 0, 4, 1, 512), 80 + .025 * 512, 1e-6);
	/* 0, 1, 2, 3 with 4: layers 0, 2, 1, 2. Within a package: 2, 1, 2, 2, 1, 2. */
	ck_assert_double_eq_tol(map_cost(&machine, 0, 6, 1, 512), 400 + .085 * 512, 1e-6);
	ck_assert_double_eq_tol(map_cost(&machine, 5, 6, 1, 512), 400 + .085 * 512, 1e-6);
	map_machine_close(&machine);
	json_decref(profile);
}
END_TEST

/* Two ranks on each of two nodes, as fits: no point was measured. */
static json_t *make_job(void)
{
	return json_loads("{\"communication\": {\"places\": ["
		"{\"cpu\": null, \"rank\": 0, \"node\": 0}, {\"cpu\": null, \"rank\": 1, \"node\": 0},"
		"{\"cpu\": null, \"rank\": 2, \"node\": 1}, {\"cpu\": null, \"rank\": 3, \"node\": 1}],"
		"\"methods\": [{\"method\": \"mpi\", \"matrix\": ["
		"{\"layers\": [null, 0, 1, 1]}, {\"layers\": [0, null, 1, 1]},"
		"{\"layers\": [1, 1, null, 0]}, {\"layers\": [1, 1, 0, null]}], \"layers\": ["
		"{\"points\": [], \"loggp\": {\"segments\": [{\"from_bytes\": 1, \"to_bytes\": 65536,"
		"\"start_ns\": 700, \"per_byte_ns\": 0.5}]}},"
		"{\"points\": [], \"loggp\": {\"segments\": ["
		"{\"from_bytes\": 1, \"to_bytes\": 4096, \"start_ns\": 30000, \"per_byte_ns\": 2},"
		"{\"from_bytes\": 8192, \"to_bytes\": 65536, \"start_ns\": 60000,"
		"\"per_byte_ns\": 1}]}}]}]}}", 0, NULL);
}

START_TEST(the_network_costs_what_a_job_measured)
{
	json_t *profile = make_job();
	struct map_machine machine = open_measured(profile, "core:2 pu:1", 2, 1);

	ck_assert_double_eq_tol(map_cost(&machine, 0, 1, 1, 1000), 700 + 500, 1e-6);
	ck_assert_double_eq_tol(map_cost(&machine, 0, 2, 1, 1000), 30000 + 2000, 1e-6);
	ck_assert_double_eq_tol(map_cost(&machine, 1, 3, 2, 2 * 10000), 2 * 70000, 1e-6);
	ck_assert_ptr_nonnull(strstr(machine.layer[MAP_NETWORK].source, "mpi, layer 1"));
	map_machine_close(&machine);
	json_decref(profile);
}
END_TEST

static Suite *make_suite(void)
{
	Suite *suite = suite_create("map");
	TCase *tests = tcase_create("map");

	tcase_add_test(tests, two_cliques_go_to_two_nodes);
	tcase_add_test(tests, a_shuffled_ring_is_cut_once_for_each_node);
	tcase_add_test(tests, a_stencil_is_cut_into_squares);
	tcase_add_test(tests, a_stencil_beats_round_robin_in_any_order_of_ranks);
	tcase_add_test(tests, pairs_share_a_cache_on_one_node);
	tcase_add_test(tests, ranks_may_be_fewer_than_places);
	tcase_add_test(tests, messages_count_without_bytes);
	tcase_add_test(tests, hostile_matrices_are_placed);
	tcase_add_test(tests, one_rank_has_nobody_to_talk_to);
	tcase_add_test(tests, threads_of_a_core_are_used_last);
	tcase_add_test(tests, sharing_of_the_profile_corrects_the_topology);
	tcase_add_test(tests, copies_of_the_profile_scale_what_a_byte_costs);
	tcase_add_test(tests, layers_that_were_measured_go_before_the_topology_by_size);
	tcase_add_test(tests, ranks_without_cpus_talk_as_most_pairs_of_a_node_do);
	tcase_add_test(tests, cpus_that_were_not_measured_cost_as_others_as_far_apart);
	tcase_add_test(tests, the_network_costs_what_a_job_measured);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	return tap_run(make_suite());
}
