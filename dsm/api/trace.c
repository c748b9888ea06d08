// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * SONDE_DSM_TRACE: what each thread waited for, and messages, as a file of trace events for
 * ui.perfetto.dev or chrome://tracing (Trace Event Format: complete events, asynchronous
 * ones, flows). The progress thread of each process writes a ring of the last events, so
 * nothing is locked; a thread that asks adds the time and its number to the request.
 * At the end all tell process 0, which writes the file.
 *
 * Clocks are CLOCK_MONOTONIC's. At the end each process asks process 0 for the time, some
 * times; the quickest answer bounds the difference to half its round trip (Cristian 1989).
 * A difference within that bound is taken for none: processes of a node have one clock.
 * Clocks of different nodes that drift are off by their drift at the begin.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../core/wire.h"
#include "run.h"

#define EVENTS		32768u
#define CLOCK_TURNS	10

enum trace_kind { TRACE_REQUEST, TRACE_SENT, TRACE_RECEIVED };

struct trace_event {
	uint64_t begin_ns, end_ns, id;
	uint32_t number;	/* of the message; of a request: its thread, 0: not known */
	uint16_t peer;
	uint8_t kind, what;	/* enum dsm_event_kind or dsm_message */
	bool waited;		/* for something from elsewhere */
};

/* What a process tells; its events follow, oldest first. */
struct trace_head {
	uint64_t lost, nevents;
	int64_t offset_ns;	/* to process 0's clock */
	uint64_t bound_ns;
	char host[64];
	uint64_t pid;
};

struct told {
	struct trace_head head;
	struct trace_event *events;
};

struct dsm_trace {
	struct trace_event *ring;
	uint32_t room;
	uint64_t n;
	struct told *told;	/* in process 0 */
	_Atomic uint32_t ntold;
};

int dsm_trace_create(struct dsm_run *run)
{
	struct dsm_trace *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->room = run->settings.trace_events ? run->settings.trace_events : EVENTS;
	t->ring = calloc(t->room, sizeof(*t->ring));
	if (!run->self)
		t->told = calloc(run->processes, sizeof(*t->told));
	run->trace = t;
	return t->ring && (run->self || t->told) ? 0 : -ENOMEM;
}

void dsm_trace_destroy(struct dsm_run *run)
{
	struct dsm_trace *t = run->trace;

	if (!t)
		return;
	for (uint32_t i = 0; t->told && i < run->processes; i++)
		free(t->told[i].events);
	free(t->told);
	free(t->ring);
	free(t);
}

/* ---- while it runs ---- */
static struct trace_event *next_event(struct dsm_trace *t)
{
	return &t->ring[t->n++ % t->room];
}

void dsm_trace_request(struct dsm_run *run, const struct dsm_request *r, bool waited)
{
	if (r->is_nobodys && r->event.kind == DSM_EV_TELL)
		return;
	*next_event(run->trace) = (struct trace_event){
		.kind = TRACE_REQUEST, .what = (uint8_t)r->event.kind, .begin_ns = r->begun_ns,
		.end_ns = dsm_now(), .id = r->event.id, .number = r->is_nobodys ? 0 : r->thread,
		.waited = waited,
	};
}

static void add_message(struct dsm_run *run, enum trace_kind kind, uint32_t peer,
			const uint8_t *data, size_t len, uint64_t begun_ns)
{
	struct dsm_message_head h;
	struct dsm_reader r;

	if (dsm_get_head(data, len, &h, &r))
		return;
	*next_event(run->trace) = (struct trace_event){
		.kind = (uint8_t)kind, .what = h.kind, .begin_ns = begun_ns, .end_ns = dsm_now(),
		.id = h.id, .number = (uint32_t)h.number, .peer = (uint16_t)peer,
	};
}

void dsm_trace_sent(struct dsm_run *run, uint32_t to, const uint8_t *data, size_t len,
		    uint64_t begun_ns)
{
	add_message(run, TRACE_SENT, to, data, len, begun_ns);
}

void dsm_trace_received(struct dsm_run *run, uint32_t from, const uint8_t *data, size_t len,
			uint64_t begun_ns)
{
	add_message(run, TRACE_RECEIVED, from, data, len, begun_ns);
}

