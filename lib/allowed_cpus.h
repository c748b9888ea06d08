/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SONDE_LIB_ALLOWED_CPUS_H
#define SONDE_LIB_ALLOWED_CPUS_H

#include <sched.h>

/* The CPUs that the calling thread may run on, ascending. How many they are, or -errno. */
int allowed_cpus(unsigned int cpus[CPU_SETSIZE]);

#endif
