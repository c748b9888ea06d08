// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * clock_measure - rate, agreement, cost and step of a counter
 *
 * Rate: a reading of the counter is bracketed by two of CLOCK_MONOTONIC_RAW,
 * which NTP does not slew; of several brackets the tightest is kept, since
 * what interrupted the others is in none of them. Readings at the beginning
 * and at the end make pairs, the rate is the median of the pairs' slopes, its
 * interval comes from their order. Readings in the middle must lie on the line.
 */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <sonde/stats.h>

#include "clock.h"

#define NS		1e9
#define PAIRS		16
#define BRACKETS	8
/*
 * The 4th and 13th of 16 hold the median with probability 97.9 % (binomial);
 * the 5th and 12th would do so with 92.3 %.
 */
#define CI_RANK		3
/* From the first readings to the last. */
#define BASELINE_NS	44000000
/* What a reading may be wrong by beside half its bracket. */
#define SLACK_NS	1000.0
/* CPUs are visited for this long, but some at any rate. */
#define COMPARE_NS	10000000
#define COMPARE_CPUS	4
#define READS		500
/* Reads between which something came, and more. */
#define SLOWEST		50
/* So many times READS must be no faster by so much: some milliseconds of a core. */
#define STEADY_READS	128
#define FASTER		0.98
/* Differences come in groups: see clock_measure_step(). */
#define GROUPS		101
#define GROUP		16
#define SPINS		1000000

/**
 * struct reading - the counter at a time
 * @ticks: of the counter
 * @ns: of CLOCK_MONOTONIC_RAW, the middle of the bracket
 * @error_ns: half the bracket
 */
struct reading {
	uint64_t ticks;
	double ns;
	double error_ns;
};

/* Nanoseconds since @origin, so that a double holds them all. */
static void take_reading(clock_read_fn read, uint64_t origin, struct reading *r)
{
	uint64_t before, ticks, after, width, best = UINT64_MAX;

	*r = (struct reading){ 0 };
	for (int i = 0; i < BRACKETS; i++) {
		before = clock_read_monotonic_raw();
		ticks = read();
		after = clock_read_monotonic_raw();
		width = after - before;
		if (width >= best)
			continue;
		best = width;
		r->ticks = ticks;
		r->ns = (double)(before - origin) + (double)width / 2;
		r->error_ns = (double)width / 2;
	}
}

static void take_readings(clock_read_fn read, uint64_t origin, struct reading *r)
{
	for (int i = 0; i < PAIRS; i++)
		take_reading(read, origin, &r[i]);
}

/* CPUs keep counting while a thread sleeps, and another may have this one. */
static void sleep_until(uint64_t when)
{
	struct timespec left;
	uint64_t now;

	while ((now = clock_read_monotonic_raw()) < when) {
		left.tv_sec = 0;
		left.tv_nsec = (long)(when - now);
		nanosleep(&left, NULL);
	}
}

/* Slopes of all pairs, ascending. */
static int find_slopes(const struct reading *first, const struct reading *last, double *slopes)
{
	for (int i = 0; i < PAIRS; i++) {
		if (last[i].ticks <= first[i].ticks || last[i].ns <= first[i].ns)
			return -ERANGE;
		slopes[i] = (double)(last[i].ticks - first[i].ticks) /
			    (last[i].ns - first[i].ns) * NS;
	}
	sonde_stats_sort(slopes, PAIRS);
	return 0;
}

/* Is @r where a counter of rate @hz would be that was at @from? */
static int is_on_line(const struct reading *from, const struct reading *r, double hz)
{
	double ticks = (double)(int64_t)(r->ticks - from->ticks);

	return fabs(ticks * NS / hz - (r->ns - from->ns)) <=
	       r->error_ns + from->error_ns + SLACK_NS;
}

int clock_calibrate(clock_read_fn read, struct sonde_clock_info *info)
{
	struct reading first[PAIRS], middle[PAIRS], last[PAIRS];
	uint64_t origin = clock_read_monotonic_raw();
	double slopes[PAIRS], grain;
	int err, off = 0;

	take_readings(read, origin, first);
	sleep_until(origin + BASELINE_NS / 2);
	take_readings(read, origin, middle);
	sleep_until(origin + BASELINE_NS);
	take_readings(read, origin, last);
	err = find_slopes(first, last, slopes);
	if (err)
		return err;
	info->hz = sonde_stats_median(slopes, PAIRS);
	/* Nanoseconds are whole at both ends. */
	grain = info->hz / (last[0].ns - first[0].ns);
	info->hz_low = slopes[CI_RANK] - grain;
	info->hz_high = slopes[PAIRS - 1 - CI_RANK] + grain;
	for (int i = 0; i < PAIRS; i++)
		off += !is_on_line(&first[i], &middle[i], info->hz) ||
		       !is_on_line(&first[i], &last[i], info->hz);
	return off > PAIRS / 4 ? -ERANGE : 0;
}

