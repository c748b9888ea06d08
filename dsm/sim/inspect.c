// SPDX-License-Identifier: LGPL-2.1-or-later
/* Looks into the cores: invariants, and a digest of the whole state. */
#include <string.h>

#include "../core/state.h"
#include "world.h"

static void check_versions(struct world *w)
{
	for (uint32_t i = 0; i < w->c.processes; i++) {
		struct world_process *p = &w->processes[i];

		for (uint32_t page = 0; page < w->c.pages; page++) {
			const struct dsm_page *at = &p->core->pages[page];
			const struct dsm_page *home = &w->processes[at->home].core->pages[page];

			if (at->version < p->versions[page])
				world_fail(w, "process %u: version of page %u falls", i, page);
			if (at->version > home->version)
				world_fail(w, "process %u: page %u is ahead of its home", i, page);
			if (at->flags & PAGE_OFFERED && p->offers[page].got) {
				if (p->offers[page].got < at->need)
					world_fail(w, "process %u: the copy of page %u is old", i,
						   page);
			} else if (at->prot != p->prot[page])
				world_fail(w, "process %u: protection of page %u", i, page);
			if (at->prot != DSM_NONE && at->version < at->need)
				world_fail(w, "process %u: page %u is old and open", i, page);
			p->versions[page] = at->version;
		}
	}
}

static void check_tokens(struct world *w)
{
	/* Those of one table are looked for in all others. */
	for (uint32_t i = 0; i < w->c.processes; i++) {
		const struct dsm_table *t = &w->processes[i].core->locks;

		for (size_t k = 0; k < t->room; k++) {
			const struct dsm_lock *l = (void *)t->v[k];

			if (!l || !l->token)
				continue;
			for (uint32_t j = i + 1; j < w->c.processes; j++) {
				struct dsm_table *u = &w->processes[j].core->locks;

				for (size_t m = 0; m < u->room; m++)
					if (u->v[m] && *u->v[m] == l->id &&
					    ((struct dsm_lock *)(void *)u->v[m])->token)
						world_fail(w, "lock %llu is in two processes",
							   (unsigned long long)l->id);
			}
		}
	}
}

void world_check(struct world *w)
{
	check_versions(w);
	check_tokens(w);
}

void world_check_idle(struct world *w)
{
	for (uint32_t i = 0; i < w->c.processes; i++) {
		const struct world_process *p = &w->processes[i];
		const struct dsm_core *c = p->core;

		if (p->ntwins)
			world_fail(w, "process %u: %u twins are left", i, p->ntwins);
		if (c->nnotices)
			world_fail(w, "process %u: %zu notices are left", i, c->nnotices);
		if (c->deferred.head || c->flushing || c->unacked)
			world_fail(w, "process %u: something is never done", i);
	}
	for (uint32_t i = 0; i < w->c.processes * w->c.processes; i++)
		if (w->channels[i].head)
			world_fail(w, "a message is left");
}

/* ---- digest ---- */
uint64_t world_mix_bytes(uint64_t h, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	uint64_t v;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&v, p, 8);
		h = world_mix(h, v);
	}
	for (; n; n--)
		h = world_mix(h, *p++);
	return h;
}

static uint64_t mix_queue(uint64_t h, const struct dsm_core *c, const struct dsm_queue *q)
{
	for (uint32_t t = q->head; t != NOBODY; t = c->threads[t].next)
		h = world_mix(h, t);
	return world_mix(h, NOBODY);
}

/* Numbers of messages are left out: without duplicates they decide nothing. */
static uint64_t mix_letter(uint64_t h, const uint8_t *data, size_t len)
{
	h = world_mix_bytes(h, data, DSM_HEAD - 8);
	return world_mix_bytes(h, data + DSM_HEAD, len - DSM_HEAD);
}

static uint64_t mix_pages(uint64_t h, struct world_process *p)
{
	const struct dsm_core *c = p->core;

	for (uint32_t i = 0; i < c->c.pages; i++) {
		const struct dsm_page *at = &c->pages[i];

		h = world_mix(h, at->version);
		h = world_mix(h, at->need);
		h = world_mix(h, (uint64_t)at->home << 16 | at->prot << 8 | at->flags);
		h = mix_queue(h, c, &at->waiters);
		h = world_mix_bytes(h, p->memory + (size_t)i * c->c.unit, c->c.unit);
		if (p->twins[i])
			h = world_mix_bytes(h, p->twins[i], c->c.unit);
		h = world_mix(h, (uint64_t)p->is_noted[i] << 1 | p->is_taken[i]);
		h = world_mix(h, p->published[i]);
		h = world_mix(h, p->offers[i].least << 1 | p->offers[i].is_open);
		h = world_mix(h, p->offers[i].got << 2 | (uint64_t)p->is_copied[i] << 1 |
			      p->is_told[i]);
	}
	for (size_t i = 0; i < c->ndirty; i++)
		h = world_mix(h, c->dirty[i]);
	return h;
}

