// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan - making it together, and taking it apart */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cpus.h"
#include "local_pull.h"
#include "plan.h"
#include "rules.h"
#include "segment.h"

/* More than that is not kept from call to call. */
#define SCRATCH_KEPT	((size_t)16 << 20)

int coll_agree(const struct coll_plan *plan, int err)
{
	int all = err;

	return PMPI_Allreduce(&err, &all, 1, MPI_INT, MPI_MIN, plan->comm) ? -EIO : all;
}

/* ---- communicators ------------------------------------------------------ */

/* Of the same ranks, without the attributes that a duplicate would copy. */
static int make_comm(struct coll_plan *plan, MPI_Comm comm)
{
	MPI_Group group;
	int err = PMPI_Comm_group(comm, &group);

	if (err)
		return err;
	err = PMPI_Comm_create(comm, group, &plan->comm);
	PMPI_Group_free(&group);
	if (!err)
		err = PMPI_Comm_set_errhandler(plan->comm, MPI_ERRORS_RETURN);
	if (!err)
		err = PMPI_Comm_split_type(plan->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
					   &plan->node);
	if (!err)
		err = PMPI_Comm_set_errhandler(plan->node, MPI_ERRORS_RETURN);
	return err;
}

/*
 * Where there are no communicators left MPI calls the handler of @comm, which may
 * end the job; it does not get to know.
 */
static int make_comm_quietly(struct coll_plan *plan, MPI_Comm comm)
{
	MPI_Errhandler handler;
	int err = PMPI_Comm_get_errhandler(comm, &handler);

	if (err)
		return -EIO;
	err = PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	if (!err)
		err = make_comm(plan, comm);
	PMPI_Comm_set_errhandler(comm, handler);
	PMPI_Errhandler_free(&handler);
	return err ? -EIO : 0;
}

/* ---- nodes -------------------------------------------------------------- */

/* Nodes in the order of their first ranks. @leaders: of each rank its node's first. */
static void number_nodes(struct coll_plan *plan, const int *leaders)
{
	for (int r = 0; r < plan->size; r++)
		if (leaders[r] == r) {
			plan->node_of[r] = plan->nnodes++;
		} else {
			plan->node_of[r] = plan->node_of[leaders[r]];
		}
}

static const char *const mappings[COLL_MAPPINGS] = { "block", "cyclic", "other" };

const char *coll_mapping_name(enum coll_mapping mapping)
{
	return mappings[mapping];
}

int coll_mapping_find(const char *word)
{
	for (int i = 0; word && i < COLL_MAPPINGS; i++)
		if (!strcmp(word, mappings[i]))
			return i;
	return -1;
}

static enum coll_mapping find_mapping(const struct coll_plan *plan)
{
	int is_block = 1, is_cyclic = 1;

	for (int r = 0; r < plan->size; r++) {
		is_block &= !r || plan->node_of[r] >= plan->node_of[r - 1];
		is_cyclic &= plan->node_of[r] == r % plan->nnodes;
	}
	if (is_block)
		return COLL_MAPPING_BLOCK;
	return is_cyclic ? COLL_MAPPING_CYCLIC : COLL_MAPPING_OTHER;
}

static int fill_nodes(struct coll_plan *plan)
{
	int at = 0;

	plan->nodes = calloc((size_t)plan->nnodes, sizeof(*plan->nodes));
	if (!plan->nodes)
		return -ENOMEM;
	plan->least = plan->size;
	for (int node = 0; node < plan->nnodes; node++) {
		const int first = at;

		for (int r = 0; r < plan->size; r++)
			if (plan->node_of[r] == node) {
				plan->local_of[r] = at - first;
				plan->members[at++] = r;
			}
		plan->nodes[node] = (struct coll_node){ &plan->members[first], at - first };
		if (at - first < plan->least)
			plan->least = at - first;
		if (at - first > plan->most)
			plan->most = at - first;
	}
	plan->inode = plan->node_of[plan->rank];
	plan->mapping = find_mapping(plan);
	return 0;
}

static int find_nodes(struct coll_plan *plan)
{
	const size_t n = (size_t)plan->size;
	int *leaders = calloc(n, sizeof(int)), leader = plan->rank, err;

	plan->node_of = calloc(n, sizeof(int));
	plan->local_of = calloc(n, sizeof(int));
	plan->members = calloc(n, sizeof(int));
	err = leaders && plan->node_of && plan->local_of && plan->members ? 0 : -ENOMEM;
	err = coll_agree(plan, err);
	if (!err && (PMPI_Comm_rank(plan->node, &plan->lrank) ||
		     PMPI_Comm_size(plan->node, &plan->lsize) ||
		     PMPI_Bcast(&leader, 1, MPI_INT, 0, plan->node) ||
		     PMPI_Allgather(&leader, 1, MPI_INT, leaders, 1, MPI_INT, plan->comm)))
		err = -EIO;
	if (!err) {
		number_nodes(plan, leaders);
		err = fill_nodes(plan);
	}
	free(leaders);
	return coll_agree(plan, err);
}

