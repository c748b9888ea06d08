// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * recorder - the capture while it is made
 *
 * Lines gather in memory, and go to the file only when a probe is about to fill
 * the caches anew, or at the end: a system call between two windows would be
 * measured.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "capture.h"
#include "profile.h"
#include "recorder.h"
#include "replace.h"
#include "topology.h"

/* So much may gather; at the rates of a machine, half a minute. */
#define GATHER	((size_t)8 << 20)
#define LEAST	((size_t)64 << 10)

/**
 * struct sonde_recorder - a capture being made
 * @file: where it goes
 * @text: @len bytes that are not in @file yet, room for @room
 * @sum: over all that is
 * @nruns: probes
 * @err: the first that went wrong; 0 or -errno
 */
struct sonde_recorder {
	struct replace file;
	char *text;
	size_t len, room;
	uint64_t sum;
	size_t nruns;
	int err;
};

static void fail(struct sonde_recorder *r, int err)
{
	if (!r->err)
		r->err = err;
}

char *recorder_room(struct sonde_recorder *r, size_t bytes)
{
	size_t want = r->len + bytes + 1, room = r->room ? r->room : LEAST;
	char *text;

	if (r->err)
		return NULL;
	while (room < want)
		room *= 2;
	if (room > r->room) {
		text = realloc(r->text, room);
		if (!text) {
			r->err = -ENOMEM;
			return NULL;
		}
		r->text = text;
		r->room = room;
	}
	return r->text + r->len;
}

void recorder_add(struct sonde_recorder *r, char *end)
{
	*end++ = '\n';
	r->len = (size_t)(end - r->text);
}

static void write_out(struct sonde_recorder *r)
{
	if (r->err || !r->len)
		return;
	r->sum = capture_sum(r->sum, r->text, r->len);
	errno = 0;
	if (fwrite(r->text, 1, r->len, r->file.file) != r->len)
		fail(r, errno ? -errno : -EIO);
	r->len = 0;
}

void recorder_relax(struct sonde_recorder *r)
{
	if (r->len >= GATHER)
		write_out(r);
}

static void add_line(struct sonde_recorder *r, const char *line)
{
	size_t len = strlen(line);
	char *at = recorder_room(r, len);

	if (at)
		recorder_add(r, (char *)memcpy(at, line, len) + len);
}

__attribute__((format(printf, 2, 3)))
static void add_text(struct sonde_recorder *r, const char *fmt, ...)
{
	va_list args;
	char *line;
	int n;

	va_start(args, fmt);
	n = vasprintf(&line, fmt, args);
	va_end(args);
	if (n < 0) {
		fail(r, -ENOMEM);
		return;
	}
	add_line(r, line);
	free(line);
}

static const char *const explanation[] = {
	"# What a probe asked of a machine, and was told: see sonde-samples(5).",
	"# `sonde analyse FILE` gives the report again. A line that is changed spoils the file.",
	"# p chunks: result                        f first n: result frames (differences*times)",
	"# l n sum of places                       c skip steps n: windows",
	"# m cpu: result                           t lanes: result, then each",
	"# a cpu n sum skip steps n: windows       g ns: gaps in 1000 s      n: ns since the last",
	"# s lanes: result, then each             b cpu kind node pages bytes pause n: windows",
	"# window: ticks,chain - chain before,begin - (begin + ticks before + chain)",
	NULL,
};

static void add_fields(struct sonde_recorder *r, const char *kind,
		       const struct capture_field *fields, const void *object)
{
	char value[32];

	for (const struct capture_field *f = fields; f->name; f++) {
		if (capture_field_text(f, object, value))
			fail(r, -ENOMEM);
		else
			add_text(r, "%s\t%s\t%s", kind, f->name, value);
	}
}

/* What firmware calls a machine may be anything. */
static void add_model(struct sonde_recorder *r, const char *model)
{
	char *copy = strdup(model);

	for (char *c = copy; c && *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	if (copy)
		add_text(r, "model\t%s", copy);
	else
		fail(r, -ENOMEM);
	free(copy);
}

static void add_cpus(struct sonde_recorder *r, const char *name, hwloc_const_bitmap_t cpus)
{
	char *list;

	if (hwloc_bitmap_list_asprintf(&list, cpus) < 0) {
		fail(r, -ENOMEM);
		return;
	}
	add_text(r, "%s\t%s", name, list);
	free(list);
}

static void add_topology(struct sonde_recorder *r, const struct sonde_topology *topo)
{
	add_model(r, topo->model);
	add_fields(r, "machine", capture_machine_fields, topo);
	add_cpus(r, "known", topo->known);
	add_cpus(r, "cpus", topo->cpus);
	for (size_t i = 0; i < topo->ncaches; i++) {
		const struct sonde_cache_claim *c = &topo->cache[i].claim;

		add_text(r, "claim\t%u\t%s\t%" PRIu64 "\t%d\t%u\t%s", c->level,
			 c->type == SONDE_CACHE_DATA ? "data" : "unified", c->size, c->ways,
			 c->line, c->cpus);
	}
}

static void add_head(struct sonde_recorder *r, const struct sonde_topology *topo,
		     const struct sonde_profile *about)
{
	char *text;

	add_line(r, CAPTURE_MAGIC "\t" CAPTURE_FORMAT);
	for (const char *const *line = explanation; *line; line++)
		add_line(r, *line);
	add_line(r, "version\t" SONDE_VERSION);
	if (topo)
		add_topology(r, topo);
	if (!about)
		return;
	text = json_dumps(about->root, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15));
	if (text)
		add_text(r, "profile\t%s", text);
	else
		fail(r, -ENOMEM);
	free(text);
}

