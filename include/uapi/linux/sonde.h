/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * sonde.h - the contract between sonde.ko and user space
 *
 * Two misc devices stand for two levels of trust:
 *   /dev/sonde        only ever touches the caller's own memory, and what
 *                     others gave it: regions
 *   /dev/sonde-probe  tells things about the machine (frames, colours), and
 *                     gives memory of chosen colours
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
#define SONDE_FEAT_ALLOC	(1ULL << 1)	/* SONDE_IOC_ALLOC */
#define SONDE_FEAT_CHASE	(1ULL << 2)	/* SONDE_IOC_CHASE */
#define SONDE_FEAT_CLOCK	(1ULL << 3)	/* SONDE_IOC_CLOCK */
#define SONDE_FEAT_PREFETCH	(1ULL << 4)	/* SONDE_IOC_PREFETCH */
#define SONDE_FEAT_REGION	(1ULL << 5)	/* SONDE_IOC_EXPORT, _REVOKE, _CHECK */
#define SONDE_FEAT_COPYV	(1ULL << 6)	/* SONDE_IOC_COPYV, _SLOTS */
#define SONDE_FEAT_ASYNC	(1ULL << 7)	/* SONDE_COPYV_ASYNC */
#define SONDE_FEAT_MAP		(1ULL << 8)	/* mmap() of a region */
#define SONDE_FEAT_DSM		(1ULL << 9)	/* SONDE_IOC_DSM_* */
#define SONDE_FEAT_DSM_PEERS	(1ULL << 10)	/* SONDE_IOC_DSM_PEERS */
#define SONDE_FEAT_DSM_KEEP	(1ULL << 11)	/* SONDE_DSM_KEEP */
#define SONDE_FEAT_DSM_ACCESSED	(1ULL << 12)	/* SONDE_IOC_DSM_ACCESSED */
#define SONDE_FEAT_DSM_RING	(1ULL << 13)	/* SONDE_DSM_RING */
#define SONDE_FEAT_FLUSH	(1ULL << 14)	/* SONDE_CHASE_FLUSH */

/*
 * What this open file may do, in struct sonde_info.rights: decided when it was
 * opened, by the capabilities of who opened it, as in /proc/PID/pagemap.
 */
#define SONDE_RIGHT_FRAMES	(1ULL << 0)	/* frame numbers, not only colours */
#define SONDE_RIGHT_PREFETCH	(1ULL << 1)	/* switch prefetchers off */
#define SONDE_RIGHT_EVENTS	(1ULL << 2)	/* count events in SONDE_IOC_CHASE */

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

/* Flags of SONDE_IOC_ALLOC. */
#define SONDE_ALLOC_CONTIGUOUS	(1U << 0)	/* one run of frames that follow each other */
#define SONDE_ALLOC_PARTIAL	(1U << 1)	/* as near as can be had, told in the answer */
#define SONDE_ALLOC_PRIVATE	(1U << 2)	/* for the module's own use: never mapped */

/* Most masks, and so bits of a colour, in SONDE_IOC_ALLOC. */
#define SONDE_ALLOC_MASKS	12

/**
 * struct sonde_alloc - SONDE_IOC_ALLOC, on /dev/sonde-probe
 * @size: in: sizeof(struct sonde_alloc)
 * @flags: in: SONDE_ALLOC_*
 * @npages: in: base pages
 * @node: in: NUMA node that all pages are to be on, or -1
 * @nmasks: in: entries of @masks, at most SONDE_ALLOC_MASKS; 0: a colour is
 *	the low sonde_info.colour_bits bits of the frame number
 * @masks: in: address of @nmasks __u64; bit i of a colour is the parity of
 *	(frame number & mask i). They must be linearly independent
 * @colours: in: address of a bitmap of 2^bits bits, in whole __u64 of which
 *	the first holds colours 0 to 63: the wanted colours; 0: pages as they
 *	come, of any colour
 * @off_colour: out: pages that have not the colour of their place
 * @runs: out: runs of pages whose frames follow each other
 * @longest: out: pages of the longest run
 * @drawn: out: pages taken from the kernel for this call, wanted or not; 0 if
 *	all were in the pool
 * @fd: out: the memory, a file of its own (O_CLOEXEC)
 * @reserved: zero
 *
 * A region of memory is a file: whoever holds the descriptor may map it, shared
 * only, in part or more than once; nobody else can name it. The pages are
 * zeroed, stay where they are, and are freed with the last descriptor and
 * mapping. Mappings are not inherited by fork(), the descriptor is.
 *
 * If colours are given, page i of the memory has the (i mod k)-th of the k
 * wanted ones, in ascending order. To get them pages of other colours must be
 * taken too: those are kept in a pool of this open file, from which further
 * calls are served first, up to the module's parameter pool_pages; the kernel
 * gets them back when it is short of memory, and when the file is closed.
 *
 * What cannot be had is refused, unless SONDE_ALLOC_PARTIAL is given: then
 * places without a page of their colour get another and are counted in
 * @off_colour, and memory with SONDE_ALLOC_CONTIGUOUS consists of the longest
 * runs that were to be had. Too few pages is always an error.
 *
 * Masks may look at no other bits than the low sonde_info.colour_bits unless
 * the file has SONDE_RIGHT_FRAMES, as the answer would tell those bits.
 *
 * Errors, after which the structure is as it was and nothing is allocated but
 * what the pool keeps: EFAULT; EINVAL (size, flags, count, node, masks, colours that do not exist
 * or none, colours and SONDE_ALLOC_CONTIGUOUS); E2BIG; EPERM (masks); ENOSPC
 * (wanted colours or one run cannot be had); ENOMEM (the kernel or the memory
 * cgroup has none); ENOBUFS (RLIMIT_MEMLOCK); EDQUOT (the module's parameter
 * memory_pages); EMFILE, ENFILE; EINTR (a fatal signal).
 */
