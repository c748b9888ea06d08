// SPDX-License-Identifier: LGPL-2.1-or-later
#include "handover.h"
#include "ring.h"
#include "shuffle.h"

/* Lines of a chunk that are walked: one of each pair, or at a few offsets. */
#define CHUNK_PAIRS	(METER_CHUNK_LINES / 2)
#define OFFSETS		4
/* A set is so many windows, if that makes them neither too short nor too long. */
#define WINDOWS		16
#define STEPS_LEAST	64
#define STEPS_MOST	256
#define COLD_WINDOWS	32
/* Lines that any first level holds tell how far apart two CPUs are. */
#define DISTANCE_CHUNKS	4
/* From the load to the end of the first read, but for what that itself takes, over the
 * same of the second: more, and by more than the hand-over itself takes, means
 * that one of the CPUs was busy with something else meanwhile, which the lines need
 * not have survived. */
#define LATE		1.5
#define LATE_S		50e-6

/* Some pairs of a chunk, and a line of each. */
static size_t draw_offsets(struct share *s, const struct share_plan *plan, uint32_t *offsets)
{
	for (uint32_t i = 0; i < CHUNK_PAIRS; i++)
		offsets[i] = i;
	shuffle(&s->rng, offsets, CHUNK_PAIRS);
	for (uint32_t i = 0; i < CHUNK_PAIRS; i++)
		offsets[i] = 2 * offsets[i] + (uint32_t)sonde_rng_below(&s->rng, 2);
	return plan->sweep ? OFFSETS : CHUNK_PAIRS;
}

/*
 * These lines of the @n chunks @chunks to @lines, as places: in random order
 * within a group of chunks, whose translations fit in any TLB, then the next.
 */
static size_t walk_offsets(struct share *s, const uint32_t *chunks, size_t n,
			   const uint32_t *offsets, size_t noffsets, uint32_t *lines)
{
	uint32_t *at = lines, *group = lines;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < noffsets; k++)
			*at++ = (chunks[i] * METER_CHUNK_LINES + offsets[k]) * METER_LINE_PLACES;
		if ((i + 1) % RING_GROUP && i + 1 < n)
			continue;
		shuffle(&s->rng, group, (size_t)(at - group));
		group = at;
	}
	return n * noffsets;
}

/* Translations of the set, and the loops themselves, to where @cpu has them. */
static int warm_reader(struct share *s, const struct share_plan *plan, unsigned int cpu)
{
	struct meter *m = s->meter;
	int err = m->ops->move(m, cpu);

	if (err)
		return err;
	ring_one_a_page(&s->rng, s->chunks, plan->set, s->lines);
	for (size_t i = 0; i < plan->set; i++)
		s->lines[i] *= METER_LINE_PLACES;
	m->ops->link(m, s->lines, plan->set);
	m->ops->chase(m, 2 * plan->set, METER_UNROLL, s->windows, 2);
	return 0;
}

/* Ends where the set begins; *@begin is when the set is linked, and about to be loaded. */
static int load(struct share *s, unsigned int cpu, size_t nset, size_t nsweep, double *begin)
{
	struct meter *m = s->meter;
	int err = m->ops->move(m, cpu);

	if (err)
		return err;
	m->ops->link(m, s->lines, nset + nsweep);
	*begin = m->ops->now(m);
	/* A set without a sweep settles in its level. */
	m->ops->chase(m, nsweep ? nset + nsweep : 2 * nset, METER_UNROLL, s->windows, 0);
	return 0;
}

static unsigned int choose_steps(size_t nset)
{
	size_t steps = nset / WINDOWS;

	steps = steps < STEPS_MOST ? steps : STEPS_MOST;
	steps = steps > STEPS_LEAST ? steps : STEPS_LEAST;
	return (unsigned int)(steps < nset ? steps : nset);
}

/* Seconds that @n windows of @steps loads take at @cycles a load, uninterrupted. */
static double expect(const struct share *s, size_t n, unsigned int steps, double cycles)
{
	uint64_t chain = UINT64_MAX;

	for (size_t i = 0; i < n; i++)
		chain = s->windows[i].chain < chain ? s->windows[i].chain : chain;
	return cycles * (double)n * steps / s->meter->chain_cycles * (double)chain *
	       s->meter->tick_ns * 1e-9;
}

int handover_take(struct share *s, const struct share_plan *plan, unsigned int from,
		  unsigned int to, struct handover *out)
{
	uint32_t offsets[CHUNK_PAIRS];
	struct meter *m = s->meter;
	size_t nset, nsweep, n;
	double begin, read, again;
	unsigned int steps;
	int err;

	share_draw(s, plan->set + plan->sweep, plan->level == 1);
	err = warm_reader(s, plan, to);
	if (err)
		return err;
	n = draw_offsets(s, plan, offsets);
	nset = walk_offsets(s, s->chunks, plan->set, offsets, n, s->lines);
	nsweep = walk_offsets(s, s->chunks + plan->set, plan->sweep, offsets, n,
			      s->lines + nset);
	err = load(s, from, nset, nsweep, &begin);
	if (!err)
		err = m->ops->move(m, to);
	if (err)
		return err;
	steps = choose_steps(nset);
	n = nset / steps;
	*out = (struct handover){ .windows = 2 * n };
	m->ops->chase(m, 0, steps, s->windows, n);
	read = m->ops->now(m);
	out->first = share_cycles(s, s->windows, n, steps, &out->discarded);
	read -= expect(s, n, steps, out->first);
	again = m->ops->now(m);
	m->ops->chase(m, nset - n * steps + nsweep, steps, s->windows, n);
	out->is_late = read - begin > LATE * (m->ops->now(m) - again) + LATE_S;
	out->again = share_cycles(s, s->windows, n, steps, &out->discarded);
	return 0;
}

int handover_distance(struct share *s, unsigned int from, unsigned int to, double *cycles)
{
	const struct share_plan few = { .level = 1, .set = DISTANCE_CHUNKS };
	struct handover h;
	int err = handover_take(s, &few, from, to, &h);

	if (!err)
		*cycles = h.first;
	return err;
}

int handover_cold(struct share *s, unsigned int cpu, double *cycles)
{
	struct meter *m = s->meter;
	size_t discarded = 0, n = s->nchunks * METER_CHUNK_LINES, windows = COLD_WINDOWS;
	int err = m->ops->move(m, cpu);

	if (err)
		return err;
	if (windows * STEPS_MOST > n / 8)
		windows = n / 8 / STEPS_MOST ? n / 8 / STEPS_MOST : 1;
	ring_sweeps(&s->rng, s->chunks, s->nchunks, s->lines);
	for (size_t i = 0; i < n; i++)
		s->lines[i] *= METER_LINE_PLACES;
	m->ops->link(m, s->lines, n);
	m->ops->chase(m, 0, STEPS_MOST, s->windows, windows);
	*cycles = share_cycles(s, s->windows, windows, STEPS_MOST, &discarded);
	return 0;
}
