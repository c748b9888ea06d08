// SPDX-License-Identifier: GPL-2.0-only
/*
 * SONDE_IOC_FRAMES: which frame, colour and NUMA node back each page of a
 * range of the caller's own memory, and how large the translation is.
 *
 * The range is looked at a chunk at a time. A chunk is gathered in a buffer
 * under the locks that walk.c needs, and copied to the caller with no lock
 * held: the copy may fault, on the very range that is being looked at.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/build_bug.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/stringify.h>
#include <linux/uaccess.h>

#include "sonde.h"
#include "trace.h"

static_assert(sizeof(struct sonde_frame) == 24);
static_assert(sizeof(struct sonde_frames) == 40);
static_assert(sizeof(struct sonde_frames) >= SONDE_FRAMES_SIZE_VER0);

/*
 * Few enough that the buffer is one page and that the locks are held for some
 * microseconds at most.
 */
#define CHUNK	(PAGE_SIZE / sizeof(struct sonde_frame))

/* 4 GiB of base pages; it bounds what a signal must wait for. */
#define MAX_PAGES_LIMIT		(1U << 20)
/*
 * More bits than this would tell where in memory a page is rather than which
 * sets of a cache it falls into: 12 bits tell apart the frames of 16 MiB.
 */
#define COLOUR_BITS_LIMIT	12U

unsigned int sonde_max_pages = 1U << 18;
module_param_named(max_pages, sonde_max_pages, uint, 0444);
MODULE_PARM_DESC(max_pages, "Most pages in one SONDE_IOC_FRAMES, 1 to 1048576 (default 262144)");

unsigned int sonde_colour_bits = SONDE_COLOUR_BITS;
module_param_named(colour_bits, sonde_colour_bits, uint, 0444);
MODULE_PARM_DESC(colour_bits, "Low bits of a frame number that are its colour, 0 (no colours) to 12 (default " __stringify(SONDE_COLOUR_BITS) ")");

/**
 * sonde_frames_check_params() - refuse module parameters that are out of range
 *
 * Return: 0 or -EINVAL.
 */
int __init sonde_frames_check_params(void)
{
	if (!sonde_max_pages || sonde_max_pages > MAX_PAGES_LIMIT) {
		pr_err("max_pages=%u must be 1 to %u\n", sonde_max_pages,
		       MAX_PAGES_LIMIT);
		return -EINVAL;
	}
	if (sonde_colour_bits > COLOUR_BITS_LIMIT) {
		pr_err("colour_bits=%u must be 0 to %u\n", sonde_colour_bits,
		       COLOUR_BITS_LIMIT);
		return -EINVAL;
	}
	return 0;
}

static int check_frames(const struct sonde_frames *args,
			const struct mm_struct *mm)
{
	u64 end;

	if (!mm)	/* a kernel thread */
		return -EINVAL;
	if (args->flags & ~SONDE_FRAMES_COLOURS)
		return -EINVAL;
	if (!args->npages || args->npages > sonde_max_pages)
		return -EINVAL;
	if (!PAGE_ALIGNED(args->addr) ||
	    check_add_overflow(args->addr, args->npages << PAGE_SHIFT, &end) ||
	    end > mm->task_size)
		return -EINVAL;
	return 0;
}

/* Decides what the caller is told of a page that is present. */
static void set_disclosure(struct sonde_walk *walk, bool show_frames)
{
	walk->colour_mask = (1U << sonde_colour_bits) - 1;
	walk->present_flags = SONDE_FRAME_MAPPED | SONDE_FRAME_PRESENT;
	if (sonde_colour_bits)
		walk->present_flags |= SONDE_FRAME_COLOUR;
	if (show_frames) {
		walk->present_flags |= SONDE_FRAME_FRAME;
		walk->frame_mask = ~0UL;
	}
}

/* Fills walk->out for [walk->start, walk->end). */
static int look_at_chunk(const struct sonde_walk *walk)
{
	memset(walk->out, 0, sizeof(*walk->out) *
	       ((walk->end - walk->start) >> PAGE_SHIFT));
	if (mmap_read_lock_killable(walk->mm))
		return -EINTR;
	sonde_walk_range(walk);
	mmap_read_unlock(walk->mm);
	return 0;
}

/* Works through the range of @args; args->done counts what the caller has. */
static int look_at_range(struct sonde_frames *args, struct sonde_walk *walk)
{
	struct sonde_frame __user *entries = u64_to_user_ptr(args->entries);
	size_t n, left;
	int ret;

	while (args->done < args->npages) {
		n = min_t(u64, args->npages - args->done, CHUNK);
		walk->start = args->addr + (args->done << PAGE_SHIFT);
		walk->end = walk->start + (n << PAGE_SHIFT);
		ret = look_at_chunk(walk);
		if (ret)
			return ret;
		left = copy_to_user(entries + args->done, walk->out,
				    n * sizeof(*walk->out));
		args->done += n - DIV_ROUND_UP(left, sizeof(*walk->out));
		if (left)
			return -EFAULT;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/**
 * sonde_ioc_frames() - serve SONDE_IOC_FRAMES
 * @sf: the open file
 * @uarg: the caller's struct sonde_frames
 * @usize: its size
 *
 * Return: 0, -EFAULT, -EINVAL, -E2BIG, -ENOMEM or -EINTR.
 */
int sonde_ioc_frames(const struct sonde_file *sf, void __user *uarg,
		     size_t usize)
{
	struct sonde_frames __user *uframes = uarg;
	struct sonde_frames args;
	struct sonde_walk walk = { .mm = current->mm };
	int ret;

	ret = sonde_arg_get(&args, sizeof(args), SONDE_FRAMES_SIZE_VER0, uarg,
			    usize);
	if (ret)
		return ret;
	ret = check_frames(&args, walk.mm);
	if (ret)
		return ret;
	set_disclosure(&walk, (sf->rights & SONDE_RIGHT_FRAMES) &&
			      !(args.flags & SONDE_FRAMES_COLOURS));
	walk.out = kmalloc_array(min_t(u64, args.npages, CHUNK),
				 sizeof(*walk.out), GFP_KERNEL_ACCOUNT);
	if (!walk.out)
		return -ENOMEM;

	args.done = 0;
	ret = look_at_range(&args, &walk);
	kfree(walk.out);
	trace_sonde_frames(args.addr, args.npages, args.flags, args.done, ret);

	if (put_user(args.done, &uframes->done) && !ret)
		ret = -EFAULT;
	return ret;
}
