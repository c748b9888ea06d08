/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The module's own header: what an open file is, and how an ioctl gets from
 * the dispatch table to its handler. README.md has locking and lifetimes.
 */
#ifndef SONDE_KMOD_SONDE_H
#define SONDE_KMOD_SONDE_H

#include <linux/miscdevice.h>
#include <linux/types.h>
#include <linux/sonde.h>

#include "compat.h"

struct sonde_ioctl;

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
 */
struct sonde_file {
	const struct sonde_node *node;
	u64 rights;
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

#endif
