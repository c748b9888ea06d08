/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a process of a running job shows to whoever may look at it, `sonde dsm top`: its
 * counters, in a memfd that is found among the files of /proc/PID/fd by its name. Nothing
 * of it stays behind, however the process ends, and who may look is the kernel's to say.
 * The process writes without locks; an odd turn is one that is being written.
 */
#ifndef SONDE_DSM_LIVE_H
#define SONDE_DSM_LIVE_H

#include <stdatomic.h>

#include "../core/core.h"

#define DSM_LIVE_NAME	"sonde-dsm-live"
#define DSM_LIVE_MAGIC	UINT64_C(0x31766c646e6f7307)	/* changes with what stands below */

struct dsm_stats {
	struct dsm_counters core;
	uint64_t lock_waits, lock_wait_ns;
	uint64_t unseen;	/* pages found written that had no fault, module only */
};

/* Of all kinds, sent. */
static inline uint64_t dsm_stats_messages(const struct dsm_stats *s)
{
	uint64_t n = 0;

	for (int i = 0; i < DSM_MESSAGES; i++)
		n += s->core.messages[i];
	return n;
}

static inline uint64_t dsm_stats_bytes(const struct dsm_stats *s)
{
	uint64_t n = 0;

	for (int i = 0; i < DSM_MESSAGES; i++)
		n += s->core.bytes[i];
	return n;
}

struct dsm_live {
	uint64_t magic, job;
	uint32_t pid, process, processes, pages, unit;
	_Atomic uint32_t turn;
	uint64_t started_ns;	/* CLOCK_MONOTONIC */
	char program[64], fault[16];
	struct dsm_stats stats;
};

#endif
