// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Faults, and pages that come from their homes. A copy may be read if its version
 * is as new as every notice that this process knows; a page that is written here
 * and invalid keeps its twin, and its changes are put onto the copy that comes.
 */
#include <errno.h>
#include <string.h>

#include "state.h"

static bool is_home(const struct dsm_core *c, uint32_t page)
{
	return c->pages[page].home == c->c.self;
}

int dsm_protect(struct dsm_core *c, uint32_t page, enum dsm_prot prot)
{
	if (c->pages[page].prot == prot)
		return 0;
	c->pages[page].prot = (uint8_t)prot;
	return c->c.host.protect(c->c.host.ctx, &page, 1, prot);
}

/*
 * The host may fill the page from its home's process: without our own changes, which
 * must be neither here nor on their way, and if no copy is. It cannot say that it got
 * version 0.
 */
void dsm_page_offer(struct dsm_core *c, uint32_t page)
{
	struct dsm_page *p = &c->pages[page];
	const unsigned int not = PAGE_DIRTY | PAGE_FETCHING | PAGE_SENT | PAGE_OFFERED;

	if (!c->peers || !c->peers[p->home] || p->prot != DSM_NONE || p->twin || !p->need ||
	    p->flags & not)
		return;
	p->flags |= PAGE_OFFERED;
	c->c.host.offer(c->c.host.ctx, page, p->home, p->need);
}

/* Before anything is done with a page that was offered: whether it is void still. */
void dsm_page_settle(struct dsm_core *c, uint32_t page)
{
	struct dsm_page *p = &c->pages[page];
	uint64_t version;

	if (!(p->flags & PAGE_OFFERED))
		return;
	p->flags &= (uint8_t)~PAGE_OFFERED;
	if (!c->c.host.withdraw(c->c.host.ctx, page, &version))
		return;
	p->prot = DSM_READ;
	p->version = version;
	dsm_count(c, page, copies, 1);
}

/* At home, when the page's version has changed: all that belongs to it is in the page. */
void dsm_page_publish(struct dsm_core *c, uint32_t page)
{
	if (c->c.host.publish)
		c->c.host.publish(c->c.host.ctx, page, c->pages[page].version);
}

static int ask(struct dsm_core *c, uint32_t page)
{
	struct dsm_page *p = &c->pages[page];
	struct dsm_buf b = { 0 };
	int err;

	if (is_home(c, page))
		return -EPROTO;
	p->flags |= PAGE_FETCHING;
	p->flags &= (uint8_t)~PAGE_REFETCH;
	dsm_count(c, page, fetches, 1);
	err = dsm_reads_put(c, page, &b);
	if (!err)
		err = dsm_post(c, p->home, &(struct dsm_message_head){
			       .kind = DSM_FETCH, .id = page, .arg = p->need }, &b);
	dsm_buf_free(&b);
	return err;
}

/* At home there is no twin: the page is what is sent. Who looks for races wants one. */
static int mark_dirty(struct dsm_core *c, uint32_t page)
{
	struct dsm_page *p = &c->pages[page];

	if (p->flags & PAGE_DIRTY)
		return 0;
	p->flags |= PAGE_DIRTY;
	c->dirty[c->ndirty++] = page;
	if (is_home(c, page) && !c->races)
		return 0;
	p->twin = c->c.host.twin(c->c.host.ctx, page);
	if (!p->twin)
		return -ENOMEM;
	dsm_count(c, page, twins, 1);
	return 0;
}

/* The page may be read. With a host that notices writes that is all there is to do. */
static int make_writable(struct dsm_core *c, uint32_t page)
{
	int err;

	if (c->c.host.written)
		return dsm_protect(c, page, DSM_READ);
	err = mark_dirty(c, page);
	return err ? err : dsm_protect(c, page, DSM_WRITE);
}

/*
 * What was written unseen. Called when pages were shut, or are about to be compared:
 * first shut, then ask, then look, so that no write is late.
 */
int dsm_page_collect(struct dsm_core *c)
{
	ssize_t n;
	int err = 0;

	if (!c->c.host.written)
		return 0;
	n = c->c.host.written(c->c.host.ctx, c->order, c->c.pages);
	if (n < 0)
		return (int)n;
	for (ssize_t i = 0; !err && i < n; i++) {
		dsm_page_settle(c, c->order[i]);
		/* Alone since, at home: then it need not be seen. */
		if (c->pages[c->order[i]].prot == DSM_WRITE &&
		    (!c->c.host.offer || dsm_fault(UNSEEN_COPY)))
			c->c.host.untwin(c->c.host.ctx, c->order[i]);
		else
			err = mark_dirty(c, c->order[i]);
	}
	return err;
}

int dsm_page_fault(struct dsm_core *c, uint32_t thread, uint32_t page, bool write)
{
	struct dsm_page *p = &c->pages[page];
	int err;

	if (write)
		dsm_count(c, page, write_faults, 1);
	else
		dsm_count(c, page, read_faults, 1);
	dsm_page_settle(c, page);
	if (p->prot == DSM_NONE) {
		c->threads[thread].doing = write ? DOING_WRITE : DOING_READ;
		dsm_enqueue(c, &p->waiters, thread);
		return p->flags & PAGE_FETCHING ? 0 : ask(c, page);
	}
	/* Another thread may have been here first. */
	err = write && p->prot == DSM_READ ? make_writable(c, page) : 0;
	return err ? err : dsm_wake(c, thread, 0);
}

