// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../meter.h"
#include "../rng.h"
#include "capacity.h"

/*
 * Root mean square errors this close to the best one (as shares of the rise)
 * tell nothing: walks are no more exact than that, nor is the model.
 */
#define INDISTINCT	0.015
/* Resamples; each is a whole fit. */
#define RESAMPLES	50
/* Candidate sizes an octave where pages fall at random. */
#define STEPS_OCTAVE	32
/* Replacement that a set too full by some lines may meet, sharpest first. */
enum policy {
	LRU,	/* misses always */
	SOFT,	/* misses more and more, always from half as many lines again */
	RANDOM,
	POLICIES,
};
/* Mixtures of neighbours among them. */
static const double mixtures[][POLICIES] = {
	{ 1, 0, 0 }, { 0.75, 0.25, 0 }, { 0.5, 0.5, 0 }, { 0.25, 0.75, 0 },
	{ 0, 1, 0 }, { 0, 0.5, 0.5 }, { 0, 0, 1 },
};
static const unsigned int associativities[] = { 4, 6, 8, 10, 12, 16, 20, 24 };

#define COUNT(x) (sizeof(x) / sizeof((x)[0]))

/**
 * struct size_group - the walks of one size
 * @chunks: the size
 * @first: index of the first walk
 * @n: walks
 */
struct size_group {
	double chunks;
	size_t first, n;
};

/**
 * struct hypothesis - a cache that might be
 * @chunks: its size
 * @rates: miss rates at each size, of each policy
 */
struct hypothesis {
	double chunks;
	double (*rates)[POLICIES];
};

struct fit {
	const struct observation *obs;
	struct size_group *groups;
	size_t ngroups;
	struct hypothesis *hyps;
	size_t nhyps;
	double (*rates)[POLICIES];	/* what the hypotheses point into */
};

/*
 * Miss rate of @lines lines walked in a cycle through a set of @ways with
 * random replacement. Between two visits to a line the others miss at the rate
 * m, and each miss spares it with 1 - 1/ways: m solves
 * 1 - m = (1 - 1/ways)^(m (lines - 1)).
 */
static double miss_random(double lines, double ways)
{
	double spare = log1p(-1 / ways) * (lines - 1), m = 1;

	for (int i = 0; i < 60; i++)
		m = 1 - exp(spare * m);
	return m;
}

/*
 * Adds the miss rates of such a set, @weight of them. The soft policy rises
 * evenly: second levels of current processors were seen to miss always only
 * with half as many lines again as they have ways.
 */
static void add_misses(double lines, double ways, double weight, double rates[POLICIES])
{
	if (lines <= ways)
		return;
	rates[LRU] += weight;
	rates[SOFT] += weight * fmin(1, 2 * (lines - ways) / ways);
	rates[RANDOM] += weight * miss_random(lines, ways);
}

/*
 * Rates of a working set of @chunks with every page placed at random: the
 * others of a line's set are binomial, n - 1 pages of which each falls into
 * the same one of the cache's colours with ways/cache.
 */
static void rates_random(double chunks, double cache, unsigned int ways, double rates[POLICIES])
{
	double p = fmin(ways / cache, 1), n = chunks - 1, mean = n * p;
	double limit = mean + 8 * sqrt(mean) + 8 + ways, term;

	if (p >= 1) {
		add_misses(chunks, ways, 1, rates);
		return;
	}
	term = exp(n * log1p(-p));
	for (double x = 0; x <= fmin(limit, n); x++) {
		add_misses(x + 1, ways, term, rates);
		term *= (n - x) / (x + 1) * p / (1 - p);
	}
}

/*
 * Placed evenly, sets differ by one line at most. A line more than the ways is
 * a page in so many: the share of sets that hold it misses, the others do not.
 */
static void rates_even(double chunks, double cache, unsigned int ways, double rates[POLICIES])
{
	double fill = chunks / cache * ways, whole = floor(fill), part = fill - whole;
	double more = part * (whole + 1) / fill;

	add_misses(whole + 1, ways, more, rates);
	add_misses(whole, ways, 1 - more, rates);
}

