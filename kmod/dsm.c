// SPDX-License-Identifier: GPL-2.0-only
/*
 * SONDE_IOC_DSM_CREATE: a segment of a distributed shared memory, as a file.
 *
 * A segment has two files. The one whose descriptor user space gets is for
 * commands and events; all mappings are of the other one, which lives as long as
 * any of them and owns the segment. So it is known when the last descriptor is
 * closed, after which nobody can let a thread go on that waits for a page.
 *
 * Frames come when they are first needed, by whichever view, and stay: most
 * programs share more than each of their processes ever touches, and what no
 * process has written needs none anywhere. What they may come to is charged at
 * the beginning, so that a program is refused then and not in the middle.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/anon_inodes.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/uaccess.h>

#include "sonde.h"
#include "dsm.h"
#include "trace.h"

static_assert(sizeof(struct sonde_dsm_create) == 40);
static_assert(sizeof(struct sonde_dsm_create) >= SONDE_DSM_CREATE_SIZE_VER0);

/* Numbers of pages and kinds of access fit in 32 bits. */
#define DSM_PAGES_LIMIT	(1UL << 28)

#define ALIAS_PGOFF	(SONDE_DSM_ALIAS >> PAGE_SHIFT)
#define TWINS_PGOFF	(SONDE_DSM_TWINS >> PAGE_SHIFT)
#define TABLE_PGOFF	(SONDE_DSM_TABLE >> PAGE_SHIFT)
#define EVENTS_PGOFF	(SONDE_DSM_EVENTS >> PAGE_SHIFT)

static unsigned long dsm_pages;
module_param(dsm_pages, ulong, 0444);
MODULE_PARM_DESC(dsm_pages, "Most base pages that all segments of SONDE_IOC_DSM_CREATE may come to, twins included (default three quarters of RAM)");

static atomic_long_t pages_promised;
static atomic_long_t pages_held;

/**
 * sonde_dsm_check_params() - refuse module parameters that are out of range
 *
 * Return: 0 or -EINVAL.
 */
