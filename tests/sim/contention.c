// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdlib.h>

#include "contention.h"

/* No link is so full that nothing gets through. */
#define FULLEST	0.95

/* Bytes on the links for a byte of the program: what is written to is read first. */
static double traffic(enum sonde_stream kind)
{
	switch (kind) {
	case SONDE_STREAM_WRITE:
		return 2;
	case SONDE_STREAM_COPY:
		return 3 / 2.0;
	case SONDE_STREAM_TRIAD:
		return 4 / 3.0;
	default:
		return 1;
	}
}

/* Which of the links of a level a CPU's data goes through. */
static unsigned int link_of(const struct machine_model *m, unsigned int level, unsigned int cpu)
{
	unsigned int shared = m->link[level].shared ? m->link[level].shared : 1;

	return machine_place(m, cpu) / shared;
}

static int is_remote(const struct machine_model *m, const struct meter_stream *s)
{
	return m->node_cpus && s->node >= 0 &&
	       machine_place(m, s->cpu) / m->node_cpus != (unsigned int)s->node;
}

/* What a lane would take of an empty machine: gigabytes a second on the links. */
static double demand(const struct machine_model *m, const struct meter_stream *s)
{
	double gbs = m->link[0].gbs, piece_ns;

	if (s->kind == STREAM_CHASE)
		return METER_LINE / (m->memory_cycles / m->ghz);
	if (is_remote(m, s))
		gbs *= m->remote;
	piece_ns = STREAM_PIECE * traffic(s->kind) / gbs;
	return STREAM_PIECE * traffic(s->kind) / (piece_ns + s->pause_ns);
}

/* Of what goes through the link of @lane, all or that which is fixed. */
static double load(const struct machine_model *m, const struct meter_stream *lanes, size_t n,
		   const double *gbs, const unsigned char *wanted, unsigned int level, size_t lane)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		if (wanted[i] &&
		    link_of(m, level, lanes[i].cpu) == link_of(m, level, lanes[lane].cpu))
			sum += gbs[i];
	return sum;
}

static size_t count_open(const struct machine_model *m, const struct meter_stream *lanes, size_t n,
			 const unsigned char *fixed, unsigned int level, size_t lane)
{
	size_t open = 0;

	for (size_t i = 0; i < n; i++)
		open += !fixed[i] &&
			link_of(m, level, lanes[i].cpu) == link_of(m, level, lanes[lane].cpu);
	return open;
}

/* The most that a lane could have if those of its links that are open share alike. */
static double bound(const struct machine_model *m, const struct meter_stream *lanes, size_t n,
		    const double *gbs, const unsigned char *fixed, size_t lane)
{
	double least = demand(m, &lanes[lane]);

	for (unsigned int l = 0; l < MACHINE_LINKS && m->link[l].gbs > 0; l++) {
		double left = m->link[l].gbs - load(m, lanes, n, gbs, fixed, l, lane);

		least = fmin(least, left / (double)count_open(m, lanes, n, fixed, l, lane));
	}
	return least;
}

/* The lane that can have least has it, and the next one shares what is left. */
static void share_out(const struct machine_model *m, const struct meter_stream *lanes, size_t n,
		      double *gbs, unsigned char *fixed)
{
	for (size_t round = 0; round < n; round++) {
		double least = INFINITY;
		size_t who = 0;

		for (size_t i = 0; i < n; i++) {
			double b = fixed[i] ? INFINITY : bound(m, lanes, n, gbs, fixed, i);

			if (b < least) {
				least = b;
				who = i;
			}
		}
		gbs[who] = least;
		fixed[who] = 1;
	}
}

/* As a queue with one server and random service: half a service for each that is
 * expected to be in front (Pollaczek and Khinchine). */
static double chase_ns(const struct machine_model *m, const struct meter_stream *lanes, size_t n,
		       const double *gbs, size_t lane)
{
	unsigned char *others = malloc(n);
	double fullest = 0;

	for (size_t i = 0; others && i < n; i++)
		others[i] = i != lane;
	for (unsigned int l = 0; others && l < MACHINE_LINKS && m->link[l].gbs > 0; l++)
		fullest = fmax(fullest, load(m, lanes, n, gbs, others, l, lane) / m->link[l].gbs);
	free(others);
	fullest = fmin(fullest, FULLEST);
	return m->memory_cycles / m->ghz * (1 + fullest / (2 * (1 - fullest)));
}

void contention_windows(const struct machine_model *model, const struct meter_stream *lanes,
			size_t n, double *ns)
{
	double *gbs = calloc(n, sizeof(*gbs));
	unsigned char *fixed = calloc(n, sizeof(*fixed));

	if (!gbs || !fixed)
		abort();	/* a test's machine, not a user's */
	share_out(model, lanes, n, gbs, fixed);
	for (size_t i = 0; i < n; i++) {
		if (lanes[i].kind == STREAM_CHASE)
			ns[i] = STREAM_LOADS * chase_ns(model, lanes, n, gbs, i);
		else
			ns[i] = STREAM_WINDOW * traffic(lanes[i].kind) / gbs[i];
	}
	free(gbs);
	free(fixed);
}
