/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What fields a profile has: documents are held against it, the schema is made of it. */
#ifndef SONDE_LIB_PROFILE_FIELDS_H
#define SONDE_LIB_PROFILE_FIELDS_H

enum kind {
	STRING,
	WHOLE,		/* an integer, not negative */
	REAL,		/* a number, not negative */
	SHARE,		/* a number, 0 to 1 */
	FLAG,
	TYPE,		/* "data" or "unified" */
	METHOD,		/* enum sonde_cache_method as a word */
	INCLUSION,	/* enum sonde_cache_holding as a word */
	WAYS,		/* an integer, -1 or more */
	PAIR,		/* two REALs, ascending; either may be null */
	OBJECT,		/* with .fields */
	LIST,		/* of objects with .fields */
	STRINGS,	/* list of strings */
	REALS,		/* list of REALs */
	MAP,		/* an object whose every value is an object with .fields */
};

enum {
	MUST = 1,	/* the field is there */
	NIL = 2,	/* and may be null */
};

/* A table ends with .name NULL. */
struct field {
	const char *name;
	enum kind kind;
	int flags;
	const struct field *fields;
};

extern const struct field profile_fields[];	/* of the whole, but for its schema */

#endif
