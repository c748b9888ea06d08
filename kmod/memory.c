// SPDX-License-Identifier: GPL-2.0-only
/*
 * SONDE_IOC_ALLOC: memory of chosen colours, or contiguous, as a file.
 *
 * The memory is the file's private data and lives as long as the file, which
 * descriptors, mappings and the module's own users keep. Its pages are ordinary
 * pages of the kernel, mapped as such, so that get_user_pages() and with it
 * DMA, verbs, futexes and vmsplice() work on them. They are never moved or
 * swapped.
 */
#include <linux/anon_inodes.h>
#include <linux/build_bug.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "sonde.h"
#include "trace.h"

static_assert(sizeof(struct sonde_alloc) == 80);
static_assert(sizeof(struct sonde_alloc) >= SONDE_ALLOC_SIZE_VER0);

#define ALLOC_FLAGS	(SONDE_ALLOC_CONTIGUOUS | SONDE_ALLOC_PARTIAL | \
			 SONDE_ALLOC_PRIVATE)

/* Pages that are mapped between two looks at signals. */
#define MAP_CHUNK	512UL

/* ---- the object --------------------------------------------------------- */

/*
 * Shared futexes know a page by the inode of its mapping and its index there.
 * The inode is that of all anonymous files, so the index is one that no other
 * page has: its frame. Nothing else asks for either, as these pages are on no
 * list of the kernel's. Such a page must not be freed before this is taken
 * back.
 */
static void name_pages(struct sonde_memory *memory,
		       struct address_space *mapping)
{
	unsigned long i;

	for (i = 0; i < memory->npages; i++) {
		if (memory->pages[i])
			sonde_page_set_mapping(memory->pages[i], mapping,
					       page_to_pfn(memory->pages[i]));
		cond_resched();
	}
}

static void free_memory(struct sonde_memory *memory)
{
	if (memory->pages) {
		name_pages(memory, NULL);
		sonde_pages_free(memory->pages, memory->npages);
	}
	sonde_uncharge_locked(memory->charged, memory->npages);
	mutex_destroy(&memory->lock);
	kvfree(memory->pages);
	kfree(memory);
}

/* With room for its pages, and charged for them, but without any. */
static int new_memory(struct sonde_memory **out, unsigned long npages,
		      u32 flags)
{
	struct sonde_memory *memory;
	int ret;

	memory = kzalloc(sizeof(*memory), GFP_KERNEL_ACCOUNT);
	if (!memory)
		return -ENOMEM;
	mutex_init(&memory->lock);
	memory->npages = npages;
	memory->flags = flags;
	memory->pages = kvcalloc(memory->npages, sizeof(*memory->pages),
				 GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	ret = memory->pages ? sonde_charge_locked(npages, &memory->charged) :
			      -ENOMEM;
	if (ret) {
		free_memory(memory);
		return ret;
	}
	*out = memory;
	return 0;
}

static void measure_runs(struct sonde_memory *memory)
{
	unsigned long i, run = 0;

	for (i = 0; i < memory->npages; i++) {
		if (!i || page_to_pfn(memory->pages[i]) !=
			  page_to_pfn(memory->pages[i - 1]) + 1) {
			memory->runs++;
			run = 0;
		}
		run++;
		memory->longest = max(memory->longest, run);
	}
}

/* ---- the file ----------------------------------------------------------- */

/*
 * Pages are there from mmap() on; only after madvise(MADV_DONTNEED) and the
 * like is one asked for again, and it is the same one.
 */
static vm_fault_t sonde_memory_fault(struct vm_fault *vmf)
{
	const struct sonde_memory *memory = vmf->vma->vm_private_data;
	struct page *page;

	if (vmf->pgoff >= memory->npages)
		return VM_FAULT_SIGBUS;
	page = memory->pages[vmf->pgoff];
	get_page(page);
	vmf->page = page;
	return 0;
}

static const struct vm_operations_struct sonde_memory_vm_ops = {
	.fault = sonde_memory_fault,
};

static int map_pages(struct vm_area_struct *vma,
		     const struct sonde_memory *memory)
{
	unsigned long addr = vma->vm_start, n, left;
	struct page **page = memory->pages + vma->vm_pgoff;
	int ret;

	while (addr < vma->vm_end) {
		n = min(MAP_CHUNK, (vma->vm_end - addr) >> PAGE_SHIFT);
		left = n;
		ret = vm_insert_pages(vma, addr, page, &left);
		if (ret)
			return ret;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		page += n;
		addr += n << PAGE_SHIFT;
	}
	return 0;
}

/**
 * sonde_memory_map() - map memory, from the page that the mapping's offset says
 * @file: of the memory; whatever file the mapping is of must hold it
 * @vma: where
 *
 * Shared only: a private mapping would replace a page that is written to by one
 * of any colour. Not for a child of fork(), which was not given the memory and
 * would write to the parent's; it can map the descriptor. Not to be enlarged,
 * as there is nothing behind the end.
 *
 * Return: 0, -EACCES, -EINVAL, -ENXIO, -ENOMEM or -EINTR.
 */
int sonde_memory_map(struct file *file, struct vm_area_struct *vma)
{
	struct sonde_memory *memory = file->private_data;
	const unsigned long n = vma_pages(vma);

	if (memory->flags & SONDE_ALLOC_PRIVATE)
		return -EACCES;
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_pgoff >= memory->npages ||
	    n > memory->npages - vma->vm_pgoff)
		return -ENXIO;
	sonde_vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_MIXEDMAP);
	vma->vm_private_data = memory;
	vma->vm_ops = &sonde_memory_vm_ops;
	return map_pages(vma, memory);
}

