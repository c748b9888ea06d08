// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pool of an open file: pages that had to be taken on the way to pages of a
 * wanted colour, sorted by colour, zeroed, ready to be handed out.
 *
 * If they were given back at once, the kernel would hand out the same ones again;
 * so they are kept, and serve the next call. search.c finds what a call wants.
 *
 * A pool hangs off its file, so nobody's pages outlive who asked for them, and
 * they are charged to the memory cgroup of who did. It is sorted by the colours
 * of the last call; a call with another idea of colours sorts it anew.
 */
#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "pool.h"

unsigned long sonde_pool_pages = 1UL << 16;
module_param_named(pool_pages, sonde_pool_pages, ulong, 0444);
MODULE_PARM_DESC(pool_pages, "Most pages that the pool of one file keeps between calls of SONDE_IOC_ALLOC (default 65536)");

/* Pools give pages back in the order of this list. The lock is held briefly only. */
static LIST_HEAD(pools);
static DEFINE_MUTEX(pools_lock);
static atomic_long_t pages_pooled;

/* ---- buckets ------------------------------------------------------------ */

/**
 * sonde_pool_add() - put a page into the pool
 * @pool: the pool, locked
 * @page: a zeroed page
 * @colour: its colour by @pool->colouring
 */
void sonde_pool_add(struct sonde_pool *pool, struct page *page,
		    unsigned int colour)
{
	struct sonde_bucket *bucket = &pool->buckets[
		(page_to_nid(page) << pool->colouring.bits) + colour];

	list_add(&page->lru, &bucket->pages);
	bucket->npages++;
	pool->npages++;
	atomic_long_inc(&pages_pooled);
}

/**
 * sonde_pool_pop() - take a page out of the pool
 * @pool: the pool, locked
 * @bucket: one of its buckets that is not empty
 *
 * Return: the page.
 */
struct page *sonde_pool_pop(struct sonde_pool *pool, struct sonde_bucket *bucket)
{
	struct page *page = list_first_entry(&bucket->pages, struct page, lru);

	list_del(&page->lru);
	bucket->npages--;
	pool->npages--;
	atomic_long_dec(&pages_pooled);
	return page;
}

/**
 * sonde_pool_trim() - give pages back to the kernel
 * @pool: the pool, locked
 * @most: so many may stay; the fullest buckets give, so that rare colours stay
 *
 * Return: how many went.
 */
unsigned long sonde_pool_trim(struct sonde_pool *pool, unsigned long most)
{
	const unsigned long before = pool->npages;
	unsigned long filled = 0, level;
	unsigned int i;

	if (pool->npages <= most)
		return 0;
	for (i = 0; i < pool->nbuckets; i++)
		filled += pool->buckets[i].npages > 0;
	level = most / filled;
	for (i = 0; i < pool->nbuckets; i++) {
		struct sonde_bucket *bucket = &pool->buckets[i];

		while (bucket->npages > level && pool->npages > most)
			sonde_page_free(sonde_pool_pop(pool, bucket));
		cond_resched();
	}
	return before - pool->npages;
}

/* ---- sorting ------------------------------------------------------------ */

static bool is_sorted_by(const struct sonde_pool *pool,
			 const struct sonde_colouring *c)
{
	return pool->buckets && pool->colouring.bits == c->bits &&
	       !memcmp(pool->colouring.masks, c->masks, sizeof(c->masks));
}

/**
 * sonde_pool_sort() - sort the pool by other colours, if they are others
 * @pool: the pool, locked
 * @c: what colours are
 *
 * Return: 0, or -ENOMEM and then it stays as it was.
 */
int sonde_pool_sort(struct sonde_pool *pool, const struct sonde_colouring *c)
{
	const unsigned int nold = pool->nbuckets;
	struct sonde_bucket *old = pool->buckets, *new;
	unsigned int n = nr_node_ids << c->bits, i;

	if (is_sorted_by(pool, c))
		return 0;
	new = kvmalloc_array(n, sizeof(*new), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!new)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		INIT_LIST_HEAD(&new[i].pages);
		new[i].npages = 0;
	}
	pool->buckets = new;
	pool->nbuckets = n;
	pool->colouring = *c;
	pool->colouring.wanted = NULL;
	for (i = 0; i < nold; i++) {
		while (old[i].npages) {
			struct page *page = sonde_pool_pop(pool, &old[i]);

			sonde_pool_add(pool, page,
				       sonde_colour_of(c, page_to_pfn(page)));
		}
		cond_resched();
	}
	kvfree(old);
	return 0;
}

/* ---- giving back -------------------------------------------------------- */

