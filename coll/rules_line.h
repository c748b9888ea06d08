/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rules_line - where in the text of a profile something is */
#ifndef SONDE_COLL_RULES_LINE_H
#define SONDE_COLL_RULES_LINE_H

#include <stddef.h>

/*
 * The line of key @list of "collectives"; with @rule, from 1, of that element of
 * it; with a @key, of that key in it, or, without @rule, in the object that @list
 * is. 0 if it is not there.
 */
unsigned int coll_rules_line(const char *text, const char *list, size_t rule, const char *key);

#endif
