// SPDX-License-Identifier: GPL-2.0-or-later
/* The choice of ways by what was measured: made, written, read and followed. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sonde/profile.h>

#include "tap.h"

#define NPOINTS(points) (sizeof(points) / sizeof((points)[0]))

static struct sonde_profile *make(const struct sonde_transfer_point *points, size_t n)
{
	struct sonde_profile *profile = NULL;

	ck_assert_int_eq(sonde_profile_new(&profile), 0);
	ck_assert_int_eq(sonde_profile_set_transfers(profile, points, n), 0);
	return profile;
}

static struct sonde_transfer_point point(const char *way, uint64_t bytes, double ns)
{
	return (struct sonde_transfer_point){
		.way = way, .bytes = bytes, .ns = ns, .ns_low = ns, .ns_high = ns, .samples = 9,
	};
}

static enum sonde_transfer_way choose(const struct sonde_profile *profile, int is_shared,
				      uint64_t bytes)
{
	enum sonde_transfer_way way = SONDE_TRANSFER_AUTO;

	if (sonde_profile_transfer_way(profile, is_shared, bytes, &way))
		ck_assert_int_eq(way, SONDE_TRANSFER_AUTO);
	return way;
}

START_TEST(the_best_way_changes_where_another_is_clearly_better)
{
	const struct sonde_transfer_point points[] = {
		point("memcpy", 1, 1), point("memcpy", 64, 2), point("memcpy", 4096, 30),
		point("cma", 1, 500), point("module", 1, 600), point("shm", 1, 5),
		point("cma", 64, 500), point("module", 64, 480), point("shm", 64, 6),
		/* 480 of 500 is not worth it, 470 is. */
		point("cma", 4096, 500), point("module", 4096, 470), point("shm", 4096, 471),
		point("cma", 65536, 900), point("module", 65536, 890), point("shm", 65536, 9000),
	};
	struct sonde_profile *profile = make(points, NPOINTS(points));

	ck_assert_int_eq(choose(profile, 0, 0), SONDE_TRANSFER_CMA);
	ck_assert_int_eq(choose(profile, 0, 4095), SONDE_TRANSFER_CMA);
	ck_assert_int_eq(choose(profile, 0, 4096), SONDE_TRANSFER_MODULE);
	ck_assert_int_eq(choose(profile, 0, UINT64_MAX), SONDE_TRANSFER_MODULE);
	ck_assert_int_eq(choose(profile, 1, 1), SONDE_TRANSFER_SHM);
	ck_assert_int_eq(choose(profile, 1, 4096), SONDE_TRANSFER_SHM);
	ck_assert_int_eq(choose(profile, 1, 65536), SONDE_TRANSFER_MODULE);
	sonde_profile_free(profile);
}
END_TEST

START_TEST(two_copies_are_told_to_be_better_up_to_the_first_size_where_they_are_not)
{
	const struct sonde_transfer_point points[] = {
		point("cma", 1, 500), point("cma", 64, 500), point("cma", 4096, 700),
		point("cma", 65536, 9000), point("twice", 1, 50), point("twice", 64, 80),
		point("twice", 4096, 701), point("twice", 65536, 8000),
	};
	struct sonde_profile *profile = make(points, NPOINTS(points));
	uint64_t bytes = 77;

	ck_assert_int_eq(sonde_profile_transfer_twice(profile, &bytes), 0);
	ck_assert_uint_eq(bytes, 64);
	sonde_profile_free(profile);
	/* Nowhere is an answer; not measured is none. */
	profile = make(&points[2], 4);
	ck_assert_int_eq(sonde_profile_transfer_twice(profile, &bytes), -ENOENT);
	sonde_profile_free(profile);
	profile = make((struct sonde_transfer_point[]){ point("cma", 1, 5), point("twice", 1, 6) },
		       2);
	ck_assert_int_eq(sonde_profile_transfer_twice(profile, &bytes), 0);
	ck_assert_uint_eq(bytes, 0);
	sonde_profile_free(profile);
}
END_TEST

START_TEST(without_findings_nothing_is_chosen)
{
	struct sonde_profile *empty = NULL, *other = make(NULL, 0);
	struct sonde_transfer *t;
	uint64_t bytes = 5;

	ck_assert_int_eq(sonde_profile_new(&empty), 0);
	ck_assert_int_eq(sonde_transfer_open(&t, SONDE_TRANSFER_AUTO), 0);
	for (int i = 0; i < 2; i++) {
		const struct sonde_profile *profile = i ? other : empty;

		ck_assert_int_eq(choose(profile, 0, 100), SONDE_TRANSFER_AUTO);
		ck_assert_int_eq(sonde_profile_transfer_twice(profile, &bytes), -ENOENT);
		ck_assert_int_eq(sonde_transfer_tune(t, profile), -ENOENT);
	}
	ck_assert_uint_eq(bytes, 5);
	sonde_transfer_close(t);
	sonde_profile_free(empty);
	sonde_profile_free(other);
}
END_TEST

static enum sonde_transfer_way export_shared(struct sonde_transfer *t, size_t len)
{
	struct sonde_region *region;
	enum sonde_transfer_way way;
	void *p;

	ck_assert_int_eq(sonde_transfer_alloc(t, len, &p), 0);
	ck_assert_int_eq(sonde_region_export(t, p, len, SONDE_REGION_READ, &region), 0);
	way = sonde_region_way(region);
	sonde_region_close(region);
	return way;
}

