// SPDX-License-Identifier: GPL-2.0-only
/*
 * SONDE_DSM_RING: events in a page that user space has mapped, so that it takes them
 * without a call.
 *
 * User space may write anything to that page at any time. The kernel reads two words of
 * it: how many events were taken, which if it lies counts as a full ring; and whether
 * somebody sleeps, which if it lies costs a wake-up, or lacks one, for who lied. What it
 * has put there itself it remembers itself. What finds no room is on the list of events
 * that read() gives, which cannot be full.
 */
#include <linux/err.h>
#include <linux/eventfd.h>
#include <linux/mm.h>

#include "sonde.h"
#include "dsm.h"

static_assert(sizeof(struct sonde_dsm_events) == 2176);
static_assert(sizeof(struct sonde_dsm_events) <= PAGE_SIZE);

/**
 * sonde_dsm_ring_open() - have events put where user space finds them
 * @dsm: the segment, that nobody else knows yet
 * @frame: number of the frame they go to, the last
 * @fd: eventfd for who sleeps
 *
 * Return: 0, -EBADF or -EINVAL (no eventfd), -ENOMEM.
 */
int sonde_dsm_ring_open(struct sonde_dsm *dsm, unsigned long frame, int fd)
{
	struct eventfd_ctx *wake = eventfd_ctx_fdget(fd);
	struct page *page;

	if (IS_ERR(wake))
		return PTR_ERR(wake);
	dsm->wake = wake;
	page = sonde_dsm_frame(dsm, frame);
	if (!page)
		return -ENOMEM;
	dsm->shared = page_address(page);
	return 0;
}

/**
 * sonde_dsm_ring_close() - let go of the eventfd
 * @dsm: the segment, maybe without one
 */
void sonde_dsm_ring_close(struct sonde_dsm *dsm)
{
	if (dsm->wake)
		eventfd_ctx_put(dsm->wake);
}

/**
 * sonde_dsm_ring_put() - add an event
 * @dsm: the segment, under its lock
 * @page: that it is about
 * @is_write: of which kind
 *
 * Return: false if there is no room, or no ring.
 */
bool sonde_dsm_ring_put(struct sonde_dsm *dsm, u32 page, bool is_write)
{
	struct sonde_dsm_events *shared = dsm->shared;
	struct sonde_dsm_event *event;

	if (!shared)
		return false;
	/* Partner: user space has read an event before it says so. */
	if (dsm->put - smp_load_acquire(&shared->taken) >= SONDE_DSM_EVENTS_ROOM) {
		dsm->overflows++;
		return false;
	}
	event = &shared->events[dsm->put % SONDE_DSM_EVENTS_ROOM];
	WRITE_ONCE(event->page, page);
	WRITE_ONCE(event->flags, is_write ? SONDE_DSM_EVENT_WRITE : 0);
	/* Partner: user space reads this before the event. */
	smp_store_release(&shared->put, ++dsm->put);
	return true;
}

/**
 * sonde_dsm_ring_listed() - say how many events are to be had by read()
 * @dsm: the segment, maybe without a ring, under its lock
 */
void sonde_dsm_ring_listed(struct sonde_dsm *dsm)
{
	if (dsm->shared)
		WRITE_ONCE(dsm->shared->listed, dsm->events.count);
}

/**
 * sonde_dsm_ring_wake() - after an event: wake who sleeps, once
 * @dsm: the segment, maybe without a ring
 */
void sonde_dsm_ring_wake(struct sonde_dsm *dsm)
{
	if (!dsm->shared)
		return;
	/* Partner: who sleeps says so before it looks for events once more. */
	smp_mb();
	if (READ_ONCE(dsm->shared->sleeps) && xchg(&dsm->shared->sleeps, 0))
		sonde_eventfd_signal(dsm->wake);
}

/**
 * sonde_dsm_ring_count() - events that user space has not taken
 * @dsm: the segment, under its lock
 *
 * Return: how many, as user space says.
 */
u32 sonde_dsm_ring_count(const struct sonde_dsm *dsm)
{
	if (!dsm->shared)
		return 0;
	return min_t(u32, dsm->put - READ_ONCE(dsm->shared->taken),
		     SONDE_DSM_EVENTS_ROOM);
}
