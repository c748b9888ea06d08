// SPDX-License-Identifier: GPL-2.0-only
/*
 * SONDE_IOC_COPYV: many copies between regions and the caller's memory in one
 * call.
 *
 * What is shared with other callers on the way is read only: the regions and
 * their runs. Slots are this open file's, and their users are counted on their
 * own CPU (slots.c); descriptors are counted in the file only if the process
 * has several threads.
 */
#include <linux/build_bug.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "sonde.h"
#include "copyv.h"
#include "trace.h"

static_assert(sizeof(struct sonde_copy) == 40);
static_assert(sizeof(struct sonde_copyv) == 40);
static_assert(sizeof(struct sonde_copyv) >= SONDE_COPYV_SIZE_VER0);

/* Copies that are fetched at a time: what is a small part of a stack. */
#define FETCHED		16U

#define COPY_FLAGS	(SONDE_COPY_SLOT | SONDE_COPY_WRITE)

static ssize_t copy_file(const struct sonde_copy *c, const struct file *file)
{
	int ret = sonde_copy_check(c, file);
	struct sonde_region *r;

	if (unlikely(ret))
		return ret;
	r = file->private_data;
	if (unlikely(!c->len))
		return sonde_region_check(r);
	return sonde_region_copy(r, c->offset, u64_to_user_ptr(c->addr), c->len,
				 c->flags & SONDE_COPY_WRITE);
}

static ssize_t copy_descriptor(const struct sonde_copy *c)
{
	struct fd f = fdget(c->region);
	ssize_t ret = -EBADF;

	if (fd_file(f)) {
		ret = copy_file(c, fd_file(f));
		fdput(f);
	}
	return ret;
}

static ssize_t copy_one(const struct sonde_copy *c,
			const struct sonde_batches *batches, bool has_slots)
{
	const struct file *file = NULL;

	if (unlikely(c->flags & ~COPY_FLAGS))
		return -EINVAL;
	if (!(c->flags & SONDE_COPY_SLOT))
		return copy_descriptor(c);
	if (likely(has_slots))
		file = sonde_slot(batches, c->region);
	return likely(file) ? copy_file(c, file) : -EBADF;
}

/* Up to FETCHED of them; counts those whose result is written. */
static int copy_some(const struct sonde_batches *batches, bool has_slots,
		     struct sonde_copy __user *ucopies, u32 n, u32 *done)
{
	struct sonde_copy copies[FETCHED];
	u32 i;

	if (copy_from_user(copies, ucopies, n * sizeof(*copies)))
		return -EFAULT;
	for (i = 0; i < n; i++) {
		s64 result = copy_one(&copies[i], batches, has_slots);

		if (put_user(result, &ucopies[i].result))
			return -EFAULT;
		++*done;
	}
	return 0;
}

static int copy_rest(const struct sonde_batches *batches, bool has_slots,
		     struct sonde_copyv *args)
{
	struct sonde_copy __user *ucopies = u64_to_user_ptr(args->copies);
	int ret;

	while (args->done < args->ncopies) {
		ret = copy_some(batches, has_slots, ucopies + args->done,
				min(args->ncopies - args->done, FETCHED),
				&args->done);
		if (ret)
			return ret;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

static int copy_all(struct sonde_batches *batches, struct sonde_copyv *args)
{
	struct srcu_struct *srcu = sonde_slots_srcu(batches);
	int ret, index;

	if (!srcu)
		return copy_rest(batches, false, args);
	index = srcu_read_lock(srcu);
	ret = copy_rest(batches, true, args);
	srcu_read_unlock(srcu, index);
	return ret;
}

static int check_copyv(const struct sonde_copyv *args)
{
	if (args->flags & ~SONDE_COPYV_ASYNC ||
	    args->ncopies > SONDE_COPYV_COPIES)
		return -EINVAL;
	if (args->flags & SONDE_COPYV_ASYNC)
		return 0;
	return args->status || args->eventfd || args->cpu ? -EINVAL : 0;
}

/**
 * sonde_ioc_copyv() - serve SONDE_IOC_COPYV
 * @sf: the open file
 * @uarg: the caller's struct sonde_copyv
 * @usize: its size
 *
 * Return: 0, -EFAULT, -EINVAL, -E2BIG, -EINTR; or what sonde_copyv_async()
 * says.
 */
int sonde_ioc_copyv(const struct sonde_file *sf, void __user *uarg,
		    size_t usize)
{
	struct sonde_copyv __user *ucopyv = uarg;
	struct sonde_copyv args;
	int ret;

	ret = sonde_arg_get(&args, sizeof(args), SONDE_COPYV_SIZE_VER0, uarg,
			    usize);
	if (!ret)
		ret = check_copyv(&args);
	if (ret)
		return ret;
	args.done = 0;
	if (args.flags & SONDE_COPYV_ASYNC)
		ret = sonde_copyv_async(sf, &args);
	else
		ret = copy_all(sf->batches, &args);
	trace_sonde_copyv(args.ncopies, args.flags, args.done, ret);
	if (args.flags & SONDE_COPYV_ASYNC)
		return ret;
	if (put_user(args.done, &ucopyv->done))
		return -EFAULT;
	return ret;
}