int sonde_recorder_open(struct sonde_recorder **recorder, const char *path,
			const struct sonde_topology *topo, const struct sonde_profile *about)
{
	struct sonde_recorder *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	err = replace_open(&r->file, path);
	if (err) {
		free(r);
		return err;
	}
	r->sum = CAPTURE_SUM_BEGIN;
	add_head(r, topo, about);
	if (r->err) {
		err = r->err;
		sonde_recorder_close(r);
		return err;
	}
	*recorder = r;
	return 0;
}

static int begin_run(struct sonde_recorder *r, const char *probe)
{
	if (!r->file.file)
		return -EINVAL;
	add_text(r, "run\t%s", probe);
	r->nruns++;
	return 0;
}

static int wrap(struct sonde_recorder *r, struct meter **m, int err)
{
	struct meter *inner = *m;

	if (!err) {
		add_fields(r, "meter", capture_meter_fields, inner);
		err = meter_record_open(m, inner, r);
	}
	if (err)
		inner->ops->close(inner);
	return err;
}

int recorder_cache(struct sonde_recorder *r, const char *probe,
		   const struct sonde_cache_options *options, struct meter **m)
{
	int err;

	if (!r)
		return 0;
	err = begin_run(r, probe);
	if (!err)
		add_fields(r, "option", capture_cache_fields, options);
	for (size_t i = 0; i < options->nalike && !err; i++)
		add_text(r, "cpu\t%u", options->alike[i]);
	return wrap(r, m, err);
}

static void add_real(struct sonde_recorder *r, const char *name, double x)
{
	char value[32];

	if (capture_real(value, x))
		fail(r, -ENOMEM);
	else
		add_text(r, "%s\t%s", name, value);
}

int recorder_share(struct sonde_recorder *r, const struct sonde_share_options *options,
		   double before_s, struct meter **m)
{
	int err;

	if (!r)
		return 0;
	err = begin_run(r, "share");
	if (!err) {
		add_fields(r, "option", capture_share_fields, options);
		for (size_t i = 0; i < options->ncpus; i++)
			add_text(r, "cpu\t%u", options->cpus[i]);
		for (size_t i = 0; i < options->caches->nlevels; i++)
			add_fields(r, "level", capture_level_fields, &options->caches->levels[i]);
		add_real(r, "memory", options->caches->memory.cycles);
		add_real(r, "before", before_s);
	}
	return wrap(r, m, err);
}

/* "group", a number for each depth: of the next CPU. */
static void add_groups(struct sonde_recorder *r, const unsigned int *group, size_t depth)
{
	char *at = recorder_room(r, (depth + 1) * CAPTURE_NUMBER);

	if (!at)
		return;
	at = (char *)memcpy(at, "group", strlen("group")) + strlen("group");
	for (size_t i = 0; i < depth; i++) {
		*at++ = '\t';
		at = capture_whole(at, group[i]);
	}
	recorder_add(r, at);
}

int recorder_memory(struct sonde_recorder *r, const struct sonde_memory_options *options,
		    struct meter **m)
{
	struct sonde_memory_options kept = *options;
	int err;

	if (!r)
		return 0;
	if (!kept.groups)
		kept.depth = 0;
	err = begin_run(r, "memory");
	if (!err) {
		add_fields(r, "option", capture_memory_fields, &kept);
		for (size_t i = 0; i < kept.ncpus; i++)
			add_text(r, "cpu\t%u", kept.cpus[i]);
		for (size_t i = 0; i < kept.ncpus && kept.depth; i++)
			add_groups(r, kept.groups + i * kept.depth, kept.depth);
		for (size_t i = 0; i < kept.nnodes; i++)
			add_text(r, "node\t%u", kept.nodes[i]);
		add_text(r, "vectors\t%u", (*m)->vectors);
	}
	return wrap(r, m, err);
}

/* The last line, which is not part of the sum. */
static void add_end(struct sonde_recorder *r)
{
	char digits[CAPTURE_SUM_DIGITS + 1];

	write_out(r);
	*capture_hex(digits, r->sum) = '\0';
	add_text(r, "end\t%s", digits);
	write_out(r);
}

int sonde_recorder_save(struct sonde_recorder *r)
{
	if (!r->file.file)
		return -EINVAL;
	if (!r->nruns)
		fail(r, -ENODATA);
	add_end(r);
	if (!r->err)
		return replace_commit(&r->file);
	replace_abandon(&r->file);
	return r->err;
}

void sonde_recorder_close(struct sonde_recorder *r)
{
	if (!r)
		return;
	replace_abandon(&r->file);
	free(r->text);
	free(r);
}
