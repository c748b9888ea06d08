// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * profile_hwloc - the machine as hwloc knows it, with what was measured of it
 *
 * Caches get infos, NUMA nodes memory attributes, and pairs of CPUs distances, so that
 * who reads topologies sees measured values. Nothing that hwloc claims is changed.
 */
#include <errno.h>
#include <hwloc.h>
#include <hwloc/distances.h>
#include <hwloc/memattrs.h>
#include <stdlib.h>
#include <string.h>
#include "profile.h"

static const json_t *get(const json_t *object, const char *name)
{
	return json_object_get(object, name);
}

static void add_info(hwloc_obj_t obj, const char *name, const json_t *value)
{
	char text[32];

	if (!json_is_number(value))
		return;
	snprintf(text, sizeof(text), "%.10g", json_number_value(value));
	hwloc_obj_add_info(obj, name, text);
}

/* Of one CPU's caches: others may be of another kind. */
static void add_caches(const json_t *root, hwloc_obj_t pu)
{
	const json_t *level;
	size_t i;

	json_array_foreach(get(root, "caches"), i, level) {
		const json_int_t depth = json_integer_value(get(level, "level"));

		for (hwloc_obj_t obj = pu; obj; obj = obj->parent) {
			if (!hwloc_obj_type_is_dcache(obj->type) ||
			    (json_int_t)obj->attr->cache.depth != depth)
				continue;
			add_info(obj, "SondeSize", get(level, "size"));
			add_info(obj, "SondeWays", get(level, "ways"));
			add_info(obj, "SondeLatencyNs", get(level, "latency_ns"));
			add_info(obj, "SondeConfidence", get(level, "confidence"));
		}
	}
}

/* @value for CPUs that are near to @node as the measured one was. */
static int set_attribute(hwloc_topology_t hwloc, hwloc_memattr_id_t id, hwloc_obj_t node,
			 hwloc_obj_t pu, double value)
{
	struct hwloc_location from = {
		.type = HWLOC_LOCATION_TYPE_CPUSET,
		.location.cpuset = hwloc_bitmap_isset(node->cpuset, pu->os_index) ? node->cpuset
										  : pu->cpuset,
	};

	if (value < 1)
		return 0;
	return hwloc_memattr_set_value(hwloc, id, node, &from, 0, (hwloc_uint64_t)(value + 0.5)) ?
	       -errno : 0;
}

static hwloc_obj_t find_local_node(hwloc_topology_t hwloc, hwloc_obj_t pu)
{
	hwloc_obj_t node = NULL;

	while ((node = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, node)))
		if (hwloc_bitmap_isset(node->cpuset, pu->os_index))
			return node;
	return NULL;
}

static int find_attribute(const char *operation, hwloc_memattr_id_t *id)
{
	if (!operation)
		return 0;
	if (!strcmp(operation, "copy"))
		*id = HWLOC_MEMATTR_ID_BANDWIDTH;
	else if (!strcmp(operation, "read"))
		*id = HWLOC_MEMATTR_ID_READ_BANDWIDTH;
	else if (!strcmp(operation, "write"))
		*id = HWLOC_MEMATTR_ID_WRITE_BANDWIDTH;
	else
		return 0;
	return 1;
}

/* hwloc's units are MiB/s and nanoseconds. */
static int add_memory(hwloc_topology_t hwloc, const json_t *root, hwloc_obj_t pu)
{
	const json_t *reference, *bandwidth = get(root, "bandwidth");
	hwloc_obj_t local = find_local_node(hwloc, pu), node;
	hwloc_memattr_id_t id;
	size_t i;
	int err = 0;

	if (local)
		err = set_attribute(hwloc, HWLOC_MEMATTR_ID_LATENCY, local, pu,
				    json_number_value(get(get(root, "memory"), "latency_ns")));
	json_array_foreach(get(bandwidth, "references"), i, reference) {
		const char *pages = json_string_value(get(reference, "pages"));
		const json_t *number = get(reference, "node");

		node = json_is_integer(number) ?
		       hwloc_get_numanode_obj_by_os_index(hwloc,
							  (unsigned int)json_integer_value(number)) :
		       local;
		if (err || !node || !pages || strcmp(pages, "base") != 0 ||
		    !find_attribute(json_string_value(get(reference, "operation")), &id))
			continue;
		err = set_attribute(hwloc, id, node, pu,
				    json_number_value(get(reference, "bytes_s")) / (1 << 20));
	}
	return err;
}