/* ---- the rest ----------------------------------------------------------- */

/* What rank 0 says goes for all. */
static int share_settings(struct coll_plan *plan)
{
	size_t most;

	plan->settings = *coll_settings_get();
	if (PMPI_Bcast(&plan->settings, sizeof(plan->settings), MPI_BYTE, 0, plan->comm))
		return -EIO;
	plan->has_module = !coll_agree(plan, coll_has_module() ? 0 : -ENODEV);
	most = plan->settings.shm_most / (2 * (size_t)plan->most);
	if (plan->settings.area_most > most)
		plan->settings.area_most = most;
	if (plan->settings.area_least > plan->settings.area_most)
		plan->settings.area_least = plan->settings.area_most;
	return 0;
}

/* One of all nodes or none: which algorithms there are must be the same. */
static int open_segment(struct coll_plan *plan)
{
	int err = 0;

	if (plan->lsize > 1 || plan->nnodes > 1)
		err = coll_segment_open(&plan->segment, plan);
	err = coll_agree(plan, err);
	if (err) {
		coll_segment_close(plan->segment);
		plan->segment = NULL;
		plan->why_no_segment = err;
		return err == -EIO ? err : 0;
	}
	if (plan->segment)
		plan->segment->is_crowded = coll_cpus_are_crowded(plan);
	plan->is_crowded = coll_agree(plan, plan->segment && plan->segment->is_crowded ? -1 : 0);
	return 0;
}

int coll_plan_new(struct coll_plan **out, MPI_Comm comm)
{
	struct coll_plan *plan = calloc(1, sizeof(*plan));
	int err;

	/* Without it this rank cannot even tell the others. */
	if (!plan)
		return -ENOMEM;
	plan->comm = plan->node = MPI_COMM_NULL;
	err = make_comm_quietly(plan, comm);
	if (!err) {
		PMPI_Comm_rank(plan->comm, &plan->rank);
		PMPI_Comm_size(plan->comm, &plan->size);
		err = find_nodes(plan);
	}
	if (!err)
		err = share_settings(plan);
	if (!err)
		err = coll_rules_share(plan);
	if (!err)
		err = open_segment(plan);
	if (err) {
		coll_plan_free(plan);
		return err;
	}
	*out = plan;
	return 0;
}

static void free_maps(struct coll_map *map)
{
	while (map) {
		struct coll_map *next = map->next;

		free(map->nslots);
		free(map->first);
		free(map->dest);
		free(map);
		map = next;
	}
}

void coll_plan_free(struct coll_plan *plan)
{
	if (!plan)
		return;
	for (int way = 0; way < COLL_LOCALS; way++)
		coll_pull_close(plan->pull[way]);
	coll_segment_close(plan->segment);
	free_maps(plan->maps);
	for (int use = 0; use < COLL_SCRATCHES; use++)
		free(plan->scratch[use].at);
	free(plan->rules);
	free(plan->nodes);
	free(plan->members);
	free(plan->local_of);
	free(plan->node_of);
	if (plan->node != MPI_COMM_NULL)
		PMPI_Comm_free(&plan->node);
	if (plan->comm != MPI_COMM_NULL)
		PMPI_Comm_free(&plan->comm);
	free(plan);
}

/* ---- memory ------------------------------------------------------------- */

char *coll_plan_scratch(struct coll_plan *plan, enum coll_scratch_use use, size_t bytes)
{
	struct coll_scratch *scratch = &plan->scratch[use];

	if (bytes <= scratch->bytes && scratch->at)
		return scratch->at;
	free(scratch->at);
	scratch->at = aligned_alloc(COLL_LINE, (bytes + COLL_LINE) / COLL_LINE * COLL_LINE);
	scratch->bytes = scratch->at ? bytes : 0;
	return scratch->at;
}

void coll_plan_rest(struct coll_plan *plan)
{
	for (int use = 0; use < COLL_SCRATCHES; use++)
		if (plan->scratch[use].bytes > SCRATCH_KEPT) {
			free(plan->scratch[use].at);
			plan->scratch[use] = (struct coll_scratch){ NULL, 0 };
		}
}

void coll_plan_grow(struct coll_plan *plan, size_t area)
{
	struct coll_segment *seg = plan->segment;
	int err;

	if (!seg || area <= seg->area || plan->is_area_full || seg->area == seg->area_most)
		return;
	/* Once, to the most: growing is a barrier. */
	err = coll_agree(plan, coll_segment_back(seg, seg->area_most));
	if (!err) {
		seg->area = seg->area_most;
		return;
	}
	/* What fits was asked when there was to be more. */
	plan->is_area_full = 1;
	memset(plan->choices, 0, sizeof(plan->choices));
}
