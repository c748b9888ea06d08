// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The loops of every kind of vectors do what their names say, and the meter in user
 * space runs them on several CPUs with windows that say when.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/stream.h"
#include "tap.h"

#define BYTES	((size_t)3 * STREAM_STEP)
#define COUNT	(BYTES / sizeof(double))

static double *fill(double first)
{
	double *at = aligned_alloc(64, BYTES + 64);

	ck_assert_ptr_nonnull(at);
	for (size_t i = 0; i < COUNT + 8; i++)
		at[i] = first + (double)i;
	return at;
}

static void run(const struct stream_loops *l, enum sonde_stream kind, double *a, double *b,
		double *c)
{
	l->run[kind]((char *)a, (const char *)b, (const char *)c, BYTES);
}

/* What follows the array stays as it was. */
static void check_end(const double *a, double first)
{
	for (size_t i = COUNT; i < COUNT + 8; i++)
		ck_assert_double_eq(a[i], first + (double)i);
}

START_TEST(every_loop_does_what_it_says)
{
	const struct stream_loops *loops[STREAM_LOOPS];
	double *a = fill(1), *b = fill(1000), *c = fill(5);
	size_t n = stream_list(loops);

	ck_assert_uint_ge(n, 1);
	for (size_t l = 0; l < n; l++) {
		ck_assert_ptr_nonnull(stream_vectors_name(loops[l]->vectors));
		run(loops[l], SONDE_STREAM_COPY, a, b, c);
		ck_assert_mem_eq(a, b, BYTES);
		run(loops[l], SONDE_STREAM_TRIAD, a, b, c);
		for (size_t i = 0; i < COUNT; i++)
			ck_assert_double_eq(a[i], b[i] + 3 * c[i]);
		run(loops[l], SONDE_STREAM_READ, a, a, a);
		ck_assert_double_eq(a[1], b[1] + 3 * c[1]);
		run(loops[l], SONDE_STREAM_WRITE, a, a, a);
		for (size_t i = 0; i < COUNT; i++)
			ck_assert_double_eq(a[i], 0);
		a[3] = 3;
		if (loops[l]->run[SONDE_STREAM_WRITE_NT]) {
			run(loops[l], SONDE_STREAM_WRITE_NT, a, a, a);
			ck_assert_double_eq(a[3], 0);
		}
		check_end(a, 1);
	}
	free(a);
	free(b);
	free(c);
}
END_TEST

START_TEST(every_operation_has_a_name)
{
	for (int k = 0; k < SONDE_STREAMS; k++)
		ck_assert_str_ne(sonde_stream_name((enum sonde_stream)k), "unknown");
	ck_assert_str_eq(sonde_stream_name(STREAM_CHASE), "unknown");
	ck_assert_ptr_nonnull(sonde_stream_vectors());
	ck_assert_ptr_null(stream_vectors_name(VECTORS));
}
END_TEST

/* ---- the meter --------------------------------------------------------------- */

#define WINDOWS	16
#define MEMORY	((size_t)4 << 20)

static unsigned int cpus[CPU_SETSIZE];
static size_t ncpus;

static void list_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return;
	for (unsigned int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			cpus[ncpus++] = i;
}

static struct meter *open_meter(struct sonde_clock **clk)
{
	struct meter *m;

	ck_assert_int_eq(sonde_clock_open(clk, SONDE_CLOCK_AUTO), 0);
	ck_assert_int_eq(meter_user_open(&m, *clk, cpus[0]), 0);
	return m;
}

static void close_meter(struct meter *m, struct sonde_clock *clk)
{
	m->ops->close(m);
	sonde_clock_close(clk);
}

static struct meter_stream lane(unsigned int cpu, enum sonde_stream kind, struct meter_window *out)
{
	return (struct meter_stream){
		.cpu = cpu, .kind = kind, .node = -1, .bytes = MEMORY, .out = out, .nout = WINDOWS,
	};
}

static void check_windows(const struct meter_window *w)
{
	for (size_t i = 0; i < WINDOWS; i++) {
		ck_assert_uint_gt(w[i].ticks, 0);
		ck_assert_uint_eq(w[i].chain, 0);
		if (i)
			ck_assert_uint_ge(w[i].begin, w[i - 1].begin + w[i - 1].ticks);
	}
}

START_TEST(windows_of_every_kind_follow_each_other)
{
	struct meter_window out[WINDOWS];
	struct sonde_clock *clk;
	struct meter *m = open_meter(&clk);

	/* Also what was linked before, and links after what was written. */
	for (int k = 0; k < 3 * (SONDE_STREAMS + 1); k++) {
		struct meter_stream s = lane(cpus[0], (enum sonde_stream)(k % (SONDE_STREAMS + 1)),
					     out);
		int err = m->ops->stream(m, &s, 1);

		if (err == -EOPNOTSUPP && s.kind == SONDE_STREAM_WRITE_NT)
			continue;
		ck_assert_int_eq(err, 0);
		check_windows(out);
	}
	close_meter(m, clk);
}
END_TEST

START_TEST(two_cpus_run_at_once_or_say_that_they_did_not)
{
	struct meter_window out[2][WINDOWS];
	struct sonde_clock *clk;
	struct meter *m = open_meter(&clk);
	struct meter_stream s[2] = {
		lane(cpus[0], STREAM_CHASE, out[0]),
		lane(cpus[1], SONDE_STREAM_COPY, out[1]),
	};
	int err;

	s[1].pause_ns = 1000;
	err = m->ops->stream(m, s, 2);
	if (!err) {
		check_windows(out[0]);
		check_windows(out[1]);
	} else {
		ck_assert_int_eq(err, -EAGAIN);
	}
	close_meter(m, clk);
}
END_TEST

START_TEST(what_cannot_be_streamed_is_refused)
{
	struct meter_window out[WINDOWS];
	struct sonde_clock *clk;
	struct meter *m = open_meter(&clk);
	struct meter_stream s[2] = {
		lane(cpus[0], SONDE_STREAM_READ, out), lane(cpus[0], SONDE_STREAM_READ, out),
	};

	ck_assert_int_eq(m->ops->stream(m, s, 2), -EINVAL);
	ck_assert_int_eq(m->ops->stream(m, s, 0), -EINVAL);
	s[0].bytes = 4096;
	ck_assert_int_eq(m->ops->stream(m, s, 1), -EINVAL);
	s[0] = lane(cpus[0], (enum sonde_stream)(STREAM_CHASE + 1), out);
	ck_assert_int_eq(m->ops->stream(m, s, 1), -EINVAL);
	s[0] = lane(CPU_SETSIZE, SONDE_STREAM_READ, out);
	ck_assert_int_eq(m->ops->stream(m, s, 1), -EINVAL);
	s[0] = lane(cpus[0], SONDE_STREAM_READ, out);
	s[0].node = 1023;
	ck_assert_int_ne(m->ops->stream(m, s, 1), 0);
	close_meter(m, clk);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("stream");
	TCase *c = tcase_create("loops");

	tcase_add_test(c, every_loop_does_what_it_says);
	tcase_add_test(c, every_operation_has_a_name);
	suite_add_tcase(s, c);
	c = tcase_create("meter");
	tcase_set_timeout(c, 60);
	list_cpus();
	tcase_add_test(c, windows_of_every_kind_follow_each_other);
	tcase_add_test(c, what_cannot_be_streamed_is_refused);
	if (ncpus > 1)
		tcase_add_test(c, two_cpus_run_at_once_or_say_that_they_did_not);
	else
		tap_left_out("two CPUs: there is one");
	suite_add_tcase(s, c);
	return tap_run(s);
}
