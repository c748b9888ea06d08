// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Claims of each source: CPUID leaves of recorded processors
 * (tests/recordings/README.md) and made-up ones, a made-up sysfs, and what this
 * machine says.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sonde/topology.h>

#include "../../lib/claims.h"
#include "tap.h"

#define KIB	1024UL
#define MIB	(1024 * KIB)

static struct sonde_claims *decode(const struct cpuid_table *table)
{
	struct sonde_claims *claims = calloc(1, sizeof(*claims));

	ck_assert_ptr_nonnull(claims);
	ck_assert_int_eq(claims_cpuid(claims, table), 0);
	return claims;
}

static struct sonde_claims *replay(const char *name, unsigned int cpu)
{
	struct cpuid_table table;
	char path[128];

	snprintf(path, sizeof(path), "tests/recordings/cpuid-%s.txt", name);
	ck_assert_msg(!access(path, R_OK), "%s: run from the top of the tree", path);
	ck_assert_int_eq(cpuid_load(&table, path, cpu), 0);
	return decode(&table);
}

/* The @i-th claim of @source. */
static const struct sonde_cache_claim *claim_of(const struct sonde_claims *claims,
						enum sonde_claim_source source, size_t i)
{
	for (size_t k = 0; k < claims->n; k++)
		if (claims->claim[k].source == source && !i--)
			return &claims->claim[k];
	return NULL;
}

static void assert_claim(const struct sonde_cache_claim *c, unsigned int level,
			 enum sonde_cache_type type, uint64_t size, int ways, unsigned int line)
{
	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->level, level);
	ck_assert_int_eq(c->type, type);
	ck_assert_uint_eq(c->size, size);
	ck_assert_int_eq(c->ways, ways);
	ck_assert_uint_eq(c->line, line);
}

static void assert_end(const struct sonde_claims *claims, enum sonde_claim_source source, size_t n)
{
	ck_assert_ptr_null(claim_of(claims, source, n));
}

static void assert_why(const struct sonde_claims *claims, enum sonde_claim_source source,
		       const char *part)
{
	const char *why = sonde_claims_why(claims, source);

	ck_assert_msg(why && strstr(why, part), "%s: %s", sonde_claim_source_name(source),
		      why ? why : "no reason");
}

START_TEST(leaf_4_gives_data_caches_and_not_those_for_instructions)
{
	struct sonde_claims *c = replay("emerald-rapids-guest", 0);

	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_4, 0), 1, SONDE_CACHE_DATA, 48 * KIB, 12, 64);
	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_4, 1), 2, SONDE_CACHE_UNIFIED, 2 * MIB, 16, 64);
	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_4, 2), 3, SONDE_CACHE_UNIFIED, 260 * MIB, 20,
		     64);
	assert_end(c, SONDE_CLAIM_CPUID_4, 3);
	ck_assert_uint_eq(claim_of(c, SONDE_CLAIM_CPUID_4, 2)->sets, 212992);
	ck_assert_uint_eq(claim_of(c, SONDE_CLAIM_CPUID_4, 2)->threads, 2);
	ck_assert_ptr_null(claim_of(c, SONDE_CLAIM_CPUID_4, 2)->cpus);
	sonde_claims_close(c);
}
END_TEST

START_TEST(leaf_2_may_send_to_leaf_4_and_80000006h_may_not_tell_the_ways)
{
	struct sonde_claims *c = replay("emerald-rapids-guest", 0);

	assert_end(c, SONDE_CLAIM_CPUID_2, 0);
	assert_why(c, SONDE_CLAIM_CPUID_2, "leaf 4");
	assert_why(c, SONDE_CLAIM_CPUID_80000005, "empty");
	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_80000006, 0), 2, SONDE_CACHE_UNIFIED, 2 * MIB,
		     0, 64);
	assert_end(c, SONDE_CLAIM_CPUID_80000006, 1);
	assert_why(c, SONDE_CLAIM_CPUID_8000001D, "lists no data cache");
	ck_assert_ptr_null(sonde_claims_why(c, SONDE_CLAIM_CPUID_4));
	sonde_claims_close(c);
}
END_TEST

