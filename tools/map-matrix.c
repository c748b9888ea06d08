// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * map-matrix - who talks to whom, from a file
 *
 * Placement does not care which of two ranks sends: both ways are added up, and
 * what a rank sends to itself is left out.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "map.h"

/* Beyond it sums are no longer exact, and a cost may become infinite. */
#define MOST_VALUE 9e15

struct cell {
	unsigned int from;
	struct map_edge edge;
};

struct cells {
	size_t n, room;
	struct cell *cell;
};

static int push(struct cells *cells, size_t from, size_t to, double messages, double bytes)
{
	if (cells->n == cells->room) {
		size_t room = cells->room ? 2 * cells->room : 1024;
		void *more = realloc(cells->cell, room * sizeof(*cells->cell));

		if (!more)
			return -ENOMEM;
		cells->cell = more;
		cells->room = room;
	}
	cells->cell[cells->n++] = (struct cell){ (unsigned int)from,
						 { (unsigned int)to, messages, bytes } };
	return 0;
}

static int add(struct cells *cells, size_t from, size_t to, double messages, double bytes)
{
	int err = 0;

	if (from == to || (messages <= 0 && bytes <= 0))
		return 0;
	err = push(cells, from, to, messages, bytes);
	return err ? err : push(cells, to, from, messages, bytes);
}

static int compare(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->edge.to < y->edge.to ? -1 : x->edge.to > y->edge.to;
}

/* Of the same two ranks one edge. */
static int build(struct map_matrix *m, size_t n, struct cells *cells)
{
	size_t kept = 0;

	m->n = n;
	m->first = calloc(n + 1, sizeof(*m->first));
	m->edge = calloc(cells->n + 1, sizeof(*m->edge));
	if (!m->first || !m->edge) {
		map_matrix_free(m);
		return -ENOMEM;
	}
	if (cells->n)
		qsort(cells->cell, cells->n, sizeof(*cells->cell), compare);
	for (size_t i = 0; i < cells->n; i++) {
		const struct cell *cell = &cells->cell[i];

		if (i && !compare(cell - 1, cell)) {
			m->edge[kept - 1].messages += cell->edge.messages;
			m->edge[kept - 1].bytes += cell->edge.bytes;
			continue;
		}
		m->edge[kept++] = cell->edge;
		m->first[cell->from + 1] = kept;
	}
	for (size_t r = 0; r < n; r++)
		if (m->first[r + 1] < m->first[r])
			m->first[r + 1] = m->first[r];
	return 0;
}

int map_matrix_make(struct map_matrix *m, size_t n, const double *bytes, const double *messages)
{
	struct cells cells = { 0 };
	int err = 0;

	*m = (struct map_matrix){ 0 };
	for (size_t i = 0; i < n * n && !err; i++)
		err = add(&cells, i / n, i % n, messages ? messages[i] : 0, bytes[i]);
	if (!err)
		err = build(m, n, &cells);
	free(cells.cell);
	return err;
}

void map_matrix_free(struct map_matrix *m)
{
	free(m->first);
	free(m->edge);
	m->first = NULL;
	m->edge = NULL;
}

/* ---- libsonde-record's ---------------------------------------------------- */

static int get_whole(const json_t *value, double most, double *x)
{
	*x = json_number_value(value);
	return json_is_integer(value) && *x >= 0 && *x <= most;
}

/* A list of [to, messages, bytes]. */
static int read_cells(struct cells *cells, const json_t *list, size_t from, size_t n, char *why)
{
	const json_t *cell;
	double to, messages, bytes;
	size_t i;
	int err = 0;

	if (!json_is_array(list)) {
		snprintf(why, MAP_WHY, "rank %zu has no list of what it sends", from);
		return -EINVAL;
	}
	json_array_foreach(list, i, cell) {
		if (json_array_size(cell) != 3 ||
		    !get_whole(json_array_get(cell, 0), (double)n - 1, &to) ||
		    !get_whole(json_array_get(cell, 1), MOST_VALUE, &messages) ||
		    !get_whole(json_array_get(cell, 2), MOST_VALUE, &bytes)) {
			snprintf(why, MAP_WHY, "rank %zu, entry %zu: not [rank, messages, bytes] of "
				 "%zu ranks", from, i + 1, n);
			return -EINVAL;
		}
		err = add(cells, from, (size_t)to, messages, bytes);
		if (err)
			break;
	}
	return err;
}

static int read_rows(struct cells *cells, const json_t *root, size_t n, int sends_only, char *why)
{
	const json_t *rows = json_object_get(root, "rows"), *row;
	int err = 0;
	size_t i;

	if (json_array_size(rows) != n) {
		snprintf(why, MAP_WHY, "%zu rows of %zu ranks; was the file cut off?",
			 json_array_size(rows), n);
		return -EINVAL;
	}
	json_array_foreach(rows, i, row) {
		double rank;

		if (!get_whole(json_object_get(row, "rank"), MAP_MOST, &rank) || (size_t)rank != i) {
			snprintf(why, MAP_WHY, "row %zu is not that of rank %zu", i + 1, i);
			return -EINVAL;
		}
		err = read_cells(cells, json_object_get(row, "sends"), i, n, why);
		if (!err && !sends_only)
			err = read_cells(cells, json_object_get(row, "collectives"), i, n, why);
		if (err)
			return err;
	}
	return 0;
}

