/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cpus - whether the ranks of a node have a processor each */
#ifndef SONDE_COLL_CPUS_H
#define SONDE_COLL_CPUS_H

#include <mpi.h>

/* Collective over the ranks of a node. Return: 1 if ranks outnumber processors. */
int coll_cpus_are_crowded(MPI_Comm node);

#endif
