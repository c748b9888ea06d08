// SPDX-License-Identifier: LGPL-2.1-or-later
/* A core from its configuration, and its end. */
#include <errno.h>
#include <stdlib.h>

#include "state.h"

#define CENTRAL_UPTO	16u
#define TREE_FANOUT	4u

static int set_config(struct dsm_core *c, const struct dsm_config *config)
{
	struct dsm_config *k = &c->c;

	*k = *config;
	if (!k->processes || k->processes > UINT16_MAX || k->self >= k->processes || !k->pages ||
	    !k->threads || k->threads == NOBODY || k->unit < DSM_UNIT_MIN ||
	    k->unit > DSM_UNIT_MAX || (k->unit & (k->unit - 1)) || !k->host.page ||
	    !k->host.protect || !k->host.twin || !k->host.untwin)
		return -EINVAL;
	if (!k->fanout)
		k->fanout = k->processes <= CENTRAL_UPTO ? k->processes : TREE_FANOUT;
	if (!k->handovers)
		k->handovers = 16;
	if (!k->message_max)
		k->message_max = 16u << 20;
	if (!k->notices_max)
		k->notices_max = 65536;
	if (!k->diff)
		k->diff = dsm_diff_best();
	return 0;
}

static int allocate(struct dsm_core *c)
{
	size_t n = c->c.processes, pages = c->c.pages;

	c->pages = calloc(pages, sizeof(*c->pages));
	c->threads = calloc(c->c.threads, sizeof(*c->threads));
	c->vc = calloc(n, sizeof(*c->vc));
	c->floor = calloc(n, sizeof(*c->floor));
	c->known = calloc(n * n, sizeof(*c->known));
	c->logs = calloc(n, sizeof(*c->logs));
	c->dirty = calloc(pages, sizeof(*c->dirty));
	c->stale = calloc(pages, sizeof(*c->stale));
	c->order = calloc(pages, sizeof(*c->order));
	c->sent = calloc(n, sizeof(*c->sent));
	c->seen = calloc(n, sizeof(*c->seen));
	c->bundles = calloc(n, sizeof(*c->bundles));
	c->masks = calloc(dsm_diff_masks(c->c.unit), sizeof(*c->masks));
	c->encoded = malloc(dsm_diff_bound(c->c.unit));
	return c->pages && c->threads && c->vc && c->floor && c->known && c->logs && c->dirty &&
	       c->stale && c->order && c->sent && c->seen && c->bundles && c->masks &&
	       c->encoded && (!c->c.races || !dsm_races_create(c)) ? 0 : -ENOMEM;
}

int dsm_core_create(struct dsm_core **core, const struct dsm_config *config)
{
	struct dsm_core *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	err = set_config(c, config);
	if (!err)
		err = allocate(c);
	if (err) {
		dsm_core_destroy(c);
		return err;
	}
	c->local.end = &c->local.head;
	c->deferred.end = &c->deferred.head;
	dsm_queue_init(&c->flushed);
	dsm_queue_init(&c->flush_next);
	for (uint32_t p = 0; p < c->c.pages; p++) {
		/* Zeros everywhere are version 0: valid, and nobody asked. */
		c->pages[p].prot = DSM_READ;
		c->pages[p].flags = PAGE_SHARED;
		c->pages[p].home = (uint16_t)(p % c->c.processes);
		dsm_queue_init(&c->pages[p].waiters);
	}
	*core = c;
	return 0;
}

int dsm_core_set_home(struct dsm_core *c, uint32_t page, uint32_t home)
{
	if (page >= c->c.pages || home >= c->c.processes)
		return -EINVAL;
	c->pages[page].home = (uint16_t)home;
	return 0;
}

int dsm_core_set_peer(struct dsm_core *c, uint32_t process)
{
	if (process >= c->c.processes || process == c->c.self || !c->c.host.offer)
		return -EINVAL;
	if (!c->peers)
		c->peers = calloc(c->c.processes, sizeof(*c->peers));
	if (!c->peers)
		return -ENOMEM;
	c->peers[process] = true;
	return 0;
}

uint32_t dsm_core_home(const struct dsm_core *c, uint32_t page)
{
	return c->pages[page].home;
}

static void free_letters(struct dsm_letters *l)
{
	while (l->head) {
		struct dsm_letter *letter = l->head;

		l->head = letter->next;
		free(letter->data);
		free(letter);
	}
}

static void free_tables(struct dsm_core *c)
{
	for (size_t i = 0; i < c->locks.room; i++) {
		struct dsm_lock *l = (void *)c->locks.v[i];

		if (l)
			free(l->next_vc);
		free(l);
	}
	for (size_t i = 0; i < c->gathers.room; i++)
		if (c->gathers.v[i])
			dsm_gather_free((void *)c->gathers.v[i]);
	for (size_t i = 0; i < c->conds.room; i++) {
		struct dsm_cond *d = (void *)c->conds.v[i];

		if (d)
			free(d->v);
		free(d);
	}
	free(c->locks.v);
	free(c->gathers.v);
	free(c->conds.v);
}

void dsm_core_destroy(struct dsm_core *c)
{
	if (!c)
		return;
	for (uint32_t p = 0; c->pages && p < c->c.pages; p++)
		if (c->pages[p].twin)
			c->c.host.untwin(c->c.host.ctx, p);
	for (uint32_t q = 0; c->logs && q < c->c.processes; q++) {
		for (size_t i = 0; i < c->logs[q].n; i++)
			free(c->logs[q].v[i].notices);
		free(c->logs[q].v);
	}
	for (uint32_t q = 0; c->bundles && q < c->c.processes; q++)
		dsm_buf_free(&c->bundles[q]);
	for (uint32_t t = 0; c->threads && t < c->c.threads; t++)
		dsm_buf_free(&c->threads[t].told);
	dsm_races_destroy(c);
	free_letters(&c->local);
	free_letters(&c->deferred);
	free_tables(c);
	free(c->closing);
	free(c->pages);
	free(c->threads);
	free(c->vc);
	free(c->floor);
	free(c->known);
	free(c->logs);
	free(c->dirty);
	free(c->stale);
	free(c->order);
	free(c->sent);
	free(c->seen);
	free(c->bundles);
	free(c->masks);
	free(c->encoded);
	free(c->peers);
	free(c);
}
