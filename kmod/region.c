// SPDX-License-Identifier: GPL-2.0-only
/*
 * A region is a file: memory that its owner exported, pinned, which whoever
 * holds the descriptor may copy from and to and map, within its rights.
 *
 * A region must never show what its owner no longer has there. An interval
 * notifier tells of all that happens to the range, before it happens. What is
 * unmapped or moved is lost at once. Where pages may have been replaced the
 * region is in doubt, and whoever uses it next compares: fork() of a huge page
 * splits it, migration and swapping try what they cannot do to a pinned page,
 * and none of that replaces anything. What only changes protection is no news:
 * the owner's writes go to the pinned page all the same.
 */
#include <linux/anon_inodes.h>
#include <linux/build_bug.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <uapi/linux/fcntl.h>

#include "sonde.h"
#include "region.h"
#include "trace.h"

static_assert(sizeof(struct sonde_export) == 56);
static_assert(sizeof(struct sonde_export) >= SONDE_EXPORT_SIZE_VER0);
static_assert(sizeof(struct sonde_revoke) == 16);
static_assert(sizeof(struct sonde_revoke) >= SONDE_REVOKE_SIZE_VER0);
static_assert(sizeof(struct sonde_check) == 40);
static_assert(sizeof(struct sonde_check) >= SONDE_CHECK_SIZE_VER0);

/* Pages that are compared at a time. */
#define COMPARE_CHUNK	32

/* ---- what happens to the owner's memory --------------------------------- */

/* Under the lock. A region that is lost stays so, for its first reason. */
static void lose(struct sonde_region *r, int why)
{
	if (r->state < 0)
		return;
	WRITE_ONCE(*r->word, 0);
	WRITE_ONCE(r->state, why);
}

/* Under the lock. */
static void doubt(struct sonde_region *r, unsigned long from, unsigned long to)
{
	if (r->state < 0)
		return;
	WRITE_ONCE(*r->word, r->generation | SONDE_STATE_SUSPECT);
	WRITE_ONCE(r->state, SONDE_REGION_IN_DOUBT);
	r->from = min(r->from, from);
	r->to = max(r->to, to);
}

static bool is_harmless(enum mmu_notifier_event event)
{
	return event == MMU_NOTIFY_PROTECTION_VMA ||
	       event == MMU_NOTIFY_PROTECTION_PAGE ||
	       event == MMU_NOTIFY_SOFT_DIRTY;
}

/* Before the change. Neither sleeps nor allocates, so it need not refuse. */
static bool sonde_region_invalidate(struct mmu_interval_notifier *notifier,
				    const struct mmu_notifier_range *range,
				    unsigned long cur_seq)
{
	struct sonde_region *r = container_of(notifier, struct sonde_region,
					      notifier);

	if (is_harmless(range->event))
		return true;
	spin_lock(&r->lock);
	mmu_interval_set_seq(notifier, cur_seq);
	if (range->event == MMU_NOTIFY_RELEASE)
		lose(r, -EOWNERDEAD);
	else if (range->event == MMU_NOTIFY_UNMAP)
		lose(r, -ESTALE);
	else
		doubt(r, range->start, range->end);
	spin_unlock(&r->lock);
	/* Who waits is to ask: what is in doubt may turn out to be well. */
	wake_up(&r->wait);
	return true;
}

static const struct mmu_interval_notifier_ops notifier_ops = {
	.invalidate = sonde_region_invalidate,
};

/* ---- whether a doubt is right ------------------------------------------- */

/* The page that was pinned for an address of the owner. */
static struct page *pinned_page(const struct sonde_region *r,
				unsigned long addr)
{
	unsigned long offset = max(addr, r->addr) - r->addr;
	const struct sonde_run *run = sonde_run_find(&r->pinned, offset);

	return virt_to_page((void *)(run->base + offset));
}

/*
 * Under the mmap_lock. Nothing is pinned or written: what is there now is got,
 * through whatever protection, and given back. What is swapped out or on its
 * way to another frame is waited for, but holes of anonymous memory are not
 * filled (FOLL_DUMP). Returns whether it is the same.
 */
