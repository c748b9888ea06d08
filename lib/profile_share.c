// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * profile_share - who shares which cache, in the profile
 */
#include <errno.h>
#include <sonde/share.h>
#include "profile.h"

/* Takes over @value, also on failure; frees the list then. */
static json_t *append(json_t *list, json_t *value)
{
	if (!json_array_append_new(list, value))
		return list;
	json_decref(list);
	return NULL;
}

static json_t *name_group(enum sonde_share_verdict verdict)
{
	return json_string(verdict == SONDE_SHARE_YES ? "shared" :
			   verdict == SONDE_SHARE_NO ? "private" : "unknown");
}

static json_t *new_group(const struct sonde_share_group *g)
{
	json_t *object = json_object();

	if (profile_set(object, "cpus", json_string(g->cpus)) ||
	    profile_set(object, "cpuset", json_string(g->cpuset)) ||
	    profile_set(object, "verdict", name_group(g->verdict)) ||
	    profile_set(object, "confidence", profile_real(g->confidence)) ||
	    profile_set(object, "samples", json_integer(g->samples)) ||
	    profile_set(object, "discarded", profile_real(g->discarded))) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *new_groups(const struct sonde_share_level *level)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < level->ngroups; i++)
		list = append(list, new_group(&level->groups[i]));
	return list;
}

static json_t *new_claimed(const struct sonde_share_level *claimed)
{
	json_t *list = claimed->ngroups ? json_array() : json_null();

	for (size_t i = 0; list && i < claimed->ngroups; i++)
		list = append(list, json_string(claimed->groups[i].cpus));
	return list;
}

static json_t *new_agreement(const struct sonde_share_level *measured,
			     const struct sonde_share_level *claimed)
{
	int agrees = sonde_share_agrees(measured, claimed);

	return agrees < 0 ? json_null() : json_boolean(agrees);
}

static json_t *new_level(const struct sonde_share_report *report, size_t i,
			 const struct sonde_topology *topo)
{
	const struct sonde_share_level *level = &report->levels[i];
	struct sonde_share_level claimed = { .level = level->level };
	json_t *object = NULL;
	int err = sonde_share_claimed(report, topo, level->level, &claimed);

	if (!err || err == -ENODATA)
		object = json_object();
	if (object && (profile_set(object, "level", json_integer(level->level)) ||
		       profile_set(object, "groups", new_groups(level)) ||
		       profile_set(object, "claimed", new_claimed(&claimed)) ||
		       profile_set(object, "agrees", new_agreement(level, &claimed)))) {
		json_decref(object);
		object = NULL;
	}
	sonde_share_level_clear(&claimed);
	return object;
}

static json_t *new_levels(const struct sonde_share_report *report,
			  const struct sonde_topology *topo)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < report->nlevels; i++)
		list = append(list, new_level(report, i, topo));
	return list;
}

static json_t *name_verdict(enum sonde_share_verdict verdict)
{
	return verdict == SONDE_SHARE_UNKNOWN ? json_null()
					      : json_boolean(verdict == SONDE_SHARE_YES);
}

static json_t *new_pair(const struct sonde_share_pair *p)
{
	json_t *object = json_object(), *cpus = json_array();

	if (profile_set(object, "level", json_integer(p->level)) ||
	    json_array_append_new(cpus, json_integer(p->cpu[0])) ||
	    json_array_append_new(cpus, json_integer(p->cpu[1])) ||
	    profile_set(object, "cpus", json_incref(cpus)) ||
	    profile_set(object, "shared", name_verdict(p->verdict)) ||
	    profile_set(object, "confidence", profile_real(p->confidence)) ||
	    profile_set(object, "first_cycles", profile_real(p->first_cycles)) ||
	    profile_set(object, "again_cycles", profile_real(p->again_cycles)) ||
	    profile_set(object, "beyond_cycles", profile_real(p->beyond_cycles)) ||
	    profile_set(object, "contention",
			p->contention > 0 ? profile_real(p->contention) : json_null()) ||
	    profile_set(object, "samples", json_integer(p->samples)) ||
	    profile_set(object, "discarded", profile_real(p->discarded))) {
		json_decref(object);
		object = NULL;
	}
	json_decref(cpus);
	return object;
}

static json_t *new_pairs(const struct sonde_share_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < report->npairs; i++)
		list = append(list, new_pair(&report->pairs[i]));
	return list;
}

static json_t *new_notes(const struct sonde_share_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < report->nnotes; i++)
		list = append(list, profile_string(report->notes[i]));
	return list;
}

static json_t *new_cpus(const struct sonde_share_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < report->ncpus; i++)
		list = append(list, json_integer(report->cpus[i]));
	return list;
}

int sonde_profile_set_sharing(struct sonde_profile *profile,
			      const struct sonde_share_report *report,
			      const struct sonde_topology *topo)
{
	json_t *object = json_object();

	if (profile_set(object, "cpus", new_cpus(report)) ||
	    profile_set(object, "levels", new_levels(report, topo)) ||
	    profile_set(object, "pairs", new_pairs(report)) ||
	    profile_set(object, "pooled", json_integer((json_int_t)report->pooled)) ||
	    profile_set(object, "elapsed_s", profile_real(report->elapsed_s)) ||
	    profile_set(object, "notes", new_notes(report))) {
		json_decref(object);
		return -ENOMEM;
	}
	return profile_set(profile->root, "sharing", object);
}
