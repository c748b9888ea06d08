// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * comm_pairs - which two places are measured, in what order, and how often
 *
 * Kin are pairs whose smallest claimed common group is as deep. Of each some are
 * measured, by lot. If these turn out to be of several layers, the kin is divided by
 * the two groups below the common one that a pair joins, such as two nodes, and two
 * of each part are measured; a part that is still mixed is measured as a whole.
 *
 * A pass measures every pair once, in random order: what happens to the machine for
 * a while does not happen to one pair. Pairs on nodes that no other pair of the round
 * is on go together, else one at a time: it is the latency without load that is
 * asked for. Passes go on until two layerings in a row are the same.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "shuffle.h"

/* Pairs of a kin that are measured, and of a part of it. */
#define SAMPLE		12
#define SAMPLE_PART	2
/* Passes before the first layering, whatever time they take, and between two. */
#define PASSES_FIRST	4
#define PASSES_MORE	2
/* And of a pair that is a layer by itself. */
#define PASSES_LONELY	6
/* Windows of a pass; of the trial that tells how long a turn takes; of how many ns. */
#define WINDOWS		32
#define TRIAL_WINDOWS	4
#define WINDOW_NS	20e3
#define TURNS_MOST	256
/* How far a round looks for pairs that fit. */
#define LOOK_AHEAD	4096

size_t comm_kinship(const struct sonde_comm_options *o, size_t a, size_t b)
{
	size_t depth = 0;

	while (depth < o->depth &&
	       o->groups[a * o->depth + depth] == o->groups[b * o->depth + depth])
		depth++;
	return depth;
}

/* ---- which ---------------------------------------------------------------- */

/* A pair and what it is sorted by. */
struct entry {
	uint64_t key;
	size_t is;
};

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->is > y->is) - (x->is < y->is);
}

static int list_pairs(struct comm *p)
{
	const size_t n = p->carrier->n;

	p->pairs = calloc(n * (n - 1) / 2, sizeof(*p->pairs));
	if (!p->pairs)
		return -ENOMEM;
	for (size_t a = 0; a < n; a++)
		for (size_t b = a + 1; b < n; b++)
			p->pairs[p->npairs++] = (struct comm_candidate){
				(unsigned int)a, (unsigned int)b, 0, -1
			};
	return 0;
}

static int measure_too(struct comm *p, size_t is)
{
	struct comm_measured *more;

	if (p->pairs[is].of >= 0)
		return 0;
	/* Doubled whenever it is full, which a power of two tells. */
	if (!(p->nmeasured & (p->nmeasured - 1))) {
		more = realloc(p->measured, (p->nmeasured ? 2 * p->nmeasured : 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		p->measured = more;
	}
	p->measured[p->nmeasured] = (struct comm_measured){ .is = is, .layer = -1 };
	p->pairs[is].of = (int)p->nmeasured++;
	return 0;
}

/* Each stretch of one key becomes a kin, of which @sample are measured, by lot. */
static int make_kins(struct comm *p, struct entry *entries, size_t n, size_t sample)
{
	int err = 0;

	qsort(entries, n, sizeof(*entries), compare);
	for (size_t from = 0, to; from < n && !err; from = to) {
		size_t wanted = sample, left;

		for (to = from; to < n && entries[to].key == entries[from].key; to++)
			p->pairs[entries[to].is].kin = p->nkins;
		p->nkins++;
		left = to - from;
		for (size_t i = from; i < to && wanted && !err; i++) {
			if (sonde_rng_below(&p->rng, left--) >= wanted)
				continue;
			wanted--;
			err = measure_too(p, entries[i].is);
		}
	}
	return err;
}

/* Of a kin that joins many groups, such as nodes, as many as there are of these. */
static size_t count_largest_groups(const struct sonde_comm_options *o, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n && o->depth; i++) {
		size_t j = 0;

		while (o->groups[j * o->depth] != o->groups[i * o->depth])
			j++;
		count += j == i;
	}
	return count;
}

static int choose_first(struct comm *p)
{
	const struct sonde_comm_options *o = p->options;
	struct entry *entries = calloc(p->npairs ? p->npairs : 1, sizeof(*entries));
	size_t sample = count_largest_groups(o, p->carrier->n);
	int err;

	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < p->npairs; i++)
		entries[i] = (struct entry){
			o->groups ? comm_kinship(o, p->pairs[i].a, p->pairs[i].b) : 0, i
		};
	if (sample < SAMPLE)
		sample = SAMPLE;
	err = make_kins(p, entries, p->npairs, o->groups && !o->all_pairs ? sample : p->npairs);
	free(entries);
	return err;
}

