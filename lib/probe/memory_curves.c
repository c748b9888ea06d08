// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * memory_curves - one core by itself, 1 to n cores, and latency under load
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define CURVE_ROUNDS	5
/* Nanoseconds without a load after each piece: from next to nothing to all there is. */
static const unsigned int pauses[] = { 100000, 30000, 10000, 5000, 2500, 1200, 600, 300, 0 };
#define NPAUSES (sizeof(pauses) / sizeof(pauses[0]))

/* ---- one core ------------------------------------------------------------ */

static int add_reference(struct memory *p, const struct sonde_memory_reference *reference)
{
	struct sonde_memory_report *r = p->report;
	struct sonde_memory_reference *more;

	more = realloc(r->references, (r->nreferences + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	r->references = more;
	more[r->nreferences++] = *reference;
	return 0;
}

/* All kinds by turns; without such loops, or such memory, fewer or none. */
static int measure_memory_of(struct memory *p, int node, enum sonde_pages pages)
{
	struct memory_rounds rounds[SONDE_STREAMS] = { { .n = 0 } };
	int err = 0, missing = 0;
	double rate;
	size_t kept;

	for (int i = 0; i < MEMORY_ROUNDS && !err; i++) {
		for (int k = 0; k < SONDE_STREAMS && !err; k++) {
			memory_set_lane(p, 0, p->report->cpus[0], (enum sonde_stream)k, p->bytes);
			p->lanes[0].node = node;
			p->lanes[0].pages = pages;
			err = memory_run(p, 1, &rate, &kept);
			if (err == -EOPNOTSUPP) {
				missing++;
				err = 0;
				continue;
			}
			memory_add(&rounds[k], rate, MEMORY_WINDOWS, kept);
		}
		if (missing == SONDE_STREAMS)
			return -EOPNOTSUPP;
	}
	for (int k = 0; k < SONDE_STREAMS && !err; k++) {
		struct sonde_memory_reference reference = {
			.kind = (enum sonde_stream)k, .node = node, .pages = pages,
			.rate = memory_rate(&rounds[k]),
		};

		if (rounds[k].windows)
			err = add_reference(p, &reference);
	}
	return err;
}

static int measure_node(struct memory *p, int node)
{
	int err = measure_memory_of(p, node, SONDE_PAGES_BASE);

	/* Not for this process, or without memory. */
	if (err == -EINVAL || err == -EPERM || err == -EOPNOTSUPP)
		return memory_note(p, "memory of NUMA node %d cannot be had here", node);
	if (err)
		return err;
	err = measure_memory_of(p, node, SONDE_PAGES_HUGE);
	return err == -EOPNOTSUPP ? 0 : err;
}

int memory_measure_references(struct memory *p)
{
	p->what = "one CPU";
	p->done += 0.05;
	return measure_memory_of(p, -1, SONDE_PAGES_BASE);
}

int memory_measure_others(struct memory *p)
{
	const struct sonde_memory_options *o = p->options;
	int err;

	p->what = "other pages and nodes";
	err = measure_memory_of(p, -1, SONDE_PAGES_HUGE);
	if (err == -EOPNOTSUPP)
		err = memory_note(p, "huge pages cannot be had here, so nothing is said of them");
	for (size_t i = 0; i < o->nnodes && o->nnodes > 1 && !err; i++)
		err = measure_node(p, (int)o->nodes[i]);
	p->done += 0.05;
	return err;
}

int memory_measure_alone(struct memory *p)
{
	struct sonde_memory_report *r = p->report;
	double rate;
	size_t kept;
	int err = 0;

	p->what = "each CPU";
	for (size_t i = 0; i < r->ncpus && !err; i++) {
		struct memory_rounds rounds = { .n = 0 };

		for (int k = 0; k < MEMORY_ROUNDS && !err; k++) {
			memory_set_lane(p, 0, r->cpus[i], SONDE_STREAM_COPY, p->bytes);
			err = memory_run(p, 1, &rate, &kept);
			memory_add(&rounds, rate, MEMORY_WINDOWS, kept);
		}
		if (!err)
			err = memory_add_spread(p, &rounds);
		r->alone[i] = memory_rate(&rounds);
		p->done += 0.1 / (double)r->ncpus;
	}
	return err;
}

/* ---- more and more cores ---------------------------------------------------- */

/* 1, 2, 3, 4, 6, 8, 12, 16, ..., and in the end all. */
static size_t next_cores(size_t n, size_t most)
{
	size_t next = n < 4 ? n + 1 : n & (n - 1) ? n / 3 * 4 : n / 2 * 3;

	return n >= most ? most + 1 : next < most ? next : most;
}

static int measure_point(struct memory *p, const struct sonde_memory_curve *curve, size_t cores,
			 size_t bytes, double *rate, struct memory_rounds *rounds)
{
	double sum = 0;
	size_t kept;
	int err;

	for (size_t i = 0; i < cores; i++)
		memory_set_lane(p, i, curve->cpus[i], SONDE_STREAM_COPY, bytes);
	err = memory_run(p, cores, rate, &kept);
	for (size_t i = 0; i < cores; i++)
		sum += rate[i];
	if (!err)
		memory_add(rounds, sum, cores * MEMORY_WINDOWS, kept);
	return err;
}

static int measure_curve(struct memory *p, struct sonde_memory_curve *curve)
{
	size_t bytes = memory_bytes(p, curve->ncpus);
	double *rate = calloc(curve->ncpus, sizeof(*rate));
	int err = 0;

	curve->cores = calloc(curve->ncpus, sizeof(*curve->cores));
	curve->rate = calloc(curve->ncpus, sizeof(*curve->rate));
	if (!rate || !curve->cores || !curve->rate)
		err = -ENOMEM;
	for (size_t n = 1; n <= curve->ncpus && !err; n = next_cores(n, curve->ncpus)) {
		struct memory_rounds rounds = { .n = 0 };

		for (int i = 0; i < MEMORY_TRIES && rounds.n < CURVE_ROUNDS && !err; i++)
			err = measure_point(p, curve, n, bytes, rate, &rounds);
		curve->cores[curve->npoints] = (unsigned int)n;
		curve->rate[curve->npoints++] = memory_rate(&rounds);
	}
	free(rate);
	return err;
}

/* The first CPU of a pair of the class, then those that lose as much beside it, then
 * those that lose more. */
static int choose_cpus(const struct memory *p, size_t class, struct sonde_memory_curve *curve)
{
	const struct sonde_memory_report *r = p->report;
	size_t first = 0;

	while (r->pairs[first].group != (int)class)
		first++;
	first = memory_index(p, r->pairs[first].cpu[0]);
	curve->cpus = calloc(r->ncpus, sizeof(*curve->cpus));
	if (!curve->cpus)
		return -ENOMEM;
	curve->cpus[curve->ncpus++] = r->cpus[first];
	for (int c = (int)class; c >= 0; c--)
		for (size_t i = 0; i < r->ncpus; i++)
			if (i != first && r->matrix[first * r->ncpus + i] == c)
				curve->cpus[curve->ncpus++] = r->cpus[i];
	return 0;
}

int memory_measure_curves(struct memory *p)
{
	struct sonde_memory_report *r = p->report;
	int err = 0;

	p->what = "more and more CPUs";
	for (size_t c = 0; c < r->nclasses && !err; c++) {
		if (!r->classes[c].has_overhead)
			continue;
		err = choose_cpus(p, c, &r->classes[c].curve);
		if (!err)
			err = measure_curve(p, &r->classes[c].curve);
		p->done += 0.1 / (double)r->nclasses;
	}
	r->all.cpus = calloc(r->ncpus, sizeof(*r->all.cpus));
	if (err || !r->all.cpus)
		return err ? err : -ENOMEM;
	memcpy(r->all.cpus, r->cpus, r->ncpus * sizeof(*r->cpus));
	r->all.ncpus = r->ncpus;
	err = measure_curve(p, &r->all);
	p->done += 0.1;
	return err;
}

/* ---- latency under load -------------------------------------------------------- */

/**
 * struct load_rounds - a point of the curve
 * @pause_ns: of the others
 * @ns: latencies
 * @bytes_s: what the others read meanwhile
 */
struct load_rounds {
	unsigned int pause_ns;
	struct memory_rounds ns, bytes_s;
};

/* The first CPU chases while the @others read. */
static int measure_load(struct memory *p, size_t others, size_t bytes, double *rate,
			struct load_rounds *rounds)
{
	const struct sonde_memory_report *r = p->report;
	double sum = 0;
	size_t kept;
	int err;

	for (size_t i = 0; i <= others; i++) {
		memory_set_lane(p, i, r->cpus[i], i ? SONDE_STREAM_READ : STREAM_CHASE, bytes);
		p->lanes[i].pages = i ? SONDE_PAGES_BASE : r->load_pages;
		p->lanes[i].pause_ns = i ? rounds->pause_ns : 0;
	}
	err = memory_run(p, others + 1, rate, &kept);
	for (size_t i = 1; i <= others; i++)
		sum += rate[i];
	/* Both or neither: they belong together. */
	if (!err && isfinite(sum) && isfinite(rate[0])) {
		memory_add(&rounds->ns, 1e9 / rate[0], MEMORY_WINDOWS, kept);
		memory_add(&rounds->bytes_s, sum, MEMORY_WINDOWS, kept);
	}
	return err;
}

/* A point of the curve, if it was measured. */
static void keep_load(struct memory *p, size_t others, struct load_rounds *rounds)
{
	struct sonde_memory_report *r = p->report;
	struct sonde_memory_rate latency = memory_rate(&rounds->ns);

	if (rounds->ns.n)
		r->loads[r->nloads++] = (struct sonde_memory_load){
			.bytes_s = others ? memory_rate(&rounds->bytes_s).bytes_s : 0,
			.latency_ns = latency.bytes_s,
			.ci = latency.ci,
		};
}

/* Where it can be had, memory of huge pages: then translation is not in it. */
static int choose_pages(struct memory *p, size_t bytes, double *rate)
{
	struct load_rounds once = { .pause_ns = 0 };
	int err;

	p->report->load_pages = SONDE_PAGES_HUGE;
	err = measure_load(p, 0, bytes, rate, &once);
	if (err != -EOPNOTSUPP)
		return err;
	p->report->load_pages = SONDE_PAGES_BASE;
	return 0;
}

static int compare_loads(const void *a, const void *b)
{
	const struct sonde_memory_load *x = a, *y = b;

	return (x->bytes_s > y->bytes_s) - (x->bytes_s < y->bytes_s);
}

/* By turns: what comes and goes on the machine is in all points alike. */
static int measure_points(struct memory *p, size_t others, double *rate)
{
	size_t bytes = memory_bytes(p, p->report->ncpus), npoints = others ? NPAUSES + 1 : 1;
	struct load_rounds rounds[NPAUSES + 1] = { { .pause_ns = 0 } };
	int err = choose_pages(p, bytes, rate);

	for (size_t k = 1; k < npoints; k++)
		rounds[k].pause_ns = pauses[k - 1];
	for (int i = 0; i < CURVE_ROUNDS && !err; i++) {
		for (size_t k = 0; k < npoints && !err; k++)
			err = measure_load(p, k ? others : 0, bytes, rate, &rounds[k]);
		p->done += 0.1 / CURVE_ROUNDS;
	}
	for (size_t k = 0; k < npoints && !err; k++)
		keep_load(p, k ? others : 0, &rounds[k]);
	return err;
}

int memory_measure_loads(struct memory *p)
{
	struct sonde_memory_report *r = p->report;
	double *rate = calloc(r->ncpus, sizeof(*rate));
	int err = -ENOMEM;

	p->what = "latency under load";
	r->loads = calloc(NPAUSES + 1, sizeof(*r->loads));
	if (rate && r->loads)
		err = measure_points(p, r->ncpus - 1, rate);
	free(rate);
	if (!err)
		qsort(r->loads, r->nloads, sizeof(*r->loads), compare_loads);
	return err;
}
