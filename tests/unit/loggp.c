// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parameters come out of times that were made of them, with noise and where protocols
 * change; what the times do not tell is not said.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "../../lib/loggp.h"
#include "../../lib/rng.h"
#include "tap.h"

#define MOST	64
#define NOISE	0.03

/* A machine: up to each @to bytes g, G, start and slope of half a round trip. */
struct part {
	double to, gap, byte, start, slope;
};

static struct loggp_point points[MOST];
static size_t npoints;

static double normal(struct sonde_rng *rng)
{
	double u = (double)((sonde_rng_next(rng) >> 11) + 1) * 0x1p-53;

	return sqrt(-2 * log(u)) * cos(2 * M_PI * (double)(sonde_rng_next(rng) >> 11) * 0x1p-53);
}

static void add(struct sonde_rng *rng, const struct part *parts, double bytes, double noise)
{
	while (parts->to < bytes)
		parts++;
	points[npoints++] = (struct loggp_point){
		.bytes = bytes,
		.half = (parts->start + (bytes - 1) * parts->slope) * (1 + noise * normal(rng)),
		.gap = (parts->gap + (bytes - 1) * parts->byte) * (1 + noise * normal(rng)),
		.send = 300, .receive = 200,
	};
}

/* Sizes as the probe takes them. */
static void make(const struct part *parts, double noise, uint64_t seed)
{
	struct sonde_rng rng;

	sonde_rng_seed(&rng, seed);
	npoints = 0;
	for (double bytes = 1; bytes <= 4 << 20; bytes *= 2) {
		add(&rng, parts, bytes, noise);
		if (bytes >= 512 && bytes < 256 << 10)
			add(&rng, parts, 1.5 * bytes, noise);
	}
}

static void is_near(double x, double truth, double tolerance)
{
	ck_assert_msg(fabs(x / truth - 1) < tolerance, "%g is not within %g of %g", x, tolerance,
		      truth);
}

static const struct part one[] = { { INFINITY, 900, 0.25, 2000, 0.4 } };
static const struct part two[] = {
	{ 8192, 250, 0.08, 800, 0.12 }, { INFINITY, 2600, 0.09, 5000, 0.15 },
};
static const struct part three[] = {
	{ 1024, 200, 0.5, 1500, 0.8 }, { 16384, 3000, 0.2, 9000, 0.3 },
	{ INFINITY, 60000, 0.7, 80000, 0.8 },
};

START_TEST(one_protocol_is_one_segment_with_its_parameters)
{
	struct sonde_loggp l;

	make(one, NOISE, (uint64_t)_i);
	ck_assert_int_eq(loggp_fit(points, npoints, NOISE, &l), 0);
	ck_assert_uint_eq(l.nsegments, 1);
	is_near(l.segments[0].gap_ns, 900, 0.05);
	is_near(l.segments[0].byte_ns, 0.25, 0.05);
	is_near(l.segments[0].start_ns, 2000, 0.05);
	is_near(l.segments[0].per_byte_ns, 0.4, 0.05);
	is_near(l.segments[0].error, NOISE, 0.5);
	is_near(l.latency_ns, points[0].half - 500, 1e-9);
	ck_assert_str_eq(l.why, "");
}
END_TEST

START_TEST(a_change_of_protocol_is_found_where_it_is)
{
	struct sonde_loggp l;

	make(two, NOISE, (uint64_t)_i);
	ck_assert_int_eq(loggp_fit(points, npoints, NOISE, &l), 0);
	ck_assert_uint_eq(l.nsegments, 2);
	ck_assert_double_eq(l.segments[0].to_bytes, 8192);
	ck_assert_double_eq(l.segments[1].from_bytes, 12288);
	is_near(l.segments[0].gap_ns, 250, 0.05);
	is_near(l.segments[0].byte_ns, 0.08, 0.15);
	is_near(l.segments[1].gap_ns, 2600, 0.15);
	is_near(l.segments[1].byte_ns, 0.09, 0.05);
	is_near(l.segments[1].start_ns, 5000, 0.1);
}
END_TEST

