// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * profile_transfer - what copies between processes cost, and the choice by it
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "profile.h"
#include "region.h"

/* A way that is no better than by this is not worth a change of ways. */
#define WORTH	0.95

static const char *const private_ways[] = { "module", "cma", NULL };
static const char *const shared_ways[] = { "shm", "module", "cma", NULL };

static const struct sonde_transfer_point *find_point(const struct sonde_transfer_point *points,
						     size_t n, const char *way, uint64_t bytes)
{
	for (size_t i = 0; i < n; i++)
		if (points[i].bytes == bytes && !strcmp(points[i].way, way))
			return &points[i];
	return NULL;
}

static double get_ns(const struct sonde_transfer_point *points, size_t n, const char *way,
		     uint64_t bytes)
{
	const struct sonde_transfer_point *point = way ? find_point(points, n, way, bytes) : NULL;

	return point ? point->ns : INFINITY;
}

/* NULL if none of them was measured there. */
static const char *find_best(const struct sonde_transfer_point *points, size_t n,
			     const char *const *ways, uint64_t bytes)
{
	const char *best = NULL;

	for (; *ways; ways++)
		if (get_ns(points, n, *ways, bytes) < get_ns(points, n, best, bytes))
			best = *ways;
	return best;
}

/* The least size above @bytes; 0 if there is none. */
static uint64_t next_size(const struct sonde_transfer_point *points, size_t n, uint64_t bytes)
{
	uint64_t next = 0;

	for (size_t i = 0; i < n; i++)
		if (points[i].bytes > bytes && (!next || points[i].bytes < next))
			next = points[i].bytes;
	return next;
}

static int add_choice(json_t *list, uint64_t from, const char *way)
{
	json_t *object = json_object();

	if (profile_set(object, "from_bytes", json_integer((json_int_t)from)) ||
	    profile_set(object, "way", json_string(way))) {
		json_decref(object);
		return -ENOMEM;
	}
	return json_array_append_new(list, object) ? -ENOMEM : 0;
}

static json_t *new_choices(const struct sonde_transfer_point *points, size_t n,
			   const char *const *ways)
{
	json_t *list = json_array();
	const char *now = NULL, *best;
	int err = list ? 0 : -ENOMEM;

	for (uint64_t bytes = next_size(points, n, 0); bytes && !err;
	     bytes = next_size(points, n, bytes)) {
		best = find_best(points, n, ways, bytes);
		if (!best || best == now ||
		    get_ns(points, n, best, bytes) >= WORTH * get_ns(points, n, now, bytes) ||
		    json_array_size(list) == REGION_CHOICES)
			continue;
		err = add_choice(list, now ? bytes : 0, best);
		now = best;
	}
	if (!err)
		return list;
	json_decref(list);
	return NULL;
}

/*
 * The last size before the first at which one copy is quicker than two through
 * shared memory; null if nothing but those was measured.
 */
static json_t *new_twice(const struct sonde_transfer_point *points, size_t n)
{
	uint64_t last = 0;
	int is_known = 0;

	for (uint64_t bytes = next_size(points, n, 0); bytes; bytes = next_size(points, n, bytes)) {
		double twice = get_ns(points, n, "twice", bytes);
		const char *best = find_best(points, n, private_ways, bytes);

		if (!isfinite(twice) || !best)
			continue;
		is_known = 1;
		if (get_ns(points, n, best, bytes) < twice)
			break;
		last = bytes;
	}
	return is_known ? json_integer((json_int_t)last) : json_null();
}

static json_t *new_point(const struct sonde_transfer_point *points, size_t n,
			 const struct sonde_transfer_point *p)
{
	const double memcpy_ns = get_ns(points, n, "memcpy", p->bytes);
	json_t *object = json_object();

	if (profile_set(object, "way", json_string(p->way)) ||
	    profile_set(object, "bytes", json_integer((json_int_t)p->bytes)) ||
	    profile_set(object, "ns", profile_real(p->ns)) ||
	    profile_set(object, "ns_low", profile_real(p->ns_low)) ||
	    profile_set(object, "ns_high", profile_real(p->ns_high)) ||
	    profile_set(object, "samples", json_integer((json_int_t)p->samples)) ||
	    profile_set(object, "ratio", profile_real(isfinite(memcpy_ns) && memcpy_ns > 0 ?
						      p->ns / memcpy_ns : NAN))) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *new_points(const struct sonde_transfer_point *points, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < n; i++) {
		if (!json_array_append_new(list, new_point(points, n, &points[i])))
			continue;
		json_decref(list);
		return NULL;
	}
	return list;
}

