/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of SONDE_IOC_DSM_CREATE and of segments share. */
#ifndef SONDE_KMOD_DSM_H
#define SONDE_KMOD_DSM_H

#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "sonde.h"

/* Locks of pages, and queues of those that wait for one: by a page's low bits. */
#define DSM_LOCKS	64

/* In sonde_dsm_page.flags, beside the protection. */
#define DSM_PROTECTION	3U
#define DSM_WRITTEN	(1U << 2)	/* noted as written since it was collected */
#define DSM_MAPPED	(1U << 3)	/* entries of the view may lead to it */
#define DSM_WAIT_READ	(1U << 4)	/* an event told of a read, unanswered */
#define DSM_WAIT_WRITE	(1U << 5)	/* or of a write */
#define DSM_LISTED	(1U << 6)	/* on the list of written pages, rightly or not */
#define DSM_TOLD	(1U << 7)	/* user space has been told of its twin */
#define DSM_SHUT	(1U << 8)	/* SONDE_DSM_WRITE, but copied: writes are noted */
#define DSM_KEPT	(1U << 9)	/* stays writable: entries tell of writes, dsm_keep.c */
#define DSM_IN_KEPT	(1U << 10)	/* on the list of kept pages, rightly or not */
#define DSM_SEEN	(1U << 11)	/* accessed since that was asked for */
#define DSM_CLEAN_SHIFT	12		/* looks that found a kept page not written */
#define DSM_CLEAN	(0xfU << DSM_CLEAN_SHIFT)
#define DSM_TURN_SHIFT	16		/* when it was collected last, see dsm_keep.c */
#define DSM_TURN	(0xffU << DSM_TURN_SHIFT)
#define DSM_BUSY_SHIFT	24		/* tries to copy it that found it open there */
#define DSM_BUSY	(0xfU << DSM_BUSY_SHIFT)
#define DSM_WAITS	(DSM_WAIT_READ | DSM_WAIT_WRITE)

/* What entries of a page were, for who has changed them. */
#define DSM_WAS_DIRTY	(1U << 0)
#define DSM_WAS_YOUNG	(1U << 1)

/**
 * struct sonde_dsm_page - a page of a segment
 * @flags: the protection and DSM_*; written under the page's lock
 * @twin: where its content before the first write is, until user space needs
 *	that no longer, or SONDE_DSM_NO_TWIN; under the same lock
 */
struct sonde_dsm_page {
	u32 flags;
	u32 twin;
};

/**
 * struct sonde_dsm_queue - numbers in the order in which they came
 * @entries: of them; never more than @size are in it, as each page is there once
 * @size: entries there is room for
 * @first: the oldest
 * @count: how many
 */
struct sonde_dsm_queue {
	u32 *entries;
	u32 size;
	u32 first;
	u32 count;
};

/**
 * struct sonde_dsm_peerage - other segments that pages are copied from
 * @n: how many
 * @views: their files, each held; NULL where there is none
 */
struct sonde_dsm_peerage {
	u32 n;
	struct file *views[];
};

