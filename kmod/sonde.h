/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The module's own header: what an open file is, and how an ioctl gets from
 * the dispatch table to its handler. README.md has locking and lifetimes.
 */
#ifndef SONDE_KMOD_SONDE_H
#define SONDE_KMOD_SONDE_H

#include <linux/atomic.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/sonde.h>

#include "compat.h"

struct cred;
struct file;
struct page;
struct sonde_colouring;
struct sonde_ioctl;
struct sonde_batches;
struct sonde_pool;
struct sonde_queue;
struct sonde_states;
struct sonde_wishes;
struct vm_area_struct;

/**
 * struct sonde_node - one of the two devices
 * @misc: name, mode and file operations
 * @features: SONDE_FEAT_*, those it serves
 * @ioctls: its dispatch table, indexed by _IOC_NR()
 * @nioctls: entries in @ioctls
 */
struct sonde_node {
	struct miscdevice misc;
	u64 features;
	const struct sonde_ioctl *ioctls;
	unsigned int nioctls;
};

/**
 * struct sonde_file - an open file; everything an opener owns hangs off it
 * @node: the device that was opened
 * @rights: SONDE_RIGHT_*, decided at open, constant afterwards
 * @pool: pages by colour, where the device gives memory; else NULL
 * @wishes: prefetchers that are to be off, with SONDE_RIGHT_PREFETCH; else NULL
 * @states: state words of regions, where the device exports them; else NULL
 * @batches: slots, where the device serves SONDE_IOC_COPYV; else NULL
 * @queue: batches that workers copy, where the device serves that; else NULL
 */
struct sonde_file {
	const struct sonde_node *node;
	u64 rights;
	struct sonde_pool *pool;
	struct sonde_wishes *wishes;
	struct sonde_states *states;
	struct sonde_batches *batches;
	struct sonde_queue *queue;
};

/**
 * struct sonde_ioctl - how one command is served
 * @cmd: SONDE_IOC_*, with the size that its struct has today
 * @run: the handler: gets the caller's struct and the size that the caller's
 *	command says it has; returns 0 or -errno
 */
struct sonde_ioctl {
	unsigned int cmd;
	int (*run)(const struct sonde_file *sf, void __user *uarg, size_t usize);
};

/*
 * Each struct's size when it was first published: the least that a caller may
 * pass, forever. sizeof() grows with the struct, these do not.
 */
#define SONDE_INFO_SIZE_VER0	80
#define SONDE_FRAMES_SIZE_VER0	40
#define SONDE_ALLOC_SIZE_VER0	80
#define SONDE_CHASE_SIZE_VER0	40
#define SONDE_CLOCK_SIZE_VER0	64
#define SONDE_PREFETCH_SIZE_VER0 24
#define SONDE_EXPORT_SIZE_VER0	56
#define SONDE_REVOKE_SIZE_VER0	16
#define SONDE_COPYV_SIZE_VER0	40
#define SONDE_SLOTS_SIZE_VER0	32
#define SONDE_CHECK_SIZE_VER0	40
#define SONDE_DSM_CREATE_SIZE_VER0	32
#define SONDE_DSM_PROTECT_SIZE_VER0	24
#define SONDE_DSM_COLLECT_SIZE_VER0	24
#define SONDE_DSM_UNTWIN_SIZE_VER0	24
#define SONDE_DSM_PEERS_SIZE_VER0	24
#define SONDE_DSM_ACCESSED_SIZE_VER0	32

/* A command is known by everything but its size: that is the caller's. */
static inline bool sonde_is_same_command(unsigned int a, unsigned int b)
{
	const unsigned int mask = ~(_IOC_SIZEMASK << _IOC_SIZESHIFT);

	return (a & mask) == (b & mask);
}

int sonde_arg_get(void *arg, size_t ksize, size_t min_size,
		  const void __user *uarg, size_t usize);

/* info.c */
int sonde_ioc_info(const struct sonde_file *sf, void __user *uarg, size_t usize);

/* frames.c */
extern unsigned int sonde_max_pages;
extern unsigned int sonde_colour_bits;

int sonde_frames_check_params(void);
int sonde_ioc_frames(const struct sonde_file *sf, void __user *uarg,
		     size_t usize);

/* walk.c */

/**
 * struct sonde_walk - what a walk over page tables is to tell, and where
 * @mm: the address space, locked for reading by the caller
 * @out: one zeroed entry for each page of [@start, @end)
 * @start: first address, on a page boundary
 * @end: one past the last address, on a page boundary
 * @frame_mask: bits of a frame number that may be told: all or none
 * @colour_mask: bits of a frame number that are its colour
 * @present_flags: SONDE_FRAME_* of a present page but SONDE_FRAME_NODE
 */
struct sonde_walk {
	struct mm_struct *mm;
	struct sonde_frame *out;
	unsigned long start;
	unsigned long end;
	unsigned long frame_mask;
	u32 colour_mask;
	u16 present_flags;
};

void sonde_walk_range(const struct sonde_walk *walk);

/* pages.c */

/**
 * struct sonde_request - pages that are asked for, and what came of it
 * @pages: @npages entries, NULL where there is no page yet
 * @npages: how many
 * @node: on this node, or NUMA_NO_NODE
 * @colouring: what colours are and which are wanted; NULL: any will do
 * @partial: other colours and shorter runs will do
 * @is_last: also if what is wanted is lacking for want of memory
 * @off_colour: out: pages that have not the colour of their place
 * @drawn: out: pages taken from the kernel
 */
