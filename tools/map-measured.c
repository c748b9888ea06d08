// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * map-measured - what talking costs, by the communication that the profile measured
 *
 * Pairs of CPUs take the cost of the layer that they were found to be in, whatever the
 * topology claims. Slots whose CPUs the profile does not have take the layer that most
 * pairs as far apart are in. Between nodes it is the layer that most such pairs of a job
 * were in.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "map.h"

#define NOT_THERE	(-1)

/**
 * struct survey - a method's layers, as numbers of @machine's
 * @tally: how many pairs of slots are in a layer, by how far they are apart
 * @together, @apart: how many pairs of places on one node, and on two
 */
struct survey {
	const json_t *places, *matrix, *layers;
	size_t tally[MAP_DISTANCES][MAP_MEASURED];
	size_t together[MAP_MEASURED], apart[MAP_MEASURED];
};

static double get_number(const json_t *object, const char *name)
{
	return json_number_value(json_object_get(object, name));
}

static const json_t *get_node(const struct survey *s, size_t place)
{
	return json_object_get(json_array_get(s->places, place), "node");
}

/* The layer of two places; NOT_THERE. */
static int get_layer(const struct survey *s, size_t a, size_t b)
{
	const json_t *row = json_object_get(json_array_get(s->matrix, a), "layers");
	const json_t *layer = json_array_get(row, b);
	json_int_t number = json_integer_value(layer);

	return json_is_integer(layer) && number >= 0 && number < MAP_MEASURED &&
	       (size_t)number < json_array_size(s->layers) ? (int)number : NOT_THERE;
}

/* ---- costs of a layer ----------------------------------------------------- */

static void add_point(struct map_layer *layer, double size, double ns)
{
	size_t n = layer->npoints;

	if (n == MAP_POINTS || !(ns > 0) || (n && !(size > layer->size[n - 1])))
		return;
	layer->size[n] = size;
	layer->ns[n] = ns;
	layer->npoints++;
}

/* Its points, or the ends of what was fitted to them. */
static int read_layer(struct map_layer *layer, const json_t *from, const char *method, int number)
{
	const json_t *segments = json_object_get(json_object_get(from, "loggp"), "segments"), *item;
	struct map_layer read = { .npoints = 0 };
	size_t i, last;

	json_array_foreach(json_object_get(from, "points"), i, item)
		add_point(&read, get_number(item, "bytes"), get_number(item, "latency_ns"));
	if (read.npoints < 2) {
		read.npoints = 0;
		json_array_foreach(segments, i, item) {
			static const char *const ends[] = { "from_bytes", "to_bytes" };

			for (size_t end = 0; end < 2; end++) {
				double bytes = get_number(item, ends[end]);

				add_point(&read, bytes, get_number(item, "start_ns") +
					  bytes * get_number(item, "per_byte_ns"));
			}
		}
	}
	if (read.npoints < 2)
		return 0;
	last = read.npoints - 1;
	read.message_ns = read.ns[0];
	read.byte_ns = (read.ns[last] - read.ns[0]) / (read.size[last] - read.size[0]);
	if (!(read.byte_ns > 0))
		return 0;
	snprintf(read.source, sizeof(read.source), "profile: %.16s, layer %d", method, number);
	*layer = read;
	return 1;
}

/* ---- which layers there are ----------------------------------------------- */

static void count_places(struct survey *s)
{
	const size_t n = json_array_size(s->places);

	for (size_t a = 0; a < n; a++)
		for (size_t b = 0; b < a; b++) {
			int layer = get_layer(s, a, b);

			if (layer == NOT_THERE)
				continue;
			if (json_equal(get_node(s, a), get_node(s, b)))
				s->together[layer]++;
			else
				s->apart[layer]++;
		}
}

/* The layer of most; NOT_THERE if there is none. */
static int find_most(const size_t tally[MAP_MEASURED])
{
	int most = NOT_THERE;

	for (int l = 0; l < MAP_MEASURED; l++)
		if (tally[l] && (most == NOT_THERE || tally[l] > tally[most]))
			most = l;
	return most;
}

