// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A meter that passes every call on and keeps what was asked and told.
 *
 * Times are handed on in whole nanoseconds, and gaps in thousandths, as they are
 * kept: so the probe sees the same numbers when it is asked again.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "capture.h"
#include "recorder.h"
#include "stream.h"

/* What can be said with a number of 64 bits. */
#define MOST_GAPS	1e15

struct meter_record {
	struct meter meter;
	struct meter *inner;
	struct sonde_recorder *recorder;
	struct capture_last last;
};

static struct meter_record *to_record(struct meter *m)
{
	return (struct meter_record *)(void *)m;
}

static char *add_result(char *at, int err)
{
	*at++ = '\t';
	return capture_signed(at, err);
}

static int record_pages(struct meter *m, size_t chunks)
{
	struct meter_record *r = to_record(m);
	int err = r->inner->ops->pages(r->inner, chunks);
	char *at = recorder_room(r->recorder, CAPTURE_QUESTION + CAPTURE_NUMBER);

	if (at)
		recorder_add(r->recorder, add_result(capture_pages(at, chunks), err));
	return err;
}

/* Runs of neighbours are frequent: differences, each with how often it comes. */
static char *add_frames(char *at, const uint64_t *frames, size_t n)
{
	uint64_t last = 0;
	size_t times;

	for (size_t i = 0; i < n; i += times) {
		uint64_t step = frames[i] - last;

		for (times = 1; i + times < n; times++)
			if (frames[i + times] - frames[i + times - 1] != step)
				break;
		last = frames[i + times - 1];
		*at++ = '\t';
		at = capture_signed(at, (int64_t)step);
		if (times > 1) {
			*at++ = '*';
			at = capture_whole(at, times);
		}
	}
	return at;
}

static int record_frames(struct meter *m, size_t first, size_t n, uint64_t *out)
{
	struct meter_record *r = to_record(m);
	int err = r->inner->ops->frames(r->inner, first, n, out);
	char *at = recorder_room(r->recorder, CAPTURE_QUESTION + (2 * n + 1) * CAPTURE_NUMBER);

	if (at) {
		at = add_result(capture_frames(at, first, n), err);
		recorder_add(r->recorder, err ? at : add_frames(at, out, n));
	}
	return err;
}

static void record_link(struct meter *m, const uint32_t *places, size_t n)
{
	struct meter_record *r = to_record(m);
	char *at;

	recorder_relax(r->recorder);
	at = recorder_room(r->recorder, CAPTURE_QUESTION);
	if (at)
		recorder_add(r->recorder, capture_link(at, places, n));
	r->inner->ops->link(r->inner, places, n);
}

static void record_chase(struct meter *m, uint64_t skip, unsigned int steps,
			 struct meter_window *out, size_t nout)
{
	struct meter_record *r = to_record(m);
	char *at = recorder_room(r->recorder, CAPTURE_QUESTION + nout * CAPTURE_WINDOW);

	r->inner->ops->chase(r->inner, skip, steps, out, nout);
	if (!at)
		return;
	at = capture_chase(at, skip, steps, nout);
	recorder_add(r->recorder, capture_windows(at, &r->last, out, nout));
}

static int record_flush(struct meter *m, const uint32_t *places, size_t n)
{
	struct meter_record *r = to_record(m);
	int err = r->inner->ops->flush(r->inner, places, n);
	char *at = recorder_room(r->recorder, CAPTURE_QUESTION + CAPTURE_NUMBER);

	if (at)
		recorder_add(r->recorder, add_result(capture_flush(at, places, n), err));
	return err;
}

static void add_move(struct meter_record *r, unsigned int cpu, int err)
{
	char *at = recorder_room(r->recorder, CAPTURE_QUESTION + CAPTURE_NUMBER);

	if (at)
		recorder_add(r->recorder, add_result(capture_move(at, cpu), err));
}

static int record_move(struct meter *m, unsigned int cpu)
{
	struct meter_record *r = to_record(m);
	int err = r->inner->ops->move(r->inner, cpu);

	add_move(r, cpu, err);
	return err;
}

/* Kept as if it had moved: where it is afterwards is all that matters to who asks again. */
static int record_settle(struct meter *m, unsigned int cpu)
{
	struct meter_record *r = to_record(m);
	int err = r->inner->ops->settle(r->inner, cpu);

	add_move(r, cpu, err);
	return err;
}

