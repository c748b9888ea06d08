// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * profile_claims - what each source claims of the caches, all of it, and why a
 * source claims nothing
 */
#include <errno.h>
#include "profile.h"

static const struct sonde_cache_level *find_level(const struct sonde_cache_report *report,
						  unsigned int level)
{
	for (size_t i = 0; report && i < report->nlevels; i++)
		if (report->levels[i].level == level)
			return &report->levels[i];
	return NULL;
}

static json_t *new_agreement(const struct sonde_cache_level *level,
			     const struct sonde_cache_claim *claim)
{
	int agrees = level ? sonde_cache_agrees(level, claim) : -ENODATA;

	return agrees < 0 ? json_null() : json_boolean(agrees);
}

static json_t *new_claim(const struct sonde_cache_claim *claim,
			 const struct sonde_cache_level *level)
{
	json_t *object = json_object();
	const char *type = claim->type == SONDE_CACHE_DATA ? "data" : "unified";

	if (profile_set(object, "source", json_string(sonde_claim_source_name(claim->source))) ||
	    profile_set(object, "level", json_integer(claim->level)) ||
	    profile_set(object, "type", json_string(type)) ||
	    profile_set(object, "size", profile_count(claim->size)) ||
	    profile_set(object, "ways", claim->ways ? json_integer(claim->ways) : json_null()) ||
	    profile_set(object, "line", profile_count(claim->line)) ||
	    profile_set(object, "sets", profile_count(claim->sets)) ||
	    profile_set(object, "threads", profile_count(claim->threads)) ||
	    profile_set(object, "cpus", profile_string(claim->cpus)) ||
	    profile_set(object, "agrees", new_agreement(level, claim))) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *new_claims(const struct sonde_cache_claim *claims, size_t n,
			  const struct sonde_cache_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < n; i++) {
		json_t *claim = new_claim(&claims[i], find_level(report, claims[i].level));

		if (json_array_append_new(list, claim)) {
			json_decref(list);
			list = NULL;
		}
	}
	return list;
}

static json_t *new_source(const struct sonde_claims *claims, enum sonde_claim_source source)
{
	json_t *object = json_object();

	if (profile_set(object, "source", json_string(sonde_claim_source_name(source))) ||
	    profile_set(object, "why", profile_string(sonde_claims_why(claims, source)))) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *new_sources(const struct sonde_claims *claims)
{
	json_t *list = json_array();

	for (int s = 0; list && s < SONDE_CLAIM_SOURCES; s++)
		if (json_array_append_new(list, new_source(claims, (enum sonde_claim_source)s))) {
			json_decref(list);
			list = NULL;
		}
	return list;
}

int sonde_profile_set_claims(struct sonde_profile *profile, const struct sonde_claims *claims,
			     const struct sonde_cache_report *report)
{
	const struct sonde_cache_claim *list;
	size_t n;

	list = sonde_claims_list(claims, &n);
	return profile_set(profile->root, "claims", new_claims(list, n, report)) ||
	       profile_set(profile->root, "claim_sources", new_sources(claims)) ? -ENOMEM : 0;
}