static int sonde_memory_release(struct inode *inode, struct file *file)
{
	free_memory(file->private_data);
	return 0;
}

static void sonde_memory_show_fdinfo(struct seq_file *m, struct file *file)
{
	const struct sonde_memory *memory = file->private_data;

	seq_printf(m, "sonde-pages:\t%lu\nsonde-flags:\t%#x\n"
		   "sonde-runs:\t%lu\nsonde-off-colour:\t%lu\n",
		   memory->npages, memory->flags, memory->runs,
		   memory->off_colour);
}

static const struct file_operations sonde_memory_fops = {
	.owner = THIS_MODULE,
	.mmap = sonde_memory_map,
	.release = sonde_memory_release,
	.show_fdinfo = sonde_memory_show_fdinfo,
};

/**
 * sonde_is_memory() - whether a file is memory of SONDE_IOC_ALLOC
 * @file: any file
 *
 * Return: that.
 */
bool sonde_is_memory(const struct file *file)
{
	return file->f_op == &sonde_memory_fops;
}

/**
 * sonde_memory_get() - the memory behind a descriptor of the caller
 * @fd: what SONDE_IOC_ALLOC returned
 * @file: out: keeps the memory; the caller's to fput()
 *
 * Return: the memory, or ERR_PTR() of -EBADF (no descriptor) or -EINVAL (of
 * something else).
 */
struct sonde_memory *sonde_memory_get(int fd, struct file **file)
{
	struct file *f = fget(fd);

	if (!f)
		return ERR_PTR(-EBADF);
	if (!sonde_is_memory(f)) {
		fput(f);
		return ERR_PTR(-EINVAL);
	}
	*file = f;
	return f->private_data;
}

/* ---- the command -------------------------------------------------------- */

static int check_alloc(const struct sonde_alloc *args)
{
	if (args->flags & ~ALLOC_FLAGS || args->reserved || !args->npages)
		return -EINVAL;
	if (args->node != NUMA_NO_NODE &&
	    (args->node < 0 || args->node >= nr_node_ids ||
	     !node_state(args->node, N_MEMORY)))
		return -EINVAL;
	if (!args->colours && (args->masks || args->nmasks))
		return -EINVAL;
	if (args->colours && args->flags & SONDE_ALLOC_CONTIGUOUS)
		return -EINVAL;
	return args->npages > sonde_memory_pages ? -EDQUOT : 0;
}

static int fill_request(struct sonde_request *rq, struct sonde_pool *pool,
			u32 flags)
{
	if (rq->colouring)
		return sonde_pool_take(pool, rq);
	if (flags & SONDE_ALLOC_CONTIGUOUS)
		return sonde_contiguous_alloc(rq);
	return sonde_pages_alloc(rq);
}

