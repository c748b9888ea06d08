// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include <sonde/stats.h>
#include "odd_factor.h"
#include "parted.h"
#include "shuffle.h"
#include "survey.h"

#define TRIES		5
/* Loads of a survey, after which it is content with what it has: some seconds. */
#define PATIENCE	120000000
#define FLUSH_TRIES	12
/* What the next level costs more than a hit, in hits, where it is near. */
#define NEAR		2
/* Lines of a class beyond its ways to look at, over ways. */
#define SWEEP_FACTOR	5 / 2
#define SWEEP_ORDERS	6
#define SWEEP_DRAWS	4
#define LINE_MOST	256
/* Orders of one line more than ways, and the share of what they miss that is noise. */
#define NOISE_ORDERS	8
#define NOISE_SHARE	0.3
/* Orders of one line more than ways; the shares of them that miss, less and more than
 * these, if all or half of them do; of the orders, most and some. */
#define USE_ORDERS	12
#define USE_ALL		0.9
#define USE_HALF	0.6
#define USE_MOST	9
#define USE_SOME	2
/* Orders in which lines that fit once are looked at again, and misses a turn that they then
 * have in the mean: in a set that is too small at least one. */
#define FIT_ORDERS	8
#define FIT_MORE	24
#define FITS		0.6
/* Clean costs that differ by less, in misses, do not make lines fit that do not. */
#define STEADY		0.3
/* Classes that are to agree that it is by use. */
#define BY_USE		2
/* Where lines begin that may be seen to be two: those before are in the page as well. */
#define PARTED_AT	(METER_CHUNK / 2)
/* States before that are tried. */
#define STIRS		8
/* Between the offsets of classes: even lines, so that what a prefetcher brings after
 * a line of the other half of a pair is in neither. */
#define OFFSET_STEP	1280
/* Lines of a class to have at least: their frames are compared too. */
#define LINES_MIN	48
/* Lines of classes to be found before they tell how many classes there are. */
#define FOUND_LEAST	30
/* Draws and members agree if they differ by less than this share, or two standard errors. */
#define AGREES		0.1
/* A count and an estimate that differ by more than this factor contradict each other. */
#define CONTRADICTION	1.25

size_t survey_others(const struct survey *s, const struct hunt *h, const struct class *c,
		     uint32_t *out)
{
	size_t n;

	memcpy(out, s->pages, s->npages * sizeof(*out));
	n = hunt_drop(out, s->npages, h->flush, h->nflush);
	return hunt_drop(out, n, c->page, c->n);
}

/* Lines of the pool that flush the level above, and overflow no set themselves. */
static int choose_flush(struct survey *s, struct hunt *h)
{
	size_t n = SURVEY_FLUSH * s->above, first;
	int over = 1;

	if (n > s->npages / 8)
		n = s->npages / 8;
	if (n > HUNT_WAYS)
		n = HUNT_WAYS;
	for (int i = 0; i < FLUSH_TRIES && over > 0; i++) {
		first = sonde_rng_below(&s->t->rng, s->npages - 2 * n + 1);
		h->nflush = 0;
		/* With some more, so that they do not fill a set either. */
		over = hunt_overflows(h, s->pages + first, n + n / 3);
		memcpy(h->flush, s->pages + first, n * sizeof(*h->flush));
		h->nflush = n;
		if (i % 4 == 3)
			n = n * 2 / 3;
	}
	return over < 0 ? over : 1;
}

static int open_hunt(struct survey *s, struct hunt *h, uint32_t offset)
{
	*h = (struct hunt){
		.offset = offset, .above = s->above,
		.first_hit = s->first->hit, .first_lines = stride_lines(s->first),
		.second_hit = s->second_hit, .second_lines = s->second_lines,
		.until = s->until, .washes = s->washes,
		.singly = !s->t->meter->is_guest,
	};
	return hunt_open(h, s->t, s->pages, s->npages);
}

