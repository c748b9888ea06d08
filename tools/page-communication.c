// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * page-communication - the layers of communication as tables of the report
 *
 * Made from the profile, so that a layer stands in the page as programs read it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include "html.h"
#include "page.h"
#include "text.h"

/* Groups that are named one by one. */
#define NAMED_MOST	8

static double get_number(const json_t *object, const char *name)
{
	return json_number_value(json_object_get(object, name));
}

/* "CPUs" or "ranks", whatever all places have. */
static const char *name_kind(const json_t *places)
{
	const json_t *place;
	size_t i;

	json_array_foreach(places, i, place)
		if (!json_is_integer(json_object_get(place, "cpu")))
			return "ranks";
	return "CPUs";
}

/* Members of a group as a list; NULL for want of memory. */
static char *list_members(const json_t *group, const json_t *places)
{
	const char *key = strcmp(name_kind(places), "ranks") ? "cpu" : "rank";
	const json_t *members = json_object_get(group, "places"), *member;
	const size_t n = json_array_size(members);
	unsigned int *numbers = calloc(n + 1, sizeof(*numbers));
	char *text = NULL;
	size_t i;

	if (!numbers)
		return NULL;
	json_array_foreach(members, i, member) {
		const json_t *place = json_array_get(places, (size_t)json_integer_value(member));

		numbers[i] = (unsigned int)json_integer_value(json_object_get(place, key));
	}
	text = text_cpus(numbers, n);
	free(numbers);
	return text;
}

static int write_groups(FILE *out, const json_t *layer, const json_t *places)
{
	const json_t *groups = json_object_get(layer, "groups"), *group;
	size_t i;

	fputs("<td>", out);
	json_array_foreach(groups, i, group) {
		char *text;

		if (i == NAMED_MOST) {
			fprintf(out, " | … (%zu groups)", json_array_size(groups));
			break;
		}
		text = list_members(group, places);
		if (!text)
			return -ENOMEM;
		fputs(i ? " | " : "", out);
		html_text(out, text);
		free(text);
	}
	fputs("</td>", out);
	return 0;
}

/* One parameter of LogGP; what was not measured is not there. */
static void add_time(FILE *out, const json_t *object, const char *key, const char *name, int *any)
{
	const json_t *value = json_object_get(object, key);
	char time[TEXT_LEN];

	if (!json_is_number(value))
		return;
	fprintf(out, "%s%s %s", *any ? ", " : "", name,
		text_time(time, json_number_value(value)));
	*any = 1;
}

static void write_loggp(FILE *out, const json_t *layer)
{
	const json_t *loggp = json_object_get(layer, "loggp");
	const json_t *segments = json_object_get(loggp, "segments"), *segment;
	char from[TEXT_LEN];
	size_t i;
	int any = 0;

	fputs("<td>", out);
	add_time(out, loggp, "latency_ns", "L", &any);
	add_time(out, loggp, "send_ns", "o<sub>s</sub>", &any);
	add_time(out, loggp, "receive_ns", "o<sub>r</sub>", &any);
	json_array_foreach(segments, i, segment) {
		int has_gap = 0;

		fputs(any ? "<br/>" : "", out);
		if (json_array_size(segments) > 1)
			fprintf(out, "from %s: ", text_size(from, (uint64_t)get_number(segment,
										     "from_bytes")));
		add_time(out, segment, "gap_ns", "g", &has_gap);
		if (json_is_number(json_object_get(segment, "byte_ns")))
			fprintf(out, "%sG %.3g ns/B", has_gap ? ", " : "",
				get_number(segment, "byte_ns"));
		any = 1;
	}
	fputs("</td>", out);
}

static void write_concurrency(FILE *out, const json_t *layer)
{
	const json_t *point;
	size_t i;

	fputs("<td>", out);
	json_array_foreach(json_object_get(layer, "concurrency"), i, point)
		fprintf(out, "%s%d pairs: %.2f", i ? "<br/>" : "",
			(int)get_number(point, "pairs"), get_number(point, "ratio"));
	fputs("</td>", out);
}