static bool compare_chunk(const struct sonde_region *r, struct mm_struct *mm,
			  unsigned long addr, unsigned long n)
{
	struct page *pages[COMPARE_CHUNK];
	const unsigned int flags = FOLL_FORCE | FOLL_DUMP;
	long got = sonde_gup_remote(mm, addr, n, flags, pages), i;
	bool same = got == n;

	for (i = 0; i < got; i++) {
		same &= pages[i] == pinned_page(r, addr + (i << PAGE_SHIFT));
		put_page(pages[i]);
	}
	return same;
}

/* Returns 0, -ESTALE or -EINTR. */
static int compare_pages(const struct sonde_region *r, struct mm_struct *mm,
			 unsigned long from, unsigned long to)
{
	unsigned long n;
	int ret = 0;

	from = max(from, r->addr) & PAGE_MASK;
	to = min(to, r->addr + r->pinned.len);
	while (from < to && !ret) {
		n = min(DIV_ROUND_UP(to - from, PAGE_SIZE),
			(unsigned long)COMPARE_CHUNK);
		if (mmap_read_lock_killable(mm))
			return -EINTR;
		if (!compare_chunk(r, mm, from, n))
			ret = -ESTALE;
		mmap_read_unlock(mm);
		if (fatal_signal_pending(current))
			ret = -EINTR;
		cond_resched();
		from += n << PAGE_SHIFT;
	}
	return ret;
}

/*
 * Compares what is in doubt, and decides unless something else has happened
 * meanwhile. Waits for changes that are under way: what is compared before them
 * would be what was there before them.
 */
static int look_once(struct sonde_region *r, struct mm_struct *mm)
{
	unsigned long seq = mmu_interval_read_begin(&r->notifier), from, to;
	int ret;

	spin_lock(&r->lock);
	from = r->from;
	to = r->to;
	spin_unlock(&r->lock);
	ret = compare_pages(r, mm, from, to);
	if (ret == -EINTR)
		return ret;
	spin_lock(&r->lock);
	if (ret) {
		lose(r, ret);
	} else if (r->state == SONDE_REGION_IN_DOUBT &&
		   !mmu_interval_read_retry(&r->notifier, seq)) {
		r->from = ULONG_MAX;
		r->to = 0;
		WRITE_ONCE(r->state, SONDE_REGION_GOOD);
		WRITE_ONCE(*r->word, r->generation);
	}
	spin_unlock(&r->lock);
	if (ret)
		wake_up_poll(&r->wait, EPOLLERR | EPOLLHUP);
	return 0;
}

static int look(struct sonde_region *r)
{
	struct mm_struct *mm = r->notifier.mm;
	int ret = 0;

	if (!mmget_not_zero(mm)) {
		spin_lock(&r->lock);
		lose(r, -EOWNERDEAD);
		spin_unlock(&r->lock);
		return 0;
	}
	while (!ret && READ_ONCE(r->state) == SONDE_REGION_IN_DOUBT)
		ret = look_once(r, mm);
	mmput(mm);
	return ret;
}

/**
 * sonde_region_settle() - find out what became of a region
 * @r: that was not good
 *
 * Return: 0, -ESTALE, -EOWNERDEAD or -EINTR (a fatal signal).
 */
int sonde_region_settle(struct sonde_region *r)
{
	int ret;

	if (READ_ONCE(r->state) == SONDE_REGION_IN_DOUBT) {
		if (mutex_lock_killable(&r->looking))
			return -EINTR;
		ret = look(r);
		mutex_unlock(&r->looking);
		if (ret)
			return ret;
	}
	return min(READ_ONCE(r->state), 0);
}

/* ---- the file ----------------------------------------------------------- */

static void free_region(struct sonde_region *r)
{
	mmu_interval_notifier_remove(&r->notifier);
	if (r->pinned.runs)
		sonde_unpin(&r->pinned, r->is_dirty);
	sonde_state_put(r->states, r->word_number);
	if (r->backing)
		fput(r->backing);
	mutex_destroy(&r->looking);
	kfree(r);
}