static int read_json(struct map_matrix *m, FILE *file, int sends_only, char *why)
{
	json_error_t error;
	json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
	const char *schema = json_string_value(json_object_get(root, "schema"));
	struct cells cells = { 0 };
	double n = 0, value = 0;
	int err = -EINVAL;

	if (!root)
		snprintf(why, MAP_WHY, "line %d: %.150s", error.line, error.text);
	else if (!schema || strcmp(schema, "sonde-matrix-1"))
		snprintf(why, MAP_WHY, "schema %.40s is not sonde-matrix-1; record it with sonde run "
			 "--record of this version", schema ? schema : "(none)");
	else if (!get_whole(json_object_get(root, "ranks"), MAP_MOST, &n) || n < 1)
		snprintf(why, MAP_WHY, "\"ranks\" is not a number from 1 to %d", MAP_MOST);
	else
		err = read_rows(&cells, root, (size_t)n, sends_only, why);
	if (!err)
		err = build(m, (size_t)n, &cells);
	if (get_whole(json_object_get(root, "outside"), MOST_VALUE, &value))
		m->outside = (uint64_t)value;
	if (get_whole(json_object_get(root, "lost"), MOST_VALUE, &value))
		m->lost = (uint64_t)value;
	json_decref(root);
	free(cells.cell);
	return err;
}

/* ---- a table -------------------------------------------------------------- */

/* The next number of a line; blanks or one comma before it. -1: the line ends, 1: got. */
static int next_number(char **at, double *x)
{
	char *end;

	while (isspace((unsigned char)**at) || **at == ',')
		(*at)++;
	if (!**at || **at == '#')
		return -1;
	*x = strtod(*at, &end);
	if (end == *at || (*end && !isspace((unsigned char)*end) && *end != ',' && *end != '#'))
		return 0;
	*at = end;
	return 1;
}

/* One row; @n is how many numbers it has. */
static int read_row(struct cells *cells, char *line, size_t row, size_t *n, char *why)
{
	char *at = line;
	double x;
	int got, err;

	for (*n = 0; (got = next_number(&at, &x)) > 0; (*n)++) {
		if (!(x >= 0 && x <= MOST_VALUE)) {
			snprintf(why, MAP_WHY, "number %zu is negative, none, or more than %g", *n + 1,
				 MOST_VALUE);
			return -EINVAL;
		}
		if (*n >= MAP_MOST)
			break;
		err = add(cells, row, *n, 0, x);
		if (err)
			return err;
	}
	if (got < 0)
		return 0;
	if (got)
		snprintf(why, MAP_WHY, "more than %d numbers", MAP_MOST);
	else
		snprintf(why, MAP_WHY, "number %zu is none", *n + 1);
	return -EINVAL;
}

static int read_lines(struct cells *cells, FILE *file, size_t *rows, char *why)
{
	char *line = NULL, reason[MAP_WHY] = "";
	size_t room = 0, wide = 0, n, number = 0;
	int err = 0;

	while (!err && getline(&line, &room, file) >= 0) {
		number++;
		err = read_row(cells, line, *rows, &n, reason);
		if (!err && n && *rows && n != wide) {
			snprintf(reason, sizeof(reason), "%zu numbers, but %zu in the lines before",
				 n, wide);
			err = -EINVAL;
		}
		if (!err && n) {
			wide = n;
			(*rows)++;
		}
		if (!err && *rows > MAP_MOST)
			err = -EINVAL;
	}
	if (err == -EINVAL)
		snprintf(why, MAP_WHY, "line %zu: %s", number, *reason ? reason : "too many lines");
	else if (!err && (*rows != wide || !wide)) {
		snprintf(why, MAP_WHY, "%zu lines of %zu numbers: give as many lines as numbers in "
			 "each", *rows, wide);
		err = -EINVAL;
	}
	free(line);
	return err;
}

static int read_table(struct map_matrix *m, FILE *file, char *why)
{
	struct cells cells = { 0 };
	size_t rows = 0;
	int err = read_lines(&cells, file, &rows, why);

	if (!err)
		err = build(m, rows, &cells);
	free(cells.cell);
	return err;
}

int map_matrix_read(struct map_matrix *m, const char *path, int sends_only, char *why)
{
	FILE *file = fopen(path, "re");
	int c, err;

	*m = (struct map_matrix){ 0 };
	if (!file) {
		err = -errno;
		snprintf(why, MAP_WHY, "%s", strerror(-err));
		return err;
	}
	snprintf(why, MAP_WHY, "not enough memory");
	do
		c = fgetc(file);
	while (isspace(c));
	errno = 0;
	rewind(file);
	err = c == '{' ? read_json(m, file, sends_only, why) : read_table(m, file, why);
	if (ferror(file)) {
		snprintf(why, MAP_WHY, "%s", strerror(errno ? errno : EIO));
		map_matrix_free(m);
		err = -EIO;
	}
	fclose(file);
	return err;
}
