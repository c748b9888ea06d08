// SPDX-License-Identifier: LGPL-2.1-or-later
/* Levels from the third on, in lines that share a set of all above. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "ground.h"
#include "shuffle.h"
#include "told.h"

/* First pool for further levels; twice as large each time it was too small. */
#define POOL_BYTES	((size_t)48 << 20)
/* The largest. */
#define MOST_BYTES	((size_t)1 << 30)
/* The only one in a guest, which has a part of the last level that is seldom larger. */
#define GUEST_BYTES	((size_t)64 << 20)
/* Lines of a pool over what the level holds of them. */
#define ROOM		1.7
/* The same, over those at which the first of its sets overflows. */
#define FULL		3.5
/* The same, so that more lines are had than fill it. */
#define MORE_THAN_FULL	2.5
/* Less than this, and a larger pool is had first. */
#define TOO_FEW		2
/* Loads after which no larger pool is tried: half a minute of them. */
#define PATIENCE	300000000
/* A hit costs about as much whatever tells it. */
#define SAME_HIT	0.2
/* Times that a class of it is looked for in each larger pool. */
#define AGAIN		3
/* Pages alike over those to be expected, at most; times that they are gathered. */
#define CROWD		1.5
#define GATHERS		3
/* Lines that begin to overflow a level of few sets, over ways of the level above. */
#define CROWDED		16
/* Draws that tell sharing; shares of misses that do not. */
#define SHARE_DRAWS	2
#define LEAST_SHARE	0.002
/* Lines that tell it, over those that the level above holds, at least: of two offsets, to which
 * lines are moved that misses are held against, all then miss that level. */
#define SHARE_LINES	3
/* The best is no farther off; the second best is so much farther than that. */
#define OFF_MOST	2
#define CLEARLY		2.5
/* What is shared with strangers is what was left at that moment. */
#define SHARED_CONFIDENCE 0.5
/* What fits of a level that is not told is looked for up to that: a second of loads. */
#define LEAST_BYTES	((size_t)64 << 20)

/* The share of @n lines drawn from the hunt's pool that miss, to *@share. 0, -errno. */
static int miss_share(struct hunt *h, size_t n, double *share)
{
	double misses = 0;
	int err = 0;

	*share = 0;
	for (int i = 0; i < SHARE_DRAWS && !err; i++) {
		err = hunt_misses(h, hunt_draw(h, n), n, 0, &misses);
		*share += misses / (double)n / SHARE_DRAWS;
	}
	return err;
}

static double odds(double share)
{
	const double p = fmin(fmax(share, LEAST_SHARE), 1 - LEAST_SHARE);

	return log(p / (1 - p));
}

/*
 * Lines of all sets of the level above that fill the level as much as @n of one of them do, if
 * 2^@octaves of these share a set of it. Of an exclusive level those above hold some as well.
 */
static double as_many(const struct survey *s, const struct survey *above, double n, double octaves)
{
	const double own = s->ways * s->classes;
	const double sets = above->classes / exp2(octaves);

	if (s->holding == HOLDING_ALSO)
		return n * sets;
	return n * sets * (own + above->ways * exp2(octaves)) / (own + above->ways);
}

/*
 * Slices may have fewer sets than the level above: then lines of several of its sets meet in one
 * of this level, which lines of a single one do not show. How many meet is a power of two: so
 * many lines of all sets are drawn that as large a share of them would miss as of lines of one.
 * Whatever the replacement is, both are of the same. In octaves; NAN if it cannot be told.
 */
