// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * profile_schema - the tables of profile_check as JSON Schema (draft 2020-12)
 *
 * One source for both: what this library refuses, any validator refuses. Two things
 * are beyond it, that a pair ascends and that a size lies within its interval.
 */
#include <errno.h>
#include "profile.h"
#include "profile_fields.h"

static json_t *make_object(const struct field *fields);

static json_t *make_words(const char *(*get_word)(int))
{
	json_t *words = json_array();
	const char *word;

	for (int i = 0; (word = get_word(i)); i++)
		json_array_append_new(words, json_string(word));
	return json_pack("{s:o}", "enum", words);
}

static const char *get_type(int i)
{
	static const char *const words[] = { "data", "unified", NULL };

	return words[i];
}

static json_t *make_reals(void)
{
	return json_pack("{s:s, s:{s:[ss], s:i}}", "type", "array", "items", "type", "number",
			 "null", "minimum", 0);
}

static json_t *make_kind(const struct field *field)
{
	switch (field->kind) {
	case STRING:
		return json_pack("{s:s}", "type", "string");
	case WHOLE:
		return json_pack("{s:s, s:i}", "type", "integer", "minimum", 0);
	case REAL:
		return json_pack("{s:s, s:i}", "type", "number", "minimum", 0);
	case SHARE:
		return json_pack("{s:s, s:i, s:i}", "type", "number", "minimum", 0, "maximum", 1);
	case FLAG:
		return json_pack("{s:s}", "type", "boolean");
	case TYPE:
		return make_words(get_type);
	case METHOD:
		return make_words(profile_method_word);
	case INCLUSION:
		return make_words(profile_inclusion_word);
	case WAYS:
		return json_pack("{s:s, s:i}", "type", "integer", "minimum", -1);
	case PAIR:
		return json_pack("{s:s, s:{s:[ss], s:i}, s:i, s:i}", "type", "array", "items",
				 "type", "number", "null", "minimum", 0, "minItems", 2,
				 "maxItems", 2);
	case OBJECT:
		return make_object(field->fields);
	case LIST:
		return json_pack("{s:s, s:o}", "type", "array", "items", make_object(field->fields));
	case STRINGS:
		return json_pack("{s:s, s:{s:s}}", "type", "array", "items", "type", "string");
	case REALS:
		return make_reals();
	case MAP:
		return json_pack("{s:s, s:o}", "type", "object", "additionalProperties",
				 make_object(field->fields));
	}
	return NULL;
}

static json_t *make_field(const struct field *field)
{
	json_t *schema = make_kind(field);

	return field->flags & NIL ? json_pack("{s:[{s:s}, o]}", "anyOf", "type", "null", schema)
				  : schema;
}

static json_t *make_object(const struct field *fields)
{
	json_t *properties = json_object(), *required = json_array();

	for (const struct field *field = fields; field->name; field++) {
		json_object_set_new(properties, field->name, make_field(field));
		if (field->flags & MUST)
			json_array_append_new(required, json_string(field->name));
	}
	return json_pack("{s:s, s:o, s:o}", "type", "object", "properties", properties,
			 "required", required);
}

int sonde_profile_schema(FILE *to)
{
	json_t *root = make_object(profile_fields);
	int err = 0;

	json_object_set_new(json_object_get(root, "properties"), "schema",
			    json_pack("{s:s}", "const", SONDE_PROFILE_SCHEMA));
	json_array_insert_new(json_object_get(root, "required"), 0, json_string("schema"));
	json_object_set_new(root, "$schema",
			    json_string("https://json-schema.org/draft/2020-12/schema"));
	json_object_set_new(root, "title", json_string(SONDE_PROFILE_SCHEMA));
	if (!root)
		return -ENOMEM;
	if (json_dumpf(root, to, JSON_INDENT(1) | JSON_SORT_KEYS) || fputc('\n', to) < 0)
		err = -EIO;
	json_decref(root);
	return err;
}
