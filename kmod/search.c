// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of wanted colours, from the pool and the kernel.
 *
 * Pages of a colour cannot be asked for; whoever wants one colour of 64 takes
 * 64 times as many pages as are wanted. All that is drawn goes through the pool,
 * and what is wanted is handed out from there. A call that has to draw draws
 * twice what it lacks, so that a second one like it finds its pages in the pool.
 */
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include "pool.h"

/*
 * A search ends when this many times the pages were taken, or blocks if those
 * differ in colour, in which the wanted ones are to be expected: chance alone
 * makes it longer with a probability of e^-16.
 */
#define PATIENCE	16


/**
 * struct search - pages of wanted colours that a call looks for
 * @pool: where, locked
 * @rq: what the call asks for
 * @colouring: of @rq
 * @want: for each colour, how many pages are to be in the pool
 * @have: for each colour, how many there are that @rq may take
 * @missing: the sum of what @have lacks
 */
struct search {
	struct sonde_pool *pool;
	struct sonde_request *rq;
	const struct sonde_colouring *colouring;
	unsigned long *want;
	unsigned long *have;
	unsigned long missing;
};

static bool is_on_node(const struct sonde_request *rq, int node)
{
	return rq->node == NUMA_NO_NODE || rq->node == node;
}

/* The wanted colours take turns, so the first ones may be there once more. */
static void count_wanted(struct search *s, unsigned long times)
{
	const unsigned int k = s->colouring->nwanted;
	const unsigned long each = s->rq->npages / k, more = s->rq->npages % k;
	unsigned int i;

	s->missing = 0;
	for (i = 0; i < k; i++) {
		unsigned int colour = s->colouring->wanted[i];

		s->want[colour] = (each + (i < more)) * times;
		if (s->have[colour] < s->want[colour])
			s->missing += s->want[colour] - s->have[colour];
	}
}

static void count_pool(struct search *s)
{
	const unsigned int bits = s->colouring->bits;
	unsigned int i;

	for (i = 0; i < s->pool->nbuckets; i++)
		if (is_on_node(s->rq, i >> bits))
			s->have[i & ((1U << bits) - 1)] +=
				s->pool->buckets[i].npages;
}

static void sort_block(struct search *s, struct page *block, unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++) {
		unsigned int colour = sonde_colour_of(s->colouring,
						      page_to_pfn(block + i));

		sonde_pool_add(s->pool, block + i, colour);
		if (s->have[colour]++ < s->want[colour])
			s->missing--;
	}
}

/* Pages in which the missing ones are to be expected. */
static unsigned long expected(const struct search *s)
{
	return DIV_ROUND_UP(s->missing << s->colouring->bits,
			    s->colouring->nwanted);
}

/* Less than a block with all colours could be without the wanted ones. */
static unsigned int choose_order(const struct search *s)
{
	return clamp_t(unsigned int, ilog2(expected(s)), s->colouring->order,
		       MAX_PAGE_ORDER);
}

/* Pages after which no more are to be found. */
static unsigned long most_pages(const struct search *s)
{
	const unsigned long block = 1UL << s->colouring->order;

	return PATIENCE * (expected(s) + (block << s->colouring->far_bits));
}

/*
 * Takes pages until none is missing, in blocks of 2^@least pages or more.
 * Returns 0, -ENOSPC, or why there are no more pages.
 */
static int draw_missing(struct search *s, unsigned int least)
{
	const unsigned long most = s->rq->drawn + most_pages(s);
	unsigned int order, ceiling = MAX_PAGE_ORDER;
	struct page *block;
	int ret;

	while (s->missing) {
		if (fatal_signal_pending(current))
			return -EINTR;
		if (s->rq->drawn >= most)
			return -ENOSPC;
		order = min(choose_order(s), ceiling);
		ret = sonde_block_alloc(s->rq->node, order, &block);
		if (ret && order <= least)
			return ret;
		if (ret) {
			ceiling = order - 1;
			continue;
		}
		s->rq->drawn += 1UL << order;
		sort_block(s, block, 1UL << order);
		cond_resched();
	}
	return 0;
}

/*
 * What the call lacks; and if it lacked something, as much again for the next
 * one, as far as that is cheap and the pool may keep it.
 */