int sonde_profile_set_transfers(struct sonde_profile *profile,
				const struct sonde_transfer_point *points, size_t n)
{
	json_t *object = json_object();

	if (profile_set(object, "points", new_points(points, n)) ||
	    profile_set(object, "private", new_choices(points, n, private_ways)) ||
	    profile_set(object, "shared", new_choices(points, n, shared_ways)) ||
	    profile_set(object, "twice_up_to", new_twice(points, n))) {
		json_decref(object);
		return -ENOMEM;
	}
	return profile_set(profile->root, "transfers", object);
}

/* ---- reading ------------------------------------------------------------ */

static enum sonde_transfer_way find_way(const json_t *choice)
{
	const char *name = json_string_value(json_object_get(choice, "way"));

	for (int way = SONDE_TRANSFER_MODULE; name && way < REGION_WAYS; way++)
		if (!strcmp(name, sonde_transfer_way_name((enum sonde_transfer_way)way)))
			return (enum sonde_transfer_way)way;
	return SONDE_TRANSFER_AUTO;
}

/* A way that this library does not know leaves its sizes to the one before. */
static size_t read_choices(const struct sonde_profile *profile, int is_shared,
			   struct region_choice choices[REGION_CHOICES])
{
	const json_t *transfers = json_object_get(profile->root, "transfers");
	const json_t *list = json_object_get(transfers, is_shared ? "shared" : "private"), *choice;
	size_t i, n = 0;

	json_array_foreach(list, i, choice) {
		enum sonde_transfer_way way = find_way(choice);
		json_int_t from = json_integer_value(json_object_get(choice, "from_bytes"));

		if (way != SONDE_TRANSFER_AUTO && from >= 0 && n < REGION_CHOICES)
			choices[n++] = (struct region_choice){ (uint64_t)from, way };
	}
	return n;
}

enum sonde_transfer_way region_choose(const struct region_choice *choices, size_t n, uint64_t bytes)
{
	enum sonde_transfer_way way = SONDE_TRANSFER_AUTO;
	uint64_t from = 0;

	for (size_t i = 0; i < n; i++) {
		if (choices[i].from < from || choices[i].from > bytes)
			continue;
		from = choices[i].from;
		way = choices[i].way;
	}
	return way;
}

int sonde_profile_transfer_way(const struct sonde_profile *profile, int is_shared,
			       uint64_t bytes, enum sonde_transfer_way *out)
{
	struct region_choice choices[REGION_CHOICES];
	size_t n = read_choices(profile, is_shared, choices);
	enum sonde_transfer_way way = region_choose(choices, n, bytes);

	if (way == SONDE_TRANSFER_AUTO)
		return -ENOENT;
	*out = way;
	return 0;
}

int sonde_profile_transfer_twice(const struct sonde_profile *profile, uint64_t *bytes)
{
	const json_t *transfers = json_object_get(profile->root, "transfers");
	const json_t *value = json_object_get(transfers, "twice_up_to");

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return -ENOENT;
	*bytes = (uint64_t)json_integer_value(value);
	return 0;
}

int sonde_transfer_tune(struct sonde_transfer *t, const struct sonde_profile *profile)
{
	struct region_choice choices[2][REGION_CHOICES];
	size_t n[2];

	for (int is_shared = 0; is_shared < 2; is_shared++)
		n[is_shared] = read_choices(profile, is_shared, choices[is_shared]);
	if (!n[0] && !n[1])
		return -ENOENT;
	if (t->asked != SONDE_TRANSFER_AUTO)
		return 0;
	memcpy(t->choices, choices, sizeof(choices));
	memcpy(t->nchoices, n, sizeof(n));
	return 0;
}
