// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * profile_cache - caches, TLB and latency curve in the profile
 *
 * Measurement and claim stand side by side and are never mixed: a level that
 * is claimed but was not measured goes to a list of its own.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "profile.h"

static int set_latency(json_t *object, const struct sonde_latency *latency)
{
	json_t *ci = json_array();

	if (json_array_append_new(ci, profile_real(latency->cycles_ci.low)) ||
	    json_array_append_new(ci, profile_real(latency->cycles_ci.high)) ||
	    profile_set(object, "latency_ns", profile_real(latency->ns)) ||
	    profile_set(object, "latency_cycles", profile_real(latency->cycles))) {
		json_decref(ci);
		return -ENOMEM;
	}
	return profile_set(object, "latency_cycles_ci", ci);
}

static const char *name_type(enum sonde_cache_type type)
{
	return type == SONDE_CACHE_DATA ? "data" : "unified";
}

/*
 * Whether a claim lies in the measured interval. Where the size cannot be told
 * the interval is of what this CPU had of the cache, so nothing follows.
 */
static json_t *new_agreement(const struct sonde_cache_level *level,
			     const struct sonde_cache_claim *claim)
{
	int agrees = sonde_cache_agrees(level, claim);

	return agrees < 0 ? json_null() : json_boolean(agrees);
}

static json_t *new_claim(const struct sonde_cache_claim *claim,
			 const struct sonde_cache_level *level)
{
	json_t *object = json_object();

	if ((!level && profile_set(object, "level", json_integer(claim->level))) ||
	    profile_set(object, "type", json_string(name_type(claim->type))) ||
	    profile_set(object, "size", profile_count(claim->size)) ||
	    profile_set(object, "ways", claim->ways ? json_integer(claim->ways) : json_null()) ||
	    profile_set(object, "line", profile_count(claim->line)) ||
	    profile_set(object, "cpus", profile_string(claim->cpus)) ||
	    profile_set(object, "source", json_string("hwloc")) ||
	    (level && profile_set(object, "agrees", new_agreement(level, claim)))) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static const struct sonde_cache_claim *find_claim(const struct sonde_cache_claim *claims,
						  size_t nclaims, unsigned int level)
{
	for (size_t i = 0; i < nclaims; i++)
		if (claims[i].level == level)
			return &claims[i];
	return NULL;
}

static int is_measured(const struct sonde_cache_report *report, unsigned int level)
{
	for (size_t i = 0; i < report->nlevels; i++)
		if (report->levels[i].level == level)
			return 1;
	return 0;
}

static json_t *new_level(const struct sonde_cache_level *level,
			 const struct sonde_cache_claim *claim)
{
	json_t *object = json_object();

	if (profile_set(object, "level", json_integer(level->level)) ||
	    profile_set(object, "type", json_string(name_type(level->type))) ||
	    profile_set(object, "size", profile_count(level->size)) ||
	    profile_set(object, "size_low", profile_count(level->size_low)) ||
	    profile_set(object, "size_high", profile_count(level->size_high)) ||
	    profile_set(object, "ways", profile_count(level->ways)) ||
	    profile_set(object, "line", profile_count(level->line)) ||
	    profile_set_geometry(object, level) ||
	    set_latency(object, &level->latency) ||
	    profile_set(object, "confidence", profile_real(level->confidence)) ||
	    profile_set(object, "claimed", claim ? new_claim(claim, level) : json_null())) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *new_levels(const struct sonde_cache_report *report,
			  const struct sonde_cache_claim *claims, size_t nclaims)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < report->nlevels; i++) {
		const struct sonde_cache_level *level = &report->levels[i];
		const struct sonde_cache_claim *claim = find_claim(claims, nclaims, level->level);

		if (json_array_append_new(list, new_level(level, claim))) {
			json_decref(list);
			list = NULL;
		}
	}
	return list;
}

static json_t *new_claimed_only(const struct sonde_cache_report *report,
				const struct sonde_cache_claim *claims, size_t nclaims)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < nclaims; i++) {
		if (is_measured(report, claims[i].level))
			continue;
		if (json_array_append_new(list, new_claim(&claims[i], NULL))) {
			json_decref(list);
			list = NULL;
		}
	}
	return list;
}

