// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * profile_geometry - sets, classes and how a level was found, in the profile
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "profile.h"

static const char *const methods[] = {
	[SONDE_METHOD_CURVE] = "curve",
	[SONDE_METHOD_STRIDES] = "strides",
	[SONDE_METHOD_CONFLICTS] = "conflicts",
	[SONDE_METHOD_SAMPLING] = "set-sampling",
	[SONDE_METHOD_SERVET] = "servet",
};

#define NMETHODS ((int)(sizeof(methods) / sizeof(methods[0])))

/* Of a cache that is not exclusive, timing does not tell the two other kinds apart. */
static const char *const inclusions[] = {
	[SONDE_HOLDING_UNKNOWN] = NULL,
	[SONDE_HOLDING_ALSO] = "non-exclusive",
	[SONDE_HOLDING_OTHER] = "exclusive",
};

#define NINCLUSIONS ((int)(sizeof(inclusions) / sizeof(inclusions[0])))

static int find_word(const char *const *words, int n, const char *word)
{
	for (int i = 0; word && i < n; i++)
		if (words[i] && !strcmp(words[i], word))
			return i;
	return -1;
}

int profile_find_method(const char *word)
{
	return find_word(methods, NMETHODS, word);
}

int profile_find_inclusion(const char *word)
{
	return find_word(inclusions, NINCLUSIONS, word);
}

const char *profile_method_word(int i)
{
	return i < NMETHODS ? methods[i] : NULL;
}

/* The first one has no word. */
const char *profile_inclusion_word(int i)
{
	return i + 1 < NINCLUSIONS ? inclusions[i + 1] : NULL;
}

/* Differences of two measurements: noise may make them less than nothing. */
static json_t *new_difference(double x)
{
	return profile_real(x < 0 ? NAN : x);
}

static json_t *new_misses(const struct sonde_cache_sweep *sweep)
{
	json_t *list = json_array();

	for (unsigned int i = 1; list && i <= sweep->n; i++)
		if (json_array_append_new(list, new_difference(sweep->misses[i]))) {
			json_decref(list);
			list = NULL;
		}
	return list;
}

static json_t *new_sweep(const struct sonde_cache_sweep *sweep)
{
	json_t *object = json_object();

	if (profile_set(object, "offset", json_integer(sweep->offset)) ||
	    profile_set(object, "ways", profile_count(sweep->ways)) ||
	    profile_set(object, "misses", new_misses(sweep))) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *new_sweeps(const struct sonde_cache_level *level)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < level->nsweeps; i++)
		if (json_array_append_new(list, new_sweep(&level->sweeps[i]))) {
			json_decref(list);
			list = NULL;
		}
	return list;
}

static json_t *new_point(double bytes, double cycles)
{
	json_t *object = json_object();

	if (profile_set(object, "bytes", profile_whole(bytes)) ||
	    profile_set(object, "cycles", new_difference(cycles))) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *new_reach(const struct sonde_cache_reach *reach)
{
	json_t *list = json_array();

	for (unsigned int i = 0; list && i < reach->n; i++)
		if (json_array_append_new(list, new_point(reach->bytes[i], reach->cycles[i]))) {
			json_decref(list);
			list = NULL;
		}
	return list;
}

int profile_set_geometry(json_t *object, const struct sonde_cache_level *level)
{
	/* The curve keeps its own count, a point at a time. */
	double discarded = level->samples ? level->discarded : NAN;
	double softness = level->softness > 0 ? level->softness : NAN;

	return profile_set(object, "sets", profile_count(level->sets)) ||
	       profile_set(object, "colours", profile_count(level->colours)) ||
	       profile_set(object, "softness", profile_real(softness)) ||
	       profile_set(object, "inclusion", profile_string(inclusions[level->holding])) ||
	       profile_set(object, "method", profile_string(methods[level->method])) ||
	       profile_set(object, "samples", profile_count(level->samples)) ||
	       profile_set(object, "discarded", profile_real(discarded)) ||
	       profile_set(object, "sweeps", new_sweeps(level)) ||
	       profile_set(object, "capacity_curve", new_reach(&level->reach)) ? -ENOMEM : 0;
}

static uint64_t get_count(const json_t *object, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(object, name));

	return value > 0 ? (uint64_t)value : 0;
}

void profile_get_geometry(const json_t *object, struct sonde_cache_level *level)
{
	int method = profile_find_method(json_string_value(json_object_get(object, "method")));
	int holding =
		profile_find_inclusion(json_string_value(json_object_get(object, "inclusion")));

	level->sets = get_count(object, "sets");
	level->colours = (unsigned int)get_count(object, "colours");
	level->softness = json_number_value(json_object_get(object, "softness"));
	level->holding = holding < 0 ? SONDE_HOLDING_UNKNOWN : (enum sonde_cache_holding)holding;
	level->method = method < 0 ? SONDE_METHOD_CURVE : (enum sonde_cache_method)method;
	level->samples = get_count(object, "samples");
	level->discarded = json_number_value(json_object_get(object, "discarded"));
}
