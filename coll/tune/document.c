// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * document - rules into the profile
 *
 * All else that is in the profile stays, and so do rules of other placements and
 * of sizes that were not measured now. New rules go first. What is written has
 * been read as the library reads it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sonde/log.h>
#include <sonde/profile.h>

#include "../../lib/replace.h"
#include "tune.h"

#define PLACEMENTS	32	/* whose measurements are kept beside the rules */
#define DUMP		(JSON_INDENT(2) | JSON_REAL_PRECISION(6))

static char said[256];

static void keep_line(void *ctx, const char *line)
{
	(void)ctx;
	snprintf(said, sizeof(said), "%s", line);
}

static const char *get_path(const struct tune *t)
{
	return t->options.save ? t->options.save : getenv("SONDE_PROFILE");
}

static const char *say_path(const struct tune *t)
{
	const char *path = get_path(t);

	return path && *path ? path : "the default profile";
}

/* The profile as it is, or a new one. Return: 0, or -errno after it was said. */
static int open_profile(const struct tune *t, struct sonde_profile **profile)
{
	int err;

	*said = '\0';
	sonde_set_log(keep_line, NULL);
	err = sonde_profile_load(profile, t->options.save);
	sonde_set_log(NULL, NULL);
	if (err == -ENOENT)
		err = sonde_profile_new(profile);
	if (err == -EINVAL || err == -EPROTO)
		cli_error("%s; move it away, or name another file with --save", said);
	else if (err)
		cli_error("cannot read %s: %s", say_path(t), strerror(-err));
	return err;
}

int tune_check_profile(const struct tune *t)
{
	const char *path = get_path(t);
	struct sonde_profile *profile;
	struct replace r;
	int err;

	if (t->options.no_save)
		return 0;
	if (open_profile(t, &profile))
		return -1;
	sonde_profile_free(profile);
	if (!path || !*path) {
		if (getenv("HOME") || getenv("XDG_CACHE_HOME"))
			return 0;
		cli_error("there is no default profile without HOME; name a file with --save");
		return -1;
	}
	err = replace_open(&r, path);
	if (!err)
		replace_abandon(&r);
	else
		cli_error("cannot write %s: %s", path, strerror(-err));
	return err;
}

/* ---- one rule ------------------------------------------------------------ */

static json_t *make_exact(int n)
{
	return json_pack("[i, i]", n, n);
}

static json_t *make_rule(const struct tune *t, const struct tune_rule *rule, int is_in_place)
{
	json_t *object = json_pack("{s:o, s:o, s:o, s:[I, I], s:b, s:s, s:s}",
				   "nodes", make_exact(t->plan->nnodes),
				   "ranks", make_exact(t->size),
				   "ppn", make_exact(t->plan->most),
				   "bytes", (json_int_t)rule->from, (json_int_t)rule->to,
				   "in_place", is_in_place,
				   "algorithm", rule->name, "why", rule->why);

	if (t->plan->nnodes > 1)
		json_object_set_new(object, "mapping",
				    json_string(coll_mapping_name(t->plan->mapping)));
	return object;
}

/* Also if neither has it. */
static int is_same(const json_t *a, const json_t *b, const char *key)
{
	const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);

	return x == y || json_equal(x, y);
}

/* @old says nothing that @new does not. */
static int is_replaced(const json_t *old, const json_t *new)
{
	static const char *const keys[] = { "nodes", "ranks", "ppn", "in_place", "mapping" };
	const json_t *was = json_object_get(old, "bytes"), *is = json_object_get(new, "bytes");

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!is_same(old, new, keys[i]))
			return 0;
	if (!was || !is)
		return was == is;
	return json_integer_value(json_array_get(was, 0)) >=
		      json_integer_value(json_array_get(is, 0)) &&
	       json_integer_value(json_array_get(was, 1)) <=
		      json_integer_value(json_array_get(is, 1));
}

/* ---- rules --------------------------------------------------------------- */

/* All sizes of one kind as one range, to hold old rules against. */
static json_t *make_cover(const struct tune *t, const struct tune_rule *rules, int n,
			  int is_in_place)
{
	const struct tune_rule all = { .from = rules[0].from, .to = rules[n - 1].to };

	return make_rule(t, &all, is_in_place);
}

static void drop_replaced(json_t *list, const json_t *cover)
{
	for (size_t i = json_array_size(list); i-- > 0;)
		if (is_replaced(json_array_get(list, i), cover))
			json_array_remove(list, i);
}

