// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * class_json - a class that somebody fitted to a machine of their own
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <jansson.h>
#include "class.h"

#define SCHEMA "sonde-sim-class-1"

/* What is said when it is refused; keys are found again in the text for their lines. */
struct refusal {
	const char *text;
	char *why;
	size_t len;
};

__attribute__((format(printf, 2, 3)))
static int refuse(const struct refusal *r, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(r->why, r->len, format, ap);
	va_end(ap);
	return -EINVAL;
}

static unsigned int find_line(const char *text, const char *key)
{
	unsigned int line = 1;
	size_t n = strlen(key);

	for (const char *at = text; *at; at++) {
		line += *at == '\n';
		if (*at == '"' && !strncmp(at + 1, key, n) && at[n + 1] == '"')
			return line;
	}
	return 1;
}

static size_t find_field(const char *name)
{
	size_t f = 0;

	while (f < A2A_FIELDS && strcmp(name, a2a_fields[f].name) != 0)
		f++;
	return f;
}

static int read_field(const struct refusal *r, size_t f, const json_t *value,
		      struct a2a_class *class)
{
	const struct a2a_field *field = &a2a_fields[f];
	double x = json_number_value(value);
	int is_whole = strcmp(field->unit, "ns") != 0 && strcmp(field->unit, "ns/B") != 0;

	if (!json_is_number(value) || !(x >= 0 && x <= field->most) ||
	    (is_whole && x != floor(x)) || (x < 1 && !strcmp(field->name, "packet_bytes")))
		return refuse(r, "line %u: \"%s\" is not a %s from %d to %g",
			      find_line(r->text, field->name), field->name,
			      is_whole ? "whole number" : "number",
			      !strcmp(field->name, "packet_bytes"), field->most);
	*a2a_value(class, f) = x;
	return 0;
}

static int read_parameters(const struct refusal *r, json_t *parameters, int has_base,
			   struct a2a_class *class)
{
	const char *key;
	json_t *value;
	int err = 0;

	if (!json_is_object(parameters))
		return refuse(r, "\"parameters\" is not an object");
	json_object_foreach(parameters, key, value) {
		size_t f = find_field(key);

		if (f == A2A_FIELDS)
			return refuse(r, "line %u: no parameter is called \"%.40s\"",
				      find_line(r->text, key), key);
		err = err ? err : read_field(r, f, value, class);
	}
	for (size_t f = 0; f < A2A_FIELDS && !err && !has_base; f++)
		if (!json_object_get(parameters, a2a_fields[f].name))
			err = refuse(r, "parameter \"%s\" is missing, and there is no \"base\"",
				     a2a_fields[f].name);
	return err;
}

static int read_base(const struct refusal *r, const json_t *base, struct a2a_class *class)
{
	const char *name = json_string_value(base);
	const struct a2a_class *found = name ? a2a_class_find(name) : NULL;

	if (!base)
		return 0;
	if (!found)
		return refuse(r, "line %u: \"base\" is not the name of a built-in class",
			      find_line(r->text, "base"));
	*class = *found;
	return 0;
}

static int read_name(const struct refusal *r, const json_t *name, struct a2a_class *class)
{
	const char *text = json_string_value(name);

	if (!text || !*text || strlen(text) >= sizeof(class->name))
		return refuse(r, "\"name\" is not a string of 1 to %zu bytes",
			      sizeof(class->name) - 1);
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			return refuse(r, "line %u: \"name\" has a control character",
				      find_line(r->text, "name"));
	memset(class->name, 0, sizeof(class->name));
	memcpy(class->name, text, strlen(text));
	return 0;
}

static int check_keys(const struct refusal *r, json_t *root)
{
	static const char *const known[] = { "schema", "name", "base", "parameters", "comment" };
	const char *key, *schema = json_string_value(json_object_get(root, "schema"));
	json_t *value;

	if (!schema || strcmp(schema, SCHEMA) != 0)
		return refuse(r, "\"schema\" is not \"" SCHEMA "\"");
	json_object_foreach(root, key, value) {
		size_t i = 0;

		while (i < sizeof(known) / sizeof(known[0]) && strcmp(key, known[i]) != 0)
			i++;
		if (i == sizeof(known) / sizeof(known[0]))
			return refuse(r, "line %u: unknown key \"%.40s\"", find_line(r->text, key),
				      key);
	}
	return 0;
}

int a2a_class_parse(const char *text, struct a2a_class *class, char *why, size_t len)
{
	const struct refusal r = { text, why, len };
	struct a2a_class made = { .name = "" };
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error), *base;
	int err;

	if (!root)
		return refuse(&r, "line %d: %s", error.line, error.text);
	base = json_object_get(root, "base");
	err = json_is_object(root) ? check_keys(&r, root) : refuse(&r, "it is not an object");
	if (!err)
		err = read_base(&r, base, &made);
	if (!err)
		err = read_name(&r, json_object_get(root, "name"), &made);
	if (!err)
		err = read_parameters(&r, json_object_get(root, "parameters"), !!base, &made);
	json_decref(root);
	if (!err)
		*class = made;
	return err;
}
