// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * cpus - how many processors the ranks of a node may use together
 *
 * Those that their affinities name, and no more than their cgroup's quota is
 * worth. Against them stand all ranks of the job on the node, not only those of
 * this communicator: every launcher tells how many there are.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpus.h"

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

int coll_cpus_are_crowded(MPI_Comm node)
{
	int n, cpus, quota = count_quota();
	cpu_set_t mine, all;

	CPU_ZERO(&mine);
	CPU_ZERO(&all);
	/* A machine with more processors than the set has room for is not crowded. */
	if (sched_getaffinity(0, sizeof(mine), &mine))
		memset(&mine, 0xff, sizeof(mine));
	if (PMPI_Comm_size(node, &n) ||
	    PMPI_Allreduce(&mine, &all, sizeof(all), MPI_BYTE, MPI_BOR, node))
		return 1;
	cpus = CPU_COUNT(&all);
	if (quota && quota < cpus)
		cpus = quota;
	return count_ranks(n) > cpus;
}
