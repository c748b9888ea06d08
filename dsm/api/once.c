// SPDX-License-Identifier: LGPL-2.1-or-later
/* Once in the whole job. Who comes meanwhile waits for the lock, so for the routine's end. */
#include <errno.h>

#include "waiting.h"

int sonde_dsm_once(sonde_dsm_once_t *once, void (*routine)(void))
{
	struct dsm_waiting w;
	bool is_private = dsm_run() && !dsm_shares(dsm_run(), once);
	int err;

	/* A static variable remembers it in its process: partner below. */
	if (is_private && __atomic_load_n(&once->seen, __ATOMIC_ACQUIRE))
		return 0;
	err = dsm_waiting_enter(&w, once);
	if (err)
		return err;
	if (!w.state[0])
		routine();
	w.state[0] = 1;
	err = dsm_waiting_leave(&w);
	if (is_private)
		__atomic_store_n(&once->seen, 1, __ATOMIC_RELEASE);
	return err;
}
