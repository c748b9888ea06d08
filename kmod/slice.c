// SPDX-License-Identifier: GPL-2.0-only
/*
 * slice - loads along a cycle, and windows of them with interrupts off
 *
 * Inside a window's interval: what core.h says, and, where a window has more than
 * LOOK loads, a look at the clock every LOOK of them, which is not fenced and
 * waits for no load, so it passes beside them. A window that does not end
 * within its slice is cut there: its time is the sum of its pieces, what lies
 * between them is not in it.
 *
 * So interrupts are off for slice_us and what LOOK loads take beyond it. Between
 * two slices they are on, who else wants the CPU gets it, and signals are seen.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/irqflags.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>

#include <asm/msr.h>
#include <asm/tsc.h>

#include "compat.h"
#include "core.h"
#include "measure.h"

#define LOOK		512U
/* Untimed loads between two looks at signals. */
#define SKIP_CHUNK	4096U
/* What follows each other in the code is not that far apart in time. */
#define GAP_US		1

#define SLICE_US_MIN	10U
#define SLICE_US_MAX	1000U

unsigned int sonde_slice_us = 200;
module_param_named(slice_us, sonde_slice_us, uint, 0444);
MODULE_PARM_DESC(slice_us, "Longest time in us that measured loops keep interrupts off, 10 to 1000 (default 200)");

/**
 * sonde_slice_check_params() - refuse module parameters that are out of range
 *
 * Return: 0 or -EINVAL.
 */
int __init sonde_slice_check_params(void)
{
	if (sonde_slice_us >= SLICE_US_MIN && sonde_slice_us <= SLICE_US_MAX)
		return 0;
	pr_err("slice_us=%u must be %u to %u\n", sonde_slice_us, SLICE_US_MIN,
	       SLICE_US_MAX);
	return -EINVAL;
}

/**
 * sonde_us_to_ticks() - microseconds in ticks of the counter
 * @us: less than 2^32
 *
 * Return: ticks, by the kernel's rate.
 */
u64 sonde_us_to_ticks(u64 us)
{
	return div_u64(us * tsc_khz, 1000);
}

/* Why to end, 0 to go on. */
static int reason_to_end(const struct sonde_walker *w)
{
	if (w->meeting)
		return sonde_meeting_err(w->meeting);
	return fatal_signal_pending(current) ? -EINTR : 0;
}

/**
 * sonde_walker_claim() - write the places of a cycle again, from this CPU
 * @w: .claim places from .at on
 *
 * They are what they were, but the lines are this CPU's own.
 *
 * Return: 0 or why it ended before.
 */
int sonde_walker_claim(struct sonde_walker *w)
{
	void *at = w->at, *next;
	u64 i;
	int ret;

	for (i = 0; i < w->claim; i++) {
		next = READ_ONCE(*(void **)at);
		WRITE_ONCE(*(void **)at, next);
		at = next;
		if (i % SKIP_CHUNK)
			continue;
		ret = reason_to_end(w);
		if (ret)
			return ret;
		cond_resched();
	}
	return 0;
}

/**
 * sonde_walker_skip() - go on along the cycle, interrupts on, untimed
 * @w: the walker
 * @loads: how far
 *
 * Return: 0 or why it ended before.
 */
int sonde_walker_skip(struct sonde_walker *w, u64 loads)
{
	u64 n;
	int ret;

	for (; loads; loads -= n) {
		n = min_t(u64, loads, SKIP_CHUNK);
		w->at = core_walk(w->at, n);
		ret = reason_to_end(w);
		if (ret)
			return ret;
		cond_resched();
	}
	return 0;
}

/* What an event has counted; interrupts are off, it counts on this CPU. */
static u64 read_event(struct perf_event *event)
{
	if (!event || event->state != PERF_EVENT_STATE_ACTIVE)
		return 0;
	event->pmu->read(event);
	return local64_read(&event->count);
}

/* Adds (@sign 1) what was counted so far, or takes it away (-1). */
static void count_events(struct sonde_walker *w, s64 sign)
{
	u64 *counts = w->counts + (size_t)w->done * w->nevents;
	u32 i;

	for (i = 0; i < w->nevents; i++)
		counts[i] += sign * read_event(w->events[i]);
}

/* The chain, which also says whether the CPU was away. */
static void begin_window(struct sonde_walker *w, struct sonde_window *out)
{
	u64 begin = core_ticks(), ticks;

	core_chain();
	ticks = core_ticks() - begin;
	*out = (struct sonde_window){ .chain = ticks };
	if (w->fastest_chain && ticks > 2 * w->fastest_chain + w->gap)
		out->flags |= SONDE_WINDOW_GAP;
	if (!w->fastest_chain || ticks < w->fastest_chain)
		w->fastest_chain = ticks;
	w->left = w->steps;
}

/* @left loads, or fewer if the slice is over. Return: how many are left. */
static u32 walk_until(struct sonde_walker *w, u32 left, u64 deadline)
{
	void *at = w->at;

	while (left > LOOK) {
		at = core_walk(at, LOOK);
		left -= LOOK;
		if (rdtsc() >= deadline) {
			w->at = at;
			return left;
		}
	}
	w->at = core_walk(at, left);
	return 0;
}

/* A window, or what of it fits in the slice. */
static void take_piece(struct sonde_walker *w, u64 deadline)
{
	struct sonde_window *out = &w->windows[w->done];
	u64 ready = core_ticks(), begin, end;

	if (!w->left)
		begin_window(w, out);
	if (w->nevents)
		count_events(w, -1);
	begin = core_ticks();
	if (!out->reads)
		out->begin = begin;
	w->left = walk_until(w, w->left, deadline);
	end = core_ticks();
	if (w->nevents)
		count_events(w, 1);
	out->ticks += end - begin;
	out->reads++;
	if (!w->nevents && begin - ready > out->chain + 2 * w->gap)
		out->flags |= SONDE_WINDOW_GAP;
	if (!w->left)
		w->done++;
	w->last = end - ready;
}

/* Flags the windows from @first on that had a part in a slice. */
static void flag_windows(struct sonde_walker *w, u32 first, u32 flags)
{
	u32 end = w->done + !!w->left;

	for (; flags && first < end; first++)
		w->windows[first].flags |= flags;
}

/* One stretch with interrupts off. */
static int take_slice(struct sonde_walker *w)
{
	const u64 length = sonde_us_to_ticks(sonde_slice_us);
	struct sonde_disturbance before;
	u32 first = w->done;
	unsigned long irq;
	u64 begin, now;

	local_irq_save(irq);
	if (smp_processor_id() != w->cpu) {
		local_irq_restore(irq);
		return -EAGAIN;
	}
	begin = core_ticks();
	sonde_disturbance_read(&before);
	do {
		take_piece(w, begin + length);
		now = core_ticks();
	} while (w->done < w->nwindows && !w->left &&
		 now + w->last < begin + length);
	flag_windows(w, first, sonde_disturbance_since(&before));
	w->longest = max(w->longest, core_ticks() - begin);
	local_irq_restore(irq);
	w->slices++;
	return 0;
}

/**
 * sonde_walker_windows() - take the windows
 * @w: the walker
 *
 * Return: 0, -EAGAIN (no longer on its CPU), or why it ended before.
 */
int sonde_walker_windows(struct sonde_walker *w)
{
	int ret = 0;

	w->gap = sonde_us_to_ticks(GAP_US);
	while (!ret && w->done < w->nwindows) {
		ret = take_slice(w);
		if (!ret)
			ret = reason_to_end(w);
		cond_resched();
	}
	return ret;
}
