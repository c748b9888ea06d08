// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * comm_threads - messages between threads, each bound to the CPU of its place
 *
 * flag: one word in a line of its own that both store to by turns. A line of another
 *	page each run, so that none with an unlucky home counts alone.
 * shm: a ring of slots in each direction. The sender copies from memory of its own
 *	into slots, as many as are empty; the receiver copies out of them.
 * copy: the sender says that a message is there, the receiver copies it by the region
 *	that the sender exported, whose handle it imported, and says that it has it.
 *
 * Who waits looks at a word without giving the CPU away, and gives up where nothing
 * happens: the other's CPU may have been given to somebody else for good.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <sonde/region.h>

#include "../meeting.h"
#include "comm.h"

#define LINE		64
#define PAGE		4096
#define FLAGS		16	/* pages with a line each */
#define SLOTS		16
#define SLOT_BYTES	((size_t)16 << 10)
/* Looks at a word between two at the clock, and seconds without any change. */
#define LOOKS		4096
#define PATIENCE_NS	2e9

/* Each word is written by one side. Release: what was copied before it is seen by who
 * acquires it. */
struct ring {
	_Alignas(LINE) _Atomic uint64_t filled;
	_Alignas(LINE) _Atomic uint64_t emptied;
	_Alignas(LINE) unsigned char slots[SLOTS][SLOT_BYTES];
};

struct flag_page {
	_Alignas(PAGE) _Atomic uint64_t word;
};

/**
 * struct shared - what both ends of a pair have
 * @rings: in each direction
 * @stop: one end has given up
 */
struct shared {
	struct flag_page flags[FLAGS];
	struct ring rings[2];
	_Alignas(LINE) atomic_int stop;
};

struct carrier;

/**
 * struct end - one end of a pair
 * @lane: the pair's memory
 * @side: 0 sends first
 * @out, @in: slots or turns so far, in each direction
 * @flag: which line
 * @own: what messages are sent from and received in
 * @region: the other's memory, of COPY
 * @err: why it gave up
 */
struct end {
	struct comm_end end;
	const struct carrier *carrier;
	struct shared *shared;
	int side;
	uint64_t out, in;
	unsigned int flag;
	unsigned char *own;
	struct sonde_region *region;
	const struct comm_run *run;
	double *ns;
	int err;
};

/**
 * struct carrier - threads
 * @meter: binds and hires them
 * @lanes: memory of pairs; @nlanes so far
 * @memory: of each place: to send from, and to receive in
 * @transfer: of COPY; @exported, @imported: regions of each place
 * @runs: so far
 */
struct carrier {
	struct comm_carrier base;
	struct meter_user *meter;
	const struct sonde_clock *clk;
	struct shared **lanes;
	size_t nlanes;
	unsigned char **memory;
	size_t bytes;
	struct sonde_transfer *transfer;
	struct sonde_region **exported, **imported;
	unsigned int runs;
};

static double now_ns(struct comm_end *e)
{
	const struct end *end = (const struct end *)e;

	return sonde_clock_ns(end->carrier->clk, (double)sonde_clock_now(end->carrier->clk));
}

/* Until the word is @at_least; -EAGAIN. */
static int wait_for(struct end *e, const _Atomic uint64_t *word, uint64_t at_least)
{
	double begin = 0, now;

	for (unsigned int looks = 1;; looks++) {
		if (atomic_load_explicit(word, memory_order_acquire) >= at_least)
			return 0;
		if (looks % LOOKS)
			continue;
		now = now_ns(&e->end);
		begin = begin > 0 ? begin : now;
		if (now - begin > PATIENCE_NS)
			atomic_store_explicit(&e->shared->stop, 1, memory_order_relaxed);
		if (atomic_load_explicit(&e->shared->stop, memory_order_relaxed))
			return -EAGAIN;
	}
}

/* ---- flag ----------------------------------------------------------------- */

/* The word counts messages of both: the first to send makes it odd. */
static int send_flag(struct comm_end *end, size_t bytes)
{
	struct end *e = (struct end *)end;

	(void)bytes;
	atomic_store_explicit(&e->shared->flags[e->flag].word, ++e->out, memory_order_release);
	return 0;
}

static int receive_flag(struct comm_end *end, size_t bytes)
{
	struct end *e = (struct end *)end;

	(void)bytes;
	return wait_for(e, &e->shared->flags[e->flag].word, ++e->out);
}

/* ---- shm ------------------------------------------------------------------ */

static int send_shm(struct comm_end *end, size_t bytes)
{
	struct end *e = (struct end *)end;
	struct ring *ring = &e->shared->rings[e->side];
	int err = 0;

	for (size_t done = 0, len; done < bytes && !err; done += len) {
		len = bytes - done < SLOT_BYTES ? bytes - done : SLOT_BYTES;
		if (e->out >= SLOTS)
			err = wait_for(e, &ring->emptied, e->out - SLOTS + 1);
		if (err)
			break;
		memcpy(ring->slots[e->out % SLOTS], e->own + done, len);
		atomic_store_explicit(&ring->filled, ++e->out, memory_order_release);
	}
	return err;
}

