/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A simulated machine behind the meter seam: caches, TLBs, page frames,
 * prefetchers, other CPUs and a noisy clock, all known, so that a probe's answer
 * can be held against the truth. Time is virtual: the same seed gives the same
 * run anywhere. What is 0 in a model is not there.
 */
#ifndef TESTS_SIM_MACHINE_H
#define TESTS_SIM_MACHINE_H

#include "../../lib/meter.h"

#define MACHINE_LEVELS	4
#define MACHINE_TLBS	2
#define MACHINE_CPUS	1024
#define MACHINE_LINKS	4
/* Policies other than LRU, FIFO and DIP keep a bit a way in one word. */
#define MACHINE_WAYS	64

/* What is replaced. QLRU variants have nanoBench's names (Abel and Reineke 2020). */
enum machine_policy {
	POLICY_LRU,
	POLICY_PLRU,	/* a tree of bits; halves as even as the ways allow */
	POLICY_RANDOM,
	POLICY_FIFO,
	POLICY_MRU,	/* a bit a way, also called bit-PLRU or NRU */
	POLICY_QLRU_H11_M1_R0_U0,
	POLICY_QLRU_H00_M1_R2_U1,
	POLICY_QLRU_H21_M2_R0_U0_UMO,
	POLICY_SRRIP,
	POLICY_DIP,	/* LRU or bimodal insertion, whichever misses less in leader sets */
	MACHINE_POLICIES
};

/* Which set a line goes to. The first level's are virtual addresses. */
enum machine_index {
	INDEX_BITS,	/* low bits of the line's number; its remainder if sets are no power of 2 */
	INDEX_XOR,	/* a matrix of bits: bits 10 and above mixed with those above the index */
	INDEX_SLICED,	/* a hash of all bits picks one of @slices, low bits the set in it */
};

enum machine_inclusion {
	NON_INCLUSIVE,	/* filled with all that passes, and that is all */
	INCLUSIVE,	/* what leaves it leaves the levels above as well */
	EXCLUSIVE,	/* filled with what leaves the level above; a hit moves up */
};

/* Which frames the chunks of the pool have. */
enum machine_map {
	MAP_RANDOM,	/* each by itself */
	MAP_CONTIGUOUS,
	MAP_BUDDY,	/* runs of 1 to 1024 */
	MAP_COLOURED,	/* @colours, in turn */
	MAP_HUGE,	/* runs of 512, aligned, one TLB entry each */
};

/* What meter_ops.frames says. */
enum machine_frames {
	FRAMES_TRUE,
	FRAMES_GUEST,	/* what a guest sees: runs, which say nothing of the host's frames */
	FRAMES_REFUSED,	/* -EPERM */
};

enum machine_prefetch {
	PREFETCH_NEXT = 1,	/* the line after one that missed the first level */
	PREFETCH_PAIR = 2,	/* the other line of an aligned pair, when the second level missed */
	PREFETCH_STREAM = 4,	/* lines ahead of three in one direction within a page */
	PREFETCH_STRIDE = 8,	/* one stride of up to 2 KiB ahead, into the first level */
	PREFETCH_REGION = 16,	/* the lines that were used in the last page entered at this offset */
	PREFETCH_ALL = 31,
};

/**
 * struct machine_cache - one level
 * @bytes: size, 0 for no such level
 * @ways: associativity
 * @policy: what is replaced
 * @cycles: latency of a hit, from the core
 * @line: bytes of a line, a power of two; 0: 64
 * @index: which set a line goes to
 * @slices: of INDEX_SLICED
 * @spread: cycles between the nearest and the farthest slice, @cycles in the mean
 * @inclusion: of the levels above
 * @shared: CPUs that share one, those whose places follow each other; 0: 1
 */
struct machine_cache {
	size_t bytes;
	unsigned int ways;
	enum machine_policy policy;
	double cycles;
	unsigned int line;
	enum machine_index index;
	unsigned int slices;
	double spread;
	enum machine_inclusion inclusion;
	unsigned int shared;
};

/**
 * struct machine_link - what all data to and from memory goes through
 * @gbs: gigabytes a second that it carries; 0 for no such link
 * @shared: CPUs that share one, those whose places follow each other; 0: 1
 */
struct machine_link {
	double gbs;
	unsigned int shared;
};

