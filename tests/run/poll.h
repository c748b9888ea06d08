/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SONDE_TESTS_RUN_POLL_H
#define SONDE_TESTS_RUN_POLL_H

/* What the MPI of the test says it is. */
void mpi_set_version(const char *version);
/* Poll UCX once; it has @n things. */
void mpi_poll(unsigned int n);

#endif
