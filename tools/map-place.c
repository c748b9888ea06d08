// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * map-place - placements, what they cost, and a better one
 *
 * The best is looked for from several sides: what Scotch says, a greedy placement,
 * identity and round-robin. Each is refined by exchanging two ranks as long as that
 * makes it cheaper, by the same cost that it is judged by, and the cheapest is
 * taken: so it is never dearer than where the refinement began.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "map.h"

/* Edges that a refinement may look at: some seconds. Counted, so that the same input
 * gives the same placement. */
#define MOST_STEPS	400000000ull
/* A gain less than that of the total is rounding. */
#define LEAST_GAIN	1e-9

#define NSTARTS		4
#define NOBODY		((unsigned int)-1)

/* What the messages of one rank would cost at a place, but for those with @but. */
static double price_rank(const struct map_machine *machine, const struct map_matrix *m,
			 const unsigned int *place, unsigned int rank, unsigned int at,
			 unsigned int but)
{
	double ns = 0;

	for (size_t i = m->first[rank]; i < m->first[rank + 1]; i++) {
		const struct map_edge *e = &m->edge[i];

		if (e->to != but && place[e->to] != NOBODY)
			ns += map_cost(machine, at, place[e->to], e->messages, e->bytes);
	}
	return ns;
}

int map_price(const struct map_machine *machine, const struct map_matrix *m,
	      const unsigned int *place, struct map_price *price)
{
	double *link = calloc(machine->nnodes, sizeof(*link));

	*price = (struct map_price){ 0 };
	if (!link)
		return -ENOMEM;
	for (unsigned int r = 0; r < m->n; r++) {
		double ns = price_rank(machine, m, place, r, place[r], NOBODY);
		unsigned int node = machine->place[place[r]].node;

		price->total_ns += ns / 2;
		price->rank_ns = ns > price->rank_ns ? ns : price->rank_ns;
		for (size_t i = m->first[r]; i < m->first[r + 1]; i++) {
			const struct map_edge *e = &m->edge[i];

			if (machine->place[place[e->to]].node == node)
				continue;
			link[node] += e->bytes;
			price->network_bytes += e->bytes / 2;
		}
	}
	for (size_t i = 0; i < machine->nnodes; i++)
		price->link_bytes = link[i] > price->link_bytes ? link[i] : price->link_bytes;
	free(link);
	return 0;
}

/* ---- without looking at the matrix ---------------------------------------- */

void map_place_identity(size_t n, unsigned int *place)
{
	for (size_t r = 0; r < n; r++)
		place[r] = (unsigned int)r;
}

/* A node each in turn, as long as it has places. */
static void deal(const struct map_machine *machine, size_t n, unsigned int *place)
{
	size_t r = 0;

	for (unsigned int slot = 0; r < n; slot++)
		for (size_t i = 0; i < machine->n && r < n; i++)
			if (machine->place[i].slot == slot)
				place[r++] = (unsigned int)i;
}

/* The free place that is farthest from the one before, and then the first such one. */
static unsigned int find_farthest(const struct map_machine *machine, const char *is_taken,
				  unsigned int from)
{
	unsigned int best = NOBODY;

	for (unsigned int i = 0; i < machine->n; i++)
		if (!is_taken[i] && (best == NOBODY || map_distance(machine, from, i) >
						       map_distance(machine, from, best)))
			best = i;
	return best;
}

int map_place_round_robin(const struct map_machine *machine, size_t n, unsigned int *place)
{
	char *is_taken;

	if (machine->nnodes > 1) {
		deal(machine, n, place);
		return 0;
	}
	is_taken = calloc(machine->n, 1);
	if (!is_taken)
		return -ENOMEM;
	for (size_t r = 0; r < n; r++) {
		place[r] = r ? find_farthest(machine, is_taken, place[r - 1]) : 0;
		is_taken[place[r]] = 1;
	}
	free(is_taken);
	return 0;
}

/* ---- greedy --------------------------------------------------------------- */

/* By the slowest layer, which is what counts: how much two ranks have to say. */
static double weigh(const struct map_machine *machine, const struct map_edge *e)
{
	const struct map_layer *layer = &machine->layer[machine->nnodes > 1 ? MAP_NETWORK :
									      MAP_NODE];

	return e->messages * layer->message_ns + e->bytes * layer->byte_ns;
}

/* The next to be placed: who has most to say to those that are, else most at all. */
static unsigned int choose_rank(const struct map_matrix *m, const unsigned int *place,
				const double *bonds, const double *all)
{
	unsigned int best = NOBODY;

	for (unsigned int r = 0; r < m->n; r++)
		if (place[r] == NOBODY &&
		    (best == NOBODY || bonds[r] > bonds[best] ||
		     (bonds[r] == bonds[best] && all[r] > all[best])))
			best = r;
	return best;
}

static unsigned int choose_place(const struct map_machine *machine, const struct map_matrix *m,
				 const unsigned int *place, const char *is_taken, unsigned int rank)
{
	unsigned int best = NOBODY;
	double least = 0;

	for (unsigned int i = 0; i < machine->n; i++) {
		double ns;

		if (is_taken[i])
			continue;
		ns = price_rank(machine, m, place, rank, i, NOBODY);
		if (best == NOBODY || ns < least) {
			best = i;
			least = ns;
		}
	}
	return best;
}