struct sonde_request {
	struct page **pages;
	unsigned long npages;
	int node;
	const struct sonde_colouring *colouring;
	bool partial;
	bool is_last;
	unsigned long off_colour;
	unsigned long drawn;
};

extern unsigned long sonde_memory_pages;

int sonde_pages_check_params(void);
int sonde_block_alloc(int node, unsigned int order, struct page **block);
void sonde_page_free(struct page *page);
void sonde_pages_free(struct page **pages, unsigned long n);
int sonde_pages_alloc(struct sonde_request *rq);

/* charge.c */
bool sonde_count_below(atomic_long_t *count, unsigned long n,
		       unsigned long limit);
int sonde_charge_locked(unsigned long npages, const struct cred **charged);
void sonde_uncharge_locked(const struct cred *charged, unsigned long npages);

/* contiguous.c */
int sonde_contiguous_alloc(struct sonde_request *rq);

/* colouring.c */

/**
 * struct sonde_colouring - what colours are, and which are wanted
 * @bits: a colour has that many
 * @masks: bit i of a colour is the parity of the frame and mask i; others 0
 * @is_low_bits: a colour is the low @bits bits of a frame
 * @order: an aligned block of 2^@order frames has as many colours as any block
 * @far_bits: 2^@far_bits such blocks are needed for all: only frames that are far
 *	from each other differ in so many bits of a colour
 * @nwanted: how many are wanted, at least one
 * @wanted: which, ascending
 */
struct sonde_colouring {
	unsigned int bits;
	u64 masks[SONDE_ALLOC_MASKS];
	bool is_low_bits;
	unsigned int order;
	unsigned int far_bits;
	unsigned int nwanted;
	u16 *wanted;
};

int sonde_colouring_get(struct sonde_colouring *c, const struct sonde_alloc *args,
			bool may_see_frames);
void sonde_colouring_put(struct sonde_colouring *c);
unsigned int sonde_colour_of(const struct sonde_colouring *c,
			     unsigned long frame);

/* pool.c */
int sonde_pools_init(void);
void sonde_pools_exit(void);
struct sonde_pool *sonde_pool_create(void);
void sonde_pool_destroy(struct sonde_pool *pool);
int sonde_pools_empty(void);

/* search.c */
int sonde_pool_take(struct sonde_pool *pool, struct sonde_request *rq);

/* memory.c */

/**
 * struct sonde_memory - memory that SONDE_IOC_ALLOC gave; lives with its file
 * @pages: zeroed when they were handed out; constant, so is all but @lock
 * @npages: how many
 * @flags: SONDE_ALLOC_*; only where there is SONDE_ALLOC_PRIVATE the module may
 *	trust what is in the pages: elsewhere user space can change it at any time
 * @runs: runs of pages whose frames follow each other
 * @longest: pages of the longest run
 * @off_colour: pages that have not the colour of their place
 * @charged: whose RLIMIT_MEMLOCK is charged, NULL if nobody's
 * @lock: for who needs the content of the pages for itself; protects what follows
 * @is_linked: each place holds the address of a place, see measure.c
 * @at: where the last chase ended, NULL if there is no cycle to go on along
 */
struct sonde_memory {
	struct page **pages;
	unsigned long npages;
	u32 flags;
	unsigned long runs;
	unsigned long longest;
	unsigned long off_colour;
	const struct cred *charged;
	struct mutex lock;
	bool is_linked;
	void *at;
};

bool sonde_is_memory(const struct file *file);
int sonde_memory_map(struct file *file, struct vm_area_struct *vma);
struct sonde_memory *sonde_memory_get(int fd, struct file **file);
int sonde_ioc_alloc(const struct sonde_file *sf, void __user *uarg,
		    size_t usize);

/* measure.c */
int sonde_ioc_chase(const struct sonde_file *sf, void __user *uarg,
		    size_t usize);

/* clock.c */
int sonde_ioc_clock(const struct sonde_file *sf, void __user *uarg,
		    size_t usize);

/* pin.c */
int sonde_pin_check_params(void);

/* region.c */
int sonde_ioc_export(const struct sonde_file *sf, void __user *uarg,
		     size_t usize);
int sonde_ioc_revoke(const struct sonde_file *sf, void __user *uarg,
		     size_t usize);
int sonde_ioc_check(const struct sonde_file *sf, void __user *uarg,
		    size_t usize);

/* copyv.c */
int sonde_ioc_copyv(const struct sonde_file *sf, void __user *uarg,
		    size_t usize);

/* copyv_async.c */
int sonde_async_init(void);
void sonde_async_exit(void);
struct sonde_queue *sonde_queue_create(void);
void sonde_queue_destroy(struct sonde_queue *queue);

/* slots.c */
struct sonde_batches *sonde_batches_create(void);
void sonde_batches_destroy(struct sonde_batches *batches);
int sonde_ioc_slots(const struct sonde_file *sf, void __user *uarg,
		    size_t usize);

/* dsm.c */
int sonde_dsm_check_params(void);
int sonde_ioc_dsm_create(const struct sonde_file *sf, void __user *uarg,
			 size_t usize);

/* prefetch.c */
int sonde_prefetch_init(void);
void sonde_prefetch_exit(void);
struct sonde_wishes *sonde_wishes_create(void);
void sonde_wishes_destroy(struct sonde_wishes *wishes);
int sonde_ioc_prefetch(const struct sonde_file *sf, void __user *uarg,
		       size_t usize);

#endif