/* @is_told: what is beyond the level has told what hits and misses cost. */
static int start_hunt(struct survey *s, struct hunt *h, uint32_t offset, int is_told)
{
	int err = open_hunt(s, h, offset);

	if (is_told) {
		h->hit = s->hit;
		h->penalty = s->penalty;
		h->rise = s->rise;
	}
	/* Loads one by one need no more. */
	if (!err && is_told && hunt_is_singly(h))
		err = 1;
	else if (!err)
		err = hunt_calibrate(h);
	if (s->is_near)
		h->penalty = fmin(h->penalty, NEAR * h->hit);
	return err > 0 ? choose_flush(s, h) : err;
}

/* Lines that nearly all miss, also if the level above holds others. */
static unsigned int crowd_of(const struct survey *s, unsigned int ways)
{
	return MAX(ways * SWEEP_FACTOR, ways + s->above + 2);
}

/* Lines beyond the smallest set, for the sweep; what is not there is not swept. */
static int grow(struct survey *s, struct hunt *h, struct class *c, uint32_t *from)
{
	struct sweep *w = &s->sweep[s->nsweeps];
	size_t n = survey_others(s, h, c, from), found, tested, want;
	unsigned int ways = (unsigned int)c->n - 1;
	int err;

	want = MIN(MAX(crowd_of(s, ways), LINES_MIN), HUNT_WAYS) - c->n;
	shuffle(&s->t->rng, from, n);
	err = hunt_members(h, c, ways, from, n, want, &found, &tested);
	if (err)
		return err;
	w->found = found;
	w->members = (double)c->n + (double)(found * n) / (double)(tested ? tested : 1);
	memcpy(c->page + c->n, from, found * sizeof(*from));
	c->n += found;
	return 0;
}

/* As many as ways may miss as long as a stranger stays: in another order it goes. */
static int least_misses(struct hunt *h, const struct class *c, unsigned int n, double *least)
{
	double miss;
	int err = hunt_misses(h, c->page, n, 1, least);

	for (int k = 0; k < SWEEP_ORDERS && *least > 0.5 && !err; k++) {
		err = hunt_misses(h, c->page, n, 1, &miss);
		*least = fmin(*least, miss);
	}
	return err;
}

/* Of more, some replacements make few or many miss, as the order will have it. */
static int mean_misses(struct hunt *h, const struct class *c, unsigned int n, double *mean)
{
	double miss, sum = 0;
	int err = 0;

	for (int k = 0; k < SWEEP_DRAWS && !err; k++) {
		err = hunt_misses(h, c->page, n, 1, &miss);
		sum += miss;
	}
	*mean = sum / SWEEP_DRAWS;
	return err;
}

static int take_sweep(struct hunt *h, const struct class *c, struct sweep *w)
{
	int err = 0;

	w->n = (unsigned int)c->n;
	for (unsigned int i = 1; i <= w->n && !err; i++)
		err = i <= w->ways ? least_misses(h, c, i, &w->miss[i]) :
		      mean_misses(h, c, i, &w->miss[i]);
	return err;
}

/*
 * Lines as many as ways that miss in every order are one too many, whatever smaller set did
 * not: one of them stayed in the level above. No second level has as many.
 */
static int is_one_less(const struct survey *s, const struct sweep *w)
{
	return !s->exact && w->ways > 2 && odd_factor(w->ways) > SURVEY_ODD_WAYS &&
	       odd_factor(w->ways - 1) <= SURVEY_ODD_WAYS &&
	       w->miss[w->ways] > 0.5 && w->miss[w->ways - 1] < 0.5;
}

/*
 * A line more than ways, of lines that are there in any order, which in FIFO make few miss:
 * far fewer misses than most orders have are noise.
 */
static int tell_noise(struct hunt *h, const struct class *c, struct sweep *w)
{
	double miss[NOISE_ORDERS];
	int err = 0;

	for (int i = 0; i < NOISE_ORDERS && !err; i++)
		err = hunt_misses_again(h, c->page, w->ways + 1, &miss[i]);
	if (err)
		return err;
	sonde_stats_sort(miss, NOISE_ORDERS);
	w->least = NOISE_SHARE * sonde_stats_quantile(miss, NOISE_ORDERS, 0.25);
	return 0;
}