/* ---- at the end ---- */
static void measure_clock(struct dsm_run *run, struct trace_head *head)
{
	head->bound_ns = UINT64_MAX;
	for (int i = 0; run->self && i < CLOCK_TURNS; i++) {
		struct dsm_word w = { .kind = DSM_WORD_CLOCK };
		uint64_t before = dsm_now(), there = 0, after;

		dsm_ask(run, 0, &w, false, &there);
		after = dsm_now();
		if ((after - before) / 2 >= head->bound_ns)
			continue;
		head->bound_ns = (after - before) / 2;
		head->offset_ns = (int64_t)(there - (before + after) / 2);
	}
	if (!run->self || (uint64_t)llabs(head->offset_ns) <= head->bound_ns)
		head->offset_ns = 0;
	if (!run->self)
		head->bound_ns = 0;
}

struct copy {
	struct trace_head *head;
	uint8_t *bytes;
	size_t len;
};

static void copy_ring(struct dsm_run *run, void *ctx)
{
	struct dsm_trace *t = run->trace;
	struct copy *c = ctx;
	uint64_t first = t->n > t->room ? t->n - t->room : 0;

	c->head->lost = first;
	c->head->nevents = t->n - first;
	c->len = sizeof(*c->head) + c->head->nevents * sizeof(*t->ring);
	c->bytes = malloc(c->len);
	if (!c->bytes)
		return;
	memcpy(c->bytes, c->head, sizeof(*c->head));
	for (uint64_t i = first; i < t->n; i++)
		memcpy(c->bytes + sizeof(*c->head) + (i - first) * sizeof(*t->ring),
		       &t->ring[i % t->room], sizeof(*t->ring));
}

void dsm_trace_say(struct dsm_run *run)
{
	struct trace_head head = { .pid = (uint64_t)getpid() };
	struct copy c = { .head = &head };

	gethostname(head.host, sizeof(head.host) - 1);
	measure_clock(run, &head);
	dsm_call(run, copy_ring, &c);
	if (!c.bytes || dsm_say_more(run, 0, &(struct dsm_word){ .kind = DSM_WORD_TRACE }, c.bytes,
				     c.len))
		dsm_run_fail(run, "no memory for the trace; lower SONDE_DSM_TRACE_EVENTS");
	free(c.bytes);
}

void dsm_on_trace(struct dsm_run *run, uint32_t from, const struct dsm_word *w,
		  const uint8_t *data, size_t len)
{
	struct told *told = run->trace && run->trace->told ? &run->trace->told[from] : NULL;

	(void)w;
	if (!told || told->events || len < sizeof(told->head))
		return;
	memcpy(&told->head, data, sizeof(told->head));
	len -= sizeof(told->head);
	if (len != told->head.nevents * sizeof(*told->events))
		return;
	told->events = malloc(len ? len : 1);
	if (!told->events)
		dsm_run_fail(run, "no memory for the trace; lower SONDE_DSM_TRACE_EVENTS");
	memcpy(told->events, data + sizeof(told->head), len);
	/* Partner: dsm_trace_write(). */
	atomic_fetch_add_explicit(&run->trace->ntold, 1, memory_order_release);
	dsm_futex_wake(&run->trace->ntold);
}

/* ---- the file ---- */
/* Numbers of messages of one process to another that are in a ring: all between are. */
struct range {
	uint32_t first, last;
};

struct writing {
	FILE *f;
	const struct dsm_run *run;
	uint32_t process;
	const struct told *told;
	uint64_t zero_ns, nasync;
	struct range *sent, *received;	/* from * processes + to */
};

static const char *name_of(const struct trace_event *e)
{
	static const char *const names[] = {
		[DSM_EV_READ] = "read fault", [DSM_EV_WRITE] = "write fault",
		[DSM_EV_LOCK] = "lock", [DSM_EV_TRYLOCK] = "try lock", [DSM_EV_UNLOCK] = "unlock",
		[DSM_EV_BARRIER] = "barrier", [DSM_EV_WAIT] = "wait", [DSM_EV_SIGNAL] = "signal",
		[DSM_EV_TELL] = "word", [DSM_EV_PREFETCH] = "prefetch",
		[DSM_EV_ACQUIRE] = "acquire of a range", [DSM_EV_RELEASE] = "release of a range",
	};

	if (e->kind != TRACE_REQUEST)
		return dsm_message_name((enum dsm_message)e->what);
	if (e->waited && e->what == DSM_EV_READ)
		return "read miss";
	if (e->waited && e->what == DSM_EV_WRITE)
		return "write miss";
	return e->what < sizeof(names) / sizeof(*names) && names[e->what] ? names[e->what] : "?";
}

