// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * crew - threads that leave alone what their CPUs have cached
 *
 * A probe loads something on one CPU and looks for it from another. If the
 * first thread slept or migrated meanwhile, its CPU would go through the
 * scheduler and into an idle state: on a guest of KVM that alone emptied the
 * first-level cache (16 cycles a load of 32 KiB instead of 5, with migration as
 * with sleep; 5 with a thread that stays awake). So who has nothing to do waits
 * awake, for HOLD_S, with a chain of multiplications that leaves caches and most
 * of a core's ports to whoever shares them; then it sleeps until it is needed.
 * No pause instruction: a hypervisor may take the CPU away for many of them.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bind.h"
#include "crew.h"

/* Longer than any one batch of a probe, shorter than a nuisance. */
#define HOLD_S		0.05
/* Plenty for what members run, little where hundreds are hired. */
#define STACK_BYTES	(256UL << 10)

/**
 * struct gate - something that one thread waits for and another one does
 * @turn: how often it was done. Release by who does it, acquire by who waits:
 *        what was written before is seen after
 * @sleepers: who waits asleep. With @turn in the order of seq_cst: either the
 *            sleeper sees the turn, or who does it sees the sleeper
 */
struct gate {
	atomic_uint turn;
	atomic_uint sleepers;
};

/**
 * struct crew_member - one thread
 * @cpu: where
 * @crew: whose
 * @bound: 0 once it runs on its CPU, or why it does not; before @done's first turn
 * @run: what to do, on the turn of @work; NULL: to end
 * @ctx: handed to @run
 * @work: opened by the caller
 * @done: opened by the member, for being bound and then for each work
 * @started: turns of @work so far: the caller's
 */
struct crew_member {
	unsigned int cpu;
	struct crew *crew;
	pthread_t thread;
	int bound;
	void (*run)(void *ctx);
	void *ctx;
	struct gate work, done;
	unsigned int started;
};

struct crew {
	const struct sonde_clock *clk;
	double hold_ticks;
	struct crew_member **members;
	size_t n;
};

static void open_gate(struct gate *g)
{
	atomic_fetch_add_explicit(&g->turn, 1, memory_order_seq_cst);
	if (atomic_load_explicit(&g->sleepers, memory_order_seq_cst))
		syscall(SYS_futex, &g->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static int is_open(struct gate *g, unsigned int turn)
{
	return atomic_load_explicit(&g->turn, memory_order_seq_cst) != turn;
}

static void stay_awake(void)
{
	unsigned long x = 3;

	for (unsigned int i = 0; i < 32; i++) {
		x *= x;
		__asm__ volatile("" : "+r"(x));
	}
}

/* Until the gate has seen more turns than @turn. */
static void wait_gate(const struct crew *c, struct gate *g, unsigned int turn)
{
	uint64_t begin = sonde_clock_now(c->clk);

	while (!is_open(g, turn)) {
		stay_awake();
		if ((double)(sonde_clock_now(c->clk) - begin) > c->hold_ticks)
			break;
	}
	if (is_open(g, turn))
		return;
	atomic_fetch_add_explicit(&g->sleepers, 1, memory_order_seq_cst);
	/* Comes back at once if the turn is another by now. */
	while (!is_open(g, turn))
		syscall(SYS_futex, &g->turn, FUTEX_WAIT_PRIVATE, turn, NULL, NULL, 0);
	atomic_fetch_sub_explicit(&g->sleepers, 1, memory_order_seq_cst);
}

static void *run_member(void *ctx)
{
	struct crew_member *m = ctx;

	m->bound = bind_to(m->cpu);
	open_gate(&m->done);
	for (unsigned int turn = 0;; turn++) {
		wait_gate(m->crew, &m->work, turn);
		if (!m->run)
			return NULL;
		m->run(m->ctx);
		open_gate(&m->done);
	}
}

static int start_thread(struct crew_member *m)
{
	sigset_t all, before;
	pthread_attr_t attr;
	int err = pthread_attr_init(&attr);

	if (err)
		return -err;
	/* Refused where the system's least is larger: then its default will do. */
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	/* Signals are the caller's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&m->thread, &attr, run_member, m);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return err == EAGAIN ? -ENOMEM : -err;
}

static void end_member(struct crew_member *m)
{
	crew_start(m, NULL, NULL);
	pthread_join(m->thread, NULL);
	free(m);
}

int crew_open(struct crew **out, const struct sonde_clock *clk)
{
	struct crew *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->clk = clk;
	c->hold_ticks = HOLD_S * sonde_clock_info(clk)->hz;
	*out = c;
	return 0;
}

void crew_close(struct crew *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++)
		end_member(c->members[i]);
	free(c->members);
	free(c);
}

static int hire(struct crew *c, unsigned int cpu, struct crew_member **out)
{
	struct crew_member *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->cpu = cpu;
	m->crew = c;
	err = start_thread(m);
	if (err) {
		free(m);
		return err;
	}
	crew_wait(m);
	if (m->bound) {
		err = m->bound;
		end_member(m);
		return err;
	}
	*out = m;
	return 0;
}

int crew_hire(struct crew *c, unsigned int cpu, struct crew_member **out)
{
	struct crew_member **members;
	int err;

	if (cpu >= CPU_SETSIZE)
		return -EINVAL;
	for (size_t i = 0; i < c->n; i++) {
		if (c->members[i]->cpu == cpu) {
			*out = c->members[i];
			return 0;
		}
	}
	members = realloc(c->members, (c->n + 1) * sizeof(struct crew_member *));
	if (!members)
		return -ENOMEM;
	c->members = members;
	err = hire(c, cpu, &members[c->n]);
	if (!err)
		*out = members[c->n++];
	return err;
}

void crew_start(struct crew_member *m, void (*run)(void *ctx), void *ctx)
{
	m->run = run;
	m->ctx = ctx;
	m->started++;
	open_gate(&m->work);
}

void crew_wait(struct crew_member *m)
{
	wait_gate(m->crew, &m->done, m->started);
}
