/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of the measured loops share: threads on several CPUs, slices
 * with interrupts off, and what disturbs them.
 */
#ifndef SONDE_KMOD_MEASURE_H
#define SONDE_KMOD_MEASURE_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/completion.h>
#include <linux/types.h>
#include <linux/sonde.h>

struct perf_event;
struct sonde_meeting;

/* slice.c */
extern unsigned int sonde_slice_us;

int sonde_slice_check_params(void);
u64 sonde_us_to_ticks(u64 us);

/**
 * struct sonde_walker - one CPU that measures
 * @meeting: those that measure at the same time, NULL if nobody does
 * @cpu: where
 * @at: where it stands on its cycle
 * @claim: places that it writes again before it begins
 * @skip: loads untimed before the first window
 * @steps: loads of a window
 * @nwindows: how many
 * @windows: the answer; @done of them are taken
 * @done: windows that are taken
 * @left: loads that are still to go of the one after them; 0 if not begun
 * @last: ticks of the last one, chain and all
 * @gap: ticks that the CPU is never busy for between two steps of the code
 * @fastest_chain: ticks
 * @slices: stretches with interrupts off
 * @longest: ticks of the longest one
 * @events: @nevents; NULL where one cannot be counted
 * @nevents: how many
 * @counts: of each window, side by side
 */
struct sonde_walker {
	struct sonde_meeting *meeting;
	unsigned int cpu;
	void *at;
	u64 claim;
	u64 skip;
	u32 steps;
	u32 nwindows;
	struct sonde_window *windows;
	u32 done;
	u32 left;
	u64 last;
	u64 gap;
	u64 fastest_chain;
	u32 slices;
	u64 longest;
	struct perf_event *events[SONDE_CHASE_EVENTS];
	u32 nevents;
	u64 *counts;
} ____cacheline_aligned_in_smp;

int sonde_walker_claim(struct sonde_walker *w);
int sonde_walker_skip(struct sonde_walker *w, u64 loads);
int sonde_walker_windows(struct sonde_walker *w);

/* meeting.c */

/**
 * struct sonde_meeting - threads that work at the same time, each on its CPU
 * @n: how many
 * @started: how many run at all
 * @come: how many stand at the start
 * @finished: how many have what they came for
 * @running: threads that have not ended
 * @err: the first error, 0 while there is none; ends every wait
 * @ended: completed when @running is 0
 * @work: what each does; gets its number and @ctx
 * @ctx: the caller's
 */
struct sonde_meeting {
	unsigned int n;
	atomic_t started;
	atomic_t come;
	atomic_t finished;
	atomic_t running;
	atomic_t err;
	struct completion ended;
	void (*work)(struct sonde_meeting *m, unsigned int i, void *ctx);
	void *ctx;
};

int sonde_meeting_run(struct sonde_meeting *m, const unsigned int *cpus);
void sonde_meeting_give_up(struct sonde_meeting *m, int err);
bool sonde_meeting_wait(struct sonde_meeting *m, atomic_t *count, u64 deadline);
int sonde_check_cpu(unsigned int cpu);

/* Fully ordered: see sonde_meeting_wait(). */
static inline void sonde_meeting_count(atomic_t *count)
{
	atomic_inc_return(count);
}

static inline int sonde_meeting_err(const struct sonde_meeting *m)
{
	return atomic_read(&m->err);
}

/* disturbance.c */

/**
 * struct sonde_disturbance - what has come to a CPU so far
 * @nmis: NMIs
 * @smis: SMIs, 0 where the CPU does not count them
 */
struct sonde_disturbance {
	unsigned long nmis;
	u64 smis;
};

int sonde_disturbance_init(void);
void sonde_disturbance_exit(void);
void sonde_disturbance_read(struct sonde_disturbance *d);
u32 sonde_disturbance_since(const struct sonde_disturbance *before);

#endif
