// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * share_plan - what to walk so that an answer tells levels apart
 */
#include <errno.h>
#include <math.h>

#include "share.h"

/* What is handed over and the sweep after it fill this much of a cache: pages at
 * random fill its sets unevenly. */
#define FILL		0.5
/* The sweep is so many times the level before; less than one forgets nothing. */
#define SWEEP		3.0
#define SWEEP_LEAST	1.2
/* A level of unknown size is taken to be so many times the one before. */
#define TRY		8.0
/* Most chunks handed over: some thousand loads are enough. */
#define SET_MOST	512
/* Part of a cache that one CPU fills at least in the contention test. */
#define CROWD		0.65
/* A smaller contrast between two levels is none. */
#define CONTRAST	1.5

/* Of a level whose size cannot be told, at least that much is there, or what is
 * worth a try: whether it was too much shows when the reader's own lines miss. */
static double get_least(const struct sonde_cache_level *level, double before)
{
	double least = (double)(level->size ? level->size : level->size_low) / METER_CHUNK;

	return level->size ? least : fmax(least, TRY * before);
}

/* Of one of which only the least is known, that: a sweep is several times as large. */
static double get_most(const struct sonde_cache_level *level)
{
	const uint64_t most = level->size ? level->size : level->size_high;

	return (double)(most ? most : level->size_low) / METER_CHUNK;
}

/* Whole windows: see STEPS in handover.c. */
static size_t round_set(double chunks)
{
	size_t n = chunks < SET_MOST ? (size_t)chunks : SET_MOST;

	return n < 16 ? n : n / 8 * 8;
}

/* How many levels there are to test: behind those whose cost is known all is open. */
static size_t count_levels(const struct sonde_cache_report *caches)
{
	size_t n = caches->nlevels < SHARE_LEVELS ? caches->nlevels : SHARE_LEVELS;

	while (n && !(caches->levels[n - 1].latency.cycles > 0))
		n--;
	return n;
}

/* @before: chunks of the level before, 0 if there is none. */
static void size_sets(struct share_plan *plan, double room, double before)
{
	double sweep = fmin(SWEEP * before, 0.75 * room);

	if (sweep < SWEEP_LEAST * before)
		return;
	plan->set = round_set(room - sweep);
	plan->sweep = (size_t)sweep;
}

static int make_plan(struct share *s, size_t i)
{
	const struct sonde_cache_report *caches = s->options->caches;
	const struct sonde_cache_level *level = &caches->levels[i];
	struct share_plan *plan = &s->plan[i];
	double before;

	*plan = (struct share_plan){
		.level = level->level,
		.is_last = i + 1 == s->nplans,
		.again = level->latency.cycles,
		.beyond = i + 1 < s->nplans ? level[1].latency.cycles : caches->memory.cycles,
	};
	before = i ? get_most(&level[-1]) : 0;
	if (plan->again > 0)
		size_sets(plan, FILL * get_least(level, before), before);
	if (!plan->set)
		return share_note(s, "level %u: its cost, its size, or how it compares to the level "
				  "before, is not known well enough to hand anything over in it",
				  plan->level);
	if (!plan->is_last && plan->beyond < CONTRAST * plan->again) {
		plan->set = 0;
		return share_note(s, "level %u: the next one is nearly as fast, so a hit in it "
				  "cannot be told", plan->level);
	}
	plan->crowd = (size_t)ceil(CROWD * (double)level->size / METER_CHUNK);
	return 0;
}

int share_make_plans(struct share *s)
{
	size_t most = s->nchunks;
	int err;

	s->nplans = count_levels(s->options->caches);
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
	}
	return 0;
}

void share_try_level(const struct share *s, struct share_plan *plan)
{
	const struct share_plan *last = &s->plan[s->nplans - 1];
	double before = get_most(&s->options->caches->levels[s->nplans - 1]);

	*plan = (struct share_plan){ .level = last->level + 1, .is_last = 1 };
	if (s->nplans < SHARE_LEVELS)
		size_sets(plan, FILL * TRY * before, before);
	if (plan->set + plan->sweep > s->nchunks)
		plan->set = 0;
}
