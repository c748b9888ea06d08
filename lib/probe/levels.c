// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * From plateaus of the curve to levels of cache: the latency of each from its
 * points, the size of each from walks on the slope to the next one.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capacity.h"
#include "search.h"

/* Sizes on a slope, and draws of each at most. */
#define SLOPE_SIZES	14
#define SLOPE_DRAWS	24
#define SLOPE_POINT_S	0.004
/* Sizes of the last slope: its walks are long. */
#define LAST_SIZES	8
/* What the cost is relative to where a cache begins to overflow and is gone. */
#define RISE_BEGINS	0.1
#define RISE_ENDS	0.9
/*
 * The last level is shared with whoever else runs on the machine, so what is
 * measured is this CPU's part of it at that moment.
 */
#define SHARED_CONFIDENCE 0.5
/* Above this misfit the first level is not filled evenly by a run of pages. */
#define EVEN_MISFIT	0.15
/*
 * Associativity and replacement are only weakly told apart by the shape of the
 * slope: on simulated caches the fit has been off by up to a sixth.
 */
#define FIT_MARGIN	1.2
/*
 * Memory does not answer faster (row and column access alone take near 30 ns),
 * and caches on the chip seldom answer slower.
 */
#define MEMORY_NS	45.0
/* A level that is not so many times slower than the one before has a cost that is not
 * known: too much was taken off for translation, which others make dearer. */
#define SLOWER		1.3
/* An interval wider than this (high over low) names no size. */
#define WIDEST		1.6

/*
 * Sizes from @low to @high chunks, @want at most: all if they are not more,
 * evenly spread in the logarithm else.
 */
static size_t spread_sizes(double low, double high, size_t want, size_t *sizes)
{
	double size;
	size_t n = 0;

	low = fmax(floor(low), 1);
	high = ceil(high);
	for (size_t i = 0; i < want; i++) {
		size = high - low < (double)want ? low + (double)i :
		       low * pow(high / low, (double)i / (double)(want - 1));
		if (size <= high && (!n || sizes[n - 1] != (size_t)lround(size)))
			sizes[n++] = (size_t)lround(size);
	}
	return n;
}

static size_t pick(struct sampler *s, size_t *left, size_t n)
{
	size_t i = sonde_rng_below(&s->rng, n), size = left[i];

	left[i] = left[n - 1];
	return size;
}

static int by_size(const void *a, const void *b)
{
	const struct observation *x = a, *y = b;

	return (x->chunks > y->chunks) - (x->chunks < y->chunks);
}

/*
 * Rounds of one walk of each size, in random order, until the time is gone; one
 * round at least.
 */
static ssize_t walk_slope(struct search *w, enum walk_kind kind, const size_t *sizes, size_t n,
			  double seconds, struct observation *obs)
{
	double end = sampler_elapsed(w->s) + seconds;
	size_t left[SLOPE_SIZES], got = 0;
	struct sample sample;
	int err;

	for (size_t draw = 0; draw < SLOPE_DRAWS; draw++) {
		memcpy(left, sizes, n * sizeof(*sizes));
		for (size_t k = n; k; k--) {
			size_t chunks = pick(w->s, left, k);

			if (draw && sampler_elapsed(w->s) > end)
				break;
			err = sampler_take(w->s, kind, chunks, SLOPE_POINT_S, &sample);
			if (err)
				return err;
			obs[got++] = (struct observation){
				chunks, sample.cycles -
				translation_cost(w->s, &w->translation, (double)chunks),
			};
		}
	}
	qsort(obs, got, sizeof(*obs), by_size);
	return (ssize_t)got;
}

/**
 * struct slope - the rise from one plateau to the next
 * @last: chunks of the last point of the plateau before
 * @first: chunks of the first point of the plateau after
 */
struct slope {
	double last, first;
};

static struct slope slope_of(const struct search *w, size_t level)
{
	return (struct slope){ w->curve.chunks[w->plateau[level].last],
			       w->curve.chunks[w->plateau[level + 1].first] };
}