/*
 * Alone, without flush lines, the ways of the level above count too if no line
 * is in both.
 */
static void judge_holding(struct survey *s, struct hunt *h, const struct class *c)
{
	unsigned int most = s->ways > s->above ? s->ways : s->above, k;
	size_t nflush = h->nflush;
	int over = 0;

	h->nflush = 0;
	for (k = most; k <= c->n && !over; k++)
		over = hunt_overflows(h, c->page, k);
	h->nflush = nflush;
	if (over != 1)
		return;
	if (k - 1 == most + 1)
		s->holding = HOLDING_ALSO;
	else if (k - 1 == s->ways + s->above + 1)
		s->holding = HOLDING_OTHER;
}

/*
 * Lines of the class at and around two offsets, in any order. Where a prefetcher completes
 * pairs, sets of the two halves of one get the same pages in the same order, and some
 * replacements (FIFO) never part them again: both overflow then. What is in them before
 * may part them.
 */
static int stir(struct hunt *h, const struct class *c, size_t n, uint32_t a, uint32_t b)
{
	uint32_t places[HUNT_WAYS];

	for (size_t i = 0; i < n; i++)
		places[i] = (c->page[i] * METER_CHUNK + a - (b - a) +
			     (uint32_t)sonde_rng_below(&h->t->rng, 4) * (b - a)) / METER_PLACE;
	return trial_ring(h->t, places, n, 0);
}

/* Lines fit, but clean costs are noisy and in the mean they miss; fit; are seen to be two. */
enum { FITS_ONCE = 1, FITS_SURELY, PARTED };

/*
 * As in the first level (stride.c): one line of the class more than ways. FITS_ONCE,
 * FITS_SURELY, 0, -errno.
 */
static int fit_at(struct survey *s, struct hunt *h, const struct class *c, uint32_t a, uint32_t b)
{
	const size_t shares[] = { (s->ways + 1) / 2, s->ways, 1 };
	uint32_t places[3 * HUNT_WAYS];
	int over = 1, fit = 0, err;
	double mean, spread;

	for (int k = 0; k < 3 * STIRS && fit < FITS_SURELY; k++) {
		size_t n = 0;

		over = stir(h, c, s->ways + 1, a, b);
		if (over < 0)
			break;
		for (size_t i = 0; i <= s->ways; i++)
			places[n++] = (c->page[i] * METER_CHUNK + (i < shares[k % 3] ? a : b)) /
				      METER_PLACE;
		for (size_t i = 0; i < h->nflush; i++) {
			places[n++] = (h->flush[i] * METER_CHUNK + a) / METER_PLACE;
			places[n++] = (h->flush[i] * METER_CHUNK + b) / METER_PLACE;
		}
		over = hunt_places_overflow(h, places, n, 2 * h->nflush);
		if (over < 0)
			break;
		if (over)
			continue;
		err = hunt_places_misses(h, places, n, 2 * h->nflush, FIT_ORDERS, &mean, &spread);
		if (!err && mean < FITS && spread > STEADY)
			err = hunt_places_misses(h, places, n, 2 * h->nflush, FIT_MORE, &mean,
						 &spread);
		if (err)
			return err;
		fit = mean < FITS || spread < STEADY ? FITS_SURELY : FITS_ONCE;
	}
	return over < 0 ? over : fit;
}

/*
 * Whether a line that was used stays longer, or chance decides. If not, sets of the two
 * halves of a pair that a prefetcher completes hold the same pages whatever is done (stir).
 * What goes by order of arrival alone (FIFO) makes all of one line more than ways miss if
 * they come anew, and if they are there in another order as many of them as come round in
 * 1, 2, 3 turns: all, half, a third. 1, 0, -errno.
 */