static int visit_cpus(clock_read_fn read, double hz, const cpu_set_t *cpus, size_t size,
		      uint64_t origin)
{
	cpu_set_t *one = CPU_ALLOC(size * 8);
	struct reading here, there;
	int err = 0, visited = 0;

	if (!one)
		return -ENOMEM;
	take_reading(read, origin, &here);
	for (size_t cpu = 0; cpu < size * 8 && !err; cpu++) {
		if (!CPU_ISSET_S(cpu, size, cpus))
			continue;
		CPU_ZERO_S(size, one);
		CPU_SET_S(cpu, size, one);
		if (sched_setaffinity(0, size, one))
			continue;
		take_reading(read, origin, &there);
		if (!is_on_line(&here, &there, hz))
			err = -ERANGE;
		if (++visited >= COMPARE_CPUS && there.ns > COMPARE_NS)
			break;
	}
	CPU_FREE(one);
	return err;
}

/* Masks of the kernel's size, which may be larger than cpu_set_t. */
static cpu_set_t *get_affinity(size_t *size)
{
	cpu_set_t *cpus;

	for (int bits = CPU_SETSIZE; bits <= 1 << 20; bits *= 2) {
		*size = CPU_ALLOC_SIZE(bits);
		cpus = CPU_ALLOC(bits);
		if (!cpus)
			return NULL;
		CPU_ZERO_S(*size, cpus);
		if (!sched_getaffinity(0, *size, cpus))
			return cpus;
		CPU_FREE(cpus);
	}
	return NULL;
}

int clock_compare_cpus(clock_read_fn read, double hz)
{
	cpu_set_t *before;
	size_t size;
	int err;

	before = get_affinity(&size);
	if (!before)
		return -ENOMEM;
	err = visit_cpus(read, hz, before, size, clock_read_monotonic_raw());
	sched_setaffinity(0, size, before);
	CPU_FREE(before);
	return err;
}

/* A mean: where the counter advances in steps, a median is off by up to half of one. */
static double read_back_to_back(clock_read_fn read)
{
	double ticks[READS], sum = 0;
	uint64_t before, after;

	for (int i = 0; i < READS; i++) {
		before = read();
		after = read();
		ticks[i] = (double)(after - before);
	}
	sonde_stats_sort(ticks, READS);
	for (int i = 0; i < READS - SLOWEST; i++)
		sum += ticks[i];
	return sum / (READS - SLOWEST);
}

/*
 * A core that just woke runs slowly, and so does one that is throttled, for
 * milliseconds and by up to ten times where a hypervisor shares it out.
 */
double clock_measure_overhead(clock_read_fn read)
{
	double least = read_back_to_back(read), ticks;

	for (int steady = 0; steady < STEADY_READS; steady++) {
		ticks = read_back_to_back(read);
		if (ticks < FASTER * least)
			steady = 0;
		least = fmin(least, ticks);
	}
	return least;
}

static uint64_t find_gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* The counter's advance over @work steps of a loop and however long it takes to show. */
static uint64_t advance(clock_read_fn read, unsigned int work)
{
	uint64_t before = read(), after;

	for (unsigned int i = 0; i < work; i++)
		__asm__ volatile("" : "+r"(i));
	for (int spins = 0; spins < SPINS; spins++) {
		after = read();
		if (after != before)
			return after - before;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * The greatest common divisor of differences of many lengths. One difference
 * that is no multiple, as where a kernel or hypervisor adjusts the counter,
 * would spoil it, so it is taken of groups, and the median group's counts.
 */
uint64_t clock_measure_step(clock_read_fn read)
{
	uint64_t steps[GROUPS] = { 0 }, ticks;

	for (unsigned int i = 0; i < GROUPS * GROUP; i++) {
		ticks = advance(read, i * 7 % 61);
		if (!ticks)
			return 0;
		steps[i / GROUP] = find_gcd(steps[i / GROUP], ticks);
	}
	qsort(steps, GROUPS, sizeof(*steps), compare);
	return steps[GROUPS / 2];
}