/**
 * struct sonde_dsm - a segment; lives with its file @view
 * @view: that all its mappings are of; the descriptor's file holds it too
 * @shift: a page is 2^@shift base pages
 * @npages: its pages
 * @ntwins: its twins
 * @frames: the base pages of all pages, then of all twins, then of the table, then of
 *	the ring; NULL where nobody needed one yet, and constant once set
 * @ntable: base pages of the table, zero if it has none
 * @nring: base pages of the ring of events, likewise
 * @shared: that ring, see dsm_ring.c; NULL: there is none
 * @wake: with it: written to for who sleeps
 * @charged: whose RLIMIT_MEMLOCK is charged, NULL if nobody's
 * @is_closed: no descriptor is left; what would have to wait gets SIGBUS
 * @is_copied: with a table: pages of which copies were made that user space may not
 *	know of; set without a lock, see dsm_peer.c
 * @has_kept: SONDE_DSM_KEEP
 * @pages: of them
 * @locks: page i by i mod DSM_LOCKS, as below
 * @waits: those who wait for such a page
 * @mapping: protects @mm, @addr and @nviews; for reading: they stay
 * @mm: that has the view mapped, not held, or NULL
 * @addr: where
 * @nviews: VMAs of it: one, or two while it is being moved, in vain
 * @looking: who looks at kept pages, inside of @mapping
 * @kept: pages that are DSM_IN_KEPT, under @looking
 * @turn: of collections, see dsm_keep.c; under @looking, as is
 * @has_told: whether something was told in this one
 * @lock: protects all below
 * @events: page and kind of access (page * 2 + is it a write), for read()
 * @is_queued: a bit for each that @events may hold
 * @readers: of events
 * @put: events put into @shared, ever
 * @overflows: events that found it full, and are in @events
 * @written: pages that are DSM_LISTED
 * @free: the @nfree twins that nobody has
 * @nfree: how many; read without the lock by who waits for one
 * @writers: how many wait to write, perhaps for a twin; changed without the lock
 * @peerage: NULL before there are any, and when no descriptor is left
 * @misses: accesses that had to wait, for fdinfo; so are the rest
 * @writes: first writes
 * @copies: pages copied from peers
 * @shuts: pages of peers that were shut for that
 * @nkept: pages that are DSM_KEPT
 * @unseen: writes to these that no fault told of
 */
struct sonde_dsm {
	struct file *view;
	unsigned int shift;
	u32 npages;
	u32 ntwins;
	struct page **frames;
	unsigned long ntable;
	unsigned long nring;
	struct sonde_dsm_events *shared;
	struct eventfd_ctx *wake;
	const struct cred *charged;
	bool is_closed;
	unsigned long *is_copied;
	bool has_kept;
	struct sonde_dsm_page *pages;
	struct mutex locks[DSM_LOCKS];
	wait_queue_head_t waits[DSM_LOCKS];

	struct rw_semaphore mapping;
	struct mm_struct *mm;
	unsigned long addr;
	unsigned int nviews;

	struct mutex looking;
	struct sonde_dsm_queue kept;
	u8 turn;
	bool has_told;

	spinlock_t lock;
	struct sonde_dsm_queue events;
	unsigned long *is_queued;
	wait_queue_head_t readers;
	u32 put;
	u64 overflows;
	struct sonde_dsm_queue written;
	u32 *free;
	u32 nfree;
	atomic_t writers;
	struct sonde_dsm_peerage *peerage;
	u64 misses;
	u64 writes;
	u64 copies;
	u64 shuts;
	u32 nkept;
	u64 unseen;
};

static inline struct mutex *sonde_dsm_lock_of(struct sonde_dsm *dsm, u32 page)
{
	return &dsm->locks[page % DSM_LOCKS];
}

static inline wait_queue_head_t *sonde_dsm_wait_of(struct sonde_dsm *dsm,
						   u32 page)
{
	return &dsm->waits[page % DSM_LOCKS];
}

/* Whether a page may be written as it is: unseen, or on the list already. */
static inline bool sonde_dsm_may_write(u32 flags)
{
	const u32 protection = flags & DSM_PROTECTION;

	return (protection == SONDE_DSM_WRITE && !(flags & DSM_SHUT)) ||
	       (protection != SONDE_DSM_NONE &&
		flags & (DSM_WRITTEN | DSM_KEPT));
}

static inline unsigned long sonde_dsm_unit(const struct sonde_dsm *dsm)
{
	return PAGE_SIZE << dsm->shift;
}

static inline unsigned long sonde_dsm_addr(const struct sonde_dsm *dsm,
					   u32 page)
{
	return dsm->addr + ((unsigned long)page << (dsm->shift + PAGE_SHIFT));
}

/* dsm.c */
extern const struct file_operations sonde_dsm_fops;
struct page *sonde_dsm_frame(struct sonde_dsm *dsm, unsigned long i);

/* dsm_list.c */
int sonde_dsm_queue_init(struct sonde_dsm_queue *queue, u32 size);
void sonde_dsm_push(struct sonde_dsm_queue *queue, u32 entry);
u32 sonde_dsm_pop(struct sonde_dsm_queue *queue);
void sonde_dsm_post(struct sonde_dsm *dsm, u32 page, bool is_write);
ssize_t sonde_dsm_read(struct file *file, char __user *buf, size_t len,
		       loff_t *pos);
