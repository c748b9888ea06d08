/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ranks of an MPI job. `sonde` itself needs no MPI: each rank becomes the program that
 * was built for the MPI that started it.
 */
#ifndef SONDE_TOOLS_LAUNCHER_H
#define SONDE_TOOLS_LAUNCHER_H

#include <limits.h>

/**
 * struct launcher - what a launcher tells a rank
 * @rank: the variable with the rank's number
 * @mpi: whose it is; NULL: of several
 */
struct launcher {
	const char *rank;
	const char *mpi;
};

/* Standard streams that were put aside; -1: they are as they were. */
struct launcher_hush {
	int out, err;
};

/* Who started us; NULL: nobody did, we are no rank. */
const struct launcher *launcher_find(void);

/* What is wrong is wrong for all ranks: the first says it. */
int launcher_is_first(const struct launcher *launcher);

/* In a job: rank 0 says it for all, as cli_error() does. Return: @status. */
__attribute__((format(printf, 3, 4)))
int launcher_fail(int rank, int status, const char *format, ...);

/* Standard streams to nowhere, and back. */
void launcher_hush(struct launcher_hush *hush);
void launcher_unhush(const struct launcher_hush *hush);

/*
 * The program @name-MPI to become, to @path. @mpi: as the user said, or NULL.
 * Return: -1, or the status to exit with, after an error was said.
 */
int launcher_choose(const struct launcher *launcher, const char *name, const char *mpi,
		    char path[PATH_MAX]);

/* Becomes it. Return: the status to exit with, if that failed and was said. */
int launcher_become(char path[PATH_MAX], char **argv);

#endif
