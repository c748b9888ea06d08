// SPDX-License-Identifier: LGPL-2.1-or-later
/* Questions about the job and its memory; ranges of it, fetched, released, acquired. */
#include <errno.h>
#include <stdlib.h>

#include "run.h"

bool sonde_dsm_is_shared(const void *p)
{
	return dsm_run() && dsm_shares(dsm_run(), p);
}

static bool pages_of(const struct dsm_run *run, const void *p, size_t size, uint32_t *first,
		     uint32_t *end)
{
	size_t offset;

	if (!run || !size || !dsm_shares(run, p))
		return false;
	offset = (uintptr_t)p - (uintptr_t)run->fault->view;
	*first = (uint32_t)(offset / run->unit);
	*end = size > (size_t)run->pages * run->unit - offset ? run->pages :
	       (uint32_t)((offset + size - 1) / run->unit + 1);
	return true;
}

/* An access of this thread: it is the back end's to see it, or not. */
void sonde_dsm_touch(void *p, size_t size, bool write)
{
	struct dsm_run *run = dsm_run();
	uint32_t page, end;

	if (!pages_of(run, p, size, &page, &end))
		return;
	for (; page < end; page++) {
		uint8_t *at = run->fault->view + (size_t)page * run->unit;

		if (at < (uint8_t *)p)
			at = p;
		/* Others may write this byte meanwhile; it keeps what they write. */
		if (write)
			__atomic_fetch_or(at, 0, __ATOMIC_RELAXED);
		else
			(void)*(volatile uint8_t *)at;
	}
}

void sonde_dsm_prefetch(const void *p, size_t size)
{
	struct dsm_run *run = dsm_run();
	struct dsm_request *r;
	uint32_t page, end;

	if (!pages_of(run, p, size, &page, &end))
		return;
	r = calloc(1, sizeof(*r));
	/* A wish that cannot be had. */
	if (!r)
		return;
	r->is_nobodys = true;
	r->event = (struct dsm_event){ .kind = DSM_EV_PREFETCH, .id = page, .arg = end };
	dsm_submit(run, r);
}

static int do_range(enum dsm_event_kind kind, const void *p, size_t size)
{
	struct dsm_run *run = dsm_run();
	uint32_t page, end;

	if (!run || !dsm_shares(run, p) ||
	    size > (size_t)run->pages * run->unit - ((uintptr_t)p - (uintptr_t)run->fault->view))
		return EINVAL;
	if (!pages_of(run, p, size, &page, &end))
		return 0;
	return -dsm_do(run, kind, page, end, NULL);
}

int sonde_dsm_acquire(const void *p, size_t size)
{
	return do_range(DSM_EV_ACQUIRE, p, size);
}

int sonde_dsm_release(const void *p, size_t size)
{
	return do_range(DSM_EV_RELEASE, p, size);
}

unsigned int sonde_dsm_process(void)
{
	return dsm_run() ? dsm_run()->self : 0;
}

unsigned int sonde_dsm_processes(void)
{
	return dsm_run() ? dsm_run()->processes : 0;
}

size_t sonde_dsm_unit(void)
{
	return dsm_run() ? dsm_run()->unit : 0;
}

const char *sonde_dsm_fault(void)
{
	return dsm_run() ? dsm_run()->fault->ops->name : NULL;
}
