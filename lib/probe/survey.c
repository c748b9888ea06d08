// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include <sonde/stats.h>
#include "line.h"
#include "odd_factor.h"
#include "shuffle.h"
#include "survey.h"

#define TRIES		5
/* Loads of a survey, after which it is content with what it has: some seconds. */
#define PATIENCE	120000000
#define FLUSH_TRIES	12
/* Lines that flush leave others in the level above: a ring of them costs so many misses less. */
#define KEPT_LEAST	0.2
/* What lines of the pool make of a penalty is at most this much more than what a class did. */
#define REFINED_MOST	2
/* What the next level costs more than a hit, in hits, where it is near. */
#define NEAR		2
/* Lines of a class beyond its ways to look at, over ways. */
#define SWEEP_FACTOR	5 / 2
#define SWEEP_ORDERS	6
#define SWEEP_DRAWS	4
/* Orders of one line more than ways, and the share of what they miss that is noise. */
#define NOISE_ORDERS	8
#define NOISE_SHARE	0.3
/* Draws of as many members as ways, and those that may seem to miss. */
#define SUBSETS		8
#define SUBSETS_OVER	1
/* Between the offsets of classes: even lines, so that what a prefetcher brings after
 * a line of the other half of a pair is in neither. */
#define OFFSET_STEP	1280
/* Lines of a class to have at least: their frames are compared too. */
#define LINES_MIN	48
/* Lines of classes to be found before they tell how many classes there are. */
#define FOUND_LEAST	30
/* What these tell differs by less than this factor. */
#define MEMBERS_ALIKE	1.6

size_t survey_others(const struct survey *s, const struct hunt *h, const struct class *c,
		     uint32_t *out)
{
	size_t n;

	memcpy(out, s->pages, s->npages * sizeof(*out));
	n = hunt_drop(out, s->npages, h->flush, h->nflush);
	return hunt_drop(out, n, c->page, c->n);
}