START_TEST(regions_go_the_way_that_was_found_for_their_size)
{
	const struct sonde_transfer_point points[] = {
		point("cma", 1, 50), point("shm", 1, 5), point("cma", 4096, 50),
		point("shm", 4096, 500),
	};
	struct sonde_profile *profile = make(points, NPOINTS(points));
	struct sonde_transfer *t, *cma;

	ck_assert_int_eq(sonde_transfer_open(&t, SONDE_TRANSFER_AUTO), 0);
	ck_assert_int_eq(export_shared(t, 8192), SONDE_TRANSFER_SHM);
	ck_assert_int_eq(sonde_transfer_tune(t, profile), 0);
	ck_assert_int_eq(export_shared(t, 4095), SONDE_TRANSFER_SHM);
	ck_assert_int_eq(export_shared(t, 4096), SONDE_TRANSFER_CMA);
	sonde_transfer_close(t);
	/* One way that was asked for stays. */
	ck_assert_int_eq(sonde_transfer_open(&cma, SONDE_TRANSFER_CMA), 0);
	ck_assert_int_eq(sonde_transfer_tune(cma, profile), 0);
	ck_assert_int_eq(export_shared(cma, 1), SONDE_TRANSFER_CMA);
	sonde_transfer_close(cma);
	sonde_profile_free(profile);
}
END_TEST

START_TEST(a_way_that_is_not_there_leaves_the_usual_one)
{
	const struct sonde_transfer_point points[] = { point("module", 1, 1), point("shm", 1, 5) };
	struct sonde_profile *profile = make(points, 2);
	struct sonde_transfer *t;

	setenv("SONDE_DEV_DIR", "/nonexistent", 1);
	ck_assert_int_eq(sonde_transfer_open(&t, SONDE_TRANSFER_AUTO), 0);
	ck_assert_int_eq(sonde_transfer_tune(t, profile), 0);
	ck_assert_int_eq(export_shared(t, 100), SONDE_TRANSFER_SHM);
	sonde_transfer_close(t);
	sonde_profile_free(profile);
}
END_TEST

static char path[64];

static void write_file(const char *transfers)
{
	int fd;
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/sonde-profile-XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	file = fdopen(fd, "w");
	fprintf(file, "{\"schema\": \"" SONDE_PROFILE_SCHEMA "\", \"created\": \"x\", "
		"\"sonde_version\": \"x\", \"transfers\": %s}", transfers);
	ck_assert_int_eq(fclose(file), 0);
}

START_TEST(what_was_written_is_read_back)
{
	const struct sonde_transfer_point points[] = { point("cma", 1, 5), point("twice", 1, 4) };
	struct sonde_profile *profile = make(points, 2), *again;

	write_file("{}");
	ck_assert_int_eq(sonde_profile_save(profile, path), 0);
	ck_assert_int_eq(sonde_profile_load(&again, path), 0);
	ck_assert_int_eq(choose(again, 0, 9), SONDE_TRANSFER_CMA);
	ck_assert_int_eq(choose(again, 1, 9), SONDE_TRANSFER_CMA);
	unlink(path);
	sonde_profile_free(again);
	sonde_profile_free(profile);
}
END_TEST

START_TEST(what_is_against_the_schema_is_refused)
{
	static const char *const bad[] = {
		"[]", "{}", "{\"points\": [], \"private\": [], \"shared\": []}",
		"{\"points\": [{}], \"private\": [], \"shared\": [], \"twice_up_to\": 0}",
		"{\"points\": [], \"private\": 5, \"shared\": [], \"twice_up_to\": 0}",
		"{\"points\": [], \"private\": [{\"from_bytes\": -1, \"way\": \"cma\"}], "
		"\"shared\": [], \"twice_up_to\": null}",
		"{\"points\": [], \"private\": [], \"shared\": [{\"from_bytes\": 0}], "
		"\"twice_up_to\": null}",
		"{\"points\": [], \"private\": [], \"shared\": [], \"twice_up_to\": \"no\"}",
	};
	struct sonde_profile *profile = NULL;

	for (size_t i = 0; i < NPOINTS(bad); i++) {
		write_file(bad[i]);
		ck_assert_int_eq(sonde_profile_load(&profile, path), -EINVAL);
		unlink(path);
	}
	ck_assert_ptr_null(profile);
}
END_TEST

START_TEST(a_way_that_is_not_known_leaves_its_sizes_to_the_one_before)
{
	struct sonde_profile *profile;

	write_file("{\"points\": [], \"shared\": [], \"twice_up_to\": null, \"private\": ["
		   "{\"from_bytes\": 0, \"way\": \"cma\"}, "
		   "{\"from_bytes\": 100, \"way\": \"pigeon\"}]}");
	ck_assert_int_eq(sonde_profile_load(&profile, path), 0);
	unlink(path);
	ck_assert_int_eq(choose(profile, 0, 200), SONDE_TRANSFER_CMA);
	ck_assert_int_eq(choose(profile, 1, 200), SONDE_TRANSFER_AUTO);
	sonde_profile_free(profile);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("profile_transfer");
	TCase *tc = tcase_create("transfers");
	struct sonde_transfer *cma;

	tcase_add_test(tc, the_best_way_changes_where_another_is_clearly_better);
	tcase_add_test(tc, two_copies_are_told_to_be_better_up_to_the_first_size_where_they_are_not);
	tcase_add_test(tc, without_findings_nothing_is_chosen);
	tcase_add_test(tc, a_way_that_is_not_there_leaves_the_usual_one);
	tcase_add_test(tc, what_was_written_is_read_back);
	tcase_add_test(tc, what_is_against_the_schema_is_refused);
	tcase_add_test(tc, a_way_that_is_not_known_leaves_its_sizes_to_the_one_before);
	if (sonde_transfer_open(&cma, SONDE_TRANSFER_CMA)) {
		tap_left_out("this kernel lets no process read another's memory");
	} else {
		sonde_transfer_close(cma);
		tcase_add_test(tc, regions_go_the_way_that_was_found_for_their_size);
	}
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