/*
 * Least squares of cost = hit + (miss - hit) * rate, the sum of squares
 * returned. A line of two unknowns. Weighted by 1 / cost: the dearer a walk,
 * the more of it a neighbour can disturb.
 */
static double regress(const double *rate, const double *cost, size_t n, double *hit, double *rise)
{
	double s = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, det, sum = 0, w, e;

	for (size_t i = 0; i < n; i++) {
		w = 1 / fmax(cost[i], 1);
		s += w;
		sx += w * rate[i];
		sy += w * cost[i];
		sxx += w * rate[i] * rate[i];
		sxy += w * rate[i] * cost[i];
	}
	det = s * sxx - sx * sx;
	*rise = det > 1e-9 * s * s ? (s * sxy - sx * sy) / det : 0;
	*hit = (sy - *rise * sx) / s;
	for (size_t i = 0; i < n; i++) {
		e = cost[i] - *hit - *rise * rate[i];
		sum += e * e / fmax(cost[i], 1);
	}
	return sum / s;
}

/* The least that is left by any mixture for one hypothesis; INFINITY if none rises. */
static double fit_one(const struct fit *f, const struct hypothesis *hyp, const double *cost,
		      double *rate, struct capacity *out)
{
	double best = INFINITY, sum, hit, rise;

	for (size_t k = 0; k < COUNT(mixtures); k++) {
		for (size_t i = 0; i < f->ngroups; i++)
			rate[i] = mixtures[k][LRU] * hyp->rates[i][LRU] +
				  mixtures[k][SOFT] * hyp->rates[i][SOFT] +
				  mixtures[k][RANDOM] * hyp->rates[i][RANDOM];
		sum = regress(rate, cost, f->ngroups, &hit, &rise);
		if (rise <= 0 || sum >= best)
			continue;
		best = sum;
		out->bytes = hyp->chunks * METER_CHUNK;
		out->hit = hit;
		out->miss = hit + rise;
		out->misfit = sqrt(sum) / rise;
	}
	return best;
}

/* The hypothesis that leaves least: the sum of squares, INFINITY if none rises. */
static double best_fit(const struct fit *f, const double *cost, double *rate, struct capacity *out)
{
	double best = INFINITY, sum;
	struct capacity c;

	for (size_t h = 0; h < f->nhyps; h++) {
		sum = fit_one(f, &f->hyps[h], cost, rate, &c);
		if (sum < best) {
			best = sum;
			*out = c;
		}
	}
	return best;
}

/*
 * The sizes that cannot be told from the best one: their interval and, since
 * the best is one of many by chance, their mean, of logarithms and weighted by
 * how close to the best they fit.
 */
