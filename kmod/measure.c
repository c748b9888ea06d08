// SPDX-License-Identifier: GPL-2.0-only
/*
 * SONDE_IOC_CHASE: loads along cycles in memory that only the module touches,
 * timed with interrupts off, on one CPU or on several at the same time.
 *
 * Places are linked by addresses of the direct map: no mapping is made, and it
 * maps by huge pages, so the TLB has next to no part in what is measured.
 *
 * Before memory is used for the first time every place is made to point to
 * itself. From then on each holds the address of some place of the memory, at any
 * time and whatever the caller asks for, so a walk never leaves it.
 */
#include <linux/build_bug.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <asm/tsc.h>

#include "sonde.h"
#include "core.h"
#include "measure.h"
#include "trace.h"

static_assert(sizeof(struct sonde_window) == 32);
static_assert(sizeof(struct sonde_event) == 16);
static_assert(sizeof(struct sonde_lane) == 72);
static_assert(sizeof(struct sonde_chase) == 40);
static_assert(sizeof(struct sonde_chase) >= SONDE_CHASE_SIZE_VER0);
static_assert(SONDE_CHAIN_CYCLES == CORE_CHAIN_CYCLES);

#define PAGE_PLACES	(PAGE_SIZE / SONDE_PLACE)
/* Places that are fetched from the caller at a time. */
#define CHUNK		(PAGE_SIZE / sizeof(u32))
/* Untimed loads of who waits, between two looks at the others. */
#define WAIT_LOADS	64
/*
 * Until all threads must have begun. From then on each comes to the start, and to
 * its end, by itself: what it does is bounded.
 */
#define START_US	2000000

/**
 * struct chase - a call
 * @args: the caller's
 * @memory: where its cycles are
 * @lanes: the caller's @args.nlanes
 * @walkers: what becomes of each
 * @events: the caller's @args.nevents
 * @windows: of all lanes
 * @counts: of all windows, NULL without events
 * @places: CHUNK places
 */
struct chase {
	struct sonde_chase args;
	struct sonde_memory *memory;
	struct sonde_lane *lanes;
	struct sonde_walker *walkers;
	struct sonde_event events[SONDE_CHASE_EVENTS];
	struct sonde_window *windows;
	u64 *counts;
	u32 *places;
};

/* ---- places ------------------------------------------------------------- */

static void **place(const struct sonde_memory *memory, u64 n)
{
	u64 page = array_index_nospec(n / PAGE_PLACES, memory->npages);

	return page_address(memory->pages[page]) + n % PAGE_PLACES * SONDE_PLACE;
}

