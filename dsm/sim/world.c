// SPDX-License-Identifier: LGPL-2.1-or-later
/* Simulated pages and channels around the cores. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

static void *allocate(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	return p;
}

void world_fail(struct world *w, const char *format, ...)
{
	va_list args;

	if (w->why[0])
		return;
	va_start(args, format);
	vsnprintf(w->why, sizeof(w->why), format, args);
	va_end(args);
}

/* ---- the fault back end ---- */
static void interrupt(struct world_process *p)
{
	struct world *w = p->world;

	if (w->between)
		w->between(w->ctx, (uint32_t)(p - w->processes));
}

static void *page_of(void *ctx, uint32_t page)
{
	struct world_process *p = ctx;

	return p->memory + (size_t)page * p->world->c.unit;
}

static int protect(void *ctx, const uint32_t *pages, size_t n, enum dsm_prot prot)
{
	struct world_process *p = ctx;

	interrupt(p);
	for (size_t i = 0; i < n; i++) {
		p->prot[pages[i]] = (uint8_t)prot;
		if (prot != DSM_NONE)
			p->is_told[pages[i]] = false;
	}
	interrupt(p);
	return 0;
}

static void make_twin(struct world_process *p, uint32_t page)
{
	p->twins[page] = allocate(1, p->world->c.unit);
	memcpy(p->twins[page], page_of(p, page), p->world->c.unit);
	p->ntwins++;
}

static void *unseen_twin(void *ctx, uint32_t page)
{
	struct world_process *p = ctx;

	if (!p->twins[page] || p->is_taken[page])
		world_fail(p->world, "page %u was not written, or its twin is taken", page);
	p->is_taken[page] = true;
	return p->twins[page];
}

static void unseen_untwin(void *ctx, uint32_t page)
{
	struct world_process *p = ctx;

	interrupt(p);
	p->is_taken[page] = false;
	if (p->is_noted[page] || !p->twins[page])
		return;
	free(p->twins[page]);
	p->twins[page] = NULL;
	p->ntwins--;
}

static ssize_t unseen_written(void *ctx, uint32_t *pages, size_t room)
{
	struct world_process *p = ctx;
	size_t n = 0;

	interrupt(p);
	for (uint32_t page = 0; page < p->world->c.pages && n < room; page++) {
		if (!p->is_noted[page])
			continue;
		pages[n++] = page;
		p->is_noted[page] = false;
		p->is_copied[page] = false;
	}
	interrupt(p);
	return (ssize_t)n;
}

static void *twin(void *ctx, uint32_t page)
{
	struct world_process *p = ctx;

	if (p->twins[page])
		world_fail(p->world, "a second twin of page %u", page);
	else
		make_twin(p, page);
	return p->twins[page];
}

static void untwin(void *ctx, uint32_t page)
{
	struct world_process *p = ctx;

	free(p->twins[page]);
	p->twins[page] = NULL;
	p->ntwins--;
}

/* ---- copies between processes ---- */
static void offer(void *ctx, uint32_t page, uint32_t home, uint64_t least)
{
	struct world_process *p = ctx;

	if (p->offers[page].is_open)
		world_fail(p->world, "page %u is offered twice", page);
	p->offers[page] = (struct world_offer){ .least = least, .home = home, .is_open = true };
	interrupt(p);
}

static bool withdraw(void *ctx, uint32_t page, uint64_t *version)
{
	struct world_process *p = ctx;

	interrupt(p);
	p->offers[page].is_open = false;
	*version = p->offers[page].got;
	return *version;
}

static void publish(void *ctx, uint32_t page, uint64_t version)
{
	struct world_process *p = ctx;

	p->published[page] = version;
}

/* Not what was written here, nor what the core was told of. */
static bool can_fill(const struct world *w, uint32_t process, uint32_t page)
{
	const struct world_process *p = &w->processes[process];
	const struct world_offer *o = &p->offers[page];

	return o->is_open && p->prot[page] == DSM_NONE && !p->is_told[page] &&
	       !p->is_noted[page] && !p->twins[page] &&
	       w->processes[o->home].published[page] >= o->least &&
	       w->processes[o->home].prot[page] != DSM_NONE;
}

