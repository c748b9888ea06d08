// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The end of an interval: diffs to the homes, one message each, and when all are
 * acknowledged the write notices are there to be handed out. One release at a time;
 * who comes meanwhile waits for the next, for its writes may be in neither. If only
 * ranges are released the other pages stay dirty.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

#define ENTRY	8u	/* page and length before each diff */

static int add_notice(struct dsm_core *c, uint32_t page, uint64_t version)
{
	void *v = dsm_grow(c->closing, sizeof(*c->closing), c->nclosing + 1, &c->room_closing);

	if (!v)
		return -ENOMEM;
	c->closing = v;
	c->closing[c->nclosing++] = (struct dsm_notice){ .page = page, .version = version };
	return 0;
}

static int send_bundle(struct dsm_core *c, uint32_t home)
{
	struct dsm_buf *b = &c->bundles[home];
	int err;

	if (!b->len && !b->failed)
		return 0;
	err = dsm_post(c, home, &(struct dsm_message_head){ .kind = DSM_DIFF,
		       .arg = c->races != NULL }, b);
	b->len = 0;
	c->unacked++;
	return err;
}

/*
 * Where writes go unseen nothing stops them: what is sent, and nothing else, becomes the
 * twin's, for the host keeps it if there were any meanwhile.
 */
static int encode(struct dsm_core *c, uint32_t page, size_t *len)
{
	struct dsm_page *p = &c->pages[page];

	*len = dsm_diff_encode(c->c.diff, c->c.host.page(c->c.host.ctx, page), p->twin,
			       c->c.unit, c->masks, c->encoded);
	if (!c->c.host.written || !*len || dsm_fault(TWIN_STAYS))
		return 0;
	return dsm_diff_apply(c->c.diff, p->twin, NULL, c->c.unit, c->encoded, *len);
}

static int add_diff(struct dsm_core *c, uint32_t page)
{
	struct dsm_page *p = &c->pages[page];
	struct dsm_buf *b = &c->bundles[p->home];
	size_t len;
	int err = encode(c, page, &len);

	c->c.host.untwin(c->c.host.ctx, page);
	p->twin = NULL;
	if (err)
		return err;
	if (len && !dsm_fault(OFFER_UNSENT))
		p->flags |= PAGE_SENT;
	dsm_page_offer(c, page);
	if (!len)
		return 0;
	/* A copy under way to us left its home without what we send now. */
	if (p->flags & PAGE_FETCHING)
		p->flags |= PAGE_REFETCH;
	if (b->len && b->len + ENTRY + len > c->c.message_max)
		err = send_bundle(c, p->home);
	if (!b->len && c->races && !err)
		err = dsm_races_put(c, b);
	dsm_buf_u32(b, page);
	dsm_buf_u32(b, (uint32_t)len);
	dsm_buf_bytes(b, c->encoded, len);
	dsm_count(c, page, diffs, 1);
	dsm_count(c, page, diff_bytes, len);
	if (!err && dsm_fault(NO_ACKS))
		err = add_notice(c, page, p->version + 1);
	return err;
}

/*
 * At home the page itself was written. It stays writable, and unseen, until
 * somebody asks for it: all copies older than this notice are void with it.
 * Who looks for races has to see all writes, and compares here, too.
 */
static int close_at_home(struct dsm_core *c, uint32_t page)
{
	struct dsm_page *p = &c->pages[page];
	size_t len;
	int err = 0;

	p->flags &= (uint8_t)~PAGE_SHARED;
	if (c->races) {
		err = encode(c, page, &len);
		if (!err)
			err = dsm_races_close(c, page);
		p->twin = NULL;
	}
	if (c->c.host.written || c->races)
		c->c.host.untwin(c->c.host.ctx, page);
	p->version++;
	dsm_page_publish(c, page);
	return err ? err : add_notice(c, page, p->version);
}