static int fit_slope(struct search *w, enum placement placement, struct slope slope, size_t want,
		     double seconds, struct capacity *cap)
{
	struct observation obs[SLOPE_SIZES * SLOPE_DRAWS];
	double margin = placement == PLACED_EVENLY ? 0.15 : 0.3, high;
	size_t sizes[SLOPE_SIZES], n;
	ssize_t got;

	high = fmin(slope.first * (1 + margin) + 2, (double)w->s->nchunks);
	n = spread_sizes(slope.last * (1 - margin) - 2, high, want, sizes);
	got = walk_slope(w, placement == PLACED_EVENLY ? WALK_RUN : WALK_SCATTERED, sizes, n,
			 seconds, obs);
	if (got < 0)
		return (int)got;
	return capacity_fit(obs, (size_t)got, placement, fmax(1, floor(slope.last / 2)),
			    ceil(slope.first * 1.25), w->options->seed, cap);
}

/* Latency of a plateau, from its points, translation subtracted. */
static int plateau_latency(const struct search *w, const struct plateau *p,
			   struct sonde_latency *out)
{
	double cycles[CURVE_POINTS], ratio[CURVE_POINTS];
	size_t n = 0;

	for (size_t i = p->first; i <= p->last; i++) {
		const struct sample *sample = &w->curve.sample[i];

		cycles[n] = sample->floor - (sample->cycles - w->curve.net[i]);
		ratio[n++] = sample->ns / sample->cycles;
	}
	sonde_stats_sort(cycles, n);
	sonde_stats_sort(ratio, n);
	out->cycles = sonde_stats_median(cycles, n);
	out->ns = out->cycles * sonde_stats_median(ratio, n);
	return sonde_stats_quantile_ci(cycles, n, 0.5, 0.95, 400, w->options->seed,
				       &out->cycles_ci);
}

/* The first point of the curve that has risen by @share of the way from @from to @to. */
static size_t rise_at(const struct search *w, const struct plateau *from,
		      const struct plateau *to, double share)
{
	double level = from->cost + share * (to->cost - from->cost);
	size_t i = to->first;

	/* From above: a point below the slope that costs more was disturbed. */
	while (i > from->first && w->curve.net[i - 1] > level)
		i--;
	return i;
}

/* Confidence in a fitted size: how well it explains the walks. */
static double trust(const struct capacity *cap)
{
	return fmax(0, fmin(0.99, 1.02 - cap->misfit));
}

static void set_size(struct sonde_cache_level *out, const struct capacity *cap, double margin)
{
	out->size = (uint64_t)llround(cap->bytes);
	out->size_low = (uint64_t)llround(fmin(cap->ci.low, cap->bytes / margin));
	out->size_high = (uint64_t)llround(fmax(cap->ci.high, cap->bytes * margin));
	out->confidence = trust(cap);
}

/*
 * A run of pages fills a virtually indexed cache evenly: a sharp edge, exact to
 * a chunk. Where that does not explain the first level, it is indexed
 * physically, as the others are.
 */
static int first_level(struct search *w, double seconds, struct sonde_cache_level *out)
{
	struct capacity even, random;
	int err;

	err = fit_slope(w, PLACED_EVENLY, slope_of(w, 0), SLOPE_SIZES, seconds / 2, &even);
	if (!err && even.misfit < EVEN_MISFIT) {
		set_size(out, &even, 1);
		return 0;
	}
	if (err && err != -EINVAL)
		return err;
	err = fit_slope(w, PLACED_RANDOMLY, slope_of(w, 0), SLOPE_SIZES, seconds / 2, &random);
	if (!err)
		set_size(out, &random, FIT_MARGIN);
	return err == -EINVAL ? 0 : err;
}

static int inner_level(struct search *w, size_t level, double seconds,
		       struct sonde_cache_level *out)
{
	struct capacity cap;
	int err;

	err = fit_slope(w, PLACED_RANDOMLY, slope_of(w, level), SLOPE_SIZES, seconds, &cap);
	if (!err)
		set_size(out, &cap, FIT_MARGIN);
	/* Another guest may run on the core's other thread, and take a part of it. */
	if (w->s->meter->is_guest)
		out->confidence = fmin(out->confidence, SHARED_CONFIDENCE);
	return err == -EINVAL ? 0 : err;
}

