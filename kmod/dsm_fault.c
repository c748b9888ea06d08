// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accesses to the view of a segment that its entries do not allow.
 *
 * What a page allows says its protection, under the page's lock. Either the
 * access is allowed, after a twin was taken if need be, and entries are made; or
 * an event tells of it, and the thread sleeps without any lock and tries again.
 *
 * A fault in an entry that may not be written (pfn_mkwrite) must neither sleep
 * for long nor make the kernel try again: there the entry is taken away, so that
 * the access comes back as a fault without one.
 *
 * Unlike the kernel's own pfn_mkwrite we make the writable entry ourselves, under
 * the page's lock: the kernel would make it after we have returned, when the page
 * may have been collected already, and the write would go unnoticed.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "sonde.h"
#include "dsm.h"
#include "trace.h"

/* ---- twins -------------------------------------------------------------- */

static int copy_to_twin(struct sonde_dsm *dsm, u32 page, u32 twin)
{
	const unsigned long n = 1UL << dsm->shift;
	unsigned long from = (unsigned long)page << dsm->shift;
	unsigned long to = (unsigned long)(dsm->npages + twin) << dsm->shift;
	struct page *source, *copy;
	unsigned long i;

	for (i = 0; i < n; i++) {
		source = sonde_dsm_frame(dsm, from + i);
		copy = sonde_dsm_frame(dsm, to + i);
		if (!source || !copy)
			return -ENOMEM;
		copy_page(page_address(copy), page_address(source));
	}
	return 0;
}

/*
 * 0, -ENOMEM, or -EAGAIN if none is free. One that user space has not given back
 * is what it knows of the page, and stays.
 */
static int take_twin(struct sonde_dsm *dsm, u32 page)
{
	u32 twin;
	int ret;

	if (dsm->pages[page].twin != SONDE_DSM_NO_TWIN)
		return 0;
	twin = sonde_dsm_twin_get(dsm);
	if (twin == SONDE_DSM_NO_TWIN)
		return -EAGAIN;
	dsm->pages[page].twin = twin;
	ret = copy_to_twin(dsm, page, twin);
	if (ret) {
		sonde_dsm_twin_drop(dsm, page);
		sonde_dsm_wake_starved(dsm);
	}
	return ret;
}

/* ---- whether, and then what --------------------------------------------- */

/* Under the page's lock. 0, -ENOMEM, or -EAGAIN if it is to wait. */
static int admit(struct sonde_dsm *dsm, u32 page, bool is_write)
{
	struct sonde_dsm_page *p = &dsm->pages[page];
	int ret = 0;

	if ((p->flags & DSM_PROTECTION) == SONDE_DSM_NONE)
		return -EAGAIN;
	if (!is_write || sonde_dsm_may_write(p->flags))
		return 0;
	if ((p->flags & DSM_PROTECTION) == SONDE_DSM_READ)
		ret = take_twin(dsm, page);
	if (ret)
		return ret;
	sonde_dsm_note(dsm, page);
	return 0;
}

/* Under the page's lock. */
static int show(struct sonde_dsm *dsm, struct vm_area_struct *vma, u32 page,
		bool is_write)
{
	struct sonde_dsm_page *p = &dsm->pages[page];

	/* Before: what is not marked is not taken back. */
	WRITE_ONCE(p->flags, p->flags | DSM_MAPPED | DSM_SEEN);
	return sonde_dsm_show(dsm, vma, page, is_write);
}

/* Under the page's lock: the first of a kind tells, the others only wait. */
static void announce(struct sonde_dsm *dsm, u32 page, bool is_write)
{
	const u32 wait = is_write ? DSM_WAIT_WRITE : DSM_WAIT_READ;
	struct sonde_dsm_page *p = &dsm->pages[page];

	if (p->flags & wait)
		return;
	WRITE_ONCE(p->flags, p->flags | wait);
	sonde_dsm_post(dsm, page, is_write);
}

/* ---- waiting ------------------------------------------------------------ */

/* Whether it is worth trying again. */
static bool is_answered(const struct sonde_dsm *dsm, u32 page, bool is_write)
{
	const u32 wait = is_write ? DSM_WAIT_WRITE : DSM_WAIT_READ;
	const u32 flags = READ_ONCE(dsm->pages[page].flags);

	if (!(flags & wait) || READ_ONCE(dsm->is_closed))
		return true;
	/* A write to a page that may be read lacks a twin. */
	return is_write && (flags & DSM_PROTECTION) != SONDE_DSM_NONE &&
	       READ_ONCE(dsm->nfree);
}

