// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages from the kernel, for memory and for pools: zeroed, charged to the memory
 * cgroup of who asks, and counted, so that all files together hold no more than
 * the parameter memory_pages.
 *
 * Pages are taken in blocks, as large as they are to be had, and split: that is
 * quicker, and an aligned block of 2^n frames has each value of the low n bits
 * once.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sysfs.h>

#include "sonde.h"

/* 512 GiB of base pages: an array of pointers to them is no more than 1 GiB. */
#define MEMORY_PAGES_LIMIT	(1UL << 27)

unsigned long sonde_memory_pages;
module_param_named(memory_pages, sonde_memory_pages, ulong, 0444);
MODULE_PARM_DESC(memory_pages, "Most pages in all memory and pools of SONDE_IOC_ALLOC together (default a quarter of RAM)");

static atomic_long_t pages_held;

/**
 * sonde_pages_check_params() - refuse module parameters that are out of range
 *
 * Return: 0 or -EINVAL.
 */
int __init sonde_pages_check_params(void)
{
	if (!sonde_memory_pages)
		sonde_memory_pages = min(totalram_pages() / 4,
					 MEMORY_PAGES_LIMIT);
	if (sonde_memory_pages > MEMORY_PAGES_LIMIT) {
		pr_err("memory_pages=%lu must be at most %lu\n",
		       sonde_memory_pages, MEMORY_PAGES_LIMIT);
		return -EINVAL;
	}
	return 0;
}

static int show_held(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%ld\n", atomic_long_read(&pages_held));
}

static const struct kernel_param_ops held_ops = {
	.get = show_held,
};
module_param_cb(memory_held, &held_ops, NULL, 0444);
MODULE_PARM_DESC(memory_held, "Pages in all memory and pools now (read only)");

/*
 * A large block is worth little trouble, and for a single page nobody is to be
 * killed: the caller can be told that there is none.
 */
static gfp_t block_gfp(int node, unsigned int order)
{
	gfp_t gfp = GFP_USER | __GFP_ZERO | __GFP_NOWARN | SONDE_GFP_ACCOUNT;

	gfp |= order ? __GFP_NORETRY : __GFP_RETRY_MAYFAIL;
	return node == NUMA_NO_NODE ? gfp : gfp | __GFP_THISNODE;
}

/**
 * sonde_block_alloc() - take a block of pages from the kernel
 * @node: on this node, or NUMA_NO_NODE
 * @order: 2^@order pages, aligned to as many
 * @block: out: the first of them; each is to go through sonde_page_free()
 *
 * Return: 0, -ENOMEM or -EDQUOT.
 */
int sonde_block_alloc(int node, unsigned int order, struct page **block)
{
	const unsigned long n = 1UL << order;
	struct page *page;

	if (!sonde_count_below(&pages_held, n, sonde_memory_pages))
		return -EDQUOT;
	page = alloc_pages_node(node, block_gfp(node, order), order);
	if (!page) {
		atomic_long_sub(n, &pages_held);
		return -ENOMEM;
	}
	split_page(page, order);
	*block = page;
	return 0;
}

/**
 * sonde_page_free() - give up one page
 * @page: of sonde_block_alloc()
 *
 * Whoever else has a reference, as for DMA, keeps the page until it is dropped.
 */
void sonde_page_free(struct page *page)
{
	__free_page(page);
	atomic_long_dec(&pages_held);
}

/**
 * sonde_pages_free() - give up pages
 * @pages: of sonde_block_alloc(), NULL where there is none; all NULL afterwards
 * @n: how many
 */
void sonde_pages_free(struct page **pages, unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++) {
		if (pages[i])
			sonde_page_free(pages[i]);
		pages[i] = NULL;
		cond_resched();
	}
}

/**
 * sonde_pages_alloc() - take pages of any colour
 * @rq: what is asked for; on failure it may have some of its pages
 *
 * Return: 0, -ENOMEM, -EDQUOT or -EINTR.
 */
int sonde_pages_alloc(struct sonde_request *rq)
{
	unsigned int order = MAX_PAGE_ORDER;
	unsigned long done = 0, i;
	struct page *block;
	int ret;

	while (done < rq->npages) {
		if (fatal_signal_pending(current))
			return -EINTR;
		order = min_t(unsigned int, order, ilog2(rq->npages - done));
		ret = sonde_block_alloc(rq->node, order, &block);
		if (ret && !order)
			return ret;
		if (ret) {
			order--;
			continue;
		}
		for (i = 0; i < 1UL << order; i++)
			rq->pages[done++] = block + i;
		cond_resched();
	}
	rq->drawn = done;
	return 0;
}
