// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * How many sets the lines at one offset of many pages fall into, by how many of some miss.
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
#define SIZE_DRAWS	3
/* Shares of the lines of a draw that miss: of one, and of one that tells few classes. */
#define MISSING		0.2
#define MISSING_FEW	0.5
/* A standard error, over the number of classes, that is good enough; none is less. */
#define PRECISE		0.03
#define ERROR_LEAST	0.01
#define NEARLY_ALL	0.9
#define SOME		0.1
#define SCALE_ROUNDS	4
#define SCALE_MOST	1.35
#define SCALE_CROWD	5
/* Draws from one pool are not independent: the pool has its own unevenness. */
#define SAME_POOL	1.5
#define MOST_CLASSES	65536.0
/* Draws and members agree if they differ by less than this share, or so many standard errors. */
#define AGREES		0.1
#define FEWER_ERRORS	2
/* Members are looked at only if enough were found, as by chance they are where they are many. */
#define MORE_ERRORS	3

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

/*
 * What a miss costs differs between the lines of one class and those of many:
 * they are in other slices of the next level. So misses of the draws are held
 * against twice as many lines, of which the model says how many miss. Misses that
 * are counted load by load need none of that.
 */
static int scale(struct survey *s, struct hunt *h, const struct sweep *w, size_t n, double *mean,
		 double *error)
{
	double x[SIZE_DRAWS], ratio, mean0 = *mean, error0 = *error;
	uint32_t *list;
	int err = 0;

	/* Nor where lines moved apart (hunt_clean_cost) would overflow it themselves. */
	if (h->singly || 2 * n > s->npages ||
	    SCALE_CROWD * s->above > s->classes * w->ways / 2)
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
	/* Draws of all the pool are alike, but no count of its sets. */
	s->classes_se = fmax(s->classes_se, ERROR_LEAST * s->classes);
	return err;
}

/*
 * The more lines of a draw miss, the better they tell; but where the next level is
 * hardly larger, many of them miss that too. So more are only taken where few do
 * not tell it well, which is where there are few classes.
 */
static int count(struct survey *s, struct hunt *h, const struct sweep *w)
{
	int err = count_draws(s, h, w, MISSING);

	if (!err && s->classes_se > PRECISE * s->classes)
		err = count_draws(s, h, w, MISSING_FEW);
	return err;
}

/* By draws of several classes: the median of the @n in @x, and an error that covers them. */
static void take_median(struct survey *s, double *x, unsigned int n, double se)
{
	sonde_stats_sort(x, n);
	s->classes = sonde_stats_median(x, n);
	s->classes_se = fmax(se, (x[n - 1] - x[0]) / 2);
}

/* Whether the members that were found may be of so many classes. */
static int members_agree(const struct survey *s, double classes)
{
	const double found = pow(s->by_members / s->members_se, 2);
	const double due = found * s->by_members / classes, errors = (found - due) / sqrt(due);

	return fabs(classes - s->by_members) <= AGREES * s->by_members ||
	       (errors >= -FEWER_ERRORS && errors <= MORE_ERRORS);
}

/*
 * Draws that members of the classes contradict do not count: where something disturbs, or
 * where they miss the next level too, more misses are seen than there are. Where no draw agrees
 * members alone count, as they do of an exclusive level: lines come and go in draws as they do
 * not in the sweep.
 */
static void combine(struct survey *s)
{
	const double members = s->by_members;
	double x[SURVEY_CLASSES], x_se = 0;
	unsigned int n = 0;

	s->estimate[s->nestimates] = s->classes;
	s->estimate_se[s->nestimates++] = s->classes_se;
	for (unsigned int i = 0; i < s->nestimates; i++) {
		if (members > 0 && !members_agree(s, s->estimate[i]))
			continue;
		x[n++] = s->estimate[i];
		x_se = fmax(x_se, s->estimate_se[i]);
	}
	s->agreed = members > 0 ? n : 0;
	s->drawn = 0;
	/* Without members all count. */
	if (!n || (members > 0 && s->holding == HOLDING_OTHER)) {
		s->classes = members;
		s->classes_se = s->members_se;
	} else {
		take_median(s, x, n, x_se);
		s->drawn = s->classes;
	}
}

int survey_draw(struct survey *s, struct hunt *h)
{
	int err = count(s, h, &s->sweep[s->nsweeps - 1]);

	if (!err)
		combine(s);
	return err;
}

int survey_estimate(struct survey *s)
{
	struct hunt h;
	int err;

	if (s->by_members > 0)
		return 0;
	err = survey_resume(s, &h);
	if (!err)
		err = survey_draw(s, &h);
	hunt_close(&h);
	return err;
}