static int find_sharing(struct ground *w, const struct survey *s, double *octaves)
{
	const struct survey *above = &w->g->level[1].survey;
	const size_t n = MIN((size_t)(s->ways * s->classes + above->ways), w->npool);
	const struct hunt common = {
		.offset = s->offset, .above = above->ways,
		.first_hit = w->g->first.hit, .first_lines = stride_lines(&w->g->first),
		.second_hit = above->hit, .second_lines = ground_colour_lines(w->g),
		.hit = s->hit, .penalty = s->penalty,
		.rise = (size_t)(s->ways * s->classes), .singly = singly_can(w->t, s->penalty),
	};
	struct hunt own = common, all = common;
	double share = 0, wanted = 0, off, best = INFINITY, next = INFINITY, more;
	int err = hunt_open(&own, w->t, w->pool, w->npool);

	all.above = (unsigned int)(above->ways * above->classes);
	all.second_lines *= told_page_classes(above);
	*octaves = NAN;
	if (!err)
		err = hunt_open(&all, w->t, w->pages, w->npages);
	if (!err)
		err = miss_share(&own, n, &wanted);
	for (double i = fmax(rint(log2(above->classes)), 0); i >= 0 && !err; i--) {
		more = as_many(s, above, (double)n, i);
		if (more > (double)w->npages || more < SHARE_LINES * (double)all.above)
			continue;
		err = miss_share(&all, (size_t)more, &share);
		off = fabs(odds(share) - odds(wanted));
		next = fmin(next, fmax(off, best));
		if (off < best) {
			best = off;
			*octaves = i;
		}
		/* Of more lines still more miss. */
		if (share > wanted && off > best)
			break;
	}
	if (best > OFF_MOST || next < CLEARLY * best)
		*octaves = NAN;
	hunt_close(&own);
	hunt_close(&all);
	return err;
}

/* Its ways are known, but not how many sets a line of the pool stands for. */
static void withdraw(struct level_geometry *l)
{
	l->size = l->low = l->high = 0;
	l->colours = 0;
}

/*
 * All pages that are alike above the next level. If far more look so than chance makes, what
 * disturbs makes lines overflow with any others: then it is done again, and there are none
 * if that does not help.
 */
static int next_pool(struct ground *w, struct survey *s)
{
	const double most = CROWD * (double)w->npages / s->classes + s->ways;
	size_t n = w->npages, found = 0;
	uint32_t *from = malloc(n * sizeof(*from));
	int err = from ? 0 : -ENOMEM;

	w->npool = 0;
	for (int i = 0; i < GATHERS && !w->npool && !err; i++) {
		memcpy(from, w->pages, n * sizeof(*from));
		err = survey_gather(s, from, n, SIZE_MAX, &found);
		if (err || (s->classes > 0 && (double)found > most))
			continue;
		memcpy(w->pool, from, found * sizeof(*from));
		memcpy(w->pool + found, s->class.page, s->class.n * sizeof(*from));
		w->npool = found + s->class.n;
		shuffle(&w->t->rng, w->pool, w->npool);
	}
	free(from);
	return err;
}

/*
 * The level's edge, smeared by lines at random: they overflow some set at about
 * half of what it holds, and all of them at twice that.
 */
static void settle_reach(struct level_geometry *l, double set_bytes, size_t npool)
{
	const struct reach *r = &l->reach;

	l->set_bytes = set_bytes;
	l->low = (uint64_t)(set_bytes * (r->rises ? r->begins : (double)npool / 2));
	if (r->ends > r->begins)
		l->high = (uint64_t)(set_bytes * r->ends);
}

/*
 * No size: the level's edge. Lines that share a set of the level above may be in more of its sets
 * than they stand for, any if the index above is mixed; so if nobody knows how many sets they
 * share, the lower end is what lines at all offsets show to fit, without those that levels above
 * may hold. 0, -errno.
 */
static int settle_edge(struct ground *w, struct level_geometry *l, const struct survey *above,
		       double set_bytes, int is_known)
{
	const double above_bytes = (double)w->g->level[w->g->nlevels - 1].size;
	double most = fmin((double)w->npages * METER_CHUNK / 2, LEAST_BYTES), fits = 0;
	int err = 0;

	l->confidence = SHARED_CONFIDENCE;
	l->set_bytes = 0;
	if (is_known || above->fold <= 1)
		settle_reach(l, set_bytes, w->npool);
	if (is_known)
		return 0;
	if (l->low)
		most = fmin(most, (double)l->low);
	if (above_bytes > 0)
		err = survey_fits(w->t, l->reach.hit, w->pages, w->npages, above_bytes, most,
				  &fits);
	l->low = fits > 0 ? (uint64_t)(fits - above_bytes) : 0;
	return err;
}

static int take_reach(struct ground *w, struct level_geometry *l, unsigned int above)
{
	struct hunt h = {
		.above = above, .first_hit = w->g->first.hit,
		.first_lines = stride_lines(&w->g->first),
		.second_hit = w->g->level[1].survey.hit, .second_lines = ground_colour_lines(w->g),
		.singly = singly_can(w->t, 0),
	};
	int err = hunt_open(&h, w->t, w->pool, w->npool);

	if (!err)
		err = hunt_calibrate(&h);
	/* Too few lines say what no hit costs. */
	if (err >= 0 && h.hit > 0)
		err = reach_take(&h, &l->reach);
	hunt_close(&h);
	return err;
}

