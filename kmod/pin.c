// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of the caller, pinned, and resolved once to the runs of physically
 * contiguous memory that they are: who copies walks runs, not pages.
 *
 * The array of pages is not kept: runs tell which pages they are of, as struct
 * pages follow each other where page frames do (x86-64 has a virtual memory
 * map).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "sonde.h"
#include "region.h"

/* Pages that are pinned at a time: what is a small part of a stack. */
#define PIN_CHUNK	64UL
/* And that are unpinned between two chances to reschedule. */
#define UNPIN_CHUNK	4096UL
/* Runs that there is room for at first. */
#define FIRST_RUNS	32UL

static unsigned long region_pages;
module_param(region_pages, ulong, 0444);
MODULE_PARM_DESC(region_pages, "Most pages in all regions together (default half of RAM)");

static atomic_long_t pages_pinned;

/**
 * sonde_pin_check_params() - settle the module parameters
 *
 * Return: 0, or -EINVAL: out of range.
 */
int __init sonde_pin_check_params(void)
{
	if (!region_pages)
		region_pages = totalram_pages() / 2;
	if (region_pages > LONG_MAX / 2) {
		pr_err("region_pages=%lu must be at most %lu\n", region_pages,
		       LONG_MAX / 2);
		return -EINVAL;
	}
	return 0;
}

static int show_pinned(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%ld\n", atomic_long_read(&pages_pinned));
}

static const struct kernel_param_ops pinned_ops = {
	.get = show_pinned,
};
module_param_cb(region_held, &pinned_ops, NULL, 0444);
MODULE_PARM_DESC(region_held, "Pages in all regions now (read only)");

/* ---- runs --------------------------------------------------------------- */

static int make_room(struct sonde_pinned *p)
{
	const unsigned long capacity = p->capacity ? 4 * p->capacity :
						     FIRST_RUNS;
	struct sonde_run *runs;

	runs = kvmalloc_array(capacity, sizeof(*runs),
			      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!runs)
		return -ENOMEM;
	if (p->nruns)
		memcpy(runs, p->runs, p->nruns * sizeof(*runs));
	kvfree(p->runs);
	p->runs = runs;
	p->capacity = capacity;
	return 0;
}

/* The last run's end may lie beyond @len until all pages are there. */
static int add_runs(struct sonde_pinned *p, struct page **pages, long n,
		     unsigned long first)
{
	unsigned long end = p->nruns ? p->runs[p->nruns - 1].end : -first;
	struct sonde_run *run = p->nruns ? &p->runs[p->nruns - 1] : NULL;
	unsigned long next = run ? run->base + end : 0, at;
	long i;

	for (i = 0; i < n; i++) {
		at = (unsigned long)page_address(pages[i]);
		if (at != next) {
			if (p->nruns == p->capacity && make_room(p))
				break;
			run = &p->runs[p->nruns++];
			run->base = at - end;
		}
		end += PAGE_SIZE;
		run->end = end;
		next = at + PAGE_SIZE;
	}
	if (i == n)
		return 0;
	unpin_user_pages(pages + i, n - i);
	return -ENOMEM;
}

/**
 * sonde_run_find() - the run that a byte is in
 * @p: what is pinned
 * @offset: less than @p->len
 *
 * Return: the run.
 */
const struct sonde_run *sonde_run_find(const struct sonde_pinned *p,
				       unsigned long offset)
{
	unsigned long low = 0, high = p->nruns - 1, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (p->runs[middle].end > offset)
			high = middle;
		else
			low = middle + 1;
	}
	return &p->runs[low];
}

/* ---- pages -------------------------------------------------------------- */

static int charge(struct sonde_pinned *p)
{
	int ret;

	if (!sonde_count_below(&pages_pinned, p->npages, region_pages))
		return -EDQUOT;
	ret = sonde_charge_locked(p->npages, &p->charged);
	if (ret)
		atomic_long_sub(p->npages, &pages_pinned);
	return ret;
}

static void unpin_run(struct page *page, unsigned long npages, bool is_dirty)
{
	unsigned long n;

	for (; npages; npages -= n, page += n) {
		n = min(npages, UNPIN_CHUNK);
		sonde_unpin_range(page, n, is_dirty);
		cond_resched();
	}
}

static void unpin_runs(struct sonde_pinned *p, bool is_dirty)
{
	unsigned long i, start, end;

	for (i = 0; i < p->nruns; i++) {
		start = sonde_run_start(p, i) & PAGE_MASK;
		end = PAGE_ALIGN(p->runs[i].base + p->runs[i].end);
		unpin_run(virt_to_page((void *)start),
			  (end - start) >> PAGE_SHIFT, is_dirty);
	}
	p->nruns = 0;
}

static int pin_chunk(struct page **pages, unsigned long addr, unsigned long n,
		     unsigned int flags, unsigned int fallback)
{
	int ret = pin_user_pages_fast(addr, n, flags, pages);

	if (ret == -EFAULT && fallback != flags)
		ret = pin_user_pages_fast(addr, n, fallback, pages);
	return ret;
}

static int pin_pages(struct sonde_pinned *p, unsigned long addr,
		     unsigned int flags, unsigned int fallback)
{
	const unsigned long first = offset_in_page(addr);
	unsigned long done = 0;
	struct page *pages[PIN_CHUNK];
	int ret;

	while (done < p->npages) {
		ret = pin_chunk(pages,
				(addr & PAGE_MASK) + (done << PAGE_SHIFT),
				min(p->npages - done, PIN_CHUNK),
				flags, fallback);
		if (ret <= 0)
			return ret ?: -EFAULT;
		done += ret;
		ret = add_runs(p, pages, ret, first);
		if (ret)
			return ret;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/**
 * sonde_pin() - pin a piece of the caller's memory
 * @p: out: what was pinned; sonde_unpin() gives it back
 * @addr: where
 * @len: bytes, at least one, so that the range is in the address space
 * @flags: FOLL_*
 * @fallback: FOLL_* for where @flags are refused, or @flags
 *
 * Return: 0, -EDQUOT, -ENOBUFS, -ENOMEM, -EFAULT or -EINTR; then nothing is
 * pinned.
 */
int sonde_pin(struct sonde_pinned *p, unsigned long addr, unsigned long len,
	      unsigned int flags, unsigned int fallback)
{
	int ret;

	memset(p, 0, sizeof(*p));
	p->len = len;
	p->npages = ((addr + len - 1) >> PAGE_SHIFT) - (addr >> PAGE_SHIFT) + 1;
	ret = charge(p);
	if (ret)
		return ret;
	ret = make_room(p) ?: pin_pages(p, addr, flags, fallback);
	if (ret) {
		sonde_unpin(p, false);
		return ret;
	}
	p->runs[p->nruns - 1].end = len;
	return 0;
}

/**
 * sonde_unpin() - undo sonde_pin(), in whatever process
 * @p: what was pinned
 * @is_dirty: something was written to it
 */
void sonde_unpin(struct sonde_pinned *p, bool is_dirty)
{
	unpin_runs(p, is_dirty);
	kvfree(p->runs);
	p->runs = NULL;
	sonde_uncharge_locked(p->charged, p->npages);
	atomic_long_sub(p->npages, &pages_pinned);
}
