// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Barriers of all processes, over one tree: process 0 is its root, the children of i
 * are i * fanout + 1 and on. Up to 16 processes all others are children of the root.
 * Arrivals bring intervals up; when all are there the root knows everything, and
 * departures take down to each subtree what it lacks. With that all notices are done
 * with, here; who has not got its departure yet gets it before anything that builds on
 * it (see notice.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

static uint32_t child(const struct dsm_core *c, uint32_t i)
{
	uint64_t q = (uint64_t)c->c.self * c->c.fanout + 1 + i;

	return q < c->c.processes ? (uint32_t)q : NOBODY;
}

static uint32_t count_children(const struct dsm_core *c)
{
	uint32_t n = 0;

	while (n < c->c.fanout && child(c, n) != NOBODY)
		n++;
	return n;
}

static uint32_t parent(const struct dsm_core *c)
{
	return (c->c.self - 1) / c->c.fanout;
}

static void empty(struct dsm_core *c, struct dsm_gather *g)
{
	size_t row = c->c.processes * sizeof(*g->min);

	dsm_queue_init(&g->here);
	g->nhere = g->children = g->nrecords = 0;
	g->self = g->stuck = false;
	g->records.len = 0;
	memset(g->min, 0xff, row);
	memset(g->max, 0, row);
	memset(g->floor, 0, row);
}

static struct dsm_gather *get_gather(struct dsm_core *c, uint64_t id)
{
	size_t n = c->c.processes;
	bool made;
	struct dsm_gather *g = dsm_table_get(&c->gathers, id, sizeof(*g), &made);

	if (!g || !made)
		return g;
	g->min = calloc(n, sizeof(*g->min));
	g->max = calloc(n, sizeof(*g->max));
	g->floor = calloc(n, sizeof(*g->floor));
	g->child_min = calloc(n * (count_children(c) + 1), sizeof(*g->child_min));
	if (!g->min || !g->max || !g->floor || !g->child_min)
		return NULL;
	empty(c, g);
	return g;
}

void dsm_gather_free(struct dsm_gather *g)
{
	free(g->min);
	free(g->max);
	free(g->floor);
	free(g->child_min);
	dsm_buf_free(&g->records);
	free(g);
}

static void lower(const struct dsm_core *c, uint64_t *a, const uint64_t *b)
{
	for (uint32_t q = 0; q < c->c.processes; q++)
		if (a[q] > b[q])
			a[q] = b[q];
}

static int depart(struct dsm_core *c, struct dsm_gather *g, const uint64_t *upto)
{
	uint32_t thread;
	int err = 0;

	for (uint32_t i = 0; !err && i < count_children(c); i++) {
		struct dsm_buf b = { 0 };

		err = dsm_put_vc(c, &b, upto);
		if (!err)
			err = dsm_put_notices(c, &b, g->child_min + (size_t)i * c->c.processes,
					      upto, true);
		if (!err)
			err = dsm_post(c, child(c, i), &(struct dsm_message_head){
				       .kind = DSM_DEPART, .id = g->id }, &b);
		dsm_buf_free(&b);
	}
	c->departures++;
	dsm_log_drop(c, upto);
	while (!err && (thread = dsm_dequeue(c, &g->here)) != NOBODY)
		err = dsm_wake(c, thread, 0);
	empty(c, g);
	return err;
}

static void show_intervals(struct dsm_core *c, const uint64_t *upto)
{
	for (uint32_t q = 0; c->c.interval && q < c->c.processes; q++)
		for (size_t i = 0; i < c->logs[q].n && c->logs[q].v[i].seq <= upto[q]; i++)
			c->c.interval(c->c.host.ctx, q, c->logs[q].v[i].notices,
				      c->logs[q].v[i].n);
}

static int complete_root(struct dsm_core *c, struct dsm_gather *g)
{
	struct dsm_reader r = { 0 };
	uint64_t *upto;
	int err;

	/* A child dropped what is still under way to us. */
	g->stuck = !dsm_covers(c, c->vc, g->floor);
	if (g->stuck)
		return 0;
	if (g->records.len)
		r = (struct dsm_reader){ .p = g->records.v, .end = g->records.v + g->records.len };
	err = dsm_log_take_unordered(c, r, g->nrecords);
	if (err)
		return err;
	if (!dsm_covers(c, c->vc, g->max))
		return -EPROTO;
	upto = malloc(c->c.processes * sizeof(*upto));
	if (!upto)
		return -ENOMEM;
	memcpy(upto, g->max, c->c.processes * sizeof(*upto));
	show_intervals(c, upto);
	err = depart(c, g, upto);
	free(upto);
	return err;
}

static int complete(struct dsm_core *c, struct dsm_gather *g)
{
	uint32_t missing = count_children(c) - g->children;
	struct dsm_buf b = { 0 };
	int err;

	if (!g->self || missing > (dsm_fault(BARRIER_EARLY) && !c->c.self ? 1 : 0))
		return 0;
	if (!c->c.self)
		return complete_root(c, g);
	dsm_put_vc(c, &b, g->min);
	dsm_put_vc(c, &b, g->max);
	dsm_put_vc(c, &b, g->floor);
	dsm_buf_u32(&b, g->nrecords);
	dsm_buf_bytes(&b, g->records.v, g->records.len);
	err = dsm_post(c, parent(c), &(struct dsm_message_head){
		       .kind = DSM_ARRIVE, .id = g->id }, &b);
	dsm_buf_free(&b);
	return err;
}

int dsm_barrier(struct dsm_core *c, uint32_t thread, uint64_t id, uint64_t nhere)
{
	struct dsm_gather *g = get_gather(c, id);

	if (!g)
		return -ENOMEM;
	if (!nhere || nhere > c->c.threads || g->self || g->nhere >= nhere)
		return -EINVAL;
	c->threads[thread].doing = DOING_BARRIER;
	/* The last one's release is for all; it alone waits for it. */
	if (++g->nhere == nhere)
		return dsm_release(c, thread);
	dsm_enqueue(c, &g->here, thread);
	return 0;
}

int dsm_barrier_released(struct dsm_core *c, uint32_t thread)
{
	struct dsm_gather *g = get_gather(c, c->threads[thread].id);
	int err;

	if (!g)
		return -ENOMEM;
	dsm_enqueue(c, &g->here, thread);
	g->self = true;
	lower(c, g->min, c->vc);
	dsm_raise(c, g->max, c->vc);
	dsm_raise(c, g->floor, c->floor);
	err = dsm_put_arrival(c, &g->records, &g->nrecords);
	c->arrivals++;
	return err ? err : complete(c, g);
}

int dsm_barrier_retry(struct dsm_core *c)
{
	int err = 0;

	for (size_t i = 0; !err && i < c->gathers.room; i++) {
		struct dsm_gather *g = (void *)c->gathers.v[i];

		if (g && g->stuck)
			err = complete(c, g);
	}
	return err;
}

static int get_arrival(struct dsm_core *c, struct dsm_gather *g, uint64_t *min,
		       struct dsm_reader *r)
{
	uint64_t *vc = malloc(c->c.processes * sizeof(*vc));
	int err = vc ? 0 : -ENOMEM;

	if (!err)
		err = dsm_get_vc(c, r, min);
	if (!err)
		err = dsm_get_vc(c, r, vc);
	if (!err) {
		lower(c, g->min, min);
		dsm_raise(c, g->max, vc);
		err = dsm_get_vc(c, r, vc);
	}
	if (!err)
		dsm_raise(c, g->floor, vc);
	free(vc);
	return err;
}

int dsm_on_arrive(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r)
{
	struct dsm_gather *g = get_gather(c, h->id);
	uint32_t i = 0, n;
	int err;

	if (!g)
		return -ENOMEM;
	while (i < c->c.fanout && child(c, i) != h->from && child(c, i) != NOBODY)
		i++;
	if (i >= count_children(c) || g->children == count_children(c))
		return -EPROTO;
	err = get_arrival(c, g, g->child_min + (size_t)i * c->c.processes, &r);
	if (err)
		return err;
	n = dsm_read_u32(&r);
	if (r.bad || n > dsm_left(&r) / DSM_RECORD)
		return -EBADMSG;
	g->nrecords += n;
	dsm_buf_bytes(&g->records, r.p, dsm_left(&r));
	if (g->records.failed)
		return -ENOMEM;
	g->children++;
	return complete(c, g);
}

int dsm_on_depart(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r)
{
	struct dsm_gather *g = get_gather(c, h->id);
	struct dsm_reader notices = r;
	uint64_t *upto;
	int err;

	if (!g)
		return -ENOMEM;
	if (!c->c.self || h->from != parent(c) || !g->self)
		return -EPROTO;
	upto = malloc(c->c.processes * sizeof(*upto));
	if (!upto)
		return -ENOMEM;
	err = dsm_get_vc(c, &notices, upto);
	if (!err)
		err = dsm_is_early(c, notices);
	if (err == 1) {
		free(upto);
		return dsm_defer(c, h, r);
	}
	if (!err)
		err = dsm_log_take(c, &notices);
	if (!err)
		err = dsm_read_end(&notices);
	if (!err && !dsm_covers(c, c->vc, upto) && !dsm_fault(BARRIER_NO_NOTICES))
		err = -EPROTO;
	if (!err)
		err = depart(c, g, upto);
	free(upto);
	return err;
}
