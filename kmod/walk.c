// SPDX-License-Identifier: GPL-2.0-only
/*
 * A walk over the page tables of the caller, for reading, that says of each
 * page what /proc/PID/pagemap says: what an entry holds is told when it is
 * present for the kernel, which includes memory that PROT_NONE or automatic
 * NUMA balancing made inaccessible, and nothing is faulted in. Mappings
 * without pages of their own (VM_PFNMAP) are passed over, as pagemap does.
 *
 * The kernel's own walkers are not exported to modules, and hmm_range_fault(),
 * which is, gives other answers (README.md compares them).
 *
 * What holds the tables in place:
 * - Down to the PMD tables: the mmap lock, held for reading, and that only
 *   addresses inside a VMA are looked at. munmap() frees tables after it has
 *   turned its write lock into a read lock, but only those that no VMA of the
 *   tree needs.
 * - PTE tables: khugepaged and MADV_DONTNEED may free them under a lock that
 *   does not exclude us, but by RCU and after they cleared the PMD under the
 *   PTE table's lock. So: RCU read lock, take the table's lock, and look
 *   whether the PMD is still the same (pte_offset_map_lock() in mm/).
 * - PMD tables of shared hugetlb memory may be shared between processes and be
 *   taken away by another one: the mapping's i_mmap_rwsem excludes that (see
 *   huge_pte_offset() in linux/hugetlb.h).
 *
 * The table's lock also keeps a present page from being migrated or freed, so
 * its struct page, asked for the NUMA node, stays.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/pgtable.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include "sonde.h"

#define PMD_ORDER_BITS	(PMD_SHIFT - PAGE_SHIFT)
#define PUD_ORDER_BITS	(PUD_SHIFT - PAGE_SHIFT)

/*
 * Whether there is a struct page behind an entry, to ask for the node. A special
 * entry in the mapping of a device may lead anywhere; in any other mapping it
 * leads to the zero page, which is a page like any other here.
 */
static bool has_page(const struct vm_area_struct *vma, bool special)
{
	return !special || !(vma->vm_flags & (VM_MIXEDMAP | VM_IO));
}

static struct sonde_frame *entry_of(const struct sonde_walk *walk,
				    unsigned long addr)
{
	return walk->out + ((addr - walk->start) >> PAGE_SHIFT);
}

/* Once for each page that is present: the whole of what a walk costs. */
static __always_inline void tell_page(const struct sonde_walk *walk,
				      struct sonde_frame *out,
				      unsigned long pfn, unsigned int order,
				      bool page)
{
	out->frame = pfn & walk->frame_mask;
	out->colour = pfn & walk->colour_mask;
	out->flags = walk->present_flags;
	out->order = order;
	if (page) {
		out->flags |= SONDE_FRAME_NODE;
		out->node = page_to_nid(pfn_to_page(pfn));
	}
}

/* Tells of [addr, end), which is inside a huge page and begins at @pfn. */
static void tell_huge(const struct sonde_walk *walk, unsigned long addr,
		      unsigned long end, unsigned long pfn, unsigned int order,
		      bool page)
{
	struct sonde_frame *out = entry_of(walk, addr);

	for (; addr < end; addr += PAGE_SIZE, pfn++, out++)
		tell_page(walk, out, pfn, order, page);
}

static void walk_ptes(const struct sonde_walk *walk,
		      const struct vm_area_struct *vma, const pte_t *ptep,
		      unsigned long addr, unsigned long end)
{
	struct sonde_frame *out = entry_of(walk, addr);

	for (; addr < end; addr += PAGE_SIZE, ptep++, out++) {
		pte_t pte = READ_ONCE(*ptep);

		if (pte_present(pte))
			tell_page(walk, out, pte_pfn(pte), 0,
				  has_page(vma, pte_special(pte)));
	}
}

/*
 * One PTE table, which @pmd, just read from @pmdp, leads to.
 * Returns false if *@pmdp has changed meanwhile.
 */
