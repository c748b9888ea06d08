// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lists of a segment: events, written pages, free twins. All under one
 * spinlock, a leaf, and none of them can be full: what is on a list is marked,
 * so it is there once.
 */
#include <linux/bitops.h>
#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "sonde.h"
#include "dsm.h"

/* Events that are handed out at a time. */
#define EVENTS_CHUNK	32

/**
 * sonde_dsm_queue_init() - make room
 * @queue: of a segment
 * @size: most entries
 *
 * Return: 0 or -ENOMEM; the entries are to be freed by kvfree().
 */
int sonde_dsm_queue_init(struct sonde_dsm_queue *queue, u32 size)
{
	queue->entries = kvmalloc_array(size, sizeof(*queue->entries),
				       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	queue->size = size;
	return queue->entries ? 0 : -ENOMEM;
}

/**
 * sonde_dsm_push() - add as the newest
 * @queue: under the lock that it is under
 * @entry: that is not in it
 */
void sonde_dsm_push(struct sonde_dsm_queue *queue, u32 entry)
{
	u32 at = queue->first + queue->count++;

	queue->entries[at < queue->size ? at : at - queue->size] = entry;
}

/**
 * sonde_dsm_pop() - take the oldest
 * @queue: as above, not empty
 *
 * Return: it.
 */
u32 sonde_dsm_pop(struct sonde_dsm_queue *queue)
{
	u32 entry = queue->entries[queue->first];

	if (++queue->first == queue->size)
		queue->first = 0;
	queue->count--;
	return entry;
}

/* ---- events ------------------------------------------------------------- */

/* Under the lock. */
static void queue_event(struct sonde_dsm *dsm, u32 event)
{
	if (!__test_and_set_bit(event, dsm->is_queued))
		sonde_dsm_push(&dsm->events, event);
}

/**
 * sonde_dsm_post() - tell of an access that waits
 * @dsm: the segment
 * @page: to what
 * @is_write: what kind
 *
 * One that is on the list already is not put there twice. In the ring it may be.
 */
void sonde_dsm_post(struct sonde_dsm *dsm, u32 page, bool is_write)
{
	bool is_in_ring;

	spin_lock(&dsm->lock);
	dsm->misses++;
	is_in_ring = sonde_dsm_ring_put(dsm, page, is_write);
	if (!is_in_ring)
		queue_event(dsm, page * 2 + is_write);
	sonde_dsm_ring_listed(dsm);
	spin_unlock(&dsm->lock);
	if (!is_in_ring)
		wake_up_interruptible_poll(&dsm->readers, EPOLLIN | EPOLLRDNORM);
	sonde_dsm_ring_wake(dsm);
}

/* Under the lock. False: the access has been answered already. */
static bool take_event(struct sonde_dsm *dsm, struct sonde_dsm_event *event)
{
	const u32 number = sonde_dsm_pop(&dsm->events);
	const bool is_write = number & 1;

	/* Before the page is looked at: who waits anew can tell so anew. */
	__clear_bit(number, dsm->is_queued);
	event->page = number / 2;
	event->flags = is_write ? SONDE_DSM_EVENT_WRITE : 0;
	return READ_ONCE(dsm->pages[event->page].flags) &
	       (is_write ? DSM_WAIT_WRITE : DSM_WAIT_READ);
}

static u32 take_events(struct sonde_dsm *dsm, struct sonde_dsm_event *events,
		       u32 room)
{
	u32 n = 0;

	spin_lock(&dsm->lock);
	while (n < room && dsm->events.count)
		n += take_event(dsm, &events[n]);
	sonde_dsm_ring_listed(dsm);
	spin_unlock(&dsm->lock);
	return n;
}

/* What could not be handed out stays. */
static void return_events(struct sonde_dsm *dsm,
			  const struct sonde_dsm_event *events, u32 n)
{
	u32 i;

	spin_lock(&dsm->lock);
	for (i = 0; i < n; i++)
		queue_event(dsm, events[i].page * 2 + events[i].flags);
	sonde_dsm_ring_listed(dsm);
	spin_unlock(&dsm->lock);
	wake_up_interruptible_poll(&dsm->readers, EPOLLIN | EPOLLRDNORM);
	sonde_dsm_ring_wake(dsm);
}

/* Bytes, 0 if there is none now, or -EFAULT. */
static ssize_t hand_out(struct sonde_dsm *dsm, char __user *buf, size_t room)
{
	struct sonde_dsm_event events[EVENTS_CHUNK];
	u32 n = take_events(dsm, events, min_t(size_t, room, EVENTS_CHUNK));

	if (!n)
		return 0;
	if (copy_to_user(buf, events, n * sizeof(events[0]))) {
		return_events(dsm, events, n);
		return -EFAULT;
	}
	return n * sizeof(events[0]);
}

/**
 * sonde_dsm_read() - read() of a segment: events
 * @file: the descriptor's
 * @buf: where they go
 * @len: bytes there, as many whole events as fit are taken
 * @pos: not used
 *
 * Return: bytes, or -EINVAL (no room for one), -EAGAIN, -EFAULT, -ERESTARTSYS.
 */
ssize_t sonde_dsm_read(struct file *file, char __user *buf, size_t len,
		       loff_t *pos)
{
	struct sonde_dsm *dsm = file->private_data;
	const size_t size = sizeof(struct sonde_dsm_event);
	size_t done = 0;
	ssize_t got;

	if (len < size)
		return -EINVAL;
	for (;;) {
		got = hand_out(dsm, buf + done, (len - done) / size);
		if (got > 0)
			done += got;
		if (done && (got <= 0 || len - done < size))
			return done;
		if (got < 0)
			return got;
		if (got > 0)
			continue;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(dsm->readers,
					     READ_ONCE(dsm->events.count)))
			return -ERESTARTSYS;
	}
}

