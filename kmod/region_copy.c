// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copies between a region and the caller's memory.
 *
 * The path takes no lock and counts no page: a look at the state of the region,
 * and a copy for each run of contiguous memory. Signals and the state are
 * looked at again every SONDE_STEP bytes.
 *
 * Copies are raw, after one access_ok() for the whole of the caller's range:
 * copy_to_user() would do that again for each run, and ask whether the kernel's
 * side may be shown to users (CONFIG_HARDENED_USERCOPY), 170 instructions a
 * run. Here that is known: it is pages of a user's mapping, pinned, and a run
 * ends where they end. And it would take runs of several pages for an overflow.
 */
#include <linux/fs.h>
#include <linux/instrumented.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "sonde.h"
#include "region.h"

/* Returns what was not copied, which is less than a step. */
static __always_inline unsigned int copy_raw(void *kernel, char __user *buf,
					     unsigned long n, bool to_region)
{
	if (to_region) {
		instrument_write(kernel, n);
		return raw_copy_from_user(kernel, buf, n);
	}
	instrument_read(kernel, n);
	return raw_copy_to_user(buf, kernel, n);
}

/*
 * One step: [@offset, @stop) of the region, of which byte 0 would be at @user.
 * Returns where it came to. As few instructions for a run as can be.
 */
static __always_inline unsigned long copy_runs(const struct sonde_run *run,
					       unsigned long offset,
					       unsigned long stop,
					       unsigned long user,
					       bool to_region)
{
	unsigned long end;
	unsigned int left;

	for (;; run++) {
		end = min(run->end, stop);
		left = copy_raw((void *)(run->base + offset),
				(char __user *)(user + offset), end - offset,
				to_region);
		if (unlikely(left))
			return end - left;
		offset = end;
		if (offset == stop)
			return stop;
	}
}

/* Returns where it came to. */
static unsigned long copy_step(struct sonde_region *r, unsigned long offset,
			       unsigned long stop, unsigned long user,
			       bool to_region)
{
	const struct sonde_run *run = r->pinned.runs;

	if (r->pinned.nruns > 1)
		run = sonde_run_find(&r->pinned, offset);
	return to_region ? copy_runs(run, offset, stop, user, true) :
			   copy_runs(run, offset, stop, user, false);
}

/**
 * sonde_region_copy() - copy between a region and the caller's memory
 * @r: the region, held by the caller
 * @offset: where in it; with @len in the region
 * @buf: where in the caller's memory
 * @len: bytes
 * @to_region: the direction
 *
 * Return: bytes copied, fewer than @len if something came in between; or, if it
 * came before the first, -EFAULT, -ESTALE, -EOWNERDEAD or -EINTR.
 */
ssize_t sonde_region_copy(struct sonde_region *r, unsigned long offset,
			  char __user *buf, unsigned long len, bool to_region)
{
	const unsigned long user = (unsigned long)buf - offset;
	const unsigned long end = offset + len;
	unsigned long at = offset, stop;
	int ret;

	might_fault();
	if (unlikely(!access_ok(buf, len)))
		return -EFAULT;
	if (to_region) {
		barrier_nospec();	/* nothing is read before it may be */
		sonde_region_mark_dirty(r);
	}
	for (;;) {
		ret = sonde_region_check(r);
		if (unlikely(ret))
			break;
		stop = min(end, at + SONDE_STEP);
		at = copy_step(r, at, stop, user, to_region);
		if (at < stop) {
			ret = -EFAULT;
			break;
		}
		if (at == end)
			break;
		if (fatal_signal_pending(current)) {
			ret = -EINTR;
			break;
		}
		cond_resched();
	}
	return at - offset ?: ret;
}

/* ---- read() and write() ------------------------------------------------- */

/**
 * sonde_region_read() - read() and pread() of a region
 * @file: the region's
 * @buf: the caller's
 * @len: bytes
 * @pos: in the region; moves on
 *
 * Return: bytes, short at the end; or as sonde_region_copy().
 */