/*
 * Whether what filled it tells it. Of two sets some lines of one seem to be in the place of
 * another's (17 ways of 16), unless the class by itself, with no lines of others, holds
 * those of the level above besides.
 */
static int is_filled(const struct survey *s)
{
	return s->sorted && (s->holding == HOLDING_OTHER ||
			     (s->holding == HOLDING_UNKNOWN && s->classes >= TOLD_FEW_CLASSES));
}

/*
 * A level from the third on. One that is exclusive is filled to the brim: lines of its
 * sets that would flush the level above are in its sets as well. Where that does not tell
 * it and it holds few lines, they are told apart by which of them miss. Where there are more
 * sets, smallest sets tell its sweep better, and that counts with what filled it. Where
 * neither tells it, ways of few classes may be those of two levels.
 */
static int survey_third(struct ground *w, struct survey *s, unsigned int above,
			const struct reach *r)
{
	const int fills = (double)w->npool > MORE_THAN_FULL * r->begins;
	struct survey full = *s;
	int err = 0, told = 0;

	if (fills) {
		ground_prepare(w, &full, above);
		err = survey_brim(&full, r);
		told = is_filled(&full);
	}
	if (!err && fills && !told && r->begins < CROWDED * above) {
		full = *s;
		ground_prepare(w, &full, above);
		err = survey_split(&full, r);
		told = full.sorted && full.holding == HOLDING_OTHER;
	}
	if (!err && !(told && full.classes < TOLD_DRAWN_LEAST) &&
	    (w->is_last || (double)w->npool > TOO_FEW * r->begins))
		err = ground_survey(w, s, above);
	if (err || !fills || s->holding == HOLDING_ALSO)
		return err;
	if (told_is_counted(s))
		return 0;
	if (told && s->votes > 1 && s->ways == full.ways) {
		s->classes = full.classes;
		s->classes_se = 0;
		s->sorted = full.sorted;
	} else if (told) {
		*s = full;
	} else {
		s->votes = s->line = 0;
	}
	return 0;
}

/*
 * One more level, in lines that share a set of all above. What other guests of
 * the host use of a shared level changes meanwhile, so there its sets are not
 * looked for.
 */
static int one_further(struct ground *w, const struct survey *above, double set_bytes,
		       struct level_geometry *l)
{
	/* The first level's set, which they share too, may hold more of them. */
	const unsigned int ways = MAX(above->ways, w->g->first.ways);
	struct survey *s = &l->survey;
	double octaves = NAN;
	int err;

	memset(l, 0, sizeof(*l));
	err = take_reach(w, l, ways);
	/* So few lines that they do not even fill the level above: there is nothing to say. */
	w->too_few = !l->reach.n;
	if (err || w->too_few)
		return err;
	/* Memory: what a miss costs was thought to be less than it is. */
	if (ground_is_memory(w, l->reach.hit)) {
		w->g->level[w->g->nlevels - 1].survey.penalty = l->reach.hit - above->hit;
		return 0;
	}
	*s = (struct survey){
		.exact = 1, .hit = l->reach.hit, .rise = l->reach.begins,
	};
	if (l->reach.beyond > l->reach.hit)
		s->penalty = l->reach.beyond - l->reach.hit;
	if (!w->t->meter->is_guest && l->reach.rises)
		err = survey_third(w, s, ways, &l->reach);
	if (!err && s->ways && s->classes > 0)
		err = find_sharing(w, s, &octaves);
	if (octaves > 0)
		set_bytes /= exp2(octaves);
	if (!err && s->ways)
		ground_settle(l, s, set_bytes);
	if (isnan(octaves))
		withdraw(l);
	/* What a line of the pool stands for is told by the level above. */
	if (!w->g->level[w->g->nlevels - 1].size)
		withdraw(l);
	l->confidence = fmin(l->confidence, w->g->level[w->g->nlevels - 1].confidence);
	if (fabs(s->hit - l->reach.hit) > SAME_HIT * l->reach.hit)
		l->confidence = fmin(l->confidence, TOLD_DOUBTFUL);
	if (!err && !l->size)
		err = settle_edge(w, l, above, set_bytes, !isnan(octaves));
	ground_mark(w, l);
	w->g->nlevels++;
	return err;
}

