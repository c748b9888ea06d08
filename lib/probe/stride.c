// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Every trial is the difference of two rings over the same pages: one whose
 * lines share a set if the guess is right, one whose lines are spread over the
 * sets. So what translation costs is in both, and strides that also overflow a
 * set of the TLB do no harm.
 *
 * More lines than ways miss at least once a turn whatever the replacement;
 * as many as ways or fewer do not miss once they are all there, which may take a
 * random or thrash-resistant replacement many turns.
 */
#include <math.h>
#include <string.h>
#include <sys/param.h>

#include <sonde/stats.h>
#include "line.h"
#include "odd_factor.h"
#include "stride.h"

/*
 * Cycles above the spread ring: a miss costs as much a turn at least; in very large rings,
 * a load.
 */
#define LEAST_MISS	3.0
#define LEAST_EXCESS	0.12
#define WARM_TURNS	24
#define SETTLE_TURNS	160
#define TURNS		8
#define ORDERS		4
/* Looks that tell what is clean, and their share that something else may have made cheap:
 * a clock of large steps, a core that changed its own. */
#define CLEAN_LOOKS	8
#define CHEAP		0.25
/* Rounds of all offsets until lines that fit are seen to. */
#define PATIENCE	4
/* Offsets at which they fit at once, if nobody else's are in the way, at least. */
#define CALM_VOTES	10
#define OFFSET_STEP	1344
/* Offsets at which they are, at least: others may have a way of all other sets. */
#define VOTES		3
/* The first of the offsets. */
#define AT		256

struct pair {
	uint32_t same[2 * STRIDE_WAYS];
	uint32_t spread[2 * STRIDE_WAYS];
	size_t n;
};

/**
 * struct clean - what second rings of some pairs over the same pages cost
 * @cycles: of the last ones of @n
 */
struct clean {
	double cycles[CLEAN_LOOKS];
	size_t n;
};

static int look(struct trial *t, const uint32_t *places, size_t n, double warm, double *cycles)
{
	int err = trial_tick(t);

	if (!err)
		err = trial_ring(t, places, n, 0);
	if (!err)
		*cycles = trial_look(t, warm, TURNS);
	return err;
}

static double clean_cycles(const struct clean *c)
{
	double sorted[CLEAN_LOOKS];
	size_t n = MIN(c->n, CLEAN_LOOKS);

	if (!n)
		return INFINITY;
	memcpy(sorted, c->cycles, n * sizeof(*sorted));
	sonde_stats_sort(sorted, n);
	return sonde_stats_quantile(sorted, n, CHEAP);
}

/* What a load costs more if there is a miss a turn. */
static double least_excess(const struct pair *p)
{
	return fmax(LEAST_MISS / (double)p->n, LEAST_EXCESS);
}

/*
 * What the pair's first ring costs more, at its best of several orders, and after long
 * enough for any replacement to settle: something else may have crowded the set for a
 * moment, never uncrowded it, and may have made the second ring dear.
 */
static int excess(struct trial *t, const struct pair *p, struct clean *clean, double *cycles,
		  double *extra)
{
	double spread = 0, same = 0;
	int err = 0;

	*cycles = INFINITY;
	for (unsigned int i = 0; i < ORDERS && !err; i++) {
		err = look(t, p->spread, p->n, WARM_TURNS, &spread);
		if (!err)
			err = look(t, p->same, p->n, i > 1 ? SETTLE_TURNS : WARM_TURNS, &same);
		clean->cycles[clean->n++ % CLEAN_LOOKS] = spread;
		*cycles = fmin(*cycles, same);
		*extra = *cycles - clean_cycles(clean);
		if (i && *extra <= least_excess(p))
			break;
	}
	return err;
}

static uint32_t place(size_t address)
{
	return (uint32_t)(address / METER_PLACE);
}

/* The @i-th of the lines of a page, away from @offset's, each line another one. */
static size_t spread_offset(size_t offset, size_t i)
{
	return (offset + (i + 1) * METER_LINE) % METER_CHUNK;
}