static bool walk_pte_table(const struct sonde_walk *walk,
			   struct vm_area_struct *vma, pmd_t *pmdp,
			   pmd_t pmd, unsigned long addr, unsigned long end)
{
	spinlock_t *ptl;
	bool same;

	rcu_read_lock();
	ptl = pte_lockptr(walk->mm, &pmd);
	spin_lock(ptl);
	same = pmd_same(pmd, READ_ONCE(*pmdp));
	if (same)
		walk_ptes(walk, vma, pte_offset_kernel(&pmd, addr), addr, end);
	spin_unlock(ptl);
	rcu_read_unlock();
	return same;
}

/*
 * A huge page at PMD level. Returns false if there is none any more, but a
 * table or nothing.
 */
static bool walk_huge_pmd(const struct sonde_walk *walk,
			  struct vm_area_struct *vma, pmd_t *pmdp,
			  unsigned long addr, unsigned long end)
{
	spinlock_t *ptl = pmd_lock(walk->mm, pmdp);
	pmd_t pmd = READ_ONCE(*pmdp);
	bool huge = pmd_present(pmd) && pmd_leaf(pmd);
	unsigned long pfn;

	if (huge) {
		pfn = pmd_pfn(pmd) + ((addr & ~PMD_MASK) >> PAGE_SHIFT);
		tell_huge(walk, addr, end, pfn, PMD_ORDER_BITS,
		     has_page(vma, true));
	}
	spin_unlock(ptl);
	return huge;
}

static void walk_pmd(const struct sonde_walk *walk,
		     struct vm_area_struct *vma, pmd_t *pmdp,
		     unsigned long addr, unsigned long end)
{
	pmd_t pmd;
	bool done;

	do {
		pmd = READ_ONCE(*pmdp);
		/* Not present but not empty: a huge page that is migrating. */
		if (pmd_none(pmd) || !pmd_present(pmd))
			return;
		if (pmd_leaf(pmd))
			done = walk_huge_pmd(walk, vma, pmdp, addr, end);
		else if (pmd_bad(pmd))
			return;
		else
			done = walk_pte_table(walk, vma, pmdp, pmd, addr, end);
	} while (!done);
}

/* A huge page at PUD level outside hugetlb: DAX. Like walk_huge_pmd(). */
static bool walk_huge_pud(const struct sonde_walk *walk,
			  struct vm_area_struct *vma, pud_t *pudp,
			  unsigned long addr, unsigned long end)
{
	spinlock_t *ptl = pud_lock(walk->mm, pudp);
	pud_t pud = READ_ONCE(*pudp);
	bool huge = pud_present(pud) && pud_leaf(pud);
	unsigned long pfn;

	if (huge) {
		pfn = pud_pfn(pud) + ((addr & ~PUD_MASK) >> PAGE_SHIFT);
		tell_huge(walk, addr, end, pfn, PUD_ORDER_BITS,
		     has_page(vma, true));
	}
	spin_unlock(ptl);
	return huge;
}

static void walk_pud(const struct sonde_walk *walk,
		     struct vm_area_struct *vma, pud_t *pudp,
		     unsigned long addr, unsigned long end)
{
	unsigned long next;
	pud_t pud;

	do {
		pud = READ_ONCE(*pudp);
		if (pud_none(pud) || !pud_present(pud))
			return;
	} while (pud_leaf(pud) && !walk_huge_pud(walk, vma, pudp, addr, end));
	if (pud_leaf(pud) || pud_bad(pud))
		return;

	for (; addr < end; addr = next) {
		next = pmd_addr_end(addr, end);
		walk_pmd(walk, vma, pmd_offset_lockless(pudp, pud, addr), addr,
			 next);
	}
}

/* The entry for @addr at PUD level, NULL where there is no table for it. */
static pud_t *find_pud(struct mm_struct *mm, unsigned long addr)
{
	pgd_t *pgd = pgd_offset(mm, addr);
	p4d_t *p4d;

	if (!pgd_present(READ_ONCE(*pgd)))
		return NULL;
	p4d = p4d_offset(pgd, addr);
	if (!p4d_present(READ_ONCE(*p4d)))
		return NULL;
	return pud_offset(p4d, addr);
}