struct sonde_alloc {
	__u32 size;
	__u32 flags;
	__u64 npages;
	__s32 node;
	__u32 nmasks;
	__u64 masks;
	__u64 colours;
	__u64 off_colour;
	__u64 runs;
	__u64 longest;
	__u64 drawn;
	__s32 fd;
	__u32 reserved;
};

/* Bytes of a place, the unit in which memory is addressed in SONDE_IOC_CHASE. */
#define SONDE_PLACE		16
/* Core cycles of the chain of additions that sonde_window.chain times. */
#define SONDE_CHAIN_CYCLES	1024
/* Most loads of a lane in one call, skipped ones included. */
#define SONDE_CHASE_LOADS	(1ULL << 30)
/* Most windows of all lanes of a call. */
#define SONDE_CHASE_WINDOWS	65536
/* Most kinds of events in a call. */
#define SONDE_CHASE_EVENTS	4

/* In struct sonde_chase.flags. */
#define SONDE_CHASE_FLUSH	(1U << 0)	/* the places' lines leave all caches */

/* What happened around a window, in struct sonde_window.flags. */
#define SONDE_WINDOW_NMI	(1U << 0)	/* an NMI came in its slice */
#define SONDE_WINDOW_SMI	(1U << 1)	/* an SMI did; told by Intel only */
#define SONDE_WINDOW_GAP	(1U << 2)	/* the CPU was away between two reads */

/**
 * struct sonde_window - one timed stretch of a chase
 * @begin: the counter at its begin, raw
 * @ticks: ticks of its loads and of @reads reads of the counter
 * @chain: ticks of SONDE_CHAIN_CYCLES dependent additions just before it, and
 *	of one read
 * @reads: pieces in which it was taken: 1, or more if it did not fit in a slice
 * @flags: SONDE_WINDOW_*
 */
struct sonde_window {
	__u64 begin;
	__u64 ticks;
	__u64 chain;
	__u32 reads;
	__u32 flags;
};

/**
 * struct sonde_event - what to count while windows are taken
 * @type: as in struct perf_event_attr: PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE,
 *	PERF_TYPE_HW_CACHE or PERF_TYPE_RAW
 * @error: out: 0, or the positive errno for which it cannot be counted here
 * @config: as in struct perf_event_attr
 */
struct sonde_event {
	__u32 type;
	__u32 error;
	__u64 config;
};

/**
 * struct sonde_lane - what one CPU does in SONDE_IOC_CHASE
 * @cpu: in: where
 * @steps: in: loads of a window
 * @places: in: address of @nplaces __u32: places that are made one cycle in
 *	this order, each of them written; 0: go on along the cycle of the last call
 * @nplaces: in: how many; a place that is named twice cuts the cycle short
 * @skip: in: loads untimed before the first window
 * @windows: in: address of an array of @nwindows struct sonde_window
 * @counts: in: address of an array of @nwindows times sonde_chase.nevents
 *	__u64, the events of a window side by side; 0 without events
 * @nwindows: in: how many
 * @done: out: windows written
 * @slices: out: stretches with interrupts off
 * @disturbed: out: windows with a flag
 * @longest: out: ticks of the longest slice
 */
struct sonde_lane {
	__u32 cpu;
	__u32 steps;
	__u64 places;
	__u64 nplaces;
	__u64 skip;
	__u64 windows;
	__u64 counts;
	__u32 nwindows;
	__u32 done;
	__u32 slices;
	__u32 disturbed;
	__u64 longest;
};

/**
 * struct sonde_chase - SONDE_IOC_CHASE, on /dev/sonde-probe
 * @size: in: sizeof(struct sonde_chase)
 * @flags: in: SONDE_CHASE_FLUSH or 0
 * @memory: in: what SONDE_IOC_ALLOC gave with SONDE_ALLOC_PRIVATE
 * @nlanes: in: CPUs that measure at the same time
 * @lanes: in: address of an array of @nlanes struct sonde_lane
 * @events: in: address of an array of @nevents struct sonde_event
 * @nevents: in: at most SONDE_CHASE_EVENTS
 * @slice_us: out: the module's parameter slice_us
 *
 * The loops of the kernel's side: loads, each of the address that the one before
 * it loaded, in memory that only the module touches, through the kernel's direct
 * map. A window is timed in slices with interrupts off, of sonde_chase.slice_us
 * and the loads of one look at the clock at most.
 *
 * With one lane, if the caller is bound to its CPU alone, the caller's own
 * thread measures; what it had cached there stays. Else each lane is a thread of
 * its own, bound to its CPU: it writes its cycle again, skips, waits for the
 * others, takes its windows, and goes on loading untimed until all are done, so
 * that each window was taken against the load of the others.
 *
 * With SONDE_CHASE_FLUSH nothing is linked, walked or timed: the lines of the
 * places of one lane leave all caches of all CPUs, and the cycle stays as it is.
 * Such a lane has no windows, nothing to skip and no events.
 *
 * The memory serves one call at a time; the others wait. If a call fails the
 * cycle is gone and places must be given again. What events count is that of
 * the thread that measures.
 *
 * Errors, after which nothing was written: EFAULT, EINVAL (size, flags, counts,
 * a place outside of the memory, a flush with more than that, two lanes of one
 * CPU, no such CPU or an offline one, no cycle to go on along; memory that is
 * not private or not of SONDE_IOC_ALLOC), E2BIG, EBADF, EPERM (a CPU where the
 * caller may not run; events without SONDE_RIGHT_EVENTS), EOPNOTSUPP (the
 * counter's rate is not known), ENOMEM, EAGAIN (the lanes did not come together
 * in time, or a thread was taken from its CPU), EINTR (a fatal signal). EFAULT
 * for an array that cannot be written comes last: others may have been written.
 */
struct sonde_chase {
	__u32 size;
	__u32 flags;
	__s32 memory;
	__u32 nlanes;
	__u64 lanes;
	__u64 events;
	__u32 nevents;
	__u32 slice_us;
};