static int goes_by_use(struct survey *s, struct hunt *h, const struct class *c)
{
	const struct sweep *w = &s->sweep[s->nsweeps - 1];
	const double n = s->ways + 1;
	int all = 0, between = 0, err = 0;
	double x;

	if (w->miss[s->ways + 1] < USE_ALL * n && w->miss[s->ways + 2] < USE_ALL * (n + 1))
		return 1;
	for (int i = 0; i < USE_ORDERS && !err; i++) {
		err = hunt_misses_again(h, c->page, s->ways + 1, &x);
		all += x > USE_ALL * n;
		between += x > USE_HALF * n && x < USE_ALL * n;
	}
	/* Two orders of three lines are all there are. */
	return err ? err : s->ways > 2 && (all + between >= USE_MOST || between >= USE_SOME);
}

/* Whether lines at a distance are seen to be two, and where they could be pairs, no such. */
static int is_parted(struct survey *s, struct hunt *h, const struct class *c, uint32_t d)
{
	const struct parted set = {
		.t = h->t, .page = c->page, .n = c->n, .ways = s->ways,
		.flush = h->flush, .nflush = h->nflush, .penalty = fmax(h->penalty, h->hit),
	};

	return d > s->first->line ? parted_line(&set, PARTED_AT, d) :
				    parted_look(&set, PARTED_AT, PARTED_AT + d, d);
}

/*
 * The smallest distance at which lines of a class are seen to be two, or fit, to *@d. PARTED,
 * FITS_SURELY, FITS_ONCE, 0, -errno.
 */
static int find_apart(struct survey *s, struct hunt *h, const struct class *c, uint32_t *d)
{
	uint32_t once = 0;
	int fit, longer;

	for (*d = s->first->line; *d <= LINE_MOST; *d *= 2) {
		fit = is_parted(s, h, c, *d);
		if (fit)
			return fit < 0 ? fit : PARTED;
		fit = once ? 0 : fit_at(s, h, c, LINE_MOST, LINE_MOST + *d);
		/* Where what prefetchers bring shows lines twice as long, it was chance. */
		longer = fit == FITS_SURELY ? is_parted(s, h, c, 2 * *d) : 0;
		if (longer)
			fit = longer < 0 ? longer : FITS_ONCE;
		if (fit < 0 || fit == FITS_SURELY)
			return fit;
		if (fit)
			once = *d;
	}
	*d = once;
	return once ? FITS_ONCE : 0;
}

/*
 * The smallest distance at which they are two in any class; half of it where in none they fit
 * across a border of such stretches either, as in the first level (stride.c).
 */
static int find_line(struct survey *s, struct hunt *h, const struct class *c)
{
	int fit, across = 1, by_use = 0;
	uint32_t d;

	/* Lines go back and forth between it and the level above. */
	if (s->holding == HOLDING_OTHER) {
		s->line = s->line_above ? s->line_above : s->first->line;
		return 0;
	}
	fit = find_apart(s, h, c, &d);
	if (fit <= 0)
		return fit;
	if (fit != PARTED && d > s->first->line)
		across = fit_at(s, h, c, LINE_MOST + d / 2, LINE_MOST + d);
	if (across > 0 && d > s->first->line && !s->line_above)
		by_use = fit == PARTED ? 1 : goes_by_use(s, h, c);
	if (across < 0 || by_use < 0)
		return across < 0 ? across : by_use;
	if (!s->apart || d < s->apart)
		s->napart = s->nsure = s->nacross = s->by_use = 0;
	if (s->napart && d > s->apart)
		return 0;
	s->apart = d;
	s->napart++;
	s->nsure += fit != FITS_ONCE;
	s->nacross += across > 0;
	s->by_use += by_use;
	s->line = s->nacross ? d : d / 2;
	/*
	 * Where every load misses the level above, a prefetcher that completes pairs of
	 * lines does all that lines twice as long do. There are such prefetchers, and
	 * no such lines.
	 */
	if (s->line == 2 * s->line_above)
		s->line = s->line_above;
	return 0;
}