static void put_time(const struct writing *w, const char *key, uint64_t ns)
{
	fprintf(w->f, ",\"%s\":%llu.%03u", key, (unsigned long long)(ns / 1000),
		(unsigned int)(ns % 1000));
}

/* In process 0's time, from the first event of all on. */
static uint64_t time_of(const struct writing *w, uint64_t ns)
{
	return ns + (uint64_t)w->told->head.offset_ns - w->zero_ns;
}

/* The begin of one more event; what is open is closed with "}". */
static void put_event(const struct writing *w, const char *name, const char *category,
		      const char *phase, uint32_t thread)
{
	fprintf(w->f, ",\n{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"%s\",\"pid\":%u,\"tid\":%u",
		name, category, phase, w->process, thread);
}

static void put_args(const struct writing *w, const struct trace_event *e)
{
	char name[200];

	switch (e->kind == TRACE_REQUEST ? (enum dsm_event_kind)e->what : DSM_EV_MESSAGE) {
	case DSM_EV_READ:
	case DSM_EV_WRITE:
		dsm_region_name(w->run, dsm_region_of(w->run, (uint32_t)e->id), name, sizeof(name));
		fprintf(w->f, ",\"args\":{\"page\":%llu,\"memory\":\"", (unsigned long long)e->id);
		break;
	case DSM_EV_LOCK:
	case DSM_EV_TRYLOCK:
	case DSM_EV_UNLOCK:
		dsm_lock_name(w->run, e->id, name, sizeof(name));
		fputs(",\"args\":{\"lock\":\"", w->f);
		break;
	case DSM_EV_MESSAGE:
		snprintf(name, sizeof(name), "%016llx", (unsigned long long)e->id);
		fprintf(w->f, ",\"args\":{\"%s\":%u,\"number\":%u,\"id\":\"",
			e->kind == TRACE_SENT ? "to" : "from", e->peer, e->number);
		break;
	default:
		return;
	}
	for (const char *c = name; *c; c++) {
		if (*c == '"' || *c == '\\')
			fputc('\\', w->f);
		fputc((unsigned char)*c < ' ' ? '?' : *c, w->f);
	}
	fputs("\"}", w->f);
}

static size_t pair(const struct writing *w, uint32_t process, const struct trace_event *e)
{
	uint32_t n = w->run->processes;

	return e->kind == TRACE_SENT ? (size_t)process * n + e->peer :
				       (size_t)e->peer * n + process;
}

static void find_ranges(struct writing *w)
{
	for (uint32_t q = 0; q < w->run->processes; q++) {
		const struct told *t = &w->run->trace->told[q];

		for (uint64_t i = 0; i < t->head.nevents; i++) {
			const struct trace_event *e = &t->events[i];
			struct range *r = e->kind == TRACE_SENT ? w->sent : w->received;

			if (e->kind == TRACE_REQUEST)
				continue;
			r += pair(w, q, e);
			if (!r->first || e->number < r->first)
				r->first = e->number;
			if (e->number > r->last)
				r->last = e->number;
		}
	}
}

/*
 * From the slice of who sent it to the slice of who got it, if both are there: one may be
 * lost, or from after the other process told what it has.
 */
static void put_flow(const struct writing *w, const struct trace_event *e)
{
	bool sent = e->kind == TRACE_SENT;
	const struct range *r = (sent ? w->received : w->sent) + pair(w, w->process, e);

	if (e->number < r->first || e->number > r->last)
		return;
	put_event(w, name_of(e), "message", sent ? "s" : "f", 0);
	put_time(w, "ts", time_of(w, e->begin_ns));
	fprintf(w->f, ",\"id\":\"%u.%u.%u\"%s}", sent ? w->process : e->peer,
		sent ? e->peer : w->process, e->number, sent ? "" : ",\"bp\":\"e\"");
}

/* Faults that the kernel told of may overlap: nobody knows whose they are. */
static void put_async(struct writing *w, const struct trace_event *e)
{
	uint64_t number = w->nasync++;

	for (int end = 0; end < 2; end++) {
		put_event(w, name_of(e), "fault", end ? "e" : "b", 0);
		put_time(w, "ts", time_of(w, end ? e->end_ns : e->begin_ns));
		fprintf(w->f, ",\"id\":\"%u.%llu\"", w->process, (unsigned long long)number);
		put_args(w, e);
		fputc('}', w->f);
	}
}