/* May run in any process, and when the owner is long gone. */
static int sonde_region_release(struct inode *inode, struct file *file)
{
	free_region(file->private_data);
	return 0;
}

static __poll_t sonde_region_poll(struct file *file, poll_table *wait)
{
	struct sonde_region *r = file->private_data;
	__poll_t events = 0;

	poll_wait(file, &r->wait, wait);
	if (file->f_mode & FMODE_READ)
		events |= EPOLLIN | EPOLLRDNORM;
	if (file->f_mode & FMODE_WRITE)
		events |= EPOLLOUT | EPOLLWRNORM;
	if (sonde_region_check(r))
		events |= EPOLLERR | EPOLLHUP;
	return events;
}

static loff_t sonde_region_llseek(struct file *file, loff_t offset, int whence)
{
	const struct sonde_region *r = file->private_data;

	return fixed_size_llseek(file, offset, whence, r->pinned.len);
}

static const char *state_name(int state)
{
	switch (state) {
	case SONDE_REGION_GOOD:
		return "good";
	case SONDE_REGION_IN_DOUBT:
		return "in doubt";
	case -EOWNERDEAD:
		return "owner dead";
	default:
		return "stale";
	}
}

/* Who looks here is not to wait for the owner's locks: a doubt stays one. */
static void sonde_region_show_fdinfo(struct seq_file *m, struct file *file)
{
	const struct sonde_region *r = file->private_data;

	seq_printf(m, "sonde-bytes:\t%lu\nsonde-pages:\t%lu\nsonde-runs:\t%lu\n"
		   "sonde-state:\t%s\n", r->pinned.len, r->pinned.npages,
		   r->pinned.nruns, state_name(READ_ONCE(r->state)));
}

const struct file_operations sonde_region_fops = {
	.owner = THIS_MODULE,
	.read = sonde_region_read,
	.write = sonde_region_write,
	.read_iter = sonde_region_read_iter,
	.write_iter = sonde_region_write_iter,
	.llseek = sonde_region_llseek,
	.poll = sonde_region_poll,
	.mmap = sonde_region_mmap,
	.get_unmapped_area = sonde_region_get_unmapped_area,
	.release = sonde_region_release,
	.show_fdinfo = sonde_region_show_fdinfo,
};

/**
 * sonde_region_of() - the region that is a file
 * @file: any file
 *
 * Return: the region, which the file holds, or NULL.
 */
struct sonde_region *sonde_region_of(const struct file *file)
{
	return file->f_op == &sonde_region_fops ? file->private_data : NULL;
}

/* ---- export: the owner's mappings --------------------------------------- */

/**
 * struct survey - what the owner's mappings of a range allow and are
 * @rights: what is asked for
 * @is_private: some of them are private
 * @backing: the file that all of it maps, if there is one of which mappings of
 *	the region are to be; held
 * @pgoff: where in it
 */
struct survey {
	u32 rights;
	bool is_private;
	struct file *backing;
	unsigned long pgoff;
};

static bool is_on(const struct file *file, unsigned long magic)
{
	const struct inode *inode = file_inode(file);

	return S_ISREG(inode->i_mode) && inode->i_sb->s_magic == magic;
}

/* Pages of other filesystems must not be written behind their back. */
static bool is_fit_to_write(const struct vm_area_struct *vma)
{
	const struct file *file = vma->vm_file;

	if (!file || !(vma->vm_flags & VM_SHARED))
		return true;
	return !S_ISREG(file_inode(file)->i_mode) ||
	       is_on(file, TMPFS_MAGIC) || is_on(file, HUGETLBFS_MAGIC);
}

/*
 * Whether mappings of the region may be mappings of the tmpfs file behind it:
 * that never ends in SIGBUS if the file cannot shrink. Who may write such a
 * mapping reaches all of the file (remap_file_pages()), so then all of it must
 * be in the region, and it must not grow.
 */