int survey_has_line(const struct survey *s, const struct stride *first)
{
	if (!s->line || (s->napart && !s->nsure))
		return 0;
	if (s->line > first->line)
		return s->nacross == s->napart && s->by_use >= BY_USE;
	return !first->is_doubtful;
}

static void vote(struct survey *s)
{
	const unsigned int before = s->ways ? s->ways : s->ways_before;

	for (unsigned int i = 0; i < s->nsweeps; i++) {
		unsigned int same = 0;

		for (unsigned int j = 0; j < s->nsweeps; j++)
			same += s->sweep[j].ways == s->sweep[i].ways;
		if (same > s->votes) {
			s->votes = same;
			s->ways = s->sweep[i].ways;
		}
	}
	/* What was told by classes that were outvoted. */
	if (before && s->ways != before) {
		s->nestimates = 0;
		s->found = 0;
		s->members = s->among = 0;
	}
}

static int find_class(struct survey *s, struct hunt *h, uint32_t *from, struct class *c)
{
	size_t n;
	int found = 0;

	for (int i = 0; i < TRIES && !found; i++) {
		c->n = 0;
		n = survey_others(s, h, c, from);
		shuffle(&s->t->rng, from, n);
		/* One that leads nowhere leaves as much for the others. */
		if (s->t->loads < s->until)
			h->until = s->t->loads + (s->until - s->t->loads) / 2;
		found = hunt_class(h, from, n, c);
	}
	return found;
}

/* A class at one offset: ways and sweep. 1, 0 if none was found, -errno. */
static int look_at(struct survey *s, struct hunt *h, uint32_t *from, struct class *c)
{
	struct sweep *w = &s->sweep[s->nsweeps];
	int err;

	s->tried++;
	err = find_class(s, h, from, c);
	if (err <= 0)
		return err;
	w->offset = h->offset;
	w->ways = (unsigned int)c->n - 1;
	err = grow(s, h, c, from);
	if (!err)
		err = hunt_refine(h, c, MIN(crowd_of(s, w->ways), c->n));
	if (!err)
		err = take_sweep(h, c, w);
	if (!err && is_one_less(s, w))
		w->ways--;
	if (!err)
		err = tell_noise(h, c, w);
	if (err)
		return err;
	s->nsweeps++;
	return 1;
}

static void remember(struct survey *s, const struct hunt *h, const struct class *c)
{
	s->class = *c;
	s->last = s->nsweeps - 1;
	s->offset = h->offset;
	s->nflush = h->nflush;
	memcpy(s->flush, h->flush, sizeof(s->flush));
	s->hit = h->hit;
	s->kept = h->kept;
	s->penalty = h->penalty;
	s->rise = h->rise;
	s->gauge = h->gauge;
}

/*
 * Whether lines more than ways miss less than in the class at hand: where sets duel, one
 * that lets go of every line at once tells the others' members better.
 */
static int is_softer(const struct survey *s)
{
	const struct sweep *w = &s->sweep[s->nsweeps - 1], *at_hand = &s->sweep[s->last];

	return s->class.n && at_hand->ways == w->ways &&
	       w->miss[w->ways + 1] + 1 < at_hand->miss[w->ways + 1];
}

static int contradict(double a, double b)
{
	return a > CONTRADICTION * b || b > CONTRADICTION * a;
}

/*
 * Classes by how many lines of the pool are of one of them, to *@classes: less exact
 * than draws, but no matter what comes and goes, and what the next level misses. 0 if
 * too few were found to tell.
 */
static int count_by_members(const struct survey *s, double *classes, double *se)
{
	if (s->found < FOUND_LEAST)
		return 0;
	*classes = s->among / s->members;
	*se = *classes / sqrt((double)s->found);
	return 1;
}

/* By draws of several classes: the median of the @n in @x, and an error that covers them. */
static void take_median(struct survey *s, double *x, unsigned int n, double se)
{
	sonde_stats_sort(x, n);
	s->classes = sonde_stats_median(x, n);
	s->classes_se = fmax(se, (x[n - 1] - x[0]) / 2);
}

