// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * How many sets the lines at one offset of many pages fall into.
 *
 * Pages drawn at random fall into sets as balls into urns, and how many misses a
 * set with k lines costs was measured (the sweep), whatever the replacement is. So
 * the misses of n lines drawn from the pool tell how many urns there are. It is
 * Servet's argument (2.1), with the measured softness of replacement instead of
 * an assumed one, the ways known, and size not confounded with them.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/stats.h>
#include "shuffle.h"
#include "survey.h"

#define DRAWS		16
/* The standard error of a median over that of a mean, and the deviation of a normal
 * distribution over its quartile distance. */
#define OF_MEDIAN	1.2533
#define OF_QUARTILES	0.7413
/* Flush lines over ways of the level above that do, if SURVEY_FLUSH are not to be had. */
#define FLUSH_LEAST	2
#define SIZE_DRAWS	3
/* Shares of the lines of a draw that miss: of one, and of one that tells few classes. */
#define MISSING		0.2
#define MISSING_FEW	0.5
/* A standard error, over the number of classes, that is good enough. */
#define PRECISE		0.03
#define NEARLY_ALL	0.9
#define SOME		0.1
#define SCALE_ROUNDS	4
#define SCALE_MOST	1.35
#define SCALE_CROWD	5
/* Draws from one pool are not independent: the pool has its own unevenness. */
#define SAME_POOL	1.5
/* Lines of the pool over what the level holds of them: nearly every class has more than ways. */
#define ROOM		1.2
#define TRIES		6
#define TRIES_HASTY	3
#define PARTITION_MOST	SURVEY_SORTED
/* Of small classes, lines in one scatter by such a share of their mean. */
#define SMALL_ROUNDS	8
#define SMALL_ERROR	0.2
/* More of them, over the others, and the others are no measure of them. */
#define SMALL_MOST	1.0
/* What is less likely than this is not due to chance. */
#define UNLIKELY	1e-4
#define MOST_CLASSES	65536.0

static double miss_of(const struct sweep *w, size_t k)
{
	if (k <= w->ways)
		return 0;
	return k <= w->n ? w->miss[k] : w->miss[w->n] * (double)k / w->n;
}

/* Misses to expect of @n lines in @classes urns. */
static double expect(const struct sweep *w, double classes, double n)
{
	double p = 1 / classes, sum = 0, log_p = log(p), log_q = log1p(-p), mean = n * p;
	double last = mean + 12 * sqrt(mean) + w->ways + 12;

	for (double k = w->ways + 1; k <= n && k < last; k++)
		sum += miss_of(w, (size_t)k) *
		       exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log_p +
			   (n - k) * log_q);
	return classes * sum;
}

