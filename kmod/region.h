/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the files that make up regions; README.md has their lifetimes. */
#ifndef SONDE_KMOD_REGION_H
#define SONDE_KMOD_REGION_H

#include <linux/kref.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "sonde.h"

/* Bytes that are copied between two looks at signals and the region's state. */
#define SONDE_STEP	(1UL << 20)

/* pin.c */

/**
 * struct sonde_run - bytes that lie one after the other in physical memory
 * @end: one past the offset of its last byte
 * @base: plus an offset in the run: that byte in the kernel's direct map
 */
struct sonde_run {
	unsigned long end;
	unsigned long base;
};

/**
 * struct sonde_pinned - a piece of somebody's memory, pinned; constant
 * @runs: what it consists of, ascending
 * @nruns: how many
 * @len: its bytes
 * @npages: pages, in part or whole
 * @capacity: entries that @runs has room for
 * @charged: whose RLIMIT_MEMLOCK is charged, NULL if nobody's
 */
struct sonde_pinned {
	struct sonde_run *runs;
	unsigned long nruns;
	unsigned long len;
	unsigned long npages;
	unsigned long capacity;
	const struct cred *charged;
};

int sonde_pin(struct sonde_pinned *p, unsigned long addr, unsigned long len,
	      unsigned int flags, unsigned int fallback);
void sonde_unpin(struct sonde_pinned *p, bool is_dirty);
const struct sonde_run *sonde_run_find(const struct sonde_pinned *p,
				       unsigned long offset);

/* Pages of a run that is at index @i. */
static inline unsigned long sonde_run_start(const struct sonde_pinned *p,
					    unsigned long i)
{
	return p->runs[i].base + (i ? p->runs[i - 1].end : 0);
}

/* state.c */
struct sonde_states *sonde_states_create(void);
void sonde_states_put(struct sonde_states *states);
int sonde_states_mmap(struct sonde_states *states, struct vm_area_struct *vma);
int sonde_state_get(struct sonde_states *states, u32 *number, u64 **word,
		    u64 *generation);
void sonde_state_put(struct sonde_states *states, u32 number);

/* region.c */

/* What a region is, in sonde_region.state, unless it is a negative errno. */
#define SONDE_REGION_GOOD	0
#define SONDE_REGION_IN_DOUBT	1

/**
 * struct sonde_region - memory that its owner exported; lives with its file
 * @state: SONDE_REGION_GOOD; SONDE_REGION_IN_DOUBT: pages may have been
 *	replaced; -ESTALE or -EOWNERDEAD, which is final. Written under @lock
 * @is_dirty: something was copied into it, or it was mapped to write
 * @pinned: its pages
 * @backing: the file behind it, if mappings are to be of that; else NULL
 * @backing_pgoff: where in @backing it begins
 * @states: the state words of the open file that it was exported through
 * @word: its own
 * @word_number: its index
 * @generation: what is there while all is well
 * @addr: where it begins in the owner's memory
 * @lock: protects @state, @word, @from and @to; a leaf
 * @from: if in doubt, lowest address of the owner that is
 * @to: one past the highest
 * @looking: who finds out whether the doubt is right; taken outside mmap_lock
 * @notifier: tells of what happens to the owner's memory; holds the owner's mm
 * @wait: poll()
 *
 * All but what @lock protects and @is_dirty is constant from when its
 * descriptor is installed. What the copy path reads comes first, and nothing
 * that is written while all is well shares its cache lines.
 */
struct sonde_region {
	int state;
	bool is_dirty;
	struct sonde_pinned pinned;

	unsigned long addr ____cacheline_aligned;
	struct file *backing;
	unsigned long backing_pgoff;
	struct sonde_states *states;
	u64 *word;
	u32 word_number;
	u64 generation;
	spinlock_t lock;
	unsigned long from;
	unsigned long to;
	struct mutex looking;
	struct mmu_interval_notifier notifier;
	wait_queue_head_t wait;
};

extern const struct file_operations sonde_region_fops;

struct sonde_region *sonde_region_of(const struct file *file);
int sonde_region_settle(struct sonde_region *r);

/* What copies answer: 0, -ESTALE, -EOWNERDEAD or -EINTR. */
static inline int sonde_region_check(struct sonde_region *r)
{
	if (likely(READ_ONCE(r->state) == SONDE_REGION_GOOD))
		return 0;
	return sonde_region_settle(r);
}

/* Something will be written to it. */
static inline void sonde_region_mark_dirty(struct sonde_region *r)
{
	if (!READ_ONCE(r->is_dirty))
		WRITE_ONCE(r->is_dirty, true);
}

/* region_copy.c */
ssize_t sonde_region_copy(struct sonde_region *r, unsigned long offset,
			  char __user *buf, unsigned long len, bool to_region);
ssize_t sonde_region_read(struct file *file, char __user *buf, size_t len,
			  loff_t *pos);
ssize_t sonde_region_write(struct file *file, const char __user *buf,
			   size_t len, loff_t *pos);
ssize_t sonde_region_read_iter(struct kiocb *iocb, struct iov_iter *to);
ssize_t sonde_region_write_iter(struct kiocb *iocb, struct iov_iter *from);

/* region_map.c */
int sonde_region_mmap(struct file *file, struct vm_area_struct *vma);
unsigned long sonde_region_get_unmapped_area(struct file *file,
					     unsigned long addr,
					     unsigned long len,
					     unsigned long pgoff,
					     unsigned long flags);

#endif
