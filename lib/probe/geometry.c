// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calm.h"
#include "ground.h"
#include "shuffle.h"
#include "told.h"

/* Memory does not answer faster: row and column access alone take near 30 ns. */
#define MEMORY_NS	45.0
/* Behind the first level a miss is a large part of a turn: seen in less of a window. */
#define WINDOW_NS	250.0

int ground_is_memory(const struct ground *w, double cycles)
{
	return cycles * w->t->chain_ns / w->t->meter->chain_cycles >= MEMORY_NS;
}

void ground_mark(struct ground *w, struct level_geometry *l)
{
	l->samples = w->t->samples - w->samples;
	l->discarded = w->t->discarded - w->discarded;
	w->samples = w->t->samples;
	w->discarded = w->t->discarded;
}

int ground_pages(struct ground *w, size_t bytes)
{
	size_t step = w->g->first.way_bytes / METER_CHUNK, chunks = bytes / METER_CHUNK;
	int err = trial_pages(w->t, chunks);

	if (err)
		return err;
	step = step ? step : 1;
	free(w->pages);
	free(w->pool);
	w->npages = chunks / step;
	w->pages = malloc(w->npages * sizeof(*w->pages));
	w->pool = malloc(w->npages * sizeof(*w->pool));
	if (!w->pages || !w->pool)
		return -ENOMEM;
	for (size_t i = 0; i < w->npages; i++)
		w->pages[i] = (uint32_t)(i * step);
	shuffle(&w->t->rng, w->pages, w->npages);
	return 0;
}

double ground_colour_lines(const struct geometry *g)
{
	const struct survey *s = &g->level[1].survey;

	return (double)s->ways * METER_CHUNK / (s->line ? s->line : METER_LINE);
}

void ground_prepare(struct ground *w, struct survey *s, unsigned int above)
{
	s->t = w->t;
	s->first = &w->g->first;
	s->above = above;
	s->is_quiet = !w->t->meter->is_guest;
	s->pages = w->pool;
	s->npages = w->npool;
	if (s->exact) {
		s->second_hit = w->g->level[1].survey.hit;
		s->second_lines = ground_colour_lines(w->g);
	}
}

int ground_survey(struct ground *w, struct survey *s, unsigned int above)
{
	ground_prepare(w, s, above);
	return survey_level(s);
}

void ground_settle(struct level_geometry *l, const struct survey *s, double set_bytes)
{
	double classes = told_page_classes(s);

	if (s != &l->survey)
		l->survey = *s;
	l->set_bytes = set_bytes;
	if (!told_has_ways(s)) {
		l->survey.ways = 0;
	} else if (told_is_sized(s)) {
		l->size = (uint64_t)llround(s->ways * classes * set_bytes);
		l->low = l->high = l->size;
		l->confidence = told_confidence(s);
		l->colours = (unsigned int)(classes * set_bytes / METER_CHUNK);
	}
}

void ground_announce(struct trial *t, size_t nlevels)
{
	static const struct { const char *what; double done; } stages[GEOMETRY_LEVELS] = {
		{ "sets of the first level", 0 }, { "sets of the second level", 0.1 },
		{ "sets of the third level", 0.4 }, { "sets of the fourth level", 0.8 },
	};

	t->what = stages[nlevels].what;
	t->done = stages[nlevels].done;
}

static void put_first(struct geometry *g)
{
	struct level_geometry *l = &g->level[0];
	const struct stride *f = &g->first;

	l->low = f->ways * f->way_bytes;
	l->size = l->high = stride_is_usual(f) ? l->low : 0;
	l->confidence = f->is_sure ? 0.99 : TOLD_DOUBTFUL;
	l->survey = (struct survey){ .seen = 1, .hit = f->hit, .ways = f->ways, .line = f->line,
				     .votes = (unsigned int)lround(STRIDE_OFFSETS * f->agree),
				     .tried = STRIDE_OFFSETS };
	/* There are so many at least: others have the rest. */
	if (!l->size)
		l->survey.ways = l->survey.line = 0;
}

static int find_first(struct ground *w)
{
	struct geometry *g = w->g;
	int err = trial_pages(w->t, STRIDE_CHUNKS);

	ground_announce(w->t, 0);
	if (!err)
		err = calm_find_first(w->t, &g->first);
	g->beyond = g->first.beyond;
	if (err || !g->first.ways)
		return err;
	w->t->window_ns = WINDOW_NS;
	put_first(g);
	g->nlevels++;
	ground_mark(w, &g->level[0]);
	g->ends = ground_is_memory(w, g->beyond);
	return 0;
}

static int find(struct ground *w, size_t max_bytes)
{
	struct geometry *g = w->g;
	struct level_geometry *l = &g->level[1];
	int err = find_first(w);

	if (err || !g->nlevels || g->ends || w->levels < 2)
		return err;
	err = geometry_find_second(w, max_bytes);
	if (err || g->nlevels < 2)
		return err;
	if (geometry_has_third(w))
		err = geometry_find_further(w, max_bytes);
	l = &g->level[g->nlevels - 1];
	g->beyond = fmax(l->survey.hit + l->survey.penalty, l->reach.beyond);
	g->ends = ground_is_memory(w, g->beyond);
	return err;
}

/*
 * By now somebody who had a way of the first level all the time may have gone. Then it is
 * said anew, and nothing that rests on what was thought of it is sure. One that was not
 * sure is looked at once more in any case.
 */
static int check_first(struct ground *w, double window_ns)
{
	struct geometry *g = w->g;
	const struct stride before = g->first;
	int holds = 1, err;

	w->t->window_ns = window_ns;
	if (!before.ways)
		return 0;
	err = trial_pages(w->t, STRIDE_CHUNKS);
	if (!err)
		err = stride_holds(w->t, &before, &holds);
	if (err || (holds && before.is_sure))
		return err;
	err = stride_find(w->t, &g->first);
	if (g->first.ways < before.ways || (g->first.ways == before.ways && !g->first.is_sure))
		g->first = before;
	put_first(g);
	for (size_t i = 0; g->first.ways != before.ways && i < g->nlevels; i++)
		g->level[i].confidence = fmin(g->level[i].confidence, TOLD_DOUBTFUL);
	return err;
}

int geometry_find(struct trial *t, size_t max_bytes, unsigned int levels, struct geometry *g)
{
	struct ground w = {
		.t = t, .g = g,
		.levels = levels && levels < GEOMETRY_LEVELS ? levels : GEOMETRY_LEVELS,
	};
	double window_ns = t->window_ns;
	int err;

	memset(g, 0, sizeof(*g));
	err = find(&w, max_bytes);
	if (!err)
		err = check_first(&w, window_ns);
	g->ghz = t->meter->chain_cycles / t->chain_ns;
	free(w.pages);
	free(w.pool);
	return err;
}
