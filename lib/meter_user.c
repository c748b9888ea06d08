// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The machine below us, measured from user space.
 *
 * Inside a window's interval: `steps` dependent loads, one jump for every
 * METER_UNROLL of them, and one serialised read of the clock, whose median cost
 * is subtracted. Not inside: the chain, the bookkeeping, the call itself. The
 * loops are those of the module: core.h.
 */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "../kmod/core.h"
#include "bind.h"
#include "free_memory.h"
#include "meter_user.h"
#include "stream.h"

/* Since Linux 5.14. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

/* A pause this long is not the walk's own: a load takes a tenth of it. */
#define GAP_S		1e-6
/* Core clocks change in tens of microseconds; interrupts last some. */
#define CHAIN_HOLDS_S	3e-6

_Static_assert(METER_UNROLL == CORE_UNROLL, "what is timed is a multiple of the core's");

void *meter_user_walk(void *at, uint64_t steps)
{
	return core_walk(at, steps);
}

static struct meter_user *to_user(struct meter *m)
{
	return (struct meter_user *)(void *)m;
}

static void drop_pages(struct meter_user *u)
{
	if (u->map)
		munmap(u->map, u->map_bytes);
	u->map = NULL;
	u->pool = NULL;
	u->nchunks = 0;
}

/*
 * Base pages on purpose: then a page is a unit that the operating system placed
 * by itself, and the cost of translation is the same at every size. What is
 * mapped before the aligned pool is never touched, so it costs no memory.
 */
static int user_pages(struct meter *m, size_t chunks)
{
	struct meter_user *u = to_user(m);
	size_t bytes = chunks * METER_CHUNK + METER_ALIGN;

	drop_pages(u);
	if (chunks > (SIZE_MAX - METER_ALIGN) / METER_CHUNK)
		return -ENOMEM;
	u->map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (u->map == MAP_FAILED) {
		u->map = NULL;
		return -ENOMEM;
	}
	u->map_bytes = bytes;
	u->pool = u->map + (-(uintptr_t)u->map & (METER_ALIGN - 1));
	u->nchunks = chunks;
	madvise(u->map, bytes, MADV_NOHUGEPAGE);
	/*
	 * Not one after the other, which takes twice as long; kernels before 5.14 refuse it. What
	 * is never linked is not written to either: where a hypervisor keeps page tables of its
	 * own, the first access to a page takes far longer than all else.
	 */
	if (!madvise(u->pool, chunks * METER_CHUNK, MADV_POPULATE_WRITE))
		return 0;
	/* Touched with something: equal pages may be merged, zero pages shared. */
	for (size_t i = 0; i < chunks; i++)
		*(uint64_t *)(void *)(u->pool + i * METER_CHUNK) = i + 1;
	return 0;
}

/* Chunks of a page are chunks of its frame. */
static uint64_t chunk_frame(const struct meter_user *u, const struct sonde_frame *page,
			    size_t chunk)
{
	size_t a_page = u->meter.page_size / METER_CHUNK;

	return page->frame * a_page + chunk % a_page;
}

static int read_frames(struct meter_user *u, size_t first, size_t n, uint64_t *out)
{
	size_t a_page = u->meter.page_size / METER_CHUNK;
	size_t page = first / a_page, npages = (first + n + a_page - 1) / a_page - page;
	struct sonde_frame *pages = calloc(npages, sizeof(*pages));
	ssize_t got;
	int err = 0;

	if (!pages)
		return -ENOMEM;
	got = sonde_frames_read(u->frames, u->pool + page * u->meter.page_size, npages, pages);
	if (got < 0)
		err = (int)got;
	for (size_t i = first; !err && i < first + n; i++) {
		const struct sonde_frame *frame = &pages[i / a_page - page];

		if (!(frame->flags & SONDE_FRAME_FRAME))
			err = -EPERM;
		else
			out[i - first] = chunk_frame(u, frame, i);
	}
	free(pages);
	return err;
}

