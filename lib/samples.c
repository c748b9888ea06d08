// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * samples - captures, read
 *
 * A file may come from anybody. Its sum tells damage; nothing in it is believed
 * for being there: each number is bounded when it is read, and what a probe does
 * is bounded by the questions in the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "log.h"
#include "samples.h"

#define FIRST_BYTES	((size_t)1 << 16)
#define MOST_BYTES	((size_t)1 << 30)

/* ---- lines ---------------------------------------------------------------------- */

struct samples_reader samples_read_run(const struct sonde_samples *s,
				       const struct samples_run *run)
{
	return (struct samples_reader){
		.samples = s, .at = run->text, .end = run->end, .line = run->line,
	};
}

int samples_refuse(const struct samples_reader *r, const char *why)
{
	sonde_log("%s: line %zu: %s", r->samples->name, r->line, why);
	return -EBADMSG;
}

size_t samples_length(const struct samples_reader *r)
{
	const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));

	return (size_t)(newline - r->at);
}

void samples_next(struct samples_reader *r)
{
	r->at += samples_length(r) + 1;
	r->line++;
}

const char *samples_after(const struct samples_reader *r, const char *word)
{
	size_t len = strlen(word);

	if (r->at == r->end || samples_length(r) <= len || memcmp(r->at, word, len) != 0 ||
	    r->at[len] != '\t')
		return NULL;
	return r->at + len + 1;
}

int samples_fields(struct samples_reader *r, const char *kind, const struct capture_field *fields,
		       void *object)
{
	for (const struct capture_field *f = fields; f->name; f++) {
		const char *at = samples_after(r, kind);
		size_t len = strlen(f->name);
		int err;

		if (!at || strncmp(at, f->name, len) != 0 || at[len] != '\t')
			return samples_refuse(r, "another property is missing before it");
		at += len + 1;
		err = capture_field_read(f, object, &at);
		if (err == -ENOMEM)
			return err;
		if (err || *at != '\n')
			return samples_refuse(r, "this is no number that the property can have");
		samples_next(r);
	}
	return 0;
}

int samples_real(struct samples_reader *r, const char *name, double *x)
{
	const char *at = samples_after(r, name);
	int err = at ? capture_read_real(&at, x) : -EBADMSG;

	if (err == -ENOMEM)
		return err;
	if (err || *at != '\n') {
		sonde_log("%s: line %zu: this is not '%s' and a number", r->samples->name,
			  r->line, name);
		return -EBADMSG;
	}
	samples_next(r);
	return 0;
}

/* ---- the file ---------------------------------------------------------------- */

static int make_room(char **text, size_t *room)
{
	char *larger;

	if (*room >= MOST_BYTES)
		return -EFBIG;
	*room = *room ? 2 * *room : FIRST_BYTES;
	larger = realloc(*text, *room);
	if (!larger)
		return -ENOMEM;
	*text = larger;
	return 0;
}

static int read_all(struct sonde_samples *s, int fd)
{
	size_t room = 0;
	ssize_t n;
	int err;

	do {
		err = s->len == room ? make_room(&s->text, &room) : 0;
		if (err)
			return err;
		n = read(fd, s->text + s->len, room - s->len);
		if (n < 0 && errno != EINTR)
			return -errno;
		s->len += n > 0 ? (size_t)n : 0;
	} while (n);
	return 0;
}

static int read_file(struct sonde_samples *s, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = read_all(s, fd);
	close(fd);
	return err;
}

/* ---- the frame: first line, last line, what is between ------------------------ */

/* Lines of it go to the log, and from there to a terminal. */
static int is_text(const struct sonde_samples *s)
{
	for (size_t i = 0; i < s->len; i++) {
		unsigned char c = (unsigned char)s->text[i];

		if ((c < ' ' && c != '\t' && c != '\n') || c > '~')
			return 0;
	}
	return 1;
}

static int check_magic(struct samples_reader *r)
{
	const char *format = r->at == r->end ? NULL : samples_after(r, CAPTURE_MAGIC);
	size_t len;

	if (!format)
		return samples_refuse(r, "this is no capture, which begins with '" CAPTURE_MAGIC
				      "'");
	len = samples_length(r) - (size_t)(format - r->at);
	if (len != strlen(CAPTURE_FORMAT) || memcmp(format, CAPTURE_FORMAT, len) != 0) {
		sonde_log("%s: the capture's format is %.*s, but this is sonde " SONDE_VERSION
			  ", which reads format " CAPTURE_FORMAT, r->samples->name,
			  len < SAMPLES_VERSION ? (int)len : SAMPLES_VERSION, format);
		return -EPROTO;
	}
	samples_next(r);
	return 0;
}

