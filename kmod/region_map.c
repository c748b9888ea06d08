// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmap() of a region.
 *
 * Where one file is behind all of it whose pages stay, it is that file that is
 * mapped: real pages. Inserting pages of a file into a mapping that the file does
 * not know would not do: when the file is truncated or goes they would still be
 * mapped ("Bad page cache"). Anonymous pages are not to be inserted at all.
 *
 * So other memory is shown by special entries, all of them written here: there
 * is no fault to wait for, and none that could fail. The mapping holds the file
 * and the file the pins, so the pages stay as long as it does, whatever the owner
 * does. apply_to_page_range() is a fifth of the cost of remap_pfn_range(), which
 * asks for the cache attributes of each piece; RAM that is pinned is write-back.
 */
#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "sonde.h"
#include "region.h"

/* Bytes that are mapped between two looks at signals. */
#define MAP_STEP	(4UL << 20)

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

static int fill(struct vm_area_struct *vma, const struct sonde_pinned *pinned)
{
	struct filling f = {
		.offset = vma->vm_pgoff << PAGE_SHIFT,
		.prot = vma->vm_page_prot,
		.step = pgprot_val(vma->vm_page_prot) & _PAGE_PRESENT ?
			PAGE_SIZE : -PAGE_SIZE,
	};
	unsigned long addr, n;
	int ret;

	f.run = sonde_run_find(pinned, f.offset);
	for (addr = vma->vm_start; addr < vma->vm_end; addr += n) {
		n = min(MAP_STEP, vma->vm_end - addr);
		ret = apply_to_page_range(vma->vm_mm, addr, n, fill_entry, &f);
		if (ret)
			return ret;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/* All entries are there from the beginning: who finds none gets SIGBUS. */
static const struct vm_operations_struct sonde_region_vm_ops = {
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
	sonde_vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND);
	sonde_vma_set_file(vma, r->backing);
	return sonde_call_mmap(r->backing, vma);
}

/**
 * sonde_region_mmap() - map whole pages of a region
 * @file: the region's
 * @vma: where
 *
 * Return: 0, -EINVAL (not shared, or the region does not begin with a page),
 * -ENXIO (not in the region), -ESTALE, -EOWNERDEAD, -ENOMEM or -EINTR.
 */
int sonde_region_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct sonde_region *r = file->private_data;
	const unsigned long npages = r->pinned.len >> PAGE_SHIFT;

	if (!(vma->vm_flags & VM_MAYSHARE) || offset_in_page(r->addr))
		return -EINVAL;
	if (vma->vm_pgoff >= npages || vma_pages(vma) > npages - vma->vm_pgoff)
		return -ENXIO;
	if (READ_ONCE(r->state) < 0)
		return r->state;
	return r->backing ? map_backing(r, vma) : map_special(r, vma);
}