/*
 * Draws that members of the classes contradict do not count: where something disturbs, or
 * where they miss the next level too, more misses are seen than there are. Of an
 * exclusive level members alone count: lines come and go in draws as they do not in the sweep.
 */
static void combine_estimates(struct survey *s)
{
	double x[SURVEY_CLASSES], members = s->classes, se = 0, x_se = 0;
	unsigned int n = 0;
	int told = count_by_members(s, &members, &se);

	s->estimate[s->nestimates] = s->classes;
	s->estimate_se[s->nestimates++] = s->classes_se;
	for (unsigned int i = 0; i < s->nestimates; i++) {
		if (told && fabs(s->estimate[i] - members) > fmax(2 * se, AGREES * members))
			continue;
		x[n++] = s->estimate[i];
		x_se = fmax(x_se, s->estimate_se[i]);
	}
	s->agreed = told ? n : 0;
	s->by_members = told ? members : 0;
	if (told && s->holding == HOLDING_OTHER) {
		s->classes = members;
		s->classes_se = se;
	} else if (n) {
		take_median(s, x, n, x_se);
	} else {
		memcpy(x, s->estimate, sizeof(x));
		take_median(s, x, s->nestimates, s->classes_se);
	}
}

/* Of the class that was just found. */
static void add_members(struct survey *s)
{
	const struct sweep *w = &s->sweep[s->nsweeps - 1];

	s->found += w->found;
	s->members += w->members;
	s->among += (double)s->npages;
}

/* What needs a class whose ways are known to be right. */
static int study(struct survey *s, struct hunt *h, const struct class *c)
{
	const struct sweep *w = &s->sweep[s->nsweeps - 1];
	int err = 0;

	if (s->holding == HOLDING_UNKNOWN)
		judge_holding(s, h, c);
	err = find_line(s, h, c);
	if (!err)
		err = survey_count(s, h, w);
	if (!err && w == &s->sweep[s->last])
		s->drawn = s->classes;
	if (!err)
		combine_estimates(s);
	return err;
}

int survey_resume(struct survey *s, struct hunt *h)
{
	int err = open_hunt(s, h, s->offset);

	h->hit = s->hit;
	h->kept = s->kept;
	h->penalty = s->penalty;
	h->rise = s->rise;
	h->gauge = s->gauge;
	h->nflush = s->nflush;
	memcpy(h->flush, s->flush, sizeof(h->flush));
	return err;
}

static int count_exactly(struct survey *s)
{
	const double estimate = s->classes;
	double members = estimate, se;
	struct hunt h;
	int err;

	s->until = s->t->loads + PATIENCE;
	err = survey_resume(s, &h);
	if (!err)
		err = survey_count_exactly(s, &h);
	hunt_close(&h);
	count_by_members(s, &members, &se);
	/* Then none of them is to be believed. */
	if (s->sorted && contradict(s->classes, estimate) && contradict(s->classes, members))
		s->classes_se = s->classes;
	return err;
}

void survey_begin(struct survey *s, const struct reach *r)
{
	s->seen = 1;
	s->hit = r->hit;
	/* Of a pool that does not reach beyond it, some lines still miss by less. */
	s->penalty = fmax(r->beyond, r->cycles[r->n - 1]) - r->hit;
	s->rise = r->begins;
}

size_t survey_crowd(const struct survey *s, const struct class *c)
{
	return MIN(MAX(c->n * 3 / 2, c->n + s->above + 2), HUNT_WAYS);
}