/* Lines of the pool that flush the level above, @over_ways of it, and overflow no set themselves. */
static int choose_flush(struct survey *s, struct hunt *h, size_t over_ways)
{
	size_t n = over_ways * s->above, first;
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

/* For whole rings: what they cost hangs on lines that stay in the level above all the same. */
static int choose_flush_ring(struct survey *s, struct hunt *h)
{
	const double kept = h->kept;
	double misses = 0;
	int err = choose_flush(s, h, SURVEY_FLUSH_RING);

	if (err > 0)
		err = hunt_mend_kept(h, &misses);
	if (err <= 0 || misses < KEPT_LEAST)
		return err;
	h->kept = kept;
	err = choose_flush(s, h, SURVEY_FLUSH_KEPT);
	return err > 0 ? hunt_mend_kept(h, &misses) : err;
}

static int open_hunt(struct survey *s, struct hunt *h, uint32_t offset)
{
	*h = (struct hunt){
		.offset = offset, .above = s->above,
		.first_hit = s->first->hit, .first_lines = stride_lines(s->first),
		.second_hit = s->second_hit, .second_lines = s->second_lines,
		.until = s->until, .washes = s->washes,
		.singly = singly_can(s->t, s->penalty),
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
	if (!err && is_told && h->singly)
		err = 1;
	else if (!err)
		err = hunt_calibrate(h);
	if (s->is_near)
		h->penalty = fmin(h->penalty, NEAR * h->hit);
	if (err <= 0)
		return err;
	return h->singly ? choose_flush(s, h, SURVEY_FLUSH) : choose_flush_ring(s, h);
}

/* Lines that nearly all miss, also if the level above holds others. */
static unsigned int crowd_of(const struct survey *s, unsigned int ways)
{
	return MAX(ways * SWEEP_FACTOR, ways + s->above + 2);
}

/* Of the @n pages of @from those first that had no part in finding the class. How many. */
static size_t put_fresh_first(const struct hunt *h, uint32_t *from, size_t n, const uint32_t *used)
{
	size_t fresh = 0;

	for (size_t i = 0; i < h->used; i++)
		h->is_measured[used[i]] = 1;
	for (size_t i = 0; i < n; i++) {
		uint32_t page = from[i];

		if (h->is_measured[page])
			continue;
		from[i] = from[fresh];
		from[fresh++] = page;
	}
	for (size_t i = 0; i < h->used; i++)
		h->is_measured[used[i]] = 0;
	return fresh;
}

/*
 * Where something disturbs, some members are not seen. Of those that another look at the same
 * pages sees, the share that the first one saw is what it saw of all: as if that had been asked
 * of so many pages only. @pages: the found ones first.
 */
static int look_again(struct survey *s, struct hunt *h, const struct class *c, uint32_t *pages,
		      struct sweep *w)
{
	uint32_t first[HUNT_WAYS];
	size_t again, tested, both = 0;
	int err;

	memcpy(first, pages, w->found * sizeof(*first));
	shuffle(&s->t->rng, pages, w->tested);
	err = hunt_members(h, c, w->ways, pages, w->tested, w->tested, &again, &tested);
	for (size_t i = 0; i < again; i++)
		both += (size_t)hunt_is_among(first, w->found, pages[i]);
	w->tested = again ? w->tested * both / again : 0;
	w->found = both ? w->found : 0;
	return err;
}

/*
 * Lines beyond the smallest set, for the sweep; what is not there is not swept. @from: what the
 * class was found among.
 */
static int grow(struct survey *s, struct hunt *h, struct class *c, uint32_t *from)
{
	struct sweep *w = &s->sweep[s->nsweeps];
	const unsigned int ways = (unsigned int)c->n - 1;
	const size_t want = MIN(MAX(crowd_of(s, ways), LINES_MIN), HUNT_WAYS) - c->n;
	uint32_t *others = malloc(s->npages * sizeof(*others));
	size_t n, fresh, more = 0, tested;
	int err;

	if (!others)
		return -ENOMEM;
	n = survey_others(s, h, c, others);
	shuffle(&s->t->rng, others, n);
	fresh = put_fresh_first(h, others, n, from);
	err = hunt_members(h, c, ways, others, fresh, want, &w->found, &w->tested);
	memcpy(c->page + c->n, others, w->found * sizeof(*others));
	if (!err && w->found < want)
		err = hunt_members(h, c, ways, others + fresh, n - fresh, want - w->found, &more,
				   &tested);
	memcpy(c->page + c->n + w->found, others + fresh, more * sizeof(*others));
	more += w->found;
	if (!err && !h->singly && s->holding != HOLDING_ALSO)
		err = look_again(s, h, c, others, w);
	c->n += more;
	free(others);
	return err;
}

/*
 * As many as ways may miss as long as a stranger stays: in another order it goes. Fewer than none
 * miss where what they would cost cleanly was disturbed.
 */
static int least_misses(struct hunt *h, const struct class *c, unsigned int n, double *least)
{
	double miss;
	int err = hunt_misses(h, c->page, n, 1, least);

	for (int k = 0; k < SWEEP_ORDERS && fabs(*least) > 0.5 && !err; k++) {
		err = hunt_misses(h, c->page, n, 1, &miss);
		*least = fabs(miss) < fabs(*least) ? miss : *least;
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
 * As many as ways fit, whichever of the members they are. Of two sets of half as many, each of
 * which alone misses too seldom to be seen, more fall into one than fit. 1, 0, -errno.
 */
static int is_one_set(struct hunt *h, const struct class *c, unsigned int ways)
{
	struct class some = *c;
	unsigned int over = 0;
	double least = 0;
	int err;

	for (int i = 0; i < SUBSETS; i++) {
		shuffle(&h->t->rng, some.page, some.n);
		err = least_misses(h, &some, ways, &least);
		if (err)
			return err;
		over += least > 0.5;
	}
	return over <= SUBSETS_OVER;
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
	/* Those of the first level as well, if the second is exclusive of it. */
	const unsigned int all = s->ways + s->above + (s->exact ? s->first->ways : 0);
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
	else if (k - 1 == s->ways + s->above + 1 || k - 1 == all + 1)
		s->holding = HOLDING_OTHER;
}

/* Lines of the level: all classes that tell them have to tell the same. */
static int find_line(struct survey *s, struct hunt *h, const struct class *c)
{
	const struct line_set set = {
		.page = c->page, .n = MAX(s->ways / 2, 1), .flush = h->flush, .nflush = h->nflush,
		.missed = fmin(h->penalty, h->hit),
	};
	unsigned int line = 0;
	int err = line_find(h->t, &set, &line);

	if (s->line && line && line != s->line)
		s->lines_differ = 1;
	s->line = s->lines_differ ? 0 : line ? line : s->line;
	return err;
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
		s->nmembers = 0;
		s->by_members = s->classes = s->drawn = 0;
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
	if (!err && !h->singly) {
		err = is_one_set(h, c, w->ways);
		if (!err)
			return 0;
	}
	if (err < 0)
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

/* Classes that lines of each class that was found make, ascending, to @x. */
static unsigned int by_each(const struct survey *s, double *x)
{
	for (unsigned int i = 0; i < s->nmembers; i++)
		x[i] = (double)s->tested[i] / (double)s->found[i];
	sonde_stats_sort(x, s->nmembers);
	return s->nmembers;
}

/*
 * Of the class that was just found: how many classes there are, by the share of lines that are of
 * one, among those that had no part in finding it. One that tells far more or less than most is
 * none.
 */
static void add_members(struct survey *s)
{
	const struct sweep *w = &s->sweep[s->nsweeps - 1];
	double x[SURVEY_MEMBERS], most, found = 0, tested = 0;

	if (w->found && s->nmembers < SURVEY_MEMBERS) {
		s->found[s->nmembers] = w->found;
		s->tested[s->nmembers++] = w->tested;
	}
	most = s->nmembers ? sonde_stats_median(x, by_each(s, x)) : 0;
	for (unsigned int i = 0; i < s->nmembers; i++) {
		double one = (double)s->tested[i] / (double)s->found[i];

		if (one < most / MEMBERS_ALIKE || one > most * MEMBERS_ALIKE)
			continue;
		found += (double)s->found[i];
		tested += (double)s->tested[i];
	}
	if (found >= FOUND_LEAST) {
		s->by_members = tested / found;
		s->members_se = s->by_members / sqrt(found);
	}
	s->classes = s->by_members;
	s->classes_se = s->members_se;
}

/* What needs a class whose ways are known to be right. */
static int study(struct survey *s, struct hunt *h, const struct class *c)
{
	int err;

	if (s->holding == HOLDING_UNKNOWN)
		judge_holding(s, h, c);
	err = find_line(s, h, c);
	/*
	 * If nothing disturbs, members tell more than draws, but of a second level that is not
	 * exclusive.
	 */
	return err || (h->singly && s->by_members > 0 &&
		       (s->exact || s->holding == HOLDING_OTHER)) ? err : survey_draw(s, h);
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

int survey_count_all(struct survey *s)
{
	struct hunt h;
	int err;

	s->until = s->t->loads + PATIENCE;
	err = survey_resume(s, &h);
	if (!err)
		err = survey_count_exactly(s, &h);
	hunt_close(&h);
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
	if (!err)
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

/* Whether no more classes are looked for: there is nothing beyond, or two were not to be found. */
static int is_hopeless(const struct survey *s)
{
	return s->looked && (!s->seen || (s->tried > 1 && !s->nsweeps));
}

int survey_level(struct survey *s)
{
	uint32_t *from = malloc(s->npages * sizeof(*from));
	const int is_told = s->exact && s->penalty > 0;
	const unsigned int wanted = s->brief ? 1 : s->wanted ? s->wanted : SURVEY_CLASSES;
	struct class c;
	struct hunt h;
	int err = 0;

	if (!from)
		return -ENOMEM;
	s->until = s->t->loads + PATIENCE;
	for (; s->looked < wanted && !is_hopeless(s) && err >= 0; s->looked++) {
		err = start_hunt(s, &h, s->looked * OFFSET_STEP % METER_CHUNK, is_told);
		if (!s->looked)
			s->seen = err > 0;
		if (s->patience)
			s->until = s->t->loads + s->patience;
		/*
		 * A class has told it better than lines of a pool that may be too small, or that
		 * miss what is behind the next level as well.
		 */
		if (s->nsweeps)
			h.penalty = fmax(h.penalty, s->refined);
		if (s->refined > 0 && !is_told)
			h.penalty = fmin(h.penalty, REFINED_MOST * s->refined);
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
			s->refined = h.penalty;
			s->penalty_least = s->nsweeps > 1 ? fmin(s->penalty_least, h.penalty) :
							    h.penalty;
			vote(s);
			if (c.n > s->ways && s->sweep[s->nsweeps - 1].ways == s->ways) {
				if (!is_softer(s))
					remember(s, &h, &c);
				add_members(s);
				err = s->brief ? 0 : study(s, &h, &c);
			}
		}
		hunt_close(&h);
	}
	free(from);
	if (err >= 0 && s->ways && s->exact)
		err = survey_count_all(s);
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
