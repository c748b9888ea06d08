/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The same loop timed from user space and in the module, under a load that wants
 * the same CPU: how far do the samples spread?
 *
 * Both meters are open in one thread on one CPU, and the load is a process of
 * the same weight there. They measure in turn, a round each; a round's spread is
 * (99th - 1st percentile) / median of its windows. Printed are both medians over
 * the rounds, their ranges, and the ratio of the medians.
 *
 * irq_off [CPU [ROUNDS]]
 */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sonde/stats.h>

#include "../lib/meter_module.h"

#define CHUNKS		4
#define LINES		(CHUNKS * METER_CHUNK_LINES)
#define WINDOWS		500
/* Of what a scheduler gives at a time a small part, so many windows are whole. */
#define WINDOW_S	100e-6
#define MOST_ROUNDS	1000

enum { USER, MODULE, KINDS };

static const char *const names[] = { "user space", "module" };

static void die(const char *what, int err)
{
	fprintf(stderr, "irq_off: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

static pid_t start_load(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork", errno);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		__asm__ volatile("" : : : "memory");
}

static struct meter *open_meter(int kind, const struct sonde_clock *clk, unsigned int cpu)
{
	uint32_t places[LINES];
	struct meter *m;
	int err = kind == MODULE ? meter_module_open(&m, clk, cpu) : meter_user_open(&m, clk, cpu);

	if (!err)
		err = m->ops->pages(m, CHUNKS);
	if (err)
		die(names[kind], err);
	for (uint32_t i = 0; i < LINES; i++)
		places[i] = i * 5 % LINES * METER_LINE_PLACES;
	m->ops->link(m, places, LINES);
	return m;
}

/* Nanoseconds of each window, ascending. */
static void measure(struct meter *m, unsigned int steps, double *ns)
{
	static struct meter_window w[WINDOWS];

	m->ops->chase(m, LINES, steps, w, WINDOWS);
	for (int i = 0; i < WINDOWS; i++)
		ns[i] = (double)w[i].ticks * m->tick_ns;
	sonde_stats_sort(ns, WINDOWS);
}

/* Loads that take WINDOW_S here when nobody disturbs. */
static unsigned int choose_steps(struct meter *m)
{
	const unsigned int some = 1024;
	double ns[WINDOWS];

	measure(m, some, ns);
	return (unsigned int)(some * WINDOW_S * 1e9 / sonde_stats_median(ns, WINDOWS));
}

static double spread(const double *ns)
{
	return (ns[WINDOWS - 1 - WINDOWS / 100] - ns[WINDOWS / 100]) /
	       sonde_stats_median(ns, WINDOWS);
}

static void report(int kind, double *spreads, unsigned int rounds)
{
	sonde_stats_sort(spreads, rounds);
	printf("%-10s  spread %.4f [%.4f..%.4f]\n", names[kind],
	       sonde_stats_median(spreads, rounds), spreads[0], spreads[rounds - 1]);
}

static unsigned int number(const char *text, unsigned int most)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end || end == text || n > most) {
		fprintf(stderr, "irq_off: '%s' is no number up to %u\n", text, most);
		exit(2);
	}
	return (unsigned int)n;
}

int main(int argc, char **argv)
{
	unsigned int cpu = argc > 1 ? number(argv[1], CPU_SETSIZE - 1) : 0;
	unsigned int rounds = argc > 2 ? number(argv[2], MOST_ROUNDS) : 21;
	static double ns[WINDOWS], spreads[KINDS][MOST_ROUNDS];
	struct meter *m[KINDS];
	struct sonde_clock *clk;
	double user, module;
	unsigned int steps;
	pid_t load;
	int err = sonde_clock_open(&clk, SONDE_CLOCK_AUTO);

	if (err)
		die("clock", err);
	if (!rounds)
		return 2;
	/* The module's first: the other binds the thread and raises its weight. */
	m[MODULE] = open_meter(MODULE, clk, cpu);
	m[USER] = open_meter(USER, clk, cpu);
	steps = choose_steps(m[MODULE]);
	load = start_load();
	for (unsigned int i = 0; i < rounds; i++) {
		for (int kind = 0; kind < KINDS; kind++) {
			measure(m[kind], steps, ns);
			spreads[kind][i] = spread(ns);
		}
	}
	kill(load, SIGKILL);
	waitpid(load, NULL, 0);
	printf("%u rounds in turn, %d windows of %u loads each, a load on the same CPU\n",
	       rounds, WINDOWS, steps);
	for (int kind = 0; kind < KINDS; kind++)
		report(kind, spreads[kind], rounds);
	user = sonde_stats_median(spreads[USER], rounds);
	module = sonde_stats_median(spreads[MODULE], rounds);
	if (module > 0)
		printf("ratio of the medians, user space to module: %.1f\n", user / module);
	else
		printf("no ratio: the module's samples do not differ\n");
	m[USER]->ops->close(m[USER]);
	m[MODULE]->ops->close(m[MODULE]);
	sonde_clock_close(clk);
	return 0;
}
