// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What programs ask a profile of CPUs, of a machine that was made up: eight CPUs, two
 * buses of four under one crossbar; of the lines, 0 and 4, 1 and 5, ... are nearest
 * (tests/recordings/README.md).
 */
#include <errno.h>
#include <math.h>
#include <jansson.h>
#include <sonde/profile.h>
#include "../../lib/profile.h"
#include "tap.h"

#define RECORDING "tests/recordings/profile-two-buses.json"

static struct sonde_profile *profile;

static void set_up(void)
{
	ck_assert_int_eq(sonde_profile_load(&profile, RECORDING), 0);
}

static void tear_down(void)
{
	sonde_profile_free(profile);
}

/* GB/s of @n CPUs, after its basis was looked at. */
static double ask(const unsigned int *cpus, size_t n, enum sonde_profile_basis basis)
{
	struct sonde_bandwidth b;

	ck_assert_int_eq(sonde_profile_bandwidth(profile, cpus, n, &b), 0);
	ck_assert_int_eq(b.basis, basis);
	ck_assert_int_eq(isnan(b.ci.low), basis != SONDE_BASIS_MEASURED);
	if (basis == SONDE_BASIS_MEASURED)
		ck_assert(b.ci.low < b.bytes_s && b.bytes_s < b.ci.high);
	return b.bytes_s / 1e9;
}

#define ASK(basis, ...) \
	ask((unsigned int []){ __VA_ARGS__ }, \
	    sizeof((unsigned int []){ __VA_ARGS__ }) / sizeof(unsigned int), basis)

static void check_near(double x, double wanted)
{
	ck_assert_double_eq_tol(x, wanted, 1e-6 * wanted);
}

START_TEST(bandwidth_of_so_many_cores_is_the_curves)
{
	check_near(ask(NULL, 1, SONDE_BASIS_MEASURED), 10);
	check_near(ask(NULL, 4, SONDE_BASIS_MEASURED), 14);
	check_near(ask(NULL, 3, SONDE_BASIS_ALIKE), 13.2);
	check_near(ask(NULL, 8, SONDE_BASIS_MEASURED), 21);
}
END_TEST

START_TEST(bandwidth_of_cpus_that_were_measured_together_is_theirs_in_any_order)
{
	check_near(ASK(SONDE_BASIS_MEASURED, 5), 10);
	check_near(ASK(SONDE_BASIS_MEASURED, 1, 3, 0, 2), 14);
	check_near(ASK(SONDE_BASIS_MEASURED, 4, 0), 16.2);
}
END_TEST

START_TEST(bandwidth_of_others_ends_at_the_narrowest_place_on_their_way)
{
	/* One bus. */
	check_near(ASK(SONDE_BASIS_ALIKE, 5, 6), 12.4);
	check_near(ASK(SONDE_BASIS_ALIKE, 1, 2, 3), 13.2);
	/* A CPU on each bus. */
	check_near(ASK(SONDE_BASIS_ALIKE, 2, 7), 16.2);
	/* Two on each bus are 24.8 by their buses, but 20 through the crossbar. */
	check_near(ASK(SONDE_BASIS_ALIKE, 1, 2, 5, 6), 20);
}
END_TEST

START_TEST(without_disturbance_each_cpu_has_its_own)
{
	json_t *classes = json_object_get(json_object_get(profile->root, "bandwidth"), "classes");

	json_object_set_new(json_array_get(classes, 1), "overhead", json_false());
	check_near(ASK(SONDE_BASIS_ALIKE, 2, 7), 20);
	check_near(ASK(SONDE_BASIS_ALIKE, 1, 2, 5, 6), 24.8);
}
END_TEST

START_TEST(bandwidth_that_is_not_known_is_not_guessed)
{
	struct sonde_bandwidth b = { .bytes_s = 7 };

	ck_assert_int_eq(sonde_profile_bandwidth(profile, NULL, 9, &b), -ENOENT);
	ck_assert_int_eq(sonde_profile_bandwidth(profile, NULL, 0, &b), -EINVAL);
	ck_assert_int_eq(sonde_profile_bandwidth(profile, (unsigned int []){ 1, 1 }, 2, &b), -EINVAL);
	ck_assert_int_eq(sonde_profile_bandwidth(profile, (unsigned int []){ 1, 9 }, 2, &b), -ENOENT);
	ck_assert_int_eq(sonde_profile_bandwidth(profile, (unsigned int []){ 9 }, 1, &b), -ENOENT);
	json_object_del(profile->root, "bandwidth");
	ck_assert_int_eq(sonde_profile_bandwidth(profile, NULL, 1, &b), -ENOENT);
	ck_assert_int_eq(sonde_profile_bandwidth(profile, (unsigned int []){ 1 }, 1, &b), -ENOENT);
	ck_assert_double_eq(b.bytes_s, 7);
}
END_TEST