static void free_pool(struct kref *refs)
{
	struct sonde_pool *pool = container_of(refs, struct sonde_pool, refs);

	mutex_destroy(&pool->lock);
	kvfree(pool->buckets);
	kfree(pool);
}

static int empty_pool(struct sonde_pool *pool)
{
	if (mutex_lock_killable(&pool->lock))
		return -EINTR;
	sonde_pool_trim(pool, 0);
	mutex_unlock(&pool->lock);
	return 0;
}

/* A pool that has pages, with a reference; it goes to the end of the list. */
static struct sonde_pool *get_filled_pool(void)
{
	struct sonde_pool *pool, *found = NULL;

	mutex_lock(&pools_lock);
	list_for_each_entry(pool, &pools, all) {
		if (!READ_ONCE(pool->npages))
			continue;
		kref_get(&pool->refs);
		list_move_tail(&pool->all, &pools);
		found = pool;
		break;
	}
	mutex_unlock(&pools_lock);
	return found;
}

static unsigned int count_pools(void)
{
	struct list_head *entry;
	unsigned int n = 0;

	mutex_lock(&pools_lock);
	list_for_each(entry, &pools)
		n++;
	mutex_unlock(&pools_lock);
	return n;
}

/**
 * sonde_pools_empty() - give back the pages of all pools
 *
 * Waits for calls that use one, so the caller holds none. Each pool has its
 * turn once, though others may fill theirs meanwhile.
 *
 * Return: 0 or -EINTR.
 */
int sonde_pools_empty(void)
{
	unsigned int turns = count_pools();
	struct sonde_pool *pool;
	int ret = 0;

	while (!ret && turns--) {
		pool = get_filled_pool();
		if (!pool)
			break;
		ret = empty_pool(pool);
		kref_put(&pool->refs, free_pool);
	}
	return ret;
}

/*
 * The shrinker. It may run in the middle of a draw, under any lock of ours: what
 * is locked is passed over.
 */
static unsigned long shrink_pools(unsigned long n)
{
	unsigned long freed = 0;
	struct sonde_pool *pool;

	if (!mutex_trylock(&pools_lock))
		return 0;
	list_for_each_entry(pool, &pools, all) {
		if (freed >= n)
			break;
		if (!mutex_trylock(&pool->lock))
			continue;
		freed += sonde_pool_trim(pool, pool->npages - min(pool->npages, n - freed));
		mutex_unlock(&pool->lock);
	}
	mutex_unlock(&pools_lock);
	return freed;
}

static unsigned long count_objects(struct shrinker *shrinker,
				   struct shrink_control *sc)
{
	return atomic_long_read(&pages_pooled) ?: SHRINK_EMPTY;
}

static unsigned long scan_objects(struct shrinker *shrinker,
				  struct shrink_control *sc)
{
	return shrink_pools(sc->nr_to_scan) ?: SHRINK_STOP;
}

static struct shrinker *shrinker;

/**
 * sonde_pools_init() - let the kernel take pages back when it is short of them
 *
 * No pool may take more than half of what there may be.
 *
 * Return: 0 or -ENOMEM.
 */
int __init sonde_pools_init(void)
{
	sonde_pool_pages = min(sonde_pool_pages, sonde_memory_pages / 2);
	shrinker = sonde_shrinker_register(count_objects, scan_objects,
					   "sonde-pool");
	return shrinker ? 0 : -ENOMEM;
}

/**
 * sonde_pools_exit() - undo sonde_pools_init(); all pools are gone by then
 */
void sonde_pools_exit(void)
{
	sonde_shrinker_unregister(shrinker);
}

/* ---- the pool's life ---------------------------------------------------- */

/**
 * sonde_pool_create() - an empty pool
 *
 * Return: the pool, or NULL for want of memory.
 */
struct sonde_pool *sonde_pool_create(void)
{
	struct sonde_pool *pool = kzalloc(sizeof(*pool), GFP_KERNEL_ACCOUNT);

	if (!pool)
		return NULL;
	kref_init(&pool->refs);
	mutex_init(&pool->lock);
	mutex_lock(&pools_lock);
	list_add_tail(&pool->all, &pools);
	mutex_unlock(&pools_lock);
	return pool;
}

/**
 * sonde_pool_destroy() - give back all pages and the pool
 * @pool: of a file that nobody uses any more; may be NULL
 */
void sonde_pool_destroy(struct sonde_pool *pool)
{
	if (!pool)
		return;
	mutex_lock(&pools_lock);
	list_del(&pool->all);
	mutex_unlock(&pools_lock);
	mutex_lock(&pool->lock);
	sonde_pool_trim(pool, 0);
	mutex_unlock(&pool->lock);
	kref_put(&pool->refs, free_pool);
}
