// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which CPUs share which cache: the plan and the report.
 *
 * From the last level inwards, since CPUs without a common last level have no
 * nearer one in common either: that leaves few pairs to compare.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hwloc.h>
#include <sonde/stats.h>

#include "../allowed_cpus.h"
#include "../recorder.h"
#include "handover.h"
#include "notes.h"
#include "share.h"
#include "shuffle.h"

#define DEFAULT_BYTES	(192UL << 20)
#define DEFAULT_CACHES_S 3.0
/* Most of the memory is the pool; the rest are walks through it. */
#define POOL_SHARE	0.9
/* Less is not worth a look. */
#define CHUNKS_LEAST	16
/* As the sampler of the cache probe does: see sampler.h. */
#define SPREAD		4
#define GAP_FACTOR	1.3
#define GAP_NS		1000.0
/* Memory has to be this much slower than the last level to be told from it. */
#define CONTRAST	1.5
/* A gap of so much between a level and memory may hide another one. */
#define HIDING		8.0
/* And a level that nobody has seen much quicker than memory. */
#define FURTHER		2.0
/* What is nearly as slow as memory is memory. */
#define SAME		0.9
/* Samples in which it is looked for. */
#define FURTHER_SAMPLES	8

int share_tick(struct share *s)
{
	const struct sonde_share_options *o = s->options;
	char what[64];

	if (!o->progress)
		return 0;
	snprintf(what, sizeof(what), "who shares level %u", s->at ? s->at->level : 0);
	return o->progress(o->progress_ctx, s->done < 1 ? s->done : 1, what) ? -ECANCELED : 0;
}

size_t share_index(const struct share *s, unsigned int cpu)
{
	const struct sonde_share_options *o = s->options;
	size_t low = 0, high = o->ncpus;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (o->cpus[middle] <= cpu)
			low = middle;
		else
			high = middle;
	}
	return low;
}

int share_note(struct share *s, const char *fmt, ...)
{
	struct sonde_share_report *r = s->report;
	va_list args;
	int err;

	va_start(args, fmt);
	err = notes_add(&r->notes, &r->nnotes, fmt, args);
	va_end(args);
	return err;
}

void share_draw(struct share *s, size_t n, int is_run)
{
	size_t span = n * SPREAD < s->nchunks ? n * SPREAD : s->nchunks, first, j;
	uint32_t t;

	if (is_run)
		span = n;
	first = sonde_rng_below(&s->rng, s->nchunks - span + 1);
	for (size_t i = 0; i < span; i++)
		s->order[i] = (uint32_t)(first + i);
	for (size_t i = 0; !is_run && i < n; i++) {
		j = i + sonde_rng_below(&s->rng, span - i);
		t = s->order[i];
		s->order[i] = s->order[j];
		s->order[j] = t;
	}
	memcpy(s->chunks, s->order, n * sizeof(*s->chunks));
}

double share_cycles(const struct share *s, const struct meter_window *w, size_t n,
		    unsigned int steps, size_t *discarded)
{
	double x[SHARE_WINDOWS], chain, typical, gap = GAP_NS / s->meter->tick_ns;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		x[i] = (double)w[i].chain;
	sonde_stats_sort(x, n);
	chain = sonde_stats_median(x, n);
	for (size_t i = 0; i < n; i++)
		x[i] = (double)w[i].ticks;
	sonde_stats_sort(x, n);
	typical = sonde_stats_median(x, n);
	for (size_t i = 0; i < n; i++)
		if (x[i] <= typical * GAP_FACTOR || x[i] <= typical + gap)
			x[kept++] = x[i];
	*discarded += n - kept;
	sonde_stats_sort(x, kept);
	return sonde_stats_quantile(x, kept, 0.25) / steps * s->meter->chain_cycles / chain;
}

/* What a load costs after a sweep that the last known level does not hold. */
static int measure_further(struct share *s, const struct share_plan *plan, double *cycles)
{
	const unsigned int *cpus = s->options->cpus;
	double again[FURTHER_SAMPLES];
	struct handover h;
	int err = 0;

	for (size_t i = 0; i < FURTHER_SAMPLES && !err; i++) {
		err = share_tick(s);
		if (!err)
			err = handover_take(s, plan, cpus[i % 2], cpus[!(i % 2)], &h);
		again[i] = h.again;
	}
	if (err)
		return err;
	sonde_stats_sort(again, FURTHER_SAMPLES);
	*cycles = sonde_stats_quantile(again, FURTHER_SAMPLES, 0.25);
	return 0;
}

/* Of a level of unknown size, what is behind may be that level itself: some of a walk's
 * lines in it, the others in memory, cost as much as a level between. */
static int is_size_known(const struct share *s)
{
	return s->options->caches->levels[s->nplans - 1].size > 0;
}

/*
 * Where strangers crowd the last level, a curve over working sets does not show
 * it; a walk that is over in half a millisecond finds it.
 */
