// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * profile_communication - latencies between places, and their layers, in the profile
 */
#include <errno.h>
#include <sonde/comm.h>
#include "profile.h"

/* -1 is nobody. */
static json_t *numbered(int i)
{
	return i < 0 ? json_null() : json_integer(i);
}

static json_t *new_places(const struct sonde_comm_report *r)
{
	json_t *list = json_array(), *object;

	for (size_t i = 0; list && i < r->nplaces; i++) {
		const struct sonde_comm_place *p = &r->places[i];

		object = json_object();
		list = profile_append(list, profile_unless(profile_set(object, "cpu", numbered(p->cpu)) ||
						   profile_set(object, "rank", numbered(p->rank)) ||
					   profile_set(object, "node", json_integer(p->node)) ||
					   profile_set(object, "host", profile_string(p->host)),
						   object));
	}
	return list;
}

static json_t *new_row(const struct sonde_comm_matrix *m, size_t row, size_t n)
{
	json_t *object = json_object(), *ns = json_array(), *layers = json_array();
	int err;

	for (size_t i = 0; i < n; i++) {
		ns = ns ? profile_append(ns, profile_measured(m->ns[row * n + i])) : NULL;
		layers = layers ? profile_append(layers, numbered(m->layer[row * n + i])) : NULL;
	}
	/* Both are taken over in any case. */
	err = profile_set(object, "latency_ns", ns);
	if (profile_set(object, "layers", layers))
		err = -ENOMEM;
	return profile_unless(err, object);
}

static json_t *new_matrix(const struct sonde_comm_matrix *m, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < n; i++)
		list = profile_append(list, new_row(m, i, n));
	return list;
}

static json_t *new_two(const unsigned int place[2])
{
	return profile_append(profile_append(json_array(), json_integer(place[0])),
			      json_integer(place[1]));
}

static json_t *new_pairs(const struct sonde_comm_matrix *m)
{
	json_t *list = json_array(), *object;

	for (size_t i = 0; list && i < m->npairs; i++) {
		const struct sonde_comm_pair *p = &m->pairs[i];

		object = json_object();
		list = profile_append(list, profile_unless(profile_set(object, "places", new_two(p->place)) ||
					   profile_set(object, "latency_ns", profile_measured(p->ns)) ||
						   profile_set(object, "latency_ns_ci",
							       profile_interval(&p->ci)) ||
					   profile_set(object, "layer", numbered(p->layer)) ||
						   profile_set(object, "windows",
							       json_integer(p->windows)), object));
	}
	return list;
}

static json_t *new_group(const struct sonde_comm_layer *l, size_t group, size_t n)
{
	json_t *object = json_object(), *places = json_array();

	for (size_t i = 0; places && i < n; i++)
		if (l->group[i] == group)
			places = profile_append(places, json_integer((json_int_t)i));
	return profile_unless(profile_set(object, "places", places), object);
}

static json_t *new_groups(const struct sonde_comm_layer *l, size_t n)
{
	json_t *list = json_array();

	for (size_t g = 0; list && g < l->ngroups; g++)
		list = profile_append(list, new_group(l, g, n));
	return list;
}

static json_t *new_point(const struct sonde_comm_point *p)
{
	json_t *object = json_object();

	return profile_unless(profile_set(object, "bytes", json_integer((json_int_t)p->bytes)) ||
			      profile_set(object, "latency_ns", profile_measured(p->ns)) ||
			      profile_set(object, "latency_ns_ci", profile_interval(&p->ci)) ||
			      profile_set(object, "gap_ns", profile_real(p->gap_ns)) ||
			      profile_set(object, "bytes_s",
					  profile_real((double)p->bytes / p->gap_ns * 1e9)) ||
			      profile_set(object, "send_ns", profile_real(p->send_ns)) ||
		      profile_set(object, "receive_ns", profile_real(p->receive_ns)), object);
}

static json_t *new_points(const struct sonde_comm_layer *l)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < l->npoints; i++)
		list = profile_append(list, new_point(&l->points[i]));
	return list;
}