static unsigned int sleep_state(unsigned int flags)
{
	if (flags & FAULT_FLAG_INTERRUPTIBLE)
		return TASK_INTERRUPTIBLE;
	return flags & FAULT_FLAG_KILLABLE ? TASK_KILLABLE :
					     TASK_UNINTERRUPTIBLE;
}

static void wait_for_answer(struct sonde_dsm *dsm, u32 page, bool is_write,
			    unsigned int state)
{
	wait_queue_head_t *queue = sonde_dsm_wait_of(dsm, page);
	DEFINE_WAIT(wait);

	for (;;) {
		prepare_to_wait(queue, &wait, state);
		if (is_answered(dsm, page, is_write) ||
		    signal_pending_state(state, current))
			break;
		schedule();
	}
	finish_wait(queue, &wait);
}

/*
 * Without any lock of the address space, so all of it may have gone when we come
 * back; the segment is held.
 */
static vm_fault_t sleep_and_retry(struct vm_fault *vmf, struct sonde_dsm *dsm,
				  u32 page)
{
	const bool is_write = vmf->flags & FAULT_FLAG_WRITE;
	const unsigned int state = sleep_state(vmf->flags);
	struct file *file;

	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY) || READ_ONCE(dsm->is_closed))
		return VM_FAULT_SIGBUS;
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;
	file = get_file(dsm->view);
	sonde_release_fault_lock(vmf);
	if (is_write)
		atomic_inc(&dsm->writers);
	/* Before it looks for a free twin; see sonde_dsm_wake_starved(). */
	smp_mb__after_atomic();
	wait_for_answer(dsm, page, is_write, state);
	if (is_write)
		atomic_dec(&dsm->writers);
	fput(file);
	return VM_FAULT_RETRY;
}

/* ---- faults ------------------------------------------------------------- */

/*
 * Under the page's lock: may be void here, while a peer has it. What user space was
 * told of, or keeps a twin of, is its own to fill. 0, -ENOMEM, -EAGAIN (no), -EBUSY: not
 * for ever, as the page may be open there again each time that it is tried anew.
 */
static int fill(struct sonde_dsm *dsm, u32 page)
{
	struct sonde_dsm_page *p = &dsm->pages[page];
	int ret;

	if (!dsm->ntable || p->twin != SONDE_DSM_NO_TWIN ||
	    p->flags & (DSM_PROTECTION | DSM_WAITS | DSM_WRITTEN))
		return -EAGAIN;
	ret = sonde_dsm_copy_page(dsm, page);
	if (ret == -EBUSY && (p->flags & DSM_BUSY) != DSM_BUSY) {
		WRITE_ONCE(p->flags, p->flags + (1U << DSM_BUSY_SHIFT));
		return ret;
	}
	WRITE_ONCE(p->flags, (p->flags & ~DSM_BUSY) | (ret ? 0 : SONDE_DSM_READ));
	return ret == -EBUSY ? -EAGAIN : ret;
}

/*
 * 0, -ENOMEM, -EAGAIN, or -EBUSY if a peer is to shut the page first. With @is_plain
 * nobody is told of what must wait, and nothing is copied.
 */
static int serve(struct sonde_dsm *dsm, struct vm_fault *vmf, u32 page,
		 bool is_plain)
{
	const bool is_write = vmf->flags & FAULT_FLAG_WRITE;
	struct mutex *lock = sonde_dsm_lock_of(dsm, page);
	int ret;

	mutex_lock(lock);
	ret = admit(dsm, page, is_write);
	if (ret == -EAGAIN && !is_plain) {
		ret = fill(dsm, page);
		if (!ret)
			ret = admit(dsm, page, is_write);
	}
	if (!ret)
		ret = show(dsm, vmf->vma, page, is_write);
	else if (ret == -EAGAIN && !is_plain && !READ_ONCE(dsm->is_closed))
		announce(dsm, page, is_write);
	mutex_unlock(lock);
	trace_sonde_dsm_fault(page, is_write, ret);
	return ret;
}