/**
 * sonde_dsm_poll() - poll() of a segment: whether there are events
 * @file: the descriptor's
 * @wait: who polls
 *
 * Return: EPOLLIN and EPOLLRDNORM, or nothing.
 */
__poll_t sonde_dsm_poll(struct file *file, struct poll_table_struct *wait)
{
	struct sonde_dsm *dsm = file->private_data;

	poll_wait(file, &dsm->readers, wait);
	return READ_ONCE(dsm->events.count) ? EPOLLIN | EPOLLRDNORM : 0;
}

/* ---- written pages ------------------------------------------------------ */

/**
 * sonde_dsm_note() - a page was written
 * @dsm: the segment
 * @page: whose lock is held
 */
void sonde_dsm_note(struct sonde_dsm *dsm, u32 page)
{
	struct sonde_dsm_page *p = &dsm->pages[page];
	const u32 was = p->flags;

	WRITE_ONCE(p->flags, was | DSM_WRITTEN | DSM_LISTED);
	spin_lock(&dsm->lock);
	if (!(was & DSM_LISTED))
		sonde_dsm_push(&dsm->written, page);
	dsm->writes++;
	spin_unlock(&dsm->lock);
}

/**
 * sonde_dsm_take_written() - take one from the list
 * @dsm: the segment
 * @page: out: which; it is DSM_LISTED still
 *
 * Return: whether there was one.
 */
bool sonde_dsm_take_written(struct sonde_dsm *dsm, u32 *page)
{
	bool is_there;

	spin_lock(&dsm->lock);
	is_there = dsm->written.count;
	if (is_there)
		*page = sonde_dsm_pop(&dsm->written);
	spin_unlock(&dsm->lock);
	return is_there;
}

/* ---- twins -------------------------------------------------------------- */

/**
 * sonde_dsm_twin_get() - take a free twin
 * @dsm: the segment
 *
 * The one that was given back last, as its memory is most likely in a cache.
 *
 * Return: its number or SONDE_DSM_NO_TWIN.
 */
u32 sonde_dsm_twin_get(struct sonde_dsm *dsm)
{
	u32 twin = SONDE_DSM_NO_TWIN;

	spin_lock(&dsm->lock);
	if (dsm->nfree)
		twin = dsm->free[--dsm->nfree];
	spin_unlock(&dsm->lock);
	return twin;
}

/**
 * sonde_dsm_twin_drop() - the twin of a page, if it has one, is free again
 * @dsm: the segment
 * @page: whose lock is held
 */
void sonde_dsm_twin_drop(struct sonde_dsm *dsm, u32 page)
{
	struct sonde_dsm_page *p = &dsm->pages[page];

	WRITE_ONCE(p->flags, p->flags & ~DSM_TOLD);
	if (p->twin == SONDE_DSM_NO_TWIN)
		return;
	spin_lock(&dsm->lock);
	dsm->free[dsm->nfree++] = p->twin;
	spin_unlock(&dsm->lock);
	p->twin = SONDE_DSM_NO_TWIN;
}

/**
 * sonde_dsm_wake_starved() - twins have become free: wake those that lack one
 * @dsm: the segment
 */
void sonde_dsm_wake_starved(struct sonde_dsm *dsm)
{
	unsigned int i;

	/* Who waits counts itself before it looks whether a twin is free. */
	smp_mb();
	if (!atomic_read(&dsm->writers))
		return;
	for (i = 0; i < DSM_LOCKS; i++)
		wake_up_all(&dsm->waits[i]);
}
