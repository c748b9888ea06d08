// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "groups.h"

/* Up to so many representatives one after the other is no more than halving. */
#define FEW	3

/**
 * struct search - a search at work
 * @group: of each CPU placed so far: index of its group's first
 * @unsure: of each CPU
 * @reps: the first of each group that may still grow, @nreps
 * @tried: of each CPU as a representative: for whom it was compared last, + 1
 * @doubts: representatives that could not be told from the CPU being placed
 * @ndoubts: how many
 * @distance: from the CPU that was placed last by a match to the one it matched
 * @cpuset: room for a pool
 * @can_pool: whether there is a test of many at once
 */
struct search {
	const struct groups_ops *ops;
	void *ctx;
	const unsigned int *cpus;
	size_t n;
	size_t *group;
	unsigned char *unsure;
	size_t *reps, nreps;
	size_t *tried;
	size_t *doubts, ndoubts;
	unsigned int distance;
	unsigned int *cpuset;
	int can_pool;
};

static void mark_unsure(struct search *s, size_t of)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->group[i] == s->group[of])
			s->unsure[i] = 1;
}

/* Whether @i belongs to the group of @rep; then it is in. 1, 0, or an error. */
static int try_group(struct search *s, size_t i, size_t rep)
{
	int same;

	if (s->tried[rep] == i + 1)
		return 0;
	s->tried[rep] = i + 1;
	same = s->ops->same(s->ctx, s->cpus[rep], s->cpus[i]);
	if (same == -ENODATA) {
		s->doubts[s->ndoubts++] = rep;
		return 0;
	}
	if (same == 1) {
		s->group[i] = rep;
		s->distance = s->cpus[i] - s->cpus[rep];
	}
	return same;
}

/* Who is @distance before @i, if its group is among those that may grow. */
static int try_distance(struct search *s, size_t i)
{
	for (size_t j = 0; s->distance && j < i; j++) {
		if (s->cpus[j] + s->distance != s->cpus[i])
			continue;
		for (size_t r = 0; r < s->nreps; r++)
			if (s->reps[r] == s->group[j])
				return try_group(s, i, s->group[j]);
	}
	return 0;
}

/* Whether one of @reps[0..@n) disturbs @i: 1, 0, GROUPS_NO_WORD, or an error. */
static int pool(struct search *s, size_t i, const size_t *reps, size_t n)
{
	unsigned char answer;
	int err;

	s->cpuset[0] = s->cpus[i];
	for (size_t r = 0; r < n; r++)
		s->cpuset[r + 1] = s->cpus[reps[r]];
	err = s->ops->alone(s->ctx, s->cpuset, n + 1, 1, &answer);
	if (err == -EOPNOTSUPP) {
		s->can_pool = 0;
		return GROUPS_NO_WORD;
	}
	if (err)
		return err;
	return answer == GROUPS_NO_WORD ? GROUPS_NO_WORD : !answer;
}

static int try_each(struct search *s, size_t i, const size_t *reps, size_t n)
{
	int found = 0;

	for (size_t r = 0; r < n && !found; r++)
		found = try_group(s, i, reps[r]);
	return found;
}

/* One of @reps[0..@n) disturbs @i: the half that does, and so on. */
static int halve(struct search *s, size_t i, const size_t *reps, size_t n)
{
	size_t half;
	int disturbs;

	while (n > FEW) {
		half = n / 2;
		disturbs = pool(s, i, reps, half);
		if (disturbs < 0)
			return disturbs;
		if (disturbs == GROUPS_NO_WORD)
			break;
		reps += disturbs ? 0 : half;
		n = disturbs ? half : n - half;
	}
	return try_each(s, i, reps, n);
}

static int try_pooled(struct search *s, size_t i)
{
	int found;

	if (!s->can_pool || s->nreps <= FEW)
		return try_each(s, i, s->reps, s->nreps);
	found = pool(s, i, s->reps, s->nreps);
	if (found == 1)
		found = halve(s, i, s->reps, s->nreps);
	else if (found == 0)
		return 0;
	else if (found == GROUPS_NO_WORD)
		found = 0;
	/* What a pool says must not hide a group: the slow way, if it was wrong. */
	return found ? found : try_each(s, i, s->reps, s->nreps);
}