static double indistinct(const struct fit *f, const double *cost, double *rate,
			 const struct capacity *best, struct sonde_interval *ci)
{
	double weight, weights = 0, sum = 0;
	struct capacity c;

	*ci = (struct sonde_interval){ best->bytes, best->bytes };
	for (size_t h = 0; h < f->nhyps; h++) {
		if (isinf(fit_one(f, &f->hyps[h], cost, rate, &c)) ||
		    c.misfit > best->misfit + INDISTINCT)
			continue;
		ci->low = fmin(ci->low, c.bytes);
		ci->high = fmax(ci->high, c.bytes);
		weight = 1 - fmax(c.misfit - best->misfit, 0) / INDISTINCT;
		weights += weight;
		sum += weight * log(c.bytes);
	}
	return weights > 0 ? exp(sum / weights) : best->bytes;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/*
 * A cost for each size: a little below the median of its walks, since what
 * disturbs a walk makes it dearer. With @rng of walks drawn with replacement.
 */
static void group_costs(const struct fit *f, struct sonde_rng *rng, double *scratch, double *cost)
{
	const struct size_group *g;
	size_t pick;

	for (size_t i = 0; i < f->ngroups; i++) {
		g = &f->groups[i];
		for (size_t k = 0; k < g->n; k++) {
			pick = rng ? sonde_rng_below(rng, g->n) : k;
			scratch[k] = f->obs[g->first + pick].cycles;
		}
		qsort(scratch, g->n, sizeof(*scratch), compare);
		cost[i] = sonde_stats_quantile(scratch, g->n, 0.5);
	}
}

static size_t group_sizes(const struct observation *obs, size_t n, struct size_group *groups)
{
	size_t ngroups = 0;

	for (size_t i = 0; i < n; i++) {
		if (i && obs[i].chunks == obs[i - 1].chunks)
			groups[ngroups - 1].n++;
		else
			groups[ngroups++] = (struct size_group){ (double)obs[i].chunks, i, 1 };
	}
	return ngroups;
}

/* Every size in question with every associativity. */
static int make_hypotheses(struct fit *f, enum placement placement, double low, double high)
{
	double step = placement == PLACED_EVENLY ? 0 : exp2(1.0 / STEPS_OCTAVE);
	size_t sizes = placement == PLACED_EVENLY ? (size_t)(high - low) + 1 :
		       (size_t)(log2(high / low) * STEPS_OCTAVE) + 1;
	size_t n = sizes * COUNT(associativities);
	struct hypothesis *h;
	double chunks;

	f->hyps = calloc(n, sizeof(*f->hyps));
	f->rates = calloc(n * f->ngroups, sizeof(*f->rates));
	if (!f->hyps || !f->rates)
		return -ENOMEM;
	for (f->nhyps = 0; f->nhyps < n; f->nhyps++) {
		size_t s = f->nhyps / COUNT(associativities);
		unsigned int ways = associativities[f->nhyps % COUNT(associativities)];

		chunks = step > 0 ? low * pow(step, (double)s) : low + (double)s;
		h = &f->hyps[f->nhyps];
		*h = (struct hypothesis){ chunks, f->rates + f->nhyps * f->ngroups };
		for (size_t i = 0; i < f->ngroups; i++)
			(placement == PLACED_EVENLY ? rates_even : rates_random)(
				f->groups[i].chunks, chunks, ways, h->rates[i]);
	}
	return 0;
}

/* The middle 95 % of what resampled walks give, joined to @ci. */
static void resample(const struct fit *f, uint64_t seed, double *scratch, double *cost,
		     double *rate, struct sonde_interval *ci)
{
	double bytes[RESAMPLES];
	struct sonde_rng rng;
	struct capacity c;
	size_t n = 0;

	sonde_rng_seed(&rng, seed);
	for (size_t r = 0; r < RESAMPLES; r++) {
		group_costs(f, &rng, scratch, cost);
		if (!isinf(best_fit(f, cost, rate, &c)))
			bytes[n++] = c.bytes;
	}
	if (!n)
		return;
	qsort(bytes, n, sizeof(*bytes), compare);
	ci->low = fmin(ci->low, sonde_stats_quantile(bytes, n, 0.025));
	ci->high = fmax(ci->high, sonde_stats_quantile(bytes, n, 0.975));
}

int capacity_fit(const struct observation *obs, size_t n, enum placement placement, double low,
		 double high, uint64_t seed, struct capacity *out)
{
	struct fit f = { .obs = obs };
	double *scratch, *cost, *rate, mean;
	int err = -ENOMEM;

	if (n < 3 || low < 1 || high <= low)
		return -EINVAL;
	f.groups = calloc(n, sizeof(*f.groups));
	scratch = calloc(3 * n, sizeof(*scratch));
	if (!f.groups || !scratch)
		goto out;
	cost = scratch + n;
	rate = cost + n;
	f.ngroups = group_sizes(obs, n, f.groups);
	err = make_hypotheses(&f, placement, low, high);
	if (err)
		goto out;
	group_costs(&f, NULL, scratch, cost);
	if (isinf(best_fit(&f, cost, rate, out))) {
		err = -EINVAL;
		goto out;
	}
	mean = indistinct(&f, cost, rate, out, &out->ci);
	/* Of evenly filled caches the sizes are few, and one of them is true. */
	if (placement == PLACED_RANDOMLY)
		out->bytes = mean;
	resample(&f, seed, scratch, cost, rate, &out->ci);
out:
	free(f.rates);
	free(f.hyps);
	free(scratch);
	free(f.groups);
	return err;
}