__poll_t sonde_dsm_poll(struct file *file, struct poll_table_struct *wait);
void sonde_dsm_note(struct sonde_dsm *dsm, u32 page);
void sonde_dsm_twin_drop(struct sonde_dsm *dsm, u32 page);
bool sonde_dsm_take_written(struct sonde_dsm *dsm, u32 *page);
u32 sonde_dsm_twin_get(struct sonde_dsm *dsm);
void sonde_dsm_wake_starved(struct sonde_dsm *dsm);

struct sonde_dsm_flush;

/* dsm_fault.c */
extern const struct vm_operations_struct sonde_dsm_view_ops;

/* dsm_peer.c */
int sonde_ioc_dsm_peers(struct file *file, void __user *uarg, size_t usize);
void sonde_dsm_leave_peers(struct sonde_dsm *dsm);
int sonde_dsm_copy_page(struct sonde_dsm *dsm, u32 page);
int sonde_dsm_shut_home(struct sonde_dsm *dsm, u32 page);

/* dsm_protect.c */
void *sonde_dsm_get_list(u64 uaddr, u32 n, u32 most);
int sonde_dsm_get_pages(const struct sonde_dsm *dsm, u64 uaddr, u32 n,
			u32 **out);
int sonde_dsm_begin(struct sonde_dsm *dsm, struct mm_struct *mm,
		    struct sonde_dsm_flush *f);
void sonde_dsm_end(struct sonde_dsm *dsm, struct mm_struct *mm,
		   struct sonde_dsm_flush *f);
int sonde_dsm_shut_page(struct sonde_dsm *dsm, u32 page);
long sonde_dsm_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

/* dsm_entries.c */
int sonde_dsm_show(struct sonde_dsm *dsm, struct vm_area_struct *vma, u32 page,
		   bool is_write);
unsigned int sonde_dsm_hide(struct mm_struct *mm, unsigned long addr,
			    unsigned long size);
unsigned int sonde_dsm_shut(struct mm_struct *mm, unsigned long addr,
			    unsigned long size);
unsigned int sonde_dsm_clean(struct mm_struct *mm, unsigned long addr,
			     unsigned long size);
unsigned int sonde_dsm_age(struct mm_struct *mm, unsigned long addr,
			   unsigned long size);

/**
 * struct sonde_dsm_flush - TLBs that are to forget some entries of a view
 * @dsm: the segment
 * @vma: its view; NULL if it is mapped nowhere
 * @page: one of those that were changed
 * @is_needed: whether there are any that were not zapped at once
 */
struct sonde_dsm_flush {
	struct sonde_dsm *dsm;
	struct vm_area_struct *vma;
	u32 page;
	bool is_needed;
};

void sonde_dsm_flush_begin(struct sonde_dsm_flush *f);
void sonde_dsm_flush_add(struct sonde_dsm_flush *f, u32 page);
void sonde_dsm_flush_end(struct sonde_dsm_flush *f);

/* dsm_accessed.c */
int sonde_ioc_dsm_accessed(struct sonde_dsm *dsm, void __user *uarg,
			   size_t usize);

/* dsm_ring.c */
int sonde_dsm_ring_open(struct sonde_dsm *dsm, unsigned long frame, int fd);
void sonde_dsm_ring_close(struct sonde_dsm *dsm);
bool sonde_dsm_ring_put(struct sonde_dsm *dsm, u32 page, bool is_write);
void sonde_dsm_ring_listed(struct sonde_dsm *dsm);
void sonde_dsm_ring_wake(struct sonde_dsm *dsm);
u32 sonde_dsm_ring_count(const struct sonde_dsm *dsm);

/* dsm_keep.c */
bool sonde_dsm_keep(struct sonde_dsm_flush *f, u32 page);
void sonde_dsm_unkeep(struct sonde_dsm_flush *f, u32 page);
void sonde_dsm_unkeep_all(struct sonde_dsm *dsm);
void sonde_dsm_take_turn(struct sonde_dsm *dsm, u32 count, bool was_all);
bool sonde_dsm_look(struct sonde_dsm_flush *f, u32 page);

#endif