static json_t *new_memory(const struct sonde_latency *latency)
{
	json_t *object;

	if (!(latency->ns > 0))
		return json_null();
	object = json_object();
	if (set_latency(object, latency)) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *new_tlb(const struct sonde_cache_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < report->ntlb; i++) {
		json_t *step = json_object();

		if (profile_set(step, "pages", json_integer(report->tlb[i].pages)) ||
		    profile_set(step, "extra_cycles", profile_real(report->tlb[i].cycles))) {
			json_decref(step);
			step = NULL;
		}
		if (json_array_append_new(list, step)) {
			json_decref(list);
			list = NULL;
		}
	}
	return list;
}

static json_t *new_point(const struct sonde_cache_point *point)
{
	json_t *object = json_object();

	if (profile_set(object, "size", json_integer((json_int_t)point->bytes)) ||
	    set_latency(object, &point->latency) ||
	    profile_set(object, "windows", json_integer(point->windows)) ||
	    profile_set(object, "discarded", profile_real(point->discarded))) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *new_curve(const struct sonde_cache_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < report->npoints; i++)
		if (json_array_append_new(list, new_point(&report->points[i]))) {
			json_decref(list);
			list = NULL;
		}
	return list;
}

static json_t *new_notes(const struct sonde_cache_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < report->nnotes; i++)
		if (json_array_append_new(list, profile_string(report->notes[i]))) {
			json_decref(list);
			list = NULL;
		}
	return list;
}

int sonde_profile_set_caches(struct sonde_profile *profile, const struct sonde_cache_report *report,
			     const struct sonde_cache_claim *claims, size_t nclaims)
{
	json_t *root = profile->root;
	double core_hz = report->core_hz > 0 ? report->core_hz : NAN;

	return profile_set(root, "cpu", json_integer(report->cpu)) ||
	       profile_set(root, "core_hz", profile_whole(core_hz)) ||
	       profile_set(root, "elapsed_s", profile_real(report->elapsed_s)) ||
	       profile_set(root, "caches", new_levels(report, claims, nclaims)) ||
	       profile_set(root, "claimed_only", new_claimed_only(report, claims, nclaims)) ||
	       profile_set(root, "memory", new_memory(&report->memory)) ||
	       profile_set(root, "tlb", new_tlb(report)) ||
	       profile_set(root, "curve", new_curve(report)) ||
	       profile_set(root, "notes", new_notes(report)) ? -ENOMEM : 0;
}

static uint64_t get_count(const json_t *object, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(object, name));

	return value > 0 ? (uint64_t)value : 0;
}

static double get_number(const json_t *object, const char *name)
{
	return json_number_value(json_object_get(object, name));
}

static void get_level(const json_t *object, struct sonde_cache_level *cache)
{
	const char *type = json_string_value(json_object_get(object, "type"));
	const json_t *ci = json_object_get(object, "latency_cycles_ci");

	*cache = (struct sonde_cache_level){
		.level = (unsigned int)get_count(object, "level"),
		.type = type && !strcmp(type, "data") ? SONDE_CACHE_DATA : SONDE_CACHE_UNIFIED,
		.size = get_count(object, "size"),
		.size_low = get_count(object, "size_low"),
		.size_high = get_count(object, "size_high"),
		.latency.ns = get_number(object, "latency_ns"),
		.latency.cycles = get_number(object, "latency_cycles"),
		.latency.cycles_ci.low = json_number_value(json_array_get(ci, 0)),
		.latency.cycles_ci.high = json_number_value(json_array_get(ci, 1)),
		.confidence = get_number(object, "confidence"),
		.ways = (unsigned int)get_count(object, "ways"),
		.line = (unsigned int)get_count(object, "line"),
	};
	profile_get_geometry(object, cache);
}

int sonde_profile_cache(const struct sonde_profile *profile, unsigned int level,
			struct sonde_cache_level *cache)
{
	const json_t *caches = json_object_get(profile->root, "caches");
	const json_t *object;
	size_t i;

	json_array_foreach(caches, i, object) {
		if (get_count(object, "level") != level)
			continue;
		get_level(object, cache);
		return 0;
	}
	return -ENOENT;
}
