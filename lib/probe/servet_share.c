// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Figure 4 of Servet as a report: every pair at every level whose size is known,
 * and groups of those that are tied by pairs. The paper leaves the groups to its
 * reader; tied by a chain of pairs is what its figures show.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <hwloc.h>

#include "notes.h"
#include "servet.h"
#include "share.h"

/**
 * struct pairs - a level that is compared
 * @ratio: as servet_shared() says
 * @group: for each CPU, the index of the first of its group
 */
struct pairs {
	const struct sonde_share_options *options;
	struct sonde_share_report *report;
	double *ratio;
	size_t *group;
};

static void join(struct pairs *p, size_t a, size_t b)
{
	size_t from = p->group[b], to = p->group[a];

	if (from < to) {
		from = to;
		to = p->group[b];
	}
	for (size_t i = 0; i < p->options->ncpus; i++)
		if (p->group[i] == from)
			p->group[i] = to;
}

static int add_pairs(struct pairs *p, unsigned int level)
{
	const struct sonde_share_options *o = p->options;
	struct sonde_share_report *r = p->report;
	size_t n = o->ncpus, more = r->npairs + n * (n - 1) / 2;
	struct sonde_share_pair *pairs = realloc(r->pairs, more * sizeof(*pairs));

	if (!pairs)
		return -ENOMEM;
	r->pairs = pairs;
	for (size_t a = 0; a < n; a++) {
		for (size_t b = a + 1; b < n; b++) {
			double ratio = p->ratio[a * n + b];
			int is_shared = ratio > SERVET_SHARED;

			r->pairs[r->npairs++] = (struct sonde_share_pair){
				.level = level,
				.cpu = { o->cpus[a], o->cpus[b] },
				.verdict = is_shared ? SONDE_SHARE_YES : SONDE_SHARE_NO,
				.confidence = 1,
				.contention = ratio,
				.samples = 1,
			};
			if (is_shared)
				join(p, a, b);
		}
	}
	return 0;
}

static int fill_group(const struct pairs *p, size_t first, int is_known,
		      struct sonde_share_group *g)
{
	const struct sonde_share_options *o = p->options;
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	int err = 0;

	if (!set)
		return -ENOMEM;
	for (size_t i = first; i < o->ncpus; i++)
		if (p->group[i] == first) {
			hwloc_bitmap_set(set, o->cpus[i]);
			g->ncpus++;
		}
	if (hwloc_bitmap_list_asprintf(&g->cpus, set) < 0 ||
	    hwloc_bitmap_taskset_asprintf(&g->cpuset, set) < 0)
		err = -ENOMEM;
	hwloc_bitmap_free(set);
	if (!is_known)
		return err;
	g->verdict = g->ncpus > 1 ? SONDE_SHARE_YES : SONDE_SHARE_NO;
	g->confidence = 1;
	g->samples = (unsigned int)(o->ncpus - 1);
	return err;
}

static int add_groups(const struct pairs *p, int is_known, struct sonde_share_level *level)
{
	size_t n = p->options->ncpus;
	int err = 0;

	level->groups = calloc(n, sizeof(*level->groups));
	if (!level->groups)
		return -ENOMEM;
	for (size_t i = 0; i < n && !err; i++)
		if (p->group[i] == i)
			err = fill_group(p, i, is_known, &level->groups[level->ngroups++]);
	return err;
}

/* What cannot be compared is said, and every CPU may share with every other. */
static int note_left_out(struct sonde_share_report *r, const struct sonde_cache_level *cache,
			 int err)
{
	if (err == -EINVAL)
		return notes_say(&r->notes, &r->nnotes, "level %u: no size to compare CPUs with",
				 cache->level);
	if (err == -ENOMEM)
		return notes_say(&r->notes, &r->nnotes,
				 "level %u: four thirds of its %zu KiB are more memory than may be "
				 "used, so no CPUs were compared", cache->level, cache->size >> 10);
	return err;
}

static int compare_level(struct pairs *p, struct meter *m, const struct sonde_cache_level *cache)
{
	const struct sonde_share_options *o = p->options;
	struct sonde_share_level *level = &p->report->levels[p->report->nlevels++];
	int err, is_known;

	level->level = cache->level;
	for (size_t i = 0; i < o->ncpus; i++)
		p->group[i] = i;
	err = servet_shared(m, cache->size, o->cpus, o->ncpus, p->ratio, o->progress,
			    o->progress_ctx);
	is_known = !err;
	err = is_known ? add_pairs(p, cache->level) : note_left_out(p->report, cache, err);
	return err ? err : add_groups(p, is_known, level);
}

static int compare_levels(struct pairs *p, struct meter *m)
{
	const struct sonde_share_options *o = p->options;
	struct sonde_share_report *r = p->report;
	int err;

	r->cpus = calloc(o->ncpus, sizeof(*r->cpus));
	r->levels = calloc(o->caches->nlevels + 1, sizeof(*r->levels));
	if (!r->cpus || !r->levels)
		return -ENOMEM;
	memcpy(r->cpus, o->cpus, o->ncpus * sizeof(*r->cpus));
	r->ncpus = o->ncpus;
	err = notes_say(&r->notes, &r->nnotes,
			"the method is Servet's: it compares every two and knows no doubt, so the "
			"confidence 1 says nothing");
	for (size_t i = 0; i < o->caches->nlevels && !err; i++)
		err = compare_level(p, m, &o->caches->levels[i]);
	return err;
}

int probe_servet_share_with(struct meter *m, const struct sonde_share_options *options,
			    struct sonde_share_report **report)
{
	size_t n = options->ncpus;
	double begin = m->ops->now(m);
	struct pairs p = {
		.options = options,
		.report = calloc(1, sizeof(*p.report)),
		.ratio = calloc(n * n, sizeof(*p.ratio)),
		.group = calloc(n, sizeof(*p.group)),
	};
	int err = -ENOMEM;

	if (p.report && p.ratio && p.group)
		err = compare_levels(&p, m);
	free(p.ratio);
	free(p.group);
	if (err) {
		sonde_share_report_free(p.report);
		return err;
	}
	p.report->elapsed_s = m->ops->now(m) - begin;
	*report = p.report;
	return 0;
}

int sonde_servet_share(const struct sonde_clock *clk, const struct sonde_share_options *options,
		       struct sonde_share_report **report)
{
	struct meter *m;
	int err = share_check_options(options);

	if (!err && (!options->cpus || !options->caches || options->recorder))
		err = -EINVAL;
	if (!err)
		err = meter_open(&m, options->meter, clk, options->cpus[0]);
	if (err)
		return err;
	err = probe_servet_share_with(m, options, report);
	m->ops->close(m);
	return err;
}
