// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * topology - claims about the machine, read once through hwloc and kept as data,
 * so that those of a recorded machine are the same thing
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "topology.h"

/* ---- as data ----------------------------------------------------------------- */

struct sonde_topology *topology_new(void)
{
	struct sonde_topology *topo = calloc(1, sizeof(*topo));

	if (!topo)
		return NULL;
	topo->known = hwloc_bitmap_alloc();
	topo->cpus = hwloc_bitmap_alloc();
	if (topo->known && topo->cpus && !topology_set_model(topo, NULL))
		return topo;
	sonde_topology_close(topo);
	return NULL;
}

int topology_set_model(struct sonde_topology *topo, const char *model)
{
	char *copy = strdup(model && *model ? model : "unknown");

	if (!copy)
		return -ENOMEM;
	free(topo->model);
	topo->model = copy;
	return 0;
}

static int fill_cache(struct topology_cache *cache, hwloc_const_bitmap_t cpus)
{
	int weight = hwloc_bitmap_weight(cpus);
	char *list = NULL;

	cache->cpus = hwloc_bitmap_dup(cpus);
	if (!cache->cpus || hwloc_bitmap_list_asprintf(&list, cpus) < 0) {
		hwloc_bitmap_free(cache->cpus);
		return -ENOMEM;
	}
	cache->claim.cpus = list;
	cache->claim.threads = weight > 0 ? (unsigned int)weight : 0;
	cache->claim.source = SONDE_CLAIM_HWLOC;
	return 0;
}

int topology_add_cache(struct sonde_topology *topo, const struct sonde_cache_claim *claim,
		       hwloc_const_bitmap_t cpus)
{
	struct topology_cache *all = realloc(topo->cache, (topo->ncaches + 1) * sizeof(*all));
	int err;

	if (!all)
		return -ENOMEM;
	topo->cache = all;
	all[topo->ncaches].claim = *claim;
	err = fill_cache(&all[topo->ncaches], cpus);
	if (!err)
		topo->ncaches++;
	return err;
}

void sonde_topology_close(struct sonde_topology *topo)
{
	if (!topo)
		return;
	for (size_t i = 0; i < topo->ncaches; i++) {
		/* const for readers, but a copy of our own. */
		free((char *)topo->cache[i].claim.cpus);
		hwloc_bitmap_free(topo->cache[i].cpus);
	}
	free(topo->cache);
	hwloc_bitmap_free(topo->cpus);
	hwloc_bitmap_free(topo->known);
	free(topo->model);
	free(topo);
}

/* ---- from hwloc ---------------------------------------------------------------- */

/*
 * Allowed by cgroup, and by the affinity of any thread. For a recorded machine
 * hwloc answers that every CPU is.
 */
static int read_cpus(struct sonde_topology *topo, hwloc_topology_t hwloc)
{
	hwloc_bitmap_t bound = hwloc_bitmap_alloc();
	int err = 0;

	if (!bound ||
	    hwloc_bitmap_copy(topo->known, hwloc_get_root_obj(hwloc)->cpuset) ||
	    hwloc_bitmap_copy(topo->cpus, hwloc_topology_get_allowed_cpuset(hwloc)))
		err = -ENOMEM;
	if (!err && !hwloc_get_cpubind(hwloc, bound, HWLOC_CPUBIND_PROCESS))
		err = hwloc_bitmap_and(topo->cpus, topo->cpus, bound) ? -ENOMEM : 0;
	hwloc_bitmap_free(bound);
	return err;
}

/* Complete sets: a cache is also shared by CPUs that this process may not use. */
static int read_cache(struct sonde_topology *topo, hwloc_obj_t obj)
{
	const struct hwloc_cache_attr_s *cache = &obj->attr->cache;
	struct sonde_cache_claim claim = {
		.level = cache->depth,
		.type = cache->type == HWLOC_OBJ_CACHE_UNIFIED ? SONDE_CACHE_UNIFIED
							       : SONDE_CACHE_DATA,
		.size = cache->size,
		.ways = cache->associativity,
		.line = cache->linesize,
	};

	return topology_add_cache(topo, &claim, obj->complete_cpuset);
}