static int look_further(struct share *s, double memory)
{
	struct share_plan *last = &s->plan[s->nplans - 1], plan;
	double cycles;
	int err;

	share_try_level(s, &plan);
	if (!plan.set || !is_size_known(s) || memory < HIDING * last->again)
		return 0;
	err = measure_further(s, &plan, &cycles);
	if (err || cycles < CONTRAST * last->again || cycles > SAME * memory)
		return err;
	if (memory < FURTHER * cycles)
		plan.set = 0;
	plan.again = cycles;
	plan.beyond = memory;
	last->is_last = 0;
	last->beyond = cycles;
	s->plan[s->nplans++] = plan;
	return share_note(s, plan.set ? "level %u: what it costs was not seen when the caches were "
				"measured, only while CPUs were compared; its size is not known"
				      : "level %u: something is quicker than memory, but too crowded "
				"here to tell who shares it", plan.level);
}

/* Memory as seen now; what the cache report says, if the pool is too small. */
static int measure_memory(struct share *s)
{
	struct share_plan *last = &s->plan[s->nplans - 1];
	double cycles;
	int err;

	s->at = last;
	err = share_tick(s);
	if (!err)
		err = handover_cold(s, s->options->cpus[0], &cycles);
	if (err)
		return err;
	if (cycles > CONTRAST * last->again)
		last->beyond = cycles;
	if (last->beyond > CONTRAST * last->again)
		return look_further(s, last->beyond);
	last->set = 0;
	return share_note(s, "level %u: %zu MiB are too few to see memory behind it, so a hit in "
			  "it cannot be told", last->level, s->nchunks * METER_CHUNK >> 20);
}

/* A host that puts two CPUs of its guest on threads of one core may part them again. */
static int note_threads(struct share *s)
{
	const struct sonde_share_level *nearest = &s->report->levels[0];

	for (size_t i = 0; i < nearest->ngroups; i++)
		if (nearest->groups[i].verdict == SONDE_SHARE_YES)
			return share_note(s, "level %u: CPUs %s are threads of one core where the "
					  "host of this guest has put them just now; it may put "
					  "them apart", nearest->level, nearest->groups[i].cpus);
	return 0;
}

static int run(struct share *s)
{
	struct sonde_share_report *r = s->report;
	const struct sonde_share_level *outer = NULL;
	int err = s->nplans ? measure_memory(s) : 0;

	r->levels = calloc(s->nplans + 1, sizeof(*r->levels));
	if (!r->levels)
		return -ENOMEM;
	r->nlevels = s->nplans;
	for (size_t i = s->nplans; i-- > 0 && !err;) {
		s->at = &s->plan[i];
		s->apart = INFINITY;
		memset(s->alone, 0, s->options->ncpus * sizeof(*s->alone));
		err = share_group(s, outer, &r->levels[i]);
		if (!err && s->meter->is_guest)
			err = share_settle(s, outer, &r->levels[i]);
		outer = &r->levels[i];
	}
	return err || !s->nplans || !s->meter->is_guest ? err : note_threads(s);
}

static int copy_cpus(struct share *s)
{
	const struct sonde_share_options *o = s->options;

	s->report->cpus = calloc(o->ncpus, sizeof(*s->report->cpus));
	if (!s->report->cpus)
		return -ENOMEM;
	memcpy(s->report->cpus, o->cpus, o->ncpus * sizeof(*o->cpus));
	s->report->ncpus = o->ncpus;
	return 0;
}

static int get_room(struct share *s)
{
	size_t chunks = s->nchunks;

	s->order = calloc(chunks, sizeof(*s->order));
	s->chunks = calloc(chunks, sizeof(*s->chunks));
	s->lines = calloc(chunks * METER_CHUNK_LINES, sizeof(*s->lines));
	s->windows = calloc(SHARE_WINDOWS, sizeof(*s->windows));
	s->alone = calloc(s->options->ncpus, sizeof(*s->alone));
	if (!s->alone || !s->order || !s->chunks || !s->lines || !s->windows)
		return -ENOMEM;
	for (size_t i = 0; i < chunks; i++)
		s->chunks[i] = (uint32_t)i;
	shuffle(&s->rng, s->chunks, chunks);
	return s->meter->ops->pages(s->meter, chunks);
}

/* All the memory that may be had, so that something in it is cold. */
static int prepare(struct share *s)
{
	size_t bytes = s->options->max_bytes ? s->options->max_bytes : DEFAULT_BYTES;
	int err = copy_cpus(s);

	if (err)
		return err;
	if (bytes > s->meter->max_bytes)
		bytes = s->meter->max_bytes;
	s->nchunks = (size_t)(POOL_SHARE * (double)bytes / METER_CHUNK);
	if (s->nchunks < CHUNKS_LEAST)
		return -ENOMEM;
	err = share_make_plans(s);
	return err ? err : get_room(s);
}

