/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of `sonde map` share: who talks to whom, the machine, what talking
 * costs on it, and placements.
 */
#ifndef SONDE_TOOLS_MAP_H
#define SONDE_TOOLS_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <jansson.h>

#define MAP_WHY		512	/* room for a reason */
#define MAP_MOST	8192	/* ranks */

/* ---- who talks to whom: map-matrix.c -------------------------------------- */

/**
 * struct map_edge - two ranks that talk, both ways taken together
 * @to: the other one
 * @messages: how many
 * @bytes: in all of them
 */
struct map_edge {
	unsigned int to;
	double messages;
	double bytes;
};

/**
 * struct map_matrix - a job
 * @n: ranks
 * @first: edges of rank r are from first[r] to before first[r + 1]
 * @edge: those, of each rank by @to ascending
 * @outside: messages to other jobs, which no placement here changes
 * @lost: calls that were not counted
 */
struct map_matrix {
	size_t n;
	size_t *first;
	struct map_edge *edge;
	uint64_t outside;
	uint64_t lost;
};

/**
 * map_matrix_read() - a file of libsonde-record, or a table of numbers
 * @m: to be freed by map_matrix_free()
 * @path: the file
 * @sends_only: leave collectives out
 * @why: room for MAP_WHY: what is wrong with it, and where
 *
 * Return: 0, -EINVAL, or what reading it said.
 */
int map_matrix_read(struct map_matrix *m, const char *path, int sends_only, char *why);

/* From @n x @n cells of what row sends to column; @messages may be NULL. 0, -ENOMEM. */
int map_matrix_make(struct map_matrix *m, size_t n, const double *bytes, const double *messages);
void map_matrix_free(struct map_matrix *m);

/* ---- what talking costs: map-layers.c ------------------------------------- */

/* How near two places are to each other. */
enum map_distance {
	MAP_CORE,	/* threads of one core */
	MAP_L2,		/* they share a cache that is not the last */
	MAP_L3,		/* or the last */
	MAP_NUMA,	/* or only memory */
	MAP_NODE,	/* or nothing but the node */
	MAP_NETWORK,
	MAP_DISTANCES,
};

#define MAP_POINTS	64	/* sizes that a layer was measured at */
#define MAP_MEASURED	16	/* layers of a profile; it has no more */
#define MAP_LAYERS	(MAP_DISTANCES + MAP_MEASURED)

/**
 * struct map_layer - what it costs to talk over a distance
 * @message_ns: each message
 * @byte_ns: each byte
 * @source: where that is known from
 * @npoints: if it was measured by size: a message of @size[i] bytes takes @ns[i], sizes
 *	ascending; @message_ns and @byte_ns are then of the smallest, and of what lies
 *	between that and the largest
 */
struct map_layer {
	double message_ns;
	double byte_ns;
	char source[48];
	size_t npoints;
	double size[MAP_POINTS], ns[MAP_POINTS];
};

const char *map_distance_name(enum map_distance distance);

/* Of a layer, by its number in struct map_machine. */
void map_layer_name(size_t layer, char name[32]);

/*
 * The costs of every distance: usual ones, and what @profile (NULL: none) has
 * measured in their place.
 */
void map_layers_fill(struct map_layer layers[MAP_DISTANCES], const json_t *profile);

/* ---- the machine: map-machine.c ------------------------------------------- */

/**
 * struct map_place - where one rank can be
 * @node: number of the node
 * @slot: number on it
 */
struct map_place {
	unsigned int node;
	unsigned int slot;
};

/**
 * struct map_node - one of the machine's nodes
 * @name: of the host
 * @slots: ranks that it takes
 */
struct map_node {
	char *name;
	unsigned int slots;
};

/**
 * struct map_machine - nodes that are alike
 * @node: @nnodes of them
 * @place: all, @n of them, by node and slot
 * @most: slots of the node that has most
 * @cpu: of a slot, the operating system's number; @core: number of its core and
 *       @pu: its own, both as hwloc counts
 * @ncores: cores of a node
 * @is_threads: some core has more than one slot
 * @is_bound: slots have CPUs; else all are anywhere on their node
 * @distance: between two slots of a node, @most x @most
 * @cost: likewise, the number of the layer that they talk over
 * @layer: what talking costs: usual for each enum map_distance, or as measured; then
 *	the layers that the profile found
 */
struct map_machine {
	size_t nnodes, n, most;
	struct map_node *node;
	struct map_place *place;
	unsigned int *cpu, *core, *pu;
	size_t ncores;
	int is_threads, is_bound;
	unsigned char *distance, *cost;
	struct map_layer layer[MAP_LAYERS];
};

/**
 * struct map_wish - the machine that is asked for
 * @nodes: how many, 0 for one; @hosts: or a file that names them
 * @per_node: ranks on each, 0 for one a core
 * @topology: hwloc's XML or synthetic description of a node; NULL: this machine
 * @is_unbound: ranks have a node, no CPU
 * @profile: measured, of a node; NULL
 */
struct map_wish {
	size_t nodes, per_node;
	const char *hosts, *topology;
	int is_unbound;
	const json_t *profile;
};

