/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the library itself keeps in shared memory, at its begin. */
#ifndef SONDE_DSM_SHARED_H
#define SONDE_DSM_SHARED_H

#include "run.h"

#define DSM_SLOTS	2048u	/* static objects that have a state */

struct dsm_slot {
	uint64_t id, state[4];
};

struct dsm_shared_key {
	uint64_t is_used, turn, destructor;
};

struct dsm_shared {
	uint64_t from_first;
	struct dsm_shared_key keys[SONDE_DSM_KEYS_MAX];
	struct dsm_slot slots[DSM_SLOTS];
};

/* Of all that stands above. */
void dsm_table_lock(struct dsm_run *run);
void dsm_table_unlock(struct dsm_run *run);

#endif