static void fill(struct world *w, uint32_t process, uint32_t page)
{
	struct world_process *p = &w->processes[process];
	struct world_process *home = &w->processes[p->offers[page].home];

	home->is_copied[page] = true;
	p->offers[page].got = home->published[page];
	p->prot[page] = DSM_READ;
	memcpy(page_of(p, page), page_of(home, page), w->c.unit);
	w->fills++;
}

/* ---- life ---- */
static void create_process(struct world *w, uint32_t self)
{
	struct world_process *p = &w->processes[self];
	const struct world_config *k = &w->c;
	struct dsm_config config = {
		.processes = k->processes, .self = self, .pages = k->pages, .unit = k->unit,
		.threads = k->threads, .fanout = k->fanout, .handovers = k->handovers,
		.notices_max = k->notices_max, .message_max = k->message_max, .diff = k->diff,
		.races = k->races, .race_reads = k->race_reads,
		.host = { .ctx = p, .page = page_of, .protect = protect, .twin = twin,
			  .untwin = untwin },
	};

	if (k->unseen) {
		config.host.twin = unseen_twin;
		config.host.untwin = unseen_untwin;
		config.host.written = unseen_written;
	}
	if (k->unseen && k->nodes && !k->races) {
		config.host.offer = offer;
		config.host.withdraw = withdraw;
		config.host.publish = publish;
	}
	p->world = w;
	p->is_noted = allocate(k->pages, sizeof(*p->is_noted));
	p->is_taken = allocate(k->pages, sizeof(*p->is_taken));
	p->offers = allocate(k->pages, sizeof(*p->offers));
	p->published = allocate(k->pages, sizeof(*p->published));
	p->is_copied = allocate(k->pages, sizeof(*p->is_copied));
	p->is_told = allocate(k->pages, sizeof(*p->is_told));
	p->memory = allocate(k->pages, k->unit);
	p->prot = allocate(k->pages, 1);
	memset(p->prot, DSM_READ, k->pages);
	p->twins = allocate(k->pages, sizeof(*p->twins));
	p->versions = allocate(k->pages, sizeof(*p->versions));
	p->threads = allocate(k->threads, sizeof(*p->threads));
	if (dsm_core_create(&p->core, &config)) {
		fprintf(stderr, "no core can be made\n");
		exit(1);
	}
	for (uint32_t page = 0; page < k->pages; page++)
		dsm_core_set_home(p->core, page, (page + k->home_shift) % k->processes);
	for (uint32_t i = 0; config.host.offer && i < k->processes; i++)
		if (i != self && i % k->nodes == self % k->nodes)
			dsm_core_set_peer(p->core, i);
}

struct world *world_create(const struct world_config *config)
{
	struct world *w = allocate(1, sizeof(*w));

	w->c = *config;
	w->processes = allocate(w->c.processes, sizeof(*w->processes));
	w->channels = allocate((size_t)w->c.processes * w->c.processes, sizeof(*w->channels));
	for (uint32_t i = 0; i < w->c.processes * w->c.processes; i++)
		w->channels[i].end = &w->channels[i].head;
	for (uint32_t i = 0; i < w->c.processes; i++)
		create_process(w, i);
	return w;
}

void world_destroy(struct world *w)
{
	for (uint32_t i = 0; i < w->c.processes; i++) {
		struct world_process *p = &w->processes[i];

		dsm_core_destroy(p->core);
		free(p->memory);
		free(p->prot);
		for (uint32_t page = 0; page < w->c.pages; page++)
			free(p->twins[page]);
		free(p->twins);
		free(p->is_noted);
		free(p->is_taken);
		free(p->offers);
		free(p->published);
		free(p->is_copied);
		free(p->is_told);
		free(p->versions);
		free(p->threads);
	}
	for (uint32_t i = 0; i < w->c.processes * w->c.processes; i++) {
		while (w->channels[i].head) {
			struct world_letter *l = w->channels[i].head;

			w->channels[i].head = l->next;
			free(l->data);
			free(l);
		}
	}
	dsm_actions_free(&w->actions);
	free(w->processes);
	free(w->channels);
	free(w);
}

/* ---- steps ---- */
static void append(struct world_channel *ch, uint8_t *data, size_t len)
{
	struct world_letter *l = allocate(1, sizeof(*l));

	l->data = data;
	l->len = len;
	*ch->end = l;
	ch->end = &l->next;
}