/* Whether pages that lie in pools may be what was lacking. */
static bool is_short(const struct sonde_request *rq, int ret)
{
	return ret == -ENOMEM || ret == -EDQUOT ||
	       (ret == -ENOSPC && !rq->colouring);
}

/*
 * Where memory is short the pools of all files may have it: they are emptied,
 * and the second attempt is the last.
 */
static int fill_memory(struct sonde_memory *memory, struct sonde_request *rq,
		       struct sonde_pool *pool)
{
	int ret;

	rq->pages = memory->pages;
	ret = fill_request(rq, pool, memory->flags);
	if (is_short(rq, ret)) {
		sonde_pages_free(rq->pages, rq->npages);
		rq->is_last = true;
		ret = sonde_pools_empty();
		if (!ret)
			ret = fill_request(rq, pool, memory->flags);
	}
	if (ret)
		return ret;
	memory->off_colour = rq->off_colour;
	measure_runs(memory);
	return 0;
}

/* The memory as a file, which owns it from then on. */
static int make_file(struct sonde_memory *memory, struct file **file)
{
	*file = anon_inode_getfile("[sonde-memory]", &sonde_memory_fops, memory,
				   O_RDWR);
	if (IS_ERR(*file))
		return PTR_ERR(*file);
	if (!(memory->flags & SONDE_ALLOC_PRIVATE))
		name_pages(memory, (*file)->f_mapping);
	return 0;
}

/* Makes the file known to the caller, at last: nothing may fail after that. */
static int publish(struct file *file, struct sonde_alloc *args,
		   void __user *uarg, size_t usize)
{
	const struct sonde_memory *memory = file->private_data;

	args->off_colour = memory->off_colour;
	args->runs = memory->runs;
	args->longest = memory->longest;
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

static int make_memory(struct file **file, struct sonde_request *rq,
		       struct sonde_pool *pool, u32 flags)
{
	struct sonde_memory *memory;
	int ret;

	ret = new_memory(&memory, rq->npages, flags);
	if (ret)
		return ret;
	ret = fill_memory(memory, rq, pool);
	if (!ret)
		ret = make_file(memory, file);
	if (ret)
		free_memory(memory);
	return ret;
}

static int serve_alloc(const struct sonde_file *sf, struct sonde_alloc *args,
		       void __user *uarg, size_t usize)
{
	struct sonde_colouring colouring = { 0 };
	struct sonde_request rq = {
		.npages = args->npages,
		.node = args->node,
		.partial = args->flags & SONDE_ALLOC_PARTIAL,
		.colouring = args->colours ? &colouring : NULL,
	};
	struct file *file;
	int ret = 0;

	if (args->colours)
		ret = sonde_colouring_get(&colouring, args,
					  sf->rights & SONDE_RIGHT_FRAMES);
	if (!ret)
		ret = make_memory(&file, &rq, sf->pool, args->flags);
	sonde_colouring_put(&colouring);
	args->drawn = rq.drawn;
	if (ret)
		return ret;
	ret = publish(file, args, uarg, usize);
	if (ret)
		fput(file);
	return ret;
}

/**
 * sonde_ioc_alloc() - serve SONDE_IOC_ALLOC
 * @sf: the open file
 * @uarg: the caller's struct sonde_alloc
 * @usize: its size
 *
 * Return: 0, -EFAULT, -EINVAL, -E2BIG, -EPERM, -ENOSPC, -ENOMEM, -ENOBUFS,
 * -EDQUOT, -EMFILE, -ENFILE or -EINTR.
 */
int sonde_ioc_alloc(const struct sonde_file *sf, void __user *uarg,
		    size_t usize)
{
	struct sonde_alloc args;
	int ret;

	ret = sonde_arg_get(&args, sizeof(args), SONDE_ALLOC_SIZE_VER0, uarg,
			    usize);
	if (!ret)
		ret = check_alloc(&args);
	if (ret)
		return ret;
	ret = serve_alloc(sf, &args, uarg, usize);
	trace_sonde_alloc(args.npages, args.flags, args.node, args.drawn, ret);
	return ret;
}