int dsm_page_notice(struct dsm_core *c, const struct dsm_notice *notice)
{
	struct dsm_page *p;

	if (notice->page >= c->c.pages)
		return -EBADMSG;
	p = &c->pages[notice->page];
	/* Notices follow acknowledgements, so the home is never behind one. */
	if (is_home(c, notice->page))
		return notice->version > p->version ? -EPROTO : 0;
	if (p->need < notice->version)
		p->need = notice->version;
	if (p->flags & PAGE_OFFERED && !dsm_fault(UNSETTLED)) {
		dsm_page_settle(c, notice->page);
		dsm_page_offer(c, notice->page);
	}
	if (p->prot == DSM_NONE || p->version >= p->need || dsm_fault(SKIP_INVALIDATION))
		return 0;
	p->prot = DSM_NONE;
	c->stale[c->nstale++] = notice->page;
	dsm_count(c, notice->page, invalidations, 1);
	return 0;
}

int dsm_page_invalidate(struct dsm_core *c)
{
	size_t n = c->nstale;
	int err;

	c->nstale = 0;
	if (!n)
		return 0;
	err = c->c.host.protect(c->c.host.ctx, c->stale, n, DSM_NONE);
	if (!err && !dsm_fault(UNSEEN_VOID))
		err = dsm_page_collect(c);
	for (size_t i = 0; !err && i < n; i++)
		dsm_page_offer(c, c->stale[i]);
	return err;
}

int dsm_on_fetch(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r)
{
	struct dsm_buf b = { 0 };
	struct dsm_page *p;
	int err;

	if (h->id >= c->c.pages)
		return -EBADMSG;
	p = &c->pages[h->id];
	if (!is_home(c, (uint32_t)h->id) || h->arg > p->version)
		return -EPROTO;
	err = dsm_reads_get(c, (uint32_t)h->id, h->from, &r);
	if (!err)
		err = dsm_read_end(&r);
	if (err)
		return err;
	/* No longer alone: the next write here must be seen. */
	p->flags |= PAGE_SHARED;
	if (!(p->flags & PAGE_DIRTY) && !dsm_fault(STAY_EXCLUSIVE))
		err = dsm_protect(c, (uint32_t)h->id, DSM_READ);
	dsm_buf_bytes(&b, c->c.host.page(c->c.host.ctx, (uint32_t)h->id), c->c.unit);
	if (!err)
		err = dsm_post(c, h->from, &(struct dsm_message_head){
			       .kind = DSM_PAGE, .id = h->id, .arg = p->version }, &b);
	dsm_buf_free(&b);
	return err;
}

/* Our own changes stay, as long as they are not at home yet. */
static void install(struct dsm_core *c, uint32_t page, const uint8_t *copy)
{
	struct dsm_page *p = &c->pages[page];
	uint8_t *own = c->c.host.page(c->c.host.ctx, page);

	if (!p->twin || dsm_fault(OVERWRITE_DIRTY)) {
		memcpy(own, copy, c->c.unit);
		return;
	}
	c->counters.merges++;
	if (dsm_fault(STALE_TWIN)) {
		for (uint32_t i = 0; i < c->c.unit; i++)
			if (own[i] == ((uint8_t *)p->twin)[i])
				own[i] = copy[i];
		return;
	}
	dsm_diff_merge(c->c.diff, own, p->twin, copy, c->c.unit, c->masks);
}

int dsm_page_open(struct dsm_core *c, uint32_t page)
{
	struct dsm_page *p = &c->pages[page];
	bool write = false;
	uint32_t thread;
	int err = 0;

	for (thread = p->waiters.head; thread != NOBODY; thread = c->threads[thread].next)
		write |= c->threads[thread].doing == DOING_WRITE;
	/* What is on the list already is writable for all threads at once. */
	if (write || p->flags & PAGE_DIRTY)
		err = make_writable(c, page);
	else
		err = dsm_protect(c, page, DSM_READ);
	while (!err && (thread = dsm_dequeue(c, &p->waiters)) != NOBODY)
		err = dsm_wake(c, thread, 0);
	return err;
}

int dsm_page_take(struct dsm_core *c, uint32_t page, uint32_t from, uint64_t version,
		  const uint8_t *copy)
{
	struct dsm_page *p = &c->pages[page];

	if (!(p->flags & PAGE_FETCHING) || p->home != from)
		return -EPROTO;
	if ((version < p->need && !dsm_fault(STALE_FETCH)) ||
	    (p->flags & PAGE_REFETCH && !dsm_fault(NO_REFETCH))) {
		c->counters.refetches++;
		return ask(c, page);
	}
	p->flags &= (uint8_t)~(PAGE_FETCHING | PAGE_REFETCH);
	if (copy)
		install(c, page, copy);
	else if (version != p->version)
		return -EPROTO;
	p->version = version;
	return 0;
}

int dsm_on_page(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r)
{
	const uint8_t *copy = dsm_read_bytes(&r, c->c.unit);
	uint32_t page = (uint32_t)h->id;
	int err;

	if (dsm_read_end(&r) || h->id >= c->c.pages)
		return -EBADMSG;
	err = dsm_page_take(c, page, h->from, h->arg, copy);
	return err || c->pages[page].flags & PAGE_FETCHING ? err : dsm_page_open(c, page);
}