static json_t *new_segment(const struct sonde_loggp_segment *s)
{
	json_t *object = json_object();

	return profile_unless(profile_set(object, "from_bytes", profile_whole(s->from_bytes)) ||
			      profile_set(object, "to_bytes", profile_whole(s->to_bytes)) ||
			      profile_set(object, "gap_ns", profile_real(s->gap_ns)) ||
			      profile_set(object, "byte_ns", profile_real(s->byte_ns)) ||
			      profile_set(object, "start_ns", profile_real(s->start_ns)) ||
			      profile_set(object, "per_byte_ns", profile_real(s->per_byte_ns)) ||
			      profile_set(object, "error", profile_real(s->error)), object);
}

static json_t *new_loggp(const struct sonde_loggp *l)
{
	json_t *list, *object;

	if (!l->nsegments)
		return json_null();
	list = json_array();
	for (size_t i = 0; list && i < l->nsegments; i++)
		list = profile_append(list, new_segment(&l->segments[i]));
	object = json_object();
	return profile_unless(profile_set(object, "segments", list) ||
			      profile_set(object, "latency_ns", profile_real(l->latency_ns)) ||
			      profile_set(object, "send_ns", profile_real(l->send_ns)) ||
			      profile_set(object, "receive_ns", profile_real(l->receive_ns)) ||
		      profile_set(object, "why", profile_string(*l->why ? l->why : NULL)), object);
}

static json_t *new_loads(const struct sonde_comm_layer *l)
{
	json_t *list = json_array(), *object;

	for (size_t i = 0; list && i < l->nloads; i++) {
		object = json_object();
		list = profile_append(list, profile_unless(profile_set(object, "pairs",
							       json_integer(l->loads[i].pairs)) ||
						   profile_set(object, "ratio",
							       profile_real(l->loads[i].ratio)) ||
						   profile_set(object, "bytes_s",
						       profile_measured(l->loads[i].bytes_s)), object));
	}
	return list;
}

static json_t *new_layer(const struct sonde_comm_layer *l, size_t n)
{
	json_t *object = json_object();

	return profile_unless(profile_set(object, "latency_ns", profile_measured(l->ns)) ||
			      profile_set(object, "latency_ns_low", profile_measured(l->ns_low)) ||
		      profile_set(object, "latency_ns_high", profile_measured(l->ns_high)) ||
			      profile_set(object, "npairs", json_integer((json_int_t)l->npairs)) ||
			      profile_set(object, "npairs_measured",
					  json_integer((json_int_t)l->nmeasured)) ||
			      profile_set(object, "groups", new_groups(l, n)) ||
			      profile_set(object, "representative", new_two(l->pair)) ||
			      profile_set(object, "points", new_points(l)) ||
			      profile_set(object, "loggp", new_loggp(&l->loggp)) ||
			      profile_set(object, "concurrency", new_loads(l)), object);
}

static json_t *new_layers(const struct sonde_comm_matrix *m, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < m->nlayers; i++)
		list = profile_append(list, new_layer(&m->layers[i], n));
	return list;
}

static json_t *new_method(const struct sonde_comm_matrix *m, size_t n)
{
	json_t *object = json_object();

	return profile_unless(profile_set(object, "method",
					  json_string(sonde_comm_method_name(m->method))) ||
			      profile_set(object, "via", profile_string(*m->via ? m->via : NULL)) ||
			      profile_set(object, "bytes", profile_count(m->bytes)) ||
			      profile_set(object, "matrix", new_matrix(m, n)) ||
			      profile_set(object, "pairs", new_pairs(m)) ||
			      profile_set(object, "layers", new_layers(m, n)) ||
			      profile_set(object, "elapsed_s", profile_real(m->elapsed_s)), object);
}

static json_t *new_methods(const struct sonde_comm_report *r)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < r->nmatrices; i++)
		list = profile_append(list, new_method(&r->matrices[i], r->nplaces));
	return list;
}

static json_t *new_notes(const struct sonde_comm_report *r)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < r->nnotes; i++)
		list = profile_append(list, profile_string(r->notes[i]));
	return list;
}

int sonde_profile_set_communication(struct sonde_profile *profile,
				    const struct sonde_comm_report *report)
{
	json_t *object = json_object();

	if (profile_set(object, "places", new_places(report)) ||
	    profile_set(object, "methods", new_methods(report)) ||
	    profile_set(object, "notes", new_notes(report))) {
		json_decref(object);
		return -ENOMEM;
	}
	return profile_set(profile->root, "communication", object);
}