START_TEST(two_leaves_of_one_processor_may_differ_and_both_are_kept)
{
	struct sonde_claims *c = replay("zen5", 7);

	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_80000005, 0), 1, SONDE_CACHE_DATA, 48 * KIB, 12,
		     64);
	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_80000006, 0), 2, SONDE_CACHE_UNIFIED, 1 * MIB,
		     16, 64);
	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_80000006, 1), 3, SONDE_CACHE_UNIFIED, 384 * MIB,
		     0, 64);
	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_8000001D, 2), 3, SONDE_CACHE_UNIFIED, 32 * MIB,
		     16, 64);
	ck_assert_uint_eq(claim_of(c, SONDE_CLAIM_CPUID_8000001D, 2)->threads, 16);
	ck_assert_uint_eq(claim_of(c, SONDE_CLAIM_CPUID_8000001D, 0)->threads, 2);
	assert_end(c, SONDE_CLAIM_CPUID_8000001D, 3);
	assert_end(c, SONDE_CLAIM_CPUID_2, 0);
	assert_end(c, SONDE_CLAIM_CPUID_4, 0);
	sonde_claims_close(c);
}
END_TEST

START_TEST(leaf_2_gives_what_its_descriptors_name)
{
	struct sonde_claims *c = replay("core2", 0);

	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_2, 0), 2, SONDE_CACHE_UNIFIED, 6 * MIB, 24, 64);
	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_2, 1), 1, SONDE_CACHE_DATA, 32 * KIB, 8, 64);
	assert_end(c, SONDE_CLAIM_CPUID_2, 2);
	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_4, 1), 2, SONDE_CACHE_UNIFIED, 6 * MIB, 24, 64);
	/* Which has no code for 24 ways. */
	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_80000006, 0), 2, SONDE_CACHE_UNIFIED, 6 * MIB,
		     16, 64);
	sonde_claims_close(c);
}
END_TEST

START_TEST(the_example_of_the_manual_is_read_as_the_manual_reads_it)
{
	struct sonde_claims *c = replay("pentium4", 0);

	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_2, 0), 1, SONDE_CACHE_DATA, 8 * KIB, 4, 64);
	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_2, 1), 2, SONDE_CACHE_UNIFIED, 256 * KIB, 8,
		     64);
	ck_assert_uint_eq(c->n, 2);
	assert_why(c, SONDE_CLAIM_CPUID_4, "no such leaf");
	assert_why(c, SONDE_CLAIM_CPUID_80000006, "no such leaf");
	sonde_claims_close(c);
}
END_TEST

START_TEST(a_third_level_of_48_ways_has_a_code)
{
	struct sonde_claims *c = replay("phenom2", 0);

	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_80000005, 0), 1, SONDE_CACHE_DATA, 64 * KIB, 2,
		     64);
	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_80000006, 0), 2, SONDE_CACHE_UNIFIED,
		     512 * KIB, 16, 64);
	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_80000006, 1), 3, SONDE_CACHE_UNIFIED, 6 * MIB,
		     48, 64);
	assert_why(c, SONDE_CLAIM_CPUID_8000001D, "no such leaf");
	sonde_claims_close(c);
}
END_TEST

START_TEST(cores_of_one_machine_may_differ)
{
	struct sonde_claims *fast = replay("hybrid", 0), *small = replay("hybrid", 16);
	struct cpuid_table table;

	assert_claim(claim_of(fast, SONDE_CLAIM_CPUID_4, 0), 1, SONDE_CACHE_DATA, 48 * KIB, 12,
		     64);
	assert_claim(claim_of(fast, SONDE_CLAIM_CPUID_4, 1), 2, SONDE_CACHE_UNIFIED, 1280 * KIB,
		     10, 64);
	assert_claim(claim_of(small, SONDE_CLAIM_CPUID_4, 0), 1, SONDE_CACHE_DATA, 32 * KIB, 8,
		     64);
	assert_claim(claim_of(small, SONDE_CLAIM_CPUID_4, 1), 2, SONDE_CACHE_UNIFIED, 2 * MIB, 16,
		     64);
	ck_assert_int_eq(cpuid_load(&table, "tests/recordings/cpuid-hybrid.txt", 3), -ENODATA);
	sonde_claims_close(fast);
	sonde_claims_close(small);
}
END_TEST