/* What is known of the counter, in struct sonde_clocks.flags. */
#define SONDE_CLOCK_INVARIANT	(1U << 0)	/* constant rate, in deep sleep too */
#define SONDE_CLOCK_STABLE	(1U << 1)	/* the kernel has found nothing wrong */
#define SONDE_CLOCK_TOLD	(1U << 2)	/* .hz was told, not calibrated */

/**
 * struct sonde_clock_cpu - the counter of one CPU against that of another
 * @cpu: in: which
 * @rounds: out: messages there and back that were timed, both ways of watching
 * @offset: out: its counter minus the reference's at the first watching, ticks
 * @error: out: what @offset may be wrong by, ticks: half of what the tightest
 *	messages leave open
 * @drift: out: by how much it gains, ticks in 10^9 ticks
 * @drift_error: out: what @drift may be wrong by
 */
struct sonde_clock_cpu {
	__u32 cpu;
	__u32 rounds;
	__s64 offset;
	__u64 error;
	__s64 drift;
	__u64 drift_error;
};

/**
 * struct sonde_clocks - SONDE_IOC_CLOCK, on /dev/sonde-probe
 * @size: in: sizeof(struct sonde_clocks)
 * @flags: in: zero; out: SONDE_CLOCK_*
 * @counter: out: SONDE_COUNTER_TSC, also where it is not one clock
 * @reference: in: the CPU that the others are compared with
 * @hz: out: the kernel's rate of the counter, 0 if it has none
 * @cpuid_hz: out: the rate that the processor or the hypervisor tells in CPUID
 *	(leaves 15h, 40000010h), 0 if none
 * @cost: out: ticks of a serialised read, the median
 * @step: out: the counter's step: greatest common divisor of differences
 * @cpus: in: address of an array of @ncpus struct sonde_clock_cpu
 * @ncpus: in: how many; 0: no CPUs are compared
 * @done: out: entries of @cpus that were written
 *
 * Two CPUs are compared by messages there and back, interrupts off: what lies
 * between the send and the answer bounds the offset, without any assumption on
 * how long either way takes. All are watched twice, a tenth of a second apart,
 * for the drift; what is not a clock, as where a hypervisor traps reads, shows in
 * @error.
 *
 * Errors, after which nothing was written: EFAULT, EINVAL (size, flags, count, a
 * CPU that is not or not online, or is the reference), E2BIG, EPERM (a CPU
 * where the caller may not run), ENOMEM. Errors after which @done says how many
 * entries are valid: EFAULT (the array), EAGAIN (two CPUs did not come together
 * in time), EINTR (a fatal signal).
 */
struct sonde_clocks {
	__u32 size;
	__u32 flags;
	__u32 counter;
	__u32 reference;
	__u64 hz;
	__u64 cpuid_hz;
	__u64 cost;
	__u64 step;
	__u64 cpus;
	__u32 ncpus;
	__u32 done;
};

/* Prefetchers, in struct sonde_prefetch. What they are called differs. */
#define SONDE_PREFETCH_L1_STREAM	(1U << 0)	/* next line (Intel: DCU) */
#define SONDE_PREFETCH_L1_STRIDE	(1U << 1)	/* by instruction (Intel: IP) */
#define SONDE_PREFETCH_L1_REGION	(1U << 2)	/* AMD */
#define SONDE_PREFETCH_L2_STREAM	(1U << 3)	/* streamer */
#define SONDE_PREFETCH_L2_PAIR		(1U << 4)	/* adjacent line; AMD: up/down */

/* Flags of SONDE_IOC_PREFETCH. */
#define SONDE_PREFETCH_SET	(1U << 0)	/* switch, not only tell */

/**
 * struct sonde_prefetch - SONDE_IOC_PREFETCH, on /dev/sonde-probe
 * @size: in: sizeof(struct sonde_prefetch)
 * @flags: in: SONDE_PREFETCH_SET or 0
 * @cpu: in: whose prefetchers; they are those of its core
 * @off: in, with SONDE_PREFETCH_SET: SONDE_PREFETCH_* that this file wants off,
 *	instead of what it wanted before; out: those that are off now
 * @known: out: those that the core has a documented switch for
 * @reserved: zero
 *
 * A prefetcher is off while any open file wants it off, or if it was off before
 * the first did. When a file is closed, for whatever reason, its wishes are gone;
 * with the last wish for a core its register is again what it was. A CPU that
 * goes offline leaves its register as it was found; one that comes online gets
 * the wishes.
 *
 * Errors, after which the structure is as it was: EFAULT, EINVAL (size, flags,
 * a prefetcher that is not in @known, no such CPU or an offline one), E2BIG,
 * EPERM (without SONDE_RIGHT_PREFETCH), EOPNOTSUPP (this processor has no
 * documented switch, or its hypervisor does not give it: what is written does not
 * read back), EBUSY (the threads of the core do not agree on what is off), ENOMEM.
 */
struct sonde_prefetch {
	__u32 size;
	__u32 flags;
	__u32 cpu;
	__u32 off;
	__u32 known;
	__u32 reserved;
};

/* What may be done through a region's descriptor. */
#define SONDE_REGION_READ	(1U << 0)	/* copy out of it, map it to read */
#define SONDE_REGION_WRITE	(1U << 1)	/* copy into it, map it to write */

/* What is known of a region, in sonde_export.flags and sonde_check.flags. */
#define SONDE_REGION_REAL	(1U << 0)	/* mappings of it have real pages */

/* Words in the state pages of an open file: most regions exported through it. */
#define SONDE_STATE_WORDS	32768
/* In a state word: something happened, SONDE_IOC_CHECK finds out. */
#define SONDE_STATE_SUSPECT	(1ULL << 63)

