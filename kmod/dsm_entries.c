// SPDX-License-Identifier: GPL-2.0-only
/*
 * Entries of page tables for the view of a segment, and who forgets them.
 *
 * The view is VM_PFNMAP: its entries are special, without struct pages. So
 * nothing takes references through it, which would write to a page when that
 * is not allowed any more, and an entry can be made and taken back without any
 * count. Entries are never what decides: one that is missing, or allows less
 * than its page, is made anew in a fault.
 *
 * Entries of a list of pages are changed one by one and flushed at once. No
 * function that flushes TLBs of user space is exported. What is: to zap a range
 * of a VMA, which flushes that range; and where another change of the address
 * space says by inc_tlb_flush_pending() that it has not flushed yet, zapping
 * flushes all of it (mm_tlb_flush_nested(), tlb_finish_mmu()), as whoever finds
 * an entry gone relies on its being gone for all. So we say so, change entries,
 * zap one of the pages, and all are flushed.
 */
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmu_notifier.h>
#include <linux/pgtable.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "sonde.h"
#include "dsm.h"

/* ---- making them -------------------------------------------------------- */

/**
 * struct showing - of a page
 * @frames: what is shown next
 * @prot: of all entries
 * @is_clean: not written by this access, and whether it was before is of interest
 */
struct showing {
	struct page **frames;
	pgprot_t prot;
	bool is_clean;
};

/* Accessed and dirty at once: the processor need not write that later. */
static int show_frame(pte_t *pte, unsigned long addr, void *data)
{
	struct showing *s = data;
	pte_t entry = pfn_pte(page_to_pfn(*s->frames++), s->prot);

	/* What is there may have become dirty since. */
	if (s->is_clean && !pte_none(*pte))
		return 0;
	entry = pte_mkspecial(pte_mkyoung(entry));
	set_pte(pte, pte_write(entry) && !s->is_clean ? pte_mkdirty(entry) :
							entry);
	return 0;
}

/**
 * sonde_dsm_show() - have a page be mapped in the view
 * @dsm: the segment
 * @vma: its view, the mmap_lock held
 * @page: whose lock is held; its flags say what entries allow, if the mapping does
 * @is_write: whether this is for a write
 *
 * Return: 0 or -ENOMEM.
 */
int sonde_dsm_show(struct sonde_dsm *dsm, struct vm_area_struct *vma, u32 page,
		   bool is_write)
{
	const u32 allowed = dsm->pages[page].flags;
	const unsigned long first = (unsigned long)page << dsm->shift;
	const unsigned long addr = vma->vm_start + (first << PAGE_SHIFT);
	struct showing s = {
		.frames = dsm->frames + first,
		.is_clean = allowed & DSM_KEPT && !is_write,
	};
	unsigned long i, flags = vma->vm_flags;

	for (i = 0; i < 1UL << dsm->shift; i++)
		if (!sonde_dsm_frame(dsm, first + i))
			return -ENOMEM;
	/* Writable entries are those of shared mappings. */
	if (!sonde_dsm_may_write(allowed))
		flags &= ~VM_SHARED;
	s.prot = vm_get_page_prot(flags);
	return apply_to_page_range(vma->vm_mm, addr, sonde_dsm_unit(dsm),
				   show_frame, &s);
}

/* ---- taking them back --------------------------------------------------- */

/* Returns DSM_WAS_* of what it changed. */
typedef unsigned int change_fn(struct mm_struct *mm, unsigned long addr,
			       pte_t *pte);

/* The entry of @addr at PMD level, NULL where there is none. */
static pmd_t *find_pmd(struct mm_struct *mm, unsigned long addr)
{
	pgd_t *pgd = pgd_offset(mm, addr);
	p4d_t *p4d;
	pud_t *pud;

	if (!pgd_present(READ_ONCE(*pgd)))
		return NULL;
	p4d = p4d_offset(pgd, addr);
	if (!p4d_present(READ_ONCE(*p4d)))
		return NULL;
	pud = pud_offset(p4d, addr);
	return pud_present(READ_ONCE(*pud)) ? pmd_offset(pud, addr) : NULL;
}

/*
 * [@addr, @end), in the table that @pmd, just read from @pmdp, leads to. Returns
 * false if *@pmdp has changed meanwhile. See walk.c for what holds which table.
 */
static bool change_table(struct mm_struct *mm, pmd_t *pmdp, pmd_t pmd,
			 unsigned long addr, unsigned long end,
			 change_fn *change, unsigned int *was)
{
	spinlock_t *ptl;
	pte_t *pte;
	bool same;

	rcu_read_lock();
	ptl = pte_lockptr(mm, &pmd);
	spin_lock(ptl);
	same = pmd_same(pmd, READ_ONCE(*pmdp));
	if (same) {
		pte = pte_offset_kernel(&pmd, addr);
		for (; addr < end; addr += PAGE_SIZE, pte++)
			*was |= change(mm, addr, pte);
	}
	spin_unlock(ptl);
	rcu_read_unlock();
	return same;
}

static unsigned int bits_of(pte_t entry)
{
	return (pte_dirty(entry) ? DSM_WAS_DIRTY : 0) |
	       (pte_young(entry) ? DSM_WAS_YOUNG : 0);
}

static unsigned int hide_entry(struct mm_struct *mm, unsigned long addr,
			       pte_t *pte)
{
	return pte_none(*pte) ? 0 : bits_of(ptep_get_and_clear(mm, addr, pte));
}

