// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include <sonde/stats.h>
#include "shuffle.h"
#include "trial.h"

/* Until the first look has said what the core clock is. */
#define TYPICAL_GHZ	3.0
#define TYPICAL_CYCLES	20.0
/*
 * A window is this long where nobody says: the clock's cost vanishes in it, gaps do
 * not. Longer where the clock advances in large steps, of which it has so many.
 */
#define WINDOW_NS	1000.0
#define WINDOW_STEPS	100
#define COARSEST_NS	10.0
/* Windows that turned out this much shorter are taken again. */
#define SHORTER		1.5
/* Longer is better if it makes whole turns, up to this. */
#define LONGEST_NS	40000.0
/* A window this much above the median, and by a gap's length, was hit. */
#define GAP_FACTOR	1.3
#define GAP_NS		1000.0
/* What a gap leaves behind, lost lines, makes more windows slow. */
#define SLOWEST		0.2
#define MIN_WINDOWS	5
/* Lines that are flushed at once. */
#define CLEAR_AT_ONCE	1024

void trial_open(struct trial *t, struct meter *meter, uint64_t seed)
{
	*t = (struct trial){ .meter = meter, .what = "starting", .window_ns = WINDOW_NS };
	sonde_rng_seed(&t->rng, seed);
	t->begin = meter->ops->now(meter);
	t->chain_ns = meter->chain_cycles / TYPICAL_GHZ;
}

void trial_close(struct trial *t)
{
	free(t->ring);
	t->ring = NULL;
}

void trial_offer(struct trial *t, unsigned int cpu, const unsigned int *alike, size_t n)
{
	t->cpus[0] = cpu;
	t->ncpus = 1;
	for (size_t i = 0; i < n && t->ncpus < TRIAL_CPUS; i++)
		t->cpus[t->ncpus++] = alike[i];
}

double trial_elapsed(const struct trial *t)
{
	return t->meter->ops->now(t->meter) - t->begin;
}

int trial_tick(struct trial *t)
{
	return t->progress && t->progress(t->progress_ctx, t->done, t->what) ? -ECANCELED : 0;
}

int trial_pages(struct trial *t, size_t chunks)
{
	int err;

	if (chunks <= t->chunks)
		return 0;
	t->nring = t->chunks = 0;
	err = t->meter->ops->pages(t->meter, chunks);
	if (!err)
		t->chunks = chunks;
	return err;
}

int trial_flush(struct trial *t, const uint32_t *places, size_t n)
{
	int err = t->meter->ops->flush(t->meter, places, n);

	return err == -EOPNOTSUPP ? 0 : err;
}

int trial_clear(struct trial *t, uint32_t offset)
{
	uint32_t places[CLEAR_AT_ONCE];
	size_t n;
	int err = 0;

	for (size_t first = 0; first < t->chunks && !err; first += n) {
		n = MIN(t->chunks - first, CLEAR_AT_ONCE);
		for (size_t i = 0; i < n; i++)
			places[i] = meter_place((uint32_t)(first + i), offset);
		err = trial_flush(t, places, n);
	}
	return err;
}

/*
 * What the last ring left behind would be strangers to the next: lines that keep a place in its
 * sets for as long as its own come in the same order. Empty ways are filled first, so as many as
 * there are ways then fit at once, whatever is replaced. Where lines cannot be flushed, they stay.
 */
static int take_places(struct trial *t, const uint32_t *places, size_t n)
{
	int err = t->nring ? trial_flush(t, t->ring, t->nring) : 0;
	uint32_t *ring;

	if (err)
		return err;
	if (n > t->room) {
		ring = realloc(t->ring, n * sizeof(*ring));
		if (!ring)
			return -ENOMEM;
		t->ring = ring;
		t->room = n;
	}
	memcpy(t->ring, places, n * sizeof(*places));
	t->nring = n;
	return 0;
}

int trial_path(struct trial *t, const uint32_t *places, size_t n)
{
	int err = take_places(t, places, n);

	if (!err)
		t->meter->ops->link(t->meter, t->ring, n);
	return err;
}

int trial_ring(struct trial *t, const uint32_t *places, size_t n, size_t tail)
{
	int err = take_places(t, places, n);

	if (err)
		return err;
	shuffle(&t->rng, t->ring, n - tail);
	shuffle(&t->rng, t->ring + n - tail, tail);
	t->meter->ops->link(t->meter, t->ring, n);
	return 0;
}

/*
 * Loads of a window: whole turns where a turn is short enough, so that windows
 * differ by noise only and none that a miss made slow is taken for disturbed.
 */
static unsigned int choose_steps(const struct trial *t)
{
	/* A step that nobody has seen yet is a large one. */
	double step_ns = t->step ? (double)t->step * t->meter->tick_ns : COARSEST_NS;
	double window_ns = fmax(t->window_ns, WINDOW_STEPS * fmin(step_ns, COARSEST_NS));
	double ns_a_load = (t->cycles > 0 ? t->cycles : TYPICAL_CYCLES) * t->chain_ns /
			   t->meter->chain_cycles;
	double turn_ns = ns_a_load * (double)t->nring;

	if (turn_ns < LONGEST_NS)
		return (unsigned int)(fmax(1, floor(window_ns / turn_ns)) * (double)t->nring);
	return (unsigned int)fmax(window_ns / ns_a_load, METER_UNROLL);
}

