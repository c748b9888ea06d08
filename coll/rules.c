// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * rules - the part "collectives" of the profile
 *
 *   "collectives": {
 *     "alltoall": [
 *       { "nodes": [1, 1], "ranks": [2, 8], "ppn": [2, 8], "bytes": [0, 4096],
 *         "algorithm": "local/shm", "why": "half of MPI's time" },
 *       ...
 *     ],
 *     "alltoallv": [ ... ],
 *     "network": { "class": "onload", "distribution": "dearer" },
 *     "about": { how it was measured; anything }
 *   }
 *
 * Ranges are from and up to; one that is left out holds for all, and so do
 * "in_place", which is true or false, and "mapping". The first rule that matches
 * and that can be done is taken. What "network" says goes into the usual rules. A
 * profile with one wrong key is not used at all: the job goes on with the usual
 * rules.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "algorithms.h"
#include "explain.h"
#include "plan.h"
#include "rules.h"
#include "rules_line.h"

/* Far more than any profile; what is larger is none. */
#define FILE_MOST	((size_t)16 << 20)

static const char *const op_keys[COLL_OPS] = { "alltoall", "alltoallv" };

/* ---- one rule ----------------------------------------------------------- */

static int parse_range(const json_t *value, uint64_t range[2])
{
	json_int_t from, to;

	if (!json_is_array(value) || json_array_size(value) != 2 ||
	    !json_is_integer(json_array_get(value, 0)) ||
	    !json_is_integer(json_array_get(value, 1)))
		return -EINVAL;
	from = json_integer_value(json_array_get(value, 0));
	to = json_integer_value(json_array_get(value, 1));
	if (from < 0 || to < from)
		return -EINVAL;
	range[0] = (uint64_t)from;
	range[1] = (uint64_t)to;
	return 0;
}

static int parse_name(const json_t *value, char name[COLL_NAME], char *why, size_t len)
{
	const char *word = json_string_value(value);
	struct coll_choice choice;

	if (!word || strlen(word) >= COLL_NAME) {
		snprintf(why, len, "is no name of a composition");
		return -EINVAL;
	}
	if (coll_choice_parse(&choice, word, why, len))
		return -EINVAL;
	strcpy(name, word);
	return 0;
}

/* It goes to people's terminals. */
static int parse_why(const json_t *value, char reason[COLL_RULE_WHY], char *why, size_t len)
{
	const char *word = json_string_value(value);

	snprintf(why, len, "give a text of up to %d bytes, without control characters",
		 COLL_RULE_WHY - 1);
	if (!word || strlen(word) >= COLL_RULE_WHY)
		return -EINVAL;
	for (const char *c = word; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			return -EINVAL;
	strcpy(reason, word);
	return 0;
}

static int parse_mapping(const json_t *value, int *mapping, char *why, size_t len)
{
	*mapping = coll_mapping_find(json_string_value(value));
	snprintf(why, len, "give \"block\", \"cyclic\" or \"other\"");
	return *mapping < 0 ? -EINVAL : 0;
}

/* What is wrong with a key goes to @why, without the line. */
static int parse_key(struct coll_rule *rule, const char *key, const json_t *value, char *why,
		     size_t len)
{
	const struct { const char *key; uint64_t *range; } ranges[] = {
		{ "nodes", rule->nodes }, { "ranks", rule->ranks },
		{ "ppn", rule->ppn }, { "bytes", rule->bytes },
	};

	if (!strcmp(key, "algorithm"))
		return parse_name(value, rule->name, why, len);
	if (!strcmp(key, "why"))
		return parse_why(value, rule->why, why, len);
	if (!strcmp(key, "mapping"))
		return parse_mapping(value, &rule->mapping, why, len);
	if (!strcmp(key, "in_place")) {
		rule->in_place = json_is_true(value);
		snprintf(why, len, "give true or false");
		return json_is_boolean(value) ? 0 : -EINVAL;
	}
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (strcmp(key, ranges[i].key))
			continue;
		snprintf(why, len, "give two integers, from and up to");
		return parse_range(value, ranges[i].range);
	}
	snprintf(why, len, "there is no such key");
	return -EINVAL;
}

