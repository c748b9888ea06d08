// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * topology - claims about the machine, read once through hwloc
 */
#include <errno.h>
#include <stdlib.h>
#include <hwloc.h>
#include <sonde/topology.h>

/*
 * Each data cache's hwloc object carries its list of CPUs in userdata, so that
 * claims can point to it.
 */
struct sonde_topology {
	hwloc_topology_t hwloc;
	hwloc_bitmap_t cpus;	/* those that this process may run on */
};

static hwloc_obj_t next_data_cache(hwloc_topology_t hwloc, hwloc_obj_type_t type, hwloc_obj_t prev)
{
	if (!hwloc_obj_type_is_dcache(type))
		return NULL;
	return hwloc_get_next_obj_by_type(hwloc, type, prev);
}

/* Complete sets: a cache is also shared by CPUs that this process may not use. */
static int name_cpus(hwloc_topology_t hwloc)
{
	for (int type = HWLOC_OBJ_TYPE_MIN; type < HWLOC_OBJ_TYPE_MAX; type++) {
		hwloc_obj_t obj = NULL;
		char *list;

		while ((obj = next_data_cache(hwloc, (hwloc_obj_type_t)type, obj))) {
			if (hwloc_bitmap_list_asprintf(&list, obj->complete_cpuset) < 0)
				return -ENOMEM;
			obj->userdata = list;
		}
	}
	return 0;
}

static void forget_cpus(hwloc_topology_t hwloc)
{
	for (int type = HWLOC_OBJ_TYPE_MIN; type < HWLOC_OBJ_TYPE_MAX; type++) {
		hwloc_obj_t obj = NULL;

		while ((obj = next_data_cache(hwloc, (hwloc_obj_type_t)type, obj)))
			free(obj->userdata);
	}
}

/*
 * Allowed by cgroup, and by the affinity of any thread. For a recorded machine
 * hwloc answers that every CPU is.
 */
static hwloc_bitmap_t find_cpus(hwloc_topology_t hwloc)
{
	hwloc_bitmap_t cpus = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(hwloc));
	hwloc_bitmap_t bound;

	if (!cpus)
		return NULL;
	bound = hwloc_bitmap_alloc();
	if (!bound) {
		hwloc_bitmap_free(cpus);
		return NULL;
	}
	if (!hwloc_get_cpubind(hwloc, bound, HWLOC_CPUBIND_PROCESS))
		hwloc_bitmap_and(cpus, cpus, bound);
	hwloc_bitmap_free(bound);
	return cpus;
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

int sonde_topology_open(struct sonde_topology **out)
{
	struct sonde_topology *topo = calloc(1, sizeof(*topo));
	int err;

	if (!topo)
		return -ENOMEM;
	err = load(&topo->hwloc);
	if (err) {
		free(topo);
		return err;
	}
	err = name_cpus(topo->hwloc);
	topo->cpus = find_cpus(topo->hwloc);
	if (err || !topo->cpus) {
		sonde_topology_close(topo);
		return -ENOMEM;
	}
	*out = topo;
	return 0;
}

void sonde_topology_close(struct sonde_topology *topo)
{
	if (!topo)
		return;
	forget_cpus(topo->hwloc);
	hwloc_bitmap_free(topo->cpus);
	hwloc_topology_destroy(topo->hwloc);
	free(topo);
}

static void fill_claim(struct sonde_cache_claim *claim, hwloc_obj_t obj)
{
	const struct hwloc_cache_attr_s *cache = &obj->attr->cache;

	*claim = (struct sonde_cache_claim){
		.level = cache->depth,
		.type = cache->type == HWLOC_OBJ_CACHE_UNIFIED ? SONDE_CACHE_UNIFIED
							       : SONDE_CACHE_DATA,
		.size = cache->size,
		.ways = cache->associativity,
		.line = cache->linesize,
		.cpus = obj->userdata,
	};
}

int sonde_topology_caches(const struct sonde_topology *topo, unsigned int cpu,
			  struct sonde_cache_claim *out, size_t max)
{
	hwloc_obj_t obj = hwloc_get_pu_obj_by_os_index(topo->hwloc, cpu);
	int n = 0;

	if (!obj)
		return -EINVAL;
	for (obj = obj->parent; obj; obj = obj->parent) {
		if (!hwloc_obj_type_is_dcache(obj->type))
			continue;
		if ((size_t)n < max)
			fill_claim(&out[n], obj);
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
	hwloc_obj_t node = NULL;
	int n = 0;

	while ((node = hwloc_get_next_obj_by_type(topo->hwloc, HWLOC_OBJ_NUMANODE, node)))
		if (node->attr->numanode.local_memory)
			n++;
	return n;
}

uint64_t sonde_topology_memory(const struct sonde_topology *topo)
{
	return hwloc_get_root_obj(topo->hwloc)->total_memory;
}

/* hwloc hangs the name on packages, or on the machine if it knows no packages. */
const char *sonde_topology_cpu_model(const struct sonde_topology *topo)
{
	hwloc_obj_t package = NULL;
	const char *model;

	while ((package = hwloc_get_next_obj_by_type(topo->hwloc, HWLOC_OBJ_PACKAGE, package))) {
		model = hwloc_obj_get_info_by_name(package, "CPUModel");
		if (model && *model)
			return model;
	}
	model = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topo->hwloc), "CPUModel");
	return model && *model ? model : "unknown";
}
