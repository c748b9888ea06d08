// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "hierarchy.h"

_Static_assert(PREFETCH_PAGES == 1 << 5, "slot_of() gives 5 bits");

/* Manuals: up to 2 KiB; twice the same before it is believed. */
#define STRIDE_MAX	(2048 / METER_PLACE)
#define STRIDE_AHEAD	2
#define STREAM_RUN	3
#define STREAM_NEAR	8
#define STREAM_AHEAD	4

static uint32_t chunk_of(uint32_t place)
{
	return place / METER_CHUNK_PLACES;
}

/* Tables of pages are looked up by a hash, and a page pushes out another. */
static unsigned int slot_of(uint32_t chunk)
{
	return chunk * 0x9e3779b1U >> 27;
}

static int same_chunk(int64_t place, uint32_t as)
{
	return place >= 0 && place / METER_CHUNK_PLACES == chunk_of(as);
}

/* Places of a line of the level that is fetched into. */
static uint32_t line_places(const struct hierarchy *h)
{
	return 1U << h->shift[h->top];
}

static void follow_stride(struct core *c, uint32_t place)
{
	struct prefetcher *p = &c->prefetcher;
	int64_t stride = (int64_t)place - p->last, next = place + STRIDE_AHEAD * stride;

	p->same = stride == p->stride;
	p->stride = stride;
	p->last = place;
	if (p->same && stride && llabs(stride) <= STRIDE_MAX && same_chunk(next, place))
		hierarchy_prefetch(c, (uint32_t)next, 0);
}

static void follow_stream(struct core *c, uint32_t place)
{
	struct prefetcher *p = &c->prefetcher;
	uint32_t chunk = chunk_of(place), places = line_places(c->h);
	int line = (int)(place % METER_CHUNK_PLACES / places), step;
	struct stream *s = &p->stream[slot_of(chunk)];

	if (s->chunk != chunk + 1) {
		*s = (struct stream){ chunk + 1, line, 0 };
		return;
	}
	step = line > s->line ? 1 : -1;
	if (line == s->line)
		return;
	if (abs(line - s->line) > STREAM_NEAR || step * s->run < 0)
		s->run = 0;
	s->run += step;
	s->line = line;
	if (abs(s->run) + 1 < STREAM_RUN)
		return;
	for (int i = 1; i <= STREAM_AHEAD; i++) {
		int64_t ahead = place + (int64_t)(i * step) * places;

		if (same_chunk(ahead, place))
			hierarchy_prefetch(c, (uint32_t)ahead, c->h->top);
	}
}

static void follow_region(struct core *c, uint32_t place)
{
	struct prefetcher *p = &c->prefetcher;
	uint32_t chunk = chunk_of(place), line = place % METER_CHUNK_PLACES / METER_LINE_PLACES;
	struct region *r = &p->region[slot_of(chunk)];
	uint64_t wanted;

	if (r->chunk == chunk + 1) {
		r->used |= 1ULL << line;
		return;
	}
	if (r->chunk)
		p->seen[r->first] = r->used;
	*r = (struct region){ chunk + 1, line, 1ULL << line };
	wanted = p->seen[line] & ~r->used;
	for (; wanted; wanted &= wanted - 1)
		hierarchy_prefetch(c, chunk * METER_CHUNK_PLACES +
				   (uint32_t)__builtin_ctzll(wanted) * METER_LINE_PLACES,
				   c->h->top);
}

void prefetch_after_load(struct core *c, uint32_t place)
{
	if (c->h->model->prefetch & PREFETCH_STRIDE)
		follow_stride(c, place);
}

void prefetch_after_miss(struct core *c, uint32_t place, int far)
{
	unsigned int which = c->h->model->prefetch;
	uint32_t places = line_places(c->h);

	if (which & PREFETCH_NEXT && same_chunk((int64_t)place + places, place))
		hierarchy_prefetch(c, place + places, c->h->top);
	if (which & PREFETCH_PAIR && far)
		hierarchy_prefetch(c, place ^ places, c->h->top);
	if (which & PREFETCH_STREAM)
		follow_stream(c, place);
	if (which & PREFETCH_REGION)
		follow_region(c, place);
}
