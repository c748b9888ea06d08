// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "fill.h"
#include "geometry.h"
#include "odd_factor.h"
#include "shuffle.h"

/* Pages of the pool of the second level; more where so many do not overflow it well. */
#define POOL_PAGES	4096
#define POOL_GROWS	4
#define POOL_PAGES_MOST	16384
/* Of a pool, lines that begin to overflow the level, at most. */
#define POOL_RISE	0.6
/*
 * Memory does not answer faster: row and column access alone take near 30 ns.
 */
#define MEMORY_NS	45.0
/* First pool for further levels; twice as large each time it was too small. */
#define POOL_BYTES	((size_t)48 << 20)
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
/* Of an estimate of classes, a share of it, beside its scatter. */
#define ESTIMATE_ERROR	0.1
/* Of the lines that were seen to overflow a level, those that it holds at least. */
#define RISE_LEAST	0.6
/* Of what is consistent, and of what is not. */
#define SURE		0.98
#define DOUBTFUL	0.6
/* Of the misses of one line more than ways, the share that noise may hide. */
#define HIDDEN		0.25
/* What is meant to be a whole number of octaves is off by less. */
#define SAME_OCTAVE	0.25
/* A hit costs about as much whatever tells it. */
#define SAME_HIT	0.2
/* So many classes of the same ways outvote one that looked otherwise. */
#define SORTED_LEAST	4
/* Surveys of the second level that wash nothing, and in a guest; then those that do. */
#define GENTLE		4
#define GENTLE_GUEST	6
#define WASHED		3
/* After so many of the first ones it is filled. */
#define FILLS		2
/* Times that a class of it is looked for in each larger pool. */
#define AGAIN		3
/* Pages alike over those to be expected, at most; times that they are gathered. */
#define CROWD		1.5
#define GATHERS		3
/* Behind the first level a miss is a large part of a turn: seen in less of a window. */
#define WINDOW_NS	250.0
/* Classes by members over those that were drawn, at most. */
#define FEW_MEMBERS	1.3
/* Octaves that an estimate of classes is off from what lines at all offsets then show, at most. */
#define LIKELY_OCTAVES	0.35
/* Times that they are looked at. */
#define LOOKS		4
/* What is left of its error if they do, a share of it. */
#define SHOWN_ERROR	0.05
/* So many sets at most, and lines that flush the level above are in them too. */
#define FEW_CLASSES	3
/* Lines that begin to overflow a level of few sets, over ways of the level above. */
#define CROWDED		16
/* Sets of an exclusive level that lines which share one above have at least, for draws. */
#define DRAWN_LEAST	6
/* Sets that lines of all sets above are seen to share, over those of one, at least. */
#define FEWER_SETS	0.8
/* Octaves of sets above that share one, at most. */
#define OCTAVES_MOST	6
/* Draws that are off by more are no measure. */
#define DRAWN_OCTAVES	1.5
/* The same where they only cast doubt. */
#define COUNTED_OCTAVES	0.2
/* What is shared with strangers is what was left at that moment. */
#define SHARED_CONFIDENCE 0.5

/* A pool at work. */
struct ground {
	struct trial *t;
	struct geometry *g;
	uint32_t *pages;	/* all that are alike above the second level */
	size_t npages;
	size_t nsecond;		/* of them, those that the second level is looked for in */
	uint32_t *pool;		/* those alike above the level at hand */
	size_t npool;
	unsigned int levels;	/* that are looked for */
	int is_last;		/* no larger pool will be had */
	int too_few;		/* lines alike: they do not even fill the level above */
	uint64_t samples, discarded;	/* up to the level before */
};

static double to_ns(const struct trial *t, double cycles)
{
	return cycles * t->chain_ns / t->meter->chain_cycles;
}

