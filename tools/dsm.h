/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes of libsonde-dsm that run on this machine, by what they show of themselves. */
#ifndef SONDE_TOOLS_DSM_H
#define SONDE_TOOLS_DSM_H

#include "../dsm/api/live.h"
#include "cli.h"

extern const struct cli_command dsm_top;

/**
 * struct dsm_seen - processes at one time, by job and number
 * @now_ns: CLOCK_MONOTONIC
 * @v: what each shows; of @n
 * @hidden: processes whose files may not be looked at: another user's
 */
struct dsm_seen {
	uint64_t now_ns;
	struct dsm_live *v;
	size_t n, hidden;
};

/* 0 or -errno; then dsm_seen_free(). */
int dsm_seen_find(struct dsm_seen *seen);
void dsm_seen_free(struct dsm_seen *seen);

#endif
