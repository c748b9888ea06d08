/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Objects that are made of a lock, a condition and a few shared numbers: semaphores,
 * reader-writer locks, barriers of some threads.
 */
#ifndef SONDE_DSM_WAITING_H
#define SONDE_DSM_WAITING_H

#include "run.h"

struct dsm_waiting {
	struct dsm_run *run;
	uint64_t lock, cond;
	uint64_t *state;
};

/* Takes its lock. An error number. */
int dsm_waiting_enter(struct dsm_waiting *w, struct sonde_dsm_object *o);
int dsm_waiting_leave(const struct dsm_waiting *w);
/* Gives all numbers a value, without anybody's leave. */
int dsm_waiting_init(struct sonde_dsm_object *o, uint64_t first);

#endif
