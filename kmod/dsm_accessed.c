// SPDX-License-Identifier: GPL-2.0-only
/*
 * SONDE_IOC_DSM_ACCESSED: which pages were read or written since the last look, by
 * the accessed bits of their entries, and by a flag for what was in entries that are gone.
 */
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "sonde.h"
#include "dsm.h"
#include "trace.h"

static_assert(sizeof(struct sonde_dsm_accessed) == 32);
static_assert(sizeof(struct sonde_dsm_accessed) >= SONDE_DSM_ACCESSED_SIZE_VER0);

/* Translations are flushed, so the next access is seen, too. */
static bool look_at_entries(struct sonde_dsm_flush *f, u32 page)
{
	struct sonde_dsm *dsm = f->dsm;
	struct mm_struct *mm = f->vma->vm_mm;

	if (!sonde_dsm_age(mm, sonde_dsm_addr(dsm, page), sonde_dsm_unit(dsm)))
		return false;
	if (dsm->pages[page].flags & DSM_KEPT && mm_has_notifiers(mm))
		sonde_dsm_unkeep(f, page);
	else
		sonde_dsm_flush_add(f, page);
	return true;
}

static bool look_at_page(struct sonde_dsm_flush *f, u32 page)
{
	struct sonde_dsm_page *p = &f->dsm->pages[page];
	struct mutex *lock = sonde_dsm_lock_of(f->dsm, page);
	bool is_accessed;

	mutex_lock(lock);
	is_accessed = p->flags & DSM_SEEN;
	WRITE_ONCE(p->flags, p->flags & ~DSM_SEEN);
	if (f->vma && p->flags & DSM_MAPPED)
		is_accessed |= look_at_entries(f, page);
	mutex_unlock(lock);
	return is_accessed;
}

static int look(struct sonde_dsm *dsm, const u32 *pages, u32 n, u8 *accessed)
{
	struct sonde_dsm_flush f;
	u32 i;
	int ret;

	ret = sonde_dsm_begin(dsm, current->mm, &f);
	if (ret)
		return ret;
	for (i = 0; i < n; i++) {
		accessed[i] = look_at_page(&f, pages[i]);
		cond_resched();
	}
	sonde_dsm_end(dsm, current->mm, &f);
	return 0;
}

static int look_and_tell(struct sonde_dsm *dsm, const u32 *pages, u32 n,
			 u64 uaddr)
{
	u8 *accessed = kvmalloc(n, GFP_KERNEL_ACCOUNT);
	int ret;

	if (!accessed)
		return -ENOMEM;
	ret = look(dsm, pages, n, accessed);
	if (!ret && copy_to_user(u64_to_user_ptr(uaddr), accessed, n))
		ret = -EFAULT;
	kvfree(accessed);
	return ret;
}

/**
 * sonde_ioc_dsm_accessed() - serve SONDE_IOC_DSM_ACCESSED
 * @dsm: the segment
 * @uarg: the caller's struct sonde_dsm_accessed
 * @usize: its size
 *
 * Return: 0, -EFAULT, -EINVAL, -E2BIG, -ENOMEM, -EPERM or -EINTR.
 */
int sonde_ioc_dsm_accessed(struct sonde_dsm *dsm, void __user *uarg,
			   size_t usize)
{
	struct sonde_dsm_accessed args;
	u32 *pages;
	int ret;

	ret = sonde_arg_get(&args, sizeof(args), SONDE_DSM_ACCESSED_SIZE_VER0,
			    uarg, usize);
	if (ret)
		return ret;
	if (args.flags || args.reserved)
		return -EINVAL;
	ret = sonde_dsm_get_pages(dsm, args.pages, args.npages, &pages);
	if (ret)
		return ret;
	ret = look_and_tell(dsm, pages, args.npages, args.accessed);
	kvfree(pages);
	trace_sonde_dsm_accessed(args.npages, ret);
	return ret;
}