int survey_adopt(struct survey *s, const struct class *c, unsigned int ways,
		 const uint32_t *flush, size_t nflush)
{
	uint32_t *from = malloc(s->npages * sizeof(*from));
	struct sweep *w = &s->sweep[0];
	struct class all = *c;
	double least = 0;
	struct hunt h;
	int err;

	if (!from)
		return -ENOMEM;
	s->ways = ways;
	s->nflush = MIN(MIN(nflush, SURVEY_FLUSH * s->above), HUNT_WAYS);
	memcpy(s->flush, flush, s->nflush * sizeof(*flush));
	*w = (struct sweep){ .offset = s->offset, .ways = ways };
	err = survey_resume(s, &h);
	/* Of so many sets that others are not told by the brim. */
	if (!err && !s->exact)
		err = grow(s, &h, &all, from);
	if (!err)
		err = hunt_refine(&h, &all, MIN(crowd_of(s, ways), all.n));
	if (!err)
		err = take_sweep(&h, &all, w);
	/* In any order: where a tree keeps a stranger for long, one line less is a set. */
	if (!err)
		err = least_misses(&h, &all, ways + 1, &least);
	if (!err && w->miss[ways] < 0.5 && least > 0.5) {
		s->nsweeps = 1;
		remember(s, &h, &all);
		err = study(s, &h, &all);
	}
	hunt_close(&h);
	free(from);
	return err ? err : s->nsweeps > 0;
}

int survey_estimate(struct survey *s)
{
	struct hunt h;
	int err = survey_resume(s, &h);

	if (!err)
		err = survey_count(s, &h, &s->sweep[0]);
	hunt_close(&h);
	return err;
}

int survey_sort(struct survey *s, size_t **sizes, size_t *nsizes, size_t *left)
{
	struct hunt h;
	int err;

	s->until = UINT64_MAX;
	err = survey_resume(s, &h);
	*sizes = calloc(SURVEY_SORTED, sizeof(**sizes));
	if (!*sizes)
		err = -ENOMEM;
	if (!err)
		err = survey_partition(s, &h, *sizes, SURVEY_SORTED, nsizes, left);
	hunt_close(&h);
	return err;
}

int survey_level(struct survey *s)
{
	uint32_t *from = malloc(s->npages * sizeof(*from));
	const int is_told = s->exact && s->penalty > 0;
	double refined = 0;
	struct class c;
	struct hunt h;
	int err = 0;

	if (!from)
		return -ENOMEM;
	s->until = s->t->loads + PATIENCE;
	for (unsigned int i = 0; i < (s->brief ? 1 : SURVEY_CLASSES) && err >= 0; i++) {
		err = start_hunt(s, &h, i * OFFSET_STEP % METER_CHUNK, is_told);
		if (i == 0)
			s->seen = err > 0;
		if (s->patience)
			s->until = s->t->loads + s->patience;
		/* A class has told it better than lines of a pool that may be too small. */
		if (s->nsweeps)
			h.penalty = fmax(h.penalty, refined);
		if (!s->class.n) {
			s->hit = h.hit;
			s->kept = h.kept;
			s->penalty = h.penalty;
			s->rise = h.rise;
			s->gauge = h.gauge;
		}
		if (err > 0)
			err = look_at(s, &h, from, &c);
		if (err > 0) {
			refined = h.penalty;
			vote(s);
			if (c.n > s->ways && s->sweep[s->nsweeps - 1].ways == s->ways) {
				if (!is_softer(s))
					remember(s, &h, &c);
				add_members(s);
				err = s->brief ? 0 : study(s, &h, &c);
			}
		}
		hunt_close(&h);
		if (!s->seen || (s->tried > 1 && !s->nsweeps))
			break;
	}
	free(from);
	if (err >= 0 && s->ways && s->exact)
		err = count_exactly(s);
	return err < 0 ? err : 0;
}

int survey_gather(struct survey *s, uint32_t *from, size_t nfrom, size_t want, size_t *found)
{
	struct hunt h;
	size_t tested, n;
	int err = survey_resume(s, &h);

	if (!err) {
		n = hunt_drop(from, nfrom, h.flush, h.nflush);
		n = hunt_drop(from, n, s->class.page, s->class.n);
		h.least = s->sweep[s->last].least;
		err = hunt_members(&h, &s->class, s->ways, from, n, want, found, &tested);
	}
	hunt_close(&h);
	return err;
}