static bool is_sealed(const struct survey *s, const struct file *file,
		      unsigned long npages)
{
	struct inode *inode = file_inode(file);
	unsigned int seals;

	if (!is_on(file, TMPFS_MAGIC))
		return false;
	/* Before the size, which is what it is only when sealed. */
	seals = smp_load_acquire(&SHMEM_I(inode)->seals);
	if (!(seals & F_SEAL_SHRINK))
		return false;
	if (!(s->rights & SONDE_REGION_WRITE))
		return true;
	return seals & F_SEAL_GROW && !s->pgoff &&
	       i_size_read(inode) == (loff_t)npages << PAGE_SHIFT;
}

/* Under the mmap_lock. The file that @vma, which holds the region, is of. */
static void survey_backing(struct survey *s, const struct vm_area_struct *vma,
			   unsigned long addr, unsigned long end)
{
	struct file *file = vma->vm_file;
	const unsigned long npages = (end - addr) >> PAGE_SHIFT;

	if (!file || !(vma->vm_flags & VM_MAYSHARE))
		return;
	s->pgoff = vma->vm_pgoff + ((addr - vma->vm_start) >> PAGE_SHIFT);
	if (sonde_is_memory(file) || is_sealed(s, file, npages))
		s->backing = get_file(file);
}

static int survey_vma(struct survey *s, const struct vm_area_struct *vma)
{
	if (s->rights & SONDE_REGION_READ && !(vma->vm_flags & VM_READ))
		return -EACCES;
	if (s->rights & SONDE_REGION_WRITE) {
		if (!(vma->vm_flags & VM_WRITE))
			return -EACCES;
		if (!is_fit_to_write(vma))
			return -EOPNOTSUPP;
	}
	if (!(vma->vm_flags & VM_MAYSHARE))
		s->is_private = true;
	return 0;
}

/* Under the mmap_lock. */
static int survey_range(struct survey *s, unsigned long addr, unsigned long end)
{
	struct vm_area_struct *vma = find_vma(current->mm, addr);
	unsigned long at = addr;
	int ret;

	if (vma && vma->vm_start <= addr && vma->vm_end >= end)
		survey_backing(s, vma, addr, end);
	while (at < end) {
		if (!vma || vma->vm_start > at)
			return -EFAULT;
		ret = survey_vma(s, vma);
		if (ret)
			return ret;
		at = vma->vm_end;
		if (at < end)
			vma = find_vma(current->mm, at);
	}
	return 0;
}

static int survey_memory(struct survey *s, const struct sonde_export *args)
{
	int ret;

	if (mmap_read_lock_killable(current->mm))
		return -EINTR;
	ret = survey_range(s, args->addr, args->addr + args->len);
	mmap_read_unlock(current->mm);
	return ret;
}

/* ---- export: the region ------------------------------------------------- */

static struct sonde_region *new_region(unsigned long addr)
{
	struct sonde_region *r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);

	if (!r)
		return NULL;
	r->addr = addr;
	r->from = ULONG_MAX;
	spin_lock_init(&r->lock);
	mutex_init(&r->looking);
	init_waitqueue_head(&r->wait);
	return r;
}

/* With its word and its notifier: nothing goes unnoticed from then on. */
static int begin_region(struct sonde_region **out, struct sonde_states *states,
			const struct sonde_export *args)
{
	struct sonde_region *r = new_region(args->addr);
	int ret;

	if (!r)
		return -ENOMEM;
	ret = sonde_state_get(states, &r->word_number, &r->word,
			      &r->generation);
	if (ret)
		goto free;
	r->states = states;
	ret = mmu_interval_notifier_insert(&r->notifier, current->mm,
					   args->addr, args->len,
					   &notifier_ops);
	/* The first of a process is given up for any signal: begin again. */
	if (ret == -EINTR && !fatal_signal_pending(current))
		ret = -ERESTARTNOINTR;
	if (ret)
		goto put_state;
	*out = r;
	return 0;

put_state:
	sonde_state_put(states, r->word_number);
free:
	mutex_destroy(&r->looking);
	kfree(r);
	return ret;
}