ssize_t sonde_region_read(struct file *file, char __user *buf, size_t len,
			  loff_t *pos)
{
	struct sonde_region *r = file->private_data;
	const loff_t at = *pos;
	ssize_t ret;

	if (unlikely(at < 0))
		return -EINVAL;
	if (unlikely((u64)at > r->pinned.len))
		len = 0;
	else
		len = min_t(size_t, len, r->pinned.len - at);
	ret = len ? sonde_region_copy(r, at, buf, len, false) :
		    sonde_region_check(r);
	if (likely(ret > 0))
		*pos = at + ret;
	return ret;
}

/**
 * sonde_region_write() - write() and pwrite() of a region
 * @file: the region's
 * @buf: the caller's
 * @len: bytes
 * @pos: in the region; moves on
 *
 * Return: bytes, short at the end; -ENOSPC behind it; or what
 * sonde_region_copy() says.
 */
ssize_t sonde_region_write(struct file *file, const char __user *buf,
			   size_t len, loff_t *pos)
{
	struct sonde_region *r = file->private_data;
	const loff_t at = *pos;
	ssize_t ret;

	if (unlikely(at < 0))
		return -EINVAL;
	if (!len)
		return sonde_region_check(r);
	if (unlikely((u64)at >= r->pinned.len))
		return -ENOSPC;
	len = min_t(size_t, len, r->pinned.len - at);
	ret = sonde_region_copy(r, at, (char __user *)buf, len, true);
	if (likely(ret > 0))
		*pos = at + ret;
	return ret;
}

/* ---- vectors, and the kernel's own users -------------------------------- */

/* A page at a time, which is what iov_iter is checked for. */
static size_t iterate_step(struct sonde_region *r, unsigned long offset,
			   struct iov_iter *iter, size_t len, bool to_region)
{
	unsigned long at, n, got, done = 0;
	const struct sonde_run *run;
	struct page *page;

	while (done < len) {
		run = sonde_run_find(&r->pinned, offset + done);
		at = run->base + offset + done;
		n = min3(len - done, PAGE_SIZE - offset_in_page(at),
			 run->end - (offset + done));
		page = virt_to_page((void *)at);
		got = to_region ?
		      copy_page_from_iter(page, offset_in_page(at), n, iter) :
		      copy_page_to_iter(page, offset_in_page(at), n, iter);
		done += got;
		if (got < n)
			break;
	}
	return done;
}

static ssize_t iterate(struct kiocb *iocb, struct iov_iter *iter,
		       bool to_region)
{
	struct sonde_region *r = iocb->ki_filp->private_data;
	const unsigned long offset = iocb->ki_pos;
	size_t len = min_t(size_t, iov_iter_count(iter),
			   r->pinned.len - offset);
	size_t done = 0, n, got;
	int ret;

	if (to_region)
		sonde_region_mark_dirty(r);
	do {
		ret = sonde_region_check(r);
		if (ret || !len)
			break;
		n = min_t(size_t, len - done, SONDE_STEP);
		got = iterate_step(r, offset + done, iter, n, to_region);
		done += got;
		if (got < n)
			ret = -EFAULT;
		else if (fatal_signal_pending(current))
			ret = -EINTR;
		cond_resched();
	} while (!ret && done < len);
	iocb->ki_pos += done;
	return done ?: ret;
}

/**
 * sonde_region_read_iter() - readv(), preadv(), io_uring and the like
 * @iocb: the region's file, and where
 * @to: where to
 *
 * Return: as sonde_region_read().
 */
ssize_t sonde_region_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct sonde_region *r = iocb->ki_filp->private_data;

	if (iocb->ki_pos < 0)
		return -EINVAL;
	if ((u64)iocb->ki_pos >= r->pinned.len)
		return sonde_region_check(r);
	return iterate(iocb, to, false);
}

/**
 * sonde_region_write_iter() - writev(), pwritev(), io_uring and the like
 * @iocb: the region's file, and where
 * @from: where from
 *
 * Return: as sonde_region_write().
 */
ssize_t sonde_region_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	struct sonde_region *r = iocb->ki_filp->private_data;

	if (iocb->ki_pos < 0)
		return -EINVAL;
	if (!iov_iter_count(from))
		return sonde_region_check(r);
	if ((u64)iocb->ki_pos >= r->pinned.len)
		return -ENOSPC;
	return iterate(iocb, from, true);
}
