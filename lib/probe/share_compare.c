// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * share_compare - do two CPUs share a cache of one level?
 *
 * Hand-overs, in turn in both directions, until one answer is ahead by LEAD of
 * those that speak (a sequential test; Wald 1945: with 9 of 10 samples right,
 * three ahead is wrong once in 700). Then contention, where the sizes allow it.
 * Where the two contradict each other, the answer is that there is none.
 *
 * The host of a guest may move a CPU to another last level at any moment (of two CPUs
 * on a host of several, a changed line went from one to the other in 90 cycles for some
 * seconds, then in 400 for some tens of them). So how far apart they are is measured
 * beside each hand-over, and those from when they were farther apart do not count.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/stats.h>
#include "contend.h"
#include "handover.h"

#define LEAD		3
#define SAMPLES_MOST	45
/* Of the way from a hit in the level (0) to a load from beyond (1), in logarithms.
 * Between them lies what another CPU's cache sends, and what a stranger leaves. The
 * reader's own lines are near if they are a hit by what the cache report says. */
#define NEAR		0.3
#define FAR		0.75
/* A hit that is so many times quicker than the level's is one in a nearer level. */
#define NEARER		1.6
/* Odds that a sample is right, and the most that is ever claimed: by hand-over
 * alone, and with contention. */
#define ODDS		9.0
#define SURE		0.95
#define SURER		0.99

/**
 * struct tally - samples of one pair
 * @says: what judge() said of each
 * @apart: how far apart the CPUs were beside it, in cycles; 0 if they cannot be moved
 * @lead: those that say yes less those that say no, of those that count
 */
struct tally {
	double first[SAMPLES_MOST], again[SAMPLES_MOST], apart[SAMPLES_MOST];
	int says[SAMPLES_MOST];
	unsigned int n;
	int lead;
	size_t windows, discarded;
};

/* Where @cycles is on the way from @hit to @beyond. */
static double get_way(double cycles, double hit, double beyond)
{
	return log(cycles / hit) / log(beyond / hit);
}

/* 1: in a cache of both, -1: not, 0: no word. */
static int judge(const struct share_plan *plan, const struct handover *h)
{
	double way;

	if (h->is_late)
		return 0;
	/* Not even its own lines hit: something else is in that cache. Or they hit
	 * nearer: then this is about another level. */
	if (get_way(h->again, plan->again, plan->beyond) > NEAR ||
	    h->again * NEARER < plan->again)
		return 0;
	way = get_way(h->first, h->again, plan->beyond);
	return way < NEAR ? 1 : way > FAR ? -1 : 0;
}

static int take(struct share *s, unsigned int from, unsigned int to, struct tally *t)
{
	struct handover h;
	int err = share_tick(s);

	if (!err)
		err = handover_take(s, s->at, from, to, &h);
	if (!err && s->meter->is_guest)
		err = handover_distance(s, from, to, &t->apart[t->n]);
	if (err)
		return err;
	t->says[t->n] = judge(s->at, &h);
	t->windows += h.windows;
	t->discarded += h.discarded;
	t->first[t->n] = h.first;
	t->again[t->n++] = h.again;
	return 0;
}

/* How far apart the CPUs were where they were nearest: as many samples as decide. */
static double get_nearest(const struct tally *t)
{
	double apart[SAMPLES_MOST];

	memcpy(apart, t->apart, t->n * sizeof(*apart));
	sonde_stats_sort(apart, t->n);
	return apart[t->n < LEAD ? t->n - 1 : LEAD - 1];
}

/* Sets t->lead; how many samples do not count. */
static size_t count_lead(struct tally *t)
{
	double most = SHARE_MOVED * get_nearest(t);
	size_t nleft = 0;

	t->lead = 0;
	for (unsigned int i = 0; i < t->n; i++) {
		if (t->apart[i] <= most)
			t->lead += t->says[i];
		else
			nleft++;
	}
	return nleft;
}