/* One after another to where it is cheapest beside those that are placed. */
static int place_greedily(const struct map_machine *machine, const struct map_matrix *m,
			  unsigned int *place)
{
	double *bonds = calloc(2 * m->n, sizeof(*bonds)), *all = bonds + m->n;
	char *is_taken = calloc(machine->n, 1);
	int err = bonds && is_taken ? 0 : -ENOMEM;

	for (unsigned int r = 0; r < m->n && !err; r++) {
		place[r] = NOBODY;
		for (size_t i = m->first[r]; i < m->first[r + 1]; i++)
			all[r] += weigh(machine, &m->edge[i]);
	}
	for (size_t n = 0; n < m->n && !err; n++) {
		unsigned int r = choose_rank(m, place, bonds, all);

		place[r] = choose_place(machine, m, place, is_taken, r);
		is_taken[place[r]] = 1;
		for (size_t i = m->first[r]; i < m->first[r + 1]; i++)
			bonds[m->edge[i].to] += weigh(machine, &m->edge[i]);
	}
	free(bonds);
	free(is_taken);
	return err;
}

/* ---- refinement ----------------------------------------------------------- */

/* What is gained if @r goes to @at, and @other, if there is one, to where @r was. */
static double get_gain(const struct map_machine *machine, const struct map_matrix *m,
		       const unsigned int *place, unsigned int r, unsigned int at,
		       unsigned int other)
{
	double gain = price_rank(machine, m, place, r, place[r], other) -
		      price_rank(machine, m, place, r, at, other);

	if (other != NOBODY)
		gain += price_rank(machine, m, place, other, at, r) -
			price_rank(machine, m, place, other, place[r], r);
	return gain;
}

static size_t count_edges(const struct map_matrix *m, unsigned int rank)
{
	return rank == NOBODY ? 0 : m->first[rank + 1] - m->first[rank];
}

/* The best exchange for one rank, done if it gains. */
static int improve(const struct map_machine *machine, const struct map_matrix *m,
		   unsigned int *place, unsigned int *who, unsigned int r, double least,
		   unsigned long long *steps)
{
	unsigned int from = place[r], best = NOBODY;
	double most = least;

	for (unsigned int at = 0; at < machine->n && *steps < MOST_STEPS; at++) {
		double gain;

		if (at == from)
			continue;
		*steps += 2 + 2 * (count_edges(m, r) + count_edges(m, who[at]));
		gain = get_gain(machine, m, place, r, at, who[at]);
		if (gain > most) {
			most = gain;
			best = at;
		}
	}
	if (best == NOBODY)
		return 0;
	if (who[best] != NOBODY)
		place[who[best]] = from;
	who[from] = who[best];
	who[best] = r;
	place[r] = best;
	return 1;
}

static int refine(const struct map_machine *machine, const struct map_matrix *m,
		  unsigned int *place, void (*tell)(double done), double before)
{
	unsigned int *who = malloc(machine->n * sizeof(*who));
	unsigned long long steps = 0;
	struct map_price price;
	int has_changed = 1;

	if (!who || map_price(machine, m, place, &price)) {
		free(who);
		return -ENOMEM;
	}
	memset(who, 0xff, machine->n * sizeof(*who));
	for (unsigned int r = 0; r < m->n; r++)
		who[place[r]] = r;
	while (has_changed && steps < MOST_STEPS) {
		has_changed = 0;
		for (unsigned int r = 0; r < m->n; r++) {
			if (tell)
				tell(before + (double)steps / MOST_STEPS / NSTARTS);
			if (count_edges(m, r))
				has_changed |= improve(machine, m, place, who, r,
						       price.total_ns * LEAST_GAIN, &steps);
		}
	}
	free(who);
	return 0;
}

/* ---- the best of all ------------------------------------------------------ */

struct start {
	const char *how;
	int (*place)(const struct map_machine *machine, const struct map_matrix *m,
		     unsigned int *place);
};

static int start_identity(const struct map_machine *machine, const struct map_matrix *m,
			  unsigned int *place)
{
	(void)machine;
	map_place_identity(m->n, place);
	return 0;
}

static int start_round_robin(const struct map_machine *machine, const struct map_matrix *m,
			     unsigned int *place)
{
	return map_place_round_robin(machine, m->n, place);
}

/* In this order: of two that cost the same the first is taken, so that what is good
 * enough stays as it is. */
static const struct start starts[NSTARTS] = {
	{ "exchange", start_identity },
	{ "exchange", start_round_robin },
	{ "greedy", place_greedily },
	{ "scotch", map_place_scotch },
};

int map_place_best(const struct map_machine *machine, const struct map_matrix *m,
		   unsigned int *place, const char **how, void (*tell)(double done))
{
	unsigned int *trial = malloc((m->n + 1) * sizeof(*trial));
	struct map_price price, best = { 0 };
	int err = trial ? 0 : -ENOMEM;

	*how = NULL;
	for (size_t i = 0; i < NSTARTS && !err; i++) {
		err = starts[i].place(machine, m, trial);
		if (err == -ENOSYS || err == -EIO) {
			err = 0;
			continue;
		}
		if (!err)
			err = refine(machine, m, trial, tell, (double)i / NSTARTS);
		if (!err)
			err = map_price(machine, m, trial, &price);
		if (err || (*how && price.total_ns >= best.total_ns * (1 - LEAST_GAIN)))
			continue;
		*how = starts[i].how;
		best = price;
		memcpy(place, trial, m->n * sizeof(*place));
	}
	free(trial);
	return err;
}