static uint64_t mix_log(uint64_t h, const struct dsm_core *c)
{
	size_t row = c->c.processes * sizeof(*c->vc);

	h = world_mix_bytes(h, c->vc, row);
	h = world_mix_bytes(h, c->floor, row);
	h = world_mix_bytes(h, c->known, row * c->c.processes);
	for (uint32_t q = 0; q < c->c.processes; q++) {
		for (size_t i = 0; i < c->logs[q].n; i++) {
			const struct dsm_record *r = &c->logs[q].v[i];

			h = world_mix(h, r->seq << 32 | r->arrivals);
			for (uint32_t k = 0; k < r->n; k++)
				h = world_mix(h, r->notices[k].version << 32 | r->notices[k].page);
		}
		h = world_mix(h, q);
	}
	h = world_mix(h, (uint64_t)c->arrivals << 32 | c->departures);
	h = world_mix(h, c->unacked << 1 | c->flushing);
	for (size_t i = 0; i < c->nclosing; i++)
		h = world_mix(h, c->closing[i].version << 32 | c->closing[i].page);
	h = mix_queue(h, c, &c->flushed);
	return mix_queue(h, c, &c->flush_next);
}

/* Tables are in no order that matters, so what is in them is added up. */
static uint64_t sum_locks(const struct dsm_core *c)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->locks.room; i++) {
		const struct dsm_lock *l = (void *)c->locks.v[i];
		uint64_t h;

		if (!l)
			continue;
		h = world_mix(l->id, (uint64_t)l->next << 32 | l->tail);
		h = world_mix(h, (uint64_t)l->handed << 3 | l->token << 2 | l->held << 1 |
				 l->asked);
		if (l->next != NOBODY)
			h = world_mix_bytes(h, l->next_vc, c->c.processes * sizeof(*l->next_vc));
		sum += mix_queue(h, c, &l->waiters);
	}
	return sum;
}

static uint64_t sum_gathers(const struct dsm_core *c)
{
	size_t row = c->c.processes * sizeof(uint64_t);
	uint64_t sum = 0;

	for (size_t i = 0; i < c->gathers.room; i++) {
		const struct dsm_gather *g = (void *)c->gathers.v[i];
		uint64_t h;

		if (!g)
			continue;
		h = world_mix(g->id, (uint64_t)g->nhere << 32 | g->children);
		h = world_mix(h, (uint64_t)g->nrecords << 2 | g->self << 1 | g->stuck);
		h = world_mix_bytes(h, g->min, row);
		h = world_mix_bytes(h, g->max, row);
		h = world_mix_bytes(h, g->floor, row);
		h = world_mix_bytes(h, g->child_min, row * (g->children ? 1 : 0));
		h = world_mix_bytes(h, g->records.v, g->records.len);
		sum += mix_queue(h, c, &g->here);
	}
	return sum;
}

static uint64_t sum_conds(const struct dsm_core *c)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->conds.room; i++) {
		const struct dsm_cond *d = (void *)c->conds.v[i];
		uint64_t h;

		if (!d)
			continue;
		h = d->id;
		for (size_t k = d->first; k < d->n; k++)
			h = world_mix(h, (uint64_t)d->v[k].process << 32 | d->v[k].thread);
		sum += world_mix(h, 1);
	}
	return sum;
}

static uint64_t mix_process(uint64_t h, struct world_process *p)
{
	const struct dsm_core *c = p->core;

	h = mix_pages(h, p);
	h = mix_log(h, c);
	h = world_mix(h, sum_locks(c));
	h = world_mix(h, sum_gathers(c));
	h = world_mix(h, sum_conds(c));
	for (uint32_t t = 0; t < c->c.threads; t++) {
		const struct dsm_thread *at = &c->threads[t];

		h = world_mix(h, (uint64_t)at->doing << 3 | at->competes << 2 | at->resumed << 1 |
				 p->threads[t].blocked);
		h = world_mix(h, (uint64_t)(int64_t)at->result);
		if (at->doing != DOING_NOTHING)
			h = world_mix(world_mix(h, at->id), at->lock);
	}
	for (const struct dsm_letter *l = c->deferred.head; l; l = l->next)
		h = mix_letter(h, l->data, l->len);
	return h;
}

uint64_t world_digest(struct world *w, uint64_t seed)
{
	uint64_t h = world_mix(seed, w->told);

	for (uint32_t i = 0; i < w->c.processes; i++)
		h = mix_process(h, &w->processes[i]);
	for (uint32_t i = 0; i < w->c.processes * w->c.processes; i++) {
		for (const struct world_letter *l = w->channels[i].head; l; l = l->next)
			h = mix_letter(h, l->data, l->len);
		h = world_mix(h, i);
	}
	return h;
}