int __init sonde_dsm_check_params(void)
{
	if (!dsm_pages)
		dsm_pages = min(totalram_pages() / 4 * 3, DSM_PAGES_LIMIT);
	if (dsm_pages > DSM_PAGES_LIMIT) {
		pr_err("dsm_pages=%lu must be at most %lu\n", dsm_pages,
		       DSM_PAGES_LIMIT);
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
module_param_cb(dsm_held, &held_ops, NULL, 0444);
MODULE_PARM_DESC(dsm_held, "Base pages that all segments have now (read only)");

/* ---- the object --------------------------------------------------------- */

/* Before the table's. */
static unsigned long count_plain(const struct sonde_dsm *dsm)
{
	return ((unsigned long)dsm->npages + dsm->ntwins) << dsm->shift;
}

static unsigned long count_frames(const struct sonde_dsm *dsm)
{
	return count_plain(dsm) + dsm->ntable + dsm->nring;
}

/**
 * sonde_dsm_frame() - the frame of a base page, of a page or a twin
 * @dsm: the segment
 * @i: which
 *
 * Return: it, zeroed if it is new, or NULL if there is no memory.
 */
struct page *sonde_dsm_frame(struct sonde_dsm *dsm, unsigned long i)
{
	struct page *frame = smp_load_acquire(&dsm->frames[i]), *other;

	if (likely(frame))
		return frame;
	frame = alloc_page(GFP_USER | __GFP_ZERO | SONDE_GFP_ACCOUNT);
	if (!frame)
		return NULL;
	/* The first who comes decides; its zeros are seen by who finds it. */
	other = cmpxchg(&dsm->frames[i], NULL, frame);
	if (other) {
		__free_page(frame);
		return other;
	}
	atomic_long_inc(&pages_held);
	return frame;
}

static void free_frames(struct sonde_dsm *dsm)
{
	const unsigned long n = count_frames(dsm);
	unsigned long i, held = 0;

	for (i = 0; dsm->frames && i < n; i++) {
		if (dsm->frames[i]) {
			__free_page(dsm->frames[i]);
			held++;
		}
		cond_resched();
	}
	atomic_long_sub(held, &pages_held);
	atomic_long_sub(n, &pages_promised);
}

static void free_dsm(struct sonde_dsm *dsm)
{
	unsigned int i;

	sonde_dsm_ring_close(dsm);
	free_frames(dsm);
	sonde_uncharge_locked(dsm->charged, count_frames(dsm));
	for (i = 0; i < DSM_LOCKS; i++)
		mutex_destroy(&dsm->locks[i]);
	mutex_destroy(&dsm->looking);
	kvfree(dsm->kept.entries);
	kvfree(dsm->is_copied);
	kvfree(dsm->is_queued);
	kvfree(dsm->free);
	kvfree(dsm->written.entries);
	kvfree(dsm->events.entries);
	kvfree(dsm->pages);
	kvfree(dsm->frames);
	kfree(dsm);
}

static void init_locks(struct sonde_dsm *dsm)
{
	unsigned int i;

	for (i = 0; i < DSM_LOCKS; i++) {
		mutex_init(&dsm->locks[i]);
		init_waitqueue_head(&dsm->waits[i]);
	}
	init_rwsem(&dsm->mapping);
	mutex_init(&dsm->looking);
	dsm->turn = 1;
	spin_lock_init(&dsm->lock);
	init_waitqueue_head(&dsm->readers);
}

static int make_tables(struct sonde_dsm *dsm)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_NOWARN;

	dsm->frames = kvcalloc(count_frames(dsm), sizeof(*dsm->frames), gfp);
	dsm->pages = kvcalloc(dsm->npages, sizeof(*dsm->pages), gfp);
	dsm->free = kvcalloc(max(dsm->ntwins, 1U), sizeof(*dsm->free), gfp);
	dsm->is_queued = kvcalloc(BITS_TO_LONGS(2 * dsm->npages),
				  sizeof(*dsm->is_queued), gfp);
	if (!dsm->frames || !dsm->pages || !dsm->free || !dsm->is_queued)
		return -ENOMEM;
	if (dsm->ntable) {
		dsm->is_copied = kvcalloc(BITS_TO_LONGS(dsm->npages),
					  sizeof(*dsm->is_copied), gfp);
		if (!dsm->is_copied)
			return -ENOMEM;
	}
	return sonde_dsm_queue_init(&dsm->events, 2 * dsm->npages) ?:
	       sonde_dsm_queue_init(&dsm->written, dsm->npages) ?:
	       (dsm->has_kept ? sonde_dsm_queue_init(&dsm->kept, dsm->npages) : 0);
}

static void init_tables(struct sonde_dsm *dsm)
{
	u32 i;

	for (i = 0; i < dsm->npages; i++) {
		dsm->pages[i].flags = SONDE_DSM_READ;
		dsm->pages[i].twin = SONDE_DSM_NO_TWIN;
	}
	for (i = dsm->ntwins; i; i--)
		dsm->free[dsm->nfree++] = i - 1;
}

static unsigned long count_table(const struct sonde_dsm_create *args)
{
	if (!(args->flags & SONDE_DSM_PEERS))
		return 0;
	return PFN_UP(args->npages * sizeof(struct sonde_dsm_copy));
}

static int new_dsm(struct sonde_dsm **out, const struct sonde_dsm_create *args)
{
	struct sonde_dsm *dsm = kzalloc(sizeof(*dsm), GFP_KERNEL_ACCOUNT);
	const unsigned long ntable = count_table(args);
	const unsigned long nring = args->flags & SONDE_DSM_RING ? 1 : 0;
	int ret;

	if (!dsm)
		return -ENOMEM;
	dsm->shift = ilog2(args->unit) - PAGE_SHIFT;
	init_locks(dsm);
	/* From here on what free_dsm() gives back has been taken. */
	if (!sonde_count_below(&pages_promised,
			       ((args->npages + args->ntwins) << dsm->shift) +
			       ntable + nring, dsm_pages)) {
		free_dsm(dsm);
		return -EDQUOT;
	}
	dsm->npages = args->npages;
	dsm->ntwins = args->ntwins;
	dsm->ntable = ntable;
	dsm->nring = nring;
	dsm->has_kept = args->flags & SONDE_DSM_KEEP;
	ret = sonde_charge_locked(count_frames(dsm), &dsm->charged);
	if (!ret)
		ret = make_tables(dsm);
	if (!ret && nring)
		ret = sonde_dsm_ring_open(dsm, count_frames(dsm) - 1, args->eventfd);
	if (ret) {
		free_dsm(dsm);
		return ret;
	}
	init_tables(dsm);
	*out = dsm;
	return 0;
}

/* ---- mappings ----------------------------------------------------------- */

static vm_fault_t sonde_dsm_plain_fault(struct vm_fault *vmf)
{
	struct sonde_dsm *dsm = vmf->vma->vm_file->private_data;
	const unsigned long npages = (unsigned long)dsm->npages << dsm->shift;
	unsigned long i;
	struct page *frame;

	if (vmf->pgoff >= EVENTS_PGOFF)
		i = vmf->pgoff - EVENTS_PGOFF + count_plain(dsm) + dsm->ntable;
	else if (vmf->pgoff >= TABLE_PGOFF)
		i = vmf->pgoff - TABLE_PGOFF + count_plain(dsm);
	else if (vmf->pgoff >= TWINS_PGOFF)
		i = vmf->pgoff - TWINS_PGOFF + npages;
	else
		i = vmf->pgoff - ALIAS_PGOFF;
	frame = sonde_dsm_frame(dsm, i);
	if (!frame)
		return VM_FAULT_OOM;
	get_page(frame);
	vmf->page = frame;
	return 0;
}

static const struct vm_operations_struct sonde_dsm_plain_ops = {
	.fault = sonde_dsm_plain_fault,
};

static int map_view(struct sonde_dsm *dsm, struct vm_area_struct *vma)
{
	int ret = -EBUSY;

	if (vma->vm_pgoff ||
	    vma_pages(vma) != (unsigned long)dsm->npages << dsm->shift)
		return -EINVAL;
	down_write(&dsm->mapping);
	if (!dsm->nviews) {
		dsm->nviews = 1;
		dsm->mm = vma->vm_mm;
		dsm->addr = vma->vm_start;
		ret = 0;
	}
	up_write(&dsm->mapping);
	if (ret)
		return ret;
	sonde_vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTCOPY |
				VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &sonde_dsm_view_ops;
	return 0;
}

/* Of the @n base pages that begin at @pgoff. */
static int map_plain(struct vm_area_struct *vma, unsigned long pgoff,
		     unsigned long n)
{
	const unsigned long at = vma->vm_pgoff - pgoff;

	if (at >= n || vma_pages(vma) > n - at)
		return -ENXIO;
	sonde_vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND);
	vma->vm_ops = &sonde_dsm_plain_ops;
	return 0;
}