/*
 * Levels beyond the second, from @above on, while the next is not memory. Behind one whose size is
 * not told, what is taken for a level may be that one or another above.
 */
static int further(struct ground *w, struct survey *above)
{
	struct level_geometry *l = &w->g->level[1];
	double set_bytes = METER_CHUNK, beyond = above->hit + above->penalty;
	int err = 0;

	while (!err && above->ways && (l->size || w->g->nlevels == 2) &&
	       w->g->nlevels < w->levels && !ground_is_memory(w, beyond)) {
		l = &w->g->level[w->g->nlevels];
		ground_announce(w->t, w->g->nlevels);
		set_bytes *= fmax(rint(above->classes), 1);
		err = next_pool(w, above);
		if (!err)
			err = one_further(w, above, set_bytes, l);
		above = &l->survey;
		beyond = fmax(above->hit + above->penalty, l->reach.beyond);
	}
	return err;
}

/* Whether the pool had lines enough to tell the last level, and beyond it. */
static int was_enough(const struct ground *w)
{
	const struct level_geometry *l = &w->g->level[w->g->nlevels - 1];
	const struct survey *s = &l->survey;

	if (w->g->nlevels < 3)
		return !w->too_few;
	/* Nor would more of them find what these did not. */
	if (!s->ways)
		return l->reach.ends && w->npool > 2 * l->reach.ends;
	/* More than that are not counted one by one. */
	return s->votes > 1 && s->classes > 0 &&
	       ((s->sorted && s->classes_se <= 0) || s->classes > SURVEY_SORTED ||
		(double)w->npool > (l->size ? ROOM : FULL) * s->ways * s->classes);
}

/* How many times as large the next pool is to be. */
static double too_small_by(const struct ground *w)
{
	const struct reach *r = &w->g->level[w->g->nlevels - 1].reach;

	return r->rises ? fmax(2, FULL * r->begins / (double)w->npool) : 2;
}

/* The second level again, in larger and larger pools, and what is beyond it. */
static int go_further(struct ground *w, size_t max_bytes)
{
	struct geometry *g = w->g;
	const struct survey *second_level = &g->level[1].survey;
	struct survey *again = calloc(1, sizeof(*again));
	const size_t most = MIN(w->t->meter->is_guest ? GUEST_BYTES : MOST_BYTES, max_bytes);
	size_t bytes = w->t->meter->is_guest ? most : MIN(POOL_BYTES, most);
	int err = again ? 0 : -ENOMEM, is_there;

	while (!err) {
		w->is_last = bytes == most || w->t->loads > PATIENCE;
		err = ground_pages(w, bytes);
		/* One class of it, which chance or noise may spoil. */
		again->ways = 0;
		for (int i = 0; i < AGAIN && !err && again->ways != second_level->ways; i++) {
			*again = (struct survey){ .brief = 1 };
			err = geometry_second(w, again);
		}
		again->classes = second_level->classes;
		again->classes_se = second_level->classes_se;
		again->fold = second_level->fold;
		again->line = second_level->line;
		is_there = again->ways == second_level->ways;
		if (!err && is_there) {
			g->nlevels = 2;
			err = further(w, again);
		}
		if (w->is_last || (is_there && was_enough(w)))
			break;
		bytes = (size_t)fmin((double)bytes * too_small_by(w), (double)most);
	}
	free(again);
	return err;
}

int geometry_has_third(const struct ground *w)
{
	const struct survey *s = &w->g->level[1].survey;

	return w->levels > 2 && s->ways && !ground_is_memory(w, s->hit + s->penalty);
}

/* Whether what fills the third level may tell it better than classes did. */
static int is_unsure(const struct ground *w)
{
	const struct level_geometry *l = &w->g->level[2];

	return w->g->nlevels < 3 ||
	       (w->g->nlevels == 3 && !(l->size && l->confidence >= TOLD_SURE));
}

/*
 * Where the second level's index is mixed, lines that share a set of it are in very many of
 * the third, which is filled sooner then.
 */
int geometry_find_further(struct ground *w, size_t max_bytes)
{
	const int is_mixed = w->g->level[1].survey.fold > 1;
	int err = is_mixed ? geometry_fill_third(w, max_bytes) : 0;

	if (err)
		return MIN(err, 0);
	err = go_further(w, max_bytes);
	if (!err && !is_mixed && is_unsure(w))
		err = geometry_fill_third(w, max_bytes);
	return MIN(err, 0);
}
