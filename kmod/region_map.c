// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmap() of a region.
 *
 * Memory of SONDE_IOC_ALLOC and sealed memfds are mapped as the pages they are.
 * A memfd's must be mapped by the memfd: in a mapping that it does not know
 * they would still be seen when a hole is punched ("Bad page cache"). Anonymous
 * pages are not to be inserted at all.
 *
 * So other memory is shown by special entries, written here: there is no fault
 * to wait for. The mapping holds the file and the file the pins, so the pages
 * stay as long as it does, whatever the owner does. apply_to_page_range() is a
 * fifth of the cost of remap_pfn_range(), which asks for the cache attributes
 * of each piece; RAM that is pinned is write-back.
 *
 * Where a huge page can be shown by one entry nothing is written: such an entry
 * can only be made in a fault. It is made by .fault, as .huge_fault is not
 * called for such mappings on 6.0 to 6.5. Kernels that have no mark for special
 * huge entries (before 6.12) take references through them without the walk that
 * would refuse (get_user_pages_fast()), on the huge page as a whole: that is
 * why contiguous pages that are none are not shown so.
 */
#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "sonde.h"
#include "region.h"

/**
 * struct filling - of a mapping, page by page
 * @run: that is shown when nothing is left of the one before
 * @offset: where in the region
 * @left: bytes of the run that are still to be shown
 * @entry: for the next page of it
 * @step: to the entry after that: x86 keeps the frame of an entry that is not
 *	present, as of PROT_NONE, inverted
 * @prot: of all entries
 */
struct filling {
	const struct sonde_run *run;
	unsigned long offset;
	unsigned long left;
	pteval_t entry;
	pteval_t step;
	pgprot_t prot;
};

static void begin_run(struct filling *f)
{
	const unsigned long at = f->run->base + f->offset;

	f->entry = pte_val(pte_mkspecial(pfn_pte(__pa(at) >> PAGE_SHIFT,
						 f->prot)));
	f->left = f->run->end - f->offset;
	f->offset = f->run->end;
	f->run++;
}

/* By addition: making an entry from its frame is half of what a page costs. */
static int fill_entry(pte_t *pte, unsigned long addr, void *data)
{
	struct filling *f = data;

	if (!f->left)
		begin_run(f);
	set_pte(pte, __pte(f->entry));
	f->entry += f->step;
	f->left -= PAGE_SIZE;
	return 0;
}

static unsigned long offset_of(const struct vm_area_struct *vma,
			       unsigned long addr)
{
	return (vma->vm_pgoff << PAGE_SHIFT) + (addr - vma->vm_start);
}

/* Whether one entry can show [@addr, @addr + PMD_SIZE); out: its frame. */
static bool is_huge(const struct sonde_pinned *pinned,
		    const struct vm_area_struct *vma, unsigned long addr,
		    unsigned long *frame)
{
	const unsigned long offset = offset_of(vma, addr);
	const struct sonde_run *run;
	struct page *page;

	if (addr & ~PMD_MASK || addr < vma->vm_start ||
	    vma->vm_end - addr < PMD_SIZE)
		return false;
	run = sonde_run_find(pinned, offset);
	if (run->end - offset < PMD_SIZE)
		return false;
	page = virt_to_page((void *)(run->base + offset));
	*frame = page_to_pfn(page);
	return !(*frame % PTRS_PER_PTE) &&
	       compound_order(compound_head(page)) >= PMD_SHIFT - PAGE_SHIFT;
}

static int fill_table(struct vm_area_struct *vma,
		      const struct sonde_pinned *pinned, unsigned long addr,
		      unsigned long n)
{
	struct filling f = {
		.offset = offset_of(vma, addr),
		.prot = vma->vm_page_prot,
		.step = pgprot_val(vma->vm_page_prot) & _PAGE_PRESENT ?
			PAGE_SIZE : -PAGE_SIZE,
	};

	f.run = sonde_run_find(pinned, f.offset);
	return apply_to_page_range(vma->vm_mm, addr, n, fill_entry, &f);
}

