/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fields of two profiles side by side, whatever sections they have. */
#ifndef SONDE_TOOLS_COMPARE_FIELDS_H
#define SONDE_TOOLS_COMPARE_FIELDS_H

#include <jansson.h>

enum field_verdict {
	FIELD_SAME,
	FIELD_WITHIN,	/* differs, and the 95 % intervals overlap, or the runs do */
	FIELD_APART,	/* they do not, but there are too few runs to say that it is no chance */
	FIELD_DIFFERS,
	FIELD_UNSURE,	/* differs, and has no interval to say whether that means anything */
	FIELD_ONE,	/* known on one side only */
};

/**
 * struct field - a value of both profiles
 * @section: the profile's field that it is in
 * @what: where in it, for people: "L2 size"
 * @name: its key
 * @value: of each, borrowed; NULL if it is not known
 * @low: ends of the intervals; equal to @high if there are none
 * @middle: of several runs the median; NaN if it is no number
 * @is_fact: nothing that a measurement finds out
 */
struct field {
	char section[32];
	char what[96];
	const char *name;
	const json_t *value[2];
	double low[2], high[2];
	double middle[2];
	int is_fact;
	enum field_verdict verdict;
};

struct fields {
	struct field *v;
	size_t n, room;
};

/* Whether a key says that it is in a unit: "latency_ns", "ns". */
int is_unit(const char *name, const char *unit);

/* 5 and 5.0 are the same value. */
int is_equal_value(const json_t *a, const json_t *b);

/* Return: 0, -ENOMEM. To be freed by free(fields->v) in any case. */
int fields_collect(struct fields *fields, const json_t *a, const json_t *b);

#endif
