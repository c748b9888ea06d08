// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * share_group - the groups of one level, from comparisons to cpusets
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <hwloc.h>

#include "contend.h"
#include "groups.h"

/**
 * struct work - CPUs to be grouped
 * @cpus: @n of them, ascending
 * @group: index of the first of each one's group
 * @unsure: whether something contradicts that
 * @from: how many of the level's CPUs were placed before
 */
struct work {
	struct share *s;
	unsigned int *cpus;
	size_t n, from;
	size_t *group;
	unsigned char *unsure;
};

static int same(void *ctx, unsigned int a, unsigned int b)
{
	struct work *w = ctx;
	const struct sonde_share_pair *pair;
	int err = share_compare(w->s, a, b, &pair);

	if (err)
		return err;
	if (pair->verdict == SONDE_SHARE_UNKNOWN)
		return -ENODATA;
	return pair->verdict == SONDE_SHARE_YES;
}

/* What a further pool says, beside what others said. */
static void merge(unsigned char *alone, int disturbed)
{
	if (disturbed == 1)
		*alone = 0;
	else if (disturbed < 0 && *alone)
		*alone = GROUPS_NO_WORD;
}

/* Whom nothing disturbed may have disturbed another: see contend_judge(). */
static int pool_block(struct work *w, const unsigned int *cpus, size_t n, size_t nwanted,
		      unsigned char *alone)
{
	struct contend *seen = calloc(n, sizeof(*seen));
	int err = -ENOMEM, all, one;

	if (seen)
		err = contend_take(w->s, w->s->at, cpus, n, seen);
	if (!err) {
		all = contend_judge(w->s->at, seen, n);
		for (size_t i = 0; i < nwanted; i++) {
			one = contend_judge(w->s->at, &seen[i], 1);
			merge(&alone[i], all == 1 && one != 1 && nwanted > 1 ? -ENODATA : all);
		}
		w->s->report->pooled++;
	}
	free(seen);
	return err;
}

/* Where not all fit in the pool at once: blocks, each beside each. */
static int pool_blocks(struct work *w, const unsigned int *cpus, size_t n, size_t nwanted,
		       size_t most, unsigned char *alone)
{
	unsigned int *block = calloc(most, sizeof(*block));
	size_t a, b, na, nb, i;
	int err = block ? 0 : -ENOMEM;

	for (a = 0; a < nwanted && !err; a += na) {
		na = nwanted - a < most / 2 ? nwanted - a : most / 2;
		for (b = 0; b < n && !err; b = i) {
			memcpy(block, cpus + a, na * sizeof(*block));
			nb = na;
			for (i = b; i < n && nb < most; i++)
				if (i < a || i >= a + na)
					block[nb++] = cpus[i];
			if (nb > na)
				err = pool_block(w, block, nb, na, alone + a);
		}
	}
	free(block);
	return err;
}

static int alone(void *ctx, const unsigned int *cpus, size_t n, size_t nwanted,
		 unsigned char *out)
{
	struct work *w = ctx;
	size_t most = contend_most(w->s, w->s->at);

	/* A last level that all fill at once would be larger than the pool. */
	if (most < 2 || w->s->at->is_last)
		return -EOPNOTSUPP;
	memset(out, 1, nwanted);
	if (n <= most)
		return pool_block(w, cpus, n, nwanted, out);
	return pool_blocks(w, cpus, n, nwanted, most, out);
}

static int placed(void *ctx, size_t n)
{
	struct work *w = ctx;
	struct share *s = w->s;
	double level = (double)(w->from + n) / (double)s->options->ncpus;

	s->done = ((double)(s->plan + s->nplans - 1 - s->at) + level) / (double)s->nplans;
	return share_tick(s);
}

/* A pair that was compared for another reason may contradict the groups too. */
static void check_pairs(struct work *w)
{
	const struct sonde_share_report *r = w->s->report;
	size_t index[2];

	for (size_t p = 0; p < r->npairs; p++) {
		const struct sonde_share_pair *pair = &r->pairs[p];
		int found = 0;

		for (size_t i = 0; i < w->n && pair->level == w->s->at->level; i++)
			for (int k = 0; k < 2; k++)
				if (w->cpus[i] == pair->cpu[k]) {
					index[k] = i;
					found++;
				}
		if (found < 2 || pair->verdict == SONDE_SHARE_UNKNOWN)
			continue;
		if ((pair->verdict == SONDE_SHARE_YES) ==
		    (w->group[index[0]] == w->group[index[1]]))
			continue;
		for (size_t i = 0; i < w->n; i++)
			if (w->group[i] == w->group[index[0]] ||
			    w->group[i] == w->group[index[1]])
				w->unsure[i] = 1;
	}
}

/* Alone in a farther cache, a CPU is alone in this one; seen is better than said. */
static int try_stranger(struct work *w)
{
	const struct sonde_share_options *o = w->s->options;
	unsigned int cpu = w->cpus[0], other = o->cpus[o->cpus[0] == cpu];
	int is_same = cpu < other ? same(w, cpu, other) : same(w, other, cpu);

	if (is_same < 0 && is_same != -ENODATA)
		return is_same;
	w->unsure[0] = is_same != 0;
	return 0;
}

static int find_groups(struct work *w)
{
	const struct groups_ops ops = { .same = same, .alone = alone, .placed = placed };
	int err;

	if (!w->s->at->set) {
		/* Nothing can be handed over: nothing is known. */
		for (size_t i = 0; i < w->n; i++) {
			w->group[i] = i;
			w->unsure[i] = w->n > 1;
		}
		return 0;
	}
	err = groups_find(&ops, w, &w->s->rng, w->cpus, w->n, w->group, w->unsure);
	if (!err && w->n == 1)
		err = try_stranger(w);
	if (!err)
		check_pairs(w);
	return err;
}

