// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "geometry.h"
#include "shuffle.h"

/* Pages of the pool of the second level. */
#define POOL_PAGES	4096
/*
 * Memory does not answer faster: row and column access alone take near 30 ns.
 */
#define MEMORY_NS	45.0
/* What is shared with strangers is what was left at that moment. */
#define SHARED_CONFIDENCE 0.5

/* A pool at work. */
struct ground {
	struct trial *t;
	struct geometry *g;
	uint32_t *pages;	/* all that are alike above the second level */
	size_t npages;
	uint32_t *pool;		/* those alike above the level at hand */
	size_t npool;
};

static double to_ns(const struct trial *t, double cycles)
{
	return cycles * t->chain_ns / t->meter->chain_cycles;
}

/* Pages whose lines at one offset share a set of the first level. */
static int get_pages(struct ground *w, size_t bytes)
{
	size_t step = w->g->first.way_bytes / METER_CHUNK, chunks = bytes / METER_CHUNK;
	int err = w->t->meter->ops->pages(w->t->meter, chunks);

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

static void add_first(struct geometry *g)
{
	struct level_geometry *l = &g->level[g->nlevels++];
	const struct stride *f = &g->first;

	l->size = l->low = l->high = f->ways * f->way_bytes;
	l->confidence = f->agree >= 1 ? 0.99 : 0.9;
	l->survey = (struct survey){ .seen = 1, .hit = f->hit, .ways = f->ways, .line = f->line,
				     .votes = (unsigned int)lround(3 * f->agree), .tried = 3 };
}

/* The integer nearest to a power of two within two errors of @x, else nearest. */
static double simplest(double x, double se)
{
	double best = round(x), odd, best_odd = INFINITY, slack = fmax(2 * se, 0.02 * x);

	for (double i = fmax(ceil(x - slack), 1); i <= x + slack; i++) {
		for (odd = i; fmod(odd, 2) == 0;)
			odd /= 2;
		if (odd < best_odd || (odd == best_odd && fabs(i - x) < fabs(best - x))) {
			best_odd = odd;
			best = i;
		}
	}
	return best;
}

/* @set_bytes: bytes of the level that one line of the pool stands for. */
static void settle(struct level_geometry *l, const struct survey *s, double set_bytes)
{
	double classes = simplest(s->classes, s->classes_se);

	if (s != &l->survey)
		l->survey = *s;
	if (s->ways && s->classes > 0) {
		l->size = (uint64_t)llround(s->ways * classes * set_bytes);
		l->low = l->high = l->size;
		l->confidence = s->votes >= 2 ? 0.98 : 0.6;
		l->colours = (unsigned int)(classes * set_bytes / METER_CHUNK);
	}
}

static int next_pool(struct ground *w, struct survey *s)
{
	size_t n = w->npages, found = 0;
	uint32_t *from = malloc(n * sizeof(*from));
	int err;

	if (!from)
		return -ENOMEM;
	memcpy(from, w->pages, n * sizeof(*from));
	err = survey_gather(s, from, n, SIZE_MAX, &found);
	memcpy(w->pool, from, found * sizeof(*from));
	memcpy(w->pool + found, s->class.page, s->class.n * sizeof(*from));
	w->npool = found + s->class.n;
	shuffle(&w->t->rng, w->pool, w->npool);
	free(from);
	return err;
}

static int survey_from(struct ground *w, struct survey *s, unsigned int above, int exact)
{
	*s = (struct survey){ .t = w->t, .first = &w->g->first, .above = above,
			      .pages = w->pool, .npages = w->npool,
			      .exact = exact };
	return survey_level(s);
}

static int second(struct ground *w, struct survey *s)
{
	w->npool = w->npages < POOL_PAGES ? w->npages : POOL_PAGES;
	memcpy(w->pool, w->pages, w->npool * sizeof(*w->pool));
	return survey_from(w, s, w->g->first.ways, 0);
}

/*
 * The level's edge, smeared by lines at random: they overflow some set at about
 * half of what it holds, and all of them at twice that.
 */
static void settle_reach(struct level_geometry *l, double set_bytes, size_t npool)
{
	const struct reach *r = &l->reach;

	if (l->size)
		return;
	l->low = (uint64_t)(set_bytes * (r->begins ? r->begins : (double)npool / 2));
	l->high = (uint64_t)(set_bytes * r->ends);
	l->confidence = SHARED_CONFIDENCE;
}

static int take_reach(struct ground *w, struct level_geometry *l, unsigned int above)
{
	struct hunt h = { .above = above, .first_hit = w->g->first.hit,
			  .first_ways = w->g->first.ways };
	int err = hunt_open(&h, w->t, w->pool, w->npool);

	if (!err)
		err = hunt_calibrate(&h);
	if (err >= 0)
		err = reach_take(&h, &l->reach);
	hunt_close(&h);
	return err;
}

/*
 * One more level, in lines that share a set of all above. What other guests of
 * the host use of a shared level changes meanwhile, so there its sets are not
 * looked for.
 */
static int one_further(struct ground *w, const struct survey *above, double set_bytes,
		       struct level_geometry *l)
{
	struct survey *s = &l->survey;
	int err = take_reach(w, l, above->ways);

	if (err)
		return err;
	*s = (struct survey){ .hit = l->reach.hit, .penalty = l->reach.beyond - l->reach.hit };
	if (!w->t->meter->is_guest && l->reach.begins)
		err = survey_from(w, s, above->ways, 1);
	if (!err && s->ways)
		settle(l, s, set_bytes);
	settle_reach(l, set_bytes, w->npool);
	w->g->nlevels++;
	return err;
}

static int further(struct ground *w)
{
	struct level_geometry *l = &w->g->level[w->g->nlevels - 1];
	double set_bytes = METER_CHUNK;
	int err = 0;

	while (!err && l->survey.ways && w->g->nlevels < GEOMETRY_LEVELS &&
	       to_ns(w->t, l->survey.hit + l->survey.penalty) < MEMORY_NS) {
		set_bytes *= simplest(l->survey.classes, l->survey.classes_se);
		err = next_pool(w, &l->survey);
		if (!err)
			err = one_further(w, &l->survey, set_bytes, l + 1);
		l++;
	}
	return err;
}

/* The second level again in a larger pool, and what is beyond it. */
static int go_further(struct ground *w, size_t max_bytes)
{
	struct geometry *g = w->g;
	struct level_geometry *l = &g->level[1];
	struct survey again;
	int err = get_pages(w, max_bytes);

	if (!err)
		err = second(w, &again);
	if (err || again.ways != l->survey.ways)
		return err;
	again.classes = l->survey.classes;
	again.classes_se = l->survey.classes_se;
	l->survey = again;
	return further(w);
}

static int find(struct ground *w, size_t max_bytes)
{
	struct geometry *g = w->g;
	struct level_geometry *l;
	size_t step, bytes;
	int err = w->t->meter->ops->pages(w->t->meter, STRIDE_CHUNKS);

	if (!err)
		err = stride_find(w->t, &g->first);
	g->beyond = g->first.beyond;
	if (err || !g->first.ways)
		return err;
	add_first(g);
	step = g->first.way_bytes > METER_CHUNK ? g->first.way_bytes : METER_CHUNK;
	bytes = step * POOL_PAGES < max_bytes ? step * POOL_PAGES : max_bytes;
	l = &g->level[1];
	err = get_pages(w, bytes);
	if (!err)
		err = second(w, &l->survey);
	if (err || !l->survey.seen)
		return err;
	settle(l, &l->survey, METER_CHUNK);
	g->nlevels++;
	if (l->survey.ways && to_ns(w->t, l->survey.hit + l->survey.penalty) < MEMORY_NS)
		err = go_further(w, max_bytes);
	l = &g->level[g->nlevels - 1];
	g->beyond = l->survey.hit + l->survey.penalty;
	return err;
}

int geometry_find(struct trial *t, size_t max_bytes, struct geometry *g)
{
	struct ground w = { .t = t, .g = g };
	int err;

	memset(g, 0, sizeof(*g));
	err = find(&w, max_bytes);
	g->ghz = t->meter->chain_cycles / t->chain_ns;
	free(w.pages);
	free(w.pool);
	return err;
}
