// SPDX-License-Identifier: LGPL-2.1-or-later
/* Counters where others may look at them: see live.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run.h"

static void describe(const struct dsm_run *run, struct dsm_live *live)
{
	*live = (struct dsm_live){
		.job = run->transport->job, .pid = (uint32_t)getpid(), .process = run->self,
		.processes = run->processes, .pages = run->pages, .unit = run->unit,
		.started_ns = dsm_now(),
	};
	snprintf(live->program, sizeof(live->program), "%s", program_invocation_short_name);
	snprintf(live->fault, sizeof(live->fault), "%s", run->fault->ops->name);
	/* Last: who looks now sees nothing or all of it. */
	atomic_thread_fence(memory_order_release);
	*(volatile uint64_t *)&live->magic = DSM_LIVE_MAGIC;
}

/* A job runs as well without: it is not seen then. */
void dsm_live_create(struct dsm_run *run)
{
	void *p;

	run->live_fd = memfd_create(DSM_LIVE_NAME, MFD_CLOEXEC);
	if (run->live_fd < 0)
		return;
	p = ftruncate(run->live_fd, sizeof(*run->live)) ? MAP_FAILED :
	    mmap(NULL, sizeof(*run->live), PROT_READ | PROT_WRITE, MAP_SHARED, run->live_fd, 0);
	if (p == MAP_FAILED) {
		close(run->live_fd);
		return;
	}
	run->live = p;
	describe(run, run->live);
}

/* By the progress thread. Readers look at the turn before and after. */
void dsm_live_publish(struct dsm_run *run)
{
	struct dsm_live *live = run->live;
	uint32_t turn;

	if (!live)
		return;
	turn = atomic_load_explicit(&live->turn, memory_order_relaxed);
	atomic_store_explicit(&live->turn, turn + 1, memory_order_relaxed);
	/* Partner: the reader's fence between what it reads and the turn. */
	atomic_thread_fence(memory_order_release);
	dsm_stats_now(run, &live->stats);
	atomic_store_explicit(&live->turn, turn + 2, memory_order_release);
}

void dsm_live_destroy(struct dsm_run *run)
{
	if (!run->live)
		return;
	munmap(run->live, sizeof(*run->live));
	close(run->live_fd);
}
