/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Signals of threads that touch memory of ours; all others get to whom they would have
 * got without us.
 */
#ifndef SONDE_DSM_FAULT_TRAP_H
#define SONDE_DSM_FAULT_TRAP_H

#include "fault.h"

/*
 * From here on @sig for an address in the view calls @fault with the offset, in the thread
 * that touched it; the access is tried again when that returns true, else the signal goes
 * on to others.
 * -ENOTSUP with a line in @why.
 */
int dsm_trap_set(int sig, struct dsm_fault *memory,
		 bool (*fault)(struct dsm_fault *memory, size_t at, bool write),
		 char *why, size_t len);
void dsm_trap_unset(int sig, struct dsm_fault *memory);

#endif
