// SPDX-License-Identifier: GPL-2.0-only
/*
 * SONDE_IOC_DSM_PROTECT, _COLLECT and _UNTWIN: lists of pages of a segment.
 *
 * Each page is changed under its lock: first what it allows, then the entries
 * that allow more. A thread that makes an entry meanwhile does so under that
 * lock too, by what is allowed now. All entries are flushed together, before
 * user space is told anything.
 */
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "sonde.h"
#include "dsm.h"
#include "trace.h"

static_assert(sizeof(struct sonde_dsm_protect) == 24);
static_assert(sizeof(struct sonde_dsm_protect) >= SONDE_DSM_PROTECT_SIZE_VER0);
static_assert(sizeof(struct sonde_dsm_collect) == 32);
static_assert(sizeof(struct sonde_dsm_collect) >= SONDE_DSM_COLLECT_SIZE_VER0);
static_assert(sizeof(struct sonde_dsm_untwin) == 24);
static_assert(sizeof(struct sonde_dsm_untwin) >= SONDE_DSM_UNTWIN_SIZE_VER0);

/**
 * sonde_dsm_get_list() - words of user space
 * @uaddr: where they are
 * @n: how many
 * @most: that may be
 *
 * Return: them, to be freed by kvfree(), or -EINVAL, -EFAULT, -ENOMEM as a pointer.
 */
void *sonde_dsm_get_list(u64 uaddr, u32 n, u32 most)
{
	if (n > most)
		return ERR_PTR(-EINVAL);
	return vmemdup_user(u64_to_user_ptr(uaddr), n * sizeof(u32));
}

/**
 * sonde_dsm_get_pages() - pages that user space names, all of which exist
 * @dsm: the segment
 * @uaddr: where their numbers are
 * @n: how many
 * @out: out: the numbers, to be freed by kvfree()
 *
 * Return: 0, -EINVAL, -EFAULT or -ENOMEM.
 */
int sonde_dsm_get_pages(const struct sonde_dsm *dsm, u64 uaddr, u32 n,
			u32 **out)
{
	u32 i, *pages = sonde_dsm_get_list(uaddr, n, SONDE_DSM_LIST);

	if (IS_ERR(pages))
		return PTR_ERR(pages);
	for (i = 0; i < n; i++) {
		if (pages[i] >= dsm->npages) {
			kvfree(pages);
			return -EINVAL;
		}
	}
	*out = pages;
	return 0;
}

/* ---- the view ----------------------------------------------------------- */

/*
 * NULL while it is being unmapped: munmap() takes it out of the address space first,
 * then lets readers of the mmap_lock in, and takes its entries back.
 */
static struct vm_area_struct *find_view(const struct sonde_dsm *dsm,
					struct mm_struct *mm)
{
	struct vm_area_struct *vma = find_vma(mm, dsm->addr);

	return vma && vma->vm_file == dsm->view &&
	       vma->vm_ops == &sonde_dsm_view_ops ? vma : NULL;
}

/**
 * sonde_dsm_begin() - before entries of the view are changed
 * @dsm: the segment
 * @mm: the address space; only the one that has the view mapped may go on
 * @f: out: to flush with; its VMA is NULL where there is none
 *
 * Keeps the view where it is, and others from mapping it where there is none.
 *
 * Return: 0, -EINTR or -EPERM; after 0 sonde_dsm_end() is to follow.
 */
int sonde_dsm_begin(struct sonde_dsm *dsm, struct mm_struct *mm,
		    struct sonde_dsm_flush *f)
{
	if (mmap_read_lock_killable(mm))
		return -EINTR;
	down_read(&dsm->mapping);
	if (dsm->mm && dsm->mm != mm) {
		up_read(&dsm->mapping);
		mmap_read_unlock(mm);
		return -EPERM;
	}
	f->dsm = dsm;
	f->vma = dsm->mm ? find_view(dsm, mm) : NULL;
	sonde_dsm_flush_begin(f);
	return 0;
}

/**
 * sonde_dsm_end() - flush what was changed, and let go of the view
 * @dsm: as for sonde_dsm_begin(), and so on
 * @mm: .
 * @f: .
 */