/*
 * The last level before memory: an interval, and a size only where that is
 * narrow and no other guest of the host can have had a part.
 */
static int last_level(struct search *w, size_t level, double seconds,
		      struct sonde_cache_level *out)
{
	const struct plateau *p = &w->plateau[level];
	size_t begins = rise_at(w, p, p + 1, RISE_BEGINS);
	double low = w->curve.chunks[begins > p->first ? begins - 1 : begins];
	double high = w->curve.chunks[rise_at(w, p, p + 1, RISE_ENDS)];
	struct capacity cap;
	int err = -EINVAL;

	/* Its walks are the longest; the curve has seen the slope already. */
	if (seconds > 0)
		err = fit_slope(w, PLACED_RANDOMLY, slope_of(w, level), LAST_SIZES, seconds, &cap);
	if (err && err != -EINVAL)
		return err;
	if (!err) {
		low = fmin(low, cap.ci.low / METER_CHUNK);
		high = fmax(high, cap.ci.high / METER_CHUNK);
	}
	out->size_low = (uint64_t)low * METER_CHUNK;
	out->size_high = (uint64_t)high * METER_CHUNK;
	out->confidence = SHARED_CONFIDENCE;
	if (w->s->meter->is_guest)
		return search_note(w, "level %u: shared with other guests of this host, so its size "
				   "cannot be told here; the interval is the part of it that this "
				   "CPU had", out->level);
	if (!err && high < low * WIDEST) {
		out->size = (uint64_t)llround(cap.bytes);
		out->confidence = trust(&cap);
		return 0;
	}
	return search_note(w, "level %u: its edge is not sharp, so its size cannot be told "
			"here; the interval is the part of it that this CPU had", out->level);
}

static int describe_level(struct search *w, size_t i, size_t ncaches, double seconds)
{
	struct sonde_cache_level *out = &w->report->levels[i];
	int err;

	out->level = (unsigned int)i + 1;
	out->type = i ? SONDE_CACHE_UNIFIED : SONDE_CACHE_DATA;
	err = plateau_latency(w, &w->plateau[i], &out->latency);
	if (err)
		return err;
	if (i && out->latency.cycles < SLOWER * out[-1].latency.cycles)
		out->latency = (struct sonde_latency){ 0 };
	w->s->what = i ? "lower cache levels" : "first cache level";
	if (i + 1 == w->nplateaus) {
		out->size_low = (uint64_t)w->curve.chunks[w->plateau[i].last] * METER_CHUNK;
		return search_note(w, "level %u: the sweep of %zu MiB ends before it does",
				   out->level, (w->s->nchunks * METER_CHUNK) >> 20);
	}
	if (i == 0)
		return first_level(w, seconds, out);
	return (i + 1 == ncaches ? last_level : inner_level)(w, i, seconds, out);
}

static double plateau_ns(const struct search *w, size_t i)
{
	const struct sample *s = &w->curve.sample[w->plateau[i].last];

	return w->plateau[i].cost * s->ns / s->cycles;
}

/*
 * How many plateaus are caches: those before the first that is as slow as
 * memory, also where a neighbour made two plateaus of memory. If none is, the
 * sweep was cut short and ends on a cache; one plateau alone tells nothing.
 */
static size_t count_caches(const struct search *w)
{
	size_t n = 0;

	while (n < w->nplateaus && plateau_ns(w, n) < MEMORY_NS)
		n++;
	return w->nplateaus == 1 ? 0 : n;
}

int search_levels(struct search *w, double end_s)
{
	size_t n = count_caches(w);
	double left;
	int err;

	w->report->levels = calloc(n ? n : 1, sizeof(*w->report->levels));
	if (!w->report->levels)
		return -ENOMEM;
	w->report->nlevels = n;
	if (!n)
		return search_note(w, "no cache can be told from the memory behind it here");
	for (size_t i = 0; i < n; i++) {
		left = end_s - sampler_elapsed(w->s);
		err = describe_level(w, i, n, fmax(left, 0) / (double)(n - i));
		if (err)
			return err;
	}
	if (n == w->nplateaus)
		return 0;
	return plateau_latency(w, &w->plateau[w->nplateaus - 1], &w->report->memory);
}

