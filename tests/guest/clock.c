/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SONDE_IOC_CLOCK: that the counter is described as it is, and that offsets
 * between CPUs are bounded by messages that were really sent both ways.
 */
#include <signal.h>
#include <time.h>

#include "chase.h"

#define MOST	1024

static int ask(int fd, uint32_t reference, struct sonde_clock_cpu *cpus,
	       uint32_t n, struct sonde_clocks *out)
{
	*out = (struct sonde_clocks){
		.size = sizeof(*out), .reference = reference,
		.cpus = (uintptr_t)cpus, .ncpus = n,
	};
	return do_ioctl(fd, SONDE_IOC_CLOCK, out);
}

static void the_counter_is_described(void)
{
	int fd = open_node(PROBE_NODE);
	struct sonde_info info = get_info(fd);
	struct sonde_clocks c;

	check_int(ask(fd, 0, NULL, 0, &c), 0);
	check_int(c.counter, SONDE_COUNTER_TSC);
	check(c.hz > 0 && c.cost > 0);
	check(c.step > 0 && c.step <= c.hz / 1000);
	check_int(c.done, 0);
	if (info.counter == SONDE_COUNTER_TSC) {
		check_int(c.hz, info.counter_hz);
		check(c.flags & SONDE_CLOCK_INVARIANT && c.flags & SONDE_CLOCK_STABLE);
	} else {
		check(!(c.flags & SONDE_CLOCK_INVARIANT) ||
		      !(c.flags & SONDE_CLOCK_STABLE));
	}
}

static uint64_t read_counter(void)
{
	return __builtin_ia32_rdtsc();
}

/* Against the time that the kernel keeps; only a gross error is one. */
static void the_rate_is_that_of_the_counter(void)
{
	const struct timespec pause = { 0, 300000000 };
	struct timespec begin, end;
	struct sonde_clocks c;
	uint64_t first, second;
	double ns;

	check_int(bind_to(0), 0);
	check_int(ask(open_node(PROBE_NODE), 0, NULL, 0, &c), 0);
	clock_gettime(CLOCK_MONOTONIC_RAW, &begin);
	first = read_counter();
	nanosleep(&pause, NULL);
	clock_gettime(CLOCK_MONOTONIC_RAW, &end);
	second = read_counter();
	ns = (end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec);
	printf("# told %.0f, seen %.0f Hz\n", (double)c.hz, (second - first) / ns * 1e9);
	check((second - first) / ns * 1e9 > 0.8 * c.hz);
	check((second - first) / ns * 1e9 < 1.2 * c.hz);
}

static int64_t distance(int64_t a, int64_t b)
{
	return a > b ? a - b : b - a;
}

/* Seen from either side it is the same distance, within what both admit. */
static void offsets_agree_from_both_sides(void)
{
	struct sonde_clock_cpu there = { .cpu = 1 }, here = { .cpu = 0 };
	int fd = open_node(PROBE_NODE);
	struct sonde_clocks c;

	need_two_cpus();
	check_int(ask(fd, 0, &there, 1, &c), 0);
	check_int(c.done, 1);
	check_int(ask(fd, 1, &here, 1, &c), 0);
	printf("# %lld +- %llu, drift %lld +- %llu; back %lld +- %llu\n",
	       (long long)there.offset, (unsigned long long)there.error,
	       (long long)there.drift, (unsigned long long)there.drift_error,
	       (long long)here.offset, (unsigned long long)here.error);
	check(there.rounds >= 100 && here.rounds >= 100);
	check(there.error && here.error && there.drift_error);
	/* An emulator's CPUs have one counter. */
	check((uint64_t)distance(there.offset, 0) <= 2 * there.error);
	check((uint64_t)distance(there.offset, -here.offset) <=
	      2 * (there.error + here.error));
	check((uint64_t)distance(there.drift, 0) <= 2 * there.drift_error);
}

/* What one CPU says of another can be seen from user space, too. */
static void offsets_are_not_made_up(void)
{
	struct sonde_clock_cpu there = { .cpu = 1 };
	struct sonde_clocks c;
	uint64_t a, b, d;

	need_two_cpus();
	check_int(ask(open_node(PROBE_NODE), 0, &there, 1, &c), 0);
	check_int(bind_to(0), 0);
	a = read_counter();
	check_int(bind_to(1), 0);
	b = read_counter();
	check_int(bind_to(0), 0);
	d = read_counter();
	/* a happened before b, b before d: b - d <= offset <= b - a. */
	check(there.offset - (int64_t)there.error <= (int64_t)(b - a));
	check(there.offset + (int64_t)there.error >= (int64_t)(b - d));
}

static void refuses_cpus_that_it_must_not_ask(void)
{
	static struct sonde_clock_cpu many[MOST];
	struct sonde_clock_cpu cpu = { .cpu = 0 };
	int fd = open_node(PROBE_NODE);
	struct sonde_clocks c;

	check_int(ask(fd, 0, &cpu, 1, &c), -EINVAL);	/* the reference itself */
	check_int(c.done, 0);
	check_int(ask(fd, UINT32_MAX, &cpu, 1, &c), -EINVAL);
	cpu.cpu = MOST;
	check_int(ask(fd, 0, &cpu, 1, &c), -EINVAL);
	check_int(ask(fd, 0, many, UINT32_MAX, &c), -EINVAL);
	check_int(ask(fd, 0, NULL, 1, &c), -EINVAL);
	check_int(ask(fd, 0, (void *)8, 1, &c), -EFAULT);
	need_two_cpus();
	check_int(bind_to(0), 0);
	cpu.cpu = 1;
	check_int(ask(fd, 0, &cpu, 1, &c), -EPERM);
}

static void compares_while_both_cpus_are_busy(void)
{
	struct sonde_clock_cpu cpu = { .cpu = 1 };
	struct sonde_clocks c;
	pid_t busy[2];
	int i, ret;

	need_two_cpus();
	fflush(stdout);
	for (i = 0; i < 2; i++) {
		busy[i] = fork();
		if (!busy[i]) {
			bind_to(i);
			for (;;)
				__asm__ volatile("");
		}
	}
	ret = ask(open_node(PROBE_NODE), 0, &cpu, 1, &c);
	for (i = 0; i < 2; i++) {
		kill(busy[i], SIGKILL);
		waitpid(busy[i], NULL, 0);
	}
	check_msg(!ret || ret == -EAGAIN, "result %d", ret);
	check_int(c.done, !ret);
}

static void a_kill_ends_a_comparison(void)
{
	const struct timespec moment = { 0, 20000000 };
	int fd = open_node(PROBE_NODE), i;

	need_two_cpus();
	fflush(stdout);
	for (i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (!pid) {
			struct sonde_clock_cpu cpu = { .cpu = 1 };
			struct sonde_clocks c;

			for (;;)
				ask(fd, 0, &cpu, 1, &c);
		}
		nanosleep(&moment, NULL);
		check_int(kill(pid, SIGKILL), 0);
		check_int(waitpid(pid, NULL, 0), pid);
	}
}

static const struct tap_test tests[] = {
	TAP_TEST(the_counter_is_described),
	TAP_TEST(the_rate_is_that_of_the_counter),
	TAP_TEST(offsets_agree_from_both_sides),
	TAP_TEST(offsets_are_not_made_up),
	TAP_TEST(refuses_cpus_that_it_must_not_ask),
	TAP_TEST(compares_while_both_cpus_are_busy),
	TAP_TEST(a_kill_ends_a_comparison),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
