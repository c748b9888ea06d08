// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * profile_tune - what programs ask a profile when they choose sizes and places
 * (Servet, section 4)
 */
#include <errno.h>
#include <hwloc.h>
#include <string.h>
#include "profile.h"

static const json_t *find_level(const json_t *levels, unsigned int level)
{
	const json_t *item;
	size_t i;

	json_array_foreach(levels, i, item)
		if (json_integer_value(json_object_get(item, "level")) == (json_int_t)level)
			return item;
	return NULL;
}

/* The group of a level that a CPU is in, if it is known to share or not to. */
static int find_group(const json_t *level, unsigned int cpu, hwloc_bitmap_t set)
{
	const json_t *group;
	size_t i;

	json_array_foreach(json_object_get(level, "groups"), i, group) {
		const char *cpus = json_string_value(json_object_get(group, "cpus"));
		const char *verdict = json_string_value(json_object_get(group, "verdict"));

		if (!cpus || !verdict || hwloc_bitmap_list_sscanf(set, cpus) ||
		    !hwloc_bitmap_isset(set, cpu))
			continue;
		return strcmp(verdict, "unknown") != 0 ? 0 : -ENOENT;
	}
	return -ENOENT;
}

int sonde_profile_sharing(const struct sonde_profile *profile, unsigned int level,
			  unsigned int cpu, unsigned int *cpus, size_t n)
{
	const json_t *sharing = json_object_get(profile->root, "sharing");
	const json_t *found = find_level(json_object_get(sharing, "levels"), level);
	hwloc_bitmap_t set = found ? hwloc_bitmap_alloc() : NULL;
	unsigned int member;
	int count = 0, err;

	if (!found)
		return -ENOENT;
	if (!set)
		return -ENOMEM;
	err = find_group(found, cpu, set);
	if (!err) {
		hwloc_bitmap_foreach_begin(member, set)
			if ((size_t)count < n)
				cpus[count] = member;
			count++;
		hwloc_bitmap_foreach_end();
	}
	hwloc_bitmap_free(set);
	return err ? err : count;
}

static size_t root_of(uint64_t x)
{
	size_t root = 0;

	for (size_t bit = (size_t)1 << 31; bit; bit >>= 1)
		if ((uint64_t)(root + bit) * (root + bit) <= x)
			root += bit;
	return root;
}

static unsigned int get_cpu(const struct sonde_profile *profile)
{
	return (unsigned int)json_integer_value(json_object_get(profile->root, "cpu"));
}

int sonde_profile_tile(const struct sonde_profile *profile, unsigned int level,
		       unsigned int tiles, size_t element, size_t *side)
{
	struct sonde_cache_level cache;
	int err = sonde_profile_cache(profile, level, &cache);
	uint64_t bytes;
	int sharers;
	size_t n, step;

	if (err || !tiles || !element)
		return err ? err : -EINVAL;
	bytes = cache.size ? cache.size : cache.size_low;
	sharers = sonde_profile_sharing(profile, level, get_cpu(profile), NULL, 0);
	if (sharers > 1)
		bytes /= (unsigned int)sharers;
	/* One way is for what passes through. */
	if (cache.ways > 1)
		bytes -= bytes / cache.ways;
	n = root_of(bytes / tiles / element);
	step = cache.line > element ? cache.line / element : 1;
	if (n > step)
		n -= n % step;
	if (!n)
		return -ENOENT;
	*side = n;
	return 0;
}
