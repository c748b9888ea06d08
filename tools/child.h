/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SONDE_TOOLS_CHILD_H
#define SONDE_TOOLS_CHILD_H

#include <stddef.h>

/**
 * struct child - a program run for what it prints
 * @argv: looked for in PATH
 * @input: what it reads on standard input; NULL for nothing
 * @deadline_s: it is killed after so many seconds
 * @output: what it printed, to be freed; NUL-terminated
 * @output_len: bytes of it
 * @why: if it failed: its first line of complaint, or what happened
 */
struct child {
	const char *const *argv;
	const char *input;
	double deadline_s;
	char *output;
	size_t output_len;
	char why[160];
};

/**
 * child_run() - run a program to its end
 *
 * No shell is involved. A signal to stop (cli_stop_catch()) ends it too.
 *
 * Return: 0, -ENOENT (no such program), -ETIMEDOUT, -ECANCELED (stopped),
 * -EIO (it failed), -ENOMEM or what starting it said.
 */
int child_run(struct child *child);

#endif
