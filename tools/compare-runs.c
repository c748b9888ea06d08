// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * compare-runs - what differs between two sides of several runs each
 *
 * What happens between runs, other guests of the host, where pages lie, is more than
 * what an interval of one run holds, and its distribution is not known. So runs are
 * what is counted: a value differs if all of one side's are beyond all of the other's,
 * which has a known chance if nothing differs (the most extreme case of Wilcoxon's
 * rank sum test).
 */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sonde/profile.h>
#include <sonde/stats.h>
#include "cli.h"
#include "compare-runs.h"
#include "profile.h"

/* ---- reading -------------------------------------------------------------- */

/* The library has checked what it holds; NULL after it was said what is wrong. */
static json_t *load(const char *path)
{
	struct sonde_profile *profile = profile_open(path);
	json_t *root = NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *memory;

	if (!profile)
		return NULL;
	memory = open_memstream(&text, &len);
	if (memory) {
		sonde_profile_dump(profile, memory);
		if (!fclose(memory))
			root = json_loadb(text, len, 0, NULL);
	}
	if (!root)
		cli_error("not enough memory to compare");
	free(text);
	sonde_profile_free(profile);
	return root;
}

static int add(struct runs *runs, const char *path)
{
	json_t **more = realloc(runs->root, (runs->n + 1) * sizeof(json_t *));

	if (!more) {
		cli_error("not enough memory to compare");
		return CLI_FAILED;
	}
	runs->root = more;
	runs->root[runs->n] = load(path);
	if (!runs->root[runs->n])
		return CLI_FAILED;
	runs->n++;
	return CLI_DONE;
}

/* An entry of a folder, if it is a profile by its name or has one. */
static int add_entry(struct runs *runs, const char *folder, const char *name)
{
	const char *end = strrchr(name, '.');
	char path[4096];
	struct stat st;

	if (*name == '.')
		return CLI_DONE;
	if (end && !strcmp(end, ".json")) {
		snprintf(path, sizeof(path), "%s/%s", folder, name);
		return add(runs, path);
	}
	snprintf(path, sizeof(path), "%s/%s/profile.json", folder, name);
	return stat(path, &st) ? CLI_DONE : add(runs, path);
}

static int add_folder(struct runs *runs, const char *path)
{
	struct dirent **entries;
	int n = scandir(path, &entries, NULL, alphasort), status = CLI_DONE;

	if (n < 0) {
		cli_error("cannot read %s: %s", path, strerror(errno));
		return CLI_FAILED;
	}
	for (int i = 0; i < n; i++) {
		if (status == CLI_DONE)
			status = add_entry(runs, path, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	if (status == CLI_DONE && !runs->n) {
		cli_error("%s has no profile, neither .json nor in a folder of its own; "
			  "`sonde report -o %s/1` makes one", path, path);
		return CLI_FAILED;
	}
	return status;
}

int runs_open(struct runs *runs, const char *path)
{
	struct stat st;

	*runs = (struct runs){ NULL, 0 };
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return add_folder(runs, path);
	return add(runs, path);
}

void runs_close(struct runs *runs)
{
	for (size_t i = 0; i < runs->n; i++)
		json_decref(runs->root[i]);
	free(runs->root);
}

/* ---- judging -------------------------------------------------------------- */

double runs_chance(size_t a, size_t b)
{
	double orders = 1;

	for (size_t i = 1; i <= a; i++)
		orders *= (double)(b + i) / (double)i;
	return fmin(1, 2 / orders);
}

/* Values of one field: of side s the first n[s] of value[s]. */
struct samples {
	const json_t **value[2];
	size_t n[2];
};

static struct field *find_field(struct fields *fields, const struct field *like)
{
	for (size_t i = 0; i < fields->n; i++)
		if (!strcmp(fields->v[i].section, like->section) &&
		    !strcmp(fields->v[i].what, like->what) &&
		    !strcmp(fields->v[i].name, like->name))
			return &fields->v[i];
	return NULL;
}

/* The values of a run, by walking it beside itself. */
static int add_run(struct fields *fields, struct samples *samples, const struct runs *runs,
		   size_t run, int side)
{
	struct fields own = { .v = NULL };
	int err = fields_collect(&own, runs->root[run], runs->root[run]);

	for (size_t i = 0; i < own.n && !err; i++) {
		struct field *f = find_field(fields, &own.v[i]);
		struct samples *s = f ? &samples[f - fields->v] : NULL;

		/* One of each run, should two have one name. */
		if (s && s->n[side] <= run)
			s->value[side][s->n[side]++] = own.v[i].value[0];
	}
	free(own.v);
	return err;
}

/* Least, largest and median. Return: 0 if not all are numbers. */
static int sum_up(const struct samples *s, int side, double *x, double *least, double *most,
		  double *middle)
{
	for (size_t i = 0; i < s->n[side]; i++) {
		if (!json_is_number(s->value[side][i]))
			return 0;
		x[i] = json_number_value(s->value[side][i]);
	}
	sonde_stats_sort(x, s->n[side]);
	*least = x[0];
	*most = x[s->n[side] - 1];
	*middle = sonde_stats_median(x, s->n[side]);
	return 1;
}

/* How many pairs of a run of each side have the same value. */
static size_t count_equal(const struct samples *s)
{
	size_t equal = 0;

	for (size_t i = 0; i < s->n[0]; i++)
		for (size_t k = 0; k < s->n[1]; k++)
			equal += is_equal_value(s->value[0][i], s->value[1][k]) != 0;
	return equal;
}

static enum field_verdict judge(struct field *f, const struct samples *s, double *x)
{
	const int is_rare = runs_chance(s->n[0], s->n[1]) <= RUNS_CHANCE;
	const size_t equal = count_equal(s);
	double least[2], most[2];
	int numbers;

	if (!s->n[0] || !s->n[1])
		return FIELD_ONE;
	numbers = sum_up(s, 0, x, &least[0], &most[0], &f->middle[0]) &&
		  sum_up(s, 1, x, &least[1], &most[1], &f->middle[1]);
	if (equal == s->n[0] * s->n[1])
		return FIELD_SAME;
	if (numbers ? least[0] <= most[1] && least[1] <= most[0] : equal > 0)
		return FIELD_WITHIN;
	return f->is_fact || is_rare ? FIELD_DIFFERS : FIELD_APART;
}

static int judge_all(struct fields *fields, const struct runs sides[2], struct samples *samples,
		     double *x)
{
	int err = 0;

	for (int side = 0; side < 2; side++)
		for (size_t r = 0; r < sides[side].n; r++)
			err = err ? err : add_run(fields, samples, &sides[side], r, side);
	for (size_t i = 0; i < fields->n && !err; i++)
		if (*fields->v[i].name)
			fields->v[i].verdict = judge(&fields->v[i], &samples[i], x);
	return err;
}

int runs_judge(struct fields *fields, const struct runs sides[2])
{
	const size_t room = sides[0].n + sides[1].n;
	struct samples *samples = calloc(fields->n + 1, sizeof(*samples));
	const json_t **values = calloc((fields->n + 1) * room, sizeof(*values));
	double *x = calloc(room, sizeof(*x));
	int err = -ENOMEM;

	if (samples && values && x) {
		for (size_t i = 0; i < fields->n; i++) {
			samples[i].value[0] = &values[i * room];
			samples[i].value[1] = &values[i * room + sides[0].n];
		}
		err = judge_all(fields, sides, samples, x);
	}
	free(samples);
	free(values);
	free(x);
	return err;
}
