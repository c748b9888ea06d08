// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A bell in memory that processes may share. A sleeper may not be missed: it says that
 * it sleeps, then looks once more whether there is anything; who brings something does
 * that, then looks whether somebody sleeps. Both have a full fence between the two.
 */
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "transport.h"

void dsm_bell_ring(struct dsm_bell *bell)
{
	atomic_fetch_add_explicit(&bell->rung, 1, memory_order_seq_cst);
	/* Partner: dsm_bell_wait(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&bell->asleep, memory_order_relaxed))
		syscall(SYS_futex, &bell->rung, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void dsm_bell_wait(struct dsm_bell *bell, uint32_t rung, int64_t ns)
{
	const struct timespec most = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	atomic_store_explicit(&bell->asleep, 1, memory_order_relaxed);
	/* Partner: dsm_bell_ring(). The kernel looks once more. */
	atomic_thread_fence(memory_order_seq_cst);
	syscall(SYS_futex, &bell->rung, FUTEX_WAIT, rung, &most, NULL, 0);
	atomic_store_explicit(&bell->asleep, 0, memory_order_relaxed);
}