/**
 * struct sonde_export - SONDE_IOC_EXPORT, on /dev/sonde
 * @size: in: sizeof(struct sonde_export)
 * @flags: in: zero; out: SONDE_REGION_REAL
 * @addr: in: where the region begins in the caller's memory
 * @len: in: its bytes; @addr and @len may be odd
 * @rights: in: SONDE_REGION_READ, SONDE_REGION_WRITE or both
 * @fd: out: the region, a file of its own (O_CLOEXEC)
 * @generation: out: what the region's state word holds while all is well; no
 *	other export through this open file has the same, ever
 * @word: out: index of its state word
 * @reserved: zero
 * @runs: out: physically contiguous pieces that it consists of
 *
 * A region is a file. Whoever holds the descriptor, by inheritance or over a
 * socket, may use it within its rights; nobody else can name it, and nobody is
 * asked for its uid or for ptrace. It outlives this open file, and its pages are
 * pinned until its last descriptor and mapping are gone.
 *
 *   read(), pread(), readv(), preadv() and the like copy out of it, write() and
 *	its kin into it, from and to the place in the region that the file's
 *	position or the offset says. Reading stops at its end with a short
 *	count, then 0; writing with a short count, then ENOSPC. Without the
 *	right: EBADF.
 *   lseek() sets the position; SEEK_END tells the length.
 *   mmap(), shared only, maps whole pages that lie in the region, from its first
 *	byte on, which must be the first of a page (EINVAL); ENXIO beyond; EACCES
 *	to write without the right; EAGAIN if something happened to the region:
 *	SONDE_IOC_CHECK finds out what; ESTALE and EOWNERDEAD if it is lost.
 *	If one mapping of the owner holds the whole region, memory of
 *	SONDE_IOC_ALLOC and of a sealed memfd is mapped as the real pages it is
 *	(@flags): vmsplice(), RDMA and shared futexes work on them. The seals are
 *	F_SEAL_SHRINK and, for a region to write, F_SEAL_GROW; and such a region
 *	must be the whole of the memfd, as a mapping of a file may be turned
 *	to another place of it. Other memory is mapped by special entries, on
 *	which those fail with EFAULT, and by one entry for each huge page if the
 *	address lies in it as the owner's does; where it is left to mmap() it does.
 *	Mappings are not inherited by fork(). They keep their pages whatever the
 *	owner does, which @word and poll() tell.
 *   poll() tells POLLIN and POLLOUT within the rights, and POLLERR and POLLHUP
 *	from when the region is lost.
 *   ioctl() knows no command there.
 *
 * The region stands for what is at @addr in the owner's memory. It is lost when
 * the owner unmaps, moves or drops any page of it, or replaces a page by another,
 * or revokes it: from the moment that call returns copies answer ESTALE. When
 * the owner's address space is gone, by exit or exec, they answer EOWNERDEAD.
 * What does not replace pages does not lose it: fork(), of which the owner keeps
 * the region, mprotect(), compaction, splitting or joining of huge pages. A copy
 * that is under way meanwhile ends early or with the bytes of before. (Before Linux
 * 5.19 a page is replaced, and so the region lost, by the first write after
 * mprotect() took that right away and gave it back.)
 *
 * State words: mmap() of this open file at offset 0, shared and to read, gives
 * SONDE_STATE_WORDS __u64. As long as one equals the generation of an export,
 * that region is what it was; so a cache of exports checks an entry with one
 * load. If it differs only in SONDE_STATE_SUSPECT the pages may still be the
 * same: SONDE_IOC_CHECK, or a copy, looks, and clears the bit if so. Any
 * other value: the region is lost, or closed. The words of a parent that a child
 * of fork() sees are about the parent's memory still.
 *
 * Pages are charged to RLIMIT_MEMLOCK of the user, unless the caller has
 * CAP_IPC_LOCK, each time that they are exported.
 *
 * Errors, after which the structure is as it was and nothing is pinned: EFAULT
 * (the structure; memory that is not there or cannot be pinned, as of devices);
 * EINVAL (size, flags, rights, length 0, a range that leaves the address space);
 * E2BIG; EACCES (memory that the caller may not read, or not write, as the rights
 * need); EOPNOTSUPP (to write, into a shared file mapping other than tmpfs, memfd
 * and hugetlbfs); ENOMEM; ENOBUFS (RLIMIT_MEMLOCK); EDQUOT (the module's
 * parameter region_pages); ENOSPC (no state word is free); EAGAIN (the memory was
 * being changed meanwhile); EMFILE, ENFILE; EINTR (a fatal signal).
 */
struct sonde_export {
	__u32 size;
	__u32 flags;
	__u64 addr;
	__u64 len;
	__u32 rights;
	__s32 fd;
	__u64 generation;
	__u32 word;
	__u32 reserved;
	__u64 runs;
};

/**
 * struct sonde_revoke - SONDE_IOC_REVOKE, on /dev/sonde
 * @size: in: sizeof(struct sonde_revoke)
 * @flags: in: zero
 * @region: in: descriptor of a region that the caller's address space owns
 * @reserved: zero
 *
 * From when it returns no copy begins: copies answer ESTALE. One that is under
 * way ends with the step that it is at, of 1 MiB at most. What is mapped stays
 * mapped, and pages stay pinned until the region's last descriptor and mapping
 * are gone. Any open file will do. A region that is lost already stays as it is.
 *
 * Errors, after which the structure is as it was: EFAULT, EINVAL (size, flags,
 * not a region), E2BIG, EBADF, EPERM (another address space owns it).
 */
struct sonde_revoke {
	__u32 size;
	__u32 flags;
	__s32 region;
	__u32 reserved;
};