static int user_frames(struct meter *m, size_t first, size_t n, uint64_t *out)
{
	struct meter_user *u = to_user(m);
	int err;

	if (first > u->nchunks || n > u->nchunks - first)
		return -EINVAL;
	if (!u->frames) {
		err = sonde_frames_open(&u->frames, SONDE_FRAMES_AUTO);
		if (err)
			return err;
	}
	/* Whoever may open the module's device but is not root sees colours only. */
	if (sonde_frames_backend(u->frames) == SONDE_FRAMES_NONE)
		return -EPERM;
	return n ? read_frames(u, first, n, out) : 0;
}

void *meter_user_link(const struct meter_user *u, const uint32_t *places, size_t n)
{
	char *first = u->pool + (size_t)places[0] * METER_PLACE;
	char *next;

	for (size_t i = 0; i < n; i++) {
		next = i + 1 < n ? u->pool + (size_t)places[i + 1] * METER_PLACE : first;
		*(void **)(void *)(u->pool + (size_t)places[i] * METER_PLACE) = next;
	}
	return first;
}

static uint64_t timed(const struct meter_user *u, uint64_t start)
{
	uint64_t ticks = sonde_clock_now(u->clk) - start;

	return ticks > u->overhead ? ticks - u->overhead : 1;
}

void *meter_user_windows(const struct meter_user *u, void *at, unsigned int steps,
			 struct meter_window *out, size_t nout)
{
	uint64_t start, chain = 0, since = 0;

	for (size_t i = 0; i < nout; i++) {
		start = sonde_clock_now(u->clk);
		/* As long as short windows: they would take twice as long with one each. */
		if (!i || start - since > u->chain_holds) {
			since = start;
			core_chain();
			chain = timed(u, start);
			start = sonde_clock_now(u->clk);
		}
		out[i].chain = chain;
		at = core_walk(at, steps);
		out[i].ticks = timed(u, start);
		out[i].begin = start;
	}
	return at;
}

int meter_user_hire(struct meter_user *u, unsigned int cpu, struct crew_member **out)
{
	int err = 0;

	if (cpu >= CPU_SETSIZE)
		return -EINVAL;
	if (cpu == u->home) {
		*out = NULL;
		return 0;
	}
	if (!CPU_ISSET(cpu, &u->before))
		return -EPERM;
	if (!u->crew)
		err = crew_open(&u->crew, u->clk);
	return err ? err : crew_hire(u->crew, cpu, out);
}

static int user_move(struct meter *m, unsigned int cpu)
{
	struct meter_user *u = to_user(m);

	return meter_user_hire(u, cpu, &u->here);
}

/* The calling thread itself: nobody to wait for. */
static int user_settle(struct meter *m, unsigned int cpu)
{
	struct meter_user *u = to_user(m);
	int err;

	if (cpu >= CPU_SETSIZE)
		return -EINVAL;
	if (!CPU_ISSET(cpu, &u->before))
		return -EPERM;
	err = bind_to(cpu);
	if (err)
		return err;
	u->home = cpu;
	u->here = NULL;
	return 0;
}

/* On the CPU where the probe is. */
static void run_here(struct meter_user *u, void (*run)(void *ctx), void *ctx)
{
	if (!u->here) {
		run(ctx);
		return;
	}
	crew_start(u->here, run, ctx);
	crew_wait(u->here);
}

struct link_order {
	struct meter_user *u;
	const uint32_t *places;
	size_t n;
};

static void run_link(void *ctx)
{
	const struct link_order *o = ctx;

	o->u->at = meter_user_link(o->u, o->places, o->n);
}

static void user_link(struct meter *m, const uint32_t *places, size_t n)
{
	struct link_order o = { to_user(m), places, n };

	run_here(o.u, run_link, &o);
}

struct chase_order {
	struct meter_user *u;
	uint64_t skip;
	unsigned int steps;
	struct meter_window *out;
	size_t nout;
};

static void run_chase(void *ctx)
{
	const struct chase_order *o = ctx;
	struct meter_user *u = o->u;

	u->at = meter_user_windows(u, meter_user_walk(u->at, o->skip), o->steps, o->out, o->nout);
}

static void user_chase(struct meter *m, uint64_t skip, unsigned int steps,
		       struct meter_window *out, size_t nout)
{
	struct chase_order o = { to_user(m), skip, steps, out, nout };