/* The last line is the sum of all before it; r->end moves before it. */
static int check_sum(struct samples_reader *r)
{
	const struct sonde_samples *s = r->samples;
	const size_t len = strlen("end\t") + CAPTURE_SUM_DIGITS + 1;
	const char *last = s->text + s->len - len;
	char digits[CAPTURE_SUM_DIGITS];

	if (s->len < len || (last > s->text && last[-1] != '\n') ||
	    memcmp(last, "end\t", strlen("end\t")) != 0 || last[len - 1] != '\n') {
		sonde_log("%s: the end is missing: the file was cut off", s->name);
		return -EBADMSG;
	}
	capture_hex(digits, capture_sum(CAPTURE_SUM_BEGIN, s->text, s->len - len));
	if (memcmp(last + strlen("end\t"), digits, sizeof(digits)) != 0) {
		sonde_log("%s: the sum at its end is not that of its lines: the file is damaged "
			  "or was edited", s->name);
		return -EBADMSG;
	}
	r->end = last;
	return 0;
}

static int read_version(struct sonde_samples *s, struct samples_reader *r)
{
	const char *version = samples_after(r, "version");
	size_t len;

	if (!version)
		return samples_refuse(r, "'version' is missing");
	len = samples_length(r) - (size_t)(version - r->at);
	if (len >= sizeof(s->version))
		return samples_refuse(r, "the version is too long");
	memcpy(s->version, version, len);
	samples_next(r);
	return 0;
}

/* What it says is looked at when somebody asks. */
static void keep_topology(struct sonde_samples *s, struct samples_reader *r)
{
	s->topology = (struct samples_run){ .text = r->at, .line = r->line };
	while (samples_after(r, "model") || samples_after(r, "machine") ||
	       samples_after(r, "known") || samples_after(r, "cpus") || samples_after(r, "claim"))
		samples_next(r);
	s->topology.end = r->at;
}

static const char *find_probe(const struct samples_reader *r)
{
	static const char *const names[] = { "cache", "servet", "share", "memory" };
	const char *name = samples_after(r, "run");
	size_t len = name ? samples_length(r) - (size_t)(name - r->at) : 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (len == strlen(names[i]) && !memcmp(name, names[i], len))
			return names[i];
	return NULL;
}

static int read_runs(struct sonde_samples *s, struct samples_reader *r)
{
	struct samples_run *run = NULL;

	for (; r->at < r->end; samples_next(r)) {
		if (!samples_after(r, "run"))
			continue;
		if (run)
			run->end = r->at;
		if (s->nruns == SAMPLES_RUNS)
			return samples_refuse(r, "there are too many probes in it");
		run = &s->run[s->nruns++];
		run->probe = find_probe(r);
		if (!run->probe)
			return samples_refuse(r, "a probe that this sonde does not have");
		run->text = r->at + samples_length(r) + 1;
		run->line = r->line + 1;
	}
	if (!run)
		return samples_refuse(r, "there is no probe in it");
	run->end = r->end;
	return 0;
}

static int read_frame(struct sonde_samples *s)
{
	struct samples_reader r = {
		.samples = s, .at = s->text, .end = s->text + s->len, .line = 1,
	};
	int err;

	if (!s->len || s->text[s->len - 1] != '\n' || !is_text(s)) {
		sonde_log("%s: this is no capture, or one that was cut off: it is not lines of "
			  "text", s->name);
		return -EBADMSG;
	}
	err = check_magic(&r);
	if (!err)
		err = check_sum(&r);
	if (err)
		return err;
	while (r.at < r.end && *r.at == '#')
		samples_next(&r);
	err = read_version(s, &r);
	if (!err && samples_after(&r, "model"))
		keep_topology(s, &r);
	if (!err && samples_after(&r, "profile")) {
		s->profile = samples_after(&r, "profile");
		s->profile_len = samples_length(&r) - strlen("profile\t");
		samples_next(&r);
	}
	if (!err && !samples_after(&r, "run"))
		err = samples_refuse(&r, "'run' is missing");
	return err ? err : read_runs(s, &r);
}

int sonde_samples_load(struct sonde_samples **samples, const char *path)
{
	struct sonde_samples *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->name = strdup(path);
	err = s->name ? read_file(s, path) : -ENOMEM;
	if (!err)
		err = read_frame(s);
	if (err)
		sonde_samples_free(s);
	else
		*samples = s;
	return err;
}

void sonde_samples_free(struct sonde_samples *samples)
{
	if (!samples)
		return;
	free(samples->text);
	free(samples->name);
	free(samples);
}

/* Those before the last one only prepared it. */
const char *sonde_samples_probe(const struct sonde_samples *samples)
{
	return samples->run[samples->nruns - 1].probe;
}