/**
 * struct machine_tlb - one level of TLB
 * @pages: entries, 0 for no such level
 * @ways: associativity; 0: as many as @pages
 * @cycles: what a miss costs, the next level's not included
 */
struct machine_tlb {
	unsigned int pages, ways;
	double cycles;
};

/**
 * struct machine_noise - what disturbs; all at random moments
 * @gaps: a second, of @gap_us[0] to @gap_us[1] microseconds, each of which takes
 *        @gap_lines lines from every level
 * @slices: a second, of @slice_ms[0] to @slice_ms[1] milliseconds, in which
 *          others have the CPU and refill its caches, and a twentieth of the last
 * @spikes: a second, of @spike_ns nanoseconds
 * @evictions: lines a second that leave every level for no reason
 * @neighbour: largest share of the last level that somebody else may use; how
 *             much it is changes every few milliseconds. It wants that much of
 *             it and has to compete: it touches each of its lines
 * @neighbour_hz: times a second; INFINITY: before each load
 * @sibling_ns: another thread of the core runs, and uses a line of its own, at random, that
 *              often; 0: none does
 * @sibling_bytes: its lines
 * @sibling_cpus: the first so many CPUs have one each; 0: all
 * @drift: largest deviation of the core clock, a share of it
 */
struct machine_noise {
	double gaps, gap_us[2];
	unsigned int gap_lines;
	double slices, slice_ms[2];
	double spikes, spike_ns;
	double evictions;
	double neighbour, neighbour_hz;
	double sibling_ns;
	size_t sibling_bytes;
	unsigned int sibling_cpus;
	double drift;
};

/**
 * struct machine_model - a whole machine
 * @cache: levels, nearest first; the first is indexed virtually, alone
 * @memory_cycles: latency of memory
 * @memory_gap: cycles for which a line keeps the memory of all CPUs busy
 * @snoop_cycles: what a line from another CPU's caches costs more than a hit in
 *                the nearest level that both share
 * @transfer_cycles: latency where they share none; 0: it comes from memory
 * @tlb: TLBs, nearest first
 * @hidden: of what they cost, the share that a load beyond the first level hides
 * @prefetch: PREFETCH_ bits
 * @map: which frames
 * @colours: of MAP_COLOURED
 * @frames: which of them are told
 * @is_guest: whether other guests may use the caches, as the probe is told
 * @ghz: core clock
 * @tick_ghz: counter clock
 * @tick_step: ticks by which the counter advances at once; 0: 1
 * @noise: what disturbs
 * @cpus: how many; 0: 1
 * @place: of each CPU, where it is; NULL: in the order of their numbers
 * @link: from the core on; see contention.h. Only streams use them
 * @stream_noise: deviation of a stream's rate, a share of it; once for a run and once
 *                for each window
 * @node_cpus: CPUs of a NUMA node, those whose places follow each other; 0: all
 * @remote: what a stream from another node's memory gets, a share
 * @no_huge: there are no huge pages to be had
 * @max_bytes: memory
 */
struct machine_model {
	struct machine_cache cache[MACHINE_LEVELS];
	double memory_cycles, memory_gap;
	double snoop_cycles, transfer_cycles;
	struct machine_tlb tlb[MACHINE_TLBS];
	double hidden;
	unsigned int prefetch;
	enum machine_map map;
	unsigned int colours;
	enum machine_frames frames;
	int is_guest;
	double ghz, tick_ghz;
	unsigned int tick_step;
	struct machine_noise noise;
	unsigned int cpus;
	const unsigned char *place;
	struct machine_link link[MACHINE_LINKS];
	double stream_noise;
	unsigned int node_cpus;
	double remote;
	int no_huge;
	size_t max_bytes;
};

/* Where a CPU is. */
static inline unsigned int machine_place(const struct machine_model *model, unsigned int cpu)
{
	return model->place ? model->place[cpu] : cpu;
}

/* 0, -ENOMEM, -EINVAL (a model that makes no sense). Close through the ops. */
int machine_open(struct meter **m, const struct machine_model *model, uint64_t seed);

/* Loads simulated so far, prefetches and the links' writes included. */
uint64_t machine_loads(struct meter *m);

/* As in nanoBench, "LRU", "QLRU_H11_M1_R0_U0"... */
const char *machine_policy_name(enum machine_policy policy);

#endif