static int fill(struct vm_area_struct *vma, const struct sonde_pinned *pinned)
{
	unsigned long addr, end, frame;
	int ret;

	for (addr = vma->vm_start; addr < vma->vm_end; addr = end) {
		end = min((addr & PMD_MASK) + PMD_SIZE, vma->vm_end);
		if (is_huge(pinned, vma, addr, &frame))
			continue;
		ret = fill_table(vma, pinned, addr, end - addr);
		if (ret)
			return ret;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/*
 * For huge pages; and page by page for what is left of them when a part has
 * been unmapped or protected otherwise, for which the kernel drops the huge
 * entry.
 */
static vm_fault_t sonde_region_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	const struct sonde_region *r = vma->vm_file->private_data;
	const unsigned long addr = vmf->address & PAGE_MASK;
	const unsigned long offset = offset_of(vma, addr);
	const struct sonde_run *run;
	unsigned long frame;

	/* Only a range of which no part is shown by small entries. */
	if ((pmd_none(*vmf->pmd) || pmd_trans_huge(*vmf->pmd)) &&
	    is_huge(&r->pinned, vma, addr & PMD_MASK, &frame))
		return sonde_insert_huge(vmf, frame, vma->vm_flags & VM_WRITE);
	run = sonde_run_find(&r->pinned, offset);
	return vmf_insert_pfn(vma, addr,
			      __pa(run->base + offset) >> PAGE_SHIFT);
}

static const struct vm_operations_struct sonde_region_vm_ops = {
	.fault = sonde_region_fault,
};

static int map_special(struct sonde_region *r, struct vm_area_struct *vma)
{
	sonde_vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTCOPY |
				VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &sonde_region_vm_ops;
	if (vma->vm_flags & VM_MAYWRITE)
		sonde_region_mark_dirty(r);
	return fill(vma, &r->pinned);
}

/* The kernel has taken VM_MAYWRITE away if there is no right to write. */
static int map_backing(struct sonde_region *r, struct vm_area_struct *vma)
{
	vma->vm_pgoff += r->backing_pgoff;
	if (sonde_is_memory(r->backing))
		return sonde_memory_map(r->backing, vma);
	sonde_vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND);
	sonde_vma_set_file(vma, r->backing);
	return sonde_call_mmap(r->backing, vma);
}

/**
 * sonde_region_mmap() - map whole pages of a region
 * @file: the region's
 * @vma: where
 *
 * What is in doubt cannot be settled here, inside a mmap_lock.
 *
 * Return: 0, -EINVAL (not shared, or the region does not begin with a page),
 * -ENXIO (not in the region), -EAGAIN (in doubt), -ESTALE, -EOWNERDEAD, -ENOMEM
 * or -EINTR.
 */
int sonde_region_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct sonde_region *r = file->private_data;
	const unsigned long npages = r->pinned.len >> PAGE_SHIFT;
	int state;

	if (!(vma->vm_flags & VM_MAYSHARE) || offset_in_page(r->addr))
		return -EINVAL;
	if (vma->vm_pgoff >= npages || vma_pages(vma) > npages - vma->vm_pgoff)
		return -ENXIO;
	state = READ_ONCE(r->state);
	if (state != SONDE_REGION_GOOD)
		return state < 0 ? state : -EAGAIN;
	return r->backing ? map_backing(r, vma) : map_special(r, vma);
}

/**
 * sonde_region_get_unmapped_area() - find room for a mapping
 * @file: the region's
 * @addr: as for mmap(), and so on
 * @len: .
 * @pgoff: .
 * @flags: .
 *
 * So that huge pages lie as in the owner's memory, where they are aligned.
 *
 * Return: an address, or -errno.
 */
unsigned long sonde_region_get_unmapped_area(struct file *file,
					     unsigned long addr,
					     unsigned long len,
					     unsigned long pgoff,
					     unsigned long flags)
{
	const struct sonde_region *r = file->private_data;

	pgoff += r->addr >> PAGE_SHIFT;
	return thp_get_unmapped_area(file, addr, len, pgoff, flags);
}