/**
 * struct sonde_check - SONDE_IOC_CHECK, on /dev/sonde
 * @size: in: sizeof(struct sonde_check)
 * @flags: in: zero; out: SONDE_REGION_REAL
 * @region: in: descriptor of a region
 * @rights: out: SONDE_REGION_READ, SONDE_REGION_WRITE
 * @len: out: its bytes
 * @runs: out: as in struct sonde_export
 * @error: out: 0, or what copies answer: ESTALE or EOWNERDEAD
 * @first: out: bytes between the begin of the first page and the region's; it
 *	can be mapped only if that is 0
 *
 * Tells what a region is, to whoever holds it. If something happened to it, the
 * owner's pages are looked at first, and its state word says afterwards which.
 *
 * Errors, after which the structure is as it was: EFAULT, EINVAL (size, flags,
 * not a region), E2BIG, EBADF, EINTR (a fatal signal).
 */
struct sonde_check {
	__u32 size;
	__u32 flags;
	__s32 region;
	__u32 rights;
	__u64 len;
	__u64 runs;
	__u32 error;
	__u32 first;
};

/* Most regions registered on one open file. */
#define SONDE_SLOTS		4096

/**
 * struct sonde_slots - SONDE_IOC_SLOTS, on /dev/sonde
 * @size: in: sizeof(struct sonde_slots)
 * @flags: in: zero
 * @regions: in: address of an array of @nregions __s32: a descriptor of a region,
 *	or -1 to empty the slot
 * @first: in: the slot that the first of them goes to
 * @nregions: in: how many
 * @done: out: slots that were set
 * @reserved: zero
 *
 * Registers regions on this open file, so that SONDE_IOC_COPYV need not look up
 * descriptors. A slot holds its region until it is set anew or this file is
 * closed; copies that are under way keep what they use.
 *
 * Errors after which the structure is as it was: EFAULT (the structure), EINVAL
 * (size, flags, slots that do not exist), E2BIG. Errors after which @done says
 * how far it came: EFAULT (the array), EBADF, EINVAL (not a region), ENOMEM,
 * EINTR (a fatal signal).
 */
struct sonde_slots {
	__u32 size;
	__u32 flags;
	__u64 regions;
	__u32 first;
	__u32 nregions;
	__u32 done;
	__u32 reserved;
};

/* Flags of a copy. */
#define SONDE_COPY_SLOT		(1U << 0)	/* .region is a slot of this open file */
#define SONDE_COPY_WRITE	(1U << 1)	/* into the region, not out of it */

/**
 * struct sonde_copy - one copy of SONDE_IOC_COPYV
 * @region: in: descriptor, or slot with SONDE_COPY_SLOT
 * @flags: in: SONDE_COPY_*
 * @offset: in: where in the region
 * @addr: in: where in the caller's memory
 * @len: in: bytes
 * @result: out: bytes copied, fewer than @len only if then something came in
 *	between; or, if none, a negative errno: EINVAL (flags, a range that is
 *	not in the region, not a region), EBADF (no such descriptor, an empty slot
 *	or none, or without the right), EFAULT (the caller's memory), ESTALE,
 *	EOWNERDEAD, EINTR; only with SONDE_COPYV_ASYNC: ECANCELED, ENOMEM, ENOBUFS,
 *	EDQUOT, and EAGAIN (something happened to the region meanwhile, and a worker
 *	does not look whether it is lost)
 */
struct sonde_copy {
	__s32 region;
	__u32 flags;
	__u64 offset;
	__u64 addr;
	__u64 len;
	__s64 result;
};

/* Flags of SONDE_IOC_COPYV. */
#define SONDE_COPYV_ASYNC	(1U << 0)	/* return at once, a kernel worker copies */

/* Most copies of one call. */
#define SONDE_COPYV_COPIES	65536
/* Most calls with SONDE_COPYV_ASYNC that are under way on an open file. */
#define SONDE_COPYV_QUEUED	256

/* In a status word: all is done; the low 32 bits count copies with a result. */
#define SONDE_STATUS_COMPLETE	(1ULL << 63)

/**
 * struct sonde_copyv - SONDE_IOC_COPYV, on /dev/sonde
 * @size: in: sizeof(struct sonde_copyv)
 * @flags: in: SONDE_COPYV_ASYNC or 0
 * @copies: in: address of an array of @ncopies struct sonde_copy
 * @ncopies: in: how many, at most SONDE_COPYV_COPIES
 * @done: out: copies that have a result; with SONDE_COPYV_ASYNC 0
 * @status: in: with SONDE_COPYV_ASYNC address of an aligned __u64 that is written
 *	when all is done; else zero
 * @eventfd: in: with SONDE_COPYV_ASYNC an eventfd that gets 1 then, or -1; else zero
 * @cpu: in: with SONDE_COPYV_ASYNC where the worker runs; else zero
 *
 * Copies are made in their order. One that fails says so in its result; the
 * others are made all the same. Only fields .result of the array are written.
 *
 * With SONDE_COPYV_ASYNC the caller's memory, the array and the status word are
 * pinned, charged like regions, before the call returns; a worker that is bound
 * to @cpu, on which the caller must be allowed to run, makes the copies. It writes
 * the results, then the status word as SONDE_STATUS_COMPLETE and the number of
 * copies, then the eventfd. When the open file is closed what is queued is
 * cancelled (ECANCELED for copies that were not made), and closing waits for
 * what is under way, which ends with its next MiB. Calls of one file may
 * overtake each other.
 *
 * Errors after which the structure is as it was and nothing is copied: EFAULT
 * (the structure, or with SONDE_COPYV_ASYNC the array or the status word), EINVAL
 * (size, flags, counts, an offline CPU, a misaligned status word, not an
 * eventfd, no copies with SONDE_COPYV_ASYNC; fields of the asynchronous form
 * without its flag), E2BIG, EBADF (the eventfd), EPERM (@cpu), ENOMEM, ENOBUFS
 * (RLIMIT_MEMLOCK), EDQUOT (region_pages), EAGAIN (SONDE_COPYV_QUEUED). Errors
 * after which @done says how far it came: EFAULT (the array), EINTR (a fatal
 * signal).
 */
