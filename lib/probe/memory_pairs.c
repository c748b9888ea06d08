// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * memory_pairs - which two CPUs disturb each other, and how much
 *
 * In each round both alone and both at once, so that a drift of the machine is in
 * all three. Of pairs that are claimed to be alike some are measured, by lot; if
 * these are not all of one class, so are the others.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "memory.h"

/* Pairs of a kinship that are measured in any case. */
#define SAMPLE		12
/* Of the whole probe's work, the pairs. */
#define SHARE		0.5

/**
 * struct candidate - two CPUs, by index
 * @kin: see memory_kinship()
 * @is_done: they were measured
 */
struct candidate {
	size_t a, b, kin;
	int is_done;
};

/**
 * struct plan - all pairs
 * @pairs: @n
 * @wanted: how many of them are to be measured, as far as is known
 */
struct plan {
	struct candidate *pairs;
	size_t n;
	size_t wanted;
};

static int run_once(struct memory *p, unsigned int a, unsigned int b, double *rate, size_t *kept)
{
	size_t n = 0;

	memory_set_lane(p, n++, a, SONDE_STREAM_COPY, p->bytes);
	if (b != a)
		memory_set_lane(p, n++, b, SONDE_STREAM_COPY, p->bytes);
	return memory_run(p, n, rate, kept);
}

/* What both get of what they get alone, or NAN. */
static int take_round(struct memory *p, const unsigned int cpu[2], struct memory_rounds *r)
{
	double alone[2], both[2];
	size_t kept;
	int err = run_once(p, cpu[0], cpu[0], &alone[0], &kept);

	if (!err)
		err = run_once(p, cpu[1], cpu[1], &alone[1], &kept);
	if (!err)
		err = run_once(p, cpu[0], cpu[1], both, &kept);
	if (!err)
		memory_add(r, sqrt(both[0] / alone[0] * (both[1] / alone[1])), 2 * MEMORY_WINDOWS,
			   kept);
	return err;
}

static int measure_pair(struct memory *p, struct sonde_memory_pair *pair)
{
	struct memory_rounds r = { .n = 0 };
	struct sonde_memory_rate rate;
	int err = 0;

	for (unsigned int i = 0; i < MEMORY_TRIES && r.n < MEMORY_ROUNDS && !err; i++)
		err = take_round(p, pair->cpu, &r);
	if (err)
		return err;
	err = memory_add_spread(p, &r);
	rate = memory_rate(&r);
	pair->ratio = rate.bytes_s;
	pair->ci = rate.ci;
	pair->rounds = rate.rounds;
	pair->discarded = rate.discarded;
	return err;
}

static int add_pair(struct memory *p, struct plan *plan, struct candidate *c)
{
	struct sonde_memory_report *r = p->report;
	struct sonde_memory_pair *pairs;
	int err;

	pairs = realloc(r->pairs, (r->npairs + 1) * sizeof(*pairs));
	if (!pairs)
		return -ENOMEM;
	r->pairs = pairs;
	pairs[r->npairs] = (struct sonde_memory_pair){
		.cpu = { r->cpus[c->a], r->cpus[c->b] }, .group = -1,
	};
	err = measure_pair(p, &pairs[r->npairs]);
	if (err)
		return err;
	r->npairs++;
	c->is_done = 1;
	p->done += SHARE / (double)plan->wanted;
	return 0;
}

static int list_pairs(const struct memory *p, struct plan *plan)
{
	size_t n = p->report->ncpus;

	plan->pairs = calloc(n * (n - 1) / 2, sizeof(*plan->pairs));
	if (!plan->pairs)
		return -ENOMEM;
	for (size_t a = 0; a < n; a++)
		for (size_t b = a + 1; b < n; b++)
			plan->pairs[plan->n++] = (struct candidate){
				.a = a, .b = b, .kin = memory_kinship(p, a, b)
			};
	return 0;
}

static size_t count_kin(const struct plan *plan, size_t kin)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->n; i++)
		count += plan->pairs[i].kin == kin;
	return count;
}