static int hand_over(struct share *s, unsigned int a, unsigned int b, struct tally *t)
{
	size_t nleft = 0;
	int err;

	while (t->n < SAMPLES_MOST && abs(t->lead) < LEAD) {
		err = t->n % 2 ? take(s, b, a, t) : take(s, a, b, t);
		if (err)
			return err;
		nleft = count_lead(t);
	}
	s->apart = fmin(s->apart, get_nearest(t));
	s->nleft += nleft;
	return 0;
}

/* 1, 0, -ENODATA (no word), or an error. */
static int contend(struct share *s, unsigned int a, unsigned int b,
		   struct sonde_share_pair *pair)
{
	const unsigned int cpus[2] = { a, b };
	struct contend seen[2];
	int err = contend_take(s, s->at, cpus, 2, seen), disturbed;

	if (err)
		return err == -EOPNOTSUPP ? -ENODATA : err;
	disturbed = contend_judge(s->at, seen, 2);
	if (disturbed >= 0)
		pair->contention = fmax(seen[0].beside / seen[0].alone,
					seen[1].beside / seen[1].alone);
	return disturbed;
}

/*
 * What contention says, to hold against @yes: the first word, unless that
 * contradicts; then two of three. A stranger can take a cache's room as well.
 */
static int confirm(struct share *s, int yes, struct sonde_share_pair *pair)
{
	int against = 0, disturbed;

	for (int i = 0; i < 3 && against < 2; i++) {
		disturbed = contend(s, pair->cpu[0], pair->cpu[1], pair);
		if (disturbed < 0)
			return disturbed;
		against += disturbed != yes;
		if (i == 0 && !against)
			break;
	}
	return against < 2 ? yes : !yes;
}

static int conclude(struct share *s, const struct tally *t, struct sonde_share_pair *pair)
{
	int yes = t->lead >= LEAD, no = t->lead <= -LEAD, disturbed;
	double sure = 1 - 1 / (1 + pow(ODDS, abs(t->lead)));

	if (!yes && !no)
		return 0;
	disturbed = confirm(s, yes, pair);
	if (disturbed < 0 && disturbed != -ENODATA)
		return disturbed;
	if (disturbed == !yes)
		return 0;
	pair->verdict = yes ? SONDE_SHARE_YES : SONDE_SHARE_NO;
	pair->confidence = fmin(sure, disturbed < 0 ? SURE : SURER);
	return 0;
}

static int measure(struct share *s, struct sonde_share_pair *pair)
{
	struct tally t = { 0 };
	int err = hand_over(s, pair->cpu[0], pair->cpu[1], &t);

	if (err)
		return err;
	sonde_stats_sort(t.first, t.n);
	sonde_stats_sort(t.again, t.n);
	pair->first_cycles = sonde_stats_median(t.first, t.n);
	pair->again_cycles = sonde_stats_median(t.again, t.n);
	pair->beyond_cycles = s->at->beyond;
	pair->samples = t.n;
	pair->discarded = t.windows ? (double)t.discarded / (double)t.windows : 0;
	return conclude(s, &t, pair);
}

static const struct sonde_share_pair *find(const struct sonde_share_report *r, unsigned int level,
					   unsigned int a, unsigned int b)
{
	for (size_t i = r->npairs; i-- > 0;)
		if (r->pairs[i].level == level && r->pairs[i].cpu[0] == a &&
		    r->pairs[i].cpu[1] == b)
			return &r->pairs[i];
	return NULL;
}

int share_compare(struct share *s, unsigned int a, unsigned int b,
		  const struct sonde_share_pair **out)
{
	struct sonde_share_report *r = s->report;
	struct sonde_share_pair *pairs;
	int err;

	*out = find(r, s->at->level, a, b);
	if (*out)
		return 0;
	pairs = realloc(r->pairs, (r->npairs + 1) * sizeof(*pairs));
	if (!pairs)
		return -ENOMEM;
	r->pairs = pairs;
	pairs[r->npairs] = (struct sonde_share_pair){ .level = s->at->level, .cpu = { a, b } };
	err = measure(s, &pairs[r->npairs]);
	if (!err)
		*out = &pairs[r->npairs++];
	return err;
}
