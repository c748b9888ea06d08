// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"

#define COLUMNS		7
/* Larger caches and lines are misprints. */
#define BYTES_MAX	(4LL << 30)
#define LINE_MIN	METER_PLACE
#define LINE_MAX	1024

static const char *const header[COLUMNS] = {
	"machine", "level", "size_bytes", "ways", "line_bytes", "sets", "shared_by_threads",
};

/**
 * struct reading - a table that is being read
 * @line: number of the current one
 * @machines: @n so far
 */
struct reading {
	const char *path;
	unsigned int line;
	struct corpus_machine *machines;
	size_t n;
	char *error;
	size_t size;
};

__attribute__((format(printf, 2, 3)))
static int refuse(struct reading *r, const char *fmt, ...)
{
	int n = snprintf(r->error, r->size, "%s:%u: ", r->path, r->line);
	va_list args;

	va_start(args, fmt);
	if (n >= 0 && (size_t)n < r->size)
		vsnprintf(r->error + n, r->size - (size_t)n, fmt, args);
	va_end(args);
	return -EINVAL;
}

/* Fields of a line, which is cut up. 0, -EINVAL. */
static int cut(struct reading *r, char *line, char *field[COLUMNS])
{
	unsigned int n = 0;

	for (; line && n < COLUMNS; n++)
		field[n] = strsep(&line, "\t");
	if (n < COLUMNS || line)
		return refuse(r, "not %d fields between tabs", COLUMNS);
	return 0;
}

static int parse_number(struct reading *r, const char *what, const char *text, long long *out)
{
	char *end;

	errno = 0;
	*out = strtoll(text, &end, 10);
	if (errno || end == text || *end || *out < -1 || *out > BYTES_MAX)
		return refuse(r, "%s is '%.40s', not a number from -1 to %lld", what, text,
			      BYTES_MAX);
	return 0;
}

/* What of a cache cannot be true or is missing. */
static void judge(struct corpus_cache *c, const long long *x)
{
	const char *why = NULL;

	if (x[1] <= 0 || x[2] <= 0 || x[3] <= 0 || x[4] <= 0)
		why = "size, ways, line or sets are not known";
	else if (x[3] < LINE_MIN || x[3] > LINE_MAX || (x[3] & (x[3] - 1)))
		why = "no such line";
	else if (x[2] > BYTES_MAX / x[3] || x[4] > BYTES_MAX / (x[2] * x[3]) ||
		 x[2] * x[3] * x[4] != x[1])
		why = "ways x line x sets is not its size";
	else if (x[2] > MACHINE_WAYS && x[0] == 1)
		why = "more ways than a first level has";
	snprintf(c->why, sizeof(c->why), "%s", why ? why : "");
}

static struct corpus_machine *get_machine(struct reading *r, const char *name)
{
	struct corpus_machine *m;

	if (r->n && !strcmp(r->machines[r->n - 1].name, name))
		return &r->machines[r->n - 1];
	m = realloc(r->machines, (r->n + 1) * sizeof(*m));
	if (!m)
		return NULL;
	r->machines = m;
	m += r->n++;
	*m = (struct corpus_machine){ .n = 0 };
	snprintf(m->name, sizeof(m->name), "%s", name);
	return m;
}

/* Rows may come in any order of levels. */
static int insert(struct reading *r, struct corpus_machine *m, const struct corpus_cache *c)
{
	unsigned int i = m->n;

	for (unsigned int j = 0; j < m->n; j++)
		if (m->cache[j].level == c->level)
			return refuse(r, "%.60s has a second level %u", m->name, c->level);
	for (; i && m->cache[i - 1].level > c->level; i--)
		m->cache[i] = m->cache[i - 1];
	m->cache[i] = *c;
	m->n++;
	return 0;
}

static int read_row(struct reading *r, char *line)
{
	char *field[COLUMNS];
	long long x[COLUMNS - 1];
	struct corpus_cache c;
	struct corpus_machine *m;
	int err = cut(r, line, field);

	if (err)
		return err;
	if (!*field[0] || strlen(field[0]) >= CORPUS_NAME)
		return refuse(r, "the machine's name has not 1 to %d characters", CORPUS_NAME - 1);
	for (unsigned int i = 0; i < COLUMNS - 1 && !err; i++)
		err = parse_number(r, header[i + 1], field[i + 1], &x[i]);
	if (err)
		return err;
	if (x[0] < 1 || x[0] > MACHINE_LEVELS)
		return refuse(r, "level is %lld, not 1 to %d", x[0], MACHINE_LEVELS);
	c = (struct corpus_cache){
		.level = (unsigned int)x[0], .bytes = x[1] > 0 ? (size_t)x[1] : 0,
		.ways = x[2] > 0 ? (unsigned int)x[2] : 0,
		.line = x[3] > 0 ? (unsigned int)x[3] : 0,
		.sets = x[4] > 0 ? (size_t)x[4] : 0,
		.shared = x[5] > 0 ? (unsigned int)x[5] : 0,
	};
	judge(&c, x);
	m = get_machine(r, field[0]);
	return m ? insert(r, m, &c) : -ENOMEM;
}

static int check_header(struct reading *r, char *line)
{
	char *field[COLUMNS];
	int err = cut(r, line, field);

	for (unsigned int i = 0; i < COLUMNS && !err; i++)
		if (strcmp(field[i], header[i]))
			err = refuse(r, "column %u is '%.40s', not '%s'", i + 1, field[i],
				     header[i]);
	return err;
}

/* Levels from the first on of which everything is known. */
static void count_usable(struct corpus_machine *m)
{
	while (m->usable < m->n) {
		struct corpus_cache *c = &m->cache[m->usable];

		if (c->level != m->usable + 1 && !*c->why)
			snprintf(c->why, sizeof(c->why), "level %u is missing", m->usable + 1);
		if (*c->why)
			break;
		m->usable++;
	}
	for (unsigned int i = m->usable + 1; i < m->n; i++)
		if (!*m->cache[i].why)
			snprintf(m->cache[i].why, sizeof(m->cache[i].why),
				 "a level above it cannot be simulated");
}

static int read_lines(struct reading *r, FILE *file)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	int err = 0, has_header = 0;

	while (!err && (errno = 0, len = getline(&line, &room, file)) >= 0) {
		r->line++;
		while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
			line[--len] = 0;
		if (!len || *line == '#')
			continue;
		err = has_header ? read_row(r, line) : check_header(r, line);
		has_header = 1;
	}
	if (!err && ferror(file))
		err = errno ? -errno : -EIO;
	free(line);
	if (!err && !r->n)
		err = refuse(r, "no machines");
	return err;
}

int corpus_read(const char *path, struct corpus_machine **machines, size_t *n, char *error,
		size_t size)
{
	struct reading r = { .path = path, .error = error, .size = size };
	FILE *file = fopen(path, "re");
	int err = file ? 0 : -errno;

	*error = 0;
	if (!err)
		err = read_lines(&r, file);
	if (file)
		fclose(file);
	if (err) {
		if (!*error)
			snprintf(error, size, "%s: %s", path, strerror(-err));
		free(r.machines);
		return err;
	}
	for (size_t i = 0; i < r.n; i++)
		count_usable(&r.machines[i]);
	*machines = r.machines;
	*n = r.n;
	return 0;
}