static double median(double *x, size_t n)
{
	sonde_stats_sort(x, n);
	return sonde_stats_median(x, n);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Of differences: what a read costs was subtracted, which is no multiple. */
static void learn_step(struct trial *t, uint64_t ticks)
{
	if (t->last)
		t->step = common_divisor(t->step, ticks > t->last ? ticks - t->last :
					 t->last - ticks);
	t->last = ticks;
}

/*
 * Ticks of the chain. A median is off by up to half a step of the clock; the mean of
 * many is not, of those that nothing interrupted. A step of 26 ticks is 3 % of the
 * chain on a Zen 4; one of a single tick is still two misses among 1000 lines. @x: of
 * the @n windows of a look.
 */
static double chain_ticks(struct trial *t, double *x, size_t n)
{
	double sorted[TRIAL_CHAINS], middle = median(x, n), sum = 0;
	size_t kept = 0, have;

	/* By more than a step: then it is the core clock that changed. */
	if (fabs(middle - t->chain_ns / t->meter->tick_ns) > (double)t->step)
		t->nchains = 0;
	for (size_t i = 0; i < n; i++)
		t->chains[t->nchains++ % TRIAL_CHAINS] = x[i];
	have = t->nchains < TRIAL_CHAINS ? t->nchains : TRIAL_CHAINS;
	memcpy(sorted, t->chains, have * sizeof(*sorted));
	middle = median(sorted, have);
	for (; kept < have && sorted[kept] <= middle + (double)t->step; kept++)
		sum += sorted[kept];
	return sum / (double)kept;
}

/* Windows that nothing interrupted, to t->kept, ascending. */
static void keep(struct trial *t, const struct meter_window *w, size_t n, unsigned int steps)
{
	double x[TRIAL_WINDOWS], typical, gap = GAP_NS / t->meter->tick_ns, chain;

	for (size_t i = 0; i < n; i++)
		learn_step(t, w[i].ticks);
	for (size_t i = 0; i < n; i++)
		x[i] = (double)w[i].chain;
	chain = chain_ticks(t, x, n);
	t->chain_ns = chain * t->meter->tick_ns;
	for (size_t i = 0; i < n; i++)
		x[i] = (double)w[i].ticks;
	typical = median(x, n);
	t->nkept = 0;
	for (size_t i = 0; i < n; i++)
		if (x[i] <= typical * GAP_FACTOR || x[i] <= typical + gap)
			t->kept[t->nkept++] = x[i] / steps * t->meter->chain_cycles / chain;
	t->samples += n;
	t->discarded += n - t->nkept;
}

/* Windows of about @turns turns, to t->kept and what else a look tells. */
static void take(struct trial *t, double warm, double turns)
{
	struct meter_window w[TRIAL_WINDOWS];
	unsigned int steps = choose_steps(t);
	size_t n = (size_t)ceil(turns * (double)t->nring / steps), use;
	double sum = 0;

	n = n < MIN_WINDOWS ? MIN_WINDOWS : n;
	if (n > TRIAL_WINDOWS) {
		n = TRIAL_WINDOWS;
		steps = (unsigned int)ceil(turns * (double)t->nring / TRIAL_WINDOWS);
	}
	t->meter->ops->chase(t->meter, (uint64_t)(warm * (double)t->nring), steps, w, n);
	t->loads += (uint64_t)(warm * (double)t->nring) + steps * n;
	keep(t, w, n, steps);
	use = t->nkept - (size_t)(SLOWEST * (double)t->nkept);
	for (size_t i = 0; i < use; i++)
		sum += t->kept[i];
	t->cycles = sum / (double)use;
	t->noise = (sonde_stats_quantile(t->kept, t->nkept, 0.75) -
		    sonde_stats_quantile(t->kept, t->nkept, 0.25)) / sqrt((double)t->nkept);
}

double trial_look(struct trial *t, double warm, double turns)
{
	const double before = t->cycles;

	take(t, warm, turns);
	/* Windows were as long as if loads cost what the last ones did: too short for the clock. */
	if (SHORTER * t->cycles < before)
		take(t, 0, turns);
	return t->cycles;
}

static double cycles_of(const struct trial *t, const struct meter_window *w)
{
	return (double)w->ticks * t->meter->chain_cycles / (double)w->chain;
}

double trial_first(struct trial *t, size_t n)
{
	struct meter_window w;

	t->meter->ops->chase(t->meter, 0, (unsigned int)n, &w, 1);
	t->loads += n;
	t->samples++;
	return cycles_of(t, &w) / (double)n;
}

double trial_cycles(const struct trial *t, double ns)
{
	return ns * t->meter->chain_cycles / t->chain_ns;
}

double trial_step(const struct trial *t)
{
	return trial_cycles(t, (double)t->step * t->meter->tick_ns);
}

void trial_walk(struct trial *t, double turns)
{
	const uint64_t n = (uint64_t)(turns * (double)t->nring);
	struct meter_window none;

	t->meter->ops->chase(t->meter, n, 1, &none, 0);
	t->loads += n;
}

void trial_loads(struct trial *t, size_t n, struct meter_window *windows, size_t room,
		 double *cycles)
{
	size_t some;

	for (size_t at = 0; at < n; at += some) {
		some = n - at < room ? n - at : room;
		t->meter->ops->chase(t->meter, 0, 1, windows, some);
		for (size_t i = 0; i < some; i++)
			cycles[at + i] = cycles_of(t, &windows[i]);
	}
	t->loads += n;
	t->samples += n;
}