START_TEST(two_changes_are_found)
{
	struct sonde_loggp l;

	make(three, NOISE, (uint64_t)_i);
	ck_assert_int_eq(loggp_fit(points, npoints, NOISE, &l), 0);
	ck_assert_uint_eq(l.nsegments, 3);
	ck_assert_double_eq(l.segments[1].from_bytes, 1536);
	ck_assert_double_eq(l.segments[2].from_bytes, 24576);
	is_near(l.segments[2].byte_ns, 0.7, 0.05);
}
END_TEST

/* As Netgauge printed: g = -965 us. */
START_TEST(no_parameter_is_negative)
{
	static const struct part bucket[] = {
		{ 4096, 1, 0.0001, 7000, 0.00001 }, { INFINITY, 0.5, 5, 100, 6 },
	};
	struct sonde_loggp l;

	make(bucket, 0.2, (uint64_t)_i);
	ck_assert_int_eq(loggp_fit(points, npoints, 0.2, &l), 0);
	for (size_t i = 0; i < l.nsegments; i++) {
		ck_assert(l.segments[i].gap_ns >= 0 && l.segments[i].byte_ns >= 0);
		ck_assert(l.segments[i].start_ns >= 0 && l.segments[i].per_byte_ns >= 0);
	}
}
END_TEST

START_TEST(what_overheads_leave_nothing_of_is_not_separable)
{
	struct sonde_loggp l;

	make(one, NOISE, 1);
	points[0].send = 1900;
	points[0].receive = 400;
	ck_assert_int_eq(loggp_fit(points, npoints, NOISE, &l), 0);
	ck_assert(isnan(l.latency_ns));
	ck_assert_ptr_nonnull(strstr(l.why, "not separable"));
	points[0].send = NAN;
	ck_assert_int_eq(loggp_fit(points, npoints, NOISE, &l), 0);
	ck_assert(isnan(l.latency_ns) && isnan(l.send_ns));
	ck_assert_ptr_nonnull(strstr(l.why, "not measured"));
}
END_TEST

START_TEST(gaps_that_were_not_measured_are_left_out)
{
	struct sonde_loggp l;

	make(two, NOISE, 3);
	for (size_t i = 0; i < npoints; i++)
		points[i].gap = NAN;
	ck_assert_int_eq(loggp_fit(points, npoints, NOISE, &l), 0);
	ck_assert_uint_eq(l.nsegments, 2);
	ck_assert(isnan(l.segments[0].gap_ns) && isnan(l.segments[1].byte_ns));
	is_near(l.segments[0].start_ns, 800, 0.05);
}
END_TEST

START_TEST(points_that_are_none_are_refused)
{
	struct sonde_loggp l = { .nsegments = 77 };

	make(one, NOISE, 1);
	ck_assert_int_eq(loggp_fit(points, 1, NOISE, &l), -EINVAL);
	ck_assert_int_eq(loggp_fit(points, npoints, 0, &l), -EINVAL);
	points[4].half = NAN;
	ck_assert_int_eq(loggp_fit(points, npoints, NOISE, &l), -EINVAL);
	make(one, NOISE, 1);
	points[4].bytes = points[3].bytes;
	ck_assert_int_eq(loggp_fit(points, npoints, NOISE, &l), -EINVAL);
	ck_assert_uint_eq(l.nsegments, 77);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loggp");
	TCase *c = tcase_create("fit");

	tcase_add_loop_test(c, one_protocol_is_one_segment_with_its_parameters, 0, 20);
	tcase_add_loop_test(c, a_change_of_protocol_is_found_where_it_is, 0, 20);
	tcase_add_loop_test(c, two_changes_are_found, 0, 20);
	tcase_add_loop_test(c, no_parameter_is_negative, 0, 20);
	tcase_add_test(c, what_overheads_leave_nothing_of_is_not_separable);
	tcase_add_test(c, gaps_that_were_not_measured_are_left_out);
	tcase_add_test(c, points_that_are_none_are_refused);
	suite_add_tcase(suite, c);
	return tap_run(suite);
}
