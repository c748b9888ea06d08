/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * plan - what is known of a communicator, kept as its attribute
 *
 * Made together by all its ranks, the second time one of our operations is
 * called on it (the first time if a composition is forced): a communicator that
 * is used once is not worth it. Freed with the communicator, or when
 * MPI_Finalize() frees the attributes of MPI_COMM_SELF.
 */
#ifndef SONDE_COLL_PLAN_H
#define SONDE_COLL_PLAN_H

#include <stddef.h>
#include <mpi.h>

#include "choice.h"
#include "network.h"
#include "settings.h"
#include "trial.h"

struct coll_segment;
struct coll_pull;
struct coll_rule;

/* Of a node's ranks, in the order of their ranks: MPI_Comm_split_type() says. */
struct coll_node {
	const int *ranks;
	int n;
};

/**
 * enum coll_map_kind - who of a node collects what is for ranks of other nodes
 * COLL_MAP_LOCAL: nobody; only blocks for ranks of the node are collected
 * COLL_MAP_SPREAD: local rank y mod L what is for local rank y of a node
 * COLL_MAP_LEADERS: one of k leaders, y mod k
 */
enum coll_map_kind { COLL_MAP_LOCAL, COLL_MAP_SPREAD, COLL_MAP_LEADERS };

/**
 * struct coll_map - where collected blocks go
 * @k: leaders
 * @nslots: of each local rank: [x]; slot 0 is the blocks for itself
 * @dest: the rank that slot s of local rank x is for: @dest[@first[x] + s]
 * @most: slots of the rank that has most, on any node
 */
struct coll_map {
	enum coll_map_kind kind;
	int k;
	int *nslots, *first, *dest;
	int most;
	struct coll_map *next;
};

/**
 * enum coll_mapping - which node a rank is on
 * COLL_MAPPING_BLOCK: ranks of a node follow each other; also where there is one
 * COLL_MAPPING_CYCLIC: rank r is on node r mod nodes
 */
enum coll_mapping { COLL_MAPPING_BLOCK, COLL_MAPPING_CYCLIC, COLL_MAPPING_OTHER, COLL_MAPPINGS };

const char *coll_mapping_name(enum coll_mapping mapping);
/* -1: there is no such word. */
int coll_mapping_find(const char *word);

/* Memory that is kept for the next call, by what it is for. */
enum coll_scratch_use { COLL_FOR_COLLECT, COLL_FOR_PARTS, COLL_FOR_GROUND,
			COLL_FOR_RECEIVE, COLL_FOR_SEND, COLL_FOR_FLAT_SEND,
			COLL_FOR_FLAT_RECEIVE, COLL_SCRATCHES };

struct coll_scratch {
	char *at;
	size_t bytes;
};

/**
 * struct coll_plan - a communicator's
 * @comm: the same ranks, for our messages alone; errors return
 * @node: those of this node
 * @rank, @size: in @comm
 * @nnodes, @inode: nodes, and which is this one
 * @lrank, @lsize: of this rank in its node
 * @node_of, @local_of: of each rank
 * @least, @most: ranks of the smallest and of the largest node
 * @mapping: of ranks to nodes
 * @has_module: all ranks can use the module for regions
 * @is_crowded: on some node there are more ranks than processors
 * @segment: NULL if there is none, and @why_no_segment
 * @pull: ways to read from another rank's memory; see local_pull.h
 * @packed_block, @packed_calls: blocks of so many bytes had gaps, and so many calls of
 *	them go through the segment unasked; see outer_local.c
 * @rules, @network: of the profile
 * @choices: by operation, in place or not, and size class
 * @trials: of MPI_Alltoall in a node, in place or not
 */
struct coll_plan {
	MPI_Comm comm, node;
	int rank, size;
	int nnodes, inode, lrank, lsize;
	int *node_of, *local_of, *members;
	struct coll_node *nodes;
	int least, most, has_module, is_crowded;
	enum coll_mapping mapping;
	struct coll_settings settings;
	struct coll_segment *segment;
	int why_no_segment;
	int is_area_full;
	struct coll_pull *pull[COLL_LOCALS];
	struct coll_map *maps;
	size_t packed_block;
	int packed_calls;
	struct coll_choice choices[COLL_OPS][2][COLL_CLASSES];
	struct coll_trial trials[2][COLL_TRIAL_CLASSES];
	struct coll_scratch scratch[COLL_SCRATCHES];
	struct coll_rule *rules;
	int nrules;
	struct coll_network network;
};

static inline const struct coll_node *coll_my_node(const struct coll_plan *plan)
{
	return &plan->nodes[plan->inode];
}

/* The rank of a local rank of this node. */
static inline int coll_rank_of(const struct coll_plan *plan, int local)
{
	return plan->nodes[plan->inode].ranks[local];
}

static inline int coll_is_regular(const struct coll_plan *plan)
{
	return plan->least == plan->most;
}

/* Collective. Return: 0, or a negative error on all ranks. */
int coll_plan_new(struct coll_plan **plan, MPI_Comm comm);
/* Collective. @plan may be NULL. */
void coll_plan_free(struct coll_plan *plan);

/* 0 if all ranks say 0; else the least of what they say. */
int coll_agree(const struct coll_plan *plan, int err);

/* Memory of this call, until somebody asks for the same use; NULL if there is none. */
char *coll_plan_scratch(struct coll_plan *plan, enum coll_scratch_use use, size_t bytes);
/* The call is over: gives back what is too much to be kept. */
void coll_plan_rest(struct coll_plan *plan);

/*
 * The areas of all ranks are to have so many bytes, or as many as there can be.
 * Collective.
 */
void coll_plan_grow(struct coll_plan *plan, size_t area);

/* The same map each time it is asked for, or NULL for want of memory. */
const struct coll_map *coll_map_get(struct coll_plan *plan, enum coll_map_kind kind, int k);
/* Slots that the fullest rank has, as coll_map's @most; asks for no memory. */
int coll_map_most(const struct coll_plan *plan, enum coll_map_kind kind, int k);

#endif