static void add(struct pair *p, size_t address, size_t offset)
{
	p->same[p->n] = place(address + offset);
	p->spread[p->n] = place(address / METER_CHUNK * METER_CHUNK +
				(address + spread_offset(offset, p->n)) % METER_CHUNK);
	p->n++;
}

static void add_run(struct pair *p, size_t n, size_t stride, size_t first, size_t offset)
{
	for (size_t i = 0; i < n; i++)
		add(p, (first + i) * stride, offset);
}

/* The most lines at the largest stride that fit at one offset; none: s->ways is 0. */
static int count_ways(struct trial *t, struct stride *s)
{
	struct pair p;
	double cycles = 0, extra = 0;
	struct clean clean;
	int err;

	for (unsigned int k = 1; k <= STRIDE_WAYS + 1; k++) {
		p.n = 0;
		clean.n = 0;
		add_run(&p, k, STRIDE_MAX, 0, AT);
		err = excess(t, &p, &clean, &cycles, &extra);
		if (err)
			return err;
		if (k <= 2 && (s->hit == 0 || cycles < s->hit))
			s->hit = cycles;
		s->sweep[k] = s->hit + fmax(extra, 0);
		s->nsweep = k;
		if (k > 1 && extra > least_excess(&p)) {
			s->ways = k - 1;
			return 0;
		}
	}
	return 0;
}

static int is_crowded(struct trial *t, struct pair *p, struct clean *clean, int *crowded)
{
	double cycles, extra = 0;
	int err = excess(t, p, clean, &cycles, &extra);

	*crowded = extra > least_excess(p);
	return err;
}

/*
 * At how many offsets @k lines at the largest stride fit if they are given time, of so many rounds:
 * what holds a way for some milliseconds only makes them seem too many.
 */
static int vote(struct trial *t, struct stride *s, unsigned int k, unsigned int rounds,
		unsigned int *votes)
{
	double least[STRIDE_OFFSETS], cycles = 0, extra, best = INFINITY;
	struct clean clean = { .n = 0 };
	struct pair p;
	int err = 0;

	for (unsigned int i = 0; i < STRIDE_OFFSETS; i++)
		least[i] = NAN;
	*votes = 0;
	for (unsigned int round = 0; round < rounds && *votes < STRIDE_OFFSETS && !err; round++) {
		*votes = 0;
		for (unsigned int i = 0; i < STRIDE_OFFSETS && !err; i++) {
			p.n = 0;
			add_run(&p, k, STRIDE_MAX, 0, (AT + i * OFFSET_STEP) % METER_CHUNK);
			if (!(least[i] <= clean_cycles(&clean) + least_excess(&p))) {
				err = excess(t, &p, &clean, &cycles, &extra);
				least[i] = fmin(least[i], cycles);
			}
			*votes += least[i] <= clean_cycles(&clean) + least_excess(&p);
			best = fmin(best, least[i] - clean_cycles(&clean));
		}
	}
	s->sweep[k] = s->hit + fmax(best, 0);
	s->nsweep = s->nsweep > k ? s->nsweep : k;
	return err;
}

/*
 * From what was counted at one offset: the most lines that fit at some. Nothing adds a
 * way, so where others do not agree, others have it there.
 */
static int settle_ways(struct trial *t, struct stride *s)
{
	unsigned int votes = 0, more = STRIDE_OFFSETS;
	int err = vote(t, s, s->ways, PATIENCE, &votes);

	while (!err && s->ways && votes < VOTES) {
		s->ways--;
		err = vote(t, s, s->ways, PATIENCE, &votes);
	}
	while (!err) {
		err = vote(t, s, s->ways + 1, PATIENCE, &more);
		if (err || more < VOTES || s->ways == STRIDE_WAYS)
			break;
		s->ways++;
		votes = more;
	}
	s->agree = (double)votes / STRIDE_OFFSETS;
	s->is_sure = votes && !more;
	return err;
}