struct sonde_copyv {
	__u32 size;
	__u32 flags;
	__u64 copies;
	__u32 ncopies;
	__u32 done;
	__u64 status;
	__s32 eventfd;
	__u32 cpu;
};

/* Where mmap() of a segment finds what; offsets in bytes. */
#define SONDE_DSM_VIEW		0ULL		/* the pages, protected; as a whole */
#define SONDE_DSM_ALIAS		(1ULL << 44)	/* the same pages, always accessible */
#define SONDE_DSM_TWINS		(1ULL << 45)	/* twin i is at i times the unit */
#define SONDE_DSM_TABLE		(1ULL << 46)	/* struct sonde_dsm_copy of each page */
#define SONDE_DSM_EVENTS	(1ULL << 47)	/* struct sonde_dsm_events */

/* Most bytes of a page of a segment. */
#define SONDE_DSM_UNIT		(1U << 20)

/* In struct sonde_dsm_create.flags. */
#define SONDE_DSM_PEERS		(1U << 0)	/* with a table: SONDE_IOC_DSM_PEERS */
#define SONDE_DSM_KEEP		(1U << 1)	/* see struct sonde_dsm_collect */
#define SONDE_DSM_RING		(1U << 2)	/* see struct sonde_dsm_events */

/**
 * struct sonde_dsm_create - SONDE_IOC_DSM_CREATE, on /dev/sonde
 * @size: in: sizeof(struct sonde_dsm_create)
 * @flags: in: SONDE_DSM_PEERS, SONDE_DSM_KEEP, SONDE_DSM_RING
 * @npages: in: pages of the segment, at least one
 * @ntwins: in: copies of pages that it has room for; 0: each write to a page that
 *	is SONDE_DSM_READ is an event
 * @unit: in: bytes of a page, a power of two from the machine's page size to
 *	SONDE_DSM_UNIT
 * @fd: out: the segment, a file of its own (O_CLOEXEC)
 * @eventfd: in: with SONDE_DSM_RING: for who sleeps; else zero
 * @reserved: zero
 *
 * A segment is memory for one process of a distributed shared memory, whose
 * protocol is in user space: pages that are zero, may be read, and are mapped
 * up to three times. Whoever holds the descriptor may use it.
 *
 * The view at SONDE_DSM_VIEW is for the application. It is mapped shared, as a
 * whole and once at a time, and cannot be moved or unmapped in part; no call
 * about it ever splits the mapping. What a page there allows is its
 * protection, which SONDE_IOC_DSM_PROTECT sets. An access, of a program or of a
 * system call, that is not allowed sleeps until it is, with signals as in any
 * sleep of a page fault: system calls can only be killed. An event tells of it,
 * one for each page and kind of access however many threads wait. What works on
 * pages rather than addresses (O_DIRECT, process_vm_readv() by others, verbs)
 * answers EFAULT there, and is for the alias.
 *
 * The first write to a page that is SONDE_DSM_READ is not an event: the kernel
 * keeps a copy of the page, a twin, notes the page as written and lets the
 * write go on. If no twin is free it is an event after all, and the writer
 * waits for a free one or for a new protection.
 *
 * The alias at SONDE_DSM_ALIAS, the twins at SONDE_DSM_TWINS, with SONDE_DSM_PEERS
 * the table at SONDE_DSM_TABLE, and with SONDE_DSM_RING the events at
 * SONDE_DSM_EVENTS, are ordinary memory, mapped shared, in part or more than once.
 * Mappings are not inherited by fork().
 *
 * read() of the segment gives events, whole struct sonde_dsm_event, and waits for
 * one unless O_NONBLOCK is set; poll() says when there is one. Where a read fails
 * with EFAULT the events stay. With SONDE_DSM_RING these are only the events that
 * found no room in the ring. When the last descriptor is closed, those that
 * wait, and all that would have to, get SIGBUS; pages that allow an access go on.
 *
 * Memory comes as pages are used, for the memory cgroup of who uses them first;
 * RLIMIT_MEMLOCK is charged for all of it here, unless the caller has
 * CAP_IPC_LOCK, and so is the module's parameter dsm_pages.
 *
 * Errors, after which the structure is as it was: EFAULT, EINVAL (size, flags,
 * unit, no pages, no eventfd), E2BIG, ENOMEM, ENOBUFS (RLIMIT_MEMLOCK), EDQUOT
 * (dsm_pages), EBADF (@eventfd), EMFILE, ENFILE. mmap(): EINVAL (not shared, the view in part), ENXIO (nothing is
 * there), EBUSY (the view is mapped already).
 */
struct sonde_dsm_create {
	__u32 size;
	__u32 flags;
	__u64 npages;
	__u64 ntwins;
	__u32 unit;
	__s32 fd;
	__s32 eventfd;
	__u32 reserved;
};

/* What an event is about, in struct sonde_dsm_event.flags. */
#define SONDE_DSM_EVENT_WRITE	(1U << 0)	/* a write; else a read */

/**
 * struct sonde_dsm_event - what read() of a segment gives, and its ring
 * @page: that somebody may not access, or could not when the event was made
 * @flags: SONDE_DSM_EVENT_*
 */
struct sonde_dsm_event {
	__u32 page;
	__u32 flags;
};

/* Events that a ring has room for. */
#define SONDE_DSM_EVENTS_ROOM	256

/**
 * struct sonde_dsm_events - the ring at SONDE_DSM_EVENTS
 * @put: written by the kernel: events that it has put, mod 2^32
 * @listed: written by the kernel: events that found no room, to be had by read()
 * @reserved: .
 * @taken: written by user space: events that it has taken, mod 2^32
 * @sleeps: written by user space: 1 before it sleeps; by the kernel: zero, when it has
 *	added 1 to the eventfd, as there is an event
 * @unused: .
 * @events: event i is at i mod SONDE_DSM_EVENTS_ROOM
 *
 * To take an event: while @taken differs from @put (acquire), read the event, then
 * write @taken + 1 (release). When there are none in the ring but some are @listed, read()
 * gives these. Before it sleeps user space writes @sleeps, full barrier, and looks at
 * @put and @listed once more. An access that was answered before its event was
 * taken may be told here all the same, and told twice. No other order of events is
 * promised than that of the ring.
 *
 * What user space writes here changes what it is told, and nothing else.
 */
