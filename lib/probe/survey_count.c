// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * How many sets the lines at one offset of many pages fall into: a class is found and all of its
 * lines are taken out, and so on until none is left that has more lines than ways.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shuffle.h"
#include "survey.h"

/* Flush lines over ways of the level above that do, if SURVEY_FLUSH are not to be had. */
#define FLUSH_LEAST	2
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
