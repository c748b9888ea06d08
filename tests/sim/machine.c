// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "contention.h"
#include "machine.h"
#include "noise.h"
#include "pagemap.h"
#include "walk.h"

#define CHAIN_CYCLES	1024
/* What moving to another CPU takes, and leaves behind there. */
#define MOVE_NS		20000.0
#define MOVE_LINES	16
/* Measured on a Zen 5: 8 to 10 ns, whether the line is there or not. */
#define FLUSH_NS	9.0
/* gaps() looks this often. */
#define LOOK_NS		1000.0

struct machine {
	struct meter meter;
	struct machine_model model;
	struct hierarchy hierarchy;
	uint32_t *frame, *told;
	size_t chunks;
	struct walk walk;
	uint64_t seed, pools;
};

static struct machine *to_machine(struct meter *m)
{
	return (struct machine *)(void *)m;
}

/* ---- memory -------------------------------------------------------------- */

static int machine_pages(struct meter *m, size_t chunks)
{
	struct machine *k = to_machine(m);
	uint32_t *frame, *told;
	uint64_t seed;
	int err;

	if (chunks > m->max_bytes / METER_CHUNK)
		return -ENOMEM;
	walk_settle(&k->walk);
	frame = malloc(chunks * sizeof(*frame));
	told = malloc(chunks * sizeof(*told));
	if (!frame || !told) {
		free(frame);
		free(told);
		return -ENOMEM;
	}
	seed = k->seed + k->pools++;
	pagemap_fill(frame, chunks, k->model.map, k->model.colours, seed);
	pagemap_fill(told, chunks, k->model.frames == FRAMES_TRUE ? k->model.map : MAP_BUDDY,
		     k->model.colours, k->model.frames == FRAMES_TRUE ? seed : ~seed);
	err = hierarchy_pool(&k->hierarchy, frame, chunks);
	free(k->frame);
	free(k->told);
	k->frame = frame;
	k->told = told;
	k->chunks = chunks;
	k->walk.n = 0;
	return err;
}

static int machine_frames(struct meter *m, size_t first, size_t n, uint64_t *out)
{
	struct machine *k = to_machine(m);

	if (k->model.frames == FRAMES_REFUSED)
		return -EPERM;
	if (first > k->chunks || n > k->chunks - first)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		out[i] = k->told[first + i];
	return 0;
}

/* ---- walking ------------------------------------------------------------- */

/* The counter, which advances in steps. */
static uint64_t read_counter(const struct machine *k, const struct core *c)
{
	uint64_t step = k->model.tick_step ? k->model.tick_step : 1;

	return (uint64_t)(c->ns * k->model.tick_ghz) / step * step;
}

static uint64_t time_chain(const struct machine *k, struct core *c)
{
	uint64_t begin = read_counter(k, c);

	noise_spend(c, CHAIN_CYCLES);
	return read_counter(k, c) - begin;
}

static void machine_link(struct meter *m, const uint32_t *places, size_t n)
{
	struct machine *k = to_machine(m);

	if (walk_link(&k->walk, places, n))
		abort();	/* a test's machine, not a user's */
	walk_write(&k->walk);
}

static void machine_chase(struct meter *m, uint64_t skip, unsigned int steps,
			  struct meter_window *out, size_t nout)
{
	struct machine *k = to_machine(m);
	struct core *c = k->walk.core;

	k->walk.left = skip + (uint64_t)steps * nout;
	walk_go(&k->walk, skip);
	for (size_t i = 0; i < nout; i++) {
		out[i].chain = time_chain(k, c);
		out[i].begin = read_counter(k, c);
		walk_go(&k->walk, steps);
		out[i].ticks = read_counter(k, c) - out[i].begin;
	}
}

static int machine_flush(struct meter *m, const uint32_t *places, size_t n)
{
	struct machine *k = to_machine(m);
	struct core *c = k->walk.core;

	walk_settle(&k->walk);
	for (size_t i = 0; i < n; i++) {
		hierarchy_flush(&k->hierarchy, places[i]);
		noise_spend(c, FLUSH_NS / c->cycle_ns);
	}
	return 0;
}

/* ---- other CPUs ---------------------------------------------------------- */

static unsigned int cpus_of(const struct machine *k)
{
	return k->model.cpus ? k->model.cpus : 1;
}

/* A CPU goes on from some moment. */
static struct core *start_core(struct machine *k, unsigned int cpu, double ns)
{
	struct core *c = hierarchy_core(&k->hierarchy, cpu);

	if (!c)
		return NULL;
	c->ns = ns;
	noise_start(c);
	return c;
}

