// SPDX-License-Identifier: LGPL-2.1-or-later
/* allowed_cpus - the calling thread's affinity as a list */
#include <errno.h>

#include "allowed_cpus.h"

int allowed_cpus(unsigned int cpus[CPU_SETSIZE])
{
	cpu_set_t set;
	int n = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		return -errno;
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[n++] = cpu;
	return n;
}
