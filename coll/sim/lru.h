/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A cache of keys that forgets the one that was asked for least recently. */
#ifndef SONDE_COLL_SIM_LRU_H
#define SONDE_COLL_SIM_LRU_H

#include <stdint.h>

struct a2a_lru;

/* @capacity keys; NULL for want of memory. */
struct a2a_lru *a2a_lru_new(uint32_t capacity);
void a2a_lru_free(struct a2a_lru *lru);

enum a2a_touch {
	A2A_HIT,	/* it was there */
	A2A_ROOM,	/* it was not, and there was room */
	A2A_MISS,	/* another had to go */
};

/* Now @key is there, and the one used last. */
enum a2a_touch a2a_lru_touch(struct a2a_lru *lru, uint64_t key);

#endif