/* Rules of one kind, before the others. */
static void add_rules(const struct tune *t, json_t *list, int is_in_place)
{
	struct tune_rule rules[TUNE_CLASSES];
	int n = tune_make_rules_of(t->points, t->npoints, is_in_place, rules);
	json_t *cover;

	if (!n)
		return;
	cover = make_cover(t, rules, n, is_in_place);
	drop_replaced(list, cover);
	json_decref(cover);
	while (n--)
		json_array_insert_new(list, 0, make_rule(t, &rules[n], is_in_place));
}

/* The rule of MPI_Alltoallv, which is for blocks of any size. */
static void add_rule_v(const struct tune *t, json_t *list)
{
	struct tune_rule rule;
	json_t *object;

	tune_make_rules(&t->v, 1, &rule);
	object = make_rule(t, &rule, 0);
	json_object_del(object, "bytes");
	drop_replaced(list, object);
	json_array_insert_new(list, 0, object);
}

/* The oldest ones go. */
static void bound_rules(json_t *list, size_t most)
{
	size_t dropped = 0;

	while (json_array_size(list) > most) {
		json_array_remove(list, json_array_size(list) - 1);
		dropped++;
	}
	if (dropped)
		cli_error("a profile has at most %d rules: the %zu oldest were dropped", COLL_RULES,
			  dropped);
}

/* ---- how it was measured ------------------------------------------------- */

static json_t *make_point(const struct tune_point *p)
{
	return json_pack("{s:s, s:f, s:s, s:f, s:f, s:f, s:f, s:i}",
			 "algorithm", p->best, "us", p->us, "usual", p->usual,
			 "usual_us", p->us_usual, "ratio", p->ratio, "mpi_us", p->us_mpi,
			 "mpi_ratio", p->ratio_mpi, "tried", p->tried);
}

static json_t *make_points(const struct tune *t)
{
	json_t *list = json_array();

	for (int i = 0; i < t->npoints; i++) {
		const struct tune_point *p = &t->points[i];
		json_t *point = make_point(p);

		json_object_set_new(point, "bytes", json_integer((json_int_t)p->bytes));
		json_object_set_new(point, "in_place", json_boolean(p->is_in_place));
		json_array_append_new(list, point);
	}
	return list;
}

/* Of MPI_Alltoallv: times are of so many calls of each size. */
static json_t *make_mixed(const struct tune *t)
{
	json_t *point = make_point(&t->v), *sizes = json_array();

	for (int s = 0; s < t->mix.n; s++)
		json_array_append_new(sizes, json_pack("{s:I, s:i}", "bytes",
						       (json_int_t)t->mix.sizes[s], "calls",
						       t->mix.calls[s]));
	json_object_set_new(point, "sizes", sizes);
	return point;
}

static json_t *make_network_figures(const struct tune_network *net)
{
	json_t *sizes = json_array();

	for (int s = 0; s < net->nsizes; s++) {
		json_t *pairs = json_array();

		for (int p = 0; p < net->npairs; p++)
			json_array_append_new(pairs, json_pack("{s:i, s:f}", "pairs",
							       net->pairs[p], "mbs",
							       net->mbs[s][p]));
		json_array_append_new(sizes, json_pack("{s:I, s:o, s:f, s:f}", "bytes",
						       (json_int_t)net->sizes[s], "bandwidth",
						       pairs, "collect_us", net->collect_us[s],
						       "hand_out_us", net->hand_out_us[s]));
	}
	return json_pack("{s:f, s:f, s:o}", "bandwidth_ratio", net->bandwidths,
			 "distribution_ratio", net->copies, "sizes", sizes);
}