/* hwloc's types of data caches ascend with the level. */
static int read_caches(struct sonde_topology *topo, hwloc_topology_t hwloc)
{
	int err = 0;

	for (int type = HWLOC_OBJ_TYPE_MIN; type < HWLOC_OBJ_TYPE_MAX; type++) {
		hwloc_obj_t obj = NULL;

		if (!hwloc_obj_type_is_dcache((hwloc_obj_type_t)type))
			continue;
		while (!err && (obj = hwloc_get_next_obj_by_type(hwloc, (hwloc_obj_type_t)type,
								 obj)))
			err = read_cache(topo, obj);
	}
	return err;
}

static void read_memory(struct sonde_topology *topo, hwloc_topology_t hwloc)
{
	hwloc_obj_t node = NULL;

	while ((node = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, node)))
		if (node->attr->numanode.local_memory)
			topo->nodes++;
	topo->memory = hwloc_get_root_obj(hwloc)->total_memory;
	topo->page = (uint64_t)sysconf(_SC_PAGESIZE);
}

/* hwloc hangs the name on packages, or on the machine if it knows no packages. */
static const char *find_model(hwloc_topology_t hwloc)
{
	hwloc_obj_t package = NULL;
	const char *model;

	while ((package = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_PACKAGE, package))) {
		model = hwloc_obj_get_info_by_name(package, "CPUModel");
		if (model && *model)
			return model;
	}
	return hwloc_obj_get_info_by_name(hwloc_get_root_obj(hwloc), "CPUModel");
}

static int load(hwloc_topology_t *hwloc)
{
	int err;

	errno = 0;
	if (hwloc_topology_init(hwloc))
		return errno ? -errno : -ENOMEM;
	if (!hwloc_topology_load(*hwloc))
		return 0;
	err = errno ? -errno : -EIO;
	hwloc_topology_destroy(*hwloc);
	return err;
}

static int read_all(struct sonde_topology *topo, hwloc_topology_t hwloc)
{
	int err = read_cpus(topo, hwloc);

	if (!err)
		err = read_caches(topo, hwloc);
	read_memory(topo, hwloc);
	return err ? err : topology_set_model(topo, find_model(hwloc));
}

int sonde_topology_open(struct sonde_topology **out)
{
	struct sonde_topology *topo = topology_new();
	hwloc_topology_t hwloc;
	int err;

	if (!topo)
		return -ENOMEM;
	err = load(&hwloc);
	if (!err) {
		err = read_all(topo, hwloc);
		hwloc_topology_destroy(hwloc);
	}
	if (err)
		sonde_topology_close(topo);
	else
		*out = topo;
	return err;
}

/* ---- what is told of it ---------------------------------------------------------- */

int sonde_topology_caches(const struct sonde_topology *topo, unsigned int cpu,
			  struct sonde_cache_claim *out, size_t max)
{
	int n = 0;

	if (!hwloc_bitmap_isset(topo->known, cpu))
		return -EINVAL;
	for (size_t i = 0; i < topo->ncaches; i++) {
		if (!hwloc_bitmap_isset(topo->cache[i].cpus, cpu))
			continue;
		if ((size_t)n < max)
			out[n] = topo->cache[i].claim;
		n++;
	}
	return n;
}

int sonde_topology_cpus(const struct sonde_topology *topo, unsigned int *out, size_t max)
{
	unsigned int cpu;
	int n = 0;

	hwloc_bitmap_foreach_begin(cpu, topo->cpus)
		if ((size_t)n < max)
			out[n] = cpu;
		n++;
	hwloc_bitmap_foreach_end();
	return n;
}

int sonde_topology_nodes(const struct sonde_topology *topo)
{
	return (int)topo->nodes;
}

uint64_t sonde_topology_memory(const struct sonde_topology *topo)
{
	return topo->memory;
}

uint64_t sonde_topology_page_bytes(const struct sonde_topology *topo)
{
	return topo->page;
}

const char *sonde_topology_cpu_model(const struct sonde_topology *topo)
{
	return topo->model;
}
