// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * profile_read - the claims of a profile, as they were written
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "claims.h"
#include "profile.h"

static const char *get_string(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static uint64_t get_count(const json_t *object, const char *name, uint64_t most)
{
	json_int_t value = json_integer_value(json_object_get(object, name));

	return value > 0 && (uint64_t)value <= most ? (uint64_t)value : 0;
}

/* SONDE_CLAIM_SOURCES if it is none that this library knows. */
static enum sonde_claim_source find_source(const json_t *object)
{
	const char *name = get_string(object, "source");
	int s = 0;

	while (s < SONDE_CLAIM_SOURCES &&
	       (!name || strcmp(name, sonde_claim_source_name((enum sonde_claim_source)s)) != 0))
		s++;
	return (enum sonde_claim_source)s;
}

static int get_ways(const json_t *object)
{
	json_int_t ways = json_integer_value(json_object_get(object, "ways"));

	return ways >= -1 && ways <= INT_MAX ? (int)ways : 0;
}

static int add_claim(struct sonde_claims *claims, const json_t *object)
{
	const char *type = get_string(object, "type");
	struct sonde_cache_claim claim = {
		.level = (unsigned int)get_count(object, "level", UINT_MAX),
		.type = type && !strcmp(type, "data") ? SONDE_CACHE_DATA : SONDE_CACHE_UNIFIED,
		.size = get_count(object, "size", UINT64_MAX),
		.ways = get_ways(object),
		.line = (unsigned int)get_count(object, "line", UINT_MAX),
		.cpus = get_string(object, "cpus"),
		.sets = get_count(object, "sets", UINT64_MAX),
		.threads = (unsigned int)get_count(object, "threads", UINT_MAX),
		.source = find_source(object),
	};

	return claim.source == SONDE_CLAIM_SOURCES ? 0 : claims_add(claims, &claim);
}

static int add_reason(struct sonde_claims *claims, const json_t *object)
{
	enum sonde_claim_source source = find_source(object);
	const char *why = get_string(object, "why");

	return !why || source == SONDE_CLAIM_SOURCES ? 0
						     : claims_explain(claims, source, "%s", why);
}

int sonde_profile_claims(const struct sonde_profile *profile, struct sonde_claims **claims)
{
	const json_t *list = json_object_get(profile->root, "claims");
	const json_t *sources = json_object_get(profile->root, "claim_sources"), *item;
	struct sonde_claims *made;
	int err = 0;
	size_t i;

	if (!list)
		return -ENOENT;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	json_array_foreach(list, i, item)
		err = err ? err : add_claim(made, item);
	json_array_foreach(sources, i, item)
		err = err ? err : add_reason(made, item);
	if (err)
		sonde_claims_close(made);
	else
		*claims = made;
	return err;
}
