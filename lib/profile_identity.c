// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * profile_identity - which machine a profile is of
 *
 * Home folders are shared by machines, and machines change: what a program finds
 * by default may be of another one. The hash is of what decides measurements and
 * stays over reboots: model, CPUs, NUMA nodes, claimed caches; not of limits that a
 * job has, nor of names.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "profile.h"
#include "topology.h"

/* FNV-1a, 64 bits. */
static uint64_t add(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}

static uint64_t add_cache(uint64_t hash, const struct sonde_cache_claim *cache)
{
	char text[128];

	snprintf(text, sizeof(text), ";L%u %d %" PRIu64 " %d %u ", cache->level, (int)cache->type,
		 cache->size, cache->ways, cache->line);
	return add(add(hash, text), cache->cpus);
}

int profile_identity(const struct sonde_topology *topo, char text[PROFILE_IDENTITY])
{
	uint64_t hash = add(UINT64_C(0xcbf29ce484222325), topo->model);
	char *cpus = NULL, nodes[16];

	if (hwloc_bitmap_list_asprintf(&cpus, topo->known) < 0)
		return -ENOMEM;
	snprintf(nodes, sizeof(nodes), ";%u;", topo->nodes);
	hash = add(add(hash, nodes), cpus);
	free(cpus);
	for (size_t i = 0; i < topo->ncaches; i++)
		hash = add_cache(hash, &topo->cache[i].claim);
	snprintf(text, PROFILE_IDENTITY, "%016" PRIx64, hash);
	return 0;
}

int sonde_profile_is_of(const struct sonde_profile *profile, const struct sonde_topology *topo)
{
	const json_t *machine = json_object_get(profile->root, "machine");
	const char *identity = json_string_value(json_object_get(machine, "identity"));
	char here[PROFILE_IDENTITY];
	int err;

	if (!identity)
		return -ENOENT;
	err = profile_identity(topo, here);
	return err ? err : !strcmp(identity, here);
}
