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

#include "stride.h"

/* Cycles a load above the spread ring: a miss a turn of 64 lines costs as much. */
#define LEAST_EXCESS	0.12
#define WARM_TURNS	24
#define SETTLE_TURNS	160
#define TURNS		8
#define OFFSETS		3
#define ORDERS		3
#define MAX_LINE	256

struct pair {
	uint32_t same[2 * STRIDE_WAYS];
	uint32_t spread[2 * STRIDE_WAYS];
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

/*
 * What the pair's first ring costs more. It says so only if it does in several
 * orders, and after long enough for any replacement to settle: something else
 * may have crowded the set for a moment, never uncrowded it.
 */
static int excess(struct trial *t, const struct pair *p, double *cycles, double *extra)
{
	double spread = 0, same = 0;
	int err = 0;

	*extra = INFINITY;
	for (unsigned int i = 0; i < ORDERS && *extra > LEAST_EXCESS && !err; i++) {
		err = look(t, p->spread, p->n, WARM_TURNS, &spread);
		if (!err)
			err = look(t, p->same, p->n, i ? SETTLE_TURNS : WARM_TURNS, &same);
		if (same - spread < *extra) {
			*extra = same - spread;
			*cycles = same;
		}
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

/* The most lines at the largest stride that fit, from one offset in a page. */
static int count_ways(struct trial *t, size_t offset, struct stride *s, unsigned int *ways)
{
	struct pair p;
	double cycles = 0, extra;
	int err;

	for (unsigned int k = 1; k <= STRIDE_WAYS + 1; k++) {
		p.n = 0;
		add_run(&p, k, STRIDE_MAX, 0, offset);
		err = excess(t, &p, &cycles, &extra);
		if (err)
			return err;
		if (k <= 2 && (s->hit == 0 || cycles < s->hit))
			s->hit = cycles;
		s->sweep[k] = s->hit + fmax(extra, 0);
		s->nsweep = k;
		if (k > 1 && extra > LEAST_EXCESS) {
			*ways = k - 1;
			return 0;
		}
	}
	*ways = 0;
	return 0;
}

static int is_crowded(struct trial *t, struct pair *p, int *crowded)
{
	double cycles = 0, extra = 0;
	int err = excess(t, p, &cycles, &extra);

	*crowded = extra > LEAST_EXCESS;
	return err;
}

static int find_way_bytes(struct trial *t, struct stride *s)
{
	struct pair p;
	int crowded, err;

	s->way_bytes = STRIDE_MAX;
	while (s->way_bytes > METER_LINE) {
		p.n = 0;
		add_run(&p, s->ways + 1, s->way_bytes / 2, 0, 0);
		err = is_crowded(t, &p, &crowded);
		if (err)
			return err;
		if (!crowded)
			return 0;
		s->way_bytes /= 2;
	}
	return 0;
}

/*
 * Twice as many lines as fit, one half @d bytes off: they fit if and only if
 * that is another line. Off to both sides, since a prefetcher that fetches the
 * next line crowds one side only; from the end of a pair of lines, since one
 * that completes pairs crowds that pair.
 */
static int is_other_line(struct trial *t, const struct stride *s, size_t d, int *other)
{
	/* The first place of a line of any length, and the last. */
	const size_t up = MAX_LINE, down = 2 * MAX_LINE - METER_PLACE;
	struct pair p;
	int crowded = 1, err = 0;

	for (int side = 0; side < 2 && crowded && !err; side++) {
		p.n = 0;
		add_run(&p, s->ways, s->way_bytes, 0, side ? up : down);
		add_run(&p, s->ways, s->way_bytes, s->ways, side ? up + d : down - d);
		err = is_crowded(t, &p, &crowded);
	}
	*other = !crowded;
	return err;
}

static int find_line(struct trial *t, struct stride *s)
{
	int other, err;

	for (size_t d = METER_PLACE; d <= MAX_LINE && d < s->way_bytes; d *= 2) {
		err = is_other_line(t, s, d, &other);
		if (err)
			return err;
		if (other) {
			s->line = (unsigned int)d;
			return 0;
		}
	}
	return 0;
}

/* A ring that cannot fit: as many lines as the pool has strides. */
static int find_beyond(struct trial *t, struct stride *s)
{
	uint32_t places[STRIDE_WAYS];
	size_t n = 3 * s->ways < STRIDE_WAYS ? 3 * s->ways : STRIDE_WAYS;

	for (size_t i = 0; i < n; i++)
		places[i] = place(i * s->way_bytes);
	return look(t, places, n, WARM_TURNS, &s->beyond);
}

int stride_find(struct trial *t, struct stride *s)
{
	unsigned int ways[OFFSETS], same = 0;
	int err = 0;

	memset(s, 0, sizeof(*s));
	t->what = "first level";
	for (unsigned int i = 0; i < OFFSETS && !err; i++)
		err = count_ways(t, (OFFSETS - 1 - i) * 1344, s, &ways[i]);
	if (err)
		return err;
	/* The least: a set is crowded or not, but another program's line may crowd it. */
	for (unsigned int i = 0; i < OFFSETS; i++)
		s->ways = ways[i] > s->ways ? ways[i] : s->ways;
	for (unsigned int i = 0; i < OFFSETS; i++)
		same += ways[i] == s->ways;
	s->agree = (double)same / OFFSETS;
	if (!s->ways)
		return 0;
	err = find_way_bytes(t, s);
	if (!err)
		err = find_line(t, s);
	return err ? err : find_beyond(t, s);
}
