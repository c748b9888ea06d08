// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/free_memory.h"
#include "tap.h"

#define MIB	(1024UL * 1024)

static char root[64];

static void put(const char *path, const char *text)
{
	char name[256], *slash;
	FILE *f;

	snprintf(name, sizeof(name), "%s%s", root, path);
	for (slash = name + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(name, 0755);
		*slash = '/';
	}
	f = fopen(name, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static void make_root(void)
{
	snprintf(root, sizeof(root), "/tmp/free_memory.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	put("/proc/meminfo", "MemTotal: 2097152 kB\nMemFree: 10 kB\nMemAvailable: 1048576 kB\n");
}

static void remove_root(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r '%s'", root);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(is_what_the_kernel_says_is_available)
{
	ck_assert_uint_eq(free_memory(root), 1024 * MIB);
}
END_TEST

START_TEST(is_less_where_a_group_has_a_limit)
{
	put("/proc/self/cgroup", "1:cpu:/other\n0::/job/step\n");
	put("/sys/fs/cgroup/job/step/memory.max", "max\n");
	put("/sys/fs/cgroup/job/step/memory.current", "1048576\n");
	put("/sys/fs/cgroup/job/memory.max", "104857600\n");
	put("/sys/fs/cgroup/job/memory.current", "52428800\n");
	ck_assert_uint_eq(free_memory(root), 50 * MIB);
}
END_TEST

START_TEST(obeys_the_limit_of_a_namespace_root)
{
	put("/proc/self/cgroup", "0::/\n");
	put("/sys/fs/cgroup/memory.max", "20971520\n");
	put("/sys/fs/cgroup/memory.current", "10485760\n");
	ck_assert_uint_eq(free_memory(root), 10 * MIB);
}
END_TEST

START_TEST(is_nothing_in_a_group_beyond_its_limit)
{
	put("/proc/self/cgroup", "0::/job\n");
	put("/sys/fs/cgroup/job/memory.max", "100\n");
	put("/sys/fs/cgroup/job/memory.current", "101\n");
	ck_assert_uint_eq(free_memory(root), 0);
}
END_TEST

START_TEST(knows_this_machine)
{
	ck_assert_uint_gt(free_memory(""), MIB);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("free_memory");
	TCase *tc = tcase_create("free_memory");

	tcase_add_checked_fixture(tc, make_root, remove_root);
	tcase_add_test(tc, is_what_the_kernel_says_is_available);
	tcase_add_test(tc, is_less_where_a_group_has_a_limit);
	tcase_add_test(tc, obeys_the_limit_of_a_namespace_root);
	tcase_add_test(tc, is_nothing_in_a_group_beyond_its_limit);
	tcase_add_test(tc, knows_this_machine);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