static double find_alone(const json_t *bandwidth, json_int_t cpu)
{
	const json_t *rate;
	size_t i;

	json_array_foreach(get(bandwidth, "alone"), i, rate)
		if (json_integer_value(get(rate, "cpu")) == cpu)
			return json_number_value(get(rate, "bytes_s"));
	return 0;
}

/* MiB/s that each of two gets while both copy; alone on the diagonal. 0: not known. */
static void fill_matrix(const json_t *bandwidth, const json_t *cpus, hwloc_uint64_t *values)
{
	const size_t n = json_array_size(cpus);
	const json_t *pair;
	size_t i;

	for (i = 0; i < n; i++)
		values[i * n + i] = (hwloc_uint64_t)
			(find_alone(bandwidth, json_integer_value(json_array_get(cpus, i))) / (1 << 20));
	json_array_foreach(get(bandwidth, "pairs"), i, pair) {
		const json_t *both = get(pair, "cpus");
		size_t at[2] = { n, n };

		for (size_t k = 0; k < n; k++)
			for (size_t side = 0; side < 2; side++)
				if (json_equal(json_array_get(cpus, k), json_array_get(both, side)))
					at[side] = k;
		if (at[0] == n || at[1] == n)
			continue;
		for (size_t side = 0; side < 2; side++)
			values[at[side] * n + at[!side]] = (hwloc_uint64_t)
				((double)values[at[side] * n + at[side]] *
				 json_number_value(get(pair, "ratio")));
	}
}

static int commit_matrix(hwloc_topology_t hwloc, const char *name, unsigned long means,
			 hwloc_obj_t *objs, hwloc_uint64_t *values, size_t n)
{
	hwloc_distances_add_handle_t handle =
		hwloc_distances_add_create(hwloc, name, HWLOC_DISTANCES_KIND_FROM_USER | means, 0);

	if (!handle || hwloc_distances_add_values(hwloc, handle, (unsigned int)n, objs, values, 0) ||
	    hwloc_distances_add_commit(hwloc, handle, 0))
		return errno ? -errno : -ENOMEM;
	return 0;
}

/* Only if every pair was measured: hwloc has no word for what is not known. */
static int add_pairs(hwloc_topology_t hwloc, const json_t *root)
{
	const json_t *bandwidth = get(root, "bandwidth"), *cpus = get(bandwidth, "cpus");
	const size_t n = json_array_size(cpus);
	hwloc_uint64_t *values;
	hwloc_obj_t *objs;
	int err = -ENOMEM, is_whole = n > 1;

	if (n < 2)
		return 0;
	values = calloc(n * n, sizeof(*values));
	objs = calloc(n, sizeof(*objs));
	if (values && objs) {
		fill_matrix(bandwidth, cpus, values);
		for (size_t i = 0; i < n; i++)
			objs[i] = hwloc_get_pu_obj_by_os_index(hwloc, (unsigned int)
				json_integer_value(json_array_get(cpus, i)));
		for (size_t i = 0; i < n * n; i++)
			is_whole = is_whole && values[i] && objs[i % n];
		err = is_whole ? commit_matrix(hwloc, "SondeBandwidthInPairs",
					       HWLOC_DISTANCES_KIND_MEANS_BANDWIDTH, objs, values,
					       n) : 0;
	}
	free(values);
	free(objs);
	return err;
}

/* A line of cache handed over: by itself, else with its flag. */
static const json_t *find_lines(const json_t *section)
{
	static const char *const names[] = { "line", "flag" };
	const json_t *method;
	size_t i;

	for (size_t name = 0; name < 2; name++)
		json_array_foreach(get(section, "methods"), i, method) {
			const char *word = json_string_value(get(method, "method"));

			if (word && !strcmp(word, names[name]))
				return method;
		}
	return NULL;
}