static int has(const struct sonde_share_group *g, unsigned int cpu)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	int is_in = set && !hwloc_bitmap_list_sscanf(set, g->cpus) &&
		    hwloc_bitmap_isset(set, cpu);

	hwloc_bitmap_free(set);
	return is_in;
}

/* What the comparisons of its CPUs add up to: of each other if there are several,
 * with others if there is one. */
static void weigh(const struct share *s, struct sonde_share_group *g)
{
	const struct sonde_share_report *r = s->report;
	double discarded = 0;
	unsigned int n = 0;

	g->confidence = 1;
	for (size_t p = 0; p < r->npairs; p++) {
		const struct sonde_share_pair *pair = &r->pairs[p];
		int inside;

		if (pair->level != s->at->level || pair->verdict == SONDE_SHARE_UNKNOWN)
			continue;
		inside = has(g, pair->cpu[0]) + has(g, pair->cpu[1]);
		if (inside != (g->ncpus > 1 ? 2 : 1))
			continue;
		if (pair->confidence < g->confidence)
			g->confidence = pair->confidence;
		g->samples += pair->samples;
		discarded += pair->discarded;
		n++;
	}
	g->discarded = n ? discarded / n : 0;
	if (!n)
		g->confidence = 0;
}

static int fill_group(struct work *w, size_t first, struct sonde_share_group *g)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	int err = -ENOMEM;

	if (!set)
		return -ENOMEM;
	for (size_t i = 0; i < w->n; i++) {
		if (w->group[i] == first) {
			hwloc_bitmap_set(set, w->cpus[i]);
			g->ncpus++;
		}
	}
	if (hwloc_bitmap_list_asprintf(&g->cpus, set) >= 0 &&
	    hwloc_bitmap_taskset_asprintf(&g->cpuset, set) >= 0)
		err = 0;
	hwloc_bitmap_free(set);
	if (err)
		return err;
	if (w->unsure[first])
		return 0;
	weigh(w->s, g);
	g->verdict = g->ncpus > 1 ? SONDE_SHARE_YES : SONDE_SHARE_NO;
	return 0;
}

static int add_groups(struct work *w, struct sonde_share_level *level)
{
	int err = 0;

	for (size_t i = 0; i < w->n && !err; i++) {
		struct sonde_share_group *groups;

		if (w->group[i] != i)
			continue;
		groups = realloc(level->groups, (level->ngroups + 1) * sizeof(*groups));
		if (!groups)
			return -ENOMEM;
		level->groups = groups;
		groups[level->ngroups] = (struct sonde_share_group){ .ncpus = 0 };
		err = fill_group(w, i, &groups[level->ngroups++]);
	}
	return err;
}

static int group_within(struct work *w, struct sonde_share_level *level)
{
	int err = w->n ? find_groups(w) : 0;

	if (!err)
		err = add_groups(w, level);
	w->from += w->n;
	w->n = 0;
	return err;
}

static int by_first_cpu(const void *a, const void *b)
{
	const struct sonde_share_group *x = a, *y = b;
	long i = strtol(x->cpus, NULL, 10), j = strtol(y->cpus, NULL, 10);

	return (i > j) - (i < j);
}

static int group_level(struct work *w, const struct sonde_share_level *outer,
		       struct sonde_share_level *level)
{
	const struct sonde_share_options *o = w->s->options;
	int err = 0;

	/* All whose group is not known, as if they were one. */
	for (size_t i = 0; i < o->ncpus; i++) {
		int is_known = 0;

		for (size_t g = 0; outer && g < outer->ngroups; g++)
			if (outer->groups[g].verdict && has(&outer->groups[g], o->cpus[i]))
				is_known = 1;
		if (!is_known)
			w->cpus[w->n++] = o->cpus[i];
	}
	err = group_within(w, level);
	for (size_t g = 0; outer && g < outer->ngroups && !err; g++) {
		if (!outer->groups[g].verdict)
			continue;
		for (size_t i = 0; i < o->ncpus; i++)
			if (has(&outer->groups[g], o->cpus[i]))
				w->cpus[w->n++] = o->cpus[i];
		err = group_within(w, level);
	}
	if (level->ngroups)
		qsort(level->groups, level->ngroups, sizeof(*level->groups), by_first_cpu);
	return err;
}

static int compare_all(struct share *s)
{
	const struct sonde_share_options *o = s->options;
	const struct sonde_share_pair *pair;
	int err = 0;

	for (size_t i = 0; i < o->ncpus && s->at->set && !err; i++)
		for (size_t j = i + 1; j < o->ncpus && !err; j++)
			err = share_compare(s, o->cpus[i], o->cpus[j], &pair);
	return err;
}

int share_group(struct share *s, const struct sonde_share_level *outer,
		struct sonde_share_level *level)
{
	size_t n = s->options->ncpus;
	struct work w = { .s = s };
	int err = s->options->all_pairs ? compare_all(s) : 0;

	level->level = s->at->level;
	if (err)
		return err;
	w.cpus = calloc(n, sizeof(*w.cpus));
	w.group = calloc(n, sizeof(*w.group));
	w.unsure = calloc(n, sizeof(*w.unsure));
	err = w.cpus && w.group && w.unsure ? group_level(&w, outer, level) : -ENOMEM;
	free(w.cpus);
	free(w.group);
	free(w.unsure);
	return err;
}