/* Windows of lanes that did not come together are no samples. */
static void add_lane(struct meter_record *r, const struct meter_lane *lane, int err)
{
	size_t nout = err ? 0 : lane->nout;
	char *at = recorder_room(r->recorder, CAPTURE_QUESTION + nout * CAPTURE_WINDOW);

	if (!at)
		return;
	at = capture_lane(at, lane);
	recorder_add(r->recorder, capture_windows(at, &r->last, lane->out, nout));
}

static int record_together(struct meter *m, const struct meter_lane *lanes, size_t nlanes)
{
	struct meter_record *r = to_record(m);
	int err = r->inner->ops->together(r->inner, lanes, nlanes);
	char *at = recorder_room(r->recorder, CAPTURE_QUESTION + CAPTURE_NUMBER);

	if (at)
		recorder_add(r->recorder, add_result(capture_together(at, nlanes), err));
	for (size_t i = 0; i < nlanes; i++)
		add_lane(r, &lanes[i], err);
	return err;
}

static void add_stream(struct meter_record *r, const struct meter_stream *lane, int err)
{
	size_t nout = err ? 0 : lane->nout;
	char *at = recorder_room(r->recorder, CAPTURE_QUESTION + nout * CAPTURE_WINDOW);

	if (!at)
		return;
	at = capture_stream(at, lane);
	recorder_add(r->recorder, capture_windows(at, &r->last, lane->out, nout));
}

static int record_stream(struct meter *m, const struct meter_stream *lanes, size_t nlanes)
{
	struct meter_record *r = to_record(m);
	int err = r->inner->ops->stream(r->inner, lanes, nlanes);
	char *at = recorder_room(r->recorder, CAPTURE_QUESTION + CAPTURE_NUMBER);

	if (at)
		recorder_add(r->recorder, add_result(capture_streams(at, nlanes), err));
	for (size_t i = 0; i < nlanes; i++)
		add_stream(r, &lanes[i], err);
	recorder_relax(r->recorder);
	return err;
}

/* That something was not done is no answer. */
static void record_rest(struct meter *m, double seconds)
{
	struct meter_record *r = to_record(m);

	r->inner->ops->rest(r->inner, seconds);
}

static double record_gaps(struct meter *m, double seconds)
{
	struct meter_record *r = to_record(m);
	double gaps = r->inner->ops->gaps(r->inner, seconds) * 1000;
	uint64_t told = gaps > 0 ? (uint64_t)llround(fmin(gaps, MOST_GAPS)) : 0;
	char *at = recorder_room(r->recorder, CAPTURE_QUESTION + CAPTURE_NUMBER);

	if (at) {
		at = capture_gaps(at, seconds);
		*at++ = '\t';
		recorder_add(r->recorder, capture_whole(at, told));
	}
	return (double)told / 1000;
}

static double record_now(struct meter *m)
{
	struct meter_record *r = to_record(m);
	uint64_t now = capture_ns(r->inner->ops->now(r->inner));
	char *at = recorder_room(r->recorder, CAPTURE_QUESTION + CAPTURE_NUMBER);

	if (at) {
		at = capture_now(at);
		*at++ = '\t';
		recorder_add(r->recorder, capture_signed(at, (int64_t)(now - r->last.now)));
	}
	r->last.now = now;
	return capture_seconds(now);
}

static void record_close(struct meter *m)
{
	struct meter_record *r = to_record(m);

	r->inner->ops->close(r->inner);
	free(r);
}

static const struct meter_ops record_ops = {
	.pages = record_pages,
	.frames = record_frames,
	.link = record_link,
	.chase = record_chase,
	.flush = record_flush,
	.move = record_move,
	.settle = record_settle,
	.together = record_together,
	.stream = record_stream,
	.rest = record_rest,
	.gaps = record_gaps,
	.now = record_now,
	.close = record_close,
};

int meter_record_open(struct meter **m, struct meter *inner, struct sonde_recorder *recorder)
{
	struct meter_record *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->meter = *inner;
	r->meter.ops = &record_ops;
	r->inner = inner;
	r->recorder = recorder;
	*m = &r->meter;
	return 0;
}
