// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "noise.h"
#include "walk.h"

/* Watching costs about this many turns. */
#define WORTH	2

int walk_link(struct walk *w, const uint32_t *places, size_t n)
{
	uint32_t *copy;

	walk_settle(w);
	if (n > w->room) {
		copy = realloc(w->places, n * sizeof(*copy));
		if (!copy)
			return -ENOMEM;
		w->places = copy;
		w->room = n;
	}
	memcpy(w->places, places, n * sizeof(*places));
	w->n = n;
	w->at = 0;
	w->turn = 0;
	w->until = 0;
	return 0;
}

void walk_write(struct walk *w)
{
	for (size_t i = 0; i < w->n; i++) {
		noise_spend(w->core, hierarchy_load(w->core, w->places[i]));
		hierarchy_own(w->core, w->places[i]);
	}
}

void walk_step(struct walk *w)
{
	if (!w->n)
		return;
	noise_spend(w->core, hierarchy_load(w->core, w->places[w->at]));
	w->at = w->at + 1 < w->n ? w->at + 1 : 0;
}

void walk_close(struct walk *w)
{
	free(w->places);
	trace_free(&w->trace);
}

/* ---- whether it repeats itself ------------------------------------------- */

/*
 * Turns to watch from turn @turn on: periods are mostly of one turn, those of
 * trees and ages may be longer, and what came before may take long to vanish
 * (Brent 1980: both are looked for in stretches that grow).
 */
static uint64_t choose_stretch(uint64_t turn)
{
	return turn < 4 ? 1 : 1ULL << (62 - __builtin_clzll(turn));
}

static void begin_watching(struct walk *w)
{
	struct core *c = w->core;

	w->state = WALK_WATCHED;
	w->until = w->turn + choose_stretch(w->turn);
	w->page = c->page;
	w->prefetcher = c->prefetcher;
	w->loads = c->h->loads;
	journal_open(&c->h->journal);
	trace_open(&w->trace);
	c->trace = &w->trace;
	c->walk = w;
}

static void stop_watching(struct walk *w)
{
	w->state = WALK_PLAIN;
	w->core->trace = NULL;
	w->core->walk = NULL;
	journal_shut(&w->core->h->journal);
	trace_shut(&w->trace);
}

/* Everything that decides on what loads do, but not when. */
static int is_as_before(const struct walk *w)
{
	const struct core *c = w->core;

	return !w->trace.is_lost && c->page == w->page &&
	       !memcmp(&c->prefetcher, &w->prefetcher, PREFETCH_STATE) &&
	       journal_is_as_before(&c->h->journal);
}

static void begin_repeating(struct walk *w)
{
	stop_watching(w);
	w->state = WALK_REPEATING;
	w->core->walk = w;
	w->loads = w->core->h->loads - w->loads;
	w->next = 0;
	w->line = 0;
}

static void end_turn(struct walk *w)
{
	w->at = 0;
	w->turn++;
	if (w->state == WALK_WATCHED) {
		if (is_as_before(w))
			begin_repeating(w);
		else if (w->turn >= w->until || w->core->h->journal.is_lost)
			stop_watching(w);
	}
	if (w->state == WALK_PLAIN && w->turn > 0 && w->turn >= w->until &&
	    w->left > WORTH * w->n)
		begin_watching(w);
}

/* ---- repeating ----------------------------------------------------------- */

/* What the next load does with lines under way, at @ns: cycles that it waits. */
static double deal_with_lines(struct walk *w, uint32_t n, double ns)
{
	double cycle_ns = w->core->cycle_ns, wait = 0;

	for (; n; n--, w->line++) {
		const struct trace_line *l = &w->trace.line[w->line];

		if (l->is_wanted)
			wait = hierarchy_wait(*l->ready_ns, ns, cycle_ns, l->cycles);
		else
			*l->ready_ns = ns + l->cycles * cycle_ns;
	}
	return wait;
}

/* Up to @steps loads, until something happens. How many. */
static uint64_t repeat(struct walk *w, uint64_t steps)
{
	struct core *c = w->core;
	double ns = c->ns, cycle_ns = c->cycle_ns, next_ns = c->next_ns, wait;
	const struct trace_load *load = w->trace.load;
	size_t next = w->next, n = w->trace.nloads;
	uint64_t i = 0;

	while (i < steps && ns < next_ns) {
		wait = load[next].nlines ? deal_with_lines(w, load[next].nlines, ns) : 0;
		ns += (load[next].before + (load[next].cycles + wait)) * cycle_ns;
		i++;
		if (++next == n) {
			next = 0;
			w->line = 0;
			c->h->loads += w->loads;
		}
	}
	w->next = next;
	c->ns = ns;
	if (ns >= next_ns)
		noise_happen(c);
	return i;
}

/* The loads since the period's begin, for what they do to caches, not for time. */
static void make_up(struct walk *w)
{
	struct core *c = w->core;
	struct prefetcher *p = &c->prefetcher;
	double ready_ns[2][PREFETCH_PENDING];

	memcpy(ready_ns, p->ready_ns, sizeof(ready_ns));
	for (size_t i = 0; i < w->next; i++)
		hierarchy_load(c, w->places[i % w->n]);
	memcpy(p->ready_ns, ready_ns, sizeof(ready_ns));
	w->at = w->next % w->n;
}

void walk_settle(struct walk *w)
{
	enum walk_state state = w->state;

	if (state == WALK_PLAIN)
		return;
	stop_watching(w);
	if (state == WALK_REPEATING)
		make_up(w);
	w->turn = 0;
	w->until = 0;
}

/* ---- going --------------------------------------------------------------- */

void walk_go(struct walk *w, uint64_t steps)
{
	uint64_t part;

	while (steps && w->n) {
		if (w->state == WALK_REPEATING) {
			part = repeat(w, steps);
		} else {
			part = w->n - w->at < steps ? w->n - w->at : steps;
			for (uint64_t i = 0; i < part; i++)
				noise_spend(w->core, hierarchy_load(w->core, w->places[w->at++]));
		}
		steps -= part;
		w->left -= part < w->left ? part : w->left;
		if (w->at == w->n)
			end_turn(w);
	}
}
