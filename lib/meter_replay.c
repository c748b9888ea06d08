// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "capture.h"
#include "log.h"
#include "meter_replay.h"
#include "stream.h"

/* Questions and lines in the log: more says no more. */
#define SHOWN		60
/* Seconds that pass at each look when nothing is right any more: every budget ends. */
#define LEAP_S		1e6
/* More errors than any system has. */
#define MOST_ERRNO	4095

/**
 * struct meter_replay - a recording that answers
 * @source: all lines
 * @at: the next one
 * @line: its number
 * @last: what differences are from
 * @err: the first thing that went wrong
 * @now: seconds, once something has
 */
struct meter_replay {
	struct meter meter;
	struct replay_source source;
	const char *at;
	size_t line;
	struct capture_last last;
	int err;
	double now;
};

static struct meter_replay *to_replay(struct meter *m)
{
	return (struct meter_replay *)(void *)m;
}

static void refuse(struct meter_replay *r, const char *question, size_t len)
{
	int shown = len < SHOWN ? (int)len : SHOWN;
	size_t left = (size_t)(r->source.end - r->at);
	const char *newline = memchr(r->at, '\n', left < SHOWN ? left : SHOWN);
	int found = newline ? (int)(newline - r->at) : left < SHOWN ? (int)left : SHOWN;

	r->err = -EBADMSG;
	sonde_log("%s: line %zu: the probe asks '%.*s', recorded is '%.*s': recorded by sonde %s, "
		  "this is " SONDE_VERSION "; only the probe that was recorded can be asked again",
		  r->source.name, r->line, shown, question, found, r->at, r->source.version);
}

/* The answers to a question that ends at @end; NULL if another one was recorded. */
static const char *ask(struct meter_replay *r, const char *question, const char *end)
{
	size_t len = (size_t)(end - question);
	const char *at = r->at;

	if (r->err)
		return NULL;
	if ((size_t)(r->source.end - at) <= len || memcmp(at, question, len) != 0 ||
	    (at[len] != '\t' && at[len] != '\n')) {
		refuse(r, question, len);
		return NULL;
	}
	return at + len;
}

/* Behind the answers, of which @err says whether they made sense. */
static int end_line(struct meter_replay *r, const char *at, int err)
{
	if (!err)
		err = capture_read_char(&at, '\n');
	if (err) {
		r->err = err;
		sonde_log("%s: line %zu: the answer to '%c' is damaged", r->source.name, r->line,
			  *r->at);
		return err;
	}
	r->at = at;
	r->line++;
	return 0;
}

/* An error that was told, or none, to @told. */
static int read_result(const char **at, int *told)
{
	int64_t result;

	if (capture_read_char(at, '\t') || capture_read_signed(at, &result) || result > 0 ||
	    result < -MOST_ERRNO)
		return -EBADMSG;
	*told = (int)result;
	return 0;
}

/* For questions whose answer is a result alone. */
static int ask_result(struct meter_replay *r, const char *question, const char *end)
{
	const char *at = ask(r, question, end);
	int told = 0, err;

	if (!at)
		return r->err;
	err = read_result(&at, &told);
	err = end_line(r, at, err);
	return err ? err : told;
}

static int replay_pages(struct meter *m, size_t chunks)
{
	char question[CAPTURE_QUESTION];

	return ask_result(to_replay(m), question, capture_pages(question, chunks));
}

static int read_frames(const char **at, uint64_t *out, size_t n)
{
	uint64_t frame = 0, times;
	int64_t step;

	for (size_t i = 0; i < n;) {
		times = 1;
		if (capture_read_char(at, '\t') || capture_read_signed(at, &step) ||
		    (!capture_read_char(at, '*') && capture_read_whole(at, n - i, &times)) ||
		    !times)
			return -EBADMSG;
		for (; times; times--)
			out[i++] = frame += (uint64_t)step;
	}
	return 0;
}

static int replay_frames(struct meter *m, size_t first, size_t n, uint64_t *out)
{
	struct meter_replay *r = to_replay(m);
	char question[CAPTURE_QUESTION];
	const char *at = ask(r, question, capture_frames(question, first, n));
	int told = 0, err;

	if (!at)
		return r->err;
	err = read_result(&at, &told);
	if (!err && !told)
		err = read_frames(&at, out, n);
	err = end_line(r, at, err);
	return err ? err : told;
}

static void replay_link(struct meter *m, const uint32_t *places, size_t n)
{
	struct meter_replay *r = to_replay(m);
	char question[CAPTURE_QUESTION];
	const char *at = ask(r, question, capture_link(question, places, n));

	if (at)
		end_line(r, at, 0);
}

