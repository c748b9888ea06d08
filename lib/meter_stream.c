// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * meter_stream - bandwidth of several CPUs at once, from user space
 *
 * Inside a window's interval: the loop over STREAM_WINDOW bytes in pieces, a call
 * for each, the pauses that were asked for, and one read of the clock, whose cost
 * is subtracted. Stores may still be under way when the clock is read; a window
 * is so much longer than a processor's store buffers that it does not show. Non-
 * temporal stores are fenced.
 *
 * Memory stays from one call to the next, and the place where its CPU stopped:
 * a sweep that began at the same place each time would find it cached.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../kmod/core.h"
#include "meeting.h"
#include "stream.h"

#define HUGE		((size_t)2 << 20)
/* More nodes than Linux has. */
#define NODES		1024
/* At least so much of the memory has to be of huge pages. */
#define HUGE_SHARE	0.9
/*
 * A chase goes to one line of CHASE_STEP bytes, so that the other line of a pair,
 * which is fetched with it, does not make the next load a hit; all of CHASE_RUN
 * bytes before the next run, so that translation does not make a load dearer.
 */
#define CHASE_STEP	((size_t)256)
#define CHASE_RUN	((size_t)256 << 10)
#define CHASE_LOADS	(CHASE_RUN / CHASE_STEP)
/* Odd, and one more than a multiple of 4: every number comes before any again
 * (Hull and Dobell 1962). */
#define CHASE_FACTOR	1664525
#define CHASE_ADDEND	1013904223

/**
 * struct area - memory of one lane
 * @map: what is mapped, @map_bytes; @base begins where huge pages do
 * @bytes: of it that are used
 * @node: as it was asked for, or where it came to be
 * @offset: where the next piece of each array begins
 * @at: where the chase stands; NULL: not linked
 * @has_links: or were linked: read as numbers they are slow ones
 * @is_taken: by a lane of this call
 */
struct area {
	char *map, *base;
	size_t map_bytes, bytes;
	int node;
	enum sonde_pages pages;
	size_t offset;
	void *at;
	int has_links;
	int is_taken;
	struct area *next;
};

/**
 * struct stream - a lane at work
 * @node: where its memory has to be
 * @err: why it has none
 */
struct stream {
	struct meter_user *u;
	const struct meter_stream *what;
	const struct stream_loops *loops;
	struct area *area;
	int node;
	int err;
};

/* ---- memory -------------------------------------------------------------- */

static void free_area(struct area *a)
{
	if (a->map)
		munmap(a->map, a->map_bytes);
	free(a);
}

/* All that no lane has taken. */
static void drop_areas(struct meter_user *u)
{
	struct area **link = &u->areas, *a;

	while ((a = *link)) {
		if (a->is_taken) {
			link = &a->next;
			continue;
		}
		*link = a->next;
		free_area(a);
	}
}

void meter_user_drop_areas(struct meter_user *u)
{
	for (struct area *a = u->areas; a; a = a->next)
		a->is_taken = 0;
	drop_areas(u);
}

/* Bytes of huge pages, as the kernel says of the mapping that begins at @base. */
static size_t count_huge(const char *base)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	size_t kib = 0, bytes = 0;
	int is_ours = 0;
	uintptr_t low, high;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &low, &high) == 2)
			is_ours = low <= (uintptr_t)base && (uintptr_t)base < high;
		else if (is_ours && sscanf(line, "AnonHugePages: %zu kB", &kib) == 1)
			bytes = kib << 10;
	}
	if (f)
		fclose(f);
	return bytes;
}

/* On one node, whatever CPU touches it. A kernel without nodes has one, node 0. */
static int bind_area(const struct area *a, int node)
{
	unsigned long mask[NODES / (8 * sizeof(unsigned long))] = { 0 };
	const size_t bits = 8 * sizeof(*mask);

	if (node < 0)
		return 0;
	if (node >= NODES)
		return -EINVAL;
	mask[(size_t)node / bits] = 1UL << (size_t)node % bits;
	if (!syscall(SYS_mbind, a->map, a->map_bytes, MPOL_BIND, mask, (unsigned long)NODES, 0UL))
		return 0;
	return errno == ENOSYS && !node ? 0 : errno == ENOSYS ? -EOPNOTSUPP : -errno;
}

/* With numbers that are normal as double: sums of others can be slow. */
static void fill_area(struct area *a)
{
	for (size_t i = 0; i < a->bytes; i += sizeof(double))
		*(double *)(void *)(a->base + i) = 1.0 + (double)i;
	a->at = NULL;
	a->has_links = 0;
}

