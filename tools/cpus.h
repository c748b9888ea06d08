/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of CPUs as they are typed. */
#ifndef SONDE_TOOLS_CPUS_H
#define SONDE_TOOLS_CPUS_H

#include <stddef.h>

/* Whether @list is one; if not, that was said. Return: CLI_DONE, CLI_USAGE. */
int cpus_check(const char *list);

/*
 * The CPUs that this process may run on, or those of @list (NULL: none was given),
 * all of which must be among them. *@cpus ascend, to be freed also on failure.
 * Return: an exit status, after an error was said.
 */
int cpus_choose(const char *list, unsigned int **cpus, size_t *n);

#endif