static int parse_rule(struct coll_rule *rule, const json_t *object, const char **key, char *why,
		      size_t len)
{
	json_t *value;
	void *at;

	*key = "";
	snprintf(why, len, "a rule is an object");
	if (!json_is_object(object))
		return -EINVAL;
	/* A json_t that is only looked at; jansson's iterator wants it without const. */
	for (at = json_object_iter((json_t *)(uintptr_t)object); at;
	     at = json_object_iter_next((json_t *)(uintptr_t)object, at)) {
		*key = json_object_iter_key(at);
		value = json_object_iter_value(at);
		if (parse_key(rule, *key, value, why, len))
			return -EINVAL;
	}
	*key = "";
	snprintf(why, len, "it has no algorithm");
	return *rule->name ? 0 : -EINVAL;
}

/* ---- all of them -------------------------------------------------------- */

static const struct coll_rule any = {
	.nodes = { 0, UINT64_MAX }, .ranks = { 0, UINT64_MAX }, .ppn = { 0, UINT64_MAX },
	.bytes = { 0, UINT64_MAX }, .in_place = -1, .mapping = -1,
};

static int parse_list(const char *text, const json_t *list, enum coll_op op,
		      struct coll_rules *rules, char *why, size_t len)
{
	const size_t n = json_array_size(list);
	char wrong[COLL_SENTENCE];
	const char *key;

	if (!json_is_array(list) || n > (size_t)(COLL_RULES - rules->n)) {
		snprintf(why, len, "line %u: \"%s\": give an array of at most %d rules",
			 coll_rules_line(text, op_keys[op], 0, NULL), op_keys[op], COLL_RULES);
		return -EINVAL;
	}
	for (size_t i = 0; i < n; i++) {
		struct coll_rule *rule = &rules->list[rules->n++];

		*rule = any;
		rule->op = op;
		if (parse_rule(rule, json_array_get(list, i), &key, wrong, sizeof(wrong))) {
			snprintf(why, len, "line %u: rule %zu of \"%s\"%s%s%s: %s",
				 coll_rules_line(text, op_keys[op], i + 1, key), i + 1,
				 op_keys[op], *key ? ", \"" : "", key, *key ? "\"" : "", wrong);
			return -EINVAL;
		}
	}
	return 0;
}

static int parse_network(const char *text, json_t *object, struct coll_network *network,
			 char *why, size_t len)
{
	const char *key = NULL, *wrong = "give an object";

	for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
		const char *word = json_string_value(json_object_iter_value(at));
		int found = -1;

		key = json_object_iter_key(at);
		wrong = "there is no such key";
		if (!strcmp(key, "class")) {
			found = coll_nic_find(word);
			network->nic = (enum coll_nic)found;
			wrong = "give \"onload\", \"hybrid\", \"offload\" or \"unclear\"";
		} else if (!strcmp(key, "distribution")) {
			found = coll_distribution_find(word);
			network->distribution = (enum coll_distribution)found;
			wrong = "give \"dearer\", \"alike\", \"cheaper\" or \"unclear\"";
		}
		if (found < 0)
			goto wrong;
	}
	if (json_is_object(object))
		return 0;
wrong:
	snprintf(why, len, "line %u: \"network\"%s%s%s: %s",
		 coll_rules_line(text, "network", 0, key), key ? ", \"" : "", key ? key : "",
		 key ? "\"" : "", wrong);
	return -EINVAL;
}

static int parse_part(const char *text, json_t *part, struct coll_rules *rules, char *why,
		      size_t len)
{
	for (void *at = json_object_iter(part); at; at = json_object_iter_next(part, at)) {
		const char *key = json_object_iter_key(at);
		json_t *value = json_object_iter_value(at);
		int op = 0, err = 0;

		while (op < COLL_OPS && strcmp(key, op_keys[op]))
			op++;
		if (op < COLL_OPS) {
			err = parse_list(text, value, (enum coll_op)op, rules, why, len);
		} else if (!strcmp(key, "network")) {
			err = parse_network(text, value, &rules->network, why, len);
		} else if (strcmp(key, "about")) {
			snprintf(why, len, "line %u: \"collectives\" has no key \"%s\"",
				 coll_rules_line(text, key, 0, NULL), key);
			err = -EINVAL;
		}
		if (err)
			return err;
	}
	return 0;
}

int coll_rules_parse(const char *text, size_t len, struct coll_rules *rules, char *why,
		     size_t whylen)
{
	json_error_t error;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error), *part;
	int err = 0;

	memset(rules, 0, sizeof(*rules));
	if (!root) {
		snprintf(why, whylen, "line %d: %s", error.line, error.text);
		return -EINVAL;
	}
	part = json_object_get(root, "collectives");
	if (part && !json_is_object(part)) {
		snprintf(why, whylen, "\"collectives\" is no object");
		err = -EINVAL;
	} else if (part) {
		err = parse_part(text, part, rules, why, whylen);
	}
	json_decref(root);
	if (err)
		memset(rules, 0, sizeof(*rules));
	return err;
}

