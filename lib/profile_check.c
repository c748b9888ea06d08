// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * profile_check - the schema of sonde-profile(5) as tables
 *
 * A program tunes itself from what it reads here, so a document is refused
 * rather than half believed: a missing field, another type, a negative size.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "log.h"
#include "profile.h"
#include "profile_fields.h"

static const struct field machine_fields[] = {
	{ "identity", STRING, 0, NULL },
	{ "cpu_model", STRING, MUST, NULL },
	{ "cpus", STRING, MUST, NULL },
	{ "numa_nodes", WHOLE, MUST | NIL, NULL },
	{ "memory_bytes", WHOLE, MUST | NIL, NULL },
	{ "page_bytes", WHOLE, MUST, NULL },
	{ "kernel", STRING, 0, NULL },
	{ "architecture", STRING, 0, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field clock_fields[] = {
	{ "source", STRING, MUST, NULL },
	{ "name", STRING, MUST | NIL, NULL },
	{ "hz", WHOLE, MUST, NULL },
	{ "hz_low", WHOLE, MUST | NIL, NULL },
	{ "hz_high", WHOLE, MUST | NIL, NULL },
	{ "claimed_hz", WHOLE, MUST | NIL, NULL },
	{ "overhead_ticks", REAL, MUST | NIL, NULL },
	{ "overhead_ns", REAL, MUST | NIL, NULL },
	{ "step_ticks", WHOLE, MUST | NIL, NULL },
	{ "step_ns", REAL, MUST | NIL, NULL },
	{ "why", STRING, MUST | NIL, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field backend_fields[] = {
	{ "using", STRING, MUST, NULL },
	{ "why", STRING, MUST | NIL, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field claim_fields[] = {
	{ "level", WHOLE, 0, NULL },
	{ "type", TYPE, MUST, NULL },
	{ "size", WHOLE, MUST | NIL, NULL },
	{ "ways", WAYS, MUST | NIL, NULL },
	{ "line", WHOLE, MUST | NIL, NULL },
	{ "cpus", STRING, MUST | NIL, NULL },
	{ "source", STRING, MUST, NULL },
	{ "agrees", FLAG, NIL, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field any_claim_fields[] = {
	{ "source", STRING, MUST, NULL },
	{ "level", WHOLE, MUST, NULL },
	{ "type", TYPE, MUST, NULL },
	{ "size", WHOLE, MUST | NIL, NULL },
	{ "ways", WAYS, MUST | NIL, NULL },
	{ "line", WHOLE, MUST | NIL, NULL },
	{ "sets", WHOLE, MUST | NIL, NULL },
	{ "threads", WHOLE, MUST | NIL, NULL },
	{ "cpus", STRING, MUST | NIL, NULL },
	{ "agrees", FLAG, MUST | NIL, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field claim_source_fields[] = {
	{ "source", STRING, MUST, NULL },
	{ "why", STRING, MUST | NIL, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field sweep_fields[] = {
	{ "offset", WHOLE, MUST, NULL },
	{ "ways", WHOLE, MUST | NIL, NULL },
	{ "misses", REALS, MUST, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field capacity_fields[] = {
	{ "bytes", WHOLE, MUST, NULL },
	{ "cycles", REAL, MUST | NIL, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field cache_fields[] = {
	{ "level", WHOLE, MUST, NULL },
	{ "type", TYPE, MUST, NULL },
	{ "size", WHOLE, MUST | NIL, NULL },
	{ "size_low", WHOLE, MUST | NIL, NULL },
	{ "size_high", WHOLE, MUST | NIL, NULL },
	{ "ways", WHOLE, MUST | NIL, NULL },
	{ "line", WHOLE, MUST | NIL, NULL },
	{ "sets", WHOLE, NIL, NULL },
	{ "colours", WHOLE, NIL, NULL },
	{ "softness", REAL, NIL, NULL },
	{ "inclusion", INCLUSION, NIL, NULL },
	{ "method", METHOD, NIL, NULL },
	{ "samples", WHOLE, NIL, NULL },
	{ "discarded", SHARE, NIL, NULL },
	{ "sweeps", LIST, 0, sweep_fields },
	{ "capacity_curve", LIST, 0, capacity_fields },
	{ "latency_ns", REAL, MUST | NIL, NULL },
	{ "latency_cycles", REAL, MUST | NIL, NULL },
	{ "latency_cycles_ci", PAIR, MUST, NULL },
	{ "confidence", SHARE, MUST, NULL },
	{ "claimed", OBJECT, MUST | NIL, claim_fields },
	{ NULL, 0, 0, NULL },
};

static const struct field memory_fields[] = {
	{ "latency_ns", REAL, MUST | NIL, NULL },
	{ "latency_cycles", REAL, MUST | NIL, NULL },
	{ "latency_cycles_ci", PAIR, MUST, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field tlb_fields[] = {
	{ "pages", WHOLE, MUST, NULL },
	{ "extra_cycles", REAL, MUST | NIL, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field point_fields[] = {
	{ "size", WHOLE, MUST, NULL },
	{ "latency_ns", REAL, MUST | NIL, NULL },
	{ "latency_cycles", REAL, MUST | NIL, NULL },
	{ "latency_cycles_ci", PAIR, MUST, NULL },
	{ "windows", WHOLE, MUST, NULL },
	{ "discarded", SHARE, MUST | NIL, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field transfer_point_fields[] = {
	{ "way", STRING, MUST, NULL },
	{ "bytes", WHOLE, MUST, NULL },
	{ "ns", REAL, MUST, NULL },
	{ "ns_low", REAL, MUST, NULL },
	{ "ns_high", REAL, MUST, NULL },
	{ "samples", WHOLE, MUST, NULL },
	{ "ratio", REAL, MUST | NIL, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field transfer_choice_fields[] = {
	{ "from_bytes", WHOLE, MUST, NULL },
	{ "way", STRING, MUST, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field transfers_fields[] = {
	{ "points", LIST, MUST, transfer_point_fields },
	{ "private", LIST, MUST, transfer_choice_fields },
	{ "shared", LIST, MUST, transfer_choice_fields },
	{ "twice_up_to", WHOLE, MUST | NIL, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field rate_fields[] = {
	{ "cpu", WHOLE, 0, NULL },
	{ "cores", WHOLE, 0, NULL },
	{ "bytes_s", REAL, MUST | NIL, NULL },
	{ "bytes_s_ci", PAIR, MUST, NULL },
	{ "rounds", WHOLE, MUST, NULL },
	{ "discarded", SHARE, MUST | NIL, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field reference_fields[] = {
	{ "operation", STRING, MUST, NULL },
	{ "node", WHOLE, MUST | NIL, NULL },
	{ "pages", STRING, MUST, NULL },
	{ "bytes_s", REAL, MUST | NIL, NULL },
	{ "bytes_s_ci", PAIR, MUST, NULL },
	{ "rounds", WHOLE, MUST, NULL },
	{ "discarded", SHARE, MUST | NIL, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field memory_pair_fields[] = {
	{ "cpus", REALS, MUST, NULL },
	{ "ratio", REAL, MUST | NIL, NULL },
	{ "ratio_ci", PAIR, MUST, NULL },
	{ "class", WHOLE, MUST | NIL, NULL },
	{ "rounds", WHOLE, MUST, NULL },
	{ "discarded", SHARE, MUST | NIL, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field scaling_fields[] = {
	{ "cpus", REALS, MUST, NULL },
	{ "points", LIST, MUST, rate_fields },
	{ NULL, 0, 0, NULL },
};

static const struct field class_fields[] = {
	{ "ratio", REAL, MUST, NULL },
	{ "ratio_low", REAL, MUST, NULL },
	{ "ratio_high", REAL, MUST, NULL },
	{ "overhead", FLAG, MUST, NULL },
	{ "npairs", WHOLE, MUST, NULL },
	{ "scaling", OBJECT, MUST | NIL, scaling_fields },
	{ NULL, 0, 0, NULL },
};

static const struct field load_fields[] = {
	{ "bytes_s", REAL, MUST, NULL },
	{ "latency_ns", REAL, MUST | NIL, NULL },
	{ "latency_ns_ci", PAIR, MUST, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field loaded_latency_fields[] = {
	{ "pages", STRING, MUST, NULL },
	{ "points", LIST, MUST, load_fields },
	{ NULL, 0, 0, NULL },
};

static const struct field bandwidth_fields[] = {
	{ "cpus", REALS, MUST, NULL },
	{ "vectors", STRING, MUST, NULL },
	{ "buffer_bytes", WHOLE, MUST, NULL },
	{ "references", LIST, MUST, reference_fields },
	{ "alone", LIST, MUST, rate_fields },
	{ "pairs", LIST, MUST, memory_pair_fields },
	{ "classes", LIST, MUST, class_fields },
	{ "scaling", OBJECT, MUST | NIL, scaling_fields },
	{ "loaded_latency", OBJECT, MUST, loaded_latency_fields },
	{ "elapsed_s", REAL, MUST | NIL, NULL },
	{ "notes", STRINGS, MUST, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field place_fields[] = {
	{ "cpu", WHOLE, MUST | NIL, NULL },
	{ "rank", WHOLE, MUST | NIL, NULL },
	{ "node", WHOLE, MUST, NULL },
	{ "host", STRING, MUST | NIL, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field latency_row_fields[] = {
	{ "latency_ns", REALS, MUST, NULL },
	{ "layers", REALS, MUST, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field latency_pair_fields[] = {
	{ "places", REALS, MUST, NULL },
	{ "latency_ns", REAL, MUST | NIL, NULL },
	{ "latency_ns_ci", PAIR, MUST, NULL },
	{ "layer", WHOLE, MUST | NIL, NULL },
	{ "windows", WHOLE, MUST, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field place_group_fields[] = {
	{ "places", REALS, MUST, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field message_fields[] = {
	{ "bytes", WHOLE, MUST, NULL },
	{ "latency_ns", REAL, MUST | NIL, NULL },
	{ "latency_ns_ci", PAIR, MUST, NULL },
	{ "gap_ns", REAL, MUST | NIL, NULL },
	{ "bytes_s", REAL, MUST | NIL, NULL },
	{ "send_ns", REAL, MUST | NIL, NULL },
	{ "receive_ns", REAL, MUST | NIL, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field segment_fields[] = {
	{ "from_bytes", WHOLE, MUST, NULL },
	{ "to_bytes", WHOLE, MUST, NULL },
	{ "gap_ns", REAL, MUST | NIL, NULL },
	{ "byte_ns", REAL, MUST | NIL, NULL },
	{ "start_ns", REAL, MUST, NULL },
	{ "per_byte_ns", REAL, MUST, NULL },
	{ "error", REAL, MUST, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field loggp_fields[] = {
	{ "latency_ns", REAL, MUST | NIL, NULL },
	{ "send_ns", REAL, MUST | NIL, NULL },
	{ "receive_ns", REAL, MUST | NIL, NULL },
	{ "segments", LIST, MUST, segment_fields },
	{ "why", STRING, MUST | NIL, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field concurrency_fields[] = {
	{ "pairs", WHOLE, MUST, NULL },
	{ "ratio", REAL, MUST, NULL },
	{ "bytes_s", REAL, MUST | NIL, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field layer_fields[] = {
	{ "latency_ns", REAL, MUST, NULL },
	{ "latency_ns_low", REAL, MUST, NULL },
	{ "latency_ns_high", REAL, MUST, NULL },
	{ "npairs", WHOLE, MUST, NULL },
	{ "npairs_measured", WHOLE, MUST, NULL },
	{ "groups", LIST, MUST, place_group_fields },
	{ "representative", REALS, MUST, NULL },
	{ "points", LIST, MUST, message_fields },
	{ "loggp", OBJECT, MUST | NIL, loggp_fields },
	{ "concurrency", LIST, MUST, concurrency_fields },
	{ NULL, 0, 0, NULL },
};

static const struct field comm_method_fields[] = {
	{ "method", STRING, MUST, NULL },
	{ "via", STRING, MUST | NIL, NULL },
	{ "bytes", WHOLE, MUST | NIL, NULL },
	{ "matrix", LIST, MUST, latency_row_fields },
	{ "pairs", LIST, MUST, latency_pair_fields },
	{ "layers", LIST, MUST, layer_fields },
	{ "elapsed_s", REAL, MUST | NIL, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field communication_fields[] = {
	{ "places", LIST, MUST, place_fields },
	{ "methods", LIST, MUST, comm_method_fields },
	{ "notes", STRINGS, MUST, NULL },
	{ NULL, 0, 0, NULL },
};

/* What is in it is libsonde-coll's matter. */
static const struct field collectives_fields[] = {
	{ NULL, 0, 0, NULL },
};

static const struct field share_group_fields[] = {
	{ "cpus", STRING, MUST, NULL },
	{ "cpuset", STRING, MUST, NULL },
	{ "verdict", STRING, MUST, NULL },
	{ "confidence", SHARE, MUST, NULL },
	{ "samples", WHOLE, MUST | NIL, NULL },
	{ "discarded", SHARE, MUST | NIL, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field share_level_fields[] = {
	{ "level", WHOLE, MUST, NULL },
	{ "groups", LIST, MUST, share_group_fields },
	{ "agrees", FLAG, NIL, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct field sharing_fields[] = {
	{ "levels", LIST, MUST, share_level_fields },
	{ NULL, 0, 0, NULL },
};

const struct field profile_fields[] = {
	{ "created", STRING, MUST, NULL },
	{ "sonde_version", STRING, MUST, NULL },
	{ "machine", OBJECT, 0, machine_fields },
	{ "clock", OBJECT, 0, clock_fields },
	{ "backends", MAP, 0, backend_fields },
	{ "cpu", WHOLE, 0, NULL },
	{ "core_hz", REAL, NIL, NULL },
	{ "elapsed_s", REAL, NIL, NULL },
	{ "caches", LIST, 0, cache_fields },
	{ "claimed_only", LIST, 0, claim_fields },
	{ "claims", LIST, 0, any_claim_fields },
	{ "claim_sources", LIST, 0, claim_source_fields },
	{ "memory", OBJECT, NIL, memory_fields },
	{ "tlb", LIST, 0, tlb_fields },
	{ "curve", LIST, 0, point_fields },
	{ "sharing", OBJECT, NIL, sharing_fields },
	{ "transfers", OBJECT, 0, transfers_fields },
	{ "bandwidth", OBJECT, 0, bandwidth_fields },
	{ "communication", OBJECT, 0, communication_fields },
	{ "collectives", OBJECT, 0, collectives_fields },
	{ "notes", STRINGS, 0, NULL },
	{ NULL, 0, 0, NULL },
};

/* Where in the document we are, for the log: "profile.json: caches[1].size". */
struct place {
	char text[512];
	size_t len;
};

__attribute__((format(printf, 2, 3)))
static size_t enter(struct place *place, const char *fmt, ...)
{
	size_t before = place->len;
	size_t room = sizeof(place->text) - before;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(place->text + before, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		place->len += (size_t)n < room ? (size_t)n : room - 1;
	return before;
}

static void leave(struct place *place, size_t before)
{
	place->len = before;
	place->text[before] = '\0';
}

static int refuse(const struct place *place, const char *why)
{
	sonde_log("%s: %s", place->text, why);
	return -EINVAL;
}

static int check_fields(const json_t *object, const struct field *fields, struct place *place);

static int check_list(const json_t *list, const struct field *fields, struct place *place)
{
	const json_t *item;
	size_t i;

	if (!json_is_array(list))
		return refuse(place, "must be a list");
	json_array_foreach(list, i, item) {
		size_t before = enter(place, "[%zu]", i);
		int err = 0;

		if (fields)
			err = check_fields(item, fields, place);
		else if (!json_is_string(item))
			err = refuse(place, "must be a string");
		if (err)
			return err;
		leave(place, before);
	}
	return 0;
}

/* A value of it that was not finite is null. */
static int check_reals(const json_t *list, struct place *place)
{
	const json_t *item;
	size_t i;

	if (!json_is_array(list))
		return refuse(place, "must be a list");
	json_array_foreach(list, i, item)
		if (!json_is_null(item) && (!json_is_number(item) || json_number_value(item) < 0))
			return refuse(place, "must hold numbers that are not negative");
	return 0;
}

static int check_map(json_t *map, const struct field *fields, struct place *place)
{
	const char *name;
	json_t *value;

	if (!json_is_object(map))
		return refuse(place, "must be an object");
	json_object_foreach(map, name, value) {
		size_t before = enter(place, ".%s", name);
		int err = check_fields(value, fields, place);

		if (err)
			return err;
		leave(place, before);
	}
	return 0;
}

static int check_pair(const json_t *pair, struct place *place)
{
	double end[2] = { 0, 0 };
	int known = 0;

	if (!json_is_array(pair) || json_array_size(pair) != 2)
		return refuse(place, "must be a list of two numbers");
	for (size_t i = 0; i < 2; i++) {
		const json_t *value = json_array_get(pair, i);

		if (json_is_null(value))
			continue;
		if (!json_is_number(value) || json_number_value(value) < 0)
			return refuse(place, "must hold numbers that are not negative");
		end[i] = json_number_value(value);
		known++;
	}
	if (known == 2 && end[0] > end[1])
		return refuse(place, "must be ascending");
	return 0;
}

/* NULL, or what the value should have been. */
static const char *check_scalar(const json_t *value, enum kind kind)
{
	double x = json_number_value(value);
	const char *s = json_string_value(value);

	switch (kind) {
	case STRING:
		return s ? NULL : "must be a string";
	case WHOLE:
		return json_is_integer(value) && x >= 0 ? NULL :
			"must be a whole number that is not negative";
	case REAL:
		return json_is_number(value) && x >= 0 ? NULL :
			"must be a number that is not negative";
	case SHARE:
		return json_is_number(value) && x >= 0 && x <= 1 ? NULL :
			"must be a number from 0 to 1";
	case FLAG:
		return json_is_boolean(value) ? NULL : "must be true or false";
	case TYPE:
		return s && (!strcmp(s, "data") || !strcmp(s, "unified")) ? NULL :
			"must be \"data\" or \"unified\"";
	case METHOD:
		return profile_find_method(s) >= 0 ? NULL : "is not a way to find a cache";
	case INCLUSION:
		return profile_find_inclusion(s) >= 0 ? NULL :
			"must be \"exclusive\" or \"non-exclusive\"";
	case WAYS:
		return json_is_integer(value) && x >= -1 ? NULL :
			"must be a whole number, -1 for fully associative";
	default:
		return "is not a single value";
	}
}

static int check_value(json_t *value, const struct field *field, struct place *place)
{
	const char *why;

	switch (field->kind) {
	case OBJECT:
		return check_fields(value, field->fields, place);
	case LIST:
	case STRINGS:
		return check_list(value, field->fields, place);
	case REALS:
		return check_reals(value, place);
	case MAP:
		return check_map(value, field->fields, place);
	case PAIR:
		return check_pair(value, place);
	default:
		why = check_scalar(value, field->kind);
		return why ? refuse(place, why) : 0;
	}
}

/* A size lies in its own interval. */
static int check_order(const json_t *object, struct place *place)
{
	json_int_t low = json_integer_value(json_object_get(object, "size_low"));
	json_int_t size = json_integer_value(json_object_get(object, "size"));
	json_int_t high = json_integer_value(json_object_get(object, "size_high"));

	if ((low && high && low > high) || (size && low > size) || (size && high && size > high))
		return refuse(place, "size must lie within size_low to size_high");
	return 0;
}

static int check_fields(const json_t *object, const struct field *fields, struct place *place)
{
	if (!json_is_object(object))
		return refuse(place, "must be an object");
	for (const struct field *field = fields; field->name; field++) {
		json_t *value = json_object_get(object, field->name);
		size_t before = enter(place, ".%s", field->name);
		int err = 0;

		if (!value && field->flags & MUST)
			err = refuse(place, "is missing");
		else if (value && !(json_is_null(value) && field->flags & NIL))
			err = check_value(value, field, place);
		if (err)
			return err;
		leave(place, before);
	}
	return check_order(object, place);
}

int profile_check(json_t *root, const char *name)
{
	const char *schema = json_string_value(json_object_get(root, "schema"));
	struct place place = { .len = 0 };

	enter(&place, "%s: ", name);
	if (!schema || strncmp(schema, "sonde-profile-", strlen("sonde-profile-")) != 0)
		return refuse(&place, "not a profile: no schema \"" SONDE_PROFILE_SCHEMA "\"");
	if (strcmp(schema, SONDE_PROFILE_SCHEMA) != 0) {
		sonde_log("%s: schema \"%s\", but this library reads \"%s\"; run sonde report",
			  name, schema, SONDE_PROFILE_SCHEMA);
		return -EPROTO;
	}
	return check_fields(root, profile_fields, &place);
}
