// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory whose frames follow each other.
 *
 * The kernel gives blocks of up to 2^MAX_PAGE_ORDER pages; blocks that happen to
 * be neighbours make longer runs, so more of them are taken than are needed, the
 * longest runs are kept, and the rest goes back.
 */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "sonde.h"

/* How many times what is asked for is looked at for neighbours. */
#define PLENTY	3

struct run {
	unsigned long frame;
	unsigned long npages;
};

/**
 * struct runs - pages that were taken
 * @run: blocks as they came, later runs
 * @n: how many
 * @room: how many there can be
 * @npages: pages in all
 */
struct runs {
	struct run *run;
	size_t n;
	size_t room;
	unsigned long npages;
};

static int by_frame(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return x->frame < y->frame ? -1 : x->frame > y->frame;
}

/* The longest first; of equal ones that with lower frames. */
static int by_length(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->npages != y->npages)
		return x->npages > y->npages ? -1 : 1;
	return by_frame(a, b);
}

/* Blocks that follow each other become one run. */
static void join_blocks(struct runs *runs)
{
	struct run *last = runs->run;
	size_t i;

	sort(runs->run, runs->n, sizeof(*runs->run), by_frame, NULL);
	for (i = 1; i < runs->n; i++) {
		struct run *run = &runs->run[i];

		if (last->frame + last->npages == run->frame)
			last->npages += run->npages;
		else
			*++last = *run;
	}
	runs->n = last - runs->run + 1;
	sort(runs->run, runs->n, sizeof(*runs->run), by_length, NULL);
}

static void free_run(unsigned long frame, unsigned long npages)
{
	while (npages--) {
		sonde_page_free(pfn_to_page(frame++));
		cond_resched();
	}
}

/*
 * Takes blocks of 2^@order pages until there are @target pages, then halves of
 * them if the kernel has no more, but none smaller than 2^@least.
 */
static int take_blocks(struct runs *runs, struct sonde_request *rq,
		       unsigned int order, unsigned int least,
		       unsigned long target)
{
	struct page *block;
	int ret;

	while (runs->npages < target && runs->n < runs->room) {
		if (fatal_signal_pending(current))
			return -EINTR;
		ret = sonde_block_alloc(rq->node, order, &block);
		if (ret && order == least)
			return ret;
		if (ret) {
			order--;
			continue;
		}
		runs->run[runs->n++] = (struct run){ page_to_pfn(block), 1UL << order };
		runs->npages += 1UL << order;
		rq->drawn += 1UL << order;
		cond_resched();
	}
	return 0;
}

/* The first runs to the request, as many as it needs; the others go back. */
static void hand_out(struct runs *runs, struct sonde_request *rq)
{
	unsigned long done = 0, n, i;
	size_t r;

	for (r = 0; r < runs->n; r++) {
		const struct run *run = &runs->run[r];

		n = min(run->npages, rq->npages - done);
		for (i = 0; i < n; i++)
			rq->pages[done++] = pfn_to_page(run->frame + i);
		free_run(run->frame + n, run->npages - n);
	}
}

static void free_runs(struct runs *runs)
{
	size_t r;

	for (r = 0; r < runs->n; r++)
		free_run(runs->run[r].frame, runs->run[r].npages);
}

/*
 * One block, if one is large enough; else many of the largest; else, if the
 * memory need not be one run, whatever there is.
 */
static int take_runs(struct runs *runs, struct sonde_request *rq)
{
	const unsigned int order = min_t(unsigned int, MAX_PAGE_ORDER,
					 order_base_2(rq->npages));
	int ret;

	ret = take_blocks(runs, rq, order, order,
			  rq->npages <= 1UL << order ? 1 : PLENTY * rq->npages);
	if (ret == -EINTR)
		return ret;
	if (runs->npages < rq->npages && rq->partial) {
		ret = take_blocks(runs, rq, order, 0, rq->npages);
		if (ret)
			return ret;
	}
	if (!runs->n)
		return -ENOSPC;
	join_blocks(runs);
	return rq->partial || runs->run[0].npages >= rq->npages ? 0 : -ENOSPC;
}

/**
 * sonde_contiguous_alloc() - take pages whose frames follow each other
 * @rq: what is asked for: one run, or with @rq->partial few
 *
 * Return: 0, -ENOSPC (no run is that long), -ENOMEM, -EDQUOT or -EINTR, and
 * then none were taken.
 */
int sonde_contiguous_alloc(struct sonde_request *rq)
{
	struct runs runs = {
		.room = PLENTY * (rq->npages >> MAX_PAGE_ORDER) + PLENTY,
	};
	int ret;

	/* At worst each block is one page. */
	if (rq->partial)
		runs.room += rq->npages;
	runs.run = kvmalloc_array(runs.room, sizeof(*runs.run),
				  GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!runs.run)
		return -ENOMEM;
	ret = take_runs(&runs, rq);
	if (ret)
		free_runs(&runs);
	else
		hand_out(&runs, rq);
	kvfree(runs.run);
	return ret;
}