/* CPUs of the first place's node to @objs, the places to @place. Return: how many. */
static size_t find_cpus(hwloc_topology_t hwloc, const json_t *places, hwloc_obj_t *objs,
			size_t *place)
{
	const json_t *node = get(json_array_get(places, 0), "node"), *item;
	size_t n = 0, i;

	json_array_foreach(places, i, item) {
		const json_t *cpu = get(item, "cpu");

		objs[n] = json_is_integer(cpu) && json_equal(get(item, "node"), node) ?
			  hwloc_get_pu_obj_by_os_index(hwloc, (unsigned int)json_integer_value(cpu)) :
			  NULL;
		if (objs[n])
			place[n++] = i;
	}
	return n;
}

/* Whether nanoseconds of all pairs are known. */
static int fill_latencies(const json_t *matrix, const size_t *place, size_t n,
			  hwloc_uint64_t *values)
{
	for (size_t a = 0; a < n; a++)
		for (size_t b = 0; b < n; b++) {
			const json_t *row = get(json_array_get(matrix, place[a]), "latency_ns");
			double ns = json_number_value(json_array_get(row, place[b]));

			values[a * n + b] = a == b ? 0 : (hwloc_uint64_t)(ns + 0.5);
			if (a != b && !values[a * n + b])
				return 0;
		}
	return n > 1;
}

static int add_latencies(hwloc_topology_t hwloc, const json_t *root)
{
	const json_t *section = get(root, "communication"), *places = get(section, "places");
	const json_t *lines = find_lines(section);
	const size_t room = json_array_size(places);
	hwloc_uint64_t *values;
	hwloc_obj_t *objs;
	size_t *place, n;
	int err = -ENOMEM;

	if (!lines || room < 2)
		return 0;
	values = calloc(room * room, sizeof(*values));
	objs = calloc(room, sizeof(*objs));
	place = calloc(room, sizeof(*place));
	if (values && objs && place) {
		n = find_cpus(hwloc, places, objs, place);
		err = fill_latencies(get(lines, "matrix"), place, n, values) ?
		      commit_matrix(hwloc, "SondeLatencyOfLines",
				    HWLOC_DISTANCES_KIND_MEANS_LATENCY, objs, values, n) : 0;
	}
	free(values);
	free(objs);
	free(place);
	return err;
}

static int load(hwloc_topology_t *hwloc)
{
	errno = 0;
	if (hwloc_topology_init(hwloc))
		return errno ? -errno : -ENOMEM;
	if (!hwloc_topology_load(*hwloc))
		return 0;
	hwloc_topology_destroy(*hwloc);
	return errno ? -errno : -EIO;
}

static int print(hwloc_topology_t hwloc, FILE *to)
{
	char *text;
	int len, err = 0;

	if (hwloc_topology_export_xmlbuffer(hwloc, &text, &len, 0))
		return errno ? -errno : -ENOMEM;
	if (fputs(text, to) < 0 || fflush(to))
		err = -EIO;
	hwloc_free_xmlbuffer(hwloc, text);
	return err;
}

int sonde_profile_hwloc(const struct sonde_profile *profile, FILE *to)
{
	const json_t *cpu = get(profile->root, "cpu");
	struct sonde_topology *topo = NULL;
	hwloc_topology_t hwloc;
	hwloc_obj_t pu;
	int err = sonde_topology_open(&topo);

	if (err)
		return err;
	err = sonde_profile_is_of(profile, topo);
	sonde_topology_close(topo);
	if (err != 1)
		return err ? err : -EXDEV;
	err = load(&hwloc);
	if (err)
		return err;
	pu = hwloc_get_pu_obj_by_os_index(hwloc, (unsigned int)json_integer_value(cpu));
	if (pu && cpu) {
		add_caches(profile->root, pu);
		err = add_memory(hwloc, profile->root, pu);
	}
	if (!err)
		err = add_pairs(hwloc, profile->root);
	if (!err)
		err = add_latencies(hwloc, profile->root);
	if (!err)
		err = print(hwloc, to);
	hwloc_topology_destroy(hwloc);
	return err;
}
