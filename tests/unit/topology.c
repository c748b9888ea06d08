// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Claims of recorded machines (tests/recordings/README.md), and of this one.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sonde/topology.h>

#include "tap.h"

#define MAX 16

static struct sonde_topology *open_recording(const char *name)
{
	struct sonde_topology *topo;
	char path[128];

	snprintf(path, sizeof(path), "tests/recordings/topology-%s.xml", name);
	ck_assert_msg(!access(path, R_OK), "%s: run from the top of the tree", path);
	setenv("HWLOC_XMLFILE", path, 1);
	ck_assert_int_eq(sonde_topology_open(&topo), 0);
	unsetenv("HWLOC_XMLFILE");
	return topo;
}

static void assert_claim(const struct sonde_cache_claim *claim, unsigned int level,
			 enum sonde_cache_type type, uint64_t size, int ways, unsigned int line,
			 const char *cpus)
{
	ck_assert_uint_eq(claim->level, level);
	ck_assert_int_eq(claim->type, type);
	ck_assert_uint_eq(claim->size, size);
	ck_assert_int_eq(claim->ways, ways);
	ck_assert_uint_eq(claim->line, line);
	ck_assert_str_eq(claim->cpus, cpus);
}

START_TEST(gives_data_caches_nearest_first_without_those_for_instructions)
{
	struct sonde_topology *topo = open_recording("smt");
	struct sonde_cache_claim c[MAX];

	ck_assert_int_eq(sonde_topology_caches(topo, 3, c, MAX), 3);
	assert_claim(&c[0], 1, SONDE_CACHE_DATA, 48 << 10, 12, 64, "1,3");
	assert_claim(&c[1], 2, SONDE_CACHE_UNIFIED, 2 << 20, 16, 64, "1,3");
	assert_claim(&c[2], 3, SONDE_CACHE_UNIFIED, 32 << 20, -1, 64, "0-3");
	sonde_topology_close(topo);
}
END_TEST

START_TEST(counts_all_caches_and_writes_only_those_that_fit)
{
	struct sonde_topology *topo = open_recording("smt");
	struct sonde_cache_claim c[2];

	memset(c, 0xff, sizeof(c));
	ck_assert_int_eq(sonde_topology_caches(topo, 0, NULL, 0), 3);
	ck_assert_int_eq(sonde_topology_caches(topo, 0, c, 1), 3);
	ck_assert_str_eq(c[0].cpus, "0,2");
	ck_assert_uint_eq(c[1].level, (unsigned int)-1);
	sonde_topology_close(topo);
}
END_TEST

START_TEST(knows_a_fourth_level_and_what_is_not_claimed)
{
	struct sonde_topology *topo = open_recording("holes");
	struct sonde_cache_claim c[MAX];

	ck_assert_int_eq(sonde_topology_caches(topo, 9, c, MAX), 4);
	assert_claim(&c[3], 4, SONDE_CACHE_UNIFIED, 128 << 20, 0, 0, "0,4,9,12");
	sonde_topology_close(topo);
}
END_TEST

START_TEST(names_all_CPUs_of_a_cache_also_those_that_are_not_allowed)
{
	struct sonde_topology *topo = open_recording("holes");
	struct sonde_cache_claim c[MAX];

	ck_assert_int_eq(sonde_topology_caches(topo, 9, c, MAX), 4);
	ck_assert_str_eq(c[0].cpus, "9,12");
	sonde_topology_close(topo);
}
END_TEST

START_TEST(refuses_a_CPU_that_is_not_there_or_not_allowed)
{
	struct sonde_topology *topo = open_recording("holes");
	struct sonde_cache_claim c[MAX];

	ck_assert_int_eq(sonde_topology_caches(topo, 1, c, MAX), -EINVAL);
	ck_assert_int_eq(sonde_topology_caches(topo, 12, c, MAX), -EINVAL);
	ck_assert_int_eq(sonde_topology_caches(topo, (unsigned int)-1, c, MAX), -EINVAL);
	sonde_topology_close(topo);
}
END_TEST

