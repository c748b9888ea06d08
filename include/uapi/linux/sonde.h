/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * sonde.h - the contract between sonde.ko and user space
 *
 * Two misc devices stand for two levels of trust:
 *   /dev/sonde        only ever touches the caller's own memory
 *   /dev/sonde-probe  tells things about the machine (frames, colours)
 *
 * A command's structure starts with its own size, which must equal the size
 * coded in the command. A newer user space may pass a larger structure than
 * the module knows as long as the part it does not know is zero (-E2BIG
 * otherwise). A newer module takes a structure that ends where it ended when
 * it was first published, and any in between; a shorter one is -EINVAL.
 * Reserved fields and unknown flags must be zero (-EINVAL). An unknown command,
 * also one that only the other device knows, is -ENOTTY.
 */
#ifndef _UAPI_LINUX_SONDE_H
#define _UAPI_LINUX_SONDE_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Changed only when a caller of the old contract would be served wrongly. */
#define SONDE_ABI		1

#define SONDE_IOC_MAGIC		0xD5

/* Features, in struct sonde_info.features. */
#define SONDE_FEAT_FRAMES	(1ULL << 0)	/* SONDE_IOC_FRAMES */

/*
 * What this open file may do, in struct sonde_info.rights: decided when it was
 * opened, by the capabilities of who opened it, as in /proc/PID/pagemap.
 */
#define SONDE_RIGHT_FRAMES	(1ULL << 0)	/* frame numbers, not only colours */

/* Counters that user space can read, in struct sonde_info.counter. */
#define SONDE_COUNTER_NONE	0
#define SONDE_COUNTER_TSC	1	/* x86: invariant time stamp counter */
#define SONDE_COUNTER_CNTVCT	2	/* arm64: generic timer; no module tells it yet */

/**
 * struct sonde_info - SONDE_IOC_INFO, on both devices
 * @size: in: sizeof(struct sonde_info)
 * @abi: out: SONDE_ABI of the module
 * @features: out: SONDE_FEAT_*, those this device serves
 * @rights: out: SONDE_RIGHT_*, what this open file may do
 * @page_size: out: bytes of a base page
 * @max_pages: out: most pages in one SONDE_IOC_FRAMES
 * @counter: out: SONDE_COUNTER_*
 * @colour_bits: out: a colour is the low @colour_bits bits of the frame
 *	number; 0 if colours are not told
 * @counter_hz: out: the counter's frequency, 0 if the kernel does not know
 * @version: out: the module's version, NUL-terminated
 *
 * Errors, after which the structure is as it was: EFAULT, EINVAL (size), E2BIG.
 */
struct sonde_info {
	__u32 size;
	__u32 abi;
	__u64 features;
	__u64 rights;
	__u32 page_size;
	__u32 max_pages;
	__u32 counter;
	__u32 colour_bits;
	__u64 counter_hz;
	char version[32];
};

/* sonde_info.colour_bits where nobody chose: 1024 colours of 4 KiB pages. */
#define SONDE_COLOUR_BITS	10

/* What is known of a page, in struct sonde_frame.flags. */
#define SONDE_FRAME_PRESENT	(1U << 0)	/* mapped to a page frame */
#define SONDE_FRAME_FRAME	(1U << 1)	/* .frame is valid */
#define SONDE_FRAME_COLOUR	(1U << 2)	/* .colour is valid */
#define SONDE_FRAME_NODE	(1U << 3)	/* .node is valid */
#define SONDE_FRAME_MAPPED	(1U << 4)	/* inside some mapping of the caller */

/**
 * struct sonde_frame - what backs one page of virtual memory
 * @frame: page frame number, 0 unless SONDE_FRAME_FRAME
 * @colour: low bits of the frame number, 0 unless SONDE_FRAME_COLOUR
 * @flags: SONDE_FRAME_*
 * @node: NUMA node, 0 unless SONDE_FRAME_NODE
 * @order: the translation covers 2^@order base pages (0, 9, 18 on x86-64)
 * @reserved: zero
 */
struct sonde_frame {
	__u64 frame;
	__u32 colour;
	__u16 flags;
	__u16 node;
	__u8 order;
	__u8 reserved[7];
};

/* Flags of SONDE_IOC_FRAMES. */
#define SONDE_FRAMES_COLOURS	(1U << 0)	/* colours only, though frames may be seen */

/**
 * struct sonde_frames - SONDE_IOC_FRAMES, on /dev/sonde-probe
 * @size: in: sizeof(struct sonde_frames)
 * @flags: in: SONDE_FRAMES_*
 * @addr: in: start of the range, a multiple of the page size
 * @npages: in: base pages to look at, 1 to sonde_info.max_pages
 * @entries: in: address of an array of @npages struct sonde_frame
 * @done: out: entries written; fewer than @npages only with EFAULT or EINTR
 *
 * Looks at the caller's own address space, as it is at that moment: nothing
 * is faulted in, pinned or moved, and a frame may change afterwards unless
 * the caller keeps the page in place. What is told equals what
 * /proc/PID/pagemap tells: a page that mprotect() made inaccessible is present;
 * in mappings without pages of their own, as of device memory, none is. Frame
 * numbers are told where the file has SONDE_RIGHT_FRAMES, which takes
 * CAP_SYS_ADMIN in the initial user namespace; elsewhere colours only.
 *
 * Errors after which the structure is as it was: EFAULT (the structure), EINVAL
 * (size, flags, count, alignment, a range that leaves the address space),
 * E2BIG, ENOMEM. Errors after which @done says how far it came: EFAULT (the
 * array; the entry at @done may be written in part), EINTR (a fatal signal).
 */
struct sonde_frames {
	__u32 size;
	__u32 flags;
	__u64 addr;
	__u64 npages;
	__u64 entries;
	__u64 done;
};

#define SONDE_IOC_INFO		_IOWR(SONDE_IOC_MAGIC, 0x00, struct sonde_info)
#define SONDE_IOC_FRAMES	_IOWR(SONDE_IOC_MAGIC, 0x01, struct sonde_frames)

#endif /* _UAPI_LINUX_SONDE_H */