/* Those pages, where the host would have noted the next write. */
static int open_at_home(struct dsm_core *c, size_t nclosed)
{
	size_t n = 0;

	for (size_t i = 0; c->c.host.written && !c->races && i < nclosed; i++) {
		struct dsm_page *p = &c->pages[c->dirty[i]];

		if (p->home == c->c.self && p->prot == DSM_READ) {
			p->prot = DSM_WRITE;
			c->order[n++] = c->dirty[i];
		}
	}
	return n ? c->c.host.protect(c->c.host.ctx, c->order, n, DSM_WRITE) : 0;
}

static int by_page(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Before anything is compared nobody may write: one call for all pages. */
static int protect_written(struct dsm_core *c, size_t nclosed)
{
	size_t n = 0;

	for (size_t i = 0; i < nclosed; i++) {
		struct dsm_page *p = &c->pages[c->dirty[i]];

		if ((p->home != c->c.self || c->races) && p->prot == DSM_WRITE) {
			p->prot = DSM_READ;
			c->order[n++] = c->dirty[i];
		}
	}
	return n ? c->c.host.protect(c->c.host.ctx, c->order, n, DSM_READ) : 0;
}

/* The next page is on its way to the cache while this one is compared. */
static void look_ahead(const struct dsm_core *c, size_t i, size_t n)
{
	const struct dsm_page *p = i + 1 < n ? &c->pages[c->dirty[i + 1]] : NULL;

	if (p && p->twin)
		dsm_diff_ahead(c->c.host.page(c->c.host.ctx, c->dirty[i + 1]), p->twin);
}

static bool is_released(const struct dsm_core *c, uint32_t page)
{
	for (uint32_t t = c->flushed.head; t != NOBODY; t = c->threads[t].next) {
		const struct dsm_thread *at = &c->threads[t];

		if (at->doing != DOING_RANGE || (page >= at->id && page < at->lock))
			return true;
	}
	return false;
}

/* The dirty pages that the release is about, in order, come first. Returns how many. */
static size_t choose_pages(struct dsm_core *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->ndirty; i++) {
		uint32_t page = c->dirty[i];

		if (!is_released(c, page))
			continue;
		c->dirty[i] = c->dirty[n];
		c->dirty[n++] = page;
	}
	qsort(c->dirty, n, sizeof(*c->dirty), by_page);
	return n;
}

static int start_release(struct dsm_core *c)
{
	size_t n;
	int err;

	c->flushing = true;
	c->flushed = c->flush_next;
	dsm_queue_init(&c->flush_next);
	err = dsm_fault(UNSEEN_RELEASE) ? 0 : dsm_page_collect(c);
	if (c->races)
		dsm_races_begin(c);
	n = choose_pages(c);
	if (!err)
		err = protect_written(c, n);
	for (size_t i = 0; !err && i < n; i++) {
		uint32_t page = c->dirty[i];

		look_ahead(c, i, n);
		c->pages[page].flags &= (uint8_t)~PAGE_DIRTY;
		err = c->pages[page].home == c->c.self ? close_at_home(c, page) :
							 add_diff(c, page);
	}
	if (!err)
		err = open_at_home(c, n);
	c->ndirty = dsm_fault(RANGE_FORGETS) ? 0 : c->ndirty - n;
	memmove(c->dirty, c->dirty + n, c->ndirty * sizeof(*c->dirty));
	for (uint32_t home = 0; !err && home < c->c.processes; home++)
		err = send_bundle(c, home);
	if (dsm_fault(NO_ACKS))
		c->unacked = 0;
	return err;
}

static int finish_release(struct dsm_core *c)
{
	uint32_t thread;
	int err = 0;

	if (c->nclosing || dsm_reads_end(c))
		err = dsm_log_own(c, c->closing, c->nclosing);
	c->nclosing = 0;
	while (!err && (thread = dsm_dequeue(c, &c->flushed)) != NOBODY) {
		switch (c->threads[thread].doing) {
		case DOING_UNLOCK:
		case DOING_WAIT_UNLOCK:
			err = dsm_lock_released(c, thread);
			break;
		case DOING_BARRIER:
			err = dsm_barrier_released(c, thread);
			break;
		case DOING_TELL:
			err = dsm_tell_released(c, thread);
			break;
		case DOING_RANGE:
			err = dsm_wake(c, thread, 0);
			break;
		default:
			err = -EPROTO;
		}
	}
	c->flushing = false;
	return err;
}