/* Afterwards the processor makes no entry dirty that was not so already. */
static unsigned int shut_entry(struct mm_struct *mm, unsigned long addr,
			       pte_t *pte)
{
	if (pte_write(*pte))
		ptep_set_wrprotect(mm, addr, pte);
	return bits_of(*pte);
}

/* The processor may set bits of an entry that is there at any moment. */
static unsigned int clean_entry(struct mm_struct *mm, unsigned long addr,
				pte_t *pte)
{
	pte_t old = READ_ONCE(*pte);

	if (!pte_dirty(old))
		return 0;
	while (!try_cmpxchg(&pte->pte, &old.pte, pte_mkclean(old).pte))
		;
	return DSM_WAS_DIRTY;
}

static unsigned int age_entry(struct mm_struct *mm, unsigned long addr,
			      pte_t *pte)
{
	pte_t old = READ_ONCE(*pte);

	if (!pte_young(old))
		return 0;
	while (!try_cmpxchg(&pte->pte, &old.pte, pte_mkold(old).pte))
		;
	return DSM_WAS_YOUNG;
}

/* Of a page, which lies in two tables if the view is not aligned to it. */
static unsigned int change_page(struct mm_struct *mm, unsigned long addr,
				unsigned long size, change_fn *change)
{
	const unsigned long end = addr + size;
	unsigned int was = 0;
	unsigned long next;
	pmd_t *pmdp, pmd;

	for (; addr < end; addr = next) {
		next = min((addr & PMD_MASK) + PMD_SIZE, end);
		pmdp = find_pmd(mm, addr);
		if (!pmdp)
			continue;
		do {
			pmd = READ_ONCE(*pmdp);
		} while (!pmd_none(pmd) && !pmd_bad(pmd) &&
			 !change_table(mm, pmdp, pmd, addr, next, change, &was));
	}
	return was;
}

/**
 * sonde_dsm_hide() - have no entries lead to a page
 * @mm: the address space, its mmap_lock held
 * @addr: of the page in the view
 * @size: bytes of it
 *
 * Without a flush.
 *
 * Return: DSM_WAS_* of all of them.
 */
unsigned int sonde_dsm_hide(struct mm_struct *mm, unsigned long addr,
			    unsigned long size)
{
	return change_page(mm, addr, size, hide_entry);
}

/**
 * sonde_dsm_shut() - have no entries allow writes to a page
 * @mm: as for sonde_dsm_hide(), and so on
 * @addr: .
 * @size: .
 *
 * Return: .
 */
unsigned int sonde_dsm_shut(struct mm_struct *mm, unsigned long addr,
			    unsigned long size)
{
	return change_page(mm, addr, size, shut_entry);
}

/**
 * sonde_dsm_clean() - have entries say of the next write to a page that there was one
 * @mm: .
 * @addr: .
 * @size: .
 *
 * Return: DSM_WAS_DIRTY or 0.
 */
unsigned int sonde_dsm_clean(struct mm_struct *mm, unsigned long addr,
			     unsigned long size)
{
	return change_page(mm, addr, size, clean_entry);
}

/**
 * sonde_dsm_age() - have entries say of the next access to a page that there was one
 * @mm: .
 * @addr: .
 * @size: .
 *
 * Return: DSM_WAS_YOUNG or 0.
 */
unsigned int sonde_dsm_age(struct mm_struct *mm, unsigned long addr,
			   unsigned long size)
{
	return change_page(mm, addr, size, age_entry);
}

/* ---- flushes ------------------------------------------------------------ */

/**
 * sonde_dsm_flush_begin() - before entries of a list of pages are changed
 * @f: with a segment and its view, whose mmap_lock is held until the end
 */
void sonde_dsm_flush_begin(struct sonde_dsm_flush *f)
{
	f->is_needed = false;
	if (f->vma)
		inc_tlb_flush_pending(f->vma->vm_mm);
}

/**
 * sonde_dsm_flush_add() - a page of which entries were changed
 * @f: of sonde_dsm_flush_begin()
 * @page: it, under its lock
 *
 * Others that keep translations, as of devices that share the address space,
 * are told by zapping too: then each page is, at once. Of a kept page this forgets
 * what its entries say, so the caller has asked for that.
 */
void sonde_dsm_flush_add(struct sonde_dsm_flush *f, u32 page)
{
	if (mm_has_notifiers(f->vma->vm_mm)) {
		sonde_zap_special(f->vma, sonde_dsm_addr(f->dsm, page),
				  sonde_dsm_unit(f->dsm));
		return;
	}
	f->is_needed = true;
	f->page = page;
}

/* It may have been written since, or be kept only now. */
static void zap_one(struct sonde_dsm_flush *f, u32 page)
{
	const unsigned long addr = sonde_dsm_addr(f->dsm, page);
	const unsigned long size = sonde_dsm_unit(f->dsm);
	struct mutex *lock = sonde_dsm_lock_of(f->dsm, page);

	mutex_lock(lock);
	if (f->dsm->pages[page].flags & DSM_KEPT &&
	    sonde_dsm_shut(f->vma->vm_mm, addr, size) & DSM_WAS_DIRTY)
		sonde_dsm_note(f->dsm, page);
	sonde_zap_special(f->vma, addr, size);
	mutex_unlock(lock);
}

/**
 * sonde_dsm_flush_end() - flush what has been changed
 * @f: of sonde_dsm_flush_begin()
 *
 * When it returns nobody uses an entry as it was before.
 */
void sonde_dsm_flush_end(struct sonde_dsm_flush *f)
{
	if (!f->vma)
		return;
	if (f->is_needed)
		zap_one(f, f->page);
	dec_tlb_flush_pending(f->vma->vm_mm);
}