struct sonde_dsm_events {
	__u32 put;
	__u32 listed;
	__u32 reserved[14];
	__u32 taken;
	__u32 sleeps;
	__u32 unused[14];
	struct sonde_dsm_event events[SONDE_DSM_EVENTS_ROOM];
};

/* What a page of the view allows. */
#define SONDE_DSM_NONE		0
#define SONDE_DSM_READ		1	/* a first write takes a twin and is noted */
#define SONDE_DSM_NOTE		2	/* a first write is noted, without a twin */
#define SONDE_DSM_WRITE		3	/* writes are not noted */

/* Most entries of a list in one call. */
#define SONDE_DSM_LIST		65536

/**
 * struct sonde_dsm_protect - SONDE_IOC_DSM_PROTECT, on a segment
 * @size: in: sizeof(struct sonde_dsm_protect)
 * @protection: in: SONDE_DSM_NONE to SONDE_DSM_WRITE, for all of them
 * @pages: in: address of an array of @npages __u32
 * @npages: in: how many, at most SONDE_DSM_LIST, in any order
 * @reserved: zero
 *
 * When it returns no thread does what is not allowed any more. One flush of
 * TLBs serves all pages. What allows more than SONDE_DSM_NONE lets all who wait
 * for that page try again.
 *
 * A page that was written since it was collected last stays noted: with
 * SONDE_DSM_READ or _NOTE it can be written on, with SONDE_DSM_NONE it cannot. With
 * SONDE_DSM_WRITE it is noted no longer, and its twin is free unless it was told.
 *
 * Errors, after which nothing has changed: EFAULT, EINVAL (size, protection,
 * counts, a page that does not exist), E2BIG, ENOMEM, EPERM (the view is mapped
 * by another address space), EINTR (a fatal signal).
 */
struct sonde_dsm_protect {
	__u32 size;
	__u32 protection;
	__u64 pages;
	__u32 npages;
	__u32 reserved;
};

/* In struct sonde_dsm_written.twin: there is none. */
#define SONDE_DSM_NO_TWIN	0xffffffffU

/**
 * struct sonde_dsm_written - a page that was written
 * @page: which
 * @twin: where its content before the first write is, or SONDE_DSM_NO_TWIN
 */
struct sonde_dsm_written {
	__u32 page;
	__u32 twin;
};

/**
 * struct sonde_dsm_collect - SONDE_IOC_DSM_COLLECT, on a segment
 * @size: in: sizeof(struct sonde_dsm_collect)
 * @flags: in: zero
 * @written: in: address of an array of @room struct sonde_dsm_written
 * @room: in: how many, at most SONDE_DSM_LIST
 * @count: out: how many were noted; fewer than @room: these were all
 * @unseen: out: of how many no fault told, as they are kept writable
 * @reserved: zero
 *
 * Takes pages that were noted as written, the first first. They are as their
 * protection says again, and threads cannot write to them unnoticed, before it
 * returns. A twin stays the page's until SONDE_IOC_DSM_UNTWIN, also if the page is
 * written meanwhile, with whatever the caller writes to it.
 *
 * Of a segment with SONDE_DSM_KEEP, pages that are written time and again may be kept
 * writable: their first writes are no faults, the processor notes them, and they are
 * told of by this call like others. Which pages, the kernel decides, and for how long.
 * Such a page keeps its twin beyond SONDE_IOC_DSM_UNTWIN, and at the next writes that is
 * what the page was before them. So the caller puts into a twin what it has taken from
 * the page, before it gives the twin back; or sets a protection other than
 * SONDE_DSM_READ, after which no page is kept.
 *
 * Errors: EFAULT, EINVAL (size, flags, counts), E2BIG, ENOMEM, EPERM and EINTR as
 * above. Nothing is lost then: what was noted stays so.
 */
struct sonde_dsm_collect {
	__u32 size;
	__u32 flags;
	__u64 written;
	__u32 room;
	__u32 count;
	__u32 unseen;
	__u32 reserved;
};

/**
 * struct sonde_dsm_untwin - SONDE_IOC_DSM_UNTWIN, on a segment
 * @size: in: sizeof(struct sonde_dsm_untwin)
 * @flags: in: zero
 * @pages: in: address of an array of @npages __u32
 * @npages: in: how many, at most SONDE_DSM_LIST
 * @reserved: zero
 *
 * The caller no longer needs the twins of these pages, if they have any. That of
 * a page which was written since it was collected last, or is kept (SONDE_DSM_KEEP),
 * stays, as it is: as what the page was before those writes.
 *
 * Errors, after which nothing has changed: EFAULT, EINVAL (size, flags, counts, a
 * page that does not exist), E2BIG, ENOMEM.
 */
struct sonde_dsm_untwin {
	__u32 size;
	__u32 flags;
	__u64 pages;
	__u32 npages;
	__u32 reserved;
};

/**
 * struct sonde_dsm_accessed - SONDE_IOC_DSM_ACCESSED, on a segment
 * @size: in: sizeof(struct sonde_dsm_accessed)
 * @flags: in: zero
 * @pages: in: address of an array of @npages __u32
 * @accessed: in: address of an array of @npages __u8: each is 1 if the page was read or
 *	written through the view since this was asked last, else 0
 * @npages: in: how many, at most SONDE_DSM_LIST
 * @reserved: zero
 *
 * No page has a fault for that. What the processor reads ahead may count.
 *
 * Errors, of which EFAULT about @accessed alone loses what it would have told: EFAULT,
 * EINVAL (size, flags, counts, a page that does not exist), E2BIG, ENOMEM, EPERM and EINTR
 * as above.
 */