/* One leaf of an AMD processor. */
static struct sonde_claims *decode_leaf(uint32_t leaf, uint32_t eax, uint32_t ebx, uint32_t ecx,
					uint32_t edx)
{
	struct cpuid_table table = {
		.leaf = {
			{ 0, 0, 0x10, 0x68747541, 0x444d4163, 0x69746e65 },
			{ leaf, 0, eax, ebx, ecx, edx },
		},
		.n = 2,
	};

	return decode(&table);
}

static const struct {
	uint32_t code;
	int ways;
} codes[] = {
	{ 1, 1 }, { 2, 2 }, { 3, 3 }, { 4, 4 }, { 5, 6 }, { 6, 8 }, { 7, 0 }, { 8, 16 },
	{ 9, 0 }, { 10, 32 }, { 11, 48 }, { 12, 64 }, { 13, 96 }, { 14, 128 }, { 15, -1 },
};

START_TEST(leaf_80000006h_has_a_code_for_the_ways)
{
	struct sonde_claims *c = decode_leaf(0x80000006, 0, 0,
					     0x02000140 | codes[_i].code << 12,
					     1 << 18 | codes[_i].code << 12 | 0x80);

	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_80000006, 0), 2, SONDE_CACHE_UNIFIED,
		     512 * KIB, codes[_i].ways, 64);
	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_80000006, 1), 3, SONDE_CACHE_UNIFIED,
		     512 * KIB, codes[_i].ways, 128);
	sonde_claims_close(c);
}
END_TEST

START_TEST(a_cache_that_is_switched_off_is_not_claimed)
{
	struct sonde_claims *c = decode_leaf(0x80000006, 0, 0, 0x02000140, 0);

	ck_assert_uint_eq(c->n, 0);
	assert_why(c, SONDE_CLAIM_CPUID_80000006, "empty");
	sonde_claims_close(c);
}
END_TEST

START_TEST(a_cache_may_be_fully_associative)
{
	struct sonde_claims *c = decode_leaf(0x80000005, 0, 0, 0x04ff0120, 0);

	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_80000005, 0), 1, SONDE_CACHE_DATA, 4 * KIB, -1,
		     32);
	sonde_claims_close(c);
	c = decode_leaf(4, 0x221 | 1 << 14, 63U << 22 | 63, 0, 0);
	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_4, 0), 1, SONDE_CACHE_DATA, 4 * KIB, -1, 64);
	ck_assert_uint_eq(claim_of(c, SONDE_CLAIM_CPUID_4, 0)->threads, 2);
	sonde_claims_close(c);
}
END_TEST

START_TEST(line_partitions_count_and_large_caches_do_not_overflow)
{
	struct sonde_claims *c = decode_leaf(4, 0x163, 15U << 22 | 1 << 12 | 63, 0x1fffff, 0);

	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_4, 0), 3, SONDE_CACHE_UNIFIED, 4096 * MIB, 16,
		     64);
	sonde_claims_close(c);
}
END_TEST

START_TEST(what_can_be_of_no_machine_is_left_out)
{
	struct sonde_claims *c = decode_leaf(4, 0x163, 0xffffffff, 0xffffffff, 0);

	ck_assert_uint_eq(c->n, 0);
	sonde_claims_close(c);
	/* No level 0. */
	c = decode_leaf(4, 0x103, 15U << 22 | 63, 0x3f, 0);
	ck_assert_uint_eq(c->n, 0);
	assert_why(c, SONDE_CLAIM_CPUID_4, "lists no data cache");
	sonde_claims_close(c);
}
END_TEST

START_TEST(a_register_of_leaf_2_with_its_top_bit_set_holds_nothing)
{
	/* The lowest byte of EAX, 2Ch here, is no descriptor. */
	struct sonde_claims *c = decode_leaf(2, 0x0000002c, 0x8000002c, 0x8000004e, 0);

	ck_assert_uint_eq(c->n, 0);
	assert_why(c, SONDE_CLAIM_CPUID_2, "known here");
	sonde_claims_close(c);
}
END_TEST

