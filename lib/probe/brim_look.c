// SPDX-License-Identifier: LGPL-2.1-or-later
/* What of a ring of a brim's lines misses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "brim_look.h"
#include "shuffle.h"

/*
 * Lines of all orders of a ring, and orders at least: a set of an exclusive level overflows only
 * while the level above holds none of its lines.
 */
#define ORDER_LINES	6000
#define ORDERS_LEAST	2
/* Of so many lines that are in and miss, one gives way. */
#define OUT_OF		64

/*
 * What prefetchers brought there before, beside lines of other rings, no ring flushes. An exclusive
 * level whose sets duel may keep it as long as nobody uses it: each line that comes back from the
 * level above goes first.
 */
int brim_open(struct brim *b, struct hunt *h, size_t nflush, uint32_t distance)
{
	int err = -ENOMEM;

	*b = (struct brim){
		.h = h, .npages = h->npages - nflush, .flush = h->pages + h->npages - nflush,
		.nflush = nflush, .distance = distance,
	};
	b->page = malloc(h->npages * sizeof(*b->page));
	b->list = malloc(h->npages * sizeof(*b->list));
	b->places = malloc(h->npages * sizeof(*b->places));
	b->missed = calloc((size_t)h->last + 1, 1);
	if (b->page && b->list && b->places && b->missed) {
		memcpy(b->page, h->pages, h->npages * sizeof(*b->page));
		err = trial_clear(h->t, h->offset);
	}
	if (err)
		brim_close(b);
	return err;
}

void brim_close(struct brim *b)
{
	free(b->page);
	free(b->list);
	free(b->places);
	free(b->missed);
	*b = (struct brim){ .h = b->h };
}

void brim_put_flush(struct brim *b, size_t n)
{
	for (size_t i = 0; i < b->nflush; i++)
		b->places[n + i] = meter_place(b->flush[i], b->h->offset ^ b->distance);
}

ssize_t brim_look(struct brim *b, const uint32_t *pages, size_t n, size_t together)
{
	double misses;
	ssize_t missed = 0;
	int err;

	hunt_places(b->h, pages, n, b->places);
	brim_put_flush(b, n);
	err = singly_look(b->h, b->places, n + b->nflush, b->nflush ? b->nflush : together,
			  b->missed, &misses);
	for (size_t i = 0; i < n && !err; i++)
		missed += b->missed[pages[i]];
	return err ? err : missed;
}

void brim_forget(struct brim *b, const uint32_t *pages, size_t n)
{
	for (size_t i = 0; i < n; i++)
		b->missed[pages[i]] = 0;
}

unsigned int brim_orders(const struct brim *b, size_t n, size_t lines, unsigned int least)
{
	return b->nflush || !n ? least : MAX((unsigned int)(lines / n), least);
}

unsigned int brim_orders_to_see(const struct brim *b, size_t n)
{
	return brim_orders(b, n, ORDER_LINES, ORDERS_LEAST);
}

ssize_t brim_look_in(struct brim *b, const uint32_t *pages, size_t n, size_t together,
		     unsigned int orders)
{
	ssize_t missed = 0;

	brim_forget(b, pages, n);
	for (unsigned int i = 0; i < orders && !missed; i++)
		missed = brim_look(b, pages, n, together);
	return missed;
}

ssize_t brim_look_for_any(struct brim *b, const uint32_t *pages, size_t n)
{
	return brim_look_in(b, pages, n, 0, brim_orders_to_see(b, n));
}

size_t brim_part(const struct brim *b, uint32_t *pages, size_t n)
{
	size_t kept = 0;
	uint32_t page;

	for (size_t i = 0; i < n; i++) {
		page = pages[i];
		if (b->missed[page])
			continue;
		pages[i] = pages[kept];
		pages[kept++] = page;
	}
	return kept;
}

size_t brim_give_way(struct brim *b)
{
	size_t missed = 0, gone = 0, out;
	uint32_t page;

	shuffle(&b->h->t->rng, b->page, b->n);
	for (size_t i = 0; i < b->n; i++)
		missed += b->missed[b->page[i]];
	out = (missed + OUT_OF - 1) / OUT_OF;
	for (size_t i = b->n; i-- > 0 && gone < out;) {
		page = b->page[i];
		if (!b->missed[page])
			continue;
		b->page[i] = b->page[--b->n];
		b->page[b->n] = page;
		gone++;
	}
	return gone;
}