static int receive_shm(struct comm_end *end, size_t bytes)
{
	struct end *e = (struct end *)end;
	struct ring *ring = &e->shared->rings[!e->side];
	unsigned char *to = e->own + e->carrier->bytes;
	int err = 0;

	for (size_t done = 0, len; done < bytes && !err; done += len) {
		len = bytes - done < SLOT_BYTES ? bytes - done : SLOT_BYTES;
		err = wait_for(e, &ring->filled, e->in + 1);
		if (err)
			break;
		memcpy(to + done, ring->slots[e->in % SLOTS], len);
		atomic_store_explicit(&ring->emptied, ++e->in, memory_order_release);
	}
	return err;
}

/* ---- copy ----------------------------------------------------------------- */

static int send_copy(struct comm_end *end, size_t bytes)
{
	struct end *e = (struct end *)end;
	struct ring *ring = &e->shared->rings[e->side];
	int err = e->out < SLOTS ? 0 : wait_for(e, &ring->emptied, e->out - SLOTS + 1);

	(void)bytes;
	if (!err)
		atomic_store_explicit(&ring->filled, ++e->out, memory_order_release);
	return err;
}

static int receive_copy(struct comm_end *end, size_t bytes)
{
	struct end *e = (struct end *)end;
	struct ring *ring = &e->shared->rings[!e->side];
	int err = wait_for(e, &ring->filled, e->in + 1);
	ssize_t got;

	if (err)
		return err;
	got = sonde_region_read(e->region, 0, e->own + e->carrier->bytes, bytes);
	if (got != (ssize_t)bytes) {
		atomic_store_explicit(&e->shared->stop, 1, memory_order_relaxed);
		return got < 0 ? (int)got : -EIO;
	}
	atomic_store_explicit(&ring->emptied, ++e->in, memory_order_release);
	return 0;
}

/* ---- rounds --------------------------------------------------------------- */

static void prepare_end(void *ctx)
{
	struct end *e = ctx;
	struct ring *ring = &e->shared->rings[e->side];

	/* Of both directions each end clears what is its own. */
	atomic_store_explicit(&ring->filled, 0, memory_order_relaxed);
	atomic_store_explicit(&ring->emptied, 0, memory_order_relaxed);
	if (e->side)
		return;
	atomic_store_explicit(&e->shared->flags[e->flag].word, 0, memory_order_relaxed);
	atomic_store_explicit(&e->shared->stop, 0, memory_order_relaxed);
}

static void wait_end(void *ctx)
{
	(void)ctx;
	for (unsigned int i = 0; i < 64; i++)
		__asm__ volatile("" ::: "memory");
}

/* The first one warms up. */
static void take_window(void *ctx, size_t i)
{
	struct end *e = ctx;
	double unused, *ns = i ? &e->ns[i - 1] : &unused;

	if (e->err)
		return;
	e->err = e->side ? comm_window_second(&e->end, e->run, ns)
			 : comm_window_first(&e->end, e->run, ns);
}

static const struct comm_end functions[SONDE_COMM_METHODS] = {
	[SONDE_COMM_FLAG] = { send_flag, receive_flag, now_ns },
	[SONDE_COMM_SHM] = { send_shm, receive_shm, now_ns },
	[SONDE_COMM_COPY] = { send_copy, receive_copy, now_ns },
};

