// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * samples_machine - the machine that was recorded, as it was claimed to be
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "log.h"
#include "profile.h"
#include "samples.h"
#include "topology.h"

/* More than any machine has. */
#define MOST_CPUS	65536

/* "0-3,8", or nothing, up to the line's end. */
static int read_list(const char *at, hwloc_bitmap_t cpus)
{
	uint64_t first, last;

	if (*at == '\n')
		return 0;
	do {
		if (capture_read_whole(&at, MOST_CPUS - 1, &first))
			return -EBADMSG;
		last = first;
		if (!capture_read_char(&at, '-') &&
		    (capture_read_whole(&at, MOST_CPUS - 1, &last) || last < first))
			return -EBADMSG;
		if (hwloc_bitmap_set_range(cpus, (unsigned int)first, (int)last))
			return -ENOMEM;
	} while (!capture_read_char(&at, ','));
	return *at == '\n' ? 0 : -EBADMSG;
}

static int read_cpus(struct samples_reader *r, const char *name, hwloc_bitmap_t cpus)
{
	const char *at = samples_after(r, name);
	int err = at ? read_list(at, cpus) : -EBADMSG;

	if (err == -EBADMSG)
		return samples_refuse(r, "this is no list of CPUs");
	samples_next(r);
	return err;
}

static int read_type(const char **at, enum sonde_cache_type *type)
{
	static const char *const names[] = {
		[SONDE_CACHE_DATA] = "data\t", [SONDE_CACHE_UNIFIED] = "unified\t",
	};

	for (int i = SONDE_CACHE_DATA; i <= SONDE_CACHE_UNIFIED; i++) {
		if (strncmp(*at, names[i], strlen(names[i])) != 0)
			continue;
		*at += strlen(names[i]);
		*type = (enum sonde_cache_type)i;
		return 0;
	}
	return -EBADMSG;
}

/* Level, type, size, ways, line; then the CPUs. */
static int read_claim(const char *at, struct sonde_cache_claim *claim, hwloc_bitmap_t cpus)
{
	uint64_t level, line;
	int64_t ways;

	if (capture_read_whole(&at, UINT_MAX, &level) || capture_read_char(&at, '\t') ||
	    read_type(&at, &claim->type) ||
	    capture_read_whole(&at, UINT64_MAX, &claim->size) || capture_read_char(&at, '\t') ||
	    capture_read_signed(&at, &ways) || ways < -1 || ways > INT_MAX ||
	    capture_read_char(&at, '\t') ||
	    capture_read_whole(&at, UINT_MAX, &line) || capture_read_char(&at, '\t'))
		return -EBADMSG;
	claim->level = (unsigned int)level;
	claim->ways = (int)ways;
	claim->line = (unsigned int)line;
	return read_list(at, cpus);
}

static int add_claim(struct sonde_topology *topo, const char *line)
{
	struct sonde_cache_claim claim = { .level = 0 };
	hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	int err = cpus ? read_claim(line, &claim, cpus) : -ENOMEM;

	if (!err)
		err = topology_add_cache(topo, &claim, cpus);
	hwloc_bitmap_free(cpus);
	return err;
}

static int read_model(struct samples_reader *r, struct sonde_topology *topo)
{
	const char *at = samples_after(r, "model");
	char *model = strndup(at, samples_length(r) - (size_t)(at - r->at));
	int err = model ? topology_set_model(topo, model) : -ENOMEM;

	free(model);
	samples_next(r);
	return err;
}

static int read_topology(struct samples_reader *r, struct sonde_topology *topo)
{
	int err = read_model(r, topo);

	if (!err)
		err = samples_fields(r, "machine", capture_machine_fields, topo);
	if (!err)
		err = read_cpus(r, "known", topo->known);
	if (!err)
		err = read_cpus(r, "cpus", topo->cpus);
	while (!err && samples_after(r, "claim")) {
		err = add_claim(topo, samples_after(r, "claim"));
		if (err == -EBADMSG)
			samples_refuse(r, "no cache is like that");
		samples_next(r);
	}
	return !err && r->at != r->end ? samples_refuse(r, "this does not belong here") : err;
}

int sonde_samples_topology(const struct sonde_samples *samples, struct sonde_topology **topo)
{
	struct samples_reader r = samples_read_run(samples, &samples->topology);
	struct sonde_topology *made;
	int err;

	if (!samples->topology.text)
		return -ENODATA;
	made = topology_new();
	if (!made)
		return -ENOMEM;
	err = read_topology(&r, made);
	if (err)
		sonde_topology_close(made);
	else
		*topo = made;
	return err;
}

int sonde_samples_profile(const struct sonde_samples *samples, struct sonde_profile **profile)
{
	struct sonde_profile *p;
	json_error_t error;
	int err = 0;

	if (!samples->profile)
		return -ENODATA;
	p = malloc(sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->root = json_loadb(samples->profile, samples->profile_len, JSON_REJECT_DUPLICATES,
			     &error);
	if (!p->root) {
		err = json_error_code(&error) == json_error_out_of_memory ? -ENOMEM : -EBADMSG;
		sonde_log("%s: its profile: %s", samples->name, error.text);
	}
	if (!err && profile_check(p->root, samples->name))
		err = -EBADMSG;
	if (!err)
		err = profile_set(p->root, "sonde_version", json_string(SONDE_VERSION));
	if (err)
		sonde_profile_free(p);
	else
		*profile = p;
	return err;
}