static void step(struct world *w, uint32_t process, const struct dsm_event *ev)
{
	int err = dsm_core_step(w->processes[process].core, ev, &w->actions);

	w->steps++;
	if (err)
		world_fail(w, "process %u: event %d of %llu: %s", process, ev->kind,
			   (unsigned long long)ev->id, strerror(-err));
	for (size_t i = 0; i < w->actions.n; i++) {
		struct dsm_action *a = &w->actions.v[i];
		struct world_thread *t;

		if (a->kind == DSM_SEND) {
			append(world_channel(w, process, a->to), a->data, a->len);
			a->data = NULL;
		} else if (a->kind == DSM_RACE) {
			if (w->race)
				w->race(w->race_ctx, (const struct dsm_race *)(const void *)a->data);
		} else if (a->kind == DSM_TOLD) {
			w->told |= (uint64_t)1 << (a->data[0] % 64);
		} else {
			t = &w->processes[process].threads[a->to];
			if (!t->blocked)
				world_fail(w, "process %u: thread %u woken twice", process, a->to);
			t->blocked = false;
			t->result = a->result;
		}
	}
	dsm_actions_clear(&w->actions);
}

void world_event(struct world *w, uint32_t process, uint32_t thread, enum dsm_event_kind kind,
		 uint64_t id, uint64_t arg)
{
	w->processes[process].threads[thread].blocked = true;
	step(w, process, &(struct dsm_event){ .kind = kind, .thread = thread, .id = id,
					      .arg = arg });
}

void world_cancel(struct world *w, uint32_t process, uint32_t thread)
{
	step(w, process, &(struct dsm_event){ .kind = DSM_EV_CANCEL, .thread = thread });
}

void world_tell(struct world *w, uint32_t process, uint32_t thread, uint32_t to, uint8_t what)
{
	w->processes[process].threads[thread].blocked = true;
	step(w, process, &(struct dsm_event){ .kind = DSM_EV_TELL, .thread = thread, .id = to,
					      .arg = 1, .data = &what, .len = 1 });
}

/*
 * The host keeps the page as it was before the first write that nobody sees; not of an
 * open page at home, which is noted only if it was copied.
 */
static void note(struct world_process *p, uint32_t page)
{
	if (p->is_noted[page] || (p->prot[page] == DSM_WRITE && !p->is_copied[page]))
		return;
	p->is_noted[page] = true;
	if (!p->twins[page] && p->prot[page] == DSM_READ)
		make_twin(p, page);
}

bool world_can_touch(const struct world *w, uint32_t process, uint32_t page, bool write)
{
	return can_fill(w, process, page) || w->processes[process].prot[page] >=
	       (write && !w->c.unseen ? DSM_WRITE : DSM_READ);
}

uint8_t *world_touch(struct world *w, uint32_t process, uint32_t thread, uint32_t page,
		     bool write)
{
	struct world_process *p = &w->processes[process];

	if (can_fill(w, process, page))
		fill(w, process, page);
	if (world_can_touch(w, process, page, write)) {
		if (write && w->c.unseen)
			note(p, page);
		return page_of(p, page);
	}
	p->is_told[page] = true;
	world_event(w, process, thread, write ? DSM_EV_WRITE : DSM_EV_READ, page, 0);
	return NULL;
}

void world_deliver(struct world *w, uint32_t from, uint32_t to, bool twice)
{
	struct world_channel *ch = world_channel(w, from, to);
	struct world_letter *l = ch->head;

	ch->head = l->next;
	if (!ch->head)
		ch->end = &ch->head;
	step(w, to, &(struct dsm_event){ .kind = DSM_EV_MESSAGE, .id = from, .data = l->data,
					 .len = l->len });
	if (twice)
		append(ch, l->data, l->len);
	else
		free(l->data);
	free(l);
}

void world_settle(struct world *w)
{
	bool any = true;

	while (any && !w->why[0]) {
		any = false;
		for (uint32_t i = 0; i < w->c.processes * w->c.processes; i++) {
			while (w->channels[i].head && !w->why[0]) {
				world_deliver(w, i / w->c.processes, i % w->c.processes, false);
				any = true;
			}
		}
	}
}
