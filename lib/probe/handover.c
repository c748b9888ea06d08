// SPDX-License-Identifier: LGPL-2.1-or-later
#include "handover.h"
#include "ring.h"

/* Lines of a chunk that are walked: one of each pair. */
#define CHUNK_PAIRS	(METER_CHUNK_LINES / 2)
/* Loads of a window, or all of a smaller set. */
#define STEPS		256
#define COLD_WINDOWS	32

/* One line of each pair of the @n chunks @chunks to @lines, as places. */
static size_t walk_pairs(struct share *s, const uint32_t *chunks, size_t n, uint32_t *lines)
{
	/* The other lines of the pairs are the second half of the turn. */
	ring_sweeps(&s->rng, chunks, n, lines);
	for (size_t i = 0; i < n * CHUNK_PAIRS; i++)
		lines[i] *= METER_LINE_PLACES;
	return n * CHUNK_PAIRS;
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

/* Ends where the set begins. */
static int load(struct share *s, const struct share_plan *plan, unsigned int cpu, size_t nset,
		size_t nsweep)
{
	struct meter *m = s->meter;
	size_t turn = nset + nsweep;
	int err = m->ops->move(m, cpu);

	if (err)
		return err;
	m->ops->link(m, s->lines, turn);
	/* A set without a sweep settles in its level. */
	m->ops->chase(m, plan->sweep ? turn : 2 * turn, METER_UNROLL, s->windows, 0);
	return 0;
}

int handover_take(struct share *s, const struct share_plan *plan, unsigned int from,
		  unsigned int to, struct handover *out)
{
	struct meter *m = s->meter;
	size_t nset, nsweep, n;
	unsigned int steps;
	int err;

	share_draw(s, plan->set + plan->sweep, plan->level == 1);
	err = warm_reader(s, plan, to);
	if (err)
		return err;
	nset = walk_pairs(s, s->chunks, plan->set, s->lines);
	nsweep = walk_pairs(s, s->chunks + plan->set, plan->sweep, s->lines + nset);
	err = load(s, plan, from, nset, nsweep);
	if (!err)
		err = m->ops->move(m, to);
	if (err)
		return err;
	steps = nset < 2 * STEPS ? (unsigned int)nset : STEPS;
	n = nset / steps;
	*out = (struct handover){ .windows = 2 * n };
	m->ops->chase(m, 0, steps, s->windows, n);
	out->first = share_cycles(s, s->windows, n, steps, &out->discarded);
	m->ops->chase(m, nset - n * steps + nsweep, steps, s->windows, n);
	out->again = share_cycles(s, s->windows, n, steps, &out->discarded);
	return 0;
}

int handover_cold(struct share *s, unsigned int cpu, double *cycles)
{
	struct meter *m = s->meter;
	size_t discarded = 0, n = s->nchunks * METER_CHUNK_LINES, windows = COLD_WINDOWS;
	int err = m->ops->move(m, cpu);

	if (err)
		return err;
	if (windows * STEPS > n / 8)
		windows = n / 8 / STEPS ? n / 8 / STEPS : 1;
	ring_sweeps(&s->rng, s->chunks, s->nchunks, s->lines);
	for (size_t i = 0; i < n; i++)
		s->lines[i] *= METER_LINE_PLACES;
	m->ops->link(m, s->lines, n);
	m->ops->chase(m, 0, STEPS, s->windows, windows);
	*cycles = share_cycles(s, s->windows, windows, STEPS, &discarded);
	return 0;
}