/* Whether pairs of a kin that were measured are of several layers. */
static int is_mixed(const struct comm *p, unsigned int kin)
{
	int layer = -1;

	for (size_t i = 0; i < p->nmeasured; i++) {
		const struct comm_measured *m = &p->measured[i];

		if (p->pairs[m->is].kin != kin || m->layer < 0)
			continue;
		if (layer >= 0 && m->layer != layer)
			return 1;
		layer = m->layer;
	}
	return 0;
}

/* The two groups below the smallest common one, in either order; each pair by itself
 * where nothing is below. */
static uint64_t make_key(const struct comm *p, size_t is)
{
	const struct sonde_comm_options *o = p->options;
	const struct comm_candidate *c = &p->pairs[is];
	size_t depth = comm_kinship(o, c->a, c->b);
	unsigned int a, b;

	if (depth >= o->depth)
		return is;
	a = o->groups[c->a * o->depth + depth];
	b = o->groups[c->b * o->depth + depth];
	return (uint64_t)(a < b ? a : b) << 32 | (a < b ? b : a);
}

/* The first time by the groups that are joined, the second time pair by pair. */
static int divide(struct comm *p, unsigned int kin, unsigned int nfirst)
{
	struct entry *entries = calloc(p->npairs, sizeof(*entries));
	const int is_part = kin >= nfirst;
	size_t n = 0;
	int err;

	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < p->npairs; i++)
		if (p->pairs[i].kin == kin) {
			entries[n].is = i;
			entries[n++].key = is_part ? i : make_key(p, i);
		}
	err = make_kins(p, entries, n, SAMPLE_PART);
	free(entries);
	return err;
}

/* ---- in what order -------------------------------------------------------- */

/**
 * struct pass - pairs that wait for their turn
 * @left: @nleft of them
 * @busy: for each node, the last round that it took part in
 * @round: this one; its pairs are @in, @npairs; @wait: what did not fit
 */
struct pass {
	uint32_t *left;
	size_t nleft;
	size_t *busy, nnodes, round;
	uint32_t *in;
	struct comm_pair *pairs;
	size_t npairs;
	double *ns;
};

static unsigned int get_node(const struct comm *p, unsigned int place)
{
	return p->carrier->places[place].node;
}

/* Moves what fits into this round from the end of those that are left. */
static void fill_round(struct comm *p, struct pass *pass)
{
	size_t free_nodes = pass->nnodes, kept = pass->nleft;
	const size_t stop = pass->nleft > LOOK_AHEAD ? pass->nleft - LOOK_AHEAD : 0;

	pass->round++;
	pass->npairs = 0;
	for (size_t i = pass->nleft; i > stop && free_nodes; i--) {
		const uint32_t is = pass->left[i - 1];
		const struct comm_candidate *c = &p->pairs[p->measured[is].is];
		unsigned int a = get_node(p, c->a), b = get_node(p, c->b);

		if (pass->busy[a] == pass->round || pass->busy[b] == pass->round)
			continue;
		free_nodes -= a == b ? 1 : 2;
		pass->busy[a] = pass->busy[b] = pass->round;
		pass->in[pass->npairs] = is;
		pass->pairs[pass->npairs++] = (struct comm_pair){ c->a, c->b,
								  p->measured[is].turns };
		pass->left[i - 1] = pass->left[--kept];
	}
	pass->nleft = kept;
}

