// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * memory - measure what CPUs get of the memory
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "memory.h"
#include "places.h"

static int watch_probe(void *ctx, double done, const char *what)
{
	(void)ctx;
	cli_progress(done, what);
	return cli_stop_requested();
}

static int refuse(int err)
{
	switch (err) {
	case -ENOMEM:
		cli_error("not enough memory to measure memory; raise the limit (ulimit -v, the "
			  "cgroup's memory.max) or --max-size, or name fewer CPUs");
		return CLI_FAILED;
	case -EPERM:
		cli_error("may not run on all of these CPUs any more");
		return CLI_FAILED;
	case -EAGAIN:
		cli_error("the CPUs are so busy that nothing could be measured; try again when "
			  "they are not, or as root");
		return CLI_CANNOT_MEASURE;
	default:
		cli_error("cannot measure memory: %s", strerror(-err));
		return CLI_FAILED;
	}
}

int machine_keep_memory(struct machine *m)
{
	if (!sonde_profile_set_bandwidth(m->profile, m->memory))
		return CLI_DONE;
	cli_error("not enough memory for the profile");
	return CLI_FAILED;
}

/* A claim bounds the memory that is used; nothing else of it goes into the result. */
static size_t find_largest(const struct machine *m)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < m->nclaims; i++)
		if (m->claims[i].size > largest)
			largest = m->claims[i].size;
	return (size_t)largest;
}

int machine_measure_memory(struct machine *m, const struct measure_options *options,
			   const unsigned int *cpus, size_t ncpus, int all_pairs)
{
	struct places places = { .groups = NULL };
	int err = places_find(cpus, ncpus, &places);
	struct sonde_memory_options how = {
		.cpus = cpus,
		.ncpus = ncpus,
		.groups = places.groups,
		.depth = places.depth,
		.nodes = places.nodes,
		.nnodes = places.nnodes,
		.cache_bytes = find_largest(m),
		.max_bytes = options->max_bytes,
		.seed = options->seed,
		.all_pairs = all_pairs,
		.progress = watch_probe,
		.recorder = m->recorder,
	};

	if (!err)
		err = sonde_probe_memory(m->clk, &how, &m->memory);
	places_free(&places);
	cli_progress_end();
	if (cli_stop_requested())
		return CLI_FAILED;
	return err ? refuse(err) : machine_keep_memory(m);
}