static int point_places_to_themselves(struct sonde_memory *memory)
{
	unsigned long page;
	void **at;
	int i;

	for (page = 0; page < memory->npages; page++) {
		for (i = 0; i < PAGE_PLACES; i++) {
			at = page_address(memory->pages[page]) + i * SONDE_PLACE;
			*at = at;
		}
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	memory->is_linked = true;
	return 0;
}

/*
 * The next places of a lane, from @done on, to c->places; all are of the memory.
 * How many, -EFAULT, -EINVAL, -EINTR.
 */
static int get_places(const struct chase *c, const struct sonde_lane *lane, u64 done)
{
	const u32 __user *places = u64_to_user_ptr(lane->places);
	const u64 nplaces = c->memory->npages * PAGE_PLACES;
	const int n = min_t(u64, lane->nplaces - done, CHUNK);
	int i;

	if (copy_from_user(c->places, places + done, n * sizeof(u32)))
		return -EFAULT;
	for (i = 0; i < n; i++)
		if (c->places[i] >= nplaces)
			return -EINVAL;
	if (fatal_signal_pending(current))
		return -EINTR;
	cond_resched();
	return n;
}

/* Goes on with a cycle: @at is where the last chunk ended, NULL at first. */
static void link_chunk(const struct sonde_memory *memory, const u32 *places,
		       int n, void ***first, void ***at)
{
	void **next;
	int i;

	for (i = 0; i < n; i++) {
		next = place(memory, places[i]);
		if (*at)
			**at = next;
		else
			*first = next;
		*at = next;
	}
}

static int link_lane(const struct chase *c, const struct sonde_lane *lane,
		     struct sonde_walker *w)
{
	void **first = NULL, **at = NULL;
	u64 done;
	int n;

	for (done = 0; done < lane->nplaces; done += n) {
		n = get_places(c, lane, done);
		if (n < 0)
			return n;
		link_chunk(c->memory, c->places, n, &first, &at);
	}
	*at = first;
	w->at = first;
	return 0;
}

static int link_all(struct chase *c)
{
	u32 i;
	int ret;

	for (i = 0; i < c->args.nlanes; i++) {
		if (!c->lanes[i].places) {
			if (!c->memory->at)
				return -EINVAL;
			c->walkers[i].at = c->memory->at;
			continue;
		}
		ret = link_lane(c, &c->lanes[i], &c->walkers[i]);
		if (ret)
			return ret;
	}
	return 0;
}

/* All of it is checked by the way: what was flushed until then does no harm. */
static int flush_lane(const struct chase *c, const struct sonde_lane *lane)
{
	const bool is_weak = boot_cpu_has(X86_FEATURE_CLFLUSHOPT);
	u64 done;
	int n, i;

	for (done = 0; done < lane->nplaces; done += n) {
		n = get_places(c, lane, done);
		if (n < 0)
			return n;
		for (i = 0; i < n; i++)
			core_flush(place(c->memory, c->places[i]), is_weak);
	}
	core_flushed();
	return 0;
}

/* ---- events ------------------------------------------------------------- */

static void open_events(struct sonde_walker *w, struct sonde_event *events)
{
	struct perf_event *event;
	u32 i;

	for (i = 0; i < w->nevents; i++) {
		struct perf_event_attr attr = {
			.type = events[i].type,
			.config = events[i].config,
			.size = sizeof(attr),
			.pinned = 1,
			.exclude_user = 1,
		};

		event = perf_event_create_kernel_counter(&attr, -1, current,
							 NULL, NULL);
		if (!IS_ERR(event) && event->state != PERF_EVENT_STATE_ACTIVE) {
			perf_event_release_kernel(event);
			event = ERR_PTR(-EBUSY);
		}
		if (IS_ERR(event))
			WRITE_ONCE(events[i].error, -PTR_ERR(event));
		else
			w->events[i] = event;
	}
}

static void close_events(struct sonde_walker *w)
{
	u32 i;

	for (i = 0; i < w->nevents; i++)
		if (w->events[i])
			perf_event_release_kernel(w->events[i]);
}

/* ---- running ------------------------------------------------------------ */

static int take_windows(struct chase *c, struct sonde_walker *w)
{
	int ret;

	open_events(w, c->events);
	ret = sonde_walker_windows(w);
	close_events(w);
	return ret;
}

/* The caller's own thread is where it is wanted, and stays. */
static int chase_here(struct chase *c)
{
	struct sonde_walker *w = &c->walkers[0];
	int ret;

	ret = sonde_walker_skip(w, w->skip);
	return ret ?: take_windows(c, w);
}

static void walk_until_all(struct sonde_walker *w, atomic_t *count)
{
	sonde_meeting_count(count);
	while (sonde_meeting_wait(w->meeting, count, U64_MAX)) {
		w->at = core_walk(w->at, WAIT_LOADS);
		cond_resched();
	}
}

static int run_lane(struct chase *c, struct sonde_walker *w)
{
	const u64 deadline = core_ticks() + sonde_us_to_ticks(START_US);
	struct sonde_meeting *m = w->meeting;
	int ret;

	sonde_meeting_count(&m->started);
	while (sonde_meeting_wait(m, &m->started, deadline))
		cond_resched();
	ret = sonde_meeting_err(m) ?: sonde_walker_claim(w);
	if (!ret)
		ret = sonde_walker_skip(w, w->skip);
	if (ret)
		return ret;
	walk_until_all(w, &m->come);
	ret = sonde_meeting_err(m) ?: take_windows(c, w);
	if (ret)
		return ret;
	walk_until_all(w, &m->finished);
	return 0;
}

static void lane_thread(struct sonde_meeting *m, unsigned int i, void *ctx)
{
	struct chase *c = ctx;
	int ret = run_lane(c, &c->walkers[i]);

	if (ret)
		sonde_meeting_give_up(m, ret);
}

static int chase_there(struct chase *c)
{
	struct sonde_meeting m = {
		.n = c->args.nlanes, .work = lane_thread, .ctx = c,
	};
	unsigned int *cpus;
	u32 i;
	int ret;

	cpus = kvmalloc_array(m.n, sizeof(*cpus), GFP_KERNEL_ACCOUNT);
	if (!cpus)
		return -ENOMEM;
	for (i = 0; i < m.n; i++) {
		cpus[i] = c->walkers[i].cpu;
		c->walkers[i].meeting = &m;
		c->walkers[i].claim = c->lanes[i].places ?
				      c->lanes[i].nplaces : 0;
	}
	ret = sonde_meeting_run(&m, cpus);
	kvfree(cpus);
	return ret;
}

static int run_chase(struct chase *c)
{
	const bool here = c->args.nlanes == 1 && current->nr_cpus_allowed == 1;
	struct sonde_memory *memory = c->memory;
	int ret = 0;

	if (mutex_lock_killable(&memory->lock))
		return -EINTR;
	if (c->args.flags & SONDE_CHASE_FLUSH) {
		ret = flush_lane(c, &c->lanes[0]);
		mutex_unlock(&memory->lock);
		return ret;
	}
	if (!memory->is_linked)
		ret = point_places_to_themselves(memory);
	if (!ret)
		ret = link_all(c);
	memory->at = NULL;
	if (!ret)
		ret = here ? chase_here(c) : chase_there(c);
	if (!ret && c->args.nlanes == 1)
		memory->at = c->walkers[0].at;
	mutex_unlock(&memory->lock);
	return ret;
}

/* ---- the caller's arguments --------------------------------------------- */

static int check_lane(const struct sonde_lane *lane, u32 nlanes, u32 nevents)
{
	u64 loads = (u64)lane->steps * lane->nwindows;

	if (!lane->places != !lane->nplaces || (!lane->places && nlanes > 1))
		return -EINVAL;
	if (lane->nwindows > SONDE_CHASE_WINDOWS ||
	    (lane->nwindows && !lane->steps) ||
	    lane->nplaces > SONDE_CHASE_LOADS ||
	    loads > SONDE_CHASE_LOADS ||
	    lane->skip > SONDE_CHASE_LOADS - loads)
		return -EINVAL;
	if (nevents && lane->nwindows && !lane->counts)
		return -EINVAL;
	return sonde_check_cpu(lane->cpu);
}

/* Return: windows of all lanes, or -errno. */
static int check_lanes(const struct chase *c)
{
	cpumask_var_t taken;
	u64 windows = 0;
	u32 i;
	int ret = 0;

	if (!zalloc_cpumask_var(&taken, GFP_KERNEL_ACCOUNT))
		return -ENOMEM;
	for (i = 0; i < c->args.nlanes && !ret; i++) {
		const struct sonde_lane *lane = &c->lanes[i];

		ret = check_lane(lane, c->args.nlanes, c->args.nevents);
		if (!ret && cpumask_test_and_set_cpu(lane->cpu, taken))
			ret = -EINVAL;
		windows += lane->nwindows;
		if (windows > SONDE_CHASE_WINDOWS)
			ret = ret ?: -EINVAL;
	}
	free_cpumask_var(taken);
	return ret ?: windows;
}

static int get_events(struct chase *c, u64 rights)
{
	u32 i;

	if (c->args.nevents > SONDE_CHASE_EVENTS ||
	    !c->args.nevents != !c->args.events)
		return -EINVAL;
	if (c->args.nevents && !(rights & SONDE_RIGHT_EVENTS))
		return -EPERM;
	if (copy_from_user(c->events, u64_to_user_ptr(c->args.events),
			   c->args.nevents * sizeof(*c->events)))
		return -EFAULT;
	for (i = 0; i < c->args.nevents; i++) {
		switch (c->events[i].type) {
		case PERF_TYPE_HARDWARE:
		case PERF_TYPE_SOFTWARE:
		case PERF_TYPE_HW_CACHE:
		case PERF_TYPE_RAW:
			break;
		default:
			return -EINVAL;
		}
		if (c->events[i].error)
			return -EINVAL;
	}
	return 0;
}

static int get_lanes(struct chase *c)
{
	const u32 n = c->args.nlanes;

	c->lanes = kvmalloc_array(n, sizeof(*c->lanes), GFP_KERNEL_ACCOUNT);
	c->walkers = kvcalloc(n, sizeof(*c->walkers), GFP_KERNEL_ACCOUNT);
	c->places = kmalloc_array(CHUNK, sizeof(u32), GFP_KERNEL_ACCOUNT);
	if (!c->lanes || !c->walkers || !c->places)
		return -ENOMEM;
	if (copy_from_user(c->lanes, u64_to_user_ptr(c->args.lanes),
			   n * sizeof(*c->lanes)))
		return -EFAULT;
	return 0;
}

/* Gives each walker its part of @windows and of the counts. */
static int prepare_walkers(struct chase *c, u32 windows)
{
	const u32 nevents = c->args.nevents;
	size_t first = 0;
	u32 i;

	/* Not zeroed: the caches are to stay as they are. */
	c->windows = kvmalloc_array(max(windows, 1U), sizeof(*c->windows),
				    GFP_KERNEL_ACCOUNT);
	if (nevents)
		c->counts = kvcalloc(max(windows * nevents, 1U),
				     sizeof(*c->counts), GFP_KERNEL_ACCOUNT);
	if (!c->windows || (nevents && !c->counts))
		return -ENOMEM;
	for (i = 0; i < c->args.nlanes; i++) {
		struct sonde_walker *w = &c->walkers[i];

		w->cpu = c->lanes[i].cpu;
		w->skip = c->lanes[i].skip;
		w->steps = c->lanes[i].steps;
		w->nwindows = c->lanes[i].nwindows;
		w->windows = c->windows + first;
		w->nevents = nevents;
		if (nevents)
			w->counts = c->counts + first * nevents;
		first += w->nwindows;
	}
	return 0;
}

static int put_lane(struct sonde_lane *lane, const struct sonde_walker *w)
{
	u32 i;

	lane->done = w->done;
	lane->slices = w->slices;
	lane->longest = w->longest;
	lane->disturbed = 0;
	for (i = 0; i < w->done; i++)
		lane->disturbed += !!w->windows[i].flags;
	if (copy_to_user(u64_to_user_ptr(lane->windows), w->windows,
			 w->done * sizeof(*w->windows)))
		return -EFAULT;
	if (w->nevents &&
	    copy_to_user(u64_to_user_ptr(lane->counts), w->counts,
			 (size_t)w->done * w->nevents * sizeof(*w->counts)))
		return -EFAULT;
	return 0;
}

static int put_answer(struct chase *c, void __user *uarg, size_t usize)
{
	u32 i;
	int ret;

	for (i = 0; i < c->args.nlanes; i++) {
		ret = put_lane(&c->lanes[i], &c->walkers[i]);
		if (ret)
			return ret;
		cond_resched();
	}
	if (copy_to_user(u64_to_user_ptr(c->args.lanes), c->lanes,
			 c->args.nlanes * sizeof(*c->lanes)) ||
	    copy_to_user(u64_to_user_ptr(c->args.events), c->events,
			 c->args.nevents * sizeof(*c->events)))
		return -EFAULT;
	c->args.slice_us = sonde_slice_us;
	if (copy_to_user(uarg, &c->args, min(usize, sizeof(c->args))))
		return -EFAULT;
	return 0;
}

/* ---- the command -------------------------------------------------------- */

static bool is_flush_alone(const struct chase *c)
{
	const struct sonde_lane *lane = &c->lanes[0];

	return c->args.nlanes == 1 && !c->args.nevents && lane->places &&
	       !lane->nwindows && !lane->skip;
}

static int serve_chase(const struct sonde_file *sf, struct chase *c)
{
	int windows, ret;

	if (c->args.flags & ~SONDE_CHASE_FLUSH || !c->args.nlanes ||
	    c->args.nlanes > nr_cpu_ids)
		return -EINVAL;
	ret = get_events(c, sf->rights);
	if (!ret)
		ret = get_lanes(c);
	if (ret)
		return ret;
	windows = check_lanes(c);
	if (windows < 0)
		return windows;
	if (c->args.flags & SONDE_CHASE_FLUSH && !is_flush_alone(c))
		return -EINVAL;
	if (!tsc_khz)
		return -EOPNOTSUPP;
	ret = prepare_walkers(c, windows);
	return ret ?: run_chase(c);
}

/* Only such memory is nobody else's to write to. */
static int get_memory(struct chase *c, struct file **file)
{
	c->memory = sonde_memory_get(c->args.memory, file);
	if (IS_ERR(c->memory))
		return PTR_ERR(c->memory);
	if (c->memory->flags & SONDE_ALLOC_PRIVATE)
		return 0;
	fput(*file);
	return -EINVAL;
}

/**
 * sonde_ioc_chase() - serve SONDE_IOC_CHASE
 * @sf: the open file
 * @uarg: the caller's struct sonde_chase
 * @usize: its size
 *
 * Return: 0, -EFAULT, -EINVAL, -E2BIG, -EBADF, -EPERM, -EOPNOTSUPP, -ENOMEM,
 * -EAGAIN or -EINTR.
 */
int sonde_ioc_chase(const struct sonde_file *sf, void __user *uarg,
		    size_t usize)
{
	struct chase c = { 0 };
	struct file *file;
	int ret;

	ret = sonde_arg_get(&c.args, sizeof(c.args), SONDE_CHASE_SIZE_VER0,
			    uarg, usize);
	if (!ret)
		ret = get_memory(&c, &file);
	if (ret)
		return ret;
	ret = serve_chase(sf, &c);
	if (!ret)
		ret = put_answer(&c, uarg, usize);
	trace_sonde_chase(c.args.nlanes, c.memory->npages, ret);
	fput(file);
	kvfree(c.counts);
	kvfree(c.windows);
	kvfree(c.walkers);
	kvfree(c.lanes);
	kfree(c.places);
	return ret;
}