START_TEST(descriptor_49h_is_a_third_level_of_one_processor_and_a_second_of_others)
{
	struct cpuid_table table = {
		.leaf = { { 1, 0, 0x00000f68, 0, 0, 0 }, { 2, 0, 0x00004901, 0, 0, 0 } },
		.n = 2,
	};
	struct sonde_claims *c = decode(&table);

	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_2, 0), 3, SONDE_CACHE_UNIFIED, 4 * MIB, 16, 64);
	sonde_claims_close(c);
	table.leaf[0].eax = 0x000006f6;
	c = decode(&table);
	assert_claim(claim_of(c, SONDE_CLAIM_CPUID_2, 0), 2, SONDE_CACHE_UNIFIED, 4 * MIB, 16, 64);
	sonde_claims_close(c);
}
END_TEST

START_TEST(a_recording_that_is_none_is_told_from_one)
{
	struct cpuid_table table;

	ck_assert_int_eq(cpuid_load(&table, "tests/recordings/no-such-file", 0), -ENOENT);
	ck_assert_int_eq(cpuid_load(&table, "tests/recordings/README.md", 0), -ENODATA);
}
END_TEST

static char root[64];

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[192];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	ck_assert_int_eq(fclose(f), 0);
}

static void make_index(int cpu, int index, const char *level, const char *type, const char *size,
		       const char *ways, const char *cpus)
{
	char command[192], dir[128];

	snprintf(dir, sizeof(dir), "%s/sys/devices/system/cpu/cpu%d/cache/index%d", root, cpu,
		 index);
	snprintf(command, sizeof(command), "mkdir -p %s", dir);
	ck_assert_int_eq(system(command), 0);
	write_file(dir, "level", level);
	write_file(dir, "type", type);
	if (size)
		write_file(dir, "size", size);
	if (ways)
		write_file(dir, "ways_of_associativity", ways);
	if (cpus)
		write_file(dir, "shared_cpu_list", cpus);
	write_file(dir, "coherency_line_size", "64\n");
	write_file(dir, "number_of_sets", "0\n");
}