static int add_lane(struct carrier *c)
{
	struct shared **lanes = realloc(c->lanes, (c->nlanes + 1) * sizeof(*lanes)), *lane;

	if (!lanes)
		return -ENOMEM;
	c->lanes = lanes;
	lane = mmap(NULL, sizeof(*lane), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (lane == MAP_FAILED)
		return -ENOMEM;
	lanes[c->nlanes++] = lane;
	return 0;
}

static int add_memory(struct carrier *c, unsigned int place)
{
	int err;

	if (c->memory[place] || !sonde_comm_has_messages(c->base.method))
		return 0;
	c->memory[place] = aligned_alloc(PAGE, 2 * c->bytes);
	if (!c->memory[place])
		return -ENOMEM;
	memset(c->memory[place], (int)place + 1, 2 * c->bytes);
	if (!c->transfer)
		return 0;
	err = sonde_region_export(c->transfer, c->memory[place], c->bytes, SONDE_REGION_READ,
				  &c->exported[place]);
	return err ? err : sonde_region_import(c->transfer, sonde_region_fd(c->exported[place]),
					       &c->imported[place]);
}

static int prepare_pair(struct carrier *c, const struct comm_pair *pair, size_t lane)
{
	int err = add_memory(c, pair->a);

	if (!err)
		err = add_memory(c, pair->b);
	return !err && lane >= c->nlanes ? add_lane(c) : err;
}

static struct end make_end(struct carrier *c, const struct comm_pair *pair, size_t lane, int side)
{
	const unsigned int me = side ? pair->b : pair->a, other = side ? pair->a : pair->b;

	return (struct end){
		.end = functions[c->base.method], .carrier = c, .shared = c->lanes[lane],
		.side = side, .flag = c->runs % FLAGS, .own = c->memory[me],
		.region = c->imported[other],
	};
}

static int run_ends(struct carrier *c, struct end *ends, struct meeting_task *tasks,
		    const struct comm_pair *pairs, size_t npairs, unsigned int windows)
{
	int err;

	for (size_t i = 0; i < 2 * npairs; i++)
		tasks[i] = (struct meeting_task){
			.cpu = (unsigned int)c->base.places[i % 2 ? pairs[i / 2].b :
								    pairs[i / 2].a].cpu,
			.ctx = &ends[i], .prepare = prepare_end, .go_on = wait_end,
			.window = take_window, .nout = windows + 1,
		};
	err = meeting_run(c->meter, tasks, 2 * npairs);
	for (size_t i = 0; i < 2 * npairs && !err; i++)
		err = ends[i].err;
	return err;
}

static int run_together(struct comm_carrier *base, const struct comm_pair *pairs, size_t npairs,
			const struct comm_run *run, double *ns)
{
	struct carrier *c = (struct carrier *)base;
	struct end *ends = calloc(2 * npairs, sizeof(*ends));
	struct meeting_task *tasks = calloc(2 * npairs, sizeof(*tasks));
	struct comm_run *runs = calloc(npairs, sizeof(*runs));
	int err = ends && tasks && runs ? 0 : -ENOMEM;

	c->runs++;
	for (size_t i = 0; i < npairs && !err; i++)
		err = prepare_pair(c, &pairs[i], i);
	for (size_t i = 0; i < 2 * npairs && !err; i++) {
		struct comm_run *own = &runs[i / 2];

		*own = *run;
		own->turns = pairs[i / 2].turns ? pairs[i / 2].turns : run->turns;
		ends[i] = make_end(c, &pairs[i / 2], i / 2, (int)(i % 2));
		ends[i].run = own;
		ends[i].ns = ns + i / 2 * run->windows;
	}
	if (!err)
		err = run_ends(c, ends, tasks, pairs, npairs, run->windows);
	free(ends);
	free(tasks);
	free(runs);
	return err;
}

static double now_s(struct comm_carrier *base)
{
	const struct carrier *c = (const struct carrier *)base;

	return 1e-9 * sonde_clock_ns(c->clk, (double)sonde_clock_now(c->clk));
}

static void close_threads(struct comm_carrier *base)
{
	struct carrier *c = (struct carrier *)base;

	if (c->meter)
		c->meter->meter.ops->close(&c->meter->meter);
	for (size_t i = 0; i < c->base.n; i++) {
		if (c->imported)
			sonde_region_close(c->imported[i]);
		if (c->exported)
			sonde_region_close(c->exported[i]);
		if (c->memory)
			free(c->memory[i]);
	}
	sonde_transfer_close(c->transfer);
	for (size_t i = 0; i < c->nlanes; i++)
		munmap(c->lanes[i], sizeof(*c->lanes[i]));
	free(c->lanes);
	free(c->memory);
	free(c->exported);
	free(c->imported);
	free(c);
}

static const struct comm_carrier_ops thread_ops = {
	.together = run_together,
	.now = now_s,
	.close = close_threads,
};

static int open_all(struct carrier *c)
{
	struct meter *meter;
	int err = meter_user_open(&meter, c->clk, (unsigned int)c->base.places[0].cpu);

	if (err)
		return err;
	c->meter = (struct meter_user *)meter;
	c->memory = calloc(c->base.n, sizeof(*c->memory));
	c->exported = calloc(c->base.n, sizeof(struct sonde_region *));
	c->imported = calloc(c->base.n, sizeof(struct sonde_region *));
	if (!c->memory || !c->exported || !c->imported)
		return -ENOMEM;
	if (c->base.method != SONDE_COMM_COPY)
		return 0;
	err = sonde_transfer_open(&c->transfer, SONDE_TRANSFER_AUTO);
	if (!err)
		snprintf(c->base.via, sizeof(c->base.via), "%s",
			 sonde_transfer_way_name(sonde_transfer_way(c->transfer)));
	return err;
}

int comm_threads_open(struct comm_carrier **out, enum sonde_comm_method method,
		      const struct sonde_clock *clk, const struct sonde_comm_place *places,
		      size_t n, size_t most_bytes)
{
	struct carrier *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->base = (struct comm_carrier){ &thread_ops, places, n, method, "", most_bytes };
	c->clk = clk;
	c->bytes = (most_bytes + PAGE - 1) / PAGE * PAGE;
	err = open_all(c);
	if (err)
		close_threads(&c->base);
	else
		*out = &c->base;
	return err;
}