void sonde_dsm_end(struct sonde_dsm *dsm, struct mm_struct *mm,
		   struct sonde_dsm_flush *f)
{
	sonde_dsm_flush_end(f);
	up_read(&dsm->mapping);
	mmap_read_unlock(mm);
}

/* ---- protection --------------------------------------------------------- */

/* Under the page's lock: no entry is to allow more than the page does now. */
static void restrict_entries(struct sonde_dsm_flush *f, u32 page, u32 was)
{
	struct sonde_dsm *dsm = f->dsm;
	struct sonde_dsm_page *p = &dsm->pages[page];
	const unsigned long addr = sonde_dsm_addr(dsm, page);
	unsigned int had;

	if (!f->vma || !(was & DSM_MAPPED))
		return;
	if ((p->flags & DSM_PROTECTION) == SONDE_DSM_NONE) {
		had = sonde_dsm_hide(f->vma->vm_mm, addr, sonde_dsm_unit(dsm));
		WRITE_ONCE(p->flags, (p->flags & ~DSM_MAPPED) |
			   (had & DSM_WAS_YOUNG ? DSM_SEEN : 0));
	} else if (sonde_dsm_may_write(was) && !sonde_dsm_may_write(p->flags)) {
		sonde_dsm_shut(f->vma->vm_mm, addr, sonde_dsm_unit(dsm));
	} else {
		return;
	}
	sonde_dsm_flush_add(f, page);
}

/*
 * Writes to it are not noted any more, unless there is a copy that was made since it
 * was collected. Returns the flags that it is to have.
 */
static u32 let_write(struct sonde_dsm *dsm, u32 page, u32 now)
{
	if (!dsm->is_copied)
		return now & ~DSM_WRITTEN;
	WRITE_ONCE(dsm->pages[page].flags, now);
	/* Who copies sets the bit, then looks at the flags: see dsm_peer.c. */
	smp_mb();
	if (test_bit(page, dsm->is_copied))
		return now | DSM_SHUT;
	return now & ~DSM_WRITTEN;
}

static void protect_page(struct sonde_dsm_flush *f, u32 page, u32 protection)
{
	struct sonde_dsm *dsm = f->dsm;
	struct sonde_dsm_page *p = &dsm->pages[page];
	struct mutex *lock = sonde_dsm_lock_of(dsm, page);
	u32 was, now;

	mutex_lock(lock);
	if (p->flags & DSM_KEPT)
		sonde_dsm_unkeep(f, page);
	was = p->flags;
	now = (was & ~(DSM_PROTECTION | DSM_SHUT | DSM_BUSY)) | protection;
	if (protection != SONDE_DSM_NONE)
		now &= ~DSM_WAITS;
	/* What comes and goes, or is not noted, had better not be kept. */
	if (protection != SONDE_DSM_READ)
		now &= ~DSM_TURN;
	if (protection == SONDE_DSM_WRITE)
		now = let_write(dsm, page, now);
	WRITE_ONCE(p->flags, now);
	/* Of a page that changes unseen it says nothing, unless somebody has it. */
	if (protection == SONDE_DSM_WRITE && !(now & (DSM_TOLD | DSM_WRITTEN)))
		sonde_dsm_twin_drop(dsm, page);
	restrict_entries(f, page, was);
	mutex_unlock(lock);
	if (was & ~now & DSM_WAITS)
		wake_up_all(sonde_dsm_wait_of(dsm, page));
}

static int protect(struct sonde_dsm *dsm, const struct sonde_dsm_protect *args,
		   const u32 *pages)
{
	struct sonde_dsm_flush f;
	u32 i;
	int ret;

	ret = sonde_dsm_begin(dsm, current->mm, &f);
	if (ret)
		return ret;
	for (i = 0; i < args->npages; i++) {
		protect_page(&f, pages[i], args->protection);
		cond_resched();
	}
	sonde_dsm_end(dsm, current->mm, &f);
	sonde_dsm_wake_starved(dsm);
	return 0;
}