static int draw(struct search *s)
{
	int ret;

	count_wanted(s, 1);
	if (!s->missing)
		return 0;
	ret = draw_missing(s, 0);
	if (ret)
		return ret;
	if (s->pool->npages - s->rq->npages >= sonde_pool_pages)
		return 0;
	count_wanted(s, 2);
	if (expected(s) <= sonde_pool_pages)
		draw_missing(s, s->colouring->order);
	return 0;
}

/* ---- handing out -------------------------------------------------------- */

/* Near memory first, where any node will do. */
static struct page *take_colour(struct search *s, unsigned int colour)
{
	const int home = s->rq->node == NUMA_NO_NODE ? numa_mem_id() :
						       s->rq->node;
	struct sonde_bucket *bucket;
	unsigned int i, node;

	for (i = 0; i < nr_node_ids; i++) {
		node = (home + i) % nr_node_ids;
		if (!is_on_node(s->rq, node))
			continue;
		bucket = &s->pool->buckets[(node << s->colouring->bits) + colour];
		if (bucket->npages)
			return sonde_pool_pop(s->pool, bucket);
	}
	return NULL;
}

static unsigned int wanted_at(const struct search *s, unsigned long i)
{
	return s->colouring->wanted[i % s->colouring->nwanted];
}

/* Returns how many places stay empty. */
static unsigned long hand_out_wanted(struct search *s)
{
	struct sonde_request *rq = s->rq;
	unsigned long i, empty = 0;

	for (i = 0; i < rq->npages; i++) {
		rq->pages[i] = take_colour(s, wanted_at(s, i));
		empty += !rq->pages[i];
		cond_resched();
	}
	return empty;
}

/* Whatever is in the pool, then whatever the kernel has. */
static int hand_out_others(struct search *s)
{
	struct sonde_request *rq = s->rq;
	unsigned int colour = 0;
	unsigned long i;
	int ret;

	for (i = 0; i < rq->npages; i++) {
		while (!rq->pages[i] && colour < 1U << s->colouring->bits) {
			rq->pages[i] = take_colour(s, colour);
			colour += !rq->pages[i];
		}
		if (rq->pages[i])
			continue;
		ret = sonde_block_alloc(rq->node, 0, &rq->pages[i]);
		if (ret)
			return ret;
		rq->drawn++;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/* Whether the call goes on though pages of wanted colours are lacking. */
static bool will_do_without(const struct sonde_request *rq, int why)
{
	if (!rq->partial || why == -EINTR)
		return false;
	return why == -ENOSPC || rq->is_last;
}

/* By the pages: what came last may have a wanted colour after all. */
static void count_off_colour(struct search *s)
{
	struct sonde_request *rq = s->rq;
	unsigned long i;

	for (i = 0; i < rq->npages; i++)
		rq->off_colour += sonde_colour_of(s->colouring,
				page_to_pfn(rq->pages[i])) != wanted_at(s, i);
}

static int search_and_take(struct search *s)
{
	int ret;

	ret = sonde_pool_sort(s->pool, s->colouring);
	if (ret)
		return ret;
	count_pool(s);
	ret = draw(s);
	if (ret && !will_do_without(s->rq, ret))
		return ret;
	if (!hand_out_wanted(s))
		return 0;
	ret = hand_out_others(s);
	if (!ret)
		count_off_colour(s);
	return ret;
}

/**
 * sonde_pool_take() - pages of wanted colours, from the pool and the kernel
 * @pool: of the open file
 * @rq: what is asked for, with colours; on failure it may have some of its pages
 *
 * After a failure the pool is empty: the pages it holds may be what is lacking
 * elsewhere.
 *
 * Return: 0, -ENOSPC (there are no more pages of a wanted colour to be found),
 * -ENOMEM, -EDQUOT or -EINTR.
 */
int sonde_pool_take(struct sonde_pool *pool, struct sonde_request *rq)
{
	struct search s = {
		.pool = pool, .rq = rq, .colouring = rq->colouring,
	};
	const size_t ncolours = 1UL << rq->colouring->bits;
	int ret = -ENOMEM;

	if (mutex_lock_killable(&pool->lock))
		return -EINTR;
	s.want = kcalloc(ncolours, sizeof(*s.want), GFP_KERNEL_ACCOUNT);
	s.have = kcalloc(ncolours, sizeof(*s.have), GFP_KERNEL_ACCOUNT);
	if (s.want && s.have)
		ret = search_and_take(&s);
	kfree(s.have);
	kfree(s.want);
	sonde_pool_trim(pool, ret ? 0 : sonde_pool_pages);
	mutex_unlock(&pool->lock);
	return ret;
}