/* What cannot be had from a peer, user space must get. */
static void give_up_copying(struct sonde_dsm *dsm, u32 page, bool is_write)
{
	struct mutex *lock = sonde_dsm_lock_of(dsm, page);

	mutex_lock(lock);
	if ((dsm->pages[page].flags & DSM_PROTECTION) == SONDE_DSM_NONE &&
	    !READ_ONCE(dsm->is_closed))
		announce(dsm, page, is_write);
	mutex_unlock(lock);
}

/*
 * Before a copy can be made, where the page comes from it must not be written
 * unnoticed. That takes locks of another address space, so it is done without ours.
 */
static vm_fault_t shut_and_retry(struct vm_fault *vmf, struct sonde_dsm *dsm,
				 u32 page)
{
	const bool is_write = vmf->flags & FAULT_FLAG_WRITE;
	struct file *file;
	int ret;

	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY))
		return VM_FAULT_SIGBUS;
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;
	file = get_file(dsm->view);
	sonde_release_fault_lock(vmf);
	ret = sonde_dsm_shut_home(dsm, page);
	if (ret && ret != -EINTR)
		give_up_copying(dsm, page, is_write);
	fput(file);
	return VM_FAULT_RETRY;
}

static u32 page_of(const struct sonde_dsm *dsm, const struct vm_fault *vmf)
{
	return (vmf->address - vmf->vma->vm_start) >>
	       (PAGE_SHIFT + dsm->shift);
}

static vm_fault_t sonde_dsm_fault(struct vm_fault *vmf)
{
	struct sonde_dsm *dsm = vmf->vma->vm_file->private_data;
	const u32 page = page_of(dsm, vmf);

	switch (serve(dsm, vmf, page, false)) {
	case 0:
		return VM_FAULT_NOPAGE;
	case -EBUSY:
		return shut_and_retry(vmf, dsm, page);
	case -EAGAIN:
		return sleep_and_retry(vmf, dsm, page);
	default:
		return VM_FAULT_OOM;
	}
}

static vm_fault_t sonde_dsm_mkwrite(struct vm_fault *vmf)
{
	struct sonde_dsm *dsm = vmf->vma->vm_file->private_data;

	switch (serve(dsm, vmf, page_of(dsm, vmf), true)) {
	case 0:
		return VM_FAULT_NOPAGE;
	case -EAGAIN:
		sonde_dsm_hide(vmf->vma->vm_mm, vmf->address & PAGE_MASK,
			       PAGE_SIZE);
		return VM_FAULT_NOPAGE;
	default:
		return VM_FAULT_OOM;
	}
}

/* ---- the mapping -------------------------------------------------------- */

static void sonde_dsm_open(struct vm_area_struct *vma)
{
	struct sonde_dsm *dsm = vma->vm_file->private_data;

	down_write(&dsm->mapping);
	dsm->nviews++;
	up_write(&dsm->mapping);
}

static void sonde_dsm_close(struct vm_area_struct *vma)
{
	struct sonde_dsm *dsm = vma->vm_file->private_data;

	down_write(&dsm->mapping);
	if (!--dsm->nviews) {
		dsm->mm = NULL;
		sonde_dsm_unkeep_all(dsm);
	}
	up_write(&dsm->mapping);
}

/* Programs know where it is, and calls go by one address. */
static int sonde_dsm_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

static int sonde_dsm_mremap(struct vm_area_struct *vma)
{
	return -EINVAL;
}

/* For debuggers: what is in the page, whether the program may see it or not. */
static int sonde_dsm_access(struct vm_area_struct *vma, unsigned long addr,
			    void *buf, int len, int write)
{
	struct sonde_dsm *dsm = vma->vm_file->private_data;
	struct page *frame;

	if (write)
		return -EACCES;
	len = min_t(unsigned long, len, PAGE_SIZE - offset_in_page(addr));
	frame = sonde_dsm_frame(dsm, (addr - vma->vm_start) >> PAGE_SHIFT);
	if (!frame)
		return -ENOMEM;
	memcpy(buf, page_address(frame) + offset_in_page(addr), len);
	return len;
}

const struct vm_operations_struct sonde_dsm_view_ops = {
	.open = sonde_dsm_open,
	.close = sonde_dsm_close,
	.sonde_may_split = sonde_dsm_may_split,
	.mremap = sonde_dsm_mremap,
	.fault = sonde_dsm_fault,
	.pfn_mkwrite = sonde_dsm_mkwrite,
	.access = sonde_dsm_access,
};
