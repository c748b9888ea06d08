// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * map-layers - what a message and a byte cost over each distance
 *
 * What is usual, until it was measured. Only ratios of these count for a placement:
 * a message through shared memory is some handovers of a cache line, which cost
 * about what the nearest shared level does on today's servers; beyond that a copy
 * at the speed of that level. The network is one of 10 Gbit/s over TCP.
 *
 * A profile without communication (map-measured) may still have the cost of copies
 * between processes of its machine (transfers), not between which CPUs: it sets the
 * scale of a byte for the distances within a node. What a copy costs to begin with is no
 * message, which is waited for.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "map.h"

static const struct {
	const char *name;
	double message_ns;
	double byte_ns;
} usual[MAP_DISTANCES] = {
	[MAP_CORE] = { "core", 150, 0.04 },
	[MAP_L2] = { "L2", 200, 0.05 },
	[MAP_L3] = { "L3", 300, 0.08 },
	[MAP_NUMA] = { "memory", 500, 0.12 },
	[MAP_NODE] = { "node", 800, 0.2 },
	[MAP_NETWORK] = { "network", 20000, 0.8 },
};

const char *map_distance_name(enum map_distance distance)
{
	return usual[distance].name;
}

void map_layer_name(size_t layer, char name[32])
{
	if (layer < MAP_DISTANCES)
		snprintf(name, 32, "%s", usual[layer].name);
	else
		snprintf(name, 32, "layer %zu", layer - MAP_DISTANCES);
}

/* The least of what was measured of @bytes, by any way that ends in the other's own
 * memory. */
static double find_ns(const json_t *points, json_int_t bytes)
{
	double least = INFINITY;
	const json_t *point;
	size_t i;

	json_array_foreach(points, i, point) {
		const char *way = json_string_value(json_object_get(point, "way"));
		double ns = json_number_value(json_object_get(point, "ns"));

		if (way && strcmp(way, "memcpy") && ns > 0 && ns < least &&
		    json_integer_value(json_object_get(point, "bytes")) == bytes)
			least = ns;
	}
	return least;
}

/* What a byte more costs, from the smallest to the largest. 0 if that is not known. */
static double fit_transfers(const json_t *profile)
{
	const json_t *points = json_object_get(json_object_get(profile, "transfers"), "points");
	json_int_t low = 0, high = 0;
	const json_t *point;
	double ns;
	size_t i;

	json_array_foreach(points, i, point) {
		json_int_t bytes = json_integer_value(json_object_get(point, "bytes"));

		low = !low || bytes < low ? bytes : low;
		high = bytes > high ? bytes : high;
	}
	if (low <= 0 || high <= low)
		return 0;
	ns = find_ns(points, high) - find_ns(points, low);
	return isfinite(ns) && ns > 0 ? ns / (double)(high - low) : 0;
}

void map_layers_fill(struct map_layer layers[MAP_DISTANCES], const json_t *profile)
{
	double byte_ns = profile ? fit_transfers(profile) : 0;

	for (int d = 0; d < MAP_DISTANCES; d++)
		layers[d] = (struct map_layer){ .message_ns = usual[d].message_ns,
						.byte_ns = usual[d].byte_ns, .source = "usual" };
	if (byte_ns <= 0)
		return;
	for (int d = 0; d < MAP_NETWORK; d++) {
		layers[d].byte_ns = byte_ns * usual[d].byte_ns / usual[MAP_L3].byte_ns;
		snprintf(layers[d].source, sizeof(layers[d].source), "usual; byte: profile%s",
			 d == MAP_L3 ? "" : ", scaled");
	}
}
