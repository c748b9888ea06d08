// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>

#include "waiting.h"

int dsm_waiting_enter(struct dsm_waiting *w, struct sonde_dsm_object *o)
{
	struct dsm_run *run = dsm_run();
	uint64_t id = run ? dsm_id_of(run, o) : 0;

	if (!id)
		return EINVAL;
	*w = (struct dsm_waiting){ .run = run, .lock = dsm_inner_lock(id), .cond = id };
	w->state = dsm_state_of(run, o, id);
	return w->state ? dsm_lock_id(run, w->lock, NULL) : ENOMEM;
}

int dsm_waiting_leave(const struct dsm_waiting *w)
{
	return dsm_unlock_id(w->run, w->lock);
}

int dsm_waiting_init(struct sonde_dsm_object *o, uint64_t first)
{
	struct dsm_waiting w;
	int err = dsm_waiting_enter(&w, o);

	if (err)
		return err;
	w.state[0] = first;
	w.state[1] = w.state[2] = w.state[3] = 0;
	return dsm_waiting_leave(&w);
}