struct sonde_dsm_accessed {
	__u32 size;
	__u32 flags;
	__u64 pages;
	__u64 accessed;
	__u32 npages;
	__u32 reserved;
};

/* Most peers of a segment. */
#define SONDE_DSM_PEERS_MAX	1024

/**
 * struct sonde_dsm_peers - SONDE_IOC_DSM_PEERS, on a segment with a table
 * @size: in: sizeof(struct sonde_dsm_peers)
 * @flags: in: zero
 * @fds: in: address of an array of @npeers __s32: segments, each with a table and with
 *	as many pages of the same size as this one, or -1 where there is none
 * @npeers: in: how many, 1 to SONDE_DSM_PEERS_MAX
 * @reserved: zero
 *
 * From then on pages may be copied from there, as the table says, when a thread
 * meets one that is SONDE_DSM_NONE: see struct sonde_dsm_copy. A segment is told
 * its peers once. They need not be closed in any order: when the last descriptor of
 * one is closed nothing is copied from it or to it any more, and its memory
 * goes when the last that has it for a peer is closed, too.
 *
 * Errors, after which nothing has changed: EFAULT, EINVAL (size, flags, counts, no
 * table, no segment, the segment itself, other pages), E2BIG, ENOMEM, EBADF,
 * EEXIST (it has peers).
 */
struct sonde_dsm_peers {
	__u32 size;
	__u32 flags;
	__u64 fds;
	__u32 npeers;
	__u32 reserved;
};

/* In struct sonde_dsm_copy.got: a thread is about to copy, or not to. */
#define SONDE_DSM_COPYING	(~0ULL)

/**
 * struct sonde_dsm_copy - a page, in the table at SONDE_DSM_TABLE
 * @version: written by user space: what is in the page here is at least as new as
 *	that. Zero: it is not for peers
 * @least: written by user space: how new a copy must be
 * @got: written by the kernel when it copied: the version of the copy, or
 *	SONDE_DSM_COPYING; by user space: zero, when it is done with that
 * @peer: written by user space last: from which peer, and 1 more; zero: from none
 * @copies: counted by the kernel
 *
 * An access to a page that is SONDE_DSM_NONE does not wait, and is no event, if the
 * page is offered so: @peer has it, its @version there is @least or newer, it is not
 * SONDE_DSM_NONE there; and here no thread waits for it that was told of by an event,
 * it was not written since it was collected, and has no twin. The page is copied
 * then, the version that it has there before goes to @got, and it is
 * SONDE_DSM_READ here. Where it is open again each time that is tried, it is an event
 * after all.
 *
 * A page there of which a copy was made is written there like SONDE_DSM_NOTE if it is
 * SONDE_DSM_WRITE, until it was noted and collected. So no write that comes after a
 * copy is missed, and none that was collected before @version was raised.
 *
 * To take an offer back: write zero to @peer, full barrier, read @got. Zero: nothing
 * was copied nor will be. SONDE_DSM_COPYING: it is not decided yet, but is when
 * SONDE_IOC_DSM_UNTWIN, or another call that names the page, has returned.
 */
struct sonde_dsm_copy {
	__u64 version;
	__u64 least;
	__u64 got;
	__u32 peer;
	__u32 copies;
};

#define SONDE_IOC_INFO		_IOWR(SONDE_IOC_MAGIC, 0x00, struct sonde_info)
#define SONDE_IOC_FRAMES	_IOWR(SONDE_IOC_MAGIC, 0x01, struct sonde_frames)
#define SONDE_IOC_ALLOC		_IOWR(SONDE_IOC_MAGIC, 0x02, struct sonde_alloc)
#define SONDE_IOC_CHASE		_IOWR(SONDE_IOC_MAGIC, 0x03, struct sonde_chase)
#define SONDE_IOC_CLOCK		_IOWR(SONDE_IOC_MAGIC, 0x04, struct sonde_clocks)
#define SONDE_IOC_PREFETCH	_IOWR(SONDE_IOC_MAGIC, 0x05, struct sonde_prefetch)
#define SONDE_IOC_EXPORT	_IOWR(SONDE_IOC_MAGIC, 0x06, struct sonde_export)
#define SONDE_IOC_REVOKE	_IOWR(SONDE_IOC_MAGIC, 0x07, struct sonde_revoke)
#define SONDE_IOC_COPYV		_IOWR(SONDE_IOC_MAGIC, 0x08, struct sonde_copyv)
#define SONDE_IOC_SLOTS		_IOWR(SONDE_IOC_MAGIC, 0x09, struct sonde_slots)
#define SONDE_IOC_CHECK		_IOWR(SONDE_IOC_MAGIC, 0x0a, struct sonde_check)

#define SONDE_IOC_DSM_CREATE	_IOWR(SONDE_IOC_MAGIC, 0x0b, struct sonde_dsm_create)
/* On the file that SONDE_IOC_DSM_CREATE gives. */
#define SONDE_IOC_DSM_PROTECT	_IOWR(SONDE_IOC_MAGIC, 0x0c, struct sonde_dsm_protect)
#define SONDE_IOC_DSM_COLLECT	_IOWR(SONDE_IOC_MAGIC, 0x0d, struct sonde_dsm_collect)
#define SONDE_IOC_DSM_UNTWIN	_IOWR(SONDE_IOC_MAGIC, 0x0e, struct sonde_dsm_untwin)
#define SONDE_IOC_DSM_PEERS	_IOWR(SONDE_IOC_MAGIC, 0x0f, struct sonde_dsm_peers)
#define SONDE_IOC_DSM_ACCESSED	_IOWR(SONDE_IOC_MAGIC, 0x10, struct sonde_dsm_accessed)

#endif /* _UAPI_LINUX_SONDE_H */