static int pin_region(struct sonde_region *r, const struct sonde_export *args)
{
	struct survey s = { .rights = args->rights };
	unsigned int flags = FOLL_LONGTERM;
	int ret = survey_memory(&s, args);

	r->backing = s.backing;
	r->backing_pgoff = s.pgoff;
	if (ret)
		return ret;
	if (args->rights & SONDE_REGION_WRITE)
		return sonde_pin(&r->pinned, args->addr, args->len,
				 flags | FOLL_WRITE, flags | FOLL_WRITE);
	if (s.is_private)
		return sonde_pin(&r->pinned, args->addr, args->len,
				 flags | SONDE_FOLL_UNSHARE, flags);
	return sonde_pin(&r->pinned, args->addr, args->len, flags, flags);
}

/*
 * What happened since the notifier is there is in the state. Pinning itself may
 * cast a doubt, where it makes the owner's copy of a page.
 */
static int settle_new_region(struct sonde_region *r)
{
	int ret;

	spin_lock(&r->lock);
	if (r->state == SONDE_REGION_GOOD)
		WRITE_ONCE(*r->word, r->generation);
	spin_unlock(&r->lock);
	ret = sonde_region_check(r);
	return ret == -ESTALE ? -EAGAIN : ret;
}

static int make_region(struct sonde_region **out, struct sonde_states *states,
		       const struct sonde_export *args)
{
	struct sonde_region *r;
	int ret;

	ret = begin_region(&r, states, args);
	if (ret)
		return ret;
	ret = pin_region(r, args) ?: settle_new_region(r);
	if (ret) {
		free_region(r);
		return ret;
	}
	*out = r;
	return 0;
}

/* The rights are those of the open file: the kernel holds its users to them. */
static int make_file(struct sonde_region *r, u32 rights, struct file **file)
{
	static const int modes[] = {
		[SONDE_REGION_READ] = O_RDONLY,
		[SONDE_REGION_WRITE] = O_WRONLY,
		[SONDE_REGION_READ | SONDE_REGION_WRITE] = O_RDWR,
	};

	*file = anon_inode_getfile("[sonde-region]", &sonde_region_fops, r,
				   modes[rights]);
	if (IS_ERR(*file))
		return PTR_ERR(*file);
	(*file)->f_mode |= FMODE_LSEEK | FMODE_PREAD | FMODE_PWRITE;
	return 0;
}