/* Something that can be calculated with. */
static void make_up(struct meter_window *w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		w[i] = (struct meter_window){ .ticks = 1, .chain = 1 };
}

/* Windows of @nout to the question; whatever is wrong is made up for. */
static int answer_windows(struct meter_replay *r, const char *at, struct meter_window *out,
			  size_t nout)
{
	int err = at ? capture_read_windows(&at, &r->last, out, nout) : r->err;

	if (at)
		err = end_line(r, at, err);
	if (err)
		make_up(out, nout);
	return err;
}

static void replay_chase(struct meter *m, uint64_t skip, unsigned int steps,
			 struct meter_window *out, size_t nout)
{
	struct meter_replay *r = to_replay(m);
	char question[CAPTURE_QUESTION];

	answer_windows(r, ask(r, question, capture_chase(question, skip, steps, nout)), out, nout);
}

static int replay_flush(struct meter *m, const uint32_t *places, size_t n)
{
	char question[CAPTURE_QUESTION];

	return ask_result(to_replay(m), question, capture_flush(question, places, n));
}

static int replay_move(struct meter *m, unsigned int cpu)
{
	char question[CAPTURE_QUESTION];

	return ask_result(to_replay(m), question, capture_move(question, cpu));
}

static int replay_together(struct meter *m, const struct meter_lane *lanes, size_t nlanes)
{
	struct meter_replay *r = to_replay(m);
	char question[CAPTURE_QUESTION];
	int told = ask_result(r, question, capture_together(question, nlanes)), err = r->err;

	for (size_t i = 0; i < nlanes && !err; i++) {
		const char *at = ask(r, question, capture_lane(question, &lanes[i]));

		err = answer_windows(r, at, lanes[i].out, told ? 0 : lanes[i].nout);
	}
	return err ? err : told;
}

static int replay_stream(struct meter *m, const struct meter_stream *lanes, size_t nlanes)
{
	struct meter_replay *r = to_replay(m);
	char question[CAPTURE_QUESTION];
	int told = ask_result(r, question, capture_streams(question, nlanes)), err = r->err;

	for (size_t i = 0; i < nlanes && !err; i++) {
		const char *at = ask(r, question, capture_stream(question, &lanes[i]));

		err = answer_windows(r, at, lanes[i].out, told ? 0 : lanes[i].nout);
	}
	return err ? err : told;
}

static void replay_rest(struct meter *m, double seconds)
{
	(void)m;
	(void)seconds;
}

static double replay_gaps(struct meter *m, double seconds)
{
	struct meter_replay *r = to_replay(m);
	char question[CAPTURE_QUESTION];
	const char *at = ask(r, question, capture_gaps(question, seconds));
	uint64_t told = 0;
	int err;

	if (!at)
		return 0;
	err = capture_read_char(&at, '\t');
	if (!err)
		err = capture_read_whole(&at, UINT64_MAX, &told);
	return end_line(r, at, err) ? 0 : (double)told / 1000;
}

static double replay_now(struct meter *m)
{
	struct meter_replay *r = to_replay(m);
	char question[CAPTURE_QUESTION];
	const char *at = ask(r, question, capture_now(question));
	int64_t passed = 0;
	int err;

	if (at) {
		err = capture_read_char(&at, '\t');
		if (!err)
			err = capture_read_signed(&at, &passed);
		if (!end_line(r, at, err)) {
			r->last.now += (uint64_t)passed;
			r->now = capture_seconds(r->last.now);
			return r->now;
		}
	}
	r->now += LEAP_S;
	return r->now;
}

static void replay_close(struct meter *m)
{
	free(to_replay(m));
}

static const struct meter_ops replay_ops = {
	.pages = replay_pages,
	.frames = replay_frames,
	.link = replay_link,
	.chase = replay_chase,
	.flush = replay_flush,
	.move = replay_move,
	.settle = replay_move,
	.together = replay_together,
	.stream = replay_stream,
	.rest = replay_rest,
	.gaps = replay_gaps,
	.now = replay_now,
	.close = replay_close,
};

int meter_replay_open(struct meter **m, const struct meter *as, const struct replay_source *source)
{
	struct meter_replay *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->meter = *as;
	r->meter.ops = &replay_ops;
	r->source = *source;
	r->at = source->text;
	r->line = source->line;
	*m = &r->meter;
	return 0;
}

int meter_replay_error(const struct meter *m)
{
	return ((const struct meter_replay *)(const void *)m)->err;
}

int meter_replay_end(struct meter *m)
{
	struct meter_replay *r = to_replay(m);

	if (!r->err && r->at != r->source.end)
		refuse(r, "nothing more", strlen("nothing more"));
	return r->err;
}
