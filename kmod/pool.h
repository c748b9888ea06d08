/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the pool of an open file and the search that fills and uses it. */
#ifndef SONDE_KMOD_POOL_H
#define SONDE_KMOD_POOL_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>

#include "sonde.h"

/**
 * struct sonde_bucket - pages of one node and one colour
 * @pages: linked by their lru
 * @npages: how many
 */
struct sonde_bucket {
	struct list_head pages;
	unsigned long npages;
};

/**
 * struct sonde_pool - the pool of an open file
 * @all: in the list of all pools, under pools_lock
 * @refs: the open file, and whoever waits for @lock meanwhile
 * @lock: protects all below
 * @colouring: by which the pool is sorted; without wanted colours
 * @buckets: by node and colour: [(node << bits) + colour]; NULL before the first call
 * @nbuckets: how many
 * @npages: pages in all buckets; get_filled_pool() has a look without @lock
 */
struct sonde_pool {
	struct list_head all;
	struct kref refs;
	struct mutex lock;
	struct sonde_colouring colouring;
	struct sonde_bucket *buckets;
	unsigned int nbuckets;
	unsigned long npages;
};

extern unsigned long sonde_pool_pages;

void sonde_pool_add(struct sonde_pool *pool, struct page *page,
		    unsigned int colour);
struct page *sonde_pool_pop(struct sonde_pool *pool, struct sonde_bucket *bucket);
unsigned long sonde_pool_trim(struct sonde_pool *pool, unsigned long most);
int sonde_pool_sort(struct sonde_pool *pool, const struct sonde_colouring *c);

#endif