/* 0, or -errno with a reason in @why, of MAP_WHY. */
int map_machine_open(struct map_machine *machine, const struct map_wish *wish, char *why);
void map_machine_close(struct map_machine *machine);

/* map-measured.c: the layers of the profile's communication in place of usual costs,
 * wherever it has them. 0, -ENOMEM. */
int map_measured_fill(struct map_machine *machine, const json_t *profile);

/* map-hosts.c: nodes from a file of hydra's or Open MPI's kind, or by number. */
int map_hosts_read(struct map_machine *machine, const char *path, size_t slots, char *why);
int map_hosts_make(struct map_machine *machine, size_t nodes, size_t slots);

static inline enum map_distance map_distance(const struct map_machine *m, size_t a, size_t b)
{
	const struct map_place *p = &m->place[a], *q = &m->place[b];

	return p->node != q->node ? MAP_NETWORK :
	       (enum map_distance)m->distance[p->slot * m->most + q->slot];
}

static inline size_t map_layer_of(const struct map_machine *m, size_t a, size_t b)
{
	const struct map_place *p = &m->place[a], *q = &m->place[b];

	return p->node != q->node ? MAP_NETWORK : m->cost[p->slot * m->most + q->slot];
}

/* A message of @bytes between two sizes that were measured; beyond the largest each byte
 * costs what it does between the last two. */
static inline double map_message_ns(const struct map_layer *layer, double bytes)
{
	const double *x = layer->size, *y = layer->ns;
	size_t i = 1;

	if (bytes <= x[0])
		return y[0];
	while (i + 1 < layer->npoints && x[i] < bytes)
		i++;
	return y[i - 1] + (y[i] - y[i - 1]) * (bytes - x[i - 1]) / (x[i] - x[i - 1]);
}

/**
 * map_cost() - the one place that knows what talking costs between two places
 *
 * Where the layer was measured by size, messages of a pair count as all of one size, the
 * mean.
 *
 * Return: nanoseconds for so many messages with so many bytes in all.
 */
static inline double map_cost(const struct map_machine *m, size_t a, size_t b, double messages,
			      double bytes)
{
	const struct map_layer *layer = &m->layer[map_layer_of(m, a, b)];

	if (layer->npoints > 1 && messages > 0)
		return messages * map_message_ns(layer, bytes / messages);
	return messages * layer->message_ns + bytes * layer->byte_ns;
}

/* ---- placements: map-place.c, map-scotch.c -------------------------------- */

/**
 * struct map_price - of a placement
 * @total_ns: all messages, one after another
 * @rank_ns: those of the rank that has most of them
 * @link_bytes: that enter or leave the node that has most of them
 * @network_bytes: between nodes, in all
 */
struct map_price {
	double total_ns;
	double rank_ns;
	double link_bytes;
	double network_bytes;
};

int map_price(const struct map_machine *machine, const struct map_matrix *m,
	      const unsigned int *place, struct map_price *price);

/* Rank by rank: filling node after node; or a node each in turn, and on one node a
 * place as far from those before as there is. 0, -ENOMEM. */
void map_place_identity(size_t n, unsigned int *place);
int map_place_round_robin(const struct map_machine *machine, size_t n, unsigned int *place);

/**
 * map_place_best() - the best placement that is found
 * @place: of each rank, a place of its own
 * @how: a word for what found it
 * @tell: is told how far it is, at most, from 0 to 1; NULL
 *
 * Never dearer than the better of identity and round-robin. The same input gives
 * the same placement.
 *
 * Return: 0, -ENOMEM.
 */
int map_place_best(const struct map_machine *machine, const struct map_matrix *m,
		   unsigned int *place, const char **how, void (*tell)(double done));

/* By Scotch. 0, -ENOSYS (built without it), -ENOMEM, -EIO (it says no). */
int map_place_scotch(const struct map_machine *machine, const struct map_matrix *m,
		     unsigned int *place);

/* ---- rank files: map-write.c ---------------------------------------------- */

enum map_format { MAP_HYDRA, MAP_OPENMPI, MAP_SLURM, MAP_SCRIPT, MAP_FORMATS };

const char *map_format_name(enum map_format format);
void map_write(enum map_format format, const struct map_machine *machine, size_t n,
	       const unsigned int *place, FILE *file);

/* How a job is started with what map_write() wrote to @name. */
void map_command(enum map_format format, const struct map_machine *machine, size_t n,
		 const unsigned int *place, const char *name, FILE *to);

/* ---- what was found: map-report.c ----------------------------------------- */

/**
 * struct map_result - three placements and what they cost
 * @place: the one that was found; @how: by what
 * @identity, @round_robin, @best: their prices
 * @command: that starts a job with it; NULL
 */
struct map_result {
	const struct map_machine *machine;
	const struct map_matrix *matrix;
	const unsigned int *place;
	const char *how;
	struct map_price identity, round_robin, best;
	const char *command;
};

int map_report_text(const struct map_result *result, FILE *to);
int map_report_json(const struct map_result *result, FILE *to);

#endif