/* The first entry of a method, which alone has sizes, if it has such pairs. */
static int open_method(struct survey *s, const json_t *section, const char *name, int is_apart)
{
	const json_t *method;
	size_t i;

	json_array_foreach(json_object_get(section, "methods"), i, method) {
		const char *word = json_string_value(json_object_get(method, "method"));

		if (!word || strcmp(word, name))
			continue;
		*s = (struct survey){ .places = json_object_get(section, "places"),
				      .matrix = json_object_get(method, "matrix"),
				      .layers = json_object_get(method, "layers") };
		count_places(s);
		return find_most(is_apart ? s->apart : s->together) != NOT_THERE;
	}
	return 0;
}

/* ---- pairs of slots ------------------------------------------------------- */

/* The place of each slot's CPU, on the first node that has one; NOT_THERE. */
static int *find_places(const struct survey *s, const struct map_machine *m)
{
	int *place = malloc(m->most * sizeof(*place));
	const json_t *item;
	size_t i;

	for (size_t slot = 0; place && slot < m->most; slot++) {
		place[slot] = NOT_THERE;
		json_array_foreach(s->places, i, item) {
			const json_t *cpu = json_object_get(item, "cpu");

			if (m->is_bound && place[slot] == NOT_THERE && json_is_integer(cpu) &&
			    json_equal(get_node(s, i), get_node(s, 0)) &&
			    json_integer_value(cpu) == (json_int_t)m->cpu[slot])
				place[slot] = (int)i;
		}
	}
	return place;
}

static void set_pair(struct map_machine *m, size_t a, size_t b, int layer)
{
	if (m->layer[MAP_DISTANCES + layer].npoints)
		m->cost[a * m->most + b] = (unsigned char)(MAP_DISTANCES + layer);
}

static void set_known(struct map_machine *m, struct survey *s, const int *place)
{
	for (size_t a = 0; a < m->most; a++)
		for (size_t b = 0; b < m->most; b++) {
			int layer = a != b && place[a] != NOT_THERE && place[b] != NOT_THERE ?
				    get_layer(s, (size_t)place[a], (size_t)place[b]) : NOT_THERE;

			if (layer == NOT_THERE)
				continue;
			s->tally[m->distance[a * m->most + b]][layer]++;
			set_pair(m, a, b, layer);
		}
}

/* Those that are as far apart as others that are known; ranks without CPUs as most
 * pairs on a node. */
static void set_others(struct map_machine *m, const struct survey *s)
{
	for (int d = 0; d < MAP_NETWORK; d++) {
		int layer = find_most(m->is_bound ? s->tally[d] : s->together);

		if (layer == NOT_THERE || !m->layer[MAP_DISTANCES + layer].npoints)
			continue;
		m->layer[d] = m->layer[MAP_DISTANCES + layer];
		for (size_t i = 0; i < m->most * m->most; i++)
			if (m->cost[i] == d && i % m->most != i / m->most)
				m->cost[i] = (unsigned char)(MAP_DISTANCES + layer);
	}
}

static int fill_node(struct map_machine *m, const json_t *section)
{
	/* What jobs send, before what is nearest to it. */
	static const char *const methods[] = { "mpi", "shm", "copy" };
	struct survey s;
	size_t i = 0;
	int *place;

	while (i < 3 && !open_method(&s, section, methods[i], 0))
		i++;
	if (i == 3)
		return 0;
	for (int l = 0; l < MAP_MEASURED; l++)
		read_layer(&m->layer[MAP_DISTANCES + l], json_array_get(s.layers, (size_t)l),
			   methods[i], l);
	place = find_places(&s, m);
	if (!place)
		return -ENOMEM;
	set_known(m, &s, place);
	set_others(m, &s);
	free(place);
	return 0;
}

static void fill_network(struct map_machine *m, const json_t *section)
{
	struct survey s;
	int layer;

	if (!open_method(&s, section, "mpi", 1))
		return;
	layer = find_most(s.apart);
	read_layer(&m->layer[MAP_NETWORK], json_array_get(s.layers, (size_t)layer), "mpi", layer);
}

int map_measured_fill(struct map_machine *m, const json_t *profile)
{
	const json_t *section = json_object_get(profile, "communication");

	if (!section)
		return 0;
	fill_network(m, section);
	return fill_node(m, section);
}