/* ---- the file ----------------------------------------------------------- */

static struct coll_rules read_rules;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* As sonde_profile_load() finds its default. */
static int get_path(char *path, size_t len)
{
	const char *named = getenv("SONDE_PROFILE"), *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	int n = -1;

	if (named && *named)
		n = snprintf(path, len, "%s", named);
	else if (cache && *cache == '/')
		n = snprintf(path, len, "%s/sonde/profile.json", cache);
	else if (home && *home)
		n = snprintf(path, len, "%s/.cache/sonde/profile.json", home);
	return n < 0 || (size_t)n >= len ? -ENOENT : 0;
}

/* The whole file and a zero, to be freed; NULL: none, or too large. */
static char *read_file(const char *path, size_t *len)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;

	if (!file)
		return NULL;
	text = malloc(FILE_MOST + 1);
	if (text) {
		*len = fread(text, 1, FILE_MOST + 1, file);
		if (*len > FILE_MOST)
			coll_complain("%s has more than %zu bytes; its rules are left out", path,
				      FILE_MOST);
		if (*len > FILE_MOST || ferror(file)) {
			free(text);
			text = NULL;
		} else {
			text[*len] = '\0';
		}
	}
	fclose(file);
	return text;
}

static void read_profile(void)
{
	char path[4096], why[COLL_SENTENCE * 2];
	size_t len;
	char *text;

	if (get_path(path, sizeof(path)))
		return;
	text = read_file(path, &len);
	if (!text)
		return;
	if (coll_rules_parse(text, len, &read_rules, why, sizeof(why)))
		coll_complain("%s, %s; its rules are left out (sonde tune alltoall writes new "
			      "ones)", path, why);
	free(text);
}

/* ---- plans -------------------------------------------------------------- */

int coll_rules_share(struct coll_plan *plan)
{
	int err = 0;

	if (!plan->rank) {
		pthread_once(&once, read_profile);
		plan->nrules = read_rules.n;
		plan->network = read_rules.network;
	}
	if (PMPI_Bcast(&plan->nrules, 1, MPI_INT, 0, plan->comm) ||
	    PMPI_Bcast(&plan->network, sizeof(plan->network), MPI_BYTE, 0, plan->comm))
		return -EIO;
	if (!plan->nrules)
		return 0;
	plan->rules = malloc((size_t)plan->nrules * sizeof(*plan->rules));
	err = coll_agree(plan, plan->rules ? 0 : -ENOMEM);
	if (err)
		return err;
	if (!plan->rank)
		memcpy(plan->rules, read_rules.list, (size_t)plan->nrules * sizeof(*plan->rules));
	return PMPI_Bcast(plan->rules, plan->nrules * (int)sizeof(*plan->rules), MPI_BYTE, 0,
			  plan->comm) ? -EIO : 0;
}

static int in(const uint64_t range[2], uint64_t n)
{
	return n >= range[0] && n <= range[1];
}

static int matches(const struct coll_rule *rule, const struct coll_plan *plan, enum coll_op op,
		   size_t block, int is_in_place)
{
	return rule->op == op && (rule->in_place < 0 || rule->in_place == is_in_place) &&
	       (rule->mapping < 0 || rule->mapping == (int)plan->mapping) &&
	       in(rule->nodes, (uint64_t)plan->nnodes) &&
	       in(rule->ranks, (uint64_t)plan->size) && in(rule->ppn, (uint64_t)plan->most) &&
	       (op == COLL_ALLTOALLV || in(rule->bytes, block));
}

int coll_rules_try(struct coll_plan *plan, enum coll_op op, size_t block,
		   int is_in_place, struct coll_choice *choice)
{
	for (int i = 0; i < plan->nrules; i++) {
		const struct coll_rule *rule = &plan->rules[i];
		struct coll_choice named;
		char why[COLL_SENTENCE];

		if (!matches(rule, plan, op, block, is_in_place) ||
		    coll_choice_parse(&named, rule->name, why, sizeof(why)) ||
		    !coll_choice_fits(plan, &named, op, block, why, sizeof(why)))
			continue;
		*choice = named;
		snprintf(choice->why, sizeof(choice->why), "rule %d of the profile%s%s", i + 1,
			 *rule->why ? ": " : "", rule->why);
		return 1;
	}
	return 0;
}