static int machine_move(struct meter *m, unsigned int cpu)
{
	struct machine *k = to_machine(m);
	struct core *c;

	if (cpu >= cpus_of(k))
		return -EINVAL;
	if (cpu == k->walk.core->cpu)
		return 0;
	walk_settle(&k->walk);
	c = start_core(k, cpu, k->walk.core->ns + MOVE_NS);
	if (!c)
		return -ENOMEM;
	for (unsigned int i = 0; i < k->hierarchy.n; i++)
		hierarchy_disturb(c, i, MOVE_LINES);
	k->walk.core = c;
	return 0;
}

/**
 * struct lane - a meter_lane at work
 * @l: what it is to do
 * @walk: where it is
 * @left: loads to go of this window, or before the first
 * @done: windows taken
 * @is_waiting: it is at the common start
 */
struct lane {
	const struct meter_lane *l;
	struct walk walk;
	uint64_t left;
	size_t done;
	int is_waiting;
};

static void begin_window(struct machine *k, struct lane *a)
{
	struct meter_window *w = &a->l->out[a->done];

	w->chain = time_chain(k, a->walk.core);
	w->begin = read_counter(k, a->walk.core);
	a->left = a->l->steps;
}

static void end_window(struct machine *k, struct lane *a)
{
	struct meter_window *w = &a->l->out[a->done++];

	w->ticks = read_counter(k, a->walk.core) - w->begin;
	if (a->done < a->l->nout)
		begin_window(k, a);
}

/* One load of a lane, and what it leads to. */
static void advance(struct machine *k, struct lane *a)
{
	walk_step(&a->walk);
	if (a->done == a->l->nout || --a->left)
		return;
	end_window(k, a);
}

static struct lane *earliest(struct lane *lane, size_t n)
{
	struct lane *first = lane;

	for (size_t i = 1; i < n; i++)
		if (lane[i].walk.core->ns < first->walk.core->ns)
			first = &lane[i];
	return first;
}

static int all_done(const struct lane *lane, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (lane[i].done < lane[i].l->nout)
			return 0;
	return 1;
}

static int open_lane(struct machine *k, struct lane *a, const struct meter_lane *l)
{
	a->l = l;
	if (l->cpu >= cpus_of(k) || !l->n)
		return -EINVAL;
	a->walk.core = start_core(k, l->cpu, k->walk.core->ns);
	return a->walk.core ? walk_link(&a->walk, l->places, l->n) : -ENOMEM;
}

/* Every lane writes its cycle and goes its untimed loads; then all start at once. */
static void assemble(struct machine *k, struct lane *lane, size_t n)
{
	double start = 0;

	for (size_t i = 0; i < n; i++) {
		walk_write(&lane[i].walk);
		walk_go(&lane[i].walk, lane[i].l->skip);
		start = fmax(start, lane[i].walk.core->ns);
	}
	for (size_t i = 0; i < n; i++) {
		lane[i].walk.core->ns = start;
		noise_start(lane[i].walk.core);
		if (lane[i].l->nout)
			begin_window(k, &lane[i]);
	}
}

static int machine_together(struct meter *m, const struct meter_lane *lanes, size_t nlanes)
{
	struct machine *k = to_machine(m);
	struct lane *lane = calloc(nlanes ? nlanes : 1, sizeof(*lane));
	double end = k->walk.core->ns;
	int err = lane ? 0 : -ENOMEM;

	walk_settle(&k->walk);
	for (size_t i = 0; i < nlanes && !err; i++)
		err = open_lane(k, &lane[i], &lanes[i]);
	if (!err && nlanes) {
		assemble(k, lane, nlanes);
		while (!all_done(lane, nlanes))
			advance(k, earliest(lane, nlanes));
	}
	for (size_t i = 0; lane && i < nlanes; i++) {
		if (lane[i].walk.core)
			end = fmax(end, lane[i].walk.core->ns);
		walk_close(&lane[i].walk);
	}
	k->walk.core->ns = end;
	noise_start(k->walk.core);
	free(lane);
	return err;
}

/* ---- streams ------------------------------------------------------------- */

static int check_stream(const struct machine *k, const struct meter_stream *s)
{
	unsigned int nodes = k->model.node_cpus ? cpus_of(k) / k->model.node_cpus : 1;

	if (s->cpu >= cpus_of(k) || s->node >= (int)nodes)
		return -EINVAL;
	return s->pages == SONDE_PAGES_HUGE && k->model.no_huge ? -EOPNOTSUPP : 0;
}

