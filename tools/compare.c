// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * compare - what differs between two profiles, and whether that means anything
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"
#include "compare.h"
#include "compare-runs.h"
#include "text.h"

static const char *const verdicts[] = {
	[FIELD_SAME] = "same", [FIELD_WITHIN] = "within the intervals",
	[FIELD_APART] = "intervals apart", [FIELD_DIFFERS] = "differs",
	[FIELD_UNSURE] = "no interval", [FIELD_ONE] = "known once",
};

static void describe(const struct field *f, int side, char text[TEXT_LEN])
{
	const json_t *value = f->value[side];
	double x = f->middle[side];

	if (!value)
		snprintf(text, TEXT_LEN, "-");
	else if (json_is_string(value))
		snprintf(text, TEXT_LEN, "%.40s", json_string_value(value));
	else if (json_is_boolean(value))
		snprintf(text, TEXT_LEN, "%s", json_is_true(value) ? "yes" : "no");
	else if (!json_is_number(value))
		snprintf(text, TEXT_LEN, "there");
	else if (is_unit(f->name, "ns"))
		text_ns(text, x);
	else if (is_unit(f->name, "cycles"))
		text_cycles(text, x);
	else if (is_unit(f->name, "hz"))
		text_hz(text, x);
	else if (is_unit(f->name, "bytes_s"))
		snprintf(text, TEXT_LEN, "%.3g GB/s", x * 1e-9);
	else if (is_unit(f->name, "bytes") || is_unit(f->name, "size") || is_unit(f->name, "line"))
		text_size(text, (uint64_t)x);
	else
		snprintf(text, TEXT_LEN, "%.4g", x);
}

static double get_ratio(const struct field *f)
{
	return f->value[0] && f->value[1] && f->middle[0] > 0 ? f->middle[1] / f->middle[0] : NAN;
}

static void describe_change(const struct field *f, char text[TEXT_LEN])
{
	double ratio = get_ratio(f);

	if (isnan(ratio))
		*text = '\0';
	else if (ratio >= 2 || (ratio > 0 && ratio <= 0.5))
		snprintf(text, TEXT_LEN, "x %.3g", ratio);
	else
		snprintf(text, TEXT_LEN, "%+.1f %%", 100 * (ratio - 1));
}

/* Names as people read them: without the unit, which stands with the values. */
static void describe_name(const struct field *f, char text[160])
{
	size_t len;

	snprintf(text, 160, "%s%s%s", f->section, !strcmp(f->section, f->what) ? "" : " ",
		 !strcmp(f->section, f->what) ? "" : f->what);
	for (len = 0; text[len]; len++)
		if (text[len] == '_')
			text[len] = ' ';
	for (size_t i = 0; i < 4; i++) {
		static const char *const units[] = { " ns", " cycles", " bytes", " bytes s" };
		size_t n = strlen(units[i]);

		if (len > n && !strcmp(text + len - n, units[i]))
			text[len - n] = '\0';
	}
}

static void print_field(const struct field *f)
{
	char name[160], a[TEXT_LEN], b[TEXT_LEN], change[TEXT_LEN];

	describe_name(f, name);
	describe(f, 0, a);
	describe(f, 1, b);
	describe_change(f, change);
	printf("%-34s  %20s  %20s  %9s%s%s\n", name, a, b, change,
	       f->verdict == FIELD_DIFFERS ? "" : "  ",
	       f->verdict == FIELD_DIFFERS ? "" : verdicts[f->verdict]);
}

/* The curve's points are many: how many of them differ, and the one that does most. */
static void print_curve(const struct fields *fields)
{
	const struct field *most = NULL;
	size_t points = 0, differ = 0;
	char name[160];

	for (size_t i = 0; i < fields->n; i++) {
		const struct field *f = &fields->v[i];

		if (strcmp(f->section, "curve") != 0 || strcmp(f->name, "latency_ns") != 0 ||
		    f->verdict == FIELD_ONE)
			continue;
		points++;
		if (f->verdict != FIELD_DIFFERS && f->verdict != FIELD_APART)
			continue;
		differ++;
		if (!most || fabs(log(get_ratio(f))) > fabs(log(get_ratio(most))))
			most = f;
	}
	if (!points)
		return;
	printf("\nLatency curve: %zu of %zu working sets differ or are apart", differ, points);
	if (most) {
		describe_name(most, name);
		printf(", most:\n");
		print_field(most);
	} else {
		putchar('\n');
	}
}

static void print_side(char letter, const char *path, const struct runs *runs)
{
	printf("%c: %s", letter, path);
	if (runs->n > 1)
		printf(" (%zu runs, medians)", runs->n);
	putchar('\n');
}