static void refill(void *ctx)
{
	struct stream *s = ctx;

	fill_area(s->area);
}

/* Touched here, so that it comes from the node of this CPU if no other is asked for. */
static int map_area(struct area *a, const struct meter_stream *what)
{
	int err;

	a->map_bytes = what->bytes + HUGE;
	a->map = mmap(NULL, a->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (a->map == MAP_FAILED) {
		a->map = NULL;
		return -ENOMEM;
	}
	a->base = a->map + (-(uintptr_t)a->map & (HUGE - 1));
	a->bytes = what->bytes;
	a->pages = what->pages;
	madvise(a->map, a->map_bytes,
		what->pages == SONDE_PAGES_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	err = bind_area(a, what->node);
	if (err)
		return err;
	fill_area(a);
	if (what->pages == SONDE_PAGES_HUGE &&
	    (double)count_huge(a->base) < HUGE_SHARE * (double)(a->bytes & ~(HUGE - 1)))
		return -EOPNOTSUPP;
	return 0;
}

static void make_area(void *ctx)
{
	struct stream *s = ctx;

	s->err = map_area(s->area, s->what);
}

/* A load of each step of a run in an order without a stride, then the next run. */
static void link_area(struct area *a)
{
	size_t runs = a->bytes / CHASE_RUN;
	uint32_t at = 0, next;

	for (size_t r = 0; r < runs; r++) {
		char *run = a->base + r * CHASE_RUN, *after = a->base + (r + 1) % runs * CHASE_RUN;

		for (size_t i = 0; i < CHASE_LOADS; i++, at = next) {
			next = (at * CHASE_FACTOR + CHASE_ADDEND) % CHASE_LOADS;
			*(void **)(void *)(run + at * CHASE_STEP) =
				(i + 1 < CHASE_LOADS ? run : after) + next * CHASE_STEP;
		}
	}
	a->at = a->base;
	a->has_links = 1;
}

static void find_node(void *ctx)
{
	struct stream *s = ctx;
	unsigned int node = 0;

	s->node = syscall(SYS_getcpu, NULL, &node, NULL) ? 0 : (int)node;
}

/* On the lane's CPU. 0, or who works there cannot be had. */
static int run_on_cpu(struct stream *s, void (*run)(void *ctx))
{
	struct crew_member *member;
	int err = meter_user_hire(s->u, s->what->cpu, &member);

	if (err)
		return err;
	if (member) {
		crew_start(member, run, s);
		crew_wait(member);
	} else {
		run(s);
	}
	return 0;
}

static struct area *find_area(const struct stream *s)
{
	struct area *found = NULL;

	for (struct area *a = s->u->areas; a; a = a->next) {
		if (a->is_taken || a->node != s->node || a->pages != s->what->pages ||
		    a->bytes != s->what->bytes)
			continue;
		/* Rather one that need not be linked anew, or that others need not keep. */
		if (!found || !a->at == (s->what->kind != STREAM_CHASE))
			found = a;
	}
	return found;
}

/* One that is there already, if there is. */
static int take_area(struct stream *s)
{
	int err = run_on_cpu(s, find_node);

	if (err)
		return err;
	if (s->what->node >= 0)
		s->node = s->what->node;
	s->area = find_area(s);
	if (!s->area)
		return 0;
	s->area->is_taken = 1;
	return s->what->kind == SONDE_STREAM_TRIAD && s->area->has_links ? run_on_cpu(s, refill)
									 : 0;
}

static int add_area(struct stream *s)
{
	int err;

	s->area = calloc(1, sizeof(*s->area));
	if (!s->area)
		return -ENOMEM;
	s->area->node = s->node;
	err = run_on_cpu(s, make_area);
	if (!err)
		err = s->err;
	if (err) {
		free_area(s->area);
		s->area = NULL;
		return err;
	}
	s->area->is_taken = 1;
	s->area->next = s->u->areas;
	s->u->areas = s->area;
	return 0;
}

/* What no lane needs makes room for what is missing. */
static int get_areas(struct meter_user *u, struct stream *streams, size_t n)
{
	size_t missing = 0;
	int err = 0;

	for (struct area *a = u->areas; a; a = a->next)
		a->is_taken = 0;
	for (size_t i = 0; i < n && !err; i++) {
		err = take_area(&streams[i]);
		missing += !streams[i].area;
	}
	if (missing)
		drop_areas(u);
	for (size_t i = 0; i < n && !err; i++)
		if (!streams[i].area)
			err = add_area(&streams[i]);
	return err;
}

/* ---- the work ------------------------------------------------------------ */

/*
 * From one array to the next. Not a multiple of 4 KiB: then a load would wait for
 * the stores just before it that have the same low bits.
 */
static size_t distance(const struct area *a, enum sonde_stream kind)
{
	return (a->bytes / stream_arrays(kind) & ~(size_t)4095) - 4096 + 128;
}

static void run_piece(struct stream *s)
{
	struct area *a = s->area;
	size_t arrays = stream_arrays(s->what->kind), bytes = STREAM_PIECE / arrays;
	size_t part = distance(a, s->what->kind);
	char *first = a->base + a->offset;

	s->loops->run[s->what->kind](first, arrays > 1 ? first + part : first,
				     arrays > 2 ? first + 2 * part : first, bytes);
	a->offset += bytes;
	if (a->offset + bytes > part)
		a->offset = 0;
}

static void pause_for(const struct stream *s)
{
	uint64_t begin = sonde_clock_now(s->u->clk);
	double ticks = s->what->pause_ns / s->u->meter.tick_ns;

	while ((double)(sonde_clock_now(s->u->clk) - begin) < ticks)
		core_chain();
}

static void go_on(void *ctx)
{
	struct stream *s = ctx;

	if (s->what->kind == STREAM_CHASE) {
		s->area->at = meter_user_walk(s->area->at, STREAM_LOADS / 16);
		return;
	}
	run_piece(s);
	if (s->what->pause_ns)
		pause_for(s);
}

static void take_window(void *ctx, size_t i)
{
	struct stream *s = ctx;
	struct meter_window *w = &s->what->out[i];
	uint64_t ticks, overhead = s->u->overhead;

	w->chain = 0;
	w->begin = sonde_clock_now(s->u->clk);
	if (s->what->kind == STREAM_CHASE)
		s->area->at = meter_user_walk(s->area->at, STREAM_LOADS);
	else
		for (size_t done = 0; done < STREAM_WINDOW; done += STREAM_PIECE)
			go_on(s);
	ticks = sonde_clock_now(s->u->clk) - w->begin;
	w->ticks = ticks > overhead ? ticks - overhead : 1;
}

static void prepare(void *ctx)
{
	struct stream *s = ctx;
	struct area *a = s->area;

	if (s->what->kind == STREAM_CHASE) {
		if (!a->at)
			link_area(a);
		return;
	}
	if (s->what->kind != SONDE_STREAM_READ)
		a->at = NULL;
	/* Kinds with more arrays than the last one have shorter ones. */
	if (a->offset + STREAM_PIECE > distance(a, s->what->kind))
		a->offset = 0;
}

static int check_streams(const struct meter_stream *what, size_t n,
			 const struct stream_loops *loops)
{
	for (size_t i = 0; i < n; i++) {
		if (what[i].kind > STREAM_CHASE || what[i].bytes < STREAM_WINDOW ||
		    what[i].bytes < 2 * CHASE_RUN || what[i].node < -1)
			return -EINVAL;
		if (what[i].kind != STREAM_CHASE && !loops->run[what[i].kind])
			return -EOPNOTSUPP;
		for (size_t j = 0; j < i; j++)
			if (what[i].cpu == what[j].cpu)
				return -EINVAL;
	}
	return n ? 0 : -EINVAL;
}

static int run_streams(struct meter_user *u, struct stream *streams, struct meeting_task *tasks,
		       const struct meter_stream *what, size_t n)
{
	int err;

	for (size_t i = 0; i < n; i++) {
		streams[i] = (struct stream){ .u = u, .what = &what[i], .loops = stream_choose() };
		tasks[i] = (struct meeting_task){
			.cpu = what[i].cpu,
			.ctx = &streams[i],
			.prepare = prepare,
			.go_on = go_on,
			.window = take_window,
			.nout = what[i].nout,
		};
	}
	err = get_areas(u, streams, n);
	return err ? err : meeting_run(u, tasks, n);
}

int meter_user_stream(struct meter *m, const struct meter_stream *what, size_t n)
{
	struct meter_user *u = (struct meter_user *)(void *)m;
	struct meeting_task *tasks;
	struct stream *streams;
	int err = check_streams(what, n, stream_choose());

	if (err)
		return err;
	tasks = calloc(n, sizeof(*tasks));
	streams = calloc(n, sizeof(*streams));
	err = tasks && streams ? run_streams(u, streams, tasks, what, n) : -ENOMEM;
	free(streams);
	free(tasks);
	return err;
}