static double solve(const struct sweep *w, double n, double misses)
{
	double low = 1.0001, high = MOST_CLASSES, mid;

	while (high / low > 1.0001) {
		mid = sqrt(low * high);
		if (expect(w, mid, n) > misses)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* Misses of @n lines drawn from the pool. */
static int draw(struct survey *s, struct hunt *h, size_t n, uint32_t *list, double *misses)
{
	memcpy(list, s->pages, s->npages * sizeof(*list));
	shuffle(&s->t->rng, list, s->npages);
	return hunt_misses(h, list, n, 0, misses);
}

/*
 * The size of a draw of which @share misses. Where a step further nearly all do, or
 * more than there are, that is too far: it tells nothing, and they miss the next
 * level too.
 */
static int find_size(struct survey *s, struct hunt *h, const struct sweep *w, double share,
		     uint32_t *list, size_t *n)
{
	double x[SIZE_DRAWS], misses = 0;
	size_t last = 0;
	int err = 0;

	*n = w->ways + 1 > h->above ? w->ways + 1 : h->above;
	for (*n *= 2; *n < s->npages; last = *n, *n = *n * 5 / 4 + 1) {
		double before = misses;

		for (int i = 0; i < SIZE_DRAWS && !err; i++)
			err = draw(s, h, *n, list, &x[i]);
		if (err)
			return err;
		sonde_stats_sort(x, SIZE_DRAWS);
		misses = sonde_stats_median(x, SIZE_DRAWS);
		if (misses < share * (double)*n)
			continue;
		if (misses > NEARLY_ALL * (double)*n && before > SOME * (double)last)
			*n = last;
		return 0;
	}
	*n = s->npages;
	return 0;
}

/* Classes taken out of a pool so far. */
struct heap {
	size_t classes, lines;	/* and all their lines */
	size_t size[PARTITION_MOST];
	uint32_t flush[HUNT_WAYS];
	size_t nflush;
};

/*
 * Lines of classes that were taken out flush the level above and are of no class
 * that is left; of each, no more than its set holds. As soon as there are enough
 * of them, no others do.
 */
static void keep_flush(struct heap *heap, struct hunt *h, const struct class *c)
{
	const size_t most = h->nflush > SURVEY_FLUSH * h->above ? h->nflush : SURVEY_FLUSH * h->above;

	for (size_t i = 0; i + 1 < c->n && heap->nflush < most; i++)
		heap->flush[heap->nflush++] = c->page[i];
	if (heap->nflush < h->nflush && heap->nflush < FLUSH_LEAST * h->above)
		return;
	memcpy(h->flush, heap->flush, heap->nflush * sizeof(*h->flush));
	h->nflush = heap->nflush;
	h->pure = 1;
}

/* All lines of the class out of the @n of @left. */
static int take_members(struct survey *s, struct hunt *h, struct heap *heap,
			const struct class *c, uint32_t *left, size_t *n)
{
	size_t found, tested;
	int err;

	*n = hunt_drop(left, *n, c->page, c->n);
	h->hasty = 1;
	err = hunt_members(h, c, s->ways, left, *n, *n, &found, &tested);
	h->hasty = 0;
	if (err)
		return err;
	*n -= found;
	memmove(left, left + found, *n * sizeof(*left));
	keep_flush(heap, h, c);
	heap->size[heap->classes++] = found + c->n;
	heap->lines += found + c->n;
	return 1;
}

/* The survey's class: the flush lines are none of it already. */
static int take_known(struct survey *s, struct hunt *h, struct heap *heap, uint32_t *left,
		      size_t *n)
{
	struct class c = s->class;

	c.n = s->ways + 1;
	return take_members(s, h, heap, &c, left, n);
}

static int take_class(struct survey *s, struct hunt *h, struct heap *heap, uint32_t *left,
		      size_t *n, int hasty)
{
	struct class c;
	int err;

	shuffle(&s->t->rng, left, *n);
	h->hasty = hasty;
	err = hunt_class(h, left, *n, &c);
	h->hasty = 0;
	*n = hunt_drop(left, *n, h->flush, h->nflush);
	if (err <= 0 || c.n != s->ways + 1)
		return err < 0 ? err : 0;
	return take_members(s, h, heap, &c, left, n);
}

/*
 * Lines in a class that has no more of them than ways, where the mean class has
 * @mean: of a Poisson distribution, from its likeliest such number downwards.
 */
static double small_lines(const struct survey *s, double mean)
{
	double p = 0, sum = 0, pk = 1;

	for (unsigned int k = s->ways; k; k--) {
		p += pk;
		sum += k * pk;
		pk *= k / mean;
	}
	return sum / p;
}

/* The share of classes that have no more lines than ways. */
static double small_share(const struct survey *s, double mean)
{
	double p = 0;

	for (unsigned int k = 0; k <= s->ways; k++)
		p += exp(k * log(mean) - mean - lgamma(k + 1.0));
	return p;
}

/* Whether chance makes so many small classes; if not, lines of some were not found. */
static int has_likely_sizes(const struct survey *s, const struct heap *heap, size_t left,
			    double small)
{
	double classes = (double)heap->classes + small;
	double mean = (double)(heap->lines + left) / classes;
	double expected = classes * small_share(s, mean);

	return small < 0.5 || small * log(expected) - lgamma(small + 1) > log(UNLIKELY);
}

/*
 * Classes that have no more lines in the pool than ways, which overflow nothing, by
 * how many lines are left when the others are taken out.
 */
static double small_classes(const struct survey *s, const struct heap *heap, size_t left)
{
	double all = (double)(heap->lines + left), small = 0;

	for (int i = 0; i < SMALL_ROUNDS; i++)
		small = (double)left / small_lines(s, all / ((double)heap->classes + small));
	return round(small);
}

/*
 * Counted: find a class, take all of its lines out, and so on until what is left
 * does not overflow. @left: the pages, of which *@n are left in the end.
 */
static int partition(struct survey *s, struct hunt *h, struct heap *heap, uint32_t *left, size_t *n)
{
	unsigned int tries = 0;
	double small;
	int taken = take_known(s, h, heap, left, n);

	if (taken < 0)
		return taken;
	while (*n > s->ways && heap->classes < PARTITION_MOST && tries < TRIES) {
		taken = take_class(s, h, heap, left, n, tries < TRIES_HASTY);
		if (taken < 0)
			return taken;
		tries = taken ? 0 : tries + 1;
	}
	if (tries == TRIES) {
		taken = hunt_overflows(h, left, *n);
		/* There are more, and they were not found. */
		if (taken)
			return taken < 0 ? taken : 0;
	}
	if (!heap->classes || heap->classes == PARTITION_MOST)
		return 0;
	small = small_classes(s, heap, *n);
	if (small <= SMALL_MOST * (double)heap->classes && has_likely_sizes(s, heap, *n, small)) {
		s->classes = (double)heap->classes + small;
		s->classes_se = SMALL_ERROR * sqrt(small);
		s->sorted = heap->classes;
	}
	return 0;
}

int survey_partition(struct survey *s, struct hunt *h, size_t *sizes, size_t max, size_t *nsizes,
		     size_t *left)
{
	uint32_t *pages = malloc(s->npages * sizeof(*pages));
	struct heap heap = { 0 };
	size_t n;
	int err;

	if (!pages)
		return -ENOMEM;
	memcpy(pages, s->pages, s->npages * sizeof(*pages));
	n = hunt_drop(pages, s->npages, h->flush, h->nflush);
	err = partition(s, h, &heap, pages, &n);
	free(pages);
	*nsizes = heap.classes < max ? heap.classes : max;
	memcpy(sizes, heap.size, *nsizes * sizeof(*sizes));
	*left = s->npages - heap.lines;
	return err;
}

int survey_count_exactly(struct survey *s, struct hunt *h)
{
	size_t sizes[PARTITION_MOST], n, left;

	if (s->classes > PARTITION_MOST || (double)s->npages < ROOM * s->classes * s->ways)
		return 0;
	return survey_partition(s, h, sizes, PARTITION_MOST, &n, &left);
}

/*
 * What a miss costs differs between the lines of one class and those of many:
 * they are in other slices of the next level. So misses of the draws are held
 * against twice as many lines, of which the model says how many miss.
 */
static int scale(struct survey *s, struct hunt *h, const struct sweep *w, size_t n, double *mean,
		 double *error)
{
	double x[SIZE_DRAWS], ratio, mean0 = *mean, error0 = *error;
	uint32_t *list;
	int err = 0;

	/* Nor where lines moved apart (hunt_clean_cost) would overflow it themselves. */
	if (2 * n > s->npages || SCALE_CROWD * s->above > s->classes * w->ways / 2)
		return 0;
	list = malloc(s->npages * sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (int i = 0; i < SIZE_DRAWS && !err; i++)
		err = draw(s, h, 2 * n, list, &x[i]);
	free(list);
	if (err)
		return err;
	sonde_stats_sort(x, SIZE_DRAWS);
	for (int i = 0; i < SCALE_ROUNDS; i++) {
		ratio = sonde_stats_median(x, SIZE_DRAWS) / expect(w, s->classes, 2.0 * (double)n);
		/* Much more: they are misses of the next level too. */
		if (ratio > SCALE_MOST || ratio < 1 / SCALE_MOST)
			break;
		*mean = mean0 / ratio;
		*error = error0 / ratio;
		s->classes = solve(w, (double)n, *mean);
	}
	return 0;
}

static int count_draws(struct survey *s, struct hunt *h, const struct sweep *w, double share)
{
	uint32_t *list = malloc(s->npages * sizeof(*list));
	double x[DRAWS], mean, error;
	size_t n;
	int err;

	if (!list)
		return -ENOMEM;
	err = find_size(s, h, w, share, list, &n);
	for (size_t i = 0; i < DRAWS && !err; i++)
		err = draw(s, h, n, list, &x[i]);
	free(list);
	if (err)
		return err;
	/* What disturbs some of the draws makes them more, never less. */
	sonde_stats_sort(x, DRAWS);
	mean = sonde_stats_median(x, DRAWS);
	error = (sonde_stats_quantile(x, DRAWS, 0.75) - sonde_stats_quantile(x, DRAWS, 0.25)) *
		OF_QUARTILES * OF_MEDIAN / sqrt(DRAWS) * SAME_POOL;
	s->classes = solve(w, (double)n, mean);
	err = scale(s, h, w, n, &mean, &error);
	s->classes_se = fabs(solve(w, (double)n, fmax(mean - error, 0)) -
			     solve(w, (double)n, mean + error)) / 2;
	return err;
}

/*
 * The more lines of a draw miss, the better they tell; but where the next level is
 * hardly larger, many of them miss that too. So more are only taken where few do
 * not tell it well, which is where there are few classes.
 */
int survey_count(struct survey *s, struct hunt *h, const struct sweep *w)
{
	int err = count_draws(s, h, w, MISSING);

	if (!err && s->classes_se > PRECISE * s->classes)
		err = count_draws(s, h, w, MISSING_FEW);
	return err;
}
