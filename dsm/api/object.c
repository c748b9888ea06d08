// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Objects have a number that all processes give them: by their place in shared memory,
 * or, static variables, by their place in the program. The state of some (semaphores,
 * say) is itself shared: in the object, or, for static variables, in a table at the
 * begin of shared memory, under a lock of its own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shared.h"

#define TABLE_LOCK	1u	/* numbers of objects are never so small */

bool dsm_shares(const struct dsm_run *run, const void *p)
{
	uintptr_t at = (uintptr_t)p, view = (uintptr_t)run->fault->view;

	return at >= view && at - view < (size_t)run->pages * run->unit;
}

/* splitmix64's finish: no two become one, and managers are spread. */
static uint64_t mix(uint64_t id)
{
	id = (id ^ (id >> 30)) * 0xbf58476d1ce4e5b9;
	id = (id ^ (id >> 27)) * 0x94d049bb133111eb;
	return id ^ (id >> 31);
}

/* Back from mix(). */
static uint64_t unmix(uint64_t id)
{
	id = (id ^ id >> 31 ^ id >> 62) * 0x319642b2d24d8ec3;
	id = (id ^ id >> 27 ^ id >> 54) * 0x96de1b173f119089;
	return id ^ id >> 30 ^ id >> 60;
}

static uint64_t big(uint64_t id)
{
	return id < 16 ? id + 16 : id;
}

/* Threads that look it up at once find the same. */
static uint64_t static_id(struct sonde_dsm_object *o)
{
	uint64_t id = __atomic_load_n(&o->id, __ATOMIC_RELAXED), code;

	if (id)
		return id;
	code = dsm_code_of(o);
	if (!code)
		return 0;
	id = big(mix(code));
	__atomic_store_n(&o->id, id, __ATOMIC_RELAXED);
	return id;
}

uint64_t dsm_id_of(struct dsm_run *run, struct sonde_dsm_object *o)
{
	if (!o)
		return 0;
	if (!dsm_shares(run, o))
		return static_id(o);
	return big(mix((uint64_t)((uintptr_t)o - (uintptr_t)run->fault->view) + 1));
}

uint64_t dsm_inner_lock(uint64_t id)
{
	return big(mix(id + 1));
}

static uint64_t *find_slot(struct dsm_shared *s, uint64_t id)
{
	for (uint32_t i = 0; i < DSM_SLOTS; i++) {
		struct dsm_slot *slot = &s->slots[(id + i) % DSM_SLOTS];

		if (!slot->id)
			slot->id = id;
		if (slot->id == id)
			return slot->state;
	}
	return NULL;
}

static bool name_object(const struct dsm_run *run, uint64_t id, const char *what, char *name,
			size_t len)
{
	uint64_t place = unmix(id);
	Dl_info info;
	void *at;

	if (place && place <= (uint64_t)run->pages * run->unit) {
		snprintf(name, len, "%s at %p", what, (void *)(run->fault->view + place - 1));
		return true;
	}
	at = dsm_code_at(place);
	if (!at)
		return false;
	if (dladdr(at, &info) && info.dli_sname && info.dli_saddr == at)
		snprintf(name, len, "%s %s", what, info.dli_sname);
	else
		snprintf(name, len, "%s at %s+0x%x", what,
			 dladdr(at, &info) && info.dli_fname ? info.dli_fname : "program",
			 (unsigned int)place);
	return true;
}

void dsm_lock_name(const struct dsm_run *run, uint64_t id, char *name, size_t len)
{
	if (id == TABLE_LOCK)
		snprintf(name, len, "the library's own lock");
	else if (!name_object(run, id, "mutex", name, len) &&
		 !name_object(run, unmix(id) - 1, "lock of the object", name, len))
		snprintf(name, len, "lock %016llx", (unsigned long long)id);
}

void dsm_table_lock(struct dsm_run *run)
{
	dsm_lock_id(run, TABLE_LOCK, NULL);
}

void dsm_table_unlock(struct dsm_run *run)
{
	dsm_unlock_id(run, TABLE_LOCK);
}

/* A static variable remembers, in each process for itself, where its state is. */
uint64_t *dsm_state_of(struct dsm_run *run, struct sonde_dsm_object *o, uint64_t id)
{
	uint64_t *state;

	if (dsm_shares(run, o))
		return o->state;
	state = (uint64_t *)(uintptr_t)__atomic_load_n(&o->state[0], __ATOMIC_RELAXED);
	if (state)
		return state;
	dsm_table_lock(run);
	state = find_slot(run->shared, id);
	dsm_table_unlock(run);
	__atomic_store_n(&o->state[0], (uint64_t)(uintptr_t)state, __ATOMIC_RELAXED);
	return state;
}

uint32_t dsm_reserved_bytes(void)
{
	return sizeof(struct dsm_shared);
}
