// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * share_plan - what to walk so that an answer tells levels apart
 */
#include <errno.h>

#include "share.h"

/* What is handed over and the sweep after it fill this much of a cache: pages at
 * random fill its sets unevenly. */
#define FILL		0.5
/* The sweep is so many times the level before; less than one forgets nothing. */
#define SWEEP		3.0
#define SWEEP_LEAST	1.2
/* Most chunks handed over: some thousand loads are enough. */
#define SET_MOST	512
/* Part of a cache that one CPU fills in the contention test. */
#define CROWD		0.7
/* The pool that makes lines cold, over the last level; all of the memory if
 * nobody can tell its size. */
#define COLD		1.5
/* A smaller contrast between two levels is none. */
#define CONTRAST	1.5

/* Of a level whose size cannot be told, at least that much is there. */
static double get_least(const struct sonde_cache_level *level)
{
	return (double)(level->size ? level->size : level->size_low) / METER_CHUNK;
}

static double get_most(const struct sonde_cache_level *level)
{
	return (double)(level->size ? level->size : level->size_high) / METER_CHUNK;
}

/* Whole windows: see STEPS in handover.c. */
static size_t round_set(double chunks)
{
	size_t n = chunks < SET_MOST ? (size_t)chunks : SET_MOST;

	return n < 16 ? n : n / 8 * 8;
}

static void size_sets(struct share_plan *plan, const struct sonde_cache_level *levels, size_t i)
{
	double room = FILL * get_least(&levels[i]), sweep = 0;

	if (i) {
		sweep = SWEEP * get_most(&levels[i - 1]);
		if (sweep > 0.75 * room)
			sweep = 0.75 * room;
		if (sweep < SWEEP_LEAST * get_most(&levels[i - 1]))
			return;
	}
	plan->set = round_set(room - sweep);
	plan->sweep = (size_t)sweep;
}

static int make_plan(struct share *s, size_t i)
{
	const struct sonde_cache_report *caches = s->options->caches;
	const struct sonde_cache_level *level = &caches->levels[i];
	struct share_plan *plan = &s->plan[i];

	*plan = (struct share_plan){
		.level = level->level,
		.is_last = i + 1 == caches->nlevels,
		.again = level->latency.cycles,
		.beyond = i + 1 < caches->nlevels ? level[1].latency.cycles
						  : caches->memory.cycles,
	};
	size_sets(plan, caches->levels, i);
	if (!plan->set)
		return share_note(s, "level %u: its size, or how it compares to the level "
				  "before, is not known well enough to hand anything over in it",
				  plan->level);
	if (!plan->is_last && plan->beyond < CONTRAST * plan->again) {
		plan->set = 0;
		return share_note(s, "level %u: the next one is nearly as fast, so a hit in it "
				  "cannot be told", plan->level);
	}
	plan->crowd = (size_t)(CROWD * (double)level->size / METER_CHUNK);
	return 0;
}

static size_t max(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Contention wants all CPUs at once in a private level, two in the last. */
static size_t count_chunks(const struct share *s, const struct share_plan *plan)
{
	size_t n = plan->is_last ? 2 : s->options->ncpus;

	return max(plan->set + plan->sweep, n * plan->crowd);
}

int share_make_plans(struct share *s, size_t most, size_t *chunks)
{
	const struct sonde_cache_report *caches = s->options->caches;
	size_t want = 0;
	int err;

	s->nplans = caches->nlevels < SHARE_LEVELS ? caches->nlevels : SHARE_LEVELS;
	for (size_t i = 0; i < s->nplans; i++) {
		struct share_plan *plan = &s->plan[i];

		err = make_plan(s, i);
		if (err)
			return err;
		if (plan->set + plan->sweep > most) {
			plan->set = 0;
			err = share_note(s, "level %u: %zu KiB of memory are too few to test it",
					 plan->level, most * METER_CHUNK >> 10);
		}
		if (2 * plan->crowd > most)
			plan->crowd = 0;
		if (err)
			return err;
		want = max(want, count_chunks(s, plan));
		if (plan->is_last)
			want = caches->levels[i].size
				       ? max(want, (size_t)(COLD * get_most(&caches->levels[i])))
				       : most;
	}
	*chunks = want < most ? want : most;
	return 0;
}