static void make_root(void)
{
	strcpy(root, "/tmp/sonde-claims-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
}

static void remove_root(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(sysfs_gives_data_caches_with_who_shares_them)
{
	struct sonde_claims c = { .n = 0 };

	make_index(5, 0, "1\n", "Data\n", "48K\n", "12\n", "5\n");
	make_index(5, 1, "1\n", "Instruction\n", "32K\n", "8\n", "5\n");
	make_index(5, 2, "2\n", "Unified\n", "2048K\n", "16\n", "4-5\n");
	make_index(5, 3, "3\n", "Unified\n", "266240K\n", "20\n", "0-3,5,8-9\n");
	ck_assert_int_eq(claims_sysfs(&c, root, 5), 0);
	ck_assert_uint_eq(c.n, 3);
	assert_claim(&c.claim[0], 1, SONDE_CACHE_DATA, 48 * KIB, 12, 64);
	assert_claim(&c.claim[1], 2, SONDE_CACHE_UNIFIED, 2 * MIB, 16, 64);
	assert_claim(&c.claim[2], 3, SONDE_CACHE_UNIFIED, 260 * MIB, 20, 64);
	ck_assert_str_eq(c.claim[2].cpus, "0-3,5,8-9");
	ck_assert_uint_eq(c.claim[2].threads, 7);
	ck_assert_uint_eq(c.claim[2].sets, 0);
	ck_assert_ptr_null(c.why[SONDE_CLAIM_SYSFS]);
	for (size_t i = 0; i < c.n; i++)
		free((char *)c.claim[i].cpus);
	free(c.claim);
}
END_TEST

START_TEST(sysfs_may_leave_out_what_it_does_not_know)
{
	struct sonde_claims c = { .n = 0 };

	make_index(0, 0, "1\n", "Data\n", NULL, NULL, NULL);
	make_index(0, 1, "2\n", "Unified\n", "rubbish\n", "\n", "\n");
	make_index(0, 2, "1000000000\n", "Unified\n", "64K\n", "4\n", "0\n");
	make_index(0, 3, "3\n", "Unified\n", "-1\n", "-1\n", "0\n");
	ck_assert_int_eq(claims_sysfs(&c, root, 0), 0);
	ck_assert_uint_eq(c.n, 2);
	assert_claim(&c.claim[0], 1, SONDE_CACHE_DATA, 0, 0, 64);
	assert_claim(&c.claim[1], 2, SONDE_CACHE_UNIFIED, 0, 0, 64);
	ck_assert_ptr_null(c.claim[0].cpus);
	ck_assert_ptr_null(c.claim[1].cpus);
	free(c.claim);
}
END_TEST

START_TEST(a_kernel_that_names_no_cache_is_said_to)
{
	struct sonde_claims c = { .n = 0 };

	ck_assert_int_eq(claims_sysfs(&c, root, 1), 0);
	ck_assert_uint_eq(c.n, 0);
	assert_why(&c, SONDE_CLAIM_SYSFS, "no data cache of CPU 1");
	free(c.why[SONDE_CLAIM_SYSFS]);
}
END_TEST

START_TEST(a_folder_can_stand_for_the_machine)
{
	const struct sonde_cache_claim *list;
	struct sonde_claims *c;
	char command[192];
	size_t n;

	make_index(0, 0, "3\n", "Unified\n", "32768K\n", "16\n", "0-7\n");
	snprintf(command, sizeof(command), "cp tests/recordings/cpuid-zen5.txt %s/cpuid", root);
	ck_assert_int_eq(system(command), 0);
	setenv("SONDE_CLAIMS_ROOT", root, 1);
	ck_assert_int_eq(sonde_claims_open(&c, NULL, 0), 0);
	unsetenv("SONDE_CLAIMS_ROOT");
	list = sonde_claims_list(c, &n);
	/* 1 by the kernel; 1, 2 and 3 by the leaves; by source, then by level. */
	ck_assert_uint_eq(n, 7);
	ck_assert_int_eq(list[0].source, SONDE_CLAIM_SYSFS);
	ck_assert_int_eq(list[6].source, SONDE_CLAIM_CPUID_8000001D);
	ck_assert_uint_eq(list[6].level, 3);
	assert_why(c, SONDE_CLAIM_HWLOC, "not asked");
	sonde_claims_close(c);
}
END_TEST

START_TEST(without_a_recording_of_CPUID_no_leaf_is_taken_from_this_machine)
{
	struct sonde_claims *c;
	size_t n;

	setenv("SONDE_CLAIMS_ROOT", root, 1);
	ck_assert_int_eq(sonde_claims_open(&c, NULL, 0), 0);
	unsetenv("SONDE_CLAIMS_ROOT");
	sonde_claims_list(c, &n);
	ck_assert_uint_eq(n, 0);
	assert_why(c, SONDE_CLAIM_CPUID_4, "No such file");
	sonde_claims_close(c);
}
END_TEST

START_TEST(on_this_machine_asking_leaves_the_affinity_alone)
{
	cpu_set_t before, after;
	struct sonde_claims *c;
	unsigned int cpu = (unsigned int)sched_getcpu();

	ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	ck_assert_int_eq(sonde_claims_open(&c, NULL, cpu), 0);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(after), &after), 0);
	ck_assert(CPU_EQUAL(&before, &after));
	sonde_claims_close(c);
}
END_TEST

START_TEST(a_folder_with_too_long_a_name_has_no_claims)
{
	struct sonde_claims *c;
	char name[5000];
	size_t n;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	setenv("SONDE_CLAIMS_ROOT", name, 1);
	ck_assert_int_eq(sonde_claims_open(&c, NULL, 0), 0);
	unsetenv("SONDE_CLAIMS_ROOT");
	sonde_claims_list(c, &n);
	ck_assert_uint_eq(n, 0);
	assert_why(c, SONDE_CLAIM_SYSFS, "too long");
	assert_why(c, SONDE_CLAIM_CPUID_2, "too long");
	sonde_claims_close(c);
}
END_TEST

START_TEST(a_CPU_that_is_not_there_has_no_claims_but_reasons)
{
	struct sonde_claims *c;
	size_t n;

	ck_assert_int_eq(sonde_claims_open(&c, NULL, 1000000), 0);
	sonde_claims_list(c, &n);
	ck_assert_uint_eq(n, 0);
	for (int s = 0; s < SONDE_CLAIM_SOURCES; s++) {
		ck_assert_ptr_nonnull(sonde_claims_why(c, (enum sonde_claim_source)s));
		ck_assert_str_ne(sonde_claim_source_name((enum sonde_claim_source)s), "unknown");
	}
	ck_assert_str_eq(sonde_claim_source_name(SONDE_CLAIM_SOURCES), "unknown");
	ck_assert_ptr_null(sonde_claims_why(c, SONDE_CLAIM_SOURCES));
	sonde_claims_close(c);
	sonde_claims_close(NULL);
}
END_TEST