/* Makes the file known to the caller, at last: nothing may fail after that. */
static int publish(struct file *file, struct sonde_export *args,
		   void __user *uarg, size_t usize)
{
	const struct sonde_region *r = file->private_data;

	args->flags = r->backing ? SONDE_REGION_REAL : 0;
	args->generation = r->generation;
	args->word = r->word_number;
	args->runs = r->pinned.nruns;
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

static int check_export(const struct sonde_export *args)
{
	const u32 all = SONDE_REGION_READ | SONDE_REGION_WRITE;
	u64 end;

	if (args->flags || args->reserved || !args->len || !args->rights ||
	    args->rights & ~all)
		return -EINVAL;
	if (check_add_overflow(args->addr, args->len, &end) || end > TASK_SIZE)
		return -EINVAL;
	return 0;
}

static int serve_export(const struct sonde_file *sf, struct sonde_export *args,
			void __user *uarg, size_t usize)
{
	struct sonde_region *r;
	struct file *file;
	int ret;

	ret = make_region(&r, sf->states, args);
	if (ret)
		return ret;
	ret = make_file(r, args->rights, &file);
	if (ret) {
		free_region(r);
		return ret;
	}
	ret = publish(file, args, uarg, usize);
	if (ret)
		fput(file);
	return ret;
}

/**
 * sonde_ioc_export() - serve SONDE_IOC_EXPORT
 * @sf: the open file
 * @uarg: the caller's struct sonde_export
 * @usize: its size
 *
 * Return: 0, -EFAULT, -EINVAL, -E2BIG, -EACCES, -EOPNOTSUPP, -ENOMEM, -ENOBUFS,
 * -EDQUOT, -ENOSPC, -EAGAIN, -EMFILE, -ENFILE or -EINTR.
 */
int sonde_ioc_export(const struct sonde_file *sf, void __user *uarg,
		     size_t usize)
{
	struct sonde_export args;
	int ret;

	ret = sonde_arg_get(&args, sizeof(args), SONDE_EXPORT_SIZE_VER0, uarg,
			    usize);
	if (!ret)
		ret = check_export(&args);
	if (ret)
		return ret;
	ret = serve_export(sf, &args, uarg, usize);
	trace_sonde_export(args.addr, args.len, args.rights,
			   ret ? 0 : args.runs, ret);
	return ret;
}

/* ---- revoke and check --------------------------------------------------- */

static int revoke(struct file *file)
{
	struct sonde_region *r = sonde_region_of(file);

	if (!r)
		return -EINVAL;
	if (r->notifier.mm != current->mm)
		return -EPERM;
	spin_lock(&r->lock);
	lose(r, -ESTALE);
	spin_unlock(&r->lock);
	wake_up_poll(&r->wait, EPOLLERR | EPOLLHUP);
	return 0;
}

/**
 * sonde_ioc_revoke() - serve SONDE_IOC_REVOKE
 * @sf: the open file
 * @uarg: the caller's struct sonde_revoke
 * @usize: its size
 *
 * Return: 0, -EFAULT, -EINVAL, -E2BIG, -EBADF or -EPERM.
 */
int sonde_ioc_revoke(const struct sonde_file *sf, void __user *uarg,
		     size_t usize)
{
	struct sonde_revoke args;
	struct file *file;
	int ret;

	ret = sonde_arg_get(&args, sizeof(args), SONDE_REVOKE_SIZE_VER0, uarg,
			    usize);
	if (ret)
		return ret;
	if (args.flags || args.reserved)
		return -EINVAL;
	file = fget(args.region);
	if (!file)
		return -EBADF;
	ret = revoke(file);
	fput(file);
	trace_sonde_revoke(args.region, ret);
	return ret;
}

static int fill_check(struct file *file, struct sonde_check *args)
{
	struct sonde_region *r = sonde_region_of(file);
	int ret;

	if (!r)
		return -EINVAL;
	ret = sonde_region_check(r);
	if (ret == -EINTR)
		return ret;
	args->flags = r->backing ? SONDE_REGION_REAL : 0;
	args->rights = 0;
	if (file->f_mode & FMODE_READ)
		args->rights |= SONDE_REGION_READ;
	if (file->f_mode & FMODE_WRITE)
		args->rights |= SONDE_REGION_WRITE;
	args->len = r->pinned.len;
	args->runs = r->pinned.nruns;
	args->error = -ret;
	args->first = offset_in_page(r->addr);
	return 0;
}

/**
 * sonde_ioc_check() - serve SONDE_IOC_CHECK
 * @sf: the open file
 * @uarg: the caller's struct sonde_check
 * @usize: its size
 *
 * Return: 0, -EFAULT, -EINVAL, -E2BIG, -EBADF or -EINTR.
 */
int sonde_ioc_check(const struct sonde_file *sf, void __user *uarg,
		    size_t usize)
{
	struct sonde_check args;
	struct file *file;
	int ret;

	ret = sonde_arg_get(&args, sizeof(args), SONDE_CHECK_SIZE_VER0, uarg,
			    usize);
	if (ret)
		return ret;
	if (args.flags)
		return -EINVAL;
	file = fget(args.region);
	if (!file)
		return -EBADF;
	ret = fill_check(file, &args);
	fput(file);
	trace_sonde_check(args.region, ret ? 0 : args.error, ret);
	if (ret)
		return ret;
	if (copy_to_user(uarg, &args, min(usize, sizeof(args))))
		return -EFAULT;
	return 0;
}
