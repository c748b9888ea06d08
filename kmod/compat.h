/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernels that sonde is built and tested for: 5.10, 6.1, 6.12, 7.2 and 7.3, on
 * x86-64; every difference between them stands here and nowhere else. The code
 * is written for the newest. Where a macro or a symbol can be asked for, that
 * is asked rather than the version, as stable kernels take things back.
 */
#ifndef SONDE_KMOD_COMPAT_H
#define SONDE_KMOD_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 10, 0)
#error "sonde needs Linux 5.10 or newer"
#endif

/*
 * walk.c knows the page tables of x86-64: an entry is read in one load, tables
 * are always mapped (no CONFIG_HIGHPTE), a leaf stays one when PROT_NONE, and
 * hugetlb has PMD and PUD entries only. Elsewhere each of these may differ.
 */
#ifndef CONFIG_X86_64
#error "sonde is for x86-64: see README.md on other architectures"
#endif

#include <linux/file.h>
#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#include <linux/pfn_t.h>
#endif
#include <linux/shrinker.h>
#include <linux/slab.h>

#include <asm/msr.h>
#include <asm/processor.h>
/* CPUID left asm/processor.h. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#include <asm/cpuid/api.h>
#endif

/* Before 6.16 registers of 64 bits were called long, not quad. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define rdmsrq_safe	rdmsrl_safe
#define wrmsrq_safe	wrmsrl_safe
#endif

/* 6.8; before, MAX_ORDER, which from 6.4 on is the largest order itself. */
#ifndef MAX_PAGE_ORDER
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
#define MAX_PAGE_ORDER	MAX_ORDER
#else
#define MAX_PAGE_ORDER	(MAX_ORDER - 1)
#endif
#endif

/*
 * Before 5.11 the mark of a page charged to a memory cgroup was kept where the
 * count of its mappings goes, so such pages could not be mapped.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
#define SONDE_GFP_ACCOUNT	__GFP_ACCOUNT
#else
#define SONDE_GFP_ACCOUNT	0
#endif

static inline void sonde_vm_flags_set(struct vm_area_struct *vma,
				      unsigned long flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

static inline void sonde_vm_flags_clear(struct vm_area_struct *vma,
					unsigned long flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_clear(vma, flags);
#else
	vma->vm_flags &= ~flags;
#endif
}

/* In struct vm_operations_struct; .split before 5.11. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
#define sonde_may_split	may_split
#else
#define sonde_may_split	split
#endif

/* Of a VM_PFNMAP mapping, with a flush; renamed in 7.1. */
static inline void sonde_zap_special(struct vm_area_struct *vma,
				     unsigned long addr, unsigned long size)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
	zap_special_vma_range(vma, addr, size);
#else
	zap_vma_ptes(vma, addr, size);
#endif
}

/* In a fault: what the kernel has taken for it. 6.6; it may be a VMA's lock. */
static inline void sonde_release_fault_lock(struct vm_fault *vmf)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	release_fault_lock(vmf);
#else
	mmap_read_unlock(vmf->vma->vm_mm);
#endif
}

/* 5.11 */
static inline void sonde_vma_set_file(struct vm_area_struct *vma,
				      struct file *file)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
	vma_set_file(vma, file);
#else
	get_file(file);
	swap(vma->vm_file, file);
	fput(file);
#endif
}

/* 6.17; from then on files may know another way to be mapped. */
static inline int sonde_call_mmap(struct file *file, struct vm_area_struct *vma)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
	return vfs_mmap(file, vma);
#else
	return call_mmap(file, vma);
#endif
}

/* 6.18: workers are bound to their CPU only if that is asked for. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#define SONDE_WQ_PERCPU	WQ_PERCPU
#else
#define SONDE_WQ_PERCPU	0
#endif

/* Before 6.8 it was told by how much; 1 is what is left. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
#define sonde_eventfd_signal(ctx)	eventfd_signal(ctx)
#else
#define sonde_eventfd_signal(ctx)	eventfd_signal(ctx, 1)
#endif

/* 6.12 */
#ifndef fd_file
#define fd_file(f)	((f).file)
#endif

/*
 * Before 6.2 a pin to read of a private mapping might get the zero page or one
 * of a file, of which the owner's next write makes a copy. Made as if to write
 * it gets a page that stays.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define SONDE_FOLL_UNSHARE	0
#else
#define SONDE_FOLL_UNSHARE	(FOLL_WRITE | FOLL_FORCE)
#endif

/* A page of its own, not part of a larger one. 5.16 has folios. */
static inline void sonde_page_set_mapping(struct page *page,
					  struct address_space *mapping,
					  pgoff_t index)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 16, 0)
	struct folio *folio = page_folio(page);

	folio->mapping = mapping;
	folio->index = index;
#else
	page->mapping = mapping;
	page->index = index;
#endif
}

/* In a fault, where @vmf->pmd is none or shows @pfn. 6.17 has no pfn_t. */
static inline vm_fault_t sonde_insert_huge(struct vm_fault *vmf,
					   unsigned long pfn, bool is_writable)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
	return vmf_insert_pfn_pmd(vmf, pfn, is_writable);
#else
	return vmf_insert_pfn_pmd(vmf, pfn_to_pfn_t(pfn), is_writable);
#endif
}

/* 5.13 */
static inline void sonde_unpin_range(struct page *page, unsigned long n,
				     bool make_dirty)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 13, 0)
	unpin_user_page_range_dirty_lock(page, n, make_dirty);
#else
	for (; n; n--, page++)
		unpin_user_pages_dirty_lock(&page, 1, make_dirty);
#endif
}

/* Without VMAs from 6.5 on. The mmap_lock of @mm is held all the time. */
static inline long sonde_gup_remote(struct mm_struct *mm, unsigned long addr,
				    unsigned long n, unsigned int flags,
				    struct page **pages)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	return get_user_pages_remote(mm, addr, n, flags, pages, NULL);
#else
	return get_user_pages_remote(mm, addr, n, flags, pages, NULL, NULL);
#endif
}

typedef unsigned long sonde_shrink_fn(struct shrinker *shrinker,
				      struct shrink_control *sc);

/* Shrinkers have a name from 6.0 on, and are allocated by the kernel from 6.7 on. */
static inline struct shrinker *sonde_shrinker_register(sonde_shrink_fn *count,
						       sonde_shrink_fn *scan,
						       const char *name)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	struct shrinker *shrinker = shrinker_alloc(0, "%s", name);
#else
	struct shrinker *shrinker = kzalloc(sizeof(*shrinker), GFP_KERNEL);
	int ret;
#endif

	if (!shrinker)
		return NULL;
	shrinker->count_objects = count;
	shrinker->scan_objects = scan;
	shrinker->seeks = DEFAULT_SEEKS;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	shrinker_register(shrinker);
#else
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 0, 0)
	ret = register_shrinker(shrinker, "%s", name);
#else
	ret = register_shrinker(shrinker);
#endif
	if (ret) {
		kfree(shrinker);
		return NULL;
	}
#endif
	return shrinker;
}

static inline void sonde_shrinker_unregister(struct shrinker *shrinker)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	shrinker_free(shrinker);
#else
	unregister_shrinker(shrinker);
	kfree(shrinker);
#endif
}

#endif