static unsigned int choose_turns(double ns)
{
	double turns = WINDOW_NS / (2 * ns);

	return turns < 1 ? 1 : turns > TURNS_MOST ? TURNS_MOST : (unsigned int)turns;
}

static int try_turns(struct comm *p, struct pass *pass, size_t bytes)
{
	struct comm_run run = { COMM_PINGPONG, bytes, 1, 0, TRIAL_WINDOWS };
	int is_new = 0, err;

	for (size_t i = 0; i < pass->npairs; i++)
		is_new |= !pass->pairs[i].turns;
	if (!is_new)
		return 0;
	err = comm_run(p, pass->pairs, pass->npairs, &run, pass->ns);
	for (size_t i = 0; i < pass->npairs && !err; i++) {
		if (!pass->pairs[i].turns)
			pass->pairs[i].turns = choose_turns(comm_least(pass->ns + i * TRIAL_WINDOWS,
								       TRIAL_WINDOWS));
		p->measured[pass->in[i]].turns = pass->pairs[i].turns;
	}
	return err;
}

/* A round of which nothing came leaves its pairs with a value less. */
static int take_round(struct comm *p, struct pass *pass)
{
	struct comm_run run = { COMM_PINGPONG, p->matrix->bytes, 1, 0, WINDOWS };
	int err = try_turns(p, pass, run.bytes);

	if (!err)
		err = comm_run(p, pass->pairs, pass->npairs, &run, pass->ns);
	for (size_t i = 0; i < pass->npairs && !err; i++) {
		struct comm_measured *m = &p->measured[pass->in[i]];
		const double least = comm_least(pass->ns + i * WINDOWS, WINDOWS);

		m->windows += WINDOWS;
		if (least > 0 && m->n < COMM_PASSES)
			m->x[m->n++] = log(least);
	}
	return err == -EAGAIN ? 0 : err;
}

static int open_pass(const struct comm *p, struct pass *pass)
{
	const size_t most = p->nmeasured ? p->nmeasured : 1;

	for (size_t i = 0; i < p->carrier->n; i++)
		if (p->carrier->places[i].node >= pass->nnodes)
			pass->nnodes = p->carrier->places[i].node + 1;
	pass->left = calloc(most, sizeof(*pass->left));
	pass->in = calloc(pass->nnodes, sizeof(*pass->in));
	pass->busy = calloc(pass->nnodes, sizeof(*pass->busy));
	pass->pairs = calloc(pass->nnodes, sizeof(*pass->pairs));
	pass->ns = calloc(pass->nnodes * WINDOWS, sizeof(*pass->ns));
	return pass->left && pass->in && pass->busy && pass->pairs && pass->ns ? 0 : -ENOMEM;
}

static void close_pass(struct pass *pass)
{
	free(pass->left);
	free(pass->in);
	free(pass->busy);
	free(pass->pairs);
	free(pass->ns);
}

/* Whether no other pair that was measured is of its layer. */
static int is_lonely(const struct comm *p, const struct comm_measured *m)
{
	return m->layer >= 0 && p->matrix->layers[m->layer].nmeasured == 1;
}

/* Those with fewer than @most passes; part of a pass if the time is over. */
static int take_pass(struct comm *p, unsigned int most, int only_lonely)
{
	struct pass pass = { .left = NULL };
	int err = open_pass(p, &pass);
	size_t all;

	for (size_t i = 0; i < p->nmeasured && !err; i++)
		if (p->measured[i].n < most && (!only_lonely || is_lonely(p, &p->measured[i])))
			pass.left[pass.nleft++] = (uint32_t)i;
	if (!err)
		shuffle(&p->rng, pass.left, pass.nleft);
	all = pass.nleft;
	while (pass.nleft && !err) {
		if (most > PASSES_FIRST && p->carrier->ops->now(p->carrier) > p->deadline)
			break;
		fill_round(p, &pass);
		err = take_round(p, &pass);
		if (!err)
			err = comm_progress(p, 0.4 * (most - 1 + 1 - (double)pass.nleft /
						      (double)all) / COMM_PASSES);
	}
	close_pass(&pass);
	return err;
}

