/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: coll - what libsonde-coll did
 *
 * libsonde-coll takes the place of MPI_Alltoall() and MPI_Alltoallv(); programs
 * need not know of it. This is for those that measure or test it: sonde-coll(7).
 */
#ifndef SONDE_COLL_H
#define SONDE_COLL_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * sonde_coll_last() - how this thread's last MPI_Alltoall() or MPI_Alltoallv() was done
 *
 * Return: the composition's name, as "sa/window:32/shm"; "mpi" if MPI did it;
 * valid until the next such call of this thread.
 *
 * Since: 0.1
 */
const char *sonde_coll_last(void);

#ifdef __cplusplus
}
#endif

#endif
