// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * map-machine - the places of equal nodes, and how far they are from each other
 *
 * hwloc says what is above two CPUs. Where the profile has measured which CPUs share
 * a cache, that holds in place of what hwloc claims of caches.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <hwloc.h>
#include "map.h"

static int load(hwloc_topology_t *topology, const char *description, char *why)
{
	int err;

	if (hwloc_topology_init(topology))
		return -ENOMEM;
	if (!description)
		err = 0;
	else if (!access(description, R_OK))
		err = hwloc_topology_set_xml(*topology, description);
	else
		err = hwloc_topology_set_synthetic(*topology, description);
	if (!err)
		err = hwloc_topology_load(*topology);
	if (!err)
		return 0;
	snprintf(why, MAP_WHY, description ? "%.150s: neither a file of hwloc's XML nor one of its "
		 "descriptions, as \"package:2 core:4 pu:1\"" : "hwloc does not find this machine",
		 description);
	hwloc_topology_destroy(*topology);
	return -EINVAL;
}

/* PUs in the order of slots: a first one of each core, then their second ones. */
static size_t list_pus(hwloc_topology_t topology, hwloc_obj_t *pus)
{
	int n = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU), taken = 0;
	size_t count = 0;

	for (int round = 0; taken < n; round++) {
		hwloc_obj_t core = NULL, pu = NULL;
		int nth = 0;

		for (int i = 0; i < n; i++) {
			pu = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, (unsigned int)i);
			nth = core && pu->parent == core ? nth + 1 : 0;
			core = pu->parent;
			if (nth != round)
				continue;
			pus[count++] = pu;
			taken++;
		}
	}
	return count;
}

static size_t count_cores(hwloc_topology_t topology)
{
	int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);

	return cores > 0 ? (size_t)cores :
			   (size_t)hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
}

/* The last level of cache, as data; 0: none. */
static unsigned int find_last(hwloc_topology_t topology)
{
	static const hwloc_obj_type_t caches[] = { HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE,
						   HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE };

	for (unsigned int i = 0; i < 4; i++)
		if (hwloc_get_nbobjs_by_type(topology, caches[i]) > 0)
			return 5 - i;
	return 0;
}

static enum map_distance name_cache(unsigned int level, unsigned int last)
{
	return level < last || level < 3 ? MAP_L2 : MAP_L3;
}

static enum map_distance get_distance(hwloc_topology_t topology, hwloc_obj_t a, hwloc_obj_t b)
{
	unsigned int last = find_last(topology);
	hwloc_obj_t above = hwloc_get_common_ancestor_obj(topology, a, b);

	if (above->type == HWLOC_OBJ_CORE || a == b)
		return MAP_CORE;
	for (hwloc_obj_t o = above; o; o = o->parent)
		if (hwloc_obj_type_is_dcache(o->type))
			return name_cache(o->attr->cache.depth, last);
	return hwloc_bitmap_isequal(a->nodeset, b->nodeset) ? MAP_NUMA : MAP_NODE;
}

/* ---- the profile ---------------------------------------------------------- */

/* The nearest level that was found to be shared by the two; 0 if none was, -1 if that
 * was not measured of both. */
static int find_shared(const json_t *profile, unsigned int a, unsigned int b, unsigned int *last)
{
	const json_t *levels = json_object_get(json_object_get(profile, "sharing"), "levels");
	const json_t *level, *group;
	int found = -1;
	size_t i, j;

	json_array_foreach(levels, i, level) {
		int number = (int)json_integer_value(json_object_get(level, "level"));

		*last = (unsigned int)number;
		json_array_foreach(json_object_get(level, "groups"), j, group) {
			const char *text = json_string_value(json_object_get(group, "cpus"));
			const char *verdict = json_string_value(json_object_get(group, "verdict"));
			hwloc_bitmap_t cpus = hwloc_bitmap_alloc();

			if (!cpus || !text || !verdict || !strcmp(verdict, "unknown") ||
			    hwloc_bitmap_list_sscanf(cpus, text))
				;
			else if (hwloc_bitmap_isset(cpus, a) && hwloc_bitmap_isset(cpus, b))
				found = found > 0 ? found : number;
			else if (hwloc_bitmap_isset(cpus, a) || hwloc_bitmap_isset(cpus, b))
				found = found > 0 ? found : 0;
			hwloc_bitmap_free(cpus);
		}
	}
	return found;
}

/* What was measured of caches goes before what is claimed of them. */
static enum map_distance correct(enum map_distance claimed, const json_t *profile,
				 hwloc_obj_t a, hwloc_obj_t b)
{
	unsigned int last = 0;
	int level = a == b ? -1 : find_shared(profile, a->os_index, b->os_index, &last);

	if (claimed == MAP_CORE || level < 0)
		return claimed;
	if (level > 0)
		return name_cache((unsigned int)level, last);
	if (claimed != MAP_L2 && claimed != MAP_L3)
		return claimed;
	return hwloc_bitmap_isequal(a->nodeset, b->nodeset) ? MAP_NUMA : MAP_NODE;
}

