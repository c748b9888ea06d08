// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * share_claims - who shares a cache according to hwloc, beside what was measured
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <hwloc.h>
#include <sonde/share.h>

#define MAX_CLAIMS 16

/* The CPUs that are said to share @cpu's cache of @level, of those measured. */
static hwloc_bitmap_t claimed_set(const struct sonde_topology *topo, unsigned int level,
				  unsigned int cpu, hwloc_const_bitmap_t measured)
{
	struct sonde_cache_claim claims[MAX_CLAIMS];
	int n = sonde_topology_caches(topo, cpu, claims, MAX_CLAIMS);
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	for (int i = 0; set && i < n && i < MAX_CLAIMS; i++)
		if (claims[i].level == level && claims[i].cpus)
			hwloc_bitmap_list_sscanf(set, claims[i].cpus);
	if (set)
		hwloc_bitmap_and(set, set, measured);
	return set;
}

static int add_group(struct sonde_share_level *out, hwloc_const_bitmap_t set)
{
	struct sonde_share_group *groups = realloc(out->groups,
						   (out->ngroups + 1) * sizeof(*groups));
	struct sonde_share_group *g;

	if (!groups)
		return -ENOMEM;
	out->groups = groups;
	g = &groups[out->ngroups++];
	*g = (struct sonde_share_group){
		.ncpus = (unsigned int)hwloc_bitmap_weight(set),
	};
	g->verdict = g->ncpus > 1 ? SONDE_SHARE_YES : SONDE_SHARE_NO;
	return hwloc_bitmap_list_asprintf(&g->cpus, set) < 0 ||
	       hwloc_bitmap_taskset_asprintf(&g->cpuset, set) < 0 ? -ENOMEM : 0;
}

/* The groups, of which each is added with its first CPU. */
static int add_groups(const struct sonde_share_report *report, const struct sonde_topology *topo,
		      struct sonde_share_level *out, hwloc_const_bitmap_t measured)
{
	int err = 0;

	for (size_t i = 0; i < report->ncpus && !err; i++) {
		hwloc_bitmap_t set = claimed_set(topo, out->level, report->cpus[i], measured);

		if (!set)
			return -ENOMEM;
		if (hwloc_bitmap_first(set) == (int)report->cpus[i])
			err = add_group(out, set);
		hwloc_bitmap_free(set);
	}
	return err;
}

int sonde_share_claimed(const struct sonde_share_report *report,
			const struct sonde_topology *topo, unsigned int level,
			struct sonde_share_level *out)
{
	struct sonde_share_level claimed = { .level = level };
	hwloc_bitmap_t measured = hwloc_bitmap_alloc();
	int err = measured ? 0 : -ENOMEM;

	for (size_t i = 0; i < report->ncpus && !err; i++)
		err = hwloc_bitmap_set(measured, report->cpus[i]) ? -ENOMEM : 0;
	if (!err)
		err = add_groups(report, topo, &claimed, measured);
	hwloc_bitmap_free(measured);
	if (!err && !claimed.ngroups)
		err = -ENODATA;
	if (err)
		sonde_share_level_clear(&claimed);
	else
		*out = claimed;
	return err;
}

static int is_known(const struct sonde_share_level *level)
{
	for (size_t i = 0; i < level->ngroups; i++)
		if (level->groups[i].verdict == SONDE_SHARE_UNKNOWN)
			return 0;
	return level->ngroups > 0;
}

/* Both are in the order of their groups' first CPUs. */
int sonde_share_agrees(const struct sonde_share_level *measured,
		       const struct sonde_share_level *claimed)
{
	if (!is_known(measured) || !claimed->ngroups)
		return -ENODATA;
	if (measured->ngroups != claimed->ngroups)
		return 0;
	for (size_t i = 0; i < measured->ngroups; i++)
		if (strcmp(measured->groups[i].cpus, claimed->groups[i].cpus))
			return 0;
	return 1;
}

void sonde_share_level_clear(struct sonde_share_level *level)
{
	for (size_t i = 0; i < level->ngroups; i++) {
		free(level->groups[i].cpus);
		free(level->groups[i].cpuset);
	}
	free(level->groups);
	level->groups = NULL;
	level->ngroups = 0;
}