static json_t *make_about(const struct tune *t)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING], when[32] = "";
	const time_t now = time(NULL);
	struct tm tm;
	json_t *about;
	int len;

	MPI_Get_library_version(version, &len);
	version[strcspn(version, "\n")] = '\0';
	for (char *c = version; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = ' ';
	if (gmtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	about = json_pack("{s:s, s:s, s:i, s:i, s:i, s:s, s:f, s:o, s:o}",
			  "when", when, "mpi", version,
			  "nodes", t->plan->nnodes, "ranks", t->size, "ppn", t->plan->most,
			  "mapping", coll_mapping_name(t->plan->mapping), "seconds",
			  MPI_Wtime() - t->begin, "points", make_points(t),
			  "alltoallv", make_mixed(t));
	if (t->is_measured)
		json_object_set_new(about, "network", make_network_figures(&t->network));
	return about;
}

static void add_about(const struct tune *t, json_t *part)
{
	static const char *const keys[] = { "nodes", "ranks", "ppn", "mapping" };
	json_t *about = json_object_get(part, "about"), *list, *new = make_about(t);

	if (!json_is_object(about)) {
		about = json_object();
		json_object_set_new(part, "about", about);
	}
	list = json_object_get(about, "alltoall");
	if (!json_is_array(list)) {
		list = json_array();
		json_object_set_new(about, "alltoall", list);
	}
	for (size_t i = json_array_size(list); i-- > 0;) {
		size_t same = 0;

		while (same < 4 && is_same(json_array_get(list, i), new, keys[same]))
			same++;
		if (same == 4 || i >= PLACEMENTS - 1)
			json_array_remove(list, i);
	}
	json_array_insert_new(list, 0, new);
}

/* ---- the profile --------------------------------------------------------- */

/* Whether the library takes it. */
static int is_right(const json_t *part, char *why, size_t len)
{
	static struct coll_rules rules;
	json_t *root = json_pack("{s:O}", "collectives", part);
	char *text = root ? json_dumps(root, DUMP) : NULL;
	int err = text ? coll_rules_parse(text, strlen(text), &rules, why, len) : -ENOMEM;

	json_decref(root);
	free(text);
	return !err;
}

/* What the profile has, without what the library would not take. */
static json_t *get_part(const struct sonde_profile *profile)
{
	char why[COLL_SENTENCE * 2] = "", *text = NULL;
	json_t *part = NULL;

	if (!sonde_profile_collectives(profile, &text))
		part = json_loads(text, 0, NULL);
	free(text);
	if (part && is_right(part, why, sizeof(why)))
		return part;
	if (part)
		cli_error("rules that the profile had are wrong and are replaced: %s", why);
	json_decref(part);
	return json_object();
}

/* A part's list of rules; a new one if it has none. */
static json_t *get_list(json_t *part, const char *key)
{
	json_t *list = json_object_get(part, key);

	if (list)
		return list;
	list = json_array();
	json_object_set_new(part, key, list);
	return list;
}

static json_t *fill_part(const struct tune *t, json_t *part)
{
	json_t *list = get_list(part, "alltoall"), *list_v = get_list(part, "alltoallv");

	add_rules(t, list, 1);
	add_rules(t, list, 0);
	add_rule_v(t, list_v);
	bound_rules(list_v, PLACEMENTS);
	bound_rules(list, COLL_RULES - json_array_size(list_v));
	if (t->is_measured)
		json_object_set_new(part, "network", json_pack("{s:s, s:s}", "class",
				    coll_nic_name(t->network.is.nic), "distribution",
				    coll_distribution_name(t->network.is.distribution)));
	add_about(t, part);
	return part;
}

static int put_part(struct sonde_profile *profile, const json_t *part)
{
	char why[COLL_SENTENCE * 2] = "not enough memory";
	char *text = json_dumps(part, DUMP);
	int err = text ? 0 : -ENOMEM;

	if (!err && !is_right(part, why, sizeof(why)))
		err = -EINVAL;
	if (!err)
		err = sonde_profile_set_collectives(profile, text);
	free(text);
	if (err)
		cli_error("the rules cannot be written: %s", why);
	return err;
}

/* The part alone, as a document. */
static int print_json(const json_t *part)
{
	struct sonde_profile *profile;
	int err = sonde_profile_new(&profile);

	if (err)
		return err;
	err = put_part(profile, part);
	if (!err)
		err = sonde_profile_dump(profile, stdout);
	sonde_profile_free(profile);
	return err;
}

static int save(const struct tune *t, const struct sonde_profile *profile)
{
	int err = t->options.no_save ? 0 : sonde_profile_save(profile, t->options.save);

	if (err)
		cli_error("cannot write %s: %s", say_path(t), strerror(-err));
	else if (!t->options.no_save && !t->options.common.json)
		printf("\nWritten to %s.\n", say_path(t));
	return err;
}

int tune_write(const struct tune *t)
{
	struct sonde_profile *profile;
	json_t *part;
	int err;

	/* Anew: others may have written to it meanwhile. */
	err = t->options.no_save ? sonde_profile_new(&profile) : open_profile(t, &profile);
	if (err)
		return CLI_FAILED;
	part = fill_part(t, get_part(profile));
	err = put_part(profile, part);
	if (!err)
		err = save(t, profile);
	if (!err && t->options.common.json)
		err = print_json(part);
	json_decref(part);
	sonde_profile_free(profile);
	return err ? CLI_FAILED : CLI_DONE;
}