	run_here(o.u, run_chase, &o);
}

struct flush_order {
	const struct meter_user *u;
	const uint32_t *places;
	size_t n;
};

static void run_flush(void *ctx)
{
	const struct flush_order *o = ctx;
	const struct meter_user *u = o->u;

	for (size_t i = 0; i < o->n; i++)
		core_flush(u->pool + (size_t)o->places[i] * METER_PLACE, u->flushes_weakly);
	core_flushed();
}

static int user_flush(struct meter *m, const uint32_t *places, size_t n)
{
	struct flush_order o = { to_user(m), places, n };

	if (!CORE_FLUSHES)
		return -EOPNOTSUPP;
	run_here(to_user(m), run_flush, &o);
	return 0;
}

static double user_now(struct meter *m)
{
	return (double)sonde_clock_now(to_user(m)->clk) * m->tick_ns / 1e9;
}

void meter_user_rest(struct meter *m, double seconds)
{
	struct timespec left = { .tv_sec = (time_t)seconds };

	(void)m;
	left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
	nanosleep(&left, NULL);
}

static double user_gaps(struct meter *m, double seconds)
{
	double start = user_now(m), last = start, now;
	unsigned int gaps = 0;

	do {
		now = user_now(m);
		gaps += now - last > GAP_S;
		last = now;
	} while (now - start < seconds);
	return gaps / (now - start);
}

static void user_close(struct meter *m)
{
	struct meter_user *u = to_user(m);

	crew_close(u->crew);
	drop_pages(u);
	meter_user_drop_areas(u);
	sonde_frames_close(u->frames);
	sched_setaffinity(0, sizeof(u->before), &u->before);
	setpriority(PRIO_PROCESS, 0, u->nice);
	free(u);
}

static const struct meter_ops user_ops = {
	.pages = user_pages,
	.frames = user_frames,
	.link = user_link,
	.chase = user_chase,
	.flush = user_flush,
	.move = user_move,
	.settle = user_settle,
	.together = meter_user_together,
	.stream = meter_user_stream,
	.rest = meter_user_rest,
	.gaps = user_gaps,
	.now = user_now,
	.close = user_close,
};

/* CPUID 1, ECX bit 31: every hypervisor sets it, no processor does. */
static int is_guest(void)
{
#if defined(__x86_64__)
	unsigned int a, b, c = 0, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c >> 31;
#else
	return access("/sys/hypervisor/type", F_OK) == 0;
#endif
}

/* See core_flush(). */
static int flushes_weakly(void)
{
#if defined(__x86_64__)
	unsigned int a, b = 0, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_CLFLUSHOPT;
#else
	return 0;
#endif
}

int meter_user_open(struct meter **m, const struct sonde_clock *clk, unsigned int cpu)
{
	struct meter_user *u;
	int err;

	if (cpu >= CPU_SETSIZE)
		return -EINVAL;
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->meter = (struct meter){
		.ops = &user_ops,
		.page_size = (size_t)sysconf(_SC_PAGESIZE),
		/* Half: a measurement must not push others out. */
		.max_bytes = free_memory("") / 2,
		.chain_cycles = CORE_CHAIN_CYCLES,
		.tick_ns = sonde_clock_ns(clk, 1),
		.is_guest = is_guest(),
		.vectors = stream_choose()->vectors,
	};
	u->clk = clk;
	u->overhead = (uint64_t)llround(sonde_clock_info(clk)->overhead_ticks);
	u->chain_holds = (uint64_t)(sonde_clock_info(clk)->hz * CHAIN_HOLDS_S);
	u->flushes_weakly = flushes_weakly();
	u->home = cpu;
	err = sched_getaffinity(0, sizeof(u->before), &u->before) ? -errno : bind_to(cpu);
	if (err) {
		free(u);
		return err;
	}
	/*
	 * Who shares the CPU also empties its caches: ask for most of it, which
	 * only root gets. Not real time, which would lock others out.
	 */
	u->nice = getpriority(PRIO_PROCESS, 0);
	setpriority(PRIO_PROCESS, 0, -20);
	*m = &u->meter;
	return 0;
}
