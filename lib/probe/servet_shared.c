// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Figure 4 of Servet: who shares a cache. mcalibrator's walk over two thirds of
 * the cache by one CPU is the reference; two CPUs, each with an array of its
 * own, cannot both keep theirs in a cache that they share.
 *
 * Left open by the paper, and chosen here: the reference is of the first CPU, as
 * its "one core" is not named; of a pair, which both have a cost, the mean; an
 * array is walked once untimed, then as figure 1 does.
 */
#include <errno.h>
#include <stdlib.h>

#include "servet.h"

#define LEAST_LOADS	8192
#define PARTS		8
#define TRIES		3

/**
 * struct pair_walk - arrays for two CPUs
 * @n: places of each
 * @places: of both, one after the other
 */
struct pair_walk {
	struct meter *m;
	size_t n;
	uint32_t *places;
};

static double mean_cycles(const struct meter *m, const struct meter_window *w, unsigned int steps)
{
	double sum = 0;

	for (size_t i = 0; i < PARTS; i++)
		sum += (double)w[i].ticks / steps * m->chain_cycles / (double)w[i].chain;
	return sum / PARTS;
}

/* mcalibrator on the first @nlanes of @cpus at once: mean cycles a load. */
static int walk(const struct pair_walk *p, const unsigned int *cpus, size_t nlanes, double *cycles)
{
	size_t loads = p->n < LEAST_LOADS ? LEAST_LOADS : p->n;
	unsigned int steps = (unsigned int)(loads / PARTS / METER_UNROLL * METER_UNROLL);
	struct meter_window w[2][PARTS];
	struct meter_lane lanes[2];
	int err = 0;

	for (size_t i = 0; i < nlanes; i++)
		lanes[i] = (struct meter_lane){
			.cpu = cpus[i],
			.places = p->places + i * p->n,
			.n = p->n,
			.skip = (p->n + METER_UNROLL - 1) / METER_UNROLL * METER_UNROLL,
			.steps = steps,
			.out = w[i],
			.nout = PARTS,
		};
	/* Lanes that did not come together in time may the next time. */
	for (unsigned int i = 0; i < TRIES; i++) {
		err = p->m->ops->together(p->m, lanes, nlanes);
		if (err != -EAGAIN)
			break;
	}
	if (err)
		return err;
	*cycles = 0;
	for (size_t i = 0; i < nlanes; i++)
		*cycles += mean_cycles(p->m, w[i], steps) / (double)nlanes;
	return 0;
}

static int open_walk(struct pair_walk *p, struct meter *m, uint64_t bytes)
{
	size_t chunks = (size_t)(bytes * 2 / 3 / METER_CHUNK);

	if (!chunks)
		return -EINVAL;
	if (chunks > m->max_bytes / METER_CHUNK / 2)
		return -ENOMEM;
	p->m = m;
	p->n = chunks * (METER_CHUNK / SERVET_STRIDE);
	p->places = malloc(2 * p->n * sizeof(*p->places));
	if (!p->places)
		return -ENOMEM;
	for (size_t i = 0; i < 2 * p->n; i++)
		p->places[i] = (uint32_t)(i * (SERVET_STRIDE / METER_PLACE));
	return m->ops->pages(m, 2 * chunks);
}

static int walk_pairs(const struct pair_walk *p, const unsigned int *cpus, size_t n, double *ratio,
		      int (*progress)(void *ctx, double done, const char *what), void *ctx)
{
	double alone, both, pairs = (double)(n * (n - 1) / 2), done = 0;
	int err = walk(p, cpus, 1, &alone);

	for (size_t a = 0; a < n && !err; a++) {
		ratio[a * n + a] = 0;
		for (size_t b = a + 1; b < n && !err; b++) {
			const unsigned int pair[2] = { cpus[a], cpus[b] };

			if (progress && progress(ctx, done++ / pairs, "Servet's pairs"))
				return -ECANCELED;
			err = walk(p, pair, 2, &both);
			ratio[a * n + b] = ratio[b * n + a] = err ? 0 : both / alone;
		}
	}
	return err;
}

int servet_shared(struct meter *m, uint64_t bytes, const unsigned int *cpus, size_t n,
		  double *ratio, int (*progress)(void *ctx, double done, const char *what),
		  void *ctx)
{
	struct pair_walk p = { .places = NULL };
	int err = n < 2 ? -EINVAL : m->ops->together ? open_walk(&p, m, bytes) : -EOPNOTSUPP;

	if (!err)
		err = walk_pairs(&p, cpus, n, ratio, progress, ctx);
	free(p.places);
	return err;
}