static void walk_pages(const struct sonde_walk *walk,
		       struct vm_area_struct *vma, unsigned long addr,
		       unsigned long end)
{
	unsigned long next;
	pud_t *pudp;

	for (; addr < end; addr = next) {
		next = pud_addr_end(addr, end);
		pudp = find_pud(walk->mm, addr);
		if (pudp)
			walk_pud(walk, vma, pudp, addr, next);
	}
}

#ifdef CONFIG_HUGETLB_PAGE
/*
 * The entry for @addr in hugetlb memory. Its level follows from the size of
 * the mapping's pages, not from the entry: one that is PROT_NONE does not look
 * like a leaf.
 */
static pte_t *find_hugetlb_entry(struct mm_struct *mm, unsigned long addr,
				 unsigned long size)
{
	pud_t *pudp = find_pud(mm, addr);
	pud_t pud;

	if (!pudp || size == PUD_SIZE)
		return (pte_t *)pudp;
	pud = READ_ONCE(*pudp);
	if (!pud_present(pud))
		return NULL;
	return (pte_t *)pmd_offset_lockless(pudp, pud, addr);
}

static void walk_hugetlb_entries(const struct sonde_walk *walk,
				 struct vm_area_struct *vma,
				 unsigned long addr, unsigned long end)
{
	struct hstate *h = hstate_vma(vma);
	unsigned long size = huge_page_size(h);
	unsigned long next, pfn;
	spinlock_t *ptl;
	pte_t *ptep;
	pte_t pte;

	for (; addr < end; addr = next) {
		next = min(end, ALIGN(addr + 1, size));
		ptep = find_hugetlb_entry(walk->mm, addr, size);
		if (!ptep)
			continue;
		ptl = huge_pte_lock(h, walk->mm, ptep);
		pte = READ_ONCE(*ptep);
		if (pte_present(pte)) {
			pfn = pte_pfn(pte) + ((addr & (size - 1)) >> PAGE_SHIFT);
			tell_huge(walk, addr, next, pfn, huge_page_order(h), true);
		}
		spin_unlock(ptl);
	}
}

static void walk_hugetlb(const struct sonde_walk *walk,
			 struct vm_area_struct *vma, unsigned long addr,
			 unsigned long end)
{
	struct address_space *mapping = NULL;

	/* Only memory that can be shared can have shared tables. */
	if (vma->vm_flags & VM_MAYSHARE)
		mapping = vma->vm_file->f_mapping;
	if (mapping)
		i_mmap_lock_read(mapping);
	walk_hugetlb_entries(walk, vma, addr, end);
	if (mapping)
		i_mmap_unlock_read(mapping);
}
#else
static void walk_hugetlb(const struct sonde_walk *walk,
			 struct vm_area_struct *vma, unsigned long addr,
			 unsigned long end)
{
}
#endif

static void walk_vma(const struct sonde_walk *walk,
		     struct vm_area_struct *vma, unsigned long addr,
		     unsigned long end)
{
	struct sonde_frame *out;

	for (out = entry_of(walk, addr); out < entry_of(walk, end); out++)
		out->flags = SONDE_FRAME_MAPPED;
	if (vma->vm_flags & VM_PFNMAP)
		return;
	if (is_vm_hugetlb_page(vma))
		walk_hugetlb(walk, vma, addr, end);
	else
		walk_pages(walk, vma, addr, end);
}

/**
 * sonde_walk_range() - tell of each page of a range what backs it
 * @walk: the range, and where the answers go
 *
 * The caller holds the mmap lock of @walk->mm for reading, and @walk->mm is
 * alive (it is the caller's own). May sleep; takes the locks that this file's
 * head describes, one table at a time.
 */
void sonde_walk_range(const struct sonde_walk *walk)
{
	struct vm_area_struct *vma;
	unsigned long addr = walk->start;
	unsigned long end;

	mmap_assert_locked(walk->mm);
	while (addr < walk->end) {
		vma = find_vma(walk->mm, addr);
		if (!vma || vma->vm_start >= walk->end)
			break;
		addr = max(addr, vma->vm_start);
		end = min(walk->end, vma->vm_end);
		walk_vma(walk, vma, addr, end);
		addr = end;
	}
}
