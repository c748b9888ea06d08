// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * comm - measure what messages between the CPUs of this machine cost
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <hwloc.h>
#include "comm.h"
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
	case -ERANGE:
		cli_error("one CPU has nobody to communicate with; allow two or more "
			  "(--cpus, taskset, the cgroup's cpuset)");
		return CLI_CANNOT_MEASURE;
	case -EAGAIN:
		cli_error("the CPUs are so busy that nothing could be measured; try again when "
			  "they are not, or as root");
		return CLI_CANNOT_MEASURE;
	case -ENOMEM:
		cli_error("not enough memory; give a smaller --max-size, or fewer CPUs");
		return CLI_FAILED;
	case -EPERM:
		cli_error("may not run on all of these CPUs any more");
		return CLI_FAILED;
	default:
		cli_error("cannot measure communication: %s", strerror(-err));
		return CLI_FAILED;
	}
}

int machine_measure_comm(struct machine *m, const struct comm_options *options,
			 const unsigned int *cpus, size_t ncpus)
{
	const size_t usual = comm_usual_size(m->topo, m->cpu);
	struct places places = { .groups = NULL };
	int err = ncpus < 2 ? -ERANGE : places_find(cpus, ncpus, &places);
	struct sonde_comm_options how = {
		.cpus = cpus,
		.ncpus = ncpus,
		.groups = places.groups,
		.depth = places.depth,
		.methods = options->methods,
		.sizes = options->nsizes ? options->sizes : &usual,
		.nsizes = options->nsizes ? options->nsizes : 1,
		.most_bytes = options->most_bytes,
		.budget_s = options->budget_s,
		.seed = options->seed,
		.all_pairs = options->all_pairs,
		.progress = watch_probe,
	};

	if (!err)
		err = sonde_probe_comm(m->clk, &how, &m->comm);
	places_free(&places);
	cli_progress_end();
	if (cli_stop_requested())
		return CLI_FAILED;
	if (err)
		return refuse(err);
	if (!sonde_profile_set_communication(m->profile, m->comm))
		return CLI_DONE;
	cli_error("not enough memory for the profile");
	return CLI_FAILED;
}
