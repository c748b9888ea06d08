// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * samples_probe - probes asked again: their options and their meter from a
 * capture
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "meter_replay.h"
#include "probe/cache.h"
#include "probe/memory.h"
#include "probe/servet.h"
#include "probe/share.h"
#include "samples.h"

/* More memory than any machine has, and all that a meter has numbers for. */
#define MOST_MEMORY	((uint64_t)1 << 50)
#define MOST_WALKED	(((uint64_t)1 << 32) * METER_PLACE)
#define MOST_PAGE	((size_t)1 << 30)
#define MOST_CPUS	65536
#define MOST_LEVELS	64
/* Every two of them are in a table. */
#define MOST_STREAMS	4096
#define MOST_DEPTH	64

static int read_meter(struct samples_reader *r, struct meter *m)
{
	int err = samples_fields(r, "meter", capture_meter_fields, m);

	if (err)
		return err;
	if (m->page_size < METER_CHUNK || m->page_size > MOST_PAGE ||
	    m->page_size & (m->page_size - 1) || m->max_bytes > MOST_MEMORY)
		return samples_refuse(r, "no machine has such memory");
	return 0;
}

static int open_meter(struct samples_reader *r, size_t max_bytes, struct meter **m)
{
	struct replay_source source = {
		.name = r->samples->name,
		.version = r->samples->version,
		.end = r->end,
	};
	struct meter as = { .ops = NULL };
	int err;

	if (max_bytes > MOST_WALKED)
		return samples_refuse(r, "nobody can walk through so much memory");
	err = read_meter(r, &as);
	if (err)
		return err;
	source.text = r->at;
	source.line = r->line;
	return meter_replay_open(m, &as, &source);
}

/* Nobody needs to wait for the end of what is wrong already. */
static int stop_if_wrong(void *ctx, double done, const char *what)
{
	(void)done;
	(void)what;
	return meter_replay_error(ctx) != 0;
}

/* What @err of a probe is worth when its meter is closed. */
static int close_meter(struct meter *m, int err)
{
	int replay = err ? meter_replay_error(m) : meter_replay_end(m);

	m->ops->close(m);
	return replay ? replay : err;
}

static int read_numbers(struct samples_reader *r, const char *name, unsigned int **cpus, size_t *n)
{
	const char *at;
	uint64_t cpu;

	*cpus = calloc(MOST_CPUS, sizeof(**cpus));
	if (!*cpus)
		return -ENOMEM;
	for (*n = 0; (at = samples_after(r, name)); samples_next(r)) {
		if (*n == MOST_CPUS || capture_read_whole(&at, MOST_CPUS - 1, &cpu) || *at != '\n')
			return samples_refuse(r, "this is no CPU or node");
		(*cpus)[(*n)++] = (unsigned int)cpu;
	}
	return 0;
}

static int replay_cache(const struct sonde_samples *s, const struct samples_run *run,
			struct sonde_cache_report **report)
{
	struct sonde_cache_options how = { .progress = stop_if_wrong };
	struct sonde_cache_report *made = NULL;
	struct samples_reader r = samples_read_run(s, run);
	unsigned int *alike = NULL;
	struct meter *m;
	int err = samples_fields(&r, "option", capture_cache_fields, &how);

	if (!err)
		err = read_numbers(&r, "cpu", &alike, &how.nalike);
	how.alike = alike;
	if (!err)
		err = open_meter(&r, how.max_bytes, &m);
	if (!err) {
		how.progress_ctx = m;
		err = (strcmp(run->probe, "servet") ? probe_cache_with :
						      probe_servet_with)(m, &how, &made);
		err = close_meter(m, err);
	}
	free(alike);
	if (err)
		sonde_cache_report_free(made);
	else
		*report = made;
	return err;
}

/* The last one with either name; NULL if there is none. */
static const struct samples_run *find_run(const struct sonde_samples *s, const char *name,
					  const char *other)
{
	for (size_t i = s->nruns; i-- > 0;)
		if (!strcmp(s->run[i].probe, name) || !strcmp(s->run[i].probe, other))
			return &s->run[i];
	return NULL;
}

int sonde_samples_cache(struct sonde_samples *samples, struct sonde_cache_report **report)
{
	const struct samples_run *run = find_run(samples, "cache", "servet");

	return run ? replay_cache(samples, run, report) : -ENODATA;
}

/* ---- sharing -------------------------------------------------------------------- */

static int read_caches(struct samples_reader *r, struct sonde_cache_report *caches)
{
	int err;

	while (samples_after(r, "level")) {
		if (caches->nlevels == MOST_LEVELS)
			return samples_refuse(r, "there are too many levels");
		err = samples_fields(r, "level", capture_level_fields,
				  &caches->levels[caches->nlevels++]);
		if (err)
			return err;
	}
	return samples_real(r, "memory", &caches->memory.cycles);
}