static int place(struct search *s, size_t i)
{
	int found;

	s->ndoubts = 0;
	found = try_distance(s, i);
	if (!found && s->nreps)
		found = try_group(s, i, s->reps[s->nreps - 1]);
	if (!found)
		found = try_pooled(s, i);
	if (found < 0)
		return found;
	if (found)
		return 0;
	s->group[i] = i;
	s->reps[s->nreps++] = i;
	for (size_t d = 0; d < s->ndoubts; d++) {
		mark_unsure(s, s->doubts[d]);
		mark_unsure(s, i);
	}
	return 0;
}

/* @i and @j are in one group, or not: is that so? */
static int verify(struct search *s, size_t i, size_t j)
{
	int same = s->ops->same(s->ctx, s->cpus[i], s->cpus[j]);

	if (same < 0 && same != -ENODATA)
		return same;
	if (same == (s->group[i] == s->group[j]))
		return 0;
	mark_unsure(s, i);
	mark_unsure(s, j);
	return 0;
}

static int find_alone(struct search *s, unsigned char *alone)
{
	int err;

	memset(alone, 0, s->n);
	if (!s->can_pool || s->n < 3)
		return 0;
	err = s->ops->alone(s->ctx, s->cpus, s->n, s->n, alone);
	if (err == -EOPNOTSUPP) {
		s->can_pool = 0;
		memset(alone, 0, s->n);
		return 0;
	}
	return err;
}

static int place_all(struct search *s, const unsigned char *alone)
{
	int err = 0;

	for (size_t i = 0; i < s->n && !err; i++) {
		if (alone[i] == 1)
			s->group[i] = i;
		else
			err = place(s, i);
		if (!err && s->ops->placed)
			err = s->ops->placed(s->ctx, i + 1);
	}
	return err;
}

/* Who is alone, beside the CPU next to it; and pairs at random. */
static int verify_all(struct search *s, struct sonde_rng *rng, const unsigned char *alone)
{
	size_t rounds = 0, i, j;
	int err = 0;

	for (i = 0; i + 1 < s->n && !err; i++)
		if (alone[i] == 1 || alone[i + 1] == 1)
			err = verify(s, i, i + 1);
	while (s->n >> rounds)
		rounds++;
	for (size_t r = 0; s->n > 2 && r < 2 * rounds && !err; r++) {
		i = sonde_rng_below(rng, s->n);
		j = (i + 1 + sonde_rng_below(rng, s->n - 1)) % s->n;
		err = verify(s, i < j ? i : j, i < j ? j : i);
	}
	return err;
}

int groups_find(const struct groups_ops *ops, void *ctx, struct sonde_rng *rng,
		const unsigned int *cpus, size_t n, size_t *group, unsigned char *unsure)
{
	struct search s = {
		.ops = ops, .ctx = ctx, .cpus = cpus, .n = n, .group = group, .unsure = unsure,
		.can_pool = ops->alone != NULL,
	};
	unsigned char *alone = calloc(n, 1);
	int err = -ENOMEM;

	s.reps = calloc(n, sizeof(*s.reps));
	s.tried = calloc(n, sizeof(*s.tried));
	s.doubts = calloc(n, sizeof(*s.doubts));
	s.cpuset = calloc(n + 1, sizeof(*s.cpuset));
	memset(unsure, 0, n);
	/* No group yet: no index of a CPU. */
	for (size_t i = 0; i < n; i++)
		group[i] = n;
	if (alone && s.reps && s.tried && s.doubts && s.cpuset)
		err = find_alone(&s, alone);
	if (!err)
		err = place_all(&s, alone);
	if (!err)
		err = verify_all(&s, rng, alone);
	free(alone);
	free(s.reps);
	free(s.tried);
	free(s.doubts);
	free(s.cpuset);
	return err;
}
