// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Keys are alike in all processes: which are used, and what destroys their values, is
 * shared; the values are each thread's own.
 */
#include <errno.h>
#include <string.h>

#include "shared.h"

#define ROUNDS	4	/* of destructors, as PTHREAD_DESTRUCTOR_ITERATIONS */

int sonde_dsm_key_create(sonde_dsm_key_t *key, void (*destructor)(void *))
{
	struct dsm_run *run = dsm_run();
	uint64_t code = destructor ? dsm_code_of((void *)(uintptr_t)destructor) : 0;
	struct dsm_shared_key *keys;
	int err = EAGAIN;

	if (!run || (destructor && !code))
		return EINVAL;
	keys = run->shared->keys;
	dsm_table_lock(run);
	for (uint32_t i = 0; err && i < SONDE_DSM_KEYS_MAX; i++) {
		if (keys[i].is_used)
			continue;
		keys[i].is_used = 1;
		keys[i].turn++;
		keys[i].destructor = code;
		*key = i;
		err = 0;
	}
	dsm_table_unlock(run);
	return err;
}

int sonde_dsm_key_delete(sonde_dsm_key_t key)
{
	struct dsm_run *run = dsm_run();
	int err;

	if (!run || key >= SONDE_DSM_KEYS_MAX)
		return EINVAL;
	dsm_table_lock(run);
	err = run->shared->keys[key].is_used ? 0 : EINVAL;
	run->shared->keys[key].is_used = 0;
	dsm_table_unlock(run);
	return err;
}

/* Values of a key that was deleted are not those of the next of that number. */
int sonde_dsm_setspecific(sonde_dsm_key_t key, const void *value)
{
	struct dsm_local *me = dsm_me();

	if (!me || key >= SONDE_DSM_KEYS_MAX || !me->run->shared->keys[key].is_used)
		return EINVAL;
	me->specific[key] = (void *)(uintptr_t)value;
	me->turns[key] = me->run->shared->keys[key].turn;
	return 0;
}

void *sonde_dsm_getspecific(sonde_dsm_key_t key)
{
	struct dsm_local *me = dsm_me();

	if (!me || key >= SONDE_DSM_KEYS_MAX || !me->specific[key] ||
	    me->turns[key] != me->run->shared->keys[key].turn)
		return NULL;
	return me->specific[key];
}

void dsm_run_destructors(struct dsm_local *me)
{
	bool any = true;

	for (int round = 0; any && round < ROUNDS; round++) {
		any = false;
		for (uint32_t i = 0; i < SONDE_DSM_KEYS_MAX; i++) {
			struct dsm_shared_key *key = &me->run->shared->keys[i];
			void *value = me->specific[i], (*destroy)(void *);

			me->specific[i] = NULL;
			if (!value || !key->is_used || me->turns[i] != key->turn || !key->destructor)
				continue;
			destroy = (void (*)(void *))(uintptr_t)dsm_code_at(key->destructor);
			if (destroy)
				destroy(value);
			any = true;
		}
	}
}
