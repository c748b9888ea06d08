// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * How often each lock was asked for, and how long threads waited for it: for SONDE_DSM_STATS.
 * The progress thread alone counts, when it answers; so threads share nothing for it.
 */
#include <errno.h>
#include <stdlib.h>

#include "run.h"

#define ROOM	64u	/* at first; a power of two */

/* At most half full. Locks' numbers are mixed already, and none is 0. */
struct dsm_contention {
	struct dsm_lock_report *v;
	uint32_t n, room;
};

int dsm_contention_create(struct dsm_run *run)
{
	struct dsm_contention *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	run->contention = c;
	c->room = ROOM;
	c->v = calloc(c->room, sizeof(*c->v));
	return c->v ? 0 : -ENOMEM;
}

void dsm_contention_destroy(struct dsm_run *run)
{
	if (run->contention)
		free(run->contention->v);
	free(run->contention);
}

/* Its place, or the free one that it is to have. */
static struct dsm_lock_report *find(struct dsm_lock_report *v, uint32_t room, uint64_t id)
{
	uint32_t i = (uint32_t)id & (room - 1);

	while (v[i].id && v[i].id != id)
		i = (i + 1) & (room - 1);
	return &v[i];
}

static int widen(struct dsm_contention *c)
{
	struct dsm_lock_report *v = calloc(2 * (size_t)c->room, sizeof(*v));

	if (!v)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->room; i++)
		if (c->v[i].id)
			*find(v, 2 * c->room, c->v[i].id) = c->v[i];
	free(c->v);
	c->v = v;
	c->room *= 2;
	return 0;
}

void dsm_contention_add(struct dsm_run *run, const struct dsm_request *r)
{
	struct dsm_contention *c = run->contention;
	struct dsm_lock_report *at;

	if (r->event.kind != DSM_EV_LOCK)
		return;
	if (2 * c->n >= c->room && widen(c))
		dsm_run_fail(run, "no memory for counters of locks");
	at = find(c->v, c->room, r->event.id);
	c->n += !at->id;
	at->id = r->event.id;
	at->waits++;
	at->wait_ns += dsm_now() - r->begun_ns;
}

uint32_t dsm_contention_list(const struct dsm_run *run, struct dsm_lock_report *list)
{
	const struct dsm_contention *c = run->contention;
	uint32_t n = 0;

	for (uint32_t i = 0; c && i < c->room; i++) {
		if (!c->v[i].id)
			continue;
		if (list)
			list[n] = c->v[i];
		n++;
	}
	return n;
}