/* Runs releases until one has to wait, or none is wanted. */
static int run_releases(struct dsm_core *c)
{
	int err = 0;

	while (!err && !c->flushing && c->flush_next.head != NOBODY) {
		err = start_release(c);
		if (!err && !c->unacked)
			err = finish_release(c);
	}
	return err;
}

/* What the thread is doing says how it goes on when its writes are at home. */
int dsm_release(struct dsm_core *c, uint32_t thread)
{
	dsm_enqueue(c, &c->flush_next, thread);
	return run_releases(c);
}

/*
 * To the page and what may be its twin. Who looks for races must not take these bytes for
 * this process's own: where writes go unseen, first shut, then ask, then apply.
 */
static int apply_at_home(struct dsm_core *c, uint32_t page, const uint8_t *diff, size_t len)
{
	struct dsm_page *p = &c->pages[page];
	int err = 0;

	if (c->races && c->c.host.written && !dsm_fault(RACE_NOT_SHUT)) {
		err = dsm_protect(c, page, DSM_NONE);
		if (!err)
			err = dsm_page_collect(c);
	}
	if (!err && c->races)
		err = dsm_races_diff(c, page, diff, len);
	return err ? err : dsm_diff_apply(c->c.diff, c->c.host.page(c->c.host.ctx, page), p->twin,
					  c->c.unit, diff, len);
}

int dsm_on_diff(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r)
{
	struct dsm_buf acks = { 0 };
	int err = 0;

	if (h->arg != (c->races != NULL))
		return -EBADMSG;
	if (c->races)
		err = dsm_races_get(c, h->from, &r);

	while (!err && dsm_left(&r)) {
		uint32_t page = dsm_read_u32(&r), len = dsm_read_u32(&r);
		const uint8_t *diff = dsm_read_bytes(&r, len);
		struct dsm_page *p;

		if (!diff || page >= c->c.pages) {
			err = -EBADMSG;
			break;
		}
		p = &c->pages[page];
		if (p->home != c->c.self) {
			err = -EPROTO;
			break;
		}
		err = apply_at_home(c, page, diff, len);
		p->version++;
		dsm_page_publish(c, page);
		p->flags |= PAGE_SHARED;
		if (!err && (!(p->flags & PAGE_DIRTY) || p->prot == DSM_NONE))
			err = dsm_protect(c, page, DSM_READ);
		dsm_buf_u32(&acks, page);
		dsm_buf_u64(&acks, p->version);
	}
	if (!err)
		err = dsm_post(c, h->from, &(struct dsm_message_head){ .kind = DSM_ACK }, &acks);
	dsm_buf_free(&acks);
	return err;
}

int dsm_on_ack(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r)
{
	int err = 0;

	if (dsm_fault(NO_ACKS))
		return 0;
	if (!c->unacked)
		return -EPROTO;
	while (!err && dsm_left(&r)) {
		uint32_t page = dsm_read_u32(&r);
		uint64_t version = dsm_read_u64(&r);
		struct dsm_page *p;

		if (r.bad || page >= c->c.pages)
			return -EBADMSG;
		p = &c->pages[page];
		if (p->home != h->from)
			return -EPROTO;
		/* Else others wrote too, and their notices must find our copy old. */
		p->flags &= (uint8_t)~PAGE_SENT;
		if (version == p->version + 1 || dsm_fault(ALWAYS_COMPLETE))
			p->version = version;
		dsm_page_offer(c, page);
		err = add_notice(c, page, version);
	}
	if (err || --c->unacked)
		return err;
	err = finish_release(c);
	return err ? err : run_releases(c);
}