static int ioc_protect(struct sonde_dsm *dsm, void __user *uarg, size_t usize)
{
	struct sonde_dsm_protect args;
	u32 *pages;
	int ret;

	ret = sonde_arg_get(&args, sizeof(args), SONDE_DSM_PROTECT_SIZE_VER0,
			    uarg, usize);
	if (ret)
		return ret;
	if (args.protection > SONDE_DSM_WRITE || args.reserved)
		return -EINVAL;
	ret = sonde_dsm_get_pages(dsm, args.pages, args.npages, &pages);
	if (ret)
		return ret;
	ret = protect(dsm, &args, pages);
	kvfree(pages);
	trace_sonde_dsm_protect(args.npages, args.protection, ret);
	return ret;
}

/* ---- for who copies ----------------------------------------------------- */

/* It may not be written unnoticed any more. The mapping stays, or is none. */
static void shut_page(struct sonde_dsm_flush *f, u32 page)
{
	struct sonde_dsm *dsm = f->dsm;
	struct sonde_dsm_page *p = &dsm->pages[page];
	struct mutex *lock = sonde_dsm_lock_of(dsm, page);
	u32 was;

	mutex_lock(lock);
	was = p->flags;
	if ((was & DSM_PROTECTION) == SONDE_DSM_WRITE) {
		set_bit(page, dsm->is_copied);
		WRITE_ONCE(p->flags, was | DSM_SHUT);
		restrict_entries(f, page, was);
	}
	mutex_unlock(lock);
}

/* The address space that has it mapped, to be given back by mmput(), or NULL. */
static int get_mm(struct sonde_dsm *dsm, struct mm_struct **mm)
{
	int ret = 0;

	down_read(&dsm->mapping);
	*mm = dsm->mm;
	if (*mm && !mmget_not_zero(*mm))
		ret = -ESRCH;
	up_read(&dsm->mapping);
	return ret;
}

/* Nobody has it mapped, or it is too late to say so. */
static int shut_unmapped(struct sonde_dsm *dsm, u32 page)
{
	struct sonde_dsm_flush f = { .dsm = dsm };
	int ret = -EAGAIN;

	down_read(&dsm->mapping);
	if (!dsm->mm) {
		shut_page(&f, page);
		ret = 0;
	}
	up_read(&dsm->mapping);
	return ret;
}

/**
 * sonde_dsm_shut_page() - from now on writes to a page are noted
 * @dsm: the segment, maybe of another process, held
 * @page: which
 *
 * The caller has no lock, of pages or of an address space.
 *
 * Return: 0, -EAGAIN (its mapping has changed meanwhile), -ESRCH (its process is
 * about to end), or -EINTR.
 */
int sonde_dsm_shut_page(struct sonde_dsm *dsm, u32 page)
{
	struct sonde_dsm_flush f;
	struct mm_struct *mm;
	int ret;

	ret = get_mm(dsm, &mm);
	if (ret)
		return ret;
	if (!mm)
		return shut_unmapped(dsm, page);
	ret = sonde_dsm_begin(dsm, mm, &f);
	if (!ret) {
		shut_page(&f, page);
		sonde_dsm_end(dsm, mm, &f);
	}
	mmput(mm);
	return ret == -EPERM ? -EAGAIN : ret;
}

/* ---- written pages ------------------------------------------------------ */

/*
 * Copies that were made up to now are older than what user space will call the page:
 * they need not keep it shut. Flags first, then the bit, as who copies sets
 * the bit and then looks at the flags.
 */
static void forget_copies(struct sonde_dsm *dsm, u32 page)
{
	struct sonde_dsm_page *p = &dsm->pages[page];

	WRITE_ONCE(p->flags, p->flags & ~DSM_SHUT);
	smp_mb();
	clear_bit(page, dsm->is_copied);
}

/*
 * False if it is on the list for what need not be noted any more. The twin stays
 * the page's until user space says that it is done with it.
 */
static bool collect_page(struct sonde_dsm_flush *f,
			 struct sonde_dsm_written *written)
{
	struct sonde_dsm *dsm = f->dsm;
	struct sonde_dsm_page *p = &dsm->pages[written->page];
	struct mutex *lock = sonde_dsm_lock_of(dsm, written->page);
	u32 was;