static void put_one(struct writing *w, const struct trace_event *e)
{
	bool request = e->kind == TRACE_REQUEST;

	if (request && !e->number) {
		put_async(w, e);
		return;
	}
	put_event(w, name_of(e), request ? "thread" : e->kind == TRACE_SENT ? "send" : "receive",
		  "X", request ? e->number : 0);
	put_time(w, "ts", time_of(w, e->begin_ns));
	put_time(w, "dur", e->end_ns - e->begin_ns);
	put_args(w, e);
	fputc('}', w->f);
	if (!request)
		put_flow(w, e);
}

static void put_name(const struct writing *w, const char *what, uint32_t thread, const char *name)
{
	fprintf(w->f, ",\n{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"args\":"
		"{\"name\":\"%s\"}}", what, w->process, thread, name);
}

static void put_process(struct writing *w)
{
	const struct trace_head *h = &w->told->head;
	bool is_named[DSM_THREADS + 1] = { false };
	char name[120];

	snprintf(name, sizeof(name), "process %u (%s, pid %llu)", w->process, h->host,
		 (unsigned long long)h->pid);
	put_name(w, "process_name", 0, name);
	put_name(w, "thread_name", 0, "progress");
	for (uint64_t i = 0; i < h->nevents; i++) {
		const struct trace_event *e = &w->told->events[i];

		put_one(w, e);
		if (e->kind != TRACE_REQUEST || !e->number || e->number > DSM_THREADS ||
		    is_named[e->number])
			continue;
		is_named[e->number] = true;
		snprintf(name, sizeof(name), "thread %u", e->number);
		put_name(w, "thread_name", e->number, name);
	}
}

static uint64_t find_zero(const struct dsm_run *run)
{
	uint64_t zero = UINT64_MAX;

	for (uint32_t i = 0; i < run->processes; i++) {
		const struct told *t = &run->trace->told[i];

		for (uint64_t k = 0; k < t->head.nevents; k++) {
			uint64_t at = t->events[k].begin_ns + (uint64_t)t->head.offset_ns;

			zero = at < zero ? at : zero;
		}
	}
	return zero;
}

/* The array's first element is the job, so that all others begin with a comma. */
static uint64_t write_all(struct writing *w)
{
	const struct dsm_run *run = w->run;
	uint64_t lost = 0;

	w->zero_ns = find_zero(run);
	find_ranges(w);
	fprintf(w->f, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"schema\":\"sonde-dsm-trace-1\","
		"\"processes\":%u,\"unit\":%u,\"fault\":\"%s\",\"clocks\":[", run->processes,
		run->unit, run->fault->ops->name);
	for (uint32_t i = 0; i < run->processes; i++) {
		const struct trace_head *h = &run->trace->told[i].head;

		lost += h->lost;
		fprintf(w->f, "%s{\"offset_ns\":%lld,\"bound_ns\":%llu,\"lost\":%llu}", i ? "," : "",
			(long long)h->offset_ns, (unsigned long long)h->bound_ns,
			(unsigned long long)h->lost);
	}
	fputs("]},\"traceEvents\":[\n{\"name\":\"process_labels\",\"ph\":\"M\",\"pid\":0,\"tid\":0,"
	      "\"args\":{\"labels\":\"libsonde-dsm\"}}", w->f);
	for (uint32_t i = 0; i < run->processes; i++) {
		w->process = i;
		w->told = &run->trace->told[i];
		put_process(w);
	}
	fputs("\n]}\n", w->f);
	return lost;
}

int dsm_trace_write(struct dsm_run *run)
{
	struct writing w = { .run = run };
	struct dsm_output o;
	uint64_t lost = 0;
	uint32_t n;
	int err;

	while ((n = atomic_load_explicit(&run->trace->ntold, memory_order_acquire)) <
	       run->processes)
		dsm_futex_wait(&run->trace->ntold, n, NULL);
	w.sent = calloc(2 * (size_t)run->processes * run->processes, sizeof(*w.sent));
	w.received = w.sent + (size_t)run->processes * run->processes;
	err = w.sent ? dsm_output_begin(&o, run->settings.trace_file) : -ENOMEM;
	if (!err) {
		w.f = o.file;
		lost = write_all(&w);
		err = dsm_output_end(&o);
	}
	if (err)
		fprintf(stderr, "sonde-dsm: the trace cannot be written to %s: %s\n",
			run->settings.trace_file, strerror(-err));
	else if (lost)
		fprintf(stderr, "sonde-dsm: the first %llu events are not in the trace; raise "
			"SONDE_DSM_TRACE_EVENTS\n", (unsigned long long)lost);
	free(w.sent);
	return err;
}