/* Is the profile of this node? Its processor's name and its CPUs say so. */
static int check_profile(hwloc_topology_t topology, const json_t *profile, char *why)
{
	const json_t *machine = json_object_get(profile, "machine");
	const char *list = json_string_value(json_object_get(machine, "cpus"));
	const char *model = json_string_value(json_object_get(machine, "cpu_model"));
	hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
	const char *here = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
	hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	int is_here;

	is_here = cpus && (!list || !hwloc_bitmap_list_sscanf(cpus, list)) &&
		  hwloc_bitmap_isincluded(cpus, hwloc_topology_get_complete_cpuset(topology)) &&
		  (!model || !here || !strcmp(model, here));
	hwloc_bitmap_free(cpus);
	if (is_here)
		return 0;
	snprintf(why, MAP_WHY, "the profile is of another machine (%.60s, CPUs %.40s) than the nodes "
		 "(%.60s); measure one with sonde report --save, or give --topology of that one",
		 model ? model : "?", list ? list : "?", here ? here : "?");
	return -EINVAL;
}

/* ---- places --------------------------------------------------------------- */

static int set_slots(struct map_machine *m, hwloc_topology_t topology, const json_t *profile,
		     const hwloc_obj_t *pus)
{
	m->cpu = calloc(m->most, sizeof(*m->cpu));
	m->core = calloc(m->most, sizeof(*m->core));
	m->pu = calloc(m->most, sizeof(*m->pu));
	m->distance = malloc(m->most * m->most);
	m->cost = malloc(m->most * m->most);
	if (!m->cpu || !m->core || !m->pu || !m->distance || !m->cost)
		return -ENOMEM;
	memset(m->distance, MAP_NUMA, m->most * m->most);
	for (size_t a = 0; m->is_bound && a < m->most; a++) {
		hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pus[a]);

		m->cpu[a] = pus[a]->os_index;
		m->pu[a] = pus[a]->logical_index;
		m->core[a] = core ? core->logical_index : pus[a]->logical_index;
		for (size_t b = 0; b < m->most; b++)
			m->distance[a * m->most + b] = (unsigned char)
				correct(get_distance(topology, pus[a], pus[b]), profile, pus[a],
					pus[b]);
	}
	memcpy(m->cost, m->distance, m->most * m->most);
	return map_measured_fill(m, profile);
}

static int set_places(struct map_machine *m)
{
	for (size_t i = 0; i < m->nnodes; i++) {
		m->n += m->node[i].slots;
		m->most = m->node[i].slots > m->most ? m->node[i].slots : m->most;
	}
	m->place = calloc(m->n, sizeof(*m->place));
	if (!m->place)
		return -ENOMEM;
	for (size_t i = 0, n = 0; i < m->nnodes; i++)
		for (unsigned int slot = 0; slot < m->node[i].slots; slot++)
			m->place[n++] = (struct map_place){ (unsigned int)i, slot };
	return 0;
}

static int fill(struct map_machine *m, const struct map_wish *wish, hwloc_topology_t topology,
		char *why)
{
	size_t cores = count_cores(topology), npus;
	size_t slots = wish->per_node ? wish->per_node : cores;
	hwloc_obj_t *pus = calloc((size_t)hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU),
				  sizeof(*pus));
	int err = pus ? 0 : -ENOMEM;

	if (!err)
		err = wish->hosts ? map_hosts_read(m, wish->hosts, slots, why) :
				    map_hosts_make(m, wish->nodes ? wish->nodes : 1, slots);
	if (!err)
		err = set_places(m);
	if (!err) {
		npus = list_pus(topology, pus);
		m->ncores = cores;
		m->is_threads = m->most > cores;
		if (m->is_bound && m->most > npus) {
			snprintf(why, MAP_WHY, "%zu ranks on a node, which has %zu CPUs; give fewer "
				 "--ranks-per-node, or --no-bind", m->most, npus);
			err = -EINVAL;
		} else if (m->n > MAP_MOST) {
			snprintf(why, MAP_WHY, "%zu places; up to %d can be mapped", m->n, MAP_MOST);
			err = -EINVAL;
		} else {
			err = set_slots(m, topology, wish->profile, pus);
		}
	}
	free(pus);
	return err;
}

int map_machine_open(struct map_machine *m, const struct map_wish *wish, char *why)
{
	hwloc_topology_t topology;
	int err;

	*m = (struct map_machine){ .is_bound = !wish->is_unbound };
	snprintf(why, MAP_WHY, "not enough memory");
	err = load(&topology, wish->topology, why);
	if (err)
		return err;
	map_layers_fill(m->layer, wish->profile);
	if (wish->profile)
		err = check_profile(topology, wish->profile, why);
	if (!err)
		err = fill(m, wish, topology, why);
	hwloc_topology_destroy(topology);
	if (err)
		map_machine_close(m);
	return err;
}

void map_machine_close(struct map_machine *m)
{
	for (size_t i = 0; i < m->nnodes; i++)
		free(m->node[i].name);
	free(m->node);
	free(m->place);
	free(m->cpu);
	free(m->core);
	free(m->pu);
	free(m->distance);
	free(m->cost);
}
