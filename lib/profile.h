/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside the library: what the parts of the profile share. */
#ifndef SONDE_LIB_PROFILE_H
#define SONDE_LIB_PROFILE_H

#include <stdint.h>
#include <jansson.h>
#include <sonde/probe.h>
#include <sonde/profile.h>

struct sonde_profile {
	json_t *root;
};

/* Values; each is NULL for want of memory, JSON's null for what is not known. */
json_t *profile_real(double x);			/* rounded; null if not finite */
json_t *profile_whole(double x);		/* to the next integer; likewise */
json_t *profile_count(uint64_t x);		/* null if 0 */
json_t *profile_string(const char *s);		/* null if NULL; made UTF-8 */

/* Takes over @value, also on failure. Return: 0, -ENOMEM (also if @value is NULL). */
int profile_set(json_t *object, const char *name, json_t *value);

/* Sets, classes and how a level was found: its fields; those that are numbers back. */
int profile_set_geometry(json_t *object, const struct sonde_cache_level *level);
void profile_get_geometry(const json_t *object, struct sonde_cache_level *level);

/* enum sonde_cache_method, enum sonde_cache_holding; -1 if it is no such word. */
int profile_find_method(const char *word);
int profile_find_inclusion(const char *word);
const char *profile_method_word(int i);		/* NULL after the last */
const char *profile_inclusion_word(int i);

/* Room for a machine's identity. */
#define PROFILE_IDENTITY 17

/* The hash of sonde_profile_is_of(). 0, -ENOMEM. */
int profile_identity(const struct sonde_topology *topo, char text[PROFILE_IDENTITY]);

/**
 * profile_check() - hold a document against the schema
 * @root: what was read
 * @name: of the file, for the log
 *
 * What the schema does not know is let through, so that a newer writer of the
 * same schema may add fields.
 *
 * Return: 0, -EINVAL, -EPROTO (another version of the schema); the log says
 * which field and why.
 */
int profile_check(json_t *root, const char *name);

/* profile_values.c */

/* Takes over @value, also on failure; frees the list then. */
json_t *profile_append(json_t *list, json_t *value);
/* 0 is what could not be measured. */
json_t *profile_measured(double x);
/* @object, or NULL and it is freed. */
json_t *profile_unless(int failed, json_t *object);
json_t *profile_interval(const struct sonde_interval *ci);

#endif