static int replay_share(struct samples_reader *r, struct sonde_share_options *how,
			struct sonde_share_report **report)
{
	struct sonde_cache_level levels[MOST_LEVELS] = { { .level = 0 } };
	struct sonde_cache_report caches = { .levels = levels };
	double before_s = 0;
	struct meter *m;
	int err = read_caches(r, &caches);

	if (!err)
		err = samples_real(r, "before", &before_s);
	if (!err)
		err = open_meter(r, how->max_bytes, &m);
	if (err)
		return err;
	how->caches = &caches;
	how->progress = stop_if_wrong;
	how->progress_ctx = m;
	err = probe_share_with(m, how, report);
	if (!err)
		(*report)->elapsed_s += before_s;
	return close_meter(m, err);
}

int sonde_samples_share(struct sonde_samples *samples, struct sonde_share_report **report)
{
	const struct samples_run *run = find_run(samples, "share", "share");
	struct sonde_share_options how = { .ncpus = 0 };
	struct sonde_share_report *made = NULL;
	struct samples_reader r;
	unsigned int *cpus = NULL;
	int err;

	if (!run)
		return -ENODATA;
	r = samples_read_run(samples, run);
	err = samples_fields(&r, "option", capture_share_fields, &how);
	if (!err)
		err = read_numbers(&r, "cpu", &cpus, &how.ncpus);
	how.cpus = cpus;
	if (!err)
		err = replay_share(&r, &how, &made);
	free(cpus);
	if (err)
		sonde_share_report_free(made);
	else
		*report = made;
	return err;
}

/* ---- memory --------------------------------------------------------------------- */

static int read_group(struct samples_reader *r, unsigned int *group, size_t depth)
{
	const char *at = samples_after(r, "group");
	uint64_t x;

	for (size_t i = 0; at && i < depth; i++) {
		if ((i && capture_read_char(&at, '\t')) || capture_read_whole(&at, UINT32_MAX, &x))
			return samples_refuse(r, "this is no group");
		group[i] = (unsigned int)x;
	}
	if (!at || *at != '\n')
		return samples_refuse(r, "this is no group");
	samples_next(r);
	return 0;
}

/* What the options point to. */
struct memory_lists {
	unsigned int *cpus, *groups, *nodes;
};

static int read_groups(struct samples_reader *r, struct sonde_memory_options *how,
		       struct memory_lists *lists)
{
	int err = 0;

	if (how->ncpus > MOST_STREAMS || how->depth > MOST_DEPTH)
		return samples_refuse(r, "there are too many CPUs or groups");
	if (!how->depth)
		return 0;
	lists->groups = calloc(how->ncpus * how->depth + 1, sizeof(*lists->groups));
	if (!lists->groups)
		return -ENOMEM;
	for (size_t i = 0; i < how->ncpus && !err; i++)
		err = read_group(r, lists->groups + i * how->depth, how->depth);
	how->groups = lists->groups;
	return err;
}

static int read_memory_options(struct samples_reader *r, struct sonde_memory_options *how,
			       struct memory_lists *lists, unsigned int *vectors)
{
	double number = 0;
	int err = samples_fields(r, "option", capture_memory_fields, how);

	if (!err)
		err = read_numbers(r, "cpu", &lists->cpus, &how->ncpus);
	if (!err)
		err = read_groups(r, how, lists);
	if (!err)
		err = read_numbers(r, "node", &lists->nodes, &how->nnodes);
	if (!err)
		err = samples_real(r, "vectors", &number);
	if (!err && !(number < VECTORS))
		err = samples_refuse(r, "there are no such vectors");
	how->cpus = lists->cpus;
	how->nodes = lists->nodes;
	*vectors = (unsigned int)number;
	return err;
}

static int replay_memory(struct samples_reader *r, struct sonde_memory_options *how,
			 unsigned int vectors, struct sonde_memory_report **report)
{
	struct meter *m;
	int err = memory_check_options(how);

	if (err)
		return samples_refuse(r, "the CPUs do not ascend");
	err = open_meter(r, 0, &m);
	if (err)
		return err;
	m->vectors = vectors;
	how->progress = stop_if_wrong;
	how->progress_ctx = m;
	err = probe_memory_with(m, how, report);
	return close_meter(m, err);
}

int sonde_samples_memory(struct sonde_samples *samples, struct sonde_memory_report **report)
{
	const struct samples_run *run = find_run(samples, "memory", "memory");
	struct sonde_memory_options how = { .ncpus = 0 };
	struct memory_lists lists = { .cpus = NULL };
	struct sonde_memory_report *made = NULL;
	unsigned int vectors;
	struct samples_reader r;
	int err;

	if (!run)
		return -ENODATA;
	r = samples_read_run(samples, run);
	err = read_memory_options(&r, &how, &lists, &vectors);
	if (!err)
		err = replay_memory(&r, &how, vectors, &made);
	free(lists.cpus);
	free(lists.groups);
	free(lists.nodes);
	if (err)
		sonde_memory_report_free(made);
	else
		*report = made;
	return err;
}