static int sonde_dsm_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct sonde_dsm *dsm = file->private_data;
	const unsigned long npages = (unsigned long)dsm->npages << dsm->shift;
	int ret;

	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_pgoff >= EVENTS_PGOFF)
		ret = map_plain(vma, EVENTS_PGOFF, dsm->nring);
	else if (vma->vm_pgoff >= TABLE_PGOFF)
		ret = map_plain(vma, TABLE_PGOFF, dsm->ntable);
	else if (vma->vm_pgoff >= TWINS_PGOFF)
		ret = map_plain(vma, TWINS_PGOFF,
				count_plain(dsm) - npages);
	else if (vma->vm_pgoff >= ALIAS_PGOFF)
		ret = map_plain(vma, ALIAS_PGOFF, npages);
	else
		ret = map_view(dsm, vma);
	if (!ret)
		sonde_vma_set_file(vma, dsm->view);
	return ret;
}

/* ---- files -------------------------------------------------------------- */

static int release_view(struct inode *inode, struct file *file)
{
	free_dsm(file->private_data);
	return 0;
}

static const struct file_operations view_fops = {
	.owner = THIS_MODULE,
	.release = release_view,
};

static int sonde_dsm_release(struct inode *inode, struct file *file)
{
	struct sonde_dsm *dsm = file->private_data;
	unsigned int i;

	WRITE_ONCE(dsm->is_closed, true);
	for (i = 0; i < DSM_LOCKS; i++)
		wake_up_all(&dsm->waits[i]);
	sonde_dsm_leave_peers(dsm);
	fput(dsm->view);
	return 0;
}