/* A lane's windows: what the links leave it, and noise. */
static void run_stream(struct machine *k, struct core *c, const struct meter_stream *s,
		       double window_ns)
{
	double spread = k->model.stream_noise, run = exp(spread * noise_normal(&k->hierarchy));

	for (size_t i = 0; i < s->nout; i++) {
		double ns = window_ns * run * exp(spread * noise_normal(&k->hierarchy));

		s->out[i].chain = 0;
		s->out[i].begin = read_counter(k, c);
		noise_spend(c, ns / c->cycle_ns);
		s->out[i].ticks = read_counter(k, c) - s->out[i].begin;
	}
}

static int machine_stream(struct meter *m, const struct meter_stream *lanes, size_t n)
{
	struct machine *k = to_machine(m);
	double *window_ns = calloc(n ? n : 1, sizeof(*window_ns));
	double begin = k->walk.core->ns, end = begin;
	struct core *c;
	int err = window_ns ? 0 : -ENOMEM;

	walk_settle(&k->walk);
	for (size_t i = 0; i < n && !err; i++)
		err = check_stream(k, &lanes[i]);
	if (!err)
		contention_windows(&k->model, lanes, n, window_ns);
	for (size_t i = 0; i < n && !err; i++) {
		c = start_core(k, lanes[i].cpu, begin);
		if (!c) {
			err = -ENOMEM;
			break;
		}
		run_stream(k, c, &lanes[i], window_ns[i]);
		end = fmax(end, c->ns);
	}
	k->walk.core->ns = end;
	noise_start(k->walk.core);
	free(window_ns);
	return err;
}

/* ---- time ---------------------------------------------------------------- */

static void machine_rest(struct meter *m, double seconds)
{
	struct core *c = to_machine(m)->walk.core;

	noise_spend(c, seconds * 1e9 / c->cycle_ns);
}

static double machine_gaps(struct meter *m, double seconds)
{
	struct core *c = to_machine(m)->walk.core;
	uint64_t before = c->pauses;
	double begin = c->ns;

	while (c->ns < begin + seconds * 1e9)
		noise_spend(c, LOOK_NS / c->cycle_ns);
	return (double)(c->pauses - before) / (c->ns - begin) * 1e9;
}

static double machine_now(struct meter *m)
{
	return to_machine(m)->walk.core->ns / 1e9;
}

uint64_t machine_loads(struct meter *m)
{
	struct machine *k = to_machine(m);

	walk_settle(&k->walk);
	return k->hierarchy.loads;
}

/* ---- making and ending it ------------------------------------------------ */

static void machine_close(struct meter *m)
{
	struct machine *k = to_machine(m);

	hierarchy_close(&k->hierarchy);
	walk_close(&k->walk);
	free(k->frame);
	free(k->told);
	free(k);
}

static const struct meter_ops machine_ops = {
	.pages = machine_pages,
	.frames = machine_frames,
	.link = machine_link,
	.chase = machine_chase,
	.flush = machine_flush,
	.move = machine_move,
	.settle = machine_move,
	.together = machine_together,
	.stream = machine_stream,
	.rest = machine_rest,
	.gaps = machine_gaps,
	.now = machine_now,
	.close = machine_close,
};

const char *machine_policy_name(enum machine_policy policy)
{
	static const char *const names[MACHINE_POLICIES] = {
		[POLICY_LRU] = "LRU",
		[POLICY_PLRU] = "PLRU",
		[POLICY_RANDOM] = "RANDOM",
		[POLICY_FIFO] = "FIFO",
		[POLICY_MRU] = "MRU",
		[POLICY_QLRU_H11_M1_R0_U0] = "QLRU_H11_M1_R0_U0",
		[POLICY_QLRU_H00_M1_R2_U1] = "QLRU_H00_M1_R2_U1",
		[POLICY_QLRU_H21_M2_R0_U0_UMO] = "QLRU_H21_M2_R0_U0_UMO",
		[POLICY_SRRIP] = "SRRIP",
		[POLICY_DIP] = "DIP",
	};

	return names[policy];
}

int machine_open(struct meter **m, const struct machine_model *model, uint64_t seed)
{
	struct machine *k = calloc(1, sizeof(*k));
	int err;

	if (!k)
		return -ENOMEM;
	k->model = *model;
	k->seed = seed;
	k->meter = (struct meter){
		.ops = &machine_ops,
		.page_size = METER_CHUNK,
		.max_bytes = model->max_bytes,
		.chain_cycles = CHAIN_CYCLES,
		.tick_ns = 1 / model->tick_ghz,
		.is_guest = model->is_guest,
	};
	err = model->cpus > MACHINE_CPUS ? -EINVAL :
	      hierarchy_open(&k->hierarchy, &k->model, seed);
	if (!err) {
		k->walk.core = start_core(k, 0, 0);
		err = k->walk.core ? 0 : -ENOMEM;
	}
	if (err) {
		machine_close(&k->meter);
		return err;
	}
	*m = &k->meter;
	return 0;
}
