// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * profile - the document in memory: what was measured becomes JSON
 *
 * Numbers are rounded to what was measured, so that the text is short and what
 * is read back equals what was written. What was not measured is null, never
 * zero: a reader cannot take it for a value.
 */
#include <errno.h>
#include <hwloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include "profile.h"

/* Significant digits kept of a measured value. */
#define DIGITS 6

/* A value that is not a finite number was not measured. */
json_t *profile_real(double x)
{
	char text[32];

	if (!isfinite(x))
		return json_null();
	snprintf(text, sizeof(text), "%.*g", DIGITS, x);
	return json_real(strtod(text, NULL));
}

json_t *profile_whole(double x)
{
	if (!isfinite(x) || fabs(x) >= 9e18)
		return json_null();
	return json_integer((json_int_t)llround(x));
}

json_t *profile_count(uint64_t x)
{
	return x ? json_integer((json_int_t)x) : json_null();
}

/* JSON is UTF-8; what firmware calls a machine may not be. */
json_t *profile_string(const char *s)
{
	json_t *value;
	char *copy;

	if (!s)
		return json_null();
	value = json_string(s);
	if (value)
		return value;
	copy = strdup(s);
	if (!copy)
		return NULL;
	for (char *c = copy; *c; c++)
		if ((unsigned char)*c > 0x7e)
			*c = '?';
	value = json_string(copy);
	free(copy);
	return value;
}

int profile_set(json_t *object, const char *name, json_t *value)
{
	return json_object_set_new(object, name, value) ? -ENOMEM : 0;
}

static int set_now(json_t *root)
{
	char text[32];
	struct tm tm;
	time_t now = time(NULL);

	if (!gmtime_r(&now, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return 0;
	return profile_set(root, "created", json_string(text));
}

int sonde_profile_new(struct sonde_profile **profile)
{
	struct sonde_profile *p = malloc(sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->root = json_object();
	if (!p->root || profile_set(p->root, "schema", json_string(SONDE_PROFILE_SCHEMA)) ||
	    set_now(p->root) ||
	    profile_set(p->root, "sonde_version", json_string(SONDE_VERSION))) {
		sonde_profile_free(p);
		return -ENOMEM;
	}
	*profile = p;
	return 0;
}

void sonde_profile_free(struct sonde_profile *profile)
{
	if (!profile)
		return;
	json_decref(profile->root);
	free(profile);
}

/* As a list: "0-3,8". */
static json_t *new_cpus(const struct sonde_topology *topo)
{
	int n = sonde_topology_cpus(topo, NULL, 0);
	unsigned int *cpus = calloc((size_t)(n > 0 ? n : 1), sizeof(*cpus));
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	json_t *value = NULL;
	char *list = NULL;

	if (cpus && set) {
		n = sonde_topology_cpus(topo, cpus, (size_t)(n > 0 ? n : 0));
		for (int i = 0; i < n; i++)
			hwloc_bitmap_set(set, cpus[i]);
		if (hwloc_bitmap_list_asprintf(&list, set) >= 0)
			value = json_string(list);
	}
	free(list);
	free(cpus);
	hwloc_bitmap_free(set);
	return value;
}

static int set_kernel(json_t *machine)
{
	struct utsname u;

	if (uname(&u))
		return 0;
	return profile_set(machine, "kernel", profile_string(u.release)) ||
	       profile_set(machine, "architecture", profile_string(u.machine)) ? -ENOMEM : 0;
}

int sonde_profile_set_machine(struct sonde_profile *profile, const struct sonde_topology *topo)
{
	json_t *machine = json_object();
	int nodes = sonde_topology_nodes(topo);
	char identity[PROFILE_IDENTITY];

	if (profile_identity(topo, identity) ||
	    profile_set(machine, "identity", json_string(identity)) ||
	    profile_set(machine, "cpu_model", profile_string(sonde_topology_cpu_model(topo))) ||
	    profile_set(machine, "cpus", new_cpus(topo)) ||
	    profile_set(machine, "numa_nodes", profile_count(nodes > 0 ? (uint64_t)nodes : 0)) ||
	    profile_set(machine, "memory_bytes", profile_count(sonde_topology_memory(topo))) ||
	    profile_set(machine, "page_bytes",
			json_integer((json_int_t)sonde_topology_page_bytes(topo))) ||
	    set_kernel(machine)) {
		json_decref(machine);
		return -ENOMEM;
	}
	return profile_set(profile->root, "machine", machine);
}

int sonde_profile_set_clock(struct sonde_profile *profile, const struct sonde_clock_info *info)
{
	json_t *clock = json_object();
	const char *source = info->source == SONDE_CLOCK_COUNTER ? "counter" : "monotonic-raw";
	double claimed = info->claimed_hz > 0 ? info->claimed_hz : NAN;
	double ns = 1e9 / info->hz;

	if (profile_set(clock, "source", json_string(source)) ||
	    profile_set(clock, "name", profile_string(info->name)) ||
	    profile_set(clock, "hz", profile_whole(info->hz)) ||
	    profile_set(clock, "hz_low", profile_whole(info->hz_low)) ||
	    profile_set(clock, "hz_high", profile_whole(info->hz_high)) ||
	    profile_set(clock, "claimed_hz", profile_whole(claimed)) ||
	    profile_set(clock, "overhead_ticks", profile_real(info->overhead_ticks)) ||
	    profile_set(clock, "overhead_ns", profile_real(info->overhead_ticks * ns)) ||
	    profile_set(clock, "step_ticks", profile_count(info->step_ticks)) ||
	    profile_set(clock, "step_ns", profile_real((double)info->step_ticks * ns)) ||
	    profile_set(clock, "why", profile_string(info->why))) {
		json_decref(clock);
		return -ENOMEM;
	}
	return profile_set(profile->root, "clock", clock);
}

int sonde_profile_set_backend(struct sonde_profile *profile, const char *seam,
			      const char *using, const char *why)
{
	json_t *backends = json_object_get(profile->root, "backends");
	json_t *backend = json_object();

	if (!backends) {
		backends = json_object();
		if (profile_set(profile->root, "backends", backends))
			backends = NULL;
	}
	if (!backends || profile_set(backend, "using", profile_string(using)) ||
	    profile_set(backend, "why", profile_string(why))) {
		json_decref(backend);
		return -ENOMEM;
	}
	return profile_set(backends, seam, backend);
}
