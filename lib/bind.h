/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The calling thread, on one CPU. */
#ifndef SONDE_LIB_BIND_H
#define SONDE_LIB_BIND_H

#include <errno.h>
#include <sched.h>

/* 0, -EPERM (offline, or outside the cpuset), -errno. @cpu is less than CPU_SETSIZE. */
static inline int bind_to(unsigned int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (!sched_setaffinity(0, sizeof(one), &one))
		return 0;
	return errno == EINVAL ? -EPERM : -errno;
}

#endif
