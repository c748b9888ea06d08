// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Shared memory in pieces. Process 0 gives out extents, runs of whole pages, first fit.
 * Large pieces are extents; small ones are cut by each process from extents of its own,
 * in powers of two, so threads of different processes do not share pages by accident.
 *
 * The lower half's pages have their homes in turns; the upper half is cut into one part
 * for each process, whose home it is: a wish for a home is a wish for a place.
 *
 * What was freed may still have changes under way, so the words about it order memory:
 * who gets it next has all that was written before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

#define CLASS_LEAST	5u		/* 32 bytes */
#define CLASS_MOST	15u		/* 32 KiB */
#define CLASSES		(CLASS_MOST - CLASS_LEAST + 1)
#define CHUNK		(128u << 10)	/* what is cut up at once */
#define FRESH		((uint64_t)1 << 63)	/* beside the first page: never given out before */

struct stack {
	uint64_t *v;
	size_t n, room;
};

struct extent {
	uint64_t owner;		/* who cuts it up, or DSM_NOBODY */
	uint32_t first, n;	/* n: 0 if free; else in each of its pages */
	bool was_used;
};

struct dsm_heap {
	pthread_mutex_t lock;	/* of all but the extents */
	uint8_t *class_of;	/* by page, of those cut up here; 0: none */
	struct stack idle[CLASSES];
	struct extent *extents;	/* process 0's progress thread's, by page */
	uint32_t reserved;
};

/* ---- places ---- */
static uint32_t half(const struct dsm_run *run)
{
	return run->pages / 2;
}

static uint32_t part(const struct dsm_run *run)
{
	return (run->pages - half(run)) / run->processes;
}

void dsm_set_homes(struct dsm_run *run)
{
	for (uint32_t q = 0; q < run->processes; q++)
		for (uint32_t i = 0; i < part(run); i++)
			dsm_core_set_home(run->core, half(run) + q * part(run) + i, q);
}

static void zone(const struct dsm_run *run, uint64_t home, uint32_t *first, uint32_t *end)
{
	*first = run->heap->reserved;
	*end = run->pages;
	if (home == SONDE_DSM_ANY_HOME)
		return;
	*first = half(run) + (uint32_t)home * part(run);
	*end = *first + part(run);
}

/* ---- process 0 ---- */
static bool find_extent(const struct dsm_run *run, uint64_t n, uint64_t home, uint32_t *first)
{
	const struct extent *e = run->heap->extents;
	uint32_t at, end, run_of = 0;

	zone(run, home, &at, &end);
	while (at < end) {
		if (e[at].n) {
			at = e[at].first + e[at].n;
			run_of = 0;
			continue;
		}
		at++;
		if (++run_of == n) {
			*first = at - run_of;
			return true;
		}
	}
	return false;
}

void dsm_on_extent(struct dsm_run *run, uint32_t from, const struct dsm_word *w)
{
	struct extent *e = run->heap->extents;
	uint64_t fresh = FRESH;
	uint32_t first;

	if (!w->a || w->a > run->pages || !find_extent(run, w->a, w->b, &first)) {
		dsm_reply(run, from, w->call, ENOMEM, 0, false);
		return;
	}
	for (uint32_t i = first; i < first + w->a; i++) {
		if (e[i].was_used)
			fresh = 0;
		e[i] = (struct extent){ .owner = w->c, .first = first, .n = (uint32_t)w->a,
					.was_used = true };
	}
	dsm_reply(run, from, w->call, 0, first | fresh, !fresh);
}

bool dsm_extent_at(const struct dsm_run *run, uint32_t page, uint32_t *first, uint64_t *owner)
{
	const struct extent *e = &run->heap->extents[page];

	*first = e->first;
	*owner = e->owner;
	return e->was_used;
}

static void free_here(struct dsm_run *run, uint64_t offset);

void dsm_on_free(struct dsm_run *run, const struct dsm_word *w)
{
	struct extent *e = run->heap->extents, *at;
	uint32_t first, n;

	if (!e || (w->c == run->self && run->heap->class_of[w->a / run->unit])) {
		free_here(run, w->a);
		return;
	}
	at = &e[w->a / run->unit];
	if (!at->n || (at->owner == DSM_NOBODY && w->a != (uint64_t)at->first * run->unit))
		dsm_run_fail(run, "sonde_dsm_free() of what is not allocated: offset 0x%llx",
			     (unsigned long long)w->a);
	if (at->owner != DSM_NOBODY) {
		dsm_say_later(run, (uint32_t)at->owner,
			      &(struct dsm_word){ .kind = DSM_WORD_FREE, .a = w->a,
						  .c = at->owner }, true);
		return;
	}
	first = at->first;
	n = at->n;
	for (uint32_t i = first; i < first + n; i++)
		e[i].n = 0;
}

/* ---- any process ---- */
static int push(struct stack *s, uint64_t offset)
{
	if (s->n == s->room) {
		size_t room = s->room ? s->room * 2 : 64;
		void *v = realloc(s->v, room * sizeof(*s->v));

		if (!v)
			return ENOMEM;
		s->v = v;
		s->room = room;
	}
	s->v[s->n++] = offset;
	return 0;
}

/* Without memory for the note the piece is lost, and nothing else. */
static void free_here(struct dsm_run *run, uint64_t offset)
{
	struct dsm_heap *h = run->heap;
	uint8_t class = h->class_of[offset / run->unit];

	pthread_mutex_lock(&h->lock);
	push(&h->idle[class - 1], offset);
	pthread_mutex_unlock(&h->lock);
}

