// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * main - the program that each rank of `sonde comm` becomes
 *
 * Rank 0 says everything there is to say, for all.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/comm.h"
#include "../tools/launcher.h"
#include "comm.h"

/* So many ranks, and every two are measured. */
#define ALL_PAIRS	20

static const struct cli_command comm = {
	.name = "comm",
	.summary = "what messages cost between the ranks of an MPI job",
	.options = comm_options_table,
};

/**
 * struct job - all of it
 * @usual: the size of messages unless the user gave others
 * @most: the largest of all
 */
struct job {
	struct comm_options options;
	int rank, size;
	size_t usual, most;
	struct ranks ranks;
	struct sonde_comm_report *report;
};

/* What only rank 0 can see goes for all. */
static int tell_all(int status)
{
	MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return status;
}

/* FNV-1a of the arguments with their ends. */
static uint64_t hash_arguments(int argc, char **argv)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (int i = 1; i < argc; i++)
		for (const char *c = argv[i];; c++) {
			hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
			if (!*c)
				break;
		}
	return hash;
}

static int has_same_arguments(int argc, char **argv)
{
	uint64_t mine = hash_arguments(argc, argv), range[2] = { mine, ~mine }, all[2];

	MPI_Allreduce(range, all, 2, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
	return all[0] == ~all[1];
}

static int watch(void *ctx, double done, const char *what)
{
	const struct job *j = ctx;

	if (!j->rank)
		cli_progress(done, what);
	return 0;
}

/* ---- what is said ------------------------------------------------------------ */

static int print_json(const struct job *j)
{
	struct sonde_topology *topo = NULL;
	struct sonde_profile *profile = NULL;
	int err = sonde_topology_open(&topo);

	if (!err)
		err = sonde_profile_new(&profile);
	if (!err)
		err = sonde_profile_set_machine(profile, topo);
	if (!err)
		err = sonde_profile_set_communication(profile, j->report);
	if (!err)
		err = sonde_profile_dump(profile, stdout);
	sonde_profile_free(profile);
	sonde_topology_close(topo);
	return err;
}

static int show(const struct job *j)
{
	int status = j->options.figure ? write_latency_figure(j->report, j->options.figure) :
					 CLI_DONE;

	if (status != CLI_DONE)
		return status;
	if (!(j->options.common.json ? print_json(j) : print_comm(j->report, 1)))
		return CLI_DONE;
	return launcher_fail(j->rank, CLI_FAILED, "not enough memory for the result");
}

/* ---- what is measured ---------------------------------------------------------- */

/* Of rank 0's machine, which all then take. */
static size_t find_usual(const struct job *j)
{
	struct sonde_topology *topo;
	unsigned int cpu;
	uint64_t bytes = (size_t)32 << 10;

	if (!j->rank && !sonde_topology_open(&topo)) {
		if (sonde_topology_cpus(topo, &cpu, 1) >= 1)
			bytes = comm_usual_size(topo, cpu);
		sonde_topology_close(topo);
	}
	MPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
	return (size_t)bytes;
}

static int probe(struct job *j, const struct sonde_comm_options *how)
{
	struct comm_carrier *carrier;
	int err = carrier_open(&carrier, &j->ranks, j->most);

	if (err)
		return err;
	carrier->most_bytes = how->most_bytes;
	err = comm_probe(carrier, how, how->budget_s, 0, 1, j->report);
	carrier->ops->close(carrier);
	return err;
}

static int measure(struct job *j)
{
	const struct comm_options *o = &j->options;
	struct sonde_comm_options how = {
		.groups = j->ranks.groups, .depth = RANK_DEPTH,
		.sizes = o->nsizes ? o->sizes : &j->usual, .nsizes = o->nsizes ? o->nsizes : 1,
		.most_bytes = o->most_bytes, .budget_s = o->budget_s, .seed = o->seed,
		.all_pairs = o->all_pairs || j->size <= ALL_PAIRS,
		.progress = watch, .progress_ctx = j,
	};
	int err = comm_complete_options(&how);

	j->most = how.most_bytes;
	for (size_t i = 0; i < how.nsizes; i++)
		if (how.sizes[i] > j->most)
			j->most = how.sizes[i];
	j->report = comm_report_new(j->ranks.places, j->ranks.n);
	if (!err)
		err = agree(j->report ? 0 : -ENOMEM);
	return err ? err : probe(j, &how);
}

static int run_job(struct job *j)
{
	int err = ranks_find(&j->ranks);

	j->usual = find_usual(j);
	if (!err)
		err = measure(j);
	if (!j->rank)
		cli_progress_end();
	if (!err)
		return tell_all(j->rank ? CLI_DONE : show(j));
	return launcher_fail(j->rank, err == -EAGAIN ? CLI_CANNOT_MEASURE : CLI_FAILED,
			     "cannot measure communication: %s%s", strerror(-err),
			     err == -ENOMEM ?
			     "; give a smaller --max-size, or start fewer ranks a node" : "");
}

/* What is between CPUs of one machine has no ranks. */
static int check_options(const struct job *j)
{
	if (!j->options.list && !j->options.methods)
		return CLI_DONE;
	return launcher_fail(j->rank, CLI_USAGE, "--%s is for CPUs of one machine, not for ranks; "
			     "bind ranks by mpiexec's options",
			     j->options.list ? "cpus" : "method");
}

static int start(struct job *j, int argc, char **argv)
{
	struct launcher_hush hush;
	int status;

	if (!has_same_arguments(argc, argv))
		return launcher_fail(j->rank, CLI_USAGE,
				     "ranks were started with different options; "
				     "give all the same");
	/* They are the same, so rank 0's complaint is everybody's. */
	if (j->rank)
		launcher_hush(&hush);
	status = cli_parse(&comm, argc, argv, &j->options);
	if (j->rank)
		launcher_unhush(&hush);
	if (status < 0 && check_options(j) != CLI_DONE)
		status = CLI_USAGE;
	if (status < 0 && j->size < 2)
		status = launcher_fail(j->rank, CLI_CANNOT_MEASURE,
				       "one rank has nobody to communicate with; "
				       "start two or more");
	return status < 0 ? run_job(j) : status;
}

int main(int argc, char **argv)
{
	struct job j = { .options = COMM_DEFAULTS };
	int status;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &j.size);
	cli_set_command(comm.name);
	status = start(&j, argc, argv);
	/* It may be the last that is heard of us: see sonde-yield(7). */
	fflush(stdout);
	MPI_Finalize();
	sonde_comm_report_free(j.report);
	ranks_free(&j.ranks);
	return status;
}