START_TEST(hwloc_is_one_source_of_others)
{
	struct sonde_topology *topo;
	struct sonde_claims c = { .n = 0 };

	setenv("HWLOC_XMLFILE", "tests/recordings/topology-smt.xml", 1);
	ck_assert_int_eq(sonde_topology_open(&topo), 0);
	unsetenv("HWLOC_XMLFILE");
	ck_assert_int_eq(claims_hwloc(&c, topo, 3), 0);
	sonde_topology_close(topo);
	ck_assert_uint_eq(c.n, 3);
	/* Copied: they outlive the topology. */
	ck_assert_str_eq(c.claim[0].cpus, "1,3");
	ck_assert_uint_eq(c.claim[0].threads, 2);
	ck_assert_int_eq(c.claim[0].source, SONDE_CLAIM_HWLOC);
	ck_assert_int_eq(c.claim[2].ways, -1);
	for (size_t i = 0; i < c.n; i++)
		free((char *)c.claim[i].cpus);
	free(c.claim);
}
END_TEST

static void add_tests_of_leaves(TCase *tc)
{
	tcase_add_test(tc, leaf_4_gives_data_caches_and_not_those_for_instructions);
	tcase_add_test(tc, leaf_2_may_send_to_leaf_4_and_80000006h_may_not_tell_the_ways);
	tcase_add_test(tc, two_leaves_of_one_processor_may_differ_and_both_are_kept);
	tcase_add_test(tc, leaf_2_gives_what_its_descriptors_name);
	tcase_add_test(tc, the_example_of_the_manual_is_read_as_the_manual_reads_it);
	tcase_add_test(tc, a_third_level_of_48_ways_has_a_code);
	tcase_add_test(tc, cores_of_one_machine_may_differ);
	tcase_add_loop_test(tc, leaf_80000006h_has_a_code_for_the_ways, 0,
			    sizeof(codes) / sizeof(codes[0]));
	tcase_add_test(tc, a_cache_that_is_switched_off_is_not_claimed);
	tcase_add_test(tc, a_cache_may_be_fully_associative);
	tcase_add_test(tc, line_partitions_count_and_large_caches_do_not_overflow);
	tcase_add_test(tc, what_can_be_of_no_machine_is_left_out);
	tcase_add_test(tc, a_register_of_leaf_2_with_its_top_bit_set_holds_nothing);
	tcase_add_test(tc, descriptor_49h_is_a_third_level_of_one_processor_and_a_second_of_others);
	tcase_add_test(tc, a_recording_that_is_none_is_told_from_one);
}

int main(void)
{
	Suite *suite = suite_create("claims");
	TCase *leaves = tcase_create("leaves"), *files = tcase_create("files");
	TCase *machine = tcase_create("machine");

	/* Whoever runs this may have set them. */
	unsetenv("SONDE_CLAIMS_ROOT");
	unsetenv("HWLOC_SYNTHETIC");
	add_tests_of_leaves(leaves);
	tcase_add_checked_fixture(files, make_root, remove_root);
	tcase_add_test(files, sysfs_gives_data_caches_with_who_shares_them);
	tcase_add_test(files, sysfs_may_leave_out_what_it_does_not_know);
	tcase_add_test(files, a_kernel_that_names_no_cache_is_said_to);
	tcase_add_test(files, a_folder_can_stand_for_the_machine);
	tcase_add_test(files, without_a_recording_of_CPUID_no_leaf_is_taken_from_this_machine);
	tcase_add_test(machine, on_this_machine_asking_leaves_the_affinity_alone);
	tcase_add_test(machine, a_folder_with_too_long_a_name_has_no_claims);
	tcase_add_test(machine, a_CPU_that_is_not_there_has_no_claims_but_reasons);
	tcase_add_test(machine, hwloc_is_one_source_of_others);
	suite_add_tcase(suite, leaves);
	suite_add_tcase(suite, files);
	suite_add_tcase(suite, machine);
	return tap_run(suite);
}
