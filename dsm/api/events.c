// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Faults of threads that sleep in the kernel until the protocol has answered: events of
 * the back end, which are made requests. The kernel wakes these threads itself.
 *
 * Where events are in memory the progress thread takes them as it goes round. Only while it
 * sleeps the kernel wakes the thread that is here, which rings the bell for it: nothing
 * else wakes from the bell and a descriptor. Otherwise that thread takes them.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "run.h"

static bool has_ring(const struct dsm_run *run)
{
	return run->fault->caps & DSM_FAULT_RING;
}

static void tell_of(struct dsm_run *run, const struct dsm_fault_event *event)
{
	struct dsm_request *r = calloc(1, sizeof(*r));

	if (!r)
		dsm_run_fail(run, "no memory for a fault");
	r->event.kind = event->write ? DSM_EV_WRITE : DSM_EV_READ;
	r->event.id = event->page;
	r->is_nobodys = true;
	dsm_submit(run, r);
}

static void take_all(struct dsm_run *run)
{
	struct dsm_fault *f = run->fault;
	struct dsm_fault_event event;
	int n;

	while ((n = f->ops->next(f, &event)) > 0)
		tell_of(run, &event);
	if (n < 0)
		dsm_run_fail(run, "faults cannot be read: %s", strerror(-n));
}

static void *watch(void *arg)
{
	struct dsm_run *run = arg;

	while (!dsm_fault_wait(run->fault, run->events_end))
		take_all(run);
	return NULL;
}

static void *watch_sleeper(void *arg)
{
	struct dsm_run *run = arg;
	struct pollfd p[] = { { .fd = run->fault->wake, .events = POLLIN },
			      { .fd = run->events_end, .events = POLLIN } };
	eventfd_t count;

	while (!p[1].revents) {
		poll(p, 2, -1);
		if (!eventfd_read(run->fault->wake, &count))
			dsm_bell_ring(run->transport->bell);
	}
	return NULL;
}

/* Signals are for the program's own threads. */
static int start_thread(struct dsm_run *run)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&run->events, NULL, has_ring(run) ? watch_sleeper : watch, run);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

int dsm_events_start(struct dsm_run *run)
{
	int err;

	if (!(run->fault->caps & DSM_FAULT_EVENTS))
		return 0;
	run->events_end = eventfd(0, EFD_CLOEXEC);
	if (run->events_end < 0)
		return -errno;
	err = start_thread(run);
	run->has_events = !err;
	if (err)
		close(run->events_end);
	return err;
}

void dsm_events_stop(struct dsm_run *run)
{
	if (!run->has_events)
		return;
	eventfd_write(run->events_end, 1);
	pthread_join(run->events, NULL);
	close(run->events_end);
}

void dsm_events_take(struct dsm_run *run)
{
	if (has_ring(run))
		take_all(run);
}

bool dsm_events_sleep(struct dsm_run *run, bool sleeps)
{
	return !has_ring(run) || run->fault->ops->sleeps(run->fault, sleeps);
}
