// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * rules_line - a JSON reader gives values; people need lines
 *
 * The text was read as JSON before, so a walk over braces and strings is enough:
 * a key is a string before a colon, and how deep it is says what of.
 */
#include <string.h>

#include "rules_line.h"

#define KEY	64

/**
 * struct walk - where we are
 * @depth: open braces and brackets
 * @last: the last key at each depth that matters
 * @rule: elements begun of the list we are in
 */
struct walk {
	unsigned int line, depth;
	char last[5][KEY];
	size_t rule;
};

/* Past a string, whose begin @at is; its text, cut. */
static const char *read_string(const char *at, char word[KEY])
{
	size_t n = 0;

	for (at++; *at && *at != '"'; at++) {
		if (*at == '\\' && at[1])
			at++;
		if (n < KEY - 1)
			word[n++] = *at;
	}
	word[n] = '\0';
	return *at ? at + 1 : at;
}

static int is_in_list(const struct walk *walk, const char *list)
{
	return !strcmp(walk->last[1], "collectives") && !strcmp(walk->last[2], list);
}

static int is_key(const char *at)
{
	at += strspn(at, " \t\r\n");
	return *at == ':';
}

/* What @walk stands on is what is looked for. */
static int is_found(const struct walk *walk, const char *list, size_t rule, const char *key)
{
	if (!is_in_list(walk, list))
		return 0;
	if (!rule && key && *key)
		return walk->depth == 3 && !strcmp(walk->last[3], key);
	if (!rule)
		return walk->depth == 2;
	if (walk->rule != rule || walk->depth != 4)
		return 0;
	return !key || !*key || !strcmp(walk->last[4], key);
}

unsigned int coll_rules_line(const char *text, const char *list, size_t rule, const char *key)
{
	struct walk walk = { .line = 1 };
	char word[KEY];

	while (*text) {
		const char c = *text;

		if (c == '"') {
			text = read_string(text, word);
			if (walk.depth < 5 && walk.depth && is_key(text)) {
				strcpy(walk.last[walk.depth], word);
				if (is_found(&walk, list, rule, key))
					return walk.line;
			}
			continue;
		}
		if (c == '{' || c == '[') {
			if (c == '[' && ++walk.depth == 3)
				walk.rule = 0;
			else if (c == '{' && ++walk.depth == 4)
				walk.rule++;
			if (walk.depth == 4 && rule && (!key || !*key) &&
			    is_found(&walk, list, rule, key))
				return walk.line;
		}
		if (c == '}' || c == ']')
			walk.depth--;
		walk.line += c == '\n';
		text++;
	}
	return 0;
}