START_TEST(numbers_of_CPUs_may_have_holes)
{
	struct sonde_topology *topo = open_recording("holes");
	unsigned int cpus[3] = { 0, 0, 77 };

	ck_assert_int_eq(sonde_topology_cpus(topo, NULL, 0), 3);
	ck_assert_int_eq(sonde_topology_cpus(topo, cpus, 2), 3);
	ck_assert(cpus[0] == 0 && cpus[1] == 4 && cpus[2] == 77);
	ck_assert_int_eq(sonde_topology_cpus(topo, cpus, 3), 3);
	ck_assert_uint_eq(cpus[2], 9);
	sonde_topology_close(topo);
}
END_TEST

START_TEST(a_machine_may_claim_no_caches_and_no_name)
{
	struct sonde_topology *topo = open_recording("bare");
	struct sonde_cache_claim c[MAX];

	ck_assert_int_eq(sonde_topology_caches(topo, 0, c, MAX), 0);
	ck_assert_str_eq(sonde_topology_cpu_model(topo), "unknown");
	sonde_topology_close(topo);
}
END_TEST

START_TEST(counts_only_nodes_with_memory)
{
	struct sonde_topology *topo = open_recording("bare");

	ck_assert_int_eq(sonde_topology_nodes(topo), 1);
	ck_assert_uint_eq(sonde_topology_memory(topo), 1 << 30);
	sonde_topology_close(topo);
}
END_TEST

START_TEST(knows_the_name_of_the_CPU)
{
	struct sonde_topology *topo = open_recording("smt");

	ck_assert_str_eq(sonde_topology_cpu_model(topo), "A processor with two threads a core");
	sonde_topology_close(topo);
}
END_TEST

START_TEST(on_this_machine_CPUs_are_those_of_the_affinity)
{
	struct sonde_topology *topo;
	unsigned int cpu = (unsigned int)sched_getcpu(), found[2];
	cpu_set_t before, one;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	ck_assert_int_eq(sonde_topology_open(&topo), 0);
	ck_assert_int_eq(sonde_topology_cpus(topo, found, 2), 1);
	ck_assert_uint_eq(found[0], cpu);
	ck_assert_int_ge(sonde_topology_caches(topo, cpu, NULL, 0), 0);
	ck_assert_int_ge(sonde_topology_nodes(topo), 1);
	ck_assert_uint_gt(sonde_topology_memory(topo), 0);
	ck_assert_str_ne(sonde_topology_cpu_model(topo), "");
	sonde_topology_close(topo);
	sched_setaffinity(0, sizeof(before), &before);
}
END_TEST

START_TEST(discovering_leaves_the_affinity_alone)
{
	struct sonde_topology *topo;
	cpu_set_t before, after;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	ck_assert_int_eq(sonde_topology_open(&topo), 0);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(after), &after), 0);
	ck_assert(CPU_EQUAL(&before, &after));
	sonde_topology_close(topo);
}
END_TEST

START_TEST(close_takes_NULL)
{
	sonde_topology_close(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("topology");
	TCase *tc = tcase_create("topology");

	/* Whoever runs this may have set them. */
	unsetenv("HWLOC_XMLFILE");
	unsetenv("HWLOC_SYNTHETIC");
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, gives_data_caches_nearest_first_without_those_for_instructions);
	tcase_add_test(tc, counts_all_caches_and_writes_only_those_that_fit);
	tcase_add_test(tc, knows_a_fourth_level_and_what_is_not_claimed);
	tcase_add_test(tc, names_all_CPUs_of_a_cache_also_those_that_are_not_allowed);
	tcase_add_test(tc, refuses_a_CPU_that_is_not_there_or_not_allowed);
	tcase_add_test(tc, numbers_of_CPUs_may_have_holes);
	tcase_add_test(tc, a_machine_may_claim_no_caches_and_no_name);
	tcase_add_test(tc, counts_only_nodes_with_memory);
	tcase_add_test(tc, knows_the_name_of_the_CPU);
	tcase_add_test(tc, on_this_machine_CPUs_are_those_of_the_affinity);
	tcase_add_test(tc, discovering_leaves_the_affinity_alone);
	tcase_add_test(tc, close_takes_NULL);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
