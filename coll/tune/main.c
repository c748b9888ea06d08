// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * main - the program that each rank of `sonde tune alltoall` becomes
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/free_memory.h"
#include "../../tools/launcher.h"
#include "../slot.h"
#include "tune.h"

#define NETWORK_SHARE	0.1	/* of the time */
#define V_SHARE		0.1
#define IN_PLACE_SHARE	0.35	/* of what is left */
/* Send and receive buffers of a node's ranks, if nobody says how large. */
#define MEMORY_USUAL	((size_t)1 << 30)
#define MAX_USUAL	((size_t)1 << 20)

static int run(int argc, char **argv);

static const struct cli_command tune_alltoall = {
	.name = "tune alltoall",
	.summary = "which composition of MPI_Alltoall is best for each size, in an MPI job",
	.options = tune_options_table,
	.run = run,
};

/* What a person forces in other jobs would force every turn of this one. */
static void forget_settings(void)
{
	static const char *const names[] = { "SONDE_COLL", "SONDE_COLL_ALLTOALL",
					     "SONDE_COLL_ALLTOALLV" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
}

static int open_plan(struct tune *t)
{
	struct coll_slot *slot;

	PMPI_Comm_dup(MPI_COMM_WORLD, &t->comm);
	slot = coll_slot_get(t->comm);
	/* It is made when it is asked for again. */
	for (int i = 0; i < 2 && slot && !slot->plan && !slot->is_mpis; i++)
		coll_slot_plan(slot, COLL_ALLTOALL);
	t->plan = slot ? slot->plan : NULL;
	if (!t->plan)
		return launcher_fail(t->rank, CLI_FAILED, "libsonde-coll can make no plan for this "
				     "job: there is nothing to tune");
	/* It is to be seen what is best without them. */
	t->plan->nrules = 0;
	t->plan->network = (struct coll_network){ COLL_NIC_UNKNOWN, COLL_DISTRIBUTION_UNKNOWN };
	return CLI_DONE;
}

/* Return: CLI_DONE, or what all ranks say. */
static int open_buffers(struct tune *t)
{
	size_t *max = &t->options.max, room;
	const size_t ranks = (size_t)t->size;
	int has, all;

	if (!*max)
		for (*max = MAX_USUAL; *max > 1 && 2 * *max * ranks * (size_t)t->plan->most >
						   MEMORY_USUAL;)
			*max /= 2;
	if (t->options.min > *max)
		*max = t->options.min;
	room = ranks * (*max > 1 ? (size_t)1 << (64 - __builtin_clzll(*max - 1)) : 1);
	/* Memory that is promised and not there would kill somebody. */
	if (2 * room <= free_memory("") / (size_t)t->plan->lsize) {
		t->send = malloc(room);
		t->recv = malloc(room);
	}
	has = t->send && t->recv;
	PMPI_Allreduce(&has, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (!all)
		return launcher_fail(t->rank, CLI_FAILED, "not enough memory for blocks of %zu "
				     "bytes; give a smaller --max", *max);
	memset(t->send, t->rank, room);
	memset(t->recv, 0, room);
	return CLI_DONE;
}

static unsigned int get_class(size_t bytes)
{
	return bytes > 1 ? 64 - (unsigned int)__builtin_clzll(bytes - 1) : 0;
}

/* All sizes of one kind, each with its share of the time that is left. */
static void measure_kind(struct tune *t, int is_in_place, double until)
{
	const unsigned int first = get_class(t->options.min), last = get_class(t->options.max);

	for (int i = 0; i < t->ncandidates; i++)
		t->candidates[i].rest = 0;
	for (unsigned int class = first; class <= last; class++) {
		struct tune_point *point = &t->points[t->npoints];
		const double left = until - tune_clock(t);
		char what[64];

		snprintf(what, sizeof(what), "blocks of %zu bytes%s", (size_t)1 << class,
			 is_in_place ? ", in place" : "");
		if (!t->rank)
			cli_progress(1 - (t->options.budget_s - (MPI_Wtime() - t->begin)) /
				     t->options.budget_s, what);
		tune_measure(t, class, is_in_place, left > 0 ? left / (last - class + 1) : 0, point);
		t->npoints++;
		if (!t->rank)
			cli_progress_end();
		if (!t->rank && !t->options.common.json)
			tune_show_point(t, point);
	}
}

static int measure_v(struct tune *t, double seconds)
{
	if (tune_open_mix(t))
		return launcher_fail(t->rank, CLI_FAILED, "not enough memory");
	for (int i = 0; i < t->ncandidates; i++)
		t->candidates[i].rest = 0;
	if (!t->rank)
		cli_progress(1 - V_SHARE, "MPI_Alltoallv");
	tune_measure_v(t, seconds);
	if (!t->rank)
		cli_progress_end();
	if (!t->rank && !t->options.common.json)
		tune_show_v(t);
	return CLI_DONE;
}

static int measure(struct tune *t)
{
	const double budget = t->options.budget_s;
	double left;

	if (t->plan->nnodes > 1 && tune_measure_network(t, budget * NETWORK_SHARE))
		return launcher_fail(t->rank, CLI_FAILED,
				     "the network could not be measured: MPI or memory failed");
	if (!t->rank)
		cli_progress_end();
	if (t->is_measured && !t->rank && !t->options.common.json)
		tune_show_network(t);
	left = budget - tune_clock(t);
	measure_kind(t, 0, budget - left * (IN_PLACE_SHARE + V_SHARE));
	measure_kind(t, 1, budget - left * V_SHARE);
	return measure_v(t, budget - tune_clock(t));
}

/* What only rank 0 can see goes for all. */
static int agree(int status)
{
	PMPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return status;
}

/* `sonde run` preloads what makes MPI yield. */
static int is_yielding(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	return preloaded && strstr(preloaded, "libsonde-yield");
}

static int tune(struct tune *t)
{
	int status = open_plan(t);

	if (status == CLI_DONE)
		status = agree(!t->rank && tune_check_profile(t) ? CLI_FAILED : CLI_DONE);
	if (status == CLI_DONE)
		status = open_buffers(t);
	if (status == CLI_DONE && tune_list_candidates(t))
		status = launcher_fail(t->rank, CLI_FAILED, "not enough memory");
	if (status != CLI_DONE)
		return status;
	if (!t->rank && !t->options.common.json)
		tune_show_head(t);
	if (t->plan->is_crowded && !is_yielding() && !t->rank)
		cli_error("ranks share processors, and without `sonde run` MPI may not give them "
			  "away: rules will be for jobs that are started so");
	status = measure(t);
	if (status == CLI_DONE && !t->rank && !t->options.common.json)
		tune_show_rules(t);
	if (status == CLI_DONE)
		status = agree(t->rank ? CLI_DONE : tune_write(t));
	return status;
}

static int run(int argc, char **argv)
{
	struct tune t = { .options = TUNE_DEFAULTS };
	int status;

	forget_settings();
	MPI_Init(&argc, &argv);
	t.begin = MPI_Wtime();
	PMPI_Comm_rank(MPI_COMM_WORLD, &t.rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &t.size);
	cli_set_command(tune_alltoall.name);
	status = cli_parse(&tune_alltoall, argc, argv, &t.options);
	if (status < 0 && tune_options_check(&t.options) != CLI_DONE)
		status = CLI_USAGE;
	if (status < 0 && t.size < 2)
		status = launcher_fail(t.rank, CLI_CANNOT_MEASURE,
				       "one rank has nobody to exchange with; start two or more");
	if (status < 0)
		status = tune(&t);
	MPI_Finalize();
	tune_close_mix(&t);
	free(t.candidates);
	free(t.send);
	free(t.recv);
	fflush(stdout);
	return status;
}

int main(int argc, char **argv)
{
	return run(argc, argv);
}