/* What it takes to tell a change from what another run brings. */
static void print_chance(const struct runs sides[2], size_t tested, size_t differ, size_t apart)
{
	double chance = runs_chance(sides[0].n, sides[1].n);

	if (chance <= RUNS_CHANCE)
		printf("Of %zu values whose runs can differ, chance alone would tell up to %.1f apart; "
		       "%zu are.\n", tested, chance * (double)tested, differ);
	else if (apart)
		printf("Whether what is apart differs cannot be told from %zu and %zu runs: another run "
		       "may bring as much. Give folders of 5 runs each, taken in turn.\n",
		       sides[0].n, sides[1].n);
}

static void print_text(const struct fields *fields, const char *const paths[2],
		       const struct runs sides[2])
{
	size_t counts[FIELD_ONE + 1] = { 0 }, tested = 0, differ = 0;
	const int is_pair = sides[0].n == 1 && sides[1].n == 1;

	print_side('A', paths[0], &sides[0]);
	print_side('B', paths[1], &sides[1]);
	printf("\n%-34s  %20s  %20s  %9s\n", "", "A", "B", "change");
	for (size_t i = 0; i < fields->n; i++) {
		const struct field *f = &fields->v[i];

		tested += !f->is_fact && f->verdict != FIELD_ONE && f->verdict != FIELD_SAME;
		differ += !f->is_fact && f->verdict == FIELD_DIFFERS;
		if (!strcmp(f->section, "curve"))
			continue;
		counts[f->verdict]++;
		if (f->verdict != FIELD_SAME && f->verdict != FIELD_WITHIN)
			print_field(f);
	}
	print_curve(fields);
	printf("\n%zu values differ, %zu are apart, %zu are the same, %zu differ less than %s allow to "
	       "tell", counts[FIELD_DIFFERS], counts[FIELD_APART], counts[FIELD_SAME],
	       counts[FIELD_WITHIN], is_pair ? "their 95 % intervals" : "their runs");
	if (counts[FIELD_UNSURE])
		printf(", %zu have no interval", counts[FIELD_UNSURE]);
	if (counts[FIELD_ONE])
		printf(", %zu are known of one only", counts[FIELD_ONE]);
	printf(".\n");
	print_chance(sides, tested, differ, counts[FIELD_APART]);
}

static json_t *get_value(const struct field *f, int side)
{
	const double number = json_number_value(f->value[side]);

	if (!f->value[side])
		return json_null();
	/* A median that is no run's own. */
	if (!isnan(f->middle[side]) && (f->middle[side] < number || f->middle[side] > number))
		return json_real(f->middle[side]);
	return json_incref((json_t *)(uintptr_t)f->value[side]);
}

static int print_json(const struct fields *fields, const char *const paths[2],
		      const struct runs sides[2])
{
	json_t *list = json_array();
	json_t *root = json_pack("{s:s, s:s, s:{s:I, s:I}, s:f, s:o}", "a", paths[0], "b", paths[1],
				 "runs", "a", (json_int_t)sides[0].n, "b", (json_int_t)sides[1].n,
				 "chance", runs_chance(sides[0].n, sides[1].n), "fields", list);
	int err = root ? 0 : -ENOMEM;

	for (size_t i = 0; i < fields->n && !err; i++) {
		const struct field *f = &fields->v[i];
		double ratio = get_ratio(f);
		json_t *row = json_pack("{s:s, s:s, s:o, s:o, s:o, s:s}", "section", f->section,
					"field", f->what, "a", get_value(f, 0), "b", get_value(f, 1),
					"ratio", isnan(ratio) ? json_null() : json_real(ratio),
					"verdict", verdicts[f->verdict]);

		err = json_array_append_new(list, row) ? -ENOMEM : 0;
	}
	if (!err) {
		json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
		putchar('\n');
	}
	json_decref(root);
	return err;
}

static int compare(const char *const paths[2], const struct runs sides[2], int json)
{
	struct fields fields = { .v = NULL };
	int err = fields_collect(&fields, sides[0].root[0], sides[1].root[0]);

	if (!err && (sides[0].n > 1 || sides[1].n > 1))
		err = runs_judge(&fields, sides);
	if (!err && json)
		err = print_json(&fields, paths, sides);
	else if (!err)
		print_text(&fields, paths, sides);
	free(fields.v);
	if (err)
		cli_error("not enough memory to compare");
	return err ? CLI_FAILED : CLI_DONE;
}

int compare_profiles(const char *const paths[2], int json)
{
	struct runs sides[2] = { { NULL, 0 }, { NULL, 0 } };
	int status = runs_open(&sides[0], paths[0]);

	if (status == CLI_DONE)
		status = runs_open(&sides[1], paths[1]);
	if (status == CLI_DONE)
		status = compare(paths, sides, json);
	runs_close(&sides[0]);
	runs_close(&sides[1]);
	return status;
}
