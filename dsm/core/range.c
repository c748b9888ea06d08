// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Ranges of pages, where the program says what it needs: fetched before they are touched,
 * sent home, or taken to be old. What orders a release of a range before an acquire of it
 * the core does not see (a message of the program's own, say), so no notices go anywhere:
 * an acquire voids all copies of the range, and asks their homes whether they are the
 * newest. One message to each home, and its answers, however many the pages are.
 */
#include <errno.h>

#include "state.h"

#define ASKED	12u	/* of each page: its number, the version here */
#define HEADED	16u	/* page, version, and how long the copy is that follows */

static int send_asked(struct dsm_core *c, uint32_t home)
{
	struct dsm_buf *b = &c->bundles[home];
	int err;

	if (!b->len && !b->failed)
		return 0;
	err = dsm_post(c, home, &(struct dsm_message_head){ .kind = DSM_FETCH_LIST }, b);
	b->len = 0;
	return err;
}

static int ask(struct dsm_core *c, uint32_t page)
{
	struct dsm_page *p = &c->pages[page];
	struct dsm_buf *b = &c->bundles[p->home];
	int err = 0;

	p->flags |= PAGE_FETCHING;
	p->flags &= (uint8_t)~PAGE_REFETCH;
	if (b->len && b->len + ASKED > c->c.message_max)
		err = send_asked(c, p->home);
	dsm_buf_u32(b, page);
	dsm_buf_u64(b, p->version);
	return err;
}

/* Those that are void, but for what the host may copy by itself. */
static int fetch(struct dsm_core *c, uint32_t first, uint32_t end)
{
	int err = 0;

	for (uint32_t page = first; !err && page < end; page++) {
		const struct dsm_page *p = &c->pages[page];

		dsm_page_offer(c, page);
		if (p->prot == DSM_NONE && !(p->flags & (PAGE_FETCHING | PAGE_OFFERED)))
			err = ask(c, page);
	}
	for (uint32_t home = 0; !err && home < c->c.processes; home++)
		err = send_asked(c, home);
	return err;
}

/* What was on its way before may be older than what is wanted now. */
static int take_for_old(struct dsm_core *c, uint32_t first, uint32_t end)
{
	for (uint32_t page = first; page < end; page++) {
		struct dsm_page *p = &c->pages[page];

		if (p->home == c->c.self)
			continue;
		dsm_page_settle(c, page);
		if (p->flags & PAGE_FETCHING && !dsm_fault(RANGE_UNDER_WAY))
			p->flags |= PAGE_REFETCH;
		if (p->prot == DSM_NONE || dsm_fault(RANGE_KEPT))
			continue;
		p->prot = DSM_NONE;
		c->stale[c->nstale++] = page;
		dsm_count(c, page, invalidations, 1);
	}
	return dsm_page_invalidate(c);
}

int dsm_range(struct dsm_core *c, uint32_t thread, const struct dsm_event *ev)
{
	struct dsm_thread *t = &c->threads[thread];
	uint32_t first = (uint32_t)ev->id, end = (uint32_t)ev->arg;
	int err = 0;

	if (ev->id >= ev->arg || ev->arg > c->c.pages)
		return -EINVAL;
	if (ev->kind == DSM_EV_RELEASE) {
		t->doing = DOING_RANGE;
		t->lock = ev->arg;
		return dsm_release(c, thread);
	}
	if (ev->kind == DSM_EV_ACQUIRE)
		err = take_for_old(c, first, end);
	if (!err)
		err = fetch(c, first, end);
	return err ? err : dsm_wake(c, thread, 0);
}

/* No longer alone, as when a single page is fetched; one call for all. */
static int share(struct dsm_core *c, struct dsm_reader r)
{
	size_t n = 0;

	while (dsm_left(&r)) {
		uint32_t page = dsm_read_u32(&r);
		uint64_t have = dsm_read_u64(&r);
		struct dsm_page *p;

		if (r.bad || page >= c->c.pages)
			return -EBADMSG;
		p = &c->pages[page];
		if (p->home != c->c.self || have > p->version)
			return -EPROTO;
		p->flags |= PAGE_SHARED;
		if (p->flags & PAGE_DIRTY || p->prot == DSM_READ)
			continue;
		p->prot = DSM_READ;
		c->order[n++] = page;
	}
	return n ? c->c.host.protect(c->c.host.ctx, c->order, n, DSM_READ) : 0;
}

static int send_pages(struct dsm_core *c, uint32_t to, struct dsm_buf *b)
{
	int err = dsm_post(c, to, &(struct dsm_message_head){ .kind = DSM_PAGES }, b);

	b->len = 0;
	return err;
}

int dsm_on_fetch_list(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r)
{
	struct dsm_buf b = { 0 };
	int err = share(c, r);

	while (!err && dsm_left(&r)) {
		uint32_t page = dsm_read_u32(&r);
		uint64_t have = dsm_read_u64(&r), version = c->pages[page].version;
		uint32_t len = have + dsm_fault(RANGE_SAME) >= version ? 0 : c->c.unit;

		if (b.len && b.len + HEADED + len > c->c.message_max)
			err = send_pages(c, h->from, &b);
		dsm_buf_u32(&b, page);
		dsm_buf_u64(&b, len ? version : have);
		dsm_buf_u32(&b, len);
		dsm_buf_bytes(&b, c->c.host.page(c->c.host.ctx, page), len);
	}
	if (!err)
		err = send_pages(c, h->from, &b);
	dsm_buf_free(&b);
	return err;
}

int dsm_on_pages(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r)
{
	size_t n = 0;
	int err = 0;

	while (!err && dsm_left(&r)) {
		uint32_t page = dsm_read_u32(&r);
		uint64_t version = dsm_read_u64(&r);
		uint32_t len = dsm_read_u32(&r);
		const uint8_t *copy = dsm_read_bytes(&r, len);
		struct dsm_page *p;

		if (r.bad || page >= c->c.pages || (len && len != c->c.unit))
			return -EBADMSG;
		p = &c->pages[page];
		/* A page that was not sent is not counted. */
		if (len)
			dsm_count(c, page, fetches, 1);
		err = dsm_page_take(c, page, h->from, version, len ? copy : NULL);
		if (err || p->flags & PAGE_FETCHING)
			continue;
		if (p->flags & PAGE_DIRTY || p->waiters.head != NOBODY) {
			err = dsm_page_open(c, page);
			continue;
		}
		p->prot = DSM_READ;
		c->order[n++] = page;
	}
	if (err || !n)
		return err;
	return c->c.host.protect(c->c.host.ctx, c->order, n, DSM_READ);
}
