// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Batches that are begun and waited for, by the ways that need no module. A looped
 * test runs once for each way (_i).
 */
#include <dirent.h>
#include <poll.h>
#include <sched.h>

#include "regions.h"

#define LEN	10000
#define N	50

/* Every 200th byte of a region, one that is not within it, one against its rights. */
static void make_copies(struct sonde_region *region, struct sonde_region_copy *copies,
			unsigned char *got)
{
	for (size_t i = 0; i < N; i++)
		copies[i] = (struct sonde_region_copy){
			.region = region, .offset = i * 200, .addr = &got[i], .len = 1,
		};
	copies[7].offset = LEN;
	copies[9].flags = SONDE_COPY_WRITE;
}

static void check_copies(const struct sonde_region_copy *copies, const unsigned char *got,
			 const unsigned char *p)
{
	for (size_t i = 0; i < N; i++) {
		const ssize_t expected = i == 7 ? -EINVAL : i == 9 ? -EACCES : 1;

		ck_assert_int_eq(copies[i].result, expected);
		ck_assert(expected < 0 || got[i] == p[i * 200]);
	}
}

START_TEST(a_batch_that_is_begun_has_the_results_of_one_that_is_waited_for)
{
	struct sonde_transfer *t = open_way((enum sonde_transfer_way)_i);
	unsigned char *p = get_memory(t, LEN), got[N];
	struct sonde_region *region = export(t, p, LEN, SONDE_REGION_READ);
	struct sonde_copyv_batch *batch = NULL;
	struct sonde_region_copy copies[N];

	/* The second time it is the same batch, as of new. */
	for (int turn = 0; turn < 2; turn++) {
		struct pollfd end = { .events = POLLIN };

		memset(got, 0, sizeof(got));
		make_copies(region, copies, got);
		ck_assert_int_eq(sonde_copyv_start(t, copies, N, -1, &batch), 0);
		end.fd = sonde_copyv_fd(batch);
		ck_assert_int_eq(poll(&end, 1, -1), 1);
		ck_assert_int_eq(sonde_copyv_test(batch), 1);
		ck_assert_uint_eq(sonde_copyv_wait(batch), N - 2);
		check_copies(copies, got, p);
	}
	sonde_region_close(region);
	sonde_transfer_close(t);
}
END_TEST

START_TEST(many_are_under_way_on_every_cpu_and_end_in_any_order)
{
	struct sonde_transfer *t = open_way((enum sonde_transfer_way)_i);
	unsigned char *p = get_memory(t, LEN), got[8][N];
	struct sonde_region *region = export(t, p, LEN, SONDE_REGION_READ);
	struct sonde_copyv_batch *batches[8];
	struct sonde_region_copy copies[8][N];
	cpu_set_t allowed;
	int cpu = -1;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	for (size_t i = 0; i < 8; i++) {
		do
			cpu = (cpu + 1) % CPU_SETSIZE;
		while (!CPU_ISSET((size_t)cpu, &allowed));
		make_copies(region, copies[i], got[i]);
		ck_assert_int_eq(sonde_copyv_start(t, copies[i], N, cpu, &batches[i]), 0);
	}
	for (size_t i = 8; i-- > 0;) {
		ck_assert_uint_eq(sonde_copyv_wait(batches[i]), N - 2);
		check_copies(copies[i], got[i], p);
	}
	sonde_region_close(region);
	sonde_transfer_close(t);
}
END_TEST

static unsigned int count_entries(const char *folder)
{
	DIR *dir = opendir(folder);
	unsigned int n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void copy_once(enum sonde_transfer_way way)
{
	struct sonde_transfer *t = open_way(way);
	struct sonde_region *region = export(t, get_memory(t, LEN), LEN, RW);
	struct sonde_copyv_batch *batch = NULL;
	unsigned char got;
	struct sonde_region_copy copy = { .region = region, .addr = &got, .len = 1 };

	ck_assert_int_eq(sonde_copyv_start(t, &copy, 1, -1, &batch), 0);
	ck_assert_uint_eq(sonde_copyv_wait(batch), 1);
	sonde_region_close(region);
	sonde_transfer_close(t);
}

START_TEST(nothing_is_left_of_them)
{
	unsigned int fds = count_entries("/proc/self/fd"), threads;

	/* The first thread of a process may bring one of a sanitizer with it. */
	copy_once((enum sonde_transfer_way)_i);
	ck_assert_uint_eq(count_entries("/proc/self/fd"), fds);
	threads = count_entries("/proc/self/task");
	copy_once((enum sonde_transfer_way)_i);
	ck_assert_uint_eq(count_entries("/proc/self/fd"), fds);
	/* One that was joined goes soon. */
	while (count_entries("/proc/self/task") > threads)
		sched_yield();
}
END_TEST

static int find_cpu(const cpu_set_t *set, int is_in)
{
	int cpu = 0;

	while (cpu < CPU_SETSIZE && !!CPU_ISSET((size_t)cpu, set) != is_in)
		cpu++;
	return cpu;
}

START_TEST(refuses_what_cannot_be_begun)
{
	struct sonde_transfer *t = open_way(SONDE_TRANSFER_SHM);
	struct sonde_region *region = export(t, get_memory(t, LEN), LEN, RW);
	struct sonde_copyv_batch *batch = NULL;
	unsigned char got;
	struct sonde_region_copy copy = { .region = region, .addr = &got, .len = 1 };
	cpu_set_t allowed;

	ck_assert_int_eq(sonde_copyv_start(t, &copy, 0, -1, &batch), -EINVAL);
	ck_assert_int_eq(sonde_copyv_start(t, &copy, 1, -2, &batch), -EINVAL);
	ck_assert_int_eq(sonde_copyv_start(t, &copy, 1, CPU_SETSIZE, &batch), -EINVAL);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	ck_assert_int_eq(sonde_copyv_start(t, &copy, 1, find_cpu(&allowed, 0), &batch),
			 find_cpu(&allowed, 0) < CPU_SETSIZE ? -EPERM : -EINVAL);
	ck_assert_ptr_null(batch);
	sonde_region_close(region);
	sonde_transfer_close(t);
}
END_TEST

static Suite *make_suite(void)
{
	Suite *suite = suite_create("copyv_async");
	TCase *ways = tcase_create("ways"), *one = tcase_create("one");

	add_for_ways(ways, a_batch_that_is_begun_has_the_results_of_one_that_is_waited_for);
	add_for_ways(ways, many_are_under_way_on_every_cpu_and_end_in_any_order);
	add_for_ways(ways, nothing_is_left_of_them);
	tcase_add_test(one, refuses_what_cannot_be_begun);
	suite_add_tcase(suite, ways);
	suite_add_tcase(suite, one);
	return suite;
}

int main(void)
{
	return tap_run(make_suite());
}
