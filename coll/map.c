// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * map - who of a node collects what
 *
 * Slot 0 of every local rank is what is for itself. The others are for ranks of
 * other nodes, the next node first: so that at any time messages go to different
 * nodes, and as Bruck's algorithm wants them.
 */
#include <stdlib.h>

#include "plan.h"

/* Which local rank, of a node of @n, collects what is for local rank @y of another. */
static int get_owner(enum coll_map_kind kind, int k, int n, int y)
{
	return y % (kind == COLL_MAP_LEADERS ? k : n);
}

/* Ranks of a node that local rank 0 of a node of @n has to collect for. */
static int count_firsts(enum coll_map_kind kind, int k, int n, int ranks)
{
	const int step = kind == COLL_MAP_LEADERS ? k : n;

	return (ranks + step - 1) / step;
}

int coll_map_most(const struct coll_plan *plan, enum coll_map_kind kind, int k)
{
	int most = 1;

	if (kind == COLL_MAP_LOCAL)
		return most;
	for (int a = 0; a < plan->nnodes; a++) {
		int slots = 1;

		for (int b = 0; b < plan->nnodes; b++)
			if (b != a)
				slots += count_firsts(kind, k, plan->nodes[a].n,
						      plan->nodes[b].n);
		if (slots > most)
			most = slots;
	}
	return most;
}

static void fill(const struct coll_plan *plan, struct coll_map *map, int x)
{
	int at = map->first[x];

	map->dest[at++] = coll_rank_of(plan, x);
	if (map->kind != COLL_MAP_LOCAL)
		for (int step = 1; step < plan->nnodes; step++) {
			const struct coll_node *node =
				&plan->nodes[(plan->inode + step) % plan->nnodes];

			for (int y = 0; y < node->n; y++)
				if (get_owner(map->kind, map->k, plan->lsize, y) == x)
					map->dest[at++] = node->ranks[y];
		}
	map->nslots[x] = at - map->first[x];
	if (x + 1 < plan->lsize)
		map->first[x + 1] = at;
}

static struct coll_map *new_map(const struct coll_plan *plan, enum coll_map_kind kind, int k)
{
	const size_t n = (size_t)plan->lsize;
	struct coll_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->kind = kind;
	map->k = k;
	map->most = coll_map_most(plan, kind, k);
	map->nslots = calloc(n, sizeof(int));
	map->first = calloc(n, sizeof(int));
	map->dest = calloc((size_t)plan->size + n, sizeof(int));
	if (!map->nslots || !map->first || !map->dest) {
		free(map->nslots);
		free(map->first);
		free(map->dest);
		free(map);
		return NULL;
	}
	for (int x = 0; x < plan->lsize; x++)
		fill(plan, map, x);
	return map;
}

const struct coll_map *coll_map_get(struct coll_plan *plan, enum coll_map_kind kind, int k)
{
	struct coll_map *map = plan->maps;

	while (map && (map->kind != kind || map->k != k))
		map = map->next;
	if (map)
		return map;
	map = new_map(plan, kind, k);
	if (map) {
		map->next = plan->maps;
		plan->maps = map;
	}
	return map;
}