/* What was taken since the level before. */
static void mark(struct ground *w, struct level_geometry *l)
{
	l->samples = w->t->samples - w->samples;
	l->discarded = w->t->discarded - w->discarded;
	w->samples = w->t->samples;
	w->discarded = w->t->discarded;
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

static void put_first(struct geometry *g)
{
	struct level_geometry *l = &g->level[0];
	const struct stride *f = &g->first;

	l->low = f->ways * f->way_bytes;
	l->size = l->high = stride_is_usual(f) ? l->low : 0;
	l->confidence = f->is_sure ? 0.99 : DOUBTFUL;
	l->survey = (struct survey){ .seen = 1, .hit = f->hit, .ways = f->ways, .line = f->line,
				     .votes = (unsigned int)lround(STRIDE_OFFSETS * f->agree),
				     .tried = STRIDE_OFFSETS };
	/* There are so many at least: others have the rest. */
	if (!l->size)
		l->survey.ways = l->survey.line = 0;
}

/*
 * The integer within the error of @x whose odd factor is the least: sets are
 * powers of two, or slices of powers of two.
 */
static double simplest(double x, double se)
{
	double best = round(x), best_odd = INFINITY, odd;
	double slack = se > 0 ? fmax(2 * se, ESTIMATE_ERROR * x) : 0;

	for (double i = fmax(ceil(x - slack), 1); i <= x + slack; i++) {
		odd = odd_factor(i);
		if (odd < best_odd || (odd == best_odd && fabs(i - x) < fabs(best - x))) {
			best_odd = odd;
			best = i;
		}
	}
	return best;
}

/* Sets of the level for each page's worth of lines of the pool. */
static double page_classes(const struct survey *s)
{
	return simplest(s->classes, s->classes_se) / (s->fold ? s->fold : 1);
}

/*
 * Whether others' lines seem to stay in its sets, which leaves them fewer ways, and fewer
 * members than draws find. No second level has such ways.
 */
static int has_strangers(const struct survey *s)
{
	if (s->sorted || s->exact)
		return 0;
	return odd_factor(s->ways) > SURVEY_ODD_WAYS ||
	       (s->classes > 0 && s->by_members > FEW_MEMBERS * s->classes);
}

/*
 * Whether more than one class says so. Where all lines of the pool share a set or
 * two, nothing flushes the level above, so ways of an exclusive level are those of
 * both; if that is the simpler number, there is no telling, unless more lines were seen to
 * fit where none flushes.
 */
static int has_ways(const struct survey *s)
{
	if (s->classes > 0 && s->classes < FEW_CLASSES && s->ways > s->above &&
	    s->holding != HOLDING_OTHER &&
	    odd_factor(s->ways - s->above) < odd_factor(s->ways))
		return 0;
	if (has_strangers(s))
		return 0;
	return s->votes > 1 || (s->votes && s->sorted >= SORTED_LEAST);
}

/*
 * Whether the number of classes is one that sets make: a systematic error of an
 * estimate, or another thread of the core, makes odd factors of powers of two. They
 * are only believed if all were counted.
 */
static int has_classes(const struct survey *s, double classes)
{
	classes *= s->fold ? s->fold : 1;
	if (s->classes_se > 0 && odd_factor(classes) > 1)
		return 0;
	return s->classes_se < ESTIMATE_ERROR * s->classes &&
	       fabs(s->classes - classes) < fmax(0.12 * classes, 0.3);
}

/*
 * Whether everything else that was found of the level fits together: all classes
 * have the same ways, none has misses before and each has from there on, the lines
 * are known.
 */
static int is_consistent(const struct survey *s)
{
	double more;

	if (s->votes < 2 || (s->votes != s->nsweeps && s->sorted < SORTED_LEAST) || !s->line ||
	    s->doubtful || has_strangers(s))
		return 0;
	for (unsigned int i = 0; i < s->nsweeps; i++) {
		if (s->sweep[i].ways != s->ways)
			continue;
		more = s->sweep[i].miss[s->ways + 1];
		if (s->sweep[i].miss[s->ways] > 0.5 || more < 0.5 ||
		    s->sweep[i].miss[s->ways] < -fmax(0.5, HIDDEN * more))
			return 0;
	}
	return 1;
}

/* Lines overflow the first of its sets before they are as many as it holds. */
static int holds_its_rise(const struct survey *s)
{
	return s->classes * s->ways > RISE_LEAST * (double)s->rise;
}

/* Whether it is told, surely or not, how large it is. */
static int is_sized(const struct survey *s)
{
	return has_ways(s) && s->classes > 0 && has_classes(s, page_classes(s)) &&
	       holds_its_rise(s);
}

/* Lines that the second level holds of pages with a line each, if all are of one colour. */
static double colour_lines(const struct geometry *g)
{
	const struct survey *s = &g->level[1].survey;

	return (double)s->ways * METER_CHUNK / (s->line ? s->line : METER_LINE);
}

/* Octaves between numbers of classes. */
static double octaves_off(double drawn, double classes)
{
	return fabs(log2(drawn / classes));
}

/* Whether draws tell another number of classes than was counted. */
static int contradicts(double drawn, const struct survey *s)
{
	return s->sorted && octaves_off(drawn, s->classes) > DRAWN_OCTAVES;
}

/*
 * Octaves that draws show if 2^@octaves sets of an exclusive level's upper neighbour share one
 * of it: that holds some of the lines as well, @x of those of this level where one has it for
 * itself, and seems to make it larger.
 */
static double seen_octaves(double octaves, double x)
{
	return octaves - log2((1 + x * exp2(octaves)) / (1 + x));
}

/*
 * Octaves of an exclusive level from those that draws show: the nearest whole number, and
 * how far off it is. NAN where the next is hardly farther.
 */
static double correct_octaves(double seen, double x)
{
	double best = 0;

	for (double i = 1; i <= OCTAVES_MOST; i++)
		if (fabs(seen_octaves(i, x) - seen) < fabs(seen_octaves(best, x) - seen))
			best = i;
	if (seen_octaves(best + 1, x) - seen_octaves(best, x) < 2 * SAME_OCTAVE)
		return NAN;
	return best + seen - seen_octaves(best, x);
}

/*
 * Slices may have fewer sets than the level above: then lines of several of its sets
 * meet in one of this level, which lines of a single one do not show. So the sets
 * are also counted with lines of all of them, but not as well: it is enough to
 * tell how many of those above share one, which is a power of two. In octaves; NAN
 * if it cannot be told.
 */
static int find_sharing(struct ground *w, const struct survey *s, double set_bytes,
			double *octaves)
{
	const struct survey *above = &w->g->level[1].survey;
	struct hunt h = {
		.offset = s->offset, .above = (unsigned int)(above->ways * above->classes),
		.first_hit = w->g->first.hit, .first_lines = stride_lines(&w->g->first),
		.second_hit = above->hit, .second_lines = colour_lines(w->g) * page_classes(above),
		.hit = s->hit, .penalty = s->penalty,
		.rise = (size_t)(s->ways * s->classes),
	};
	/* Both in the same way: draws of an exclusive level are off, but alike. */
	double own = s->holding != HOLDING_ALSO && s->drawn > 0 ? s->drawn : s->classes;
	struct survey all = *s;
	int err = hunt_open(&h, w->t, w->pages, w->npages);

	*octaves = NAN;
	all.pages = w->pages;
	all.npages = w->npages;
	all.above = h.above;
	if (!err)
		err = survey_count(&all, &h, &s->sweep[s->last]);
	/* Lines of all see no fewer sets; and draws that do not tell one do not tell the other. */
	if (all.classes > FEWER_SETS * own && !contradicts(own, s))
		*octaves = log2(own * set_bytes / METER_CHUNK / all.classes);
	if (s->holding == HOLDING_OTHER)
		*octaves = correct_octaves(*octaves, above->ways / (s->ways * s->classes));
	hunt_close(&h);
	return err;
}

/* Whether its classes were taken out one by one, and as many as that explains. */
static int is_counted(const struct survey *s)
{
	return s->sorted && has_classes(s, page_classes(s));
}

/*
 * Whether so few classes were estimated in so many ways that agree that no other number
 * of them is within the error.
 */
static int is_as_counted(const struct survey *s)
{
	return s->agreed > 1 && s->agreed == s->nestimates &&
	       fmax(2 * s->classes_se, ESTIMATE_ERROR * s->classes) < 0.5;
}

/*
 * How sure its size is. Sets of an exclusive level that nobody counted are told by how
 * many lines had to be looked at for those of a class, and lines at other offsets by
 * a few of them: both have been off by a factor while all else fitted together. From the
 * third level on slices may be of any number, which an estimate takes for the nearest
 * power of two (16 instead of 20, all else fitting), so there too sets are to be counted.
 */
static double sure_of(const struct survey *s)
{
	if (!s->sorted && !s->held &&
	    (s->holding == HOLDING_OTHER || (s->exact && !is_as_counted(s))))
		return DOUBTFUL;
	/* How many sets of the level above share one is told by draws, with few sets not well. */
	if (s->exact && s->holding != HOLDING_ALSO && s->classes < DRAWN_LEAST)
		return DOUBTFUL;
	/* Told by the brim alone, and not seen to be exclusive. */
	if (s->exact && s->nsweeps < 2 && s->holding == HOLDING_UNKNOWN)
		return DOUBTFUL;
	/* Some that were counted may have been taken for others, and left out. */
	if (s->exact && s->sorted && s->holding != HOLDING_OTHER && s->drawn > 0 &&
	    octaves_off(s->drawn, s->classes) > COUNTED_OCTAVES)
		return DOUBTFUL;
	/* Members had to choose among draws. */
	if (!s->sorted && !s->held && s->agreed && 2 * s->agreed <= s->nestimates)
		return DOUBTFUL;
	return is_consistent(s) ? SURE : DOUBTFUL;
}

/* @set_bytes: bytes of the level that one line of the pool stands for. */
static void settle(struct level_geometry *l, const struct survey *s, double set_bytes)
{
	double classes = page_classes(s);

	if (s != &l->survey)
		l->survey = *s;
	l->set_bytes = set_bytes;
	if (!has_ways(s)) {
		l->survey.ways = 0;
	} else if (is_sized(s)) {
		l->size = (uint64_t)llround(s->ways * classes * set_bytes);
		l->low = l->high = l->size;
		l->confidence = sure_of(s);
		l->colours = (unsigned int)(classes * set_bytes / METER_CHUNK);
	}
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

static void prepare(struct ground *w, struct survey *s, unsigned int above)
{
	s->t = w->t;
	s->first = &w->g->first;
	s->above = above;
	s->pages = w->pool;
	s->npages = w->npool;
	if (s->exact) {
		s->second_hit = w->g->level[1].survey.hit;
		s->second_lines = colour_lines(w->g);
	}
}

static int survey_from(struct ground *w, struct survey *s, unsigned int above)
{
	prepare(w, s, above);
	return survey_level(s);
}

/* Whether as much is known of it as was asked for. */
static int is_told(const struct survey *s)
{
	return s->ways && (s->brief || (is_consistent(s) && has_classes(s, page_classes(s))));
}

/*
 * Of the attempts, those after which the level is filled: the first ones. In a guest, whose
 * neighbours spoil more of that than of anything else, and may hold some of each set's ways,
 * the last, if none found a class.
 */
static int fills_at(const struct ground *w, const struct survey *s, unsigned int i)
{
	if (w->t->meter->is_guest)
		return s->washes && !s->ways && !s->ways_before;
	return i < FILLS;
}

/* The power of two that estimates of classes which differ most likely mean. 0 if it is far off. */
static double likely_classes(const struct survey *s)
{
	double octaves = log2(s->classes);

	return fabs(octaves - round(octaves)) < LIKELY_OCTAVES ? exp2(round(octaves)) : 0;
}

/* Whether they may be lines of a level of twice as many @bytes. 1, 0, -errno. */
static int may_be_twice(struct ground *w, struct survey *s, double bytes)
{
	int holds = HOLDS_NOT;

	/* What else was hard to tell of it was so because something disturbs, which is over soon. */
	for (int i = 0; i < (s->doubtful ? LOOKS : 1) && !holds; i++)
		holds = survey_holds(s, w->pages, w->npages, 2 * bytes);
	return holds == -ERANGE ? 0 : MIN(holds, 1);
}

/*
 * Lines at all offsets show a size, whatever else was hard to tell of it, or contradict it:
 * then it is none. 1 if it has one, 0, -errno.
 */
static int check_size(struct ground *w, struct survey *s)
{
	const int is_told = is_sized(s);
	double classes, bytes;
	int holds = HOLDS_NOT, twice = 0;

	if (s->brief || !has_ways(s) || s->classes <= 0)
		return 0;
	classes = is_told ? page_classes(s) : likely_classes(s) / fmax(s->fold, 1);
	if (classes <= 0)
		return 0;
	bytes = s->ways * classes * METER_CHUNK;
	/* What disturbs makes it look as if it held less. */
	for (int i = 0; i < LOOKS && (holds == HOLDS_NOT || holds == HOLDS_MAYBE); i++)
		holds = survey_holds(s, w->pages, w->npages, bytes);
	/* Pages for a level far larger than the first are there, if not for one of such a size. */
	s->doubtful |= holds == -ERANGE;
	if (holds == -ENODATA || holds == -ERANGE)
		return is_told;
	if (holds == HOLDS_MORE || (holds == HOLDS_THIS && s->doubtful))
		twice = may_be_twice(w, s, bytes);
	if (holds < 0 || twice < 0)
		return MIN(holds, twice);
	if (holds < HOLDS_THIS || twice) {
		s->classes = 0;
		return 0;
	}
	s->classes = classes * fmax(s->fold, 1);
	s->classes_se = fmin(s->classes_se, SHOWN_ERROR * s->classes);
	s->doubtful = 0;
	s->held = 1;
	return 1;
}

/*
 * Again where nothing was found, or not surely: with other pages, and when
 * whoever was in the way may have gone. In the end the last of which no class
 * contradicts the size, if none told it surely.
 */
static int second(struct ground *w, struct survey *s)
{
	const unsigned int gentle = w->t->meter->is_guest ? GENTLE_GUEST : GENTLE;
	struct survey asked = *s, best = { .ways = 0 };
	int err = 0;

	for (unsigned int i = 0; i < gentle + WASHED; i++) {
		asked.ways_before = s->ways ? s->ways : s->ways_before;
		asked.found = s->found;
		asked.members = s->members;
		asked.among = s->among;
		*s = asked;
		shuffle(&w->t->rng, w->pages, w->npages);
		w->npool = w->npages < w->nsecond ? w->npages : w->nsecond;
		memcpy(w->pool, w->pages, w->npool * sizeof(*w->pool));
		/* Nothing else is left to do; a guest's neighbours make it miss more. */
		s->washes = i >= gentle;
		err = survey_from(w, s, w->g->first.ways);
		if (!err && !s->brief)
			err = survey_single(s, MAX(w->g->first.way_bytes / METER_CHUNK, 1));
		if (!s->ways && (!s->seen || (double)s->rise > POOL_RISE * (double)w->npool) &&
		    w->nsecond < POOL_PAGES_MOST)
			w->nsecond *= POOL_GROWS;
		if (!err && fills_at(w, s, i) && !is_told(s) && s->rise)
			err = survey_fill(s, 0);
		if (err >= 0)
			err = check_size(w, s);
		if (err < 0 || is_told(s))
			return err < 0 ? err : 0;
		if (err && s->votes == s->nsweeps)
			best = *s;
	}
	if (best.ways)
		*s = best;
	return 0;
}

/*
 * The level's edge, smeared by lines at random: they overflow some set at about
 * half of what it holds, and all of them at twice that.
 */
static void settle_reach(struct level_geometry *l, double set_bytes, size_t npool)
{
	const struct reach *r = &l->reach;

	l->set_bytes = set_bytes;
	if (l->size || !r->n)
		return;
	l->low = (uint64_t)(set_bytes * (r->rises ? r->begins : (double)npool / 2));
	if (r->ends > r->begins)
		l->high = (uint64_t)(set_bytes * r->ends);
	l->confidence = SHARED_CONFIDENCE;
}

static int take_reach(struct ground *w, struct level_geometry *l, unsigned int above)
{
	struct hunt h = {
		.above = above, .first_hit = w->g->first.hit,
		.first_lines = stride_lines(&w->g->first),
		.second_hit = w->g->level[1].survey.hit, .second_lines = colour_lines(w->g),
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
			     (s->holding == HOLDING_UNKNOWN && s->classes >= FEW_CLASSES));
}

/* Whether draws are nearer to what the brim tells of the same ways than to what was counted. */
static int is_drawn_nearer(const struct survey *s, const struct survey *full)
{
	return s->ways == full->ways && s->drawn > 0 &&
	       octaves_off(s->drawn, full->classes) < octaves_off(s->drawn, s->classes);
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
		prepare(w, &full, above);
		err = survey_brim(&full, r);
		told = is_filled(&full);
	}
	if (!err && fills && !told && r->begins < CROWDED * above) {
		full = *s;
		prepare(w, &full, above);
		err = survey_split(&full, r);
		told = full.sorted && full.holding == HOLDING_OTHER;
	}
	if (!err && !(told && full.classes < DRAWN_LEAST) &&
	    (w->is_last || (double)w->npool > TOO_FEW * r->begins))
		err = survey_from(w, s, above);
	if (err || !fills || s->holding == HOLDING_ALSO)
		return err;
	if (is_counted(s) && !(told && is_drawn_nearer(s, &full)))
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
	if (to_ns(w->t, l->reach.hit) >= MEMORY_NS) {
		w->g->level[w->g->nlevels - 1].survey.penalty = l->reach.hit - above->hit;
		return 0;
	}
	*s = (struct survey){ .exact = 1, .hit = l->reach.hit, .line_above = above->line };
	if (l->reach.beyond > l->reach.hit)
		s->penalty = l->reach.beyond - l->reach.hit;
	if (!w->t->meter->is_guest && l->reach.rises)
		err = survey_third(w, s, ways, &l->reach);
	if (!err && s->ways && s->classes > 0)
		err = find_sharing(w, s, set_bytes, &octaves);
	if (octaves >= 0.5)
		set_bytes /= exp2(round(octaves));
	if (!err && s->ways)
		settle(l, s, set_bytes);
	if (!(fabs(octaves - round(octaves)) < SAME_OCTAVE && octaves > -SAME_OCTAVE))
		withdraw(l);
	/* What a line of the pool stands for is told by the level above. */
	if (!w->g->level[w->g->nlevels - 1].size)
		withdraw(l);
	l->confidence = fmin(l->confidence, w->g->level[w->g->nlevels - 1].confidence);
	if (fabs(s->hit - l->reach.hit) > SAME_HIT * l->reach.hit)
		l->confidence = fmin(l->confidence, DOUBTFUL);
	settle_reach(l, set_bytes, w->npool);
	mark(w, l);
	w->g->nlevels++;
	return err;
}

/* For who watches: a level takes longer the further out it is. */
static void announce(struct trial *t, size_t nlevels)
{
	static const struct { const char *what; double done; } stages[GEOMETRY_LEVELS] = {
		{ "sets of the first level", 0 }, { "sets of the second level", 0.1 },
		{ "sets of the third level", 0.4 }, { "sets of the fourth level", 0.8 },
	};

	t->what = stages[nlevels].what;
	t->done = stages[nlevels].done;
}

/* Levels beyond the second, from @above on, while the next is not memory. */
static int further(struct ground *w, struct survey *above)
{
	struct level_geometry *l;
	double set_bytes = METER_CHUNK, beyond = above->hit + above->penalty;
	int err = 0;

	while (!err && above->ways && w->g->nlevels < w->levels &&
	       to_ns(w->t, beyond) < MEMORY_NS) {
		l = &w->g->level[w->g->nlevels];
		announce(w->t, w->g->nlevels);
		set_bytes *= page_classes(above);
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
	       (s->sorted || s->classes > SURVEY_SORTED ||
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
	const size_t most = w->t->meter->is_guest ? MIN(GUEST_BYTES, max_bytes) : max_bytes;
	size_t bytes = w->t->meter->is_guest ? most : MIN(POOL_BYTES, most);
	int err = again ? 0 : -ENOMEM, is_there;

	while (!err) {
		w->is_last = bytes == most || w->t->loads > PATIENCE;
		err = get_pages(w, bytes);
		/* One class of it, which chance or noise may spoil. */
		again->ways = 0;
		for (int i = 0; i < AGAIN && !err && again->ways != second_level->ways; i++) {
			*again = (struct survey){ .brief = 1 };
			err = second(w, again);
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

/* Lines that the second level holds at one offset, about, or more. */
static size_t lines_above(const struct survey *s)
{
	return (size_t)ceil(fmax(s->ways * s->classes, (double)s->rise));
}

/* Whether there is a level behind the second. */
static int has_third(const struct ground *w)
{
	const struct survey *s = &w->g->level[1].survey;

	return w->levels > 2 && s->ways && to_ns(w->t, s->hit + s->penalty) < MEMORY_NS;
}

/*
 * A third level that is not sure, by what it holds: no matter what its index and the
 * one above are. An exclusive one may keep a stranger in each set, and hold one less.
 * 1, 0 if it is not told, -errno.
 */
static int fill_third(struct ground *w, size_t max_bytes)
{
	struct level_geometry *l = &w->g->level[2];
	const struct survey *above = &w->g->level[1].survey;
	struct filled filled;
	int err;

	if (w->t->meter->is_guest)
		return 0;
	err = fill_level(w->t, max_bytes, lines_above(above), above->fold > 1, &filled);
	if (err <= 0 || to_ns(w->t, filled.hit) >= MEMORY_NS)
		return MIN(err, 0);
	if (w->g->nlevels < 3) {
		*l = (struct level_geometry){
			.survey = {
				.seen = 1, .hit = filled.hit,
				.penalty = filled.miss - filled.hit,
			},
		};
		w->g->nlevels = 3;
	}
	l->size = l->low = l->high = filled.lines * METER_CHUNK / filled.fold;
	l->confidence = l->survey.holding == HOLDING_ALSO ? SURE : DOUBTFUL;
	l->colours = (unsigned int)(filled.lines / filled.ways / filled.fold);
	l->survey.ways = filled.ways;
	/* Prefetchers complete pairs: see survey.c. */
	l->survey.line = filled.near > 1 ? 0 : filled.near ? above->line : METER_LINE;
	mark(w, l);
	return 1;
}

/* Whether what fills the third level may tell it better than classes did. */
static int is_unsure(const struct ground *w)
{
	const struct level_geometry *l = &w->g->level[2];

	return w->g->nlevels < 3 ||
	       (w->g->nlevels == 3 &&
		!(l->size && (l->confidence >= SURE || l->survey.holding == HOLDING_OTHER)));
}

/*
 * Where the second level's index is mixed, lines that share a set of it are in very many of
 * the third, which is filled sooner then.
 */
static int find_further(struct ground *w, size_t max_bytes)
{
	const int is_mixed = w->g->level[1].survey.fold > 1;
	int err = is_mixed ? fill_third(w, max_bytes) : 0;

	if (err)
		return MIN(err, 0);
	err = go_further(w, max_bytes);
	if (!err && !is_mixed && is_unsure(w))
		err = fill_third(w, max_bytes);
	return MIN(err, 0);
}

/*
 * A second level that is told but not sure: its lines are counted, and those at other
 * offsets that share its sets are many, however they come and go between it and the first.
 */
static int confirm_second(struct ground *w, struct level_geometry *l)
{
	int told;

	if (w->t->meter->is_guest || !l->size || l->confidence >= SURE || l->survey.sorted)
		return 0;
	told = survey_fill(&l->survey, 1);
	if (told > 0)
		settle(l, &l->survey, METER_CHUNK);
	return told < 0 ? told : 0;
}

static int find_first(struct ground *w)
{
	struct geometry *g = w->g;
	int err = w->t->meter->ops->pages(w->t->meter, STRIDE_CHUNKS);

	announce(w->t, 0);
	if (!err)
		err = stride_find(w->t, &g->first);
	g->beyond = g->first.beyond;
	if (err || !g->first.ways)
		return err;
	w->t->window_ns = WINDOW_NS;
	put_first(g);
	g->nlevels++;
	mark(w, &g->level[0]);
	g->ends = to_ns(w->t, g->beyond) >= MEMORY_NS;
	return 0;
}

static int find_second(struct ground *w, size_t max_bytes)
{
	const size_t step = MAX(w->g->first.way_bytes, METER_CHUNK);
	struct level_geometry *l = &w->g->level[1];
	int err;

	announce(w->t, 1);
	err = get_pages(w, MIN(step * POOL_PAGES_MOST, max_bytes));
	if (!err)
		err = second(w, &l->survey);
	if (err || !l->survey.seen)
		return err;
	settle(l, &l->survey, METER_CHUNK);
	err = confirm_second(w, l);
	mark(w, l);
	w->g->nlevels++;
	return err;
}

static int find(struct ground *w, size_t max_bytes)
{
	struct geometry *g = w->g;
	struct level_geometry *l = &g->level[1];
	int err = find_first(w);

	if (err || !g->nlevels || g->ends || w->levels < 2)
		return err;
	err = find_second(w, max_bytes);
	if (err || g->nlevels < 2)
		return err;
	if (has_third(w))
		err = find_further(w, max_bytes);
	l = &g->level[g->nlevels - 1];
	g->beyond = fmax(l->survey.hit + l->survey.penalty, l->reach.beyond);
	g->ends = to_ns(w->t, g->beyond) >= MEMORY_NS;
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
	err = w->t->meter->ops->pages(w->t->meter, STRIDE_CHUNKS);
	if (!err)
		err = stride_holds(w->t, &before, &holds);
	if (err || (holds && before.is_sure))
		return err;
	err = stride_find(w->t, &g->first);
	if (g->first.ways < before.ways || (g->first.ways == before.ways && !g->first.is_sure))
		g->first = before;
	put_first(g);
	for (size_t i = 0; g->first.ways != before.ways && i < g->nlevels; i++)
		g->level[i].confidence = fmin(g->level[i].confidence, DOUBTFUL);
	return err;
}

int geometry_find(struct trial *t, size_t max_bytes, unsigned int levels, struct geometry *g)
{
	struct ground w = {
		.t = t, .g = g, .nsecond = POOL_PAGES,
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