static struct sonde_distance measure(unsigned int a, unsigned int b, uint64_t bytes,
				     enum sonde_profile_basis basis, double ns)
{
	struct sonde_distance d;

	ck_assert_int_eq(sonde_profile_latency(profile, a, b, bytes, &d), 0);
	ck_assert_int_eq(d.basis, basis);
	check_near(d.ns, ns);
	ck_assert_int_eq(isnan(d.ci.low), basis != SONDE_BASIS_MEASURED);
	return d;
}

START_TEST(a_pair_that_was_measured_has_its_own_latency_others_their_layers)
{
	ck_assert_str_eq(measure(0, 4, 0, SONDE_BASIS_MEASURED, 60.6).method, "line");
	measure(4, 0, 0, SONDE_BASIS_MEASURED, 60.6);
	measure(3, 7, 0, SONDE_BASIS_ALIKE, 60);
	measure(7, 6, 0, SONDE_BASIS_ALIKE, 180);
	ck_assert_str_eq(measure(0, 1, 32768, SONDE_BASIS_MEASURED, 3200).method, "shm");
}
END_TEST

START_TEST(a_message_takes_what_its_layer_takes_at_its_size)
{
	measure(0, 4, 512, SONDE_BASIS_ALIKE, 80 + .025 * 512);
	measure(0, 1, 512, SONDE_BASIS_ALIKE, 400 + .085 * 512);
	measure(0, 4, 4 << 20, SONDE_BASIS_ALIKE, 80 + .025 * (4 << 20));
}
END_TEST

START_TEST(without_communication_a_line_is_what_finding_shared_caches_took)
{
	struct sonde_distance d;

	json_object_del(profile->root, "communication");
	d = measure(0, 1, 0, SONDE_BASIS_SHARING, 30);
	ck_assert_ptr_null(d.method);
	measure(4, 0, 0, SONDE_BASIS_SHARING, 10);
	ck_assert_int_eq(sonde_profile_latency(profile, 0, 1, 64, &d), -ENOENT);
	ck_assert_int_eq(sonde_profile_latency(profile, 2, 3, 0, &d), -ENOENT);
	ck_assert_str_ne(sonde_profile_basis_name(SONDE_BASIS_SHARING),
			 sonde_profile_basis_name(SONDE_BASIS_ALIKE));
}
END_TEST

START_TEST(a_latency_that_is_not_known_is_not_guessed)
{
	struct sonde_distance d = { .ns = 7 };

	ck_assert_int_eq(sonde_profile_latency(profile, 3, 3, 0, &d), -EINVAL);
	ck_assert_int_eq(sonde_profile_latency(profile, 3, 8, 0, &d), -ENOENT);
	ck_assert_int_eq(sonde_profile_latency(profile, 8, 3, 64, &d), -ENOENT);
	ck_assert_double_eq(d.ns, 7);
}
END_TEST

int main(void)
{
	TCase *bandwidth = tcase_create("bandwidth"), *latency = tcase_create("latency");
	Suite *suite = suite_create("profile_places");

	tcase_add_checked_fixture(bandwidth, set_up, tear_down);
	tcase_add_test(bandwidth, bandwidth_of_so_many_cores_is_the_curves);
	tcase_add_test(bandwidth,
		       bandwidth_of_cpus_that_were_measured_together_is_theirs_in_any_order);
	tcase_add_test(bandwidth, bandwidth_of_others_ends_at_the_narrowest_place_on_their_way);
	tcase_add_test(bandwidth, without_disturbance_each_cpu_has_its_own);
	tcase_add_test(bandwidth, bandwidth_that_is_not_known_is_not_guessed);
	suite_add_tcase(suite, bandwidth);
	tcase_add_checked_fixture(latency, set_up, tear_down);
	tcase_add_test(latency, a_pair_that_was_measured_has_its_own_latency_others_their_layers);
	tcase_add_test(latency, a_message_takes_what_its_layer_takes_at_its_size);
	tcase_add_test(latency, without_communication_a_line_is_what_finding_shared_caches_took);
	tcase_add_test(latency, a_latency_that_is_not_known_is_not_guessed);
	suite_add_tcase(suite, latency);
	return tap_run(suite);
}