	mutex_lock(lock);
	was = p->flags;
	written->twin = p->twin;
	WRITE_ONCE(p->flags, (was & ~(DSM_WRITTEN | DSM_LISTED)) |
		   (was & DSM_WRITTEN && p->twin != SONDE_DSM_NO_TWIN ?
		    DSM_TOLD : 0));
	if (was & DSM_WRITTEN && dsm->is_copied)
		forget_copies(dsm, written->page);
	if (!(was & DSM_WRITTEN) || !sonde_dsm_keep(f, written->page))
		restrict_entries(f, written->page, was);
	mutex_unlock(lock);
	return was & DSM_WRITTEN;
}

/* False if it was not written, or is not kept any more: then that is on its list. */
static bool look_at_page(struct sonde_dsm_flush *f,
			 struct sonde_dsm_written *written)
{
	struct sonde_dsm *dsm = f->dsm;
	struct sonde_dsm_page *p = &dsm->pages[written->page];
	struct mutex *lock = sonde_dsm_lock_of(dsm, written->page);
	bool is_written;

	mutex_lock(lock);
	is_written = sonde_dsm_look(f, written->page);
	if (is_written) {
		written->twin = p->twin;
		WRITE_ONCE(p->flags, p->flags | DSM_TOLD);
		if (dsm->is_copied)
			forget_copies(dsm, written->page);
	}
	mutex_unlock(lock);
	return is_written;
}

/* The list could not be told. The page may have been written again meanwhile. */
static void uncollect_page(struct sonde_dsm *dsm, u32 page)
{
	struct mutex *lock = sonde_dsm_lock_of(dsm, page);

	mutex_lock(lock);
	/* One that was copied may be SONDE_DSM_WRITE; to tell of it once more is safe. */
	if ((dsm->pages[page].flags & DSM_PROTECTION) != SONDE_DSM_WRITE ||
	    dsm->is_copied)
		sonde_dsm_note(dsm, page);
	mutex_unlock(lock);
}

/*
 * There is room for all that were noted or kept when it was made: others may add to what
 * is noted meanwhile, which is for the next call.
 */
static void collect(struct sonde_dsm_flush *f, u32 noted, u32 kept,
		    struct sonde_dsm_collect *args,
		    struct sonde_dsm_written *written)
{
	struct sonde_dsm *dsm = f->dsm;

	for (; noted && args->count < args->room; noted--) {
		if (!sonde_dsm_take_written(dsm, &written[args->count].page))
			break;
		args->count += collect_page(f, &written[args->count]);
		cond_resched();
	}
	for (; kept && args->count < args->room; kept--) {
		written[args->count].page = sonde_dsm_pop(&dsm->kept);
		if (look_at_page(f, &written[args->count])) {
			args->count++;
			args->unseen++;
		}
		cond_resched();
	}
}

static int collect_all(struct sonde_dsm *dsm, struct sonde_dsm_collect *args,
		       struct sonde_dsm_written **written)
{
	struct sonde_dsm_flush f;
	const u32 asked = args->room;
	u32 noted, kept;
	int ret;

	ret = sonde_dsm_begin(dsm, current->mm, &f);
	if (ret)
		return ret;
	mutex_lock(&dsm->looking);
	kept = dsm->kept.count;
	noted = READ_ONCE(dsm->written.count);
	args->room = min(args->room, noted + kept);
	*written = kvmalloc_array(args->room, sizeof(**written),
				  GFP_KERNEL_ACCOUNT);
	if (*written) {
		collect(&f, noted, kept, args, *written);
		sonde_dsm_take_turn(dsm, args->count, args->count < asked);
		/* The caller has it back as it was. */
		args->room = asked;
	} else {
		ret = -ENOMEM;
	}
	mutex_unlock(&dsm->looking);
	sonde_dsm_end(dsm, current->mm, &f);
	sonde_dsm_wake_starved(dsm);
	return ret;
}

static int tell_collected(const struct sonde_dsm_collect *args,
			  const struct sonde_dsm_written *written,
			  void __user *uarg, size_t usize)
{
	if (copy_to_user(u64_to_user_ptr(args->written), written,
			 args->count * sizeof(*written)) ||
	    copy_to_user(uarg, args, min(usize, sizeof(*args))))
		return -EFAULT;
	return 0;
}

