/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Trials: what a load costs along a ring of chosen places, until it is known
 * well enough to decide by.
 */
#ifndef SONDE_LIB_PROBE_TRIAL_H
#define SONDE_LIB_PROBE_TRIAL_H

#include <stddef.h>
#include <stdint.h>
#include "../meter.h"
#include "../rng.h"

/* Windows of one look; more looks give more. */
#define TRIAL_WINDOWS	128
/* CPUs that one is chosen from. */
#define TRIAL_CPUS	8
/* Windows whose chains are remembered: less than a millisecond of small rings. */
#define TRIAL_CHAINS	64

/**
 * struct trial - a meter, and what is remembered between trials
 * @meter: the machine
 * @cpus: @ncpus whose caches are alike, the first where the meter was opened; 0: nobody said
 * @at: of them, where it is
 * @chunks: of memory that it has
 * @rng: orders of rings
 * @begin: the meter's time when the trial was opened
 * @loads: taken so far
 * @samples: windows of them
 * @discarded: of them, thrown away because something interrupted them
 * @window_ns: length of a window at least
 * @step: of the counter: what all windows so far differed by multiples of; 0: not yet
 * @last: ticks of the last window, 0: there was none
 * @chain_ns: nanoseconds of the meter's chain, in the last look
 * @chains: ticks of the last of @nchains chains
 * @progress: see struct sonde_cache_options; may be NULL
 * @progress_ctx: its first argument
 * @done: its second
 * @what: its third
 */
struct trial {
	struct meter *meter;
	unsigned int cpus[TRIAL_CPUS];
	size_t ncpus, at, chunks;
	struct sonde_rng rng;
	double begin;
	uint64_t loads, samples, discarded;
	double window_ns;
	uint64_t step, last;
	double chain_ns;
	double chains[TRIAL_CHAINS];
	size_t nchains;
	int (*progress)(void *ctx, double done, const char *what);
	void *progress_ctx;
	double done;
	const char *what;
	uint32_t *ring;
	size_t nring, room;
	double cycles;		/* a load, in the last look */
	double noise;		/* of it: quartile distance over the root of windows */
	double kept[TRIAL_WINDOWS];	/* cycles a load of each window of it, ascending */
	size_t nkept;
};

/* Fill @t; close frees what it holds, not the meter. */
void trial_open(struct trial *t, struct meter *meter, uint64_t seed);
void trial_close(struct trial *t);

/* The meter is on CPU @cpu; @n others have caches like it. */
void trial_offer(struct trial *t, unsigned int cpu, const unsigned int *alike, size_t n);

/* Seconds since open. */
double trial_elapsed(const struct trial *t);

/* -ECANCELED if whoever watches wants no more, 0. */
int trial_tick(struct trial *t);

/* Have @chunks chunks of memory: others, unless there are as many already. 0, -ENOMEM. */
int trial_pages(struct trial *t, size_t chunks);

/*
 * Make a ring of @n places in random order, but the last @tail of them after all
 * others. 0, -ENOMEM.
 */
int trial_ring(struct trial *t, const uint32_t *places, size_t n, size_t tail);

/* The same in the order of @places. */
int trial_path(struct trial *t, const uint32_t *places, size_t n);

/* The lines of @n places leave all caches, if they can be made to. 0, -errno. */
int trial_flush(struct trial *t, const uint32_t *places, size_t n);

/* The same of the lines at @offset of all pages. */
int trial_clear(struct trial *t, uint32_t offset);

/* Cycles a load of the first @n loads along a path that was just made. */
double trial_first(struct trial *t, size_t n);

/* Cycles of a step of the clock, 0 as long as none was seen. */
double trial_step(const struct trial *t);

/*
 * Go @warm turns, then look: windows that together are @turns turns or more.
 * Core cycles a load: the mean of the windows that nothing interrupted, without
 * the slowest fifth.
 */
double trial_look(struct trial *t, double warm, double turns);

/* Core cycles of so many nanoseconds, at the clock of the last look. */
double trial_cycles(const struct trial *t, double ns);

/* Go @turns turns along the ring, and look at nothing. */
void trial_walk(struct trial *t, double turns);

/*
 * A window for each of the @n next loads of the ring: their core cycles to @cycles, in
 * their order. @room windows are taken without pause.
 */
void trial_loads(struct trial *t, size_t n, struct meter_window *windows, size_t room,
		 double *cycles);

#endif
