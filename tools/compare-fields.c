// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * compare-fields - walk two profiles together
 *
 * Nothing here knows the sections: elements of lists are told apart by what they
 * are of (a level, a size, CPUs), and a number's interval stands beside it as
 * NAME_low and NAME_high, or NAME_ci.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "compare-fields.h"
#include "text.h"

struct walk {
	struct fields *fields;
	const char *section;
	int err;
};

int is_unit(const char *name, const char *unit)
{
	const size_t n = strlen(name), u = strlen(unit);

	return n >= u && !strcmp(name + n - u, unit) && (n == u || name[n - u - 1] == '_');
}

/* How it was measured, and what only repeats or explains the rest. */
static int is_left_out(const char *name)
{
	static const char *const names[] = {
		"schema", "created", "elapsed_s", "samples", "windows", "discarded", "confidence",
		"sweeps", "capacity_curve", "claims", "claim_sources", "claimed", "claimed_only",
		"notes", "pairs", "ratio", "why", "agrees", "cpuset", "collectives", "softness",
		"pooled", "overhead_ticks", "step_ticks", "matrix", "representative",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return 1;
	return 0;
}

/* Measured, though they are whole numbers. */
static int is_estimate(const char *name)
{
	static const char *const ends[] = { "hz", "pages", "cycles", "ns", "bytes_s" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (is_unit(name, ends[i]))
			return 1;
	return 0;
}

static int ends_in(const char *name, const char *end)
{
	size_t len = strlen(name), n = strlen(end);

	return len > n && !strcmp(name + len - n, end);
}

static int is_interval(const json_t *object, const char *name)
{
	char base[64];
	const char *end = strrchr(name, '_');

	if (!ends_in(name, "_low") && !ends_in(name, "_high") && !ends_in(name, "_ci"))
		return 0;
	snprintf(base, sizeof(base), "%.*s", (int)(end - name), name);
	return json_object_get(object, base) != NULL;
}

/* Nanoseconds were cycles, timed together: their interval is the cycles'. */
static int get_cycles_interval(const json_t *object, const char *name, double *low, double *high)
{
	const json_t *ci = json_object_get(object, "latency_cycles_ci");
	double cycles = json_number_value(json_object_get(object, "latency_cycles"));
	double ns = json_number_value(json_object_get(object, name));

	if (strcmp(name, "latency_ns") != 0 || json_array_size(ci) != 2 || cycles <= 0)
		return 0;
	*low = json_number_value(json_array_get(ci, 0)) * ns / cycles;
	*high = json_number_value(json_array_get(ci, 1)) * ns / cycles;
	return 1;
}

static int get_interval(const json_t *object, const char *name, double *low, double *high)
{
	char key[64];
	const json_t *a, *b;

	snprintf(key, sizeof(key), "%s_ci", name);
	a = json_object_get(object, key);
	b = json_array_get(a, 1);
	a = json_array_get(a, 0);
	if (!a) {
		snprintf(key, sizeof(key), "%s_low", name);
		a = json_object_get(object, key);
		snprintf(key, sizeof(key), "%s_high", name);
		b = json_object_get(object, key);
	}
	if (!json_is_number(a) || !json_is_number(b))
		return get_cycles_interval(object, name, low, high);
	*low = json_number_value(a);
	*high = json_number_value(b);
	return 1;
}

int is_equal_value(const json_t *a, const json_t *b)
{
	if (json_is_number(a) && json_is_number(b))
		return !(json_number_value(a) < json_number_value(b)) &&
		       !(json_number_value(a) > json_number_value(b));
	return json_equal(a, b);
}

/* Sections that say what there is, but for numbers that were measured for it. */
static int is_of_facts(const char *section)
{
	static const char *const sections[] = { "machine", "clock", "backends", "module", "cpu",
						"sonde_version" };

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		if (!strcmp(section, sections[i]))
			return 1;
	return 0;
}

/* Of one run a side. Intervals hold what happened within a run: that two of them are
 * apart does not say that another run would not bring as much. */
static enum field_verdict judge(const struct field *f, int has_intervals)
{
	if (!f->value[0] || !f->value[1])
		return FIELD_ONE;
	if (is_equal_value(f->value[0], f->value[1]))
		return FIELD_SAME;
	if (f->is_fact)
		return FIELD_DIFFERS;
	if (has_intervals)
		return f->low[0] <= f->high[1] && f->low[1] <= f->high[0] ? FIELD_WITHIN
									  : FIELD_APART;
	return json_is_real(f->value[0]) || json_is_real(f->value[1]) || is_estimate(f->name)
	       ? FIELD_UNSURE : FIELD_APART;
}

static const json_t *get_known(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	return json_is_null(value) ? NULL : value;
}

static void put_field(struct walk *w, const struct field *f)
{
	if (w->fields->n == w->fields->room) {
		size_t room = 2 * w->fields->room + 64;
		struct field *v = realloc(w->fields->v, room * sizeof(*v));

		if (!v) {
			w->err = -ENOMEM;
			return;
		}
		w->fields->v = v;
		w->fields->room = room;
	}
	w->fields->v[w->fields->n++] = *f;
}

static void add_field(struct walk *w, const char *where, const char *name, const json_t *objects[2])
{
	struct field f = {
		.name = name,
		.value = { get_known(objects[0], name), get_known(objects[1], name) },
	};
	int has_intervals = 1;

	if (!f.value[0] && !f.value[1])
		return;
	for (int i = 0; i < 2; i++) {
		has_intervals &= get_interval(objects[i], name, &f.low[i], &f.high[i]);
		f.middle[i] = json_is_number(f.value[i]) ? json_number_value(f.value[i]) : NAN;
	}
	f.is_fact = !has_intervals && is_of_facts(w->section) && !is_estimate(name);
	snprintf(f.section, sizeof(f.section), "%s", w->section);
	snprintf(f.what, sizeof(f.what), "%s%s%s", where, *where ? " " : "", name);
	f.verdict = judge(&f, has_intervals);
	put_field(w, &f);
}

/* An element that the other list does not have. */
static void add_element(struct walk *w, const char *where, const json_t *element, int side)
{
	struct field f = { .name = "", .verdict = FIELD_ONE, .middle = { NAN, NAN } };

	f.value[side] = element;
	snprintf(f.section, sizeof(f.section), "%s", w->section);
	snprintf(f.what, sizeof(f.what), "%s", where);
	put_field(w, &f);
}

/* Numbers as "CPUs 0 1", at most as many as there is room for. */
static void name_cpus(const json_t *list, char text[TEXT_LEN])
{
	size_t at = (size_t)snprintf(text, TEXT_LEN, "CPUs");

	for (size_t i = 0; i < json_array_size(list) && at < TEXT_LEN - 12; i++)
		at += (size_t)snprintf(text + at, TEXT_LEN - at, " %d",
				       (int)json_integer_value(json_array_get(list, i)));
}

/* What a value says of its element; *text stays empty if nothing. */
static void name_part(const char *key, const json_t *value, char text[TEXT_LEN])
{
	const int number = (int)json_integer_value(value);

	*text = '\0';
	if (json_is_string(value))
		snprintf(text, TEXT_LEN, "%s%.50s", strcmp(key, "cpus") ? "" : "CPUs ",
			 json_string_value(value));
	else if (!strcmp(key, "cpus") && json_is_array(value))
		name_cpus(value, text);
	else if (!json_is_integer(value) || !strcmp(key, "pages"))
		return;
	else if (!strcmp(key, "level"))
		snprintf(text, TEXT_LEN, "L%d", number);
	else if (!strcmp(key, "node") || !strcmp(key, "cores") || !strcmp(key, "cpu"))
		snprintf(text, TEXT_LEN, "%s %d", key, number);
	else
		text_size(text, (uint64_t)json_integer_value(value));
}

/* What an element of a list is of, or an empty string. */
static char *identify(const json_t *element, char *text, size_t len)
{
	static const char *const keys[] = {
		"method", "level", "operation", "way", "bytes", "size", "pages", "node", "cores", "cpu", "cpus",
	};
	size_t at = 0;

	*text = '\0';
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && at < len; i++) {
		const json_t *value = get_known(element, keys[i]);
		char part[TEXT_LEN];

		/* A cache has a level; its size, and by what method, is what was measured. */
		if (!value || (get_known(element, "level") &&
			       (!strcmp(keys[i], "size") || !strcmp(keys[i], "method"))))
			continue;
		name_part(keys[i], value, part);
		if (*part)
			at += (size_t)snprintf(text + at, len - at, "%s%s", at ? " " : "", part);
	}
	return text;
}

static void walk_objects(struct walk *w, const char *where, const json_t *objects[2]);

static const json_t *find_element(const json_t *list, const char *identity, size_t index)
{
	char text[64];

	if (!*identity)
		return json_array_get(list, index);
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!strcmp(identify(json_array_get(list, i), text, sizeof(text)), identity))
			return json_array_get(list, i);
	return NULL;
}