static int ioc_collect(struct sonde_dsm *dsm, void __user *uarg, size_t usize)
{
	struct sonde_dsm_written *written = NULL;
	struct sonde_dsm_collect args;
	u32 i;
	int ret;

	ret = sonde_arg_get(&args, sizeof(args), SONDE_DSM_COLLECT_SIZE_VER0,
			    uarg, usize);
	if (ret)
		return ret;
	if (args.flags || args.reserved || args.room > SONDE_DSM_LIST)
		return -EINVAL;
	args.count = 0;
	args.unseen = 0;
	ret = collect_all(dsm, &args, &written);
	if (!ret)
		ret = tell_collected(&args, written, uarg, usize);
	for (i = 0; ret == -EFAULT && i < args.count; i++)
		uncollect_page(dsm, written[i].page);
	kvfree(written);
	trace_sonde_dsm_collect(args.count, ret);
	return ret;
}

/* ---- twins -------------------------------------------------------------- */

/* What was written since it was collected, or is kept, needs its twin still. */
static bool untwin_page(struct sonde_dsm *dsm, u32 page)
{
	struct sonde_dsm_page *p = &dsm->pages[page];
	struct mutex *lock = sonde_dsm_lock_of(dsm, page);
	bool is_free;

	mutex_lock(lock);
	is_free = p->twin != SONDE_DSM_NO_TWIN &&
		  !(p->flags & (DSM_WRITTEN | DSM_KEPT));
	if (is_free)
		sonde_dsm_twin_drop(dsm, page);
	else if (!(p->flags & DSM_WRITTEN))
		WRITE_ONCE(p->flags, p->flags & ~DSM_TOLD);
	mutex_unlock(lock);
	return is_free;
}

static u32 untwin(struct sonde_dsm *dsm, const u32 *pages, u32 n)
{
	u32 i, count = 0;

	for (i = 0; i < n; i++) {
		count += untwin_page(dsm, pages[i]);
		cond_resched();
	}
	if (count)
		sonde_dsm_wake_starved(dsm);
	return count;
}

static int ioc_untwin(struct sonde_dsm *dsm, void __user *uarg, size_t usize)
{
	struct sonde_dsm_untwin args;
	u32 *pages;
	int ret;

	ret = sonde_arg_get(&args, sizeof(args), SONDE_DSM_UNTWIN_SIZE_VER0,
			    uarg, usize);
	if (ret)
		return ret;
	if (args.flags || args.reserved)
		return -EINVAL;
	ret = sonde_dsm_get_pages(dsm, args.pages, args.npages, &pages);
	if (ret)
		return ret;
	trace_sonde_dsm_untwin(args.npages, untwin(dsm, pages, args.npages));
	kvfree(pages);
	return 0;
}

/**
 * sonde_dsm_ioctl() - commands on a segment
 * @file: the descriptor's
 * @cmd: SONDE_IOC_DSM_*
 * @arg: address of the caller's struct
 *
 * Return: 0, -ENOTTY, or what the command says.
 */
long sonde_dsm_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct sonde_dsm *dsm = file->private_data;
	void __user *uarg = (void __user *)arg;

	if (sonde_is_same_command(cmd, SONDE_IOC_DSM_PROTECT))
		return ioc_protect(dsm, uarg, _IOC_SIZE(cmd));
	if (sonde_is_same_command(cmd, SONDE_IOC_DSM_COLLECT))
		return ioc_collect(dsm, uarg, _IOC_SIZE(cmd));
	if (sonde_is_same_command(cmd, SONDE_IOC_DSM_UNTWIN))
		return ioc_untwin(dsm, uarg, _IOC_SIZE(cmd));
	if (sonde_is_same_command(cmd, SONDE_IOC_DSM_ACCESSED))
		return sonde_ioc_dsm_accessed(dsm, uarg, _IOC_SIZE(cmd));
	if (sonde_is_same_command(cmd, SONDE_IOC_DSM_PEERS))
		return sonde_ioc_dsm_peers(file, uarg, _IOC_SIZE(cmd));
	return -ENOTTY;
}
