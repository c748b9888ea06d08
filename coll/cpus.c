// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * cpus - how many processors the ranks of a node, or of a machine, may use together
 *
 * Those that their affinities name, and on a node no more than its cgroup's quota
 * is worth. Against them stand all ranks of the job on the node, not only those of
 * this communicator: every launcher tells how many there are.
 *
 * Several nodes may be one machine: containers, whose kernel tells them all the
 * same number of its boot.
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpus.h"
#include "plan.h"

/* What mpiexec, mpirun and srun set. */
static const char *const told[] = {
	"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_TASKS_ON_NODE",
};

static int count_ranks(int at_least)
{
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		const char *value = getenv(told[i]);
		long n = value ? strtol(value, NULL, 10) : 0;

		if (n > at_least && n < 1 << 20)
			at_least = (int)n;
	}
	return at_least;
}

/* Two numbers of a file of the control group's file system. Return: how many there are. */
static int read_numbers(const char *path, long long *a, long long *b)
{
	FILE *file = fopen(path, "re");
	int n = 0;

	if (file) {
		n = fscanf(file, "%lld %lld", a, b);
		fclose(file);
	}
	return n;
}

/* As a container sees its own; 0 if there is none. */
static int count_quota(void)
{
	long long quota = 0, period = 0, unused;

	if (read_numbers("/sys/fs/cgroup/cpu.max", &quota, &period) != 2 &&
	    (read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &quota, &unused) != 1 ||
	     read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_period_us", &period, &unused) != 1))
		return 0;
	return quota > 0 && period > 0 ? (int)((quota + period - 1) / period) : 0;
}

/* FNV-1a of the number of the boot; 0 if it is not told. */
static uint64_t get_machine(void)
{
	char word[64] = "";
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	uint64_t hash = 0xcbf29ce484222325u;

	if (!file)
		return 0;
	if (!fgets(word, sizeof(word), file))
		hash = 0;
	fclose(file);
	for (const char *c = word; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
	return hash;
}

/* Two machines may have the same colour: then they are taken for none. */
static int is_one(MPI_Comm comm, uint64_t machine)
{
	uint64_t mine[2] = { machine, ~machine }, least[2];

	return !PMPI_Allreduce(mine, least, 2, MPI_UINT64_T, MPI_MIN, comm) &&
	       least[0] == ~least[1];
}

/* @ranks: of this node. */
static int is_machine_crowded(const struct coll_plan *plan, const cpu_set_t *cpus, int ranks)
{
	const uint64_t machine = get_machine();
	int n = plan->lrank ? 0 : ranks, all = 0, crowded = 0;
	cpu_set_t every = *cpus;
	MPI_Comm comm;

	if (PMPI_Comm_split(plan->comm, machine ? (int)(machine >> 33) : MPI_UNDEFINED,
			    plan->rank, &comm) || comm == MPI_COMM_NULL)
		return 0;
	if (is_one(comm, machine) &&
	    !PMPI_Allreduce(cpus, &every, sizeof(every), MPI_BYTE, MPI_BOR, comm) &&
	    !PMPI_Allreduce(&n, &all, 1, MPI_INT, MPI_SUM, comm))
		crowded = all > CPU_COUNT(&every);
	PMPI_Comm_free(&comm);
	return crowded;
}

int coll_cpus_are_crowded(const struct coll_plan *plan)
{
	const int ranks = count_ranks(plan->lsize), quota = count_quota();
	int cpus, crowded;
	cpu_set_t mine, all;

	CPU_ZERO(&mine);
	CPU_ZERO(&all);
	/* A machine with more processors than the set has room for is not crowded. */
	if (sched_getaffinity(0, sizeof(mine), &mine))
		memset(&mine, 0xff, sizeof(mine));
	if (PMPI_Allreduce(&mine, &all, sizeof(all), MPI_BYTE, MPI_BOR, plan->node))
		return 1;
	cpus = CPU_COUNT(&all);
	if (quota && quota < cpus)
		cpus = quota;
	crowded = ranks > cpus;
	if (plan->nnodes > 1)
		crowded |= is_machine_crowded(plan, &all, ranks);
	return crowded;
}
