// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Barriers: of any threads, from a lock and a condition (state[0]: how many; [1]: how many
 * are in; [2]: turns), and of all processes, which the protocol has.
 */
#include <errno.h>

#include "shared.h"
#include "waiting.h"

#define BARRIER_ALL	1u

enum { COUNT, INSIDE, TURN };

int sonde_dsm_barrier_init(sonde_dsm_barrier_t *barrier, const void *attr, unsigned int count)
{
	return attr || !count ? EINVAL : dsm_waiting_init(barrier, count);
}

int sonde_dsm_barrier_destroy(sonde_dsm_barrier_t *barrier)
{
	struct dsm_waiting w;
	int err = dsm_waiting_enter(&w, barrier), busy;

	if (err)
		return err;
	busy = w.state[INSIDE] ? EBUSY : 0;
	err = dsm_waiting_leave(&w);
	return busy ? busy : err;
}

int sonde_dsm_barrier_wait(sonde_dsm_barrier_t *barrier)
{
	struct dsm_waiting w;
	int err = dsm_waiting_enter(&w, barrier);
	uint64_t turn;
	bool last;

	if (err)
		return err;
	if (!w.state[COUNT]) {
		dsm_waiting_leave(&w);
		return EINVAL;
	}
	turn = w.state[TURN];
	last = ++w.state[INSIDE] == w.state[COUNT];
	if (last) {
		w.state[INSIDE] = 0;
		w.state[TURN]++;
		err = dsm_signal_id(w.run, w.cond, true);
	}
	while (!err && w.state[TURN] == turn)
		err = dsm_wait_id(w.run, w.cond, w.lock, NULL);
	dsm_waiting_leave(&w);
	return err ? err : last ? SONDE_DSM_BARRIER_SERIAL_THREAD : 0;
}

int sonde_dsm_barrier_all(unsigned int threads)
{
	struct dsm_run *run = dsm_run();

	if (!run || !threads || threads > DSM_TICKETS / 2)
		return EINVAL;
	return -dsm_do(run, DSM_EV_BARRIER, BARRIER_ALL, threads, NULL);
}

void *sonde_dsm_from_first(void *p)
{
	struct dsm_run *run = dsm_run();

	if (!run)
		return NULL;
	if (!run->self)
		run->shared->from_first = (uintptr_t)p;
	sonde_dsm_barrier_all(1);
	p = (void *)(uintptr_t)run->shared->from_first;
	/* Before the first process hands out the next. */
	sonde_dsm_barrier_all(1);
	return p;
}
