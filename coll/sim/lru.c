// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * lru - entries in order of use in a ring, found by hashing with linear probing
 *
 * Entry 0 is the ring's head: its next is the one used last, its previous the
 * one to forget. A table has twice the entries at least, so probes are short.
 */
#include <stdlib.h>
#include "lru.h"

struct entry {
	uint64_t key;
	uint32_t previous, next;
};

struct a2a_lru {
	uint32_t capacity, used, mask;
	struct entry *entries;
	uint32_t *table;	/* 0: free */
};

static uint32_t hash_key(const struct a2a_lru *lru, uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15) >> 32) & lru->mask;
}

struct a2a_lru *a2a_lru_new(uint32_t capacity)
{
	struct a2a_lru *lru = calloc(1, sizeof(*lru));
	uint32_t slots = 4;

	while (slots < 2 * (uint64_t)capacity)
		slots *= 2;
	if (!lru)
		return NULL;
	lru->capacity = capacity;
	lru->mask = slots - 1;
	lru->entries = calloc((size_t)capacity + 1, sizeof(*lru->entries));
	lru->table = calloc(slots, sizeof(*lru->table));
	if (lru->entries && lru->table)
		return lru;
	a2a_lru_free(lru);
	return NULL;
}

void a2a_lru_free(struct a2a_lru *lru)
{
	if (!lru)
		return;
	free(lru->entries);
	free(lru->table);
	free(lru);
}

static void unlink_entry(struct a2a_lru *lru, uint32_t at)
{
	struct entry *e = &lru->entries[at];

	lru->entries[e->previous].next = e->next;
	lru->entries[e->next].previous = e->previous;
}

static void put_first(struct a2a_lru *lru, uint32_t at)
{
	struct entry *head = &lru->entries[0], *e = &lru->entries[at];

	e->previous = 0;
	e->next = head->next;
	lru->entries[head->next].previous = at;
	head->next = at;
}

/* The slot that holds @key, or the free one where it belongs. */
static uint32_t find_slot(const struct a2a_lru *lru, uint64_t key)
{
	uint32_t slot = hash_key(lru, key);

	while (lru->table[slot] && lru->entries[lru->table[slot]].key != key)
		slot = (slot + 1) & lru->mask;
	return slot;
}

/* What was pushed on by the key that leaves moves up, so that no probe ends early. */
static void empty_slot(struct a2a_lru *lru, uint32_t hole)
{
	uint32_t slot = hole;

	for (;;) {
		uint32_t home;

		slot = (slot + 1) & lru->mask;
		if (!lru->table[slot])
			break;
		home = hash_key(lru, lru->entries[lru->table[slot]].key);
		if (((slot - home) & lru->mask) < ((slot - hole) & lru->mask))
			continue;
		lru->table[hole] = lru->table[slot];
		hole = slot;
	}
	lru->table[hole] = 0;
}

static uint32_t take_entry(struct a2a_lru *lru)
{
	uint32_t oldest = lru->entries[0].previous;

	if (lru->used < lru->capacity)
		return ++lru->used;
	unlink_entry(lru, oldest);
	empty_slot(lru, find_slot(lru, lru->entries[oldest].key));
	return oldest;
}

enum a2a_touch a2a_lru_touch(struct a2a_lru *lru, uint64_t key)
{
	uint32_t at = lru->table[find_slot(lru, key)];
	int is_full = lru->used == lru->capacity;

	if (at) {
		unlink_entry(lru, at);
		put_first(lru, at);
		return A2A_HIT;
	}
	if (!lru->capacity)
		return A2A_MISS;
	at = take_entry(lru);
	lru->entries[at].key = key;
	lru->table[find_slot(lru, key)] = at;
	put_first(lru, at);
	return is_full ? A2A_MISS : A2A_ROOM;
}