static void sonde_dsm_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct sonde_dsm *dsm = file->private_data;
	u64 misses, writes, copies, shuts, unseen, overflows;
	u32 written, events, nfree, nkept;

	spin_lock(&dsm->lock);
	written = dsm->written.count;
	events = dsm->events.count + sonde_dsm_ring_count(dsm);
	overflows = dsm->overflows;
	nfree = dsm->nfree;
	misses = dsm->misses;
	writes = dsm->writes;
	copies = dsm->copies;
	shuts = dsm->shuts;
	nkept = dsm->nkept;
	unseen = dsm->unseen;
	spin_unlock(&dsm->lock);
	seq_printf(m, "sonde-pages:\t%u\nsonde-unit:\t%lu\nsonde-twins:\t%u\n"
		   "sonde-twins-free:\t%u\nsonde-written:\t%u\n"
		   "sonde-events:\t%u\nsonde-misses:\t%llu\n"
		   "sonde-writes:\t%llu\nsonde-copies:\t%llu\n"
		   "sonde-shuts:\t%llu\nsonde-kept:\t%u\n"
		   "sonde-unseen:\t%llu\nsonde-overflows:\t%llu\n", dsm->npages, sonde_dsm_unit(dsm),
		   dsm->ntwins, nfree, written, events, misses, writes,
		   copies, shuts, nkept, unseen, overflows);
}

const struct file_operations sonde_dsm_fops = {
	.owner = THIS_MODULE,
	.read = sonde_dsm_read,
	.poll = sonde_dsm_poll,
	.unlocked_ioctl = sonde_dsm_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = sonde_dsm_mmap,
	.release = sonde_dsm_release,
	.show_fdinfo = sonde_dsm_show_fdinfo,
};

/* ---- the command -------------------------------------------------------- */

static int check_create(const struct sonde_dsm_create *args)
{
	if (args->flags & ~(SONDE_DSM_PEERS | SONDE_DSM_KEEP | SONDE_DSM_RING) ||
	    args->reserved || (args->eventfd && !(args->flags & SONDE_DSM_RING)))
		return -EINVAL;
	if (!args->npages || args->unit < PAGE_SIZE ||
	    args->unit > SONDE_DSM_UNIT || !is_power_of_2(args->unit))
		return -EINVAL;
	if (args->npages > DSM_PAGES_LIMIT || args->ntwins > DSM_PAGES_LIMIT)
		return -EDQUOT;
	return 0;
}

/* Both files; the first owns the segment from when it is there. */
static int make_files(struct file **file, const struct sonde_dsm_create *args)
{
	struct sonde_dsm *dsm;
	struct file *view;
	int ret;

	ret = new_dsm(&dsm, args);
	if (ret)
		return ret;
	view = anon_inode_getfile("[sonde-dsm-view]", &view_fops, dsm, O_RDWR);
	if (IS_ERR(view)) {
		free_dsm(dsm);
		return PTR_ERR(view);
	}
	dsm->view = view;
	*file = anon_inode_getfile("[sonde-dsm]", &sonde_dsm_fops, dsm, O_RDWR);
	if (!IS_ERR(*file))
		return 0;
	fput(view);
	return PTR_ERR(*file);
}

/* Makes it known to the caller, at last: nothing may fail after that. */
static int publish(struct file *file, struct sonde_dsm_create *args,
		   void __user *uarg, size_t usize)
{
	args->fd = get_unused_fd_flags(O_CLOEXEC);
	if (args->fd < 0)
		return args->fd;
	if (copy_to_user(uarg, args, min(usize, sizeof(*args)))) {
		put_unused_fd(args->fd);
		return -EFAULT;
	}
	fd_install(args->fd, file);
	return 0;
}

/**
 * sonde_ioc_dsm_create() - serve SONDE_IOC_DSM_CREATE
 * @sf: the open file
 * @uarg: the caller's struct sonde_dsm_create
 * @usize: its size
 *
 * Return: 0, -EFAULT, -EINVAL, -E2BIG, -ENOMEM, -ENOBUFS, -EDQUOT, -EBADF, -EMFILE
 * or -ENFILE.
 */
int sonde_ioc_dsm_create(const struct sonde_file *sf, void __user *uarg,
			 size_t usize)
{
	struct sonde_dsm_create args;
	struct file *file;
	int ret;

	ret = sonde_arg_get(&args, sizeof(args), SONDE_DSM_CREATE_SIZE_VER0,
			    uarg, usize);
	if (!ret)
		ret = check_create(&args);
	if (ret)
		return ret;
	ret = make_files(&file, &args);
	if (!ret) {
		ret = publish(file, &args, uarg, usize);
		if (ret)
			fput(file);
	}
	trace_sonde_dsm_create(args.npages, args.ntwins, args.unit, ret);
	return ret;
}
