// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * map-scotch - a first placement by Scotch's static mapping
 *
 * The machine is given as a tree of nodes, groups of CPUs that share a cache, and
 * CPUs, with the cost of a byte as the length of the way. Scotch balances the load up to
 * a tolerance and may put two ranks on one place: who is one too many goes to the
 * nearest free one.
 */
#include <errno.h>
#include "map.h"

#ifndef HAVE_SCOTCH
int map_place_scotch(const struct map_machine *machine, const struct map_matrix *m,
		     unsigned int *place)
{
	(void)machine;
	(void)m;
	(void)place;
	return -ENOSYS;
}
#else
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <scotch/scotch.h>

/* Sums of loads must stay within a SCOTCH_Num of 32 bits, whatever it was built with. */
#define MOST_LOAD	(1 << 20)
#define MOST_TOTAL	1e9
#define TOLERANCE	0.01

/* ---- the job -------------------------------------------------------------- */

struct job {
	SCOTCH_Num *first, *to, *load;
	SCOTCH_Graph graph;
};

static double weigh(const struct map_machine *machine, const struct map_edge *e)
{
	const struct map_layer *far = &machine->layer[MAP_NETWORK];

	/* In bytes: a message counts as what could be sent meanwhile. */
	return e->bytes + e->messages * far->message_ns / far->byte_ns;
}

static void set_loads(struct job *job, const struct map_machine *machine,
		      const struct map_matrix *m)
{
	size_t n = m->first[m->n];
	double most = 0, total = 0, scale;

	for (size_t i = 0; i < n; i++) {
		double w = weigh(machine, &m->edge[i]);

		most = w > most ? w : most;
		total += w;
	}
	scale = fmin(MOST_LOAD / most, MOST_TOTAL / total);
	for (size_t i = 0; i < n; i++) {
		job->to[i] = (SCOTCH_Num)m->edge[i].to;
		job->load[i] = (SCOTCH_Num)fmax(1, round(weigh(machine, &m->edge[i]) * scale));
	}
}

static int make_job(struct job *job, const struct map_machine *machine,
		    const struct map_matrix *m)
{
	size_t n = m->first[m->n];

	job->first = calloc(m->n + 1, sizeof(*job->first));
	job->to = calloc(n + 1, sizeof(*job->to));
	job->load = calloc(n + 1, sizeof(*job->load));
	if (!job->first || !job->to || !job->load)
		return -ENOMEM;
	for (size_t r = 0; r <= m->n; r++)
		job->first[r] = (SCOTCH_Num)m->first[r];
	set_loads(job, machine, m);
	return SCOTCH_graphBuild(&job->graph, 0, (SCOTCH_Num)m->n, job->first, NULL, NULL, NULL,
				 (SCOTCH_Num)n, job->to, job->load) ? -EIO : 0;
}

/* ---- the machine ---------------------------------------------------------- */

/* Slots from the first one on that share a cache, if all slots are groups like it. */
static size_t find_group(const struct map_machine *machine)
{
	size_t group = 1;

	while (group < machine->most && machine->distance[group] <= MAP_L3)
		group++;
	return machine->most % group ? 1 : group;
}

/* In units of the cheapest, and never nothing. */
static SCOTCH_Num get_length(const struct map_machine *machine, enum map_distance d)
{
	double unit = machine->layer[MAP_CORE].byte_ns;

	return (SCOTCH_Num)fmin(fmax(1, round(machine->layer[d].byte_ns / unit)), MOST_LOAD);
}

/* No more nodes than are needed: Scotch would use them all. Levels of one branch are
 * none: on those it divides by zero. */
static int make_tree(SCOTCH_Arch *tree, const struct map_machine *machine, size_t n)
{
	size_t nodes = (n + machine->most - 1) / machine->most, group = find_group(machine);
	const size_t all[] = { nodes < machine->nnodes ? nodes : machine->nnodes,
			       machine->most / group, group };
	const enum map_distance distances[] = { MAP_NETWORK, MAP_NODE, MAP_L2 };
	SCOTCH_Num sizes[3], lengths[3], levels = 0;

	for (int i = 0; i < 3; i++)
		if (all[i] > 1) {
			sizes[levels] = (SCOTCH_Num)all[i];
			lengths[levels++] = get_length(machine, distances[i]);
		}
	return !levels || SCOTCH_archTleaf(tree, levels, sizes, lengths) ? -EIO : 0;
}

