// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The progress thread: requests and messages into the core, its actions out of it. With
 * nothing to do it gives the processor up a few times, then sleeps on the bell.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "../core/wire.h"
#include "run.h"

#define YIELDS		30
#define CHECKS_NS	500000000	/* between two looks whether the others live */
#define TURNS		64		/* without sleep, until counters are published */

static void post(struct dsm_run *run, struct dsm_action *a)
{
	uint64_t begun_ns = run->trace ? dsm_now() : 0;
	uint8_t head[DSM_HEAD];
	int err;

	/* The transport takes the message. */
	memcpy(head, a->data, sizeof(head));
	err = run->transport->ops->send(run->transport, a->to, a->data, a->len);
	a->data = NULL;
	if (err)
		dsm_run_fail(run, "nothing can be sent to process %u: %s", a->to,
			     strerror(-err));
	if (run->trace)
		dsm_trace_sent(run, a->to, head, a->len, begun_ns);
}

static void act(struct dsm_run *run, struct dsm_action *a)
{
	struct dsm_request *r;

	switch (a->kind) {
	case DSM_SEND:
		post(run, a);
		break;
	case DSM_WAKE:
		r = run->answers[a->to];
		run->tickets[run->ntickets++] = a->to;
		if (run->trace)
			dsm_trace_request(run, r, r != run->begins);
		if (run->contention)
			dsm_contention_add(run, r);
		dsm_answer(r, a->result);
		break;
	case DSM_TOLD:
		dsm_hear(run, a->to, a->data, a->len);
		break;
	case DSM_RACE:
		dsm_races_say(run, (const struct dsm_race *)(const void *)a->data);
		break;
	}
}

static void step(struct dsm_run *run, const struct dsm_event *event)
{
	int err = dsm_core_step(run->core, event, &run->actions);

	if (err)
		dsm_run_fail(run, "event %d of %llu: %s%s%s", event->kind,
			     (unsigned long long)event->id, strerror(-err),
			     run->fault->why[0] ? ": " : "", run->fault->why);
	for (size_t i = 0; i < run->actions.n; i++)
		act(run, &run->actions.v[i]);
	dsm_actions_clear(&run->actions);
}

static void begin(struct dsm_run *run, struct dsm_request *r)
{
	r->ticket = run->tickets[--run->ntickets];
	r->event.thread = r->ticket;
	run->answers[r->ticket] = r;
	if (r->is_late) {
		struct dsm_event cancel = { .kind = DSM_EV_CANCEL, .thread = r->ticket };

		step(run, &r->event);
		step(run, &cancel);
		return;
	}
	run->begins = r;
	step(run, &r->event);
	run->begins = NULL;
}

/* A request that was answered meanwhile has given its ticket back. */
static void cancel(struct dsm_run *run, struct dsm_request *target)
{
	if (atomic_load_explicit(&target->is_done, memory_order_relaxed))
		return;
	if (target->ticket == DSM_TICKETS)
		target->is_late = true;
	else
		step(run, &(struct dsm_event){ .kind = DSM_EV_CANCEL,
					       .thread = target->ticket });
}

static void take(struct dsm_run *run, struct dsm_request *r)
{
	switch (r->kind) {
	case DSM_REQUEST_EVENT:
		if (run->ntickets && !run->backlog) {
			begin(run, r);
			break;
		}
		r->ticket = DSM_TICKETS;
		r->next = NULL;
		*run->backlog_end = r;
		run->backlog_end = &r->next;
		break;
	case DSM_REQUEST_CANCEL:
		cancel(run, r->target);
		dsm_answer(r, 0);
		break;
	case DSM_REQUEST_CALL:
		r->call(run, r->ctx);
		dsm_answer(r, 0);
		break;
	case DSM_REQUEST_STOP:
		run->is_stopping = true;
		dsm_answer(r, 0);
		break;
	}
}

static void take_backlog(struct dsm_run *run)
{
	while (run->backlog && run->ntickets) {
		struct dsm_request *r = run->backlog;

		run->backlog = r->next;
		if (!run->backlog)
			run->backlog_end = &run->backlog;
		begin(run, r);
	}
}

/* In the order in which they came. */
static bool take_requests(struct dsm_run *run)
{
	struct dsm_request *r, *next, *first = NULL;

	take_backlog(run);
	/* Partner: dsm_submit(). */
	r = atomic_exchange_explicit(&run->inbox, NULL, memory_order_acquire);
	for (; r; r = next) {
		next = r->next;
		r->next = first;
		first = r;
	}
	for (r = first; r; r = next) {
		next = r->next;
		take(run, r);
	}
	return first;
}

static bool take_message(struct dsm_run *run)
{
	uint64_t begun_ns;
	uint8_t *data;
	uint32_t from;
	size_t len;
	int n = run->transport->ops->receive(run->transport, &data, &len, &from);

	if (n < 0)
		dsm_run_fail(run, "nothing can be received: %s", strerror(-n));
	if (!n)
		return false;
	begun_ns = run->trace ? dsm_now() : 0;
	step(run, &(struct dsm_event){ .kind = DSM_EV_MESSAGE, .id = from, .data = data,
				       .len = len });
	if (run->trace)
		dsm_trace_received(run, from, data, len, begun_ns);
	free(data);
	return true;
}

static void check_others(struct dsm_run *run, struct timespec *last)
{
	struct timespec now;
	uint32_t who;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if ((now.tv_sec - last->tv_sec) * 1000000000LL + now.tv_nsec - last->tv_nsec < CHECKS_NS)
		return;
	*last = now;
	if (run->transport->ops->check(run->transport, &who))
		dsm_run_fail(run, "process %u has ended without sonde_dsm_exit()", who);
}

void dsm_run_progress(struct dsm_run *run)
{
	struct dsm_transport *t = run->transport;
	struct timespec checked = { 0 };
	uint32_t turns = 0;
	int idle = 0;

	while (!run->is_stopping || run->backlog) {
		uint32_t rung = atomic_load_explicit(&t->bell->rung, memory_order_seq_cst);
		bool any;
		int64_t ns;

		dsm_events_take(run);
		any = take_requests(run);
		any |= take_message(run);
		if (any) {
			idle = 0;
			if (!(++turns % TURNS))
				dsm_live_publish(run);
			continue;
		}
		if (idle++ < YIELDS) {
			sched_yield();
			continue;
		}
		dsm_live_publish(run);
		check_others(run, &checked);
		ns = t->ops->patience(t);
		if (dsm_events_sleep(run, true))
			dsm_bell_wait(t->bell, rung, ns < CHECKS_NS ? ns : CHECKS_NS);
		dsm_events_sleep(run, false);
		/* MPICH's first look only moves what was brought; it is found by the next. */
		if (atomic_load_explicit(&t->bell->rung, memory_order_relaxed) != rung)
			idle = 0;
	}
}