/* Ascending, each once. */
int share_check_options(const struct sonde_share_options *o)
{
	for (size_t i = 1; i < o->ncpus; i++)
		if (o->cpus[i] <= o->cpus[i - 1])
			return -EINVAL;
	return o->ncpus < 2 ? -ENODATA : 0;
}

static void close_share(struct share *s)
{
	sonde_share_report_free(s->report);
	free(s->alone);
	free(s->windows);
	free(s->lines);
	free(s->chunks);
	free(s->order);
	free(s);
}

int probe_share_with(struct meter *meter, const struct sonde_share_options *options,
		     struct sonde_share_report **report)
{
	struct share *s;
	int err = share_check_options(options);

	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->meter = meter;
	s->options = options;
	s->begin = meter->ops->now(meter);
	sonde_rng_seed(&s->rng, options->seed);
	s->report = calloc(1, sizeof(*s->report));
	err = s->report ? prepare(s) : -ENOMEM;
	if (!err)
		err = run(s);
	if (!err) {
		s->report->elapsed_s = meter->ops->now(meter) - s->begin;
		*report = s->report;
		s->report = NULL;
	}
	close_share(s);
	return err;
}

/* @before_s went into the caches. */
static int share_here(const struct sonde_clock *clk, const struct sonde_share_options *options,
		      double before_s, struct sonde_share_report **report)
{
	struct meter *meter;
	int err = meter_open(&meter, options->meter, clk, options->cpus[0]);

	if (!err)
		err = recorder_share(options->recorder, options, before_s, &meter);
	if (err)
		return err;
	err = probe_share_with(meter, options, report);
	meter->ops->close(meter);
	if (!err)
		(*report)->elapsed_s += before_s;
	return err;
}

/* Sizes and latencies first, if nobody has them. */
static int share_with_caches(const struct sonde_clock *clk,
			     const struct sonde_share_options *options,
			     struct sonde_share_report **report)
{
	struct sonde_share_options full = *options;
	struct sonde_cache_report *caches = NULL;
	struct sonde_cache_options how = {
		.cpu = options->cpus[0],
		.meter = options->meter,
		.budget_s = options->caches_s > 0 ? options->caches_s : DEFAULT_CACHES_S,
		.max_bytes = options->max_bytes ? options->max_bytes : DEFAULT_BYTES,
		.seed = options->seed,
		.progress = options->progress,
		.progress_ctx = options->progress_ctx,
		.recorder = options->recorder,
	};
	int err;

	if (options->caches)
		return share_here(clk, options, 0, report);
	err = sonde_probe_cache(clk, &how, &caches);
	if (err)
		return err;
	full.caches = caches;
	err = share_here(clk, &full, caches->elapsed_s, report);
	sonde_cache_report_free(caches);
	return err;
}

int sonde_probe_share(const struct sonde_clock *clk, const struct sonde_share_options *options,
		      struct sonde_share_report **report)
{
	struct sonde_share_options full = *options;
	unsigned int cpus[CPU_SETSIZE];
	int n, err;

	if (!options->cpus) {
		n = allowed_cpus(cpus);
		if (n < 0)
			return n;
		full.cpus = cpus;
		full.ncpus = (size_t)n;
	}
	err = share_check_options(&full);
	return err ? err : share_with_caches(clk, &full, report);
}

static const struct sonde_share_group *find_group(const struct sonde_share_level *level,
						  unsigned int cpu)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	const struct sonde_share_group *found = NULL;

	for (size_t i = 0; set && i < level->ngroups && !found; i++)
		if (!hwloc_bitmap_list_sscanf(set, level->groups[i].cpus) &&
		    hwloc_bitmap_isset(set, cpu))
			found = &level->groups[i];
	hwloc_bitmap_free(set);
	return found;
}

int sonde_share_nearest(const struct sonde_share_report *report, unsigned int a, unsigned int b)
{
	int is_known = 1;

	for (size_t i = 0; i < report->nlevels; i++) {
		const struct sonde_share_group *x = find_group(&report->levels[i], a);
		const struct sonde_share_group *y = find_group(&report->levels[i], b);

		if (!x || !y)
			return -ENODATA;
		if (x == y && x->verdict == SONDE_SHARE_YES)
			return is_known ? (int)report->levels[i].level : -ENODATA;
		if (x->verdict == SONDE_SHARE_UNKNOWN && y->verdict == SONDE_SHARE_UNKNOWN)
			is_known = 0;
	}
	return is_known ? 0 : -ENODATA;
}

void sonde_share_report_free(struct sonde_share_report *report)
{
	if (!report)
		return;
	for (size_t i = 0; i < report->nlevels; i++)
		sonde_share_level_clear(&report->levels[i]);
	for (size_t i = 0; i < report->nnotes; i++)
		free(report->notes[i]);
	free(report->notes);
	free(report->levels);
	free(report->pairs);
	free(report->cpus);
	free(report);
}
