// SPDX-License-Identifier: LGPL-2.1-or-later
/* Mutexes. A thread has a list of those it holds: that is all that owners are for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

static struct dsm_held *find_held(const struct dsm_local *me, uint64_t id)
{
	/* What was taken last is mostly given up first. */
	for (uint32_t i = me->nheld; i--;)
		if (me->held[i].id == id)
			return &me->held[i];
	return NULL;
}

/* Before the lock is taken, so that this cannot fail when it is. */
static int make_room(struct dsm_local *me)
{
	uint32_t room = me->held_room ? me->held_room * 2 : DSM_HELD;
	void *v;

	if (me->nheld < me->held_room)
		return 0;
	v = realloc(me->held, room * sizeof(*me->held));
	if (!v)
		return ENOMEM;
	me->held = v;
	me->held_room = room;
	return 0;
}

bool dsm_holds(const struct dsm_local *me, uint64_t id)
{
	return find_held(me, id);
}

/* 0: go on; else it is the answer, and -1 stands for 0. */
static int take_again(struct dsm_local *me, const sonde_dsm_mutex_t *m, uint64_t id, bool try)
{
	struct dsm_held *held = find_held(me, id);

	if (!held)
		return make_room(me);
	if (m->kind == SONDE_DSM_MUTEX_RECURSIVE) {
		if (held->count == UINT32_MAX)
			return EAGAIN;
		held->count++;
		return -1;
	}
	if (try)
		return EBUSY;
	return m->kind == SONDE_DSM_MUTEX_ERRORCHECK ? EDEADLK : 0;
}

static int take(sonde_dsm_mutex_t *m, bool try, const struct timespec *deadline)
{
	struct dsm_local *me = dsm_me();
	uint64_t id = me ? dsm_id_of(me->run, m) : 0;
	int err;

	if (!id)
		return EINVAL;
	err = take_again(me, m, id, try);
	if (err)
		return err < 0 ? 0 : err;
	err = try ? -dsm_do(me->run, DSM_EV_TRYLOCK, id, 0, NULL) :
		    dsm_lock_id(me->run, id, deadline);
	if (!err)
		me->held[me->nheld++] = (struct dsm_held){ .id = id, .count = 1 };
	return err;
}

int sonde_dsm_mutex_lock(sonde_dsm_mutex_t *mutex)
{
	return take(mutex, false, NULL);
}

int sonde_dsm_mutex_trylock(sonde_dsm_mutex_t *mutex)
{
	return take(mutex, true, NULL);
}

int sonde_dsm_mutex_timedlock(sonde_dsm_mutex_t *mutex, const struct timespec *deadline)
{
	struct timespec until;
	int err = dsm_deadline(&until, CLOCK_REALTIME, deadline);

	return err ? err : take(mutex, false, &until);
}

int sonde_dsm_mutex_unlock(sonde_dsm_mutex_t *mutex)
{
	struct dsm_local *me = dsm_me();
	uint64_t id = me ? dsm_id_of(me->run, mutex) : 0;
	struct dsm_held *held = id ? find_held(me, id) : NULL;

	if (!id)
		return EINVAL;
	if (!held)
		return EPERM;
	if (--held->count)
		return 0;
	*held = me->held[--me->nheld];
	return dsm_unlock_id(me->run, id);
}

int sonde_dsm_mutex_init(sonde_dsm_mutex_t *mutex, const sonde_dsm_mutexattr_t *attr)
{
	if (!dsm_run() || !dsm_id_of(dsm_run(), mutex))
		return EINVAL;
	*mutex = (sonde_dsm_mutex_t){ .kind = attr ? attr->kind : SONDE_DSM_MUTEX_DEFAULT };
	return 0;
}

int sonde_dsm_mutex_destroy(sonde_dsm_mutex_t *mutex)
{
	struct dsm_local *me = dsm_me();
	uint64_t id = me ? dsm_id_of(me->run, mutex) : 0;

	if (!id)
		return EINVAL;
	return find_held(me, id) ? EBUSY : 0;
}

int sonde_dsm_mutexattr_init(sonde_dsm_mutexattr_t *attr)
{
	attr->kind = SONDE_DSM_MUTEX_DEFAULT;
	return 0;
}

int sonde_dsm_mutexattr_destroy(sonde_dsm_mutexattr_t *attr)
{
	(void)attr;
	return 0;
}

int sonde_dsm_mutexattr_settype(sonde_dsm_mutexattr_t *attr, int kind)
{
	if (kind < SONDE_DSM_MUTEX_NORMAL || kind > SONDE_DSM_MUTEX_ERRORCHECK)
		return EINVAL;
	attr->kind = (uint32_t)kind;
	return 0;
}

int sonde_dsm_mutexattr_gettype(const sonde_dsm_mutexattr_t *attr, int *kind)
{
	*kind = (int)attr->kind;
	return 0;
}