/* ---- how often ------------------------------------------------------------ */

static int take_passes(struct comm *p, unsigned int up_to)
{
	int err = 0;

	for (unsigned int most = 1; most <= up_to && !err; most++)
		err = take_pass(p, most, 0);
	return err ? err : comm_classify(p);
}

/* A pair that is like no other may have met something else: it has more passes, and if
 * it was that, then it is like others now. */
static int pass_lonely(struct comm *p, unsigned int passes)
{
	const size_t nlayers = p->matrix->nlayers;
	int err = 0, any = 0;

	for (size_t i = 0; i < p->nmeasured; i++)
		any |= is_lonely(p, &p->measured[i]);
	if (!any || p->nmeasured < 3 || passes + PASSES_LONELY > COMM_PASSES)
		return 0;
	for (unsigned int i = 1; i <= PASSES_LONELY && !err; i++)
		err = take_pass(p, passes + i, 1);
	if (!err)
		err = comm_classify(p);
	return err || p->matrix->nlayers == nlayers ? err : pass_lonely(p, passes + PASSES_LONELY);
}

/* 1: as before, 0: not; @layers becomes what is now. */
static int is_same(const struct comm *p, int *layers)
{
	int same = 1;

	for (size_t i = 0; i < p->nmeasured; i++) {
		same &= layers[i] == p->measured[i].layer;
		layers[i] = p->measured[i].layer;
	}
	return same;
}

static int pass_until_stable(struct comm *p)
{
	int *layers = calloc(p->nmeasured ? p->nmeasured : 1, sizeof(*layers));
	int err = layers ? take_passes(p, PASSES_FIRST) : -ENOMEM;
	unsigned int passes = PASSES_FIRST;
	int same = 0;

	if (!err)
		is_same(p, layers);
	while (!err && !same && passes + PASSES_MORE <= COMM_PASSES &&
	       p->carrier->ops->now(p->carrier) < p->deadline) {
		passes += PASSES_MORE;
		err = take_passes(p, passes);
		same = !err && is_same(p, layers);
	}
	free(layers);
	if (!err)
		err = pass_lonely(p, passes);
	if (!err && !same && p->nmeasured > 1)
		err = comm_note(p, "%s: the layers were not the same twice within the time; give more "
				"(--budget), or a machine with less other work",
				sonde_comm_method_name(p->carrier->method));
	return err;
}

/* Kins that are claimed to be alike and are not. Return: how many, or an error. */
static int divide_mixed(struct comm *p, unsigned int nfirst)
{
	const unsigned int nkins = p->nkins;
	int divided = 0, err = 0;
	size_t before;

	for (unsigned int kin = 0; kin < nkins && !err; kin++) {
		if (!is_mixed(p, kin))
			continue;
		before = p->nmeasured;
		err = divide(p, kin, nfirst);
		divided += p->nmeasured > before;
	}
	return err ? err : divided;
}

int comm_measure_pairs(struct comm *p)
{
	unsigned int nfirst;
	int err = list_pairs(p), divided;

	p->what = "pairs";
	if (!err)
		err = choose_first(p);
	nfirst = p->nkins;
	if (!err)
		err = pass_until_stable(p);
	for (int i = 0; i < 2 && !err && p->options->groups; i++) {
		divided = divide_mixed(p, nfirst);
		if (divided < 0)
			return divided;
		if (!divided)
			break;
		err = comm_note(p, "%s: pairs that are claimed to be alike are not, so %zu were "
				"measured", sonde_comm_method_name(p->carrier->method),
				p->nmeasured);
		if (!err)
			err = pass_until_stable(p);
	}
	return err;
}