static int find_way_bytes(struct trial *t, struct stride *s)
{
	struct pair p;
	struct clean clean;
	int crowded, err;

	s->way_bytes = STRIDE_MAX;
	while (s->way_bytes > METER_LINE) {
		p.n = 0;
		clean.n = 0;
		add_run(&p, s->ways + 1, s->way_bytes / 2, 0, AT);
		err = is_crowded(t, &p, &clean, &crowded);
		if (err)
			return err;
		if (!crowded)
			return 0;
		s->way_bytes /= 2;
	}
	return 0;
}

/* A ring that cannot fit: as many lines as the pool has strides. */
static int find_beyond(struct trial *t, struct stride *s)
{
	uint32_t places[STRIDE_WAYS];
	size_t n = 3 * s->ways < STRIDE_WAYS ? 3 * s->ways : STRIDE_WAYS;
	double cycles = 0;
	int err = 0;

	for (size_t i = 0; i < n; i++)
		places[i] = place(i * s->way_bytes);
	s->beyond = INFINITY;
	for (unsigned int i = 0; i < ORDERS && !err; i++) {
		err = look(t, places, n, WARM_TURNS, &cycles);
		s->beyond = fmin(s->beyond, cycles);
	}
	return err;
}

/* Its lines: of as many pages as fit half of the ways, a line each. */
static int find_line(struct trial *t, struct stride *s)
{
	const size_t step = MAX(s->way_bytes / METER_CHUNK, 1);
	uint32_t page[LINE_SET_MOST];
	const struct line_set set = {
		.page = page, .n = MIN(MAX(s->ways / 2, 1) * step, LINE_SET_MOST),
		.missed = fmax(s->beyond - s->hit, s->hit),
	};

	for (size_t i = 0; i < set.n; i++)
		page[i] = (uint32_t)i;
	return line_find(t, &set, &s->line);
}

static int find_once(struct trial *t, struct stride *s)
{
	int err;

	memset(s, 0, sizeof(*s));
	err = count_ways(t, s);
	if (err || !s->ways)
		return err;
	err = settle_ways(t, s);
	if (!err)
		err = find_way_bytes(t, s);
	if (!err)
		err = find_beyond(t, s);
	if (!err)
		err = find_line(t, s);
	return err;
}

static int is_same(const struct stride *a, const struct stride *b)
{
	return a->ways == b->ways && a->way_bytes == b->way_bytes && a->line == b->line;
}

int stride_is_usual(const struct stride *s)
{
	return s->ways && odd_factor(s->ways) <= 3;
}

/*
 * Another thread of the core, or whatever else runs on it, may hold a way for as
 * long as a look takes; nothing adds one. So the most ways count, if they were
 * found twice, with the same size and line.
 */
int stride_go_on(struct trial *t, struct stride *s, unsigned int attempts)
{
	struct stride once;
	int err = 0;

	for (unsigned int i = 0; i < attempts && !s->is_sure && !err; i++) {
		err = find_once(t, &once);
		if (err || once.ways < s->ways)
			continue;
		once.seen = (is_same(&once, s) ? s->seen : 0) + (once.is_sure && once.line);
		if (is_same(&once, s) && once.agree <= s->agree)
			s->seen = once.seen;
		else
			*s = once;
		s->is_sure = s->seen > 1 && stride_is_usual(s);
	}
	return err;
}

int stride_find(struct trial *t, struct stride *s)
{
	memset(s, 0, sizeof(*s));
	return stride_go_on(t, s, STRIDE_ATTEMPTS);
}

int stride_holds(struct trial *t, const struct stride *s, int *holds)
{
	struct stride again = *s;
	unsigned int votes = 0;
	int err = vote(t, &again, s->ways + 1, PATIENCE, &votes);

	*holds = !votes;
	return err;
}

int stride_is_calm(struct trial *t, const struct stride *s, int *calm)
{
	struct stride again = *s;
	unsigned int votes = 0;
	int err = vote(t, &again, s->ways, 1, &votes);

	*calm = votes >= CALM_VOTES;
	return err;
}
