/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `sonde tune alltoall` and the program of each MPI that it starts both read. */
#ifndef SONDE_TOOLS_TUNE_H
#define SONDE_TOOLS_TUNE_H

#include "cli.h"

/**
 * struct tune_options - what a person asks for
 * @mpi: the MPI that started us; NULL: by the environment
 * @budget_s: seconds for all of it
 * @min, @max: bytes of the smallest and largest block; @max 0: as memory has room
 * @save: the profile to write; NULL for the default
 */
struct tune_options {
	struct cli_common common;
	const char *mpi;
	double budget_s;
	size_t min, max;
	const char *save;
	int no_save;
};

#define TUNE_DEFAULTS { .budget_s = 60, .min = 8 }
#define TUNE_MOST	((size_t)64 << 20)	/* bytes of a block */

extern const struct cli_option tune_options_table[];

/* What the table cannot say of one option alone. Return: CLI_DONE, CLI_USAGE. */
int tune_options_check(const struct tune_options *options);

#endif
