// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * profile_memory - bandwidth, contention and latency under load, in the profile
 */
#include <errno.h>
#include <sonde/memory.h>
#include "profile.h"

static int set_rate(json_t *object, const struct sonde_memory_rate *rate)
{
	return profile_set(object, "bytes_s", profile_measured(rate->bytes_s)) ||
	       profile_set(object, "bytes_s_ci", profile_interval(&rate->ci)) ||
	       profile_set(object, "rounds", json_integer(rate->rounds)) ||
	       profile_set(object, "discarded", profile_real(rate->discarded));
}

static json_t *name_pages(enum sonde_pages pages)
{
	return json_string(pages == SONDE_PAGES_HUGE ? "huge" : "base");
}

static json_t *new_reference(const struct sonde_memory_reference *r)
{
	json_t *object = json_object();

	return profile_unless(profile_set(object, "operation", json_string(sonde_stream_name(r->kind))) ||
			      profile_set(object, "node", r->node < 0 ? json_null()
								      : json_integer(r->node)) ||
			      profile_set(object, "pages", name_pages(r->pages)) ||
			      set_rate(object, &r->rate), object);
}

static json_t *new_references(const struct sonde_memory_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < report->nreferences; i++)
		list = profile_append(list, new_reference(&report->references[i]));
	return list;
}

static json_t *new_alone(const struct sonde_memory_report *report)
{
	json_t *list = json_array(), *object;

	for (size_t i = 0; list && i < report->ncpus; i++) {
		object = json_object();
		list = profile_append(list, profile_unless(profile_set(object, "cpu",
							       json_integer(report->cpus[i])) ||
						   set_rate(object, &report->alone[i]), object));
	}
	return list;
}

static json_t *new_cpus(const unsigned int *cpus, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < n; i++)
		list = profile_append(list, json_integer(cpus[i]));
	return list;
}

static json_t *new_pair(const struct sonde_memory_pair *p)
{
	json_t *object = json_object();

	return profile_unless(profile_set(object, "cpus", new_cpus(p->cpu, 2)) ||
			      profile_set(object, "ratio", profile_measured(p->ratio)) ||
			      profile_set(object, "ratio_ci", profile_interval(&p->ci)) ||
			      profile_set(object, "class", p->group < 0 ? json_null()
									: json_integer(p->group)) ||
			      profile_set(object, "rounds", json_integer(p->rounds)) ||
			      profile_set(object, "discarded", profile_real(p->discarded)), object);
}

static json_t *new_pairs(const struct sonde_memory_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < report->npairs; i++)
		list = profile_append(list, new_pair(&report->pairs[i]));
	return list;
}

static json_t *new_points(const struct sonde_memory_curve *curve)
{
	json_t *list = json_array(), *object;

	for (size_t i = 0; list && i < curve->npoints; i++) {
		object = json_object();
		list = profile_append(list, profile_unless(profile_set(object, "cores",
							       json_integer(curve->cores[i])) ||
						   set_rate(object, &curve->rate[i]), object));
	}
	return list;
}

static json_t *new_curve(const struct sonde_memory_curve *curve)
{
	json_t *object;

	if (!curve->npoints)
		return json_null();
	object = json_object();
	return profile_unless(profile_set(object, "cpus", new_cpus(curve->cpus, curve->ncpus)) ||
			      profile_set(object, "points", new_points(curve)), object);
}

static json_t *new_class(const struct sonde_memory_class *c)
{
	json_t *object = json_object();

	return profile_unless(profile_set(object, "ratio", profile_real(c->ratio)) ||
			      profile_set(object, "ratio_low", profile_real(c->ratio_low)) ||
			      profile_set(object, "ratio_high", profile_real(c->ratio_high)) ||
			      profile_set(object, "overhead", json_boolean(c->has_overhead)) ||
			      profile_set(object, "npairs", json_integer((json_int_t)c->npairs)) ||
			      profile_set(object, "scaling", new_curve(&c->curve)), object);
}

static json_t *new_classes(const struct sonde_memory_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < report->nclasses; i++)
		list = profile_append(list, new_class(&report->classes[i]));
	return list;
}

static json_t *new_load(const struct sonde_memory_load *l)
{
	json_t *object = json_object();

	return profile_unless(profile_set(object, "bytes_s", profile_real(l->bytes_s)) ||
			      profile_set(object, "latency_ns", profile_measured(l->latency_ns)) ||
		      profile_set(object, "latency_ns_ci", profile_interval(&l->ci)), object);
}

static json_t *new_loads(const struct sonde_memory_report *report)
{
	json_t *list = json_array(), *object = json_object();

	for (size_t i = 0; list && i < report->nloads; i++)
		list = profile_append(list, new_load(&report->loads[i]));
	return profile_unless(profile_set(object, "pages", name_pages(report->load_pages)) ||
			      profile_set(object, "points", list), object);
}

static json_t *new_notes(const struct sonde_memory_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < report->nnotes; i++)
		list = profile_append(list, profile_string(report->notes[i]));
	return list;
}

int sonde_profile_set_bandwidth(struct sonde_profile *profile,
				const struct sonde_memory_report *report)
{
	json_t *object = json_object();

	if (profile_set(object, "cpus", new_cpus(report->cpus, report->ncpus)) ||
	    profile_set(object, "vectors", json_string(report->vectors)) ||
	    profile_set(object, "buffer_bytes", json_integer((json_int_t)report->buffer_bytes)) ||
	    profile_set(object, "references", new_references(report)) ||
	    profile_set(object, "alone", new_alone(report)) ||
	    profile_set(object, "pairs", new_pairs(report)) ||
	    profile_set(object, "classes", new_classes(report)) ||
	    profile_set(object, "scaling", new_curve(&report->all)) ||
	    profile_set(object, "loaded_latency", new_loads(report)) ||
	    profile_set(object, "elapsed_s", profile_real(report->elapsed_s)) ||
	    profile_set(object, "notes", new_notes(report))) {
		json_decref(object);
		return -ENOMEM;
	}
	return profile_set(profile->root, "bandwidth", object);
}