/* Elements of @side's list; of the second one only what the first does not have. */
static void walk_list(struct walk *w, const char *where, const char *name,
		      const json_t *lists[2], int side)
{
	for (size_t i = 0; i < json_array_size(lists[side]); i++) {
		const json_t *pair[2];
		char identity[64], below[96];

		pair[side] = json_array_get(lists[side], i);
		identify(pair[side], identity, sizeof(identity));
		pair[!side] = find_element(lists[!side], identity, i);
		if (side && pair[0])
			continue;
		if (*identity)
			snprintf(below, sizeof(below), "%s%s%s", where, *where ? " " : "", identity);
		else
			snprintf(below, sizeof(below), "%s%s%s %zu", where, *where ? " " : "",
				 *w->section && strcmp(name, w->section) ? name : "step", i + 1);
		if (pair[!side])
			walk_objects(w, below, pair);
		else
			add_element(w, below, pair[side], side);
	}
}

static void walk_value(struct walk *w, const char *where, const char *name,
		       const json_t *objects[2])
{
	const json_t *values[2] = { get_known(objects[0], name), get_known(objects[1], name) };
	const json_t *any = values[0] ? values[0] : values[1];
	char below[96];

	if (json_is_object(any)) {
		snprintf(below, sizeof(below), "%s%s%s", where, *where ? " " : "",
			 strcmp(name, w->section) ? name : "");
		walk_objects(w, below, values);
	} else if (json_is_object(json_array_get(any, 0))) {
		walk_list(w, where, name, values, 0);
		walk_list(w, where, name, values, 1);
	} else {
		add_field(w, where, name, objects);
	}
}

static void walk_objects(struct walk *w, const char *where, const json_t *objects[2])
{
	for (int side = 0; side < 2; side++) {
		const char *name;
		json_t *value;

		json_object_foreach((json_t *)(uintptr_t)objects[side], name, value) {
			if (w->err || is_left_out(name) || is_interval(objects[side], name) ||
			    (side && json_object_get(objects[0], name)))
				continue;
			walk_value(w, where, name, objects);
		}
	}
}

int fields_collect(struct fields *fields, const json_t *a, const json_t *b)
{
	const json_t *roots[2] = { a, b };
	struct walk w = { .fields = fields };

	for (int side = 0; side < 2; side++) {
		const char *name;
		json_t *value;

		json_object_foreach((json_t *)(uintptr_t)roots[side], name, value) {
			if (is_left_out(name) || is_interval(roots[side], name) ||
			    (side && json_object_get(a, name)))
				continue;
			w.section = name;
			walk_value(&w, "", name, roots);
		}
	}
	return w.err;
}