static int get_extent(struct dsm_run *run, size_t bytes, uint32_t home, uint64_t owner,
		      uint64_t *offset, bool *is_fresh)
{
	struct dsm_word w = {
		.kind = DSM_WORD_EXTENT, .a = (bytes + run->unit - 1) / run->unit, .b = home,
		.c = owner,
	};
	uint64_t first = 0;
	int err = dsm_ask(run, 0, &w, false, &first);

	*is_fresh = first & FRESH;
	*offset = (first & ~FRESH) * run->unit;
	return err;
}

/* Highest first, so that the lowest is given out first. */
static int add_chunk(struct dsm_run *run, uint32_t class)
{
	struct dsm_heap *h = run->heap;
	size_t bytes = CHUNK > run->unit ? CHUNK : run->unit;
	uint64_t offset;
	bool fresh;
	int err = get_extent(run, bytes, SONDE_DSM_ANY_HOME, run->self, &offset, &fresh);

	if (err)
		return err;
	pthread_mutex_lock(&h->lock);
	memset(h->class_of + offset / run->unit, (int)class + 1, bytes / run->unit);
	for (uint64_t at = offset + bytes; !err && at > offset; ) {
		at -= (uint64_t)1 << (class + CLASS_LEAST);
		err = push(&h->idle[class], at);
	}
	pthread_mutex_unlock(&h->lock);
	return err;
}

static bool pop(struct dsm_heap *h, uint32_t class, uint64_t *offset)
{
	struct stack *s = &h->idle[class];
	bool any;

	pthread_mutex_lock(&h->lock);
	any = s->n;
	if (any)
		*offset = s->v[--s->n];
	pthread_mutex_unlock(&h->lock);
	return any;
}

static int get_small(struct dsm_run *run, uint32_t class, uint64_t *offset)
{
	while (!pop(run->heap, class, offset)) {
		int err = add_chunk(run, class);

		if (err)
			return err;
	}
	return 0;
}

static uint32_t class_for(size_t size)
{
	uint32_t class = 0;

	while (((size_t)1 << (class + CLASS_LEAST)) < size)
		class++;
	return class;
}

static int allocate(size_t alignment, size_t size, uint32_t home, uint64_t *offset, bool *is_fresh)
{
	struct dsm_run *run = dsm_run();

	if (!run || !alignment || alignment & (alignment - 1) || alignment > run->unit ||
	    (home != SONDE_DSM_ANY_HOME && home >= run->processes))
		return EINVAL;
	if (size > (size_t)run->pages * run->unit)
		return ENOMEM;
	if (size < alignment)
		size = alignment;
	*is_fresh = false;
	if (home == SONDE_DSM_ANY_HOME && size <= (size_t)1 << CLASS_MOST)
		return get_small(run, class_for(size), offset);
	return get_extent(run, size, home, DSM_NOBODY, offset, is_fresh);
}

int sonde_dsm_alloc(void **p, size_t alignment, size_t size, uint32_t home)
{
	uint64_t offset;
	bool fresh;
	int err = allocate(alignment, size, home, &offset, &fresh);

	if (!err)
		*p = dsm_run()->fault->view + offset;
	return err;
}

void *sonde_dsm_malloc(size_t size)
{
	void *p = NULL;
	int err = sonde_dsm_alloc(&p, 1, size ? size : 1, SONDE_DSM_ANY_HOME);

	if (err)
		errno = err;
	return p;
}

/* Pages that nobody had before are zeros. */
void *sonde_dsm_calloc(size_t n, size_t size)
{
	uint64_t offset;
	size_t bytes;
	bool fresh;
	void *p;
	int err = __builtin_mul_overflow(n, size, &bytes) ? ENOMEM : 0;

	if (!err)
		err = allocate(1, bytes ? bytes : 1, SONDE_DSM_ANY_HOME, &offset, &fresh);
	if (err) {
		errno = err;
		return NULL;
	}
	p = dsm_run()->fault->view + offset;
	return fresh ? p : memset(p, 0, bytes);
}

void sonde_dsm_free(void *p)
{
	struct dsm_run *run = dsm_run();
	uint64_t offset;

	if (!p || !run)
		return;
	if (!dsm_shares(run, p))
		dsm_run_fail(run, "sonde_dsm_free() of what is not shared: %p", p);
	offset = (uint64_t)((uintptr_t)p - (uintptr_t)run->fault->view);
	if (run->heap->class_of[offset / run->unit])
		free_here(run, offset);
	else
		dsm_say(run, 0, &(struct dsm_word){ .kind = DSM_WORD_FREE, .a = offset,
						    .c = DSM_NOBODY }, true);
}

int dsm_heap_create(struct dsm_run *run, uint32_t reserved)
{
	struct dsm_heap *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	run->heap = h;
	h->reserved = reserved;
	pthread_mutex_init(&h->lock, NULL);
	h->class_of = calloc(run->pages, 1);
	if (!run->self)
		h->extents = calloc(run->pages, sizeof(*h->extents));
	return h->class_of && (run->self || h->extents) ? 0 : -ENOMEM;
}

void dsm_heap_destroy(struct dsm_run *run)
{
	struct dsm_heap *h = run->heap;

	if (!h)
		return;
	for (uint32_t i = 0; i < CLASSES; i++)
		free(h->idle[i].v);
	pthread_mutex_destroy(&h->lock);
	free(h->class_of);
	free(h->extents);
	free(h);
}
