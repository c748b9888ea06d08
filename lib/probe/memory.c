// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What CPUs lose when several use the memory at once: the plan and the report.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../allowed_cpus.h"
#include "../recorder.h"
#include "memory.h"
#include "notes.h"

/* A lane with less says nothing of memory. */
#define BYTES_LEAST	((size_t)4 << 20)
/* Less than so many times the largest cache, and part of it is found there. */
#define CACHES_LEAST	2

int memory_note(struct memory *p, const char *fmt, ...)
{
	struct sonde_memory_report *r = p->report;
	va_list args;
	int err;

	va_start(args, fmt);
	err = notes_add(&r->notes, &r->nnotes, fmt, args);
	va_end(args);
	return err;
}

/* Ascending, each once. */
int memory_check_options(const struct sonde_memory_options *o)
{
	for (size_t i = 1; i < o->ncpus; i++)
		if (o->cpus[i] <= o->cpus[i - 1])
			return -EINVAL;
	return o->ncpus ? 0 : -EINVAL;
}

static int get_room(struct memory *p)
{
	struct sonde_memory_report *r = p->report;
	size_t n = p->options->ncpus;

	r->cpus = calloc(n, sizeof(*r->cpus));
	r->alone = calloc(n, sizeof(*r->alone));
	r->matrix = calloc(n * n, sizeof(*r->matrix));
	p->lanes = calloc(n, sizeof(*p->lanes));
	p->windows = calloc(n * MEMORY_WINDOWS, sizeof(*p->windows));
	p->kept = calloc(MEMORY_WINDOWS, sizeof(*p->kept));
	if (!r->cpus || !r->alone || !r->matrix || !p->lanes || !p->windows || !p->kept)
		return -ENOMEM;
	memcpy(r->cpus, p->options->cpus, n * sizeof(*r->cpus));
	r->ncpus = n;
	for (size_t i = 0; i < n * n; i++)
		r->matrix[i] = -1;
	return 0;
}

static int prepare(struct memory *p)
{
	size_t cache = p->options->cache_bytes;
	int err = get_room(p);

	if (err)
		return err;
	p->bytes = memory_bytes(p, p->options->ncpus < 2 ? 1 : 2);
	if (memory_bytes(p, p->options->ncpus) < BYTES_LEAST)
		return -ENOMEM;
	p->report->buffer_bytes = p->bytes;
	p->report->vectors = stream_vectors_name(p->meter->vectors);
	if (p->bytes / CACHES_LEAST >= cache)
		return 0;
	return memory_note(p, "each CPU's memory, %zu MiB, is less than twice the largest cache, "
			   "%zu MiB: part of what is measured may be the cache; allow more memory",
			   p->bytes >> 20, cache >> 20);
}

/* In this order little memory has to be made anew. */
static int run(struct memory *p)
{
	int err = memory_measure_references(p);

	if (!err)
		err = memory_measure_alone(p);
	if (!err && p->report->ncpus > 1)
		err = memory_measure_pairs(p);
	if (!err && p->report->ncpus > 1)
		err = memory_measure_curves(p);
	if (!err)
		err = memory_measure_loads(p);
	return err ? err : memory_measure_others(p);
}

/* Nothing at all is a failure; less than all is in the notes. */
static int has_anything(const struct sonde_memory_report *r)
{
	for (size_t i = 0; i < r->nreferences; i++)
		if (r->references[i].rate.rounds)
			return 1;
	return 0;
}

static void close_memory(struct memory *p)
{
	sonde_memory_report_free(p->report);
	free(p->spreads);
	free(p->lanes);
	free(p->windows);
	free(p->kept);
}

int probe_memory_with(struct meter *meter, const struct sonde_memory_options *options,
		      struct sonde_memory_report **report)
{
	struct memory p = { .meter = meter, .options = options, .what = "one CPU" };
	int err;

	if (!meter->ops->stream)
		return -EOPNOTSUPP;
	p.begin = meter->ops->now(meter);
	sonde_rng_seed(&p.rng, options->seed);
	p.report = calloc(1, sizeof(*p.report));
	err = p.report ? prepare(&p) : -ENOMEM;
	if (!err)
		err = run(&p);
	if (!err && !has_anything(p.report))
		err = -EAGAIN;
	if (!err) {
		p.report->elapsed_s = meter->ops->now(meter) - p.begin;
		*report = p.report;
		p.report = NULL;
	}
	close_memory(&p);
	return err;
}

int sonde_probe_memory(const struct sonde_clock *clk, const struct sonde_memory_options *options,
		       struct sonde_memory_report **report)
{
	struct sonde_memory_options full = *options;
	unsigned int cpus[CPU_SETSIZE];
	struct meter *meter;
	int n, err;

	if (!options->cpus) {
		n = allowed_cpus(cpus);
		if (n < 0)
			return n;
		full.cpus = cpus;
		full.ncpus = (size_t)n;
	}
	err = memory_check_options(&full);
	if (!err)
		err = meter_open(&meter, SONDE_METER_USER, clk, full.cpus[0]);
	if (!err)
		err = recorder_memory(options->recorder, &full, &meter);
	if (err)
		return err;
	err = probe_memory_with(meter, &full, report);
	meter->ops->close(meter);
	return err;
}

int sonde_memory_class(const struct sonde_memory_report *report, unsigned int a, unsigned int b)
{
	size_t x = report->ncpus, y = report->ncpus;
	int class;

	for (size_t i = 0; i < report->ncpus; i++) {
		if (report->cpus[i] == a)
			x = i;
		if (report->cpus[i] == b)
			y = i;
	}
	if (x == report->ncpus || y == report->ncpus)
		return -ENODATA;
	class = report->matrix[x * report->ncpus + y];
	return class < 0 ? -ENODATA : class;
}

static void free_curve(struct sonde_memory_curve *curve)
{
	free(curve->cpus);
	free(curve->cores);
	free(curve->rate);
}

void sonde_memory_report_free(struct sonde_memory_report *report)
{
	if (!report)
		return;
	for (size_t i = 0; i < report->nclasses; i++)
		free_curve(&report->classes[i].curve);
	for (size_t i = 0; i < report->nnotes; i++)
		free(report->notes[i]);
	free_curve(&report->all);
	free(report->notes);
	free(report->cpus);
	free(report->references);
	free(report->alone);
	free(report->pairs);
	free(report->classes);
	free(report->matrix);
	free(report->loads);
	free(report);
}