/* The pairs' times, where they are of more than one. */
static void write_range(FILE *out, const json_t *layer)
{
	char low[TEXT_LEN], high[TEXT_LEN];

	fputs("<td class=\"number\">", out);
	if (get_number(layer, "npairs_measured") > 1)
		fprintf(out, "%s to %s", text_time(low, get_number(layer, "latency_ns_low")),
			text_time(high, get_number(layer, "latency_ns_high")));
	fputs("</td>", out);
}

static int write_layer(FILE *out, const json_t *layer, size_t number, const json_t *places)
{
	char time[TEXT_LEN];
	int err;

	fprintf(out, "<tr><th scope=\"row\">%zu</th><td class=\"number\">%s</td>", number,
		text_time(time, get_number(layer, "latency_ns")));
	write_range(out, layer);
	fprintf(out, "<td class=\"number\">%.0f of %.0f</td>",
		get_number(layer, "npairs_measured"), get_number(layer, "npairs"));
	err = write_groups(out, layer, places);
	write_loggp(out, layer);
	write_concurrency(out, layer);
	fputs("</tr>\n", out);
	return err;
}

/* What a method is, to who has not read sonde-comm(1). */
static const char *explain(const char *method)
{
	static const char *const words[][2] = {
		{ "line", "a line of cache handed over" },
		{ "flag", "one flag to and fro, half a round" },
		{ "shm", "a message through shared memory" },
		{ "copy", "a message copied from process to process" },
		{ "mpi", "a message of MPI" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(method, words[i][0]))
			return words[i][1];
	return method;
}

static void write_title(FILE *out, const json_t *method)
{
	const char *name = json_string_value(json_object_get(method, "method"));
	const char *via = json_string_value(json_object_get(method, "via"));
	double bytes = get_number(method, "bytes");
	char size[TEXT_LEN];

	fputs("<h3>", out);
	html_text(out, explain(name ? name : "?"));
	if (bytes > 0)
		fprintf(out, ", %s", text_size(size, (uint64_t)bytes));
	if (via) {
		fputs(", by ", out);
		html_text(out, via);
	}
	fputs("</h3>\n", out);
}

static int write_method(FILE *out, const json_t *method, const json_t *places)
{
	const json_t *layer;
	size_t i;
	int err = 0;

	write_title(out, method);
	fprintf(out, "<div class=\"wide\"><table>\n<thead><tr><th>Layer</th>"
		"<th class=\"number\">One way</th><th class=\"number\">From, to</th>"
		"<th class=\"number\">Pairs measured</th><th>%s that reach each other so</th>"
		"<th>LogGP</th><th>Rate of each at the same time</th></tr></thead>\n<tbody>\n",
		name_kind(places));
	json_array_foreach(json_object_get(method, "layers"), i, layer)
		err = err ? err : write_layer(out, layer, i, places);
	fputs("</tbody>\n</table></div>\n", out);
	return err;
}

static int write_section(FILE *out, const json_t *section)
{
	const json_t *places = json_object_get(section, "places"), *item;
	size_t i;
	int err = 0;

	fputs("<section id=\"communication\">\n<h2>Communication</h2>\n", out);
	json_array_foreach(json_object_get(section, "methods"), i, item)
		err = err ? err : write_method(out, item, places);
	json_array_foreach(json_object_get(section, "notes"), i, item)
		html_element(out, "p class=\"note\"", json_string_value(item));
	return err ? err : 1;
}

int page_write_communication(FILE *out, const struct sonde_profile *profile)
{
	char *text = NULL;
	size_t len = 0;
	FILE *memory = open_memstream(&text, &len);
	json_t *root = NULL;
	const json_t *section;
	int err;

	if (!memory)
		return -ENOMEM;
	sonde_profile_dump(profile, memory);
	if (!fclose(memory))
		root = json_loadb(text, len, 0, NULL);
	free(text);
	if (!root)
		return -ENOMEM;
	section = json_object_get(root, "communication");
	err = section ? write_section(out, section) : 0;
	json_decref(root);
	return err;
}
