// SPDX-License-Identifier: LGPL-2.1-or-later
/* choice - names of compositions */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms.h"
#include "choice.h"

static const struct coll_algorithm *find_word(const char *word, size_t len, enum coll_kind kind)
{
	for (size_t i = 0; i < coll_nalgorithms; i++)
		if (coll_algorithms[i].kind == kind &&
		    strlen(coll_algorithms[i].name) == len &&
		    !memcmp(coll_algorithms[i].name, word, len))
			return &coll_algorithms[i];
	return NULL;
}

/* "name" or "name:number". Return: the line of the table, or NULL and a sentence. */
static const struct coll_algorithm *parse_part(const char *part, size_t len, enum coll_kind kind,
					       int *parameter, char *why, size_t whylen)
{
	static const char *const kinds[] = { "outer algorithm", "exchange between nodes",
					     "exchange in a node" };
	const char *colon = memchr(part, ':', len);
	const struct coll_algorithm *found;
	long value;
	char *end;

	found = find_word(part, colon ? (size_t)(colon - part) : len, kind);
	if (!found) {
		snprintf(why, whylen, "\"%.*s\" is no %s", (int)len, part, kinds[kind]);
		return NULL;
	}
	*parameter = found->usual;
	if (!colon)
		return found;
	errno = 0;
	value = strtol(colon + 1, &end, 10);
	if (errno || end != part + len || end == colon + 1 || value < found->least ||
	    value > found->most) {
		snprintf(why, whylen, found->most ? "%s takes %d to %d, not \"%.*s\"" :
			 "%s takes no number", found->name, found->least, found->most,
			 (int)(part + len - colon - 1), colon + 1);
		return NULL;
	}
	*parameter = (int)value;
	return found;
}

/* Without numbers that were not said. */
static void set_usual(struct coll_choice *choice)
{
	int has_nodes = choice->outer == COLL_SA || choice->outer == COLL_RD ||
			choice->outer == COLL_LEADER;

	if (choice->outer == COLL_FLAT || has_nodes) {
		choice->inter = COLL_WINDOW;
		choice->parameter = coll_algorithm_find(COLL_INTER, COLL_WINDOW)->usual;
	}
	if (choice->outer == COLL_LOCAL || has_nodes)
		choice->way = COLL_SHM;
}

static int parse_rest(struct coll_choice *choice, const char *part, char *why, size_t len)
{
	const struct coll_algorithm *found;
	int unused;

	for (; *part; part += strcspn(part, "/")) {
		size_t n;

		part += *part == '/';
		n = strcspn(part, "/");
		found = choice->inter == COLL_NO_INTER ? NULL :
			find_word(part, strcspn(part, ":/"), COLL_INTER);
		if (found) {
			found = parse_part(part, n, COLL_INTER, &choice->parameter, why, len);
			if (!found)
				return -EINVAL;
			choice->inter = (enum coll_inter)found->id;
			continue;
		}
		if (choice->way == COLL_NO_WAY) {
			snprintf(why, len, "\"%.*s\" does not belong there", (int)n, part);
			return -EINVAL;
		}
		found = parse_part(part, n, COLL_IN_NODE, &unused, why, len);
		if (!found)
			return -EINVAL;
		choice->way = (enum coll_way)found->id;
	}
	return 0;
}

int coll_choice_parse(struct coll_choice *choice, const char *name, char *why, size_t len)
{
	struct coll_choice c = { .k = 0 };
	const size_t n = strcspn(name, "/");
	const struct coll_algorithm *outer = parse_part(name, n, COLL_OUTER, &c.k, why, len);

	if (!outer)
		return -EINVAL;
	c.outer = (enum coll_outer)outer->id;
	set_usual(&c);
	if (parse_rest(&c, name + n, why, len))
		return -EINVAL;
	*choice = c;
	return 0;
}

char *coll_choice_name(const struct coll_choice *choice, char name[COLL_NAME])
{
	const struct coll_algorithm *outer = coll_algorithm_find(COLL_OUTER, choice->outer);
	const struct coll_algorithm *inter = coll_algorithm_find(COLL_INTER, choice->inter);
	const struct coll_algorithm *way = coll_algorithm_find(COLL_IN_NODE, choice->way);
	char k[16] = "", parameter[16] = "";

	if (outer->most)
		snprintf(k, sizeof(k), ":%d", choice->k);
	if (inter && inter->most)
		snprintf(parameter, sizeof(parameter), ":%d", choice->parameter);
	snprintf(name, COLL_NAME, "%s%s%s%s%s%s%s", outer->name, k, inter ? "/" : "",
		 inter ? inter->name : "", parameter, way ? "/" : "", way ? way->name : "");
	return name;
}