/* How many of a kinship are measured at first. */
static size_t sample_of(const struct memory *p, size_t count)
{
	const struct sonde_memory_options *o = p->options;

	return !o->groups || o->all_pairs || count < SAMPLE ? count : SAMPLE;
}

/* So many pairs of the kinship by lot, in the order of the list (Knuth, 3.4.2 S). */
static int measure_kin(struct memory *p, struct plan *plan, size_t kin)
{
	size_t left = count_kin(plan, kin), wanted = sample_of(p, left);
	int err = 0;

	for (size_t i = 0; i < plan->n && wanted && !err; i++) {
		if (plan->pairs[i].kin != kin)
			continue;
		if (sonde_rng_below(&p->rng, left--) >= wanted)
			continue;
		err = add_pair(p, plan, &plan->pairs[i]);
		wanted--;
	}
	return err;
}

/* Whether those of a kinship that were measured are of several classes. */
static int is_mixed(const struct memory *p, size_t kin)
{
	const struct sonde_memory_report *r = p->report;
	int class = -1;

	for (size_t i = 0; i < r->npairs; i++) {
		const struct sonde_memory_pair *pair = &r->pairs[i];

		if (pair->group < 0 || memory_kinship(p, memory_index(p, pair->cpu[0]),
						      memory_index(p, pair->cpu[1])) != kin)
			continue;
		if (class >= 0 && pair->group != class)
			return 1;
		class = pair->group;
	}
	return 0;
}

static int measure_rest(struct memory *p, struct plan *plan, size_t kin)
{
	int err = 0;

	for (size_t i = 0; i < plan->n && !err; i++)
		if (plan->pairs[i].kin == kin && !plan->pairs[i].is_done)
			err = add_pair(p, plan, &plan->pairs[i]);
	return err;
}

/* Those that are claimed to be alike and are not. */
static int measure_mixed(struct memory *p, struct plan *plan)
{
	size_t before = p->report->npairs, count;
	int err = 0;

	for (size_t kin = 0; kin <= p->options->depth && !err; kin++) {
		count = count_kin(plan, kin);
		if (sample_of(p, count) == count || !is_mixed(p, kin))
			continue;
		plan->wanted += count;
		err = memory_note(p, "of %zu pairs of CPUs that are claimed to be alike not all "
				  "lose alike, so all were measured", count);
		if (!err)
			err = measure_rest(p, plan, kin);
	}
	return err || p->report->npairs == before ? err : memory_classify(p);
}

/* A pair that is like no other may have met something else: it is measured anew. */
static int measure_lonely(struct memory *p)
{
	struct sonde_memory_report *r = p->report;
	size_t again = 0;
	int err = 0;

	for (size_t i = 0; i < r->npairs && r->npairs > 2 && !err; i++) {
		if (r->pairs[i].group < 0 || r->classes[r->pairs[i].group].npairs > 1)
			continue;
		err = measure_pair(p, &r->pairs[i]);
		again++;
	}
	return err || !again ? err : memory_classify(p);
}

static int note_unproven(struct memory *p)
{
	const struct sonde_memory_report *r = p->report;
	size_t none = 0;

	for (size_t i = 0; i < r->npairs; i++)
		none += !(r->pairs[i].ratio > 0);
	return none ? memory_note(p, "%zu of %zu pairs were not proven to have run at the same "
				  "time: the CPUs are too busy", none, r->npairs) : 0;
}

int memory_measure_pairs(struct memory *p)
{
	struct plan plan = { .n = 0 };
	int err = list_pairs(p, &plan);

	p->what = "two CPUs at once";
	for (size_t kin = 0; kin <= p->options->depth; kin++)
		plan.wanted += sample_of(p, count_kin(&plan, kin));
	for (size_t kin = 0; kin <= p->options->depth && !err; kin++)
		err = measure_kin(p, &plan, kin);
	if (!err)
		err = memory_classify(p);
	if (!err)
		err = measure_mixed(p, &plan);
	if (!err)
		err = measure_lonely(p);
	free(plan.pairs);
	return err ? err : note_unproven(p);
}