/* ---- the mapping ---------------------------------------------------------- */

/* Scotch's messages are not ours to print: what it returns says enough. */
void SCOTCH_errorPrint(const char *const format, ...)
{
	(void)format;
}

void SCOTCH_errorPrintW(const char *const format, ...)
{
	(void)format;
}

static int map_job(struct job *job, SCOTCH_Arch *tree, size_t places, SCOTCH_Num *part)
{
	SCOTCH_Context context;
	SCOTCH_Graph bound;
	SCOTCH_Strat strategy;
	int err;

	SCOTCH_stratInit(&strategy);
	SCOTCH_contextInit(&context);
	SCOTCH_randomReset();
	SCOTCH_graphInit(&bound);
	/* The same placement each time, with however many threads. */
	err = SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMDETERMINISTIC, 1) ||
	      SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMRANDOMFIXEDSEED, 1) ||
	      SCOTCH_contextRandomClone(&context) ||
	      SCOTCH_contextBindGraph(&context, &job->graph, &bound) ||
	      SCOTCH_stratGraphMapBuild(&strategy, SCOTCH_STRATQUALITY | SCOTCH_STRATBALANCE,
					(SCOTCH_Num)places, TOLERANCE) ||
	      SCOTCH_graphMap(&bound, tree, &strategy, part);
	SCOTCH_graphExit(&bound);
	SCOTCH_contextExit(&context);
	SCOTCH_stratExit(&strategy);
	return err ? -EIO : 0;
}

/* The free place that is nearest to what was wanted. */
static unsigned int find_free(const struct map_machine *machine, const char *is_taken,
			      unsigned int wanted)
{
	unsigned int best = wanted;
	int found = 0;

	for (unsigned int i = 0; i < machine->n; i++)
		if (!is_taken[i] && (!found || map_distance(machine, wanted, i) <
					       map_distance(machine, wanted, best))) {
			best = i;
			found = 1;
		}
	return best;
}

/* Leaves of the tree to places: each to one rank, and some nodes have fewer than the
 * tree says. */
static int settle(const struct map_machine *machine, size_t n, const SCOTCH_Num *part,
		  unsigned int *place)
{
	unsigned int *first = calloc(machine->nnodes + 1, sizeof(*first));
	char *is_taken = calloc(machine->n, 1), *is_settled = calloc(n, 1);
	int err = first && is_taken && is_settled ? 0 : -ENOMEM;

	for (size_t i = 0; i < machine->nnodes && !err; i++)
		first[i + 1] = first[i] + machine->node[i].slots;
	for (size_t r = 0; r < n && !err; r++) {
		size_t node = (size_t)part[r] / machine->most, slot = (size_t)part[r] % machine->most;

		if (part[r] < 0 || node >= machine->nnodes) {
			err = -EIO;
			break;
		}
		place[r] = first[node];
		if (slot < machine->node[node].slots)
			place[r] += (unsigned int)slot;
		is_settled[r] = slot < machine->node[node].slots && !is_taken[place[r]];
		is_taken[place[r]] |= is_settled[r];
	}
	for (size_t r = 0; r < n && !err; r++)
		if (!is_settled[r]) {
			place[r] = find_free(machine, is_taken, place[r]);
			is_taken[place[r]] = 1;
		}
	free(first);
	free(is_taken);
	free(is_settled);
	return err;
}

int map_place_scotch(const struct map_machine *machine, const struct map_matrix *m,
		     unsigned int *place)
{
	SCOTCH_Num *part;
	struct job job = { 0 };
	SCOTCH_Arch tree;
	int err;

	/* Nobody talks: there is nothing to weigh. */
	if (!m->first[m->n])
		return -EIO;
	part = malloc(m->n * sizeof(*part));
	SCOTCH_graphInit(&job.graph);
	SCOTCH_archInit(&tree);
	err = part ? make_job(&job, machine, m) : -ENOMEM;
	if (!err)
		err = make_tree(&tree, machine, m->n);
	if (!err)
		err = map_job(&job, &tree, machine->n, part);
	if (!err)
		err = settle(machine, m->n, part, place);
	SCOTCH_archExit(&tree);
	SCOTCH_graphExit(&job.graph);
	free(job.first);
	free(job.to);
	free(job.load);
	free(part);
	return err;
}
#endif
