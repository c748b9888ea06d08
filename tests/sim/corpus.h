/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Caches of real machines from a table: tab-separated columns machine, level,
 * size_bytes, ways, line_bytes, sets, shared_by_threads, the header first; lines
 * that begin with # are comments.
 */
#ifndef TESTS_SIM_CORPUS_H
#define TESTS_SIM_CORPUS_H

#include <stddef.h>

#include "machine.h"

#define CORPUS_NAME	128
#define CORPUS_WHY	160

/**
 * struct corpus_cache - a row
 * @level: 1 is nearest to the core
 * @bytes: size
 * @ways: associativity
 * @line: bytes of a line
 * @sets: how many
 * @shared: threads that share one, 0: not known
 * @why: why it cannot be simulated, "" if it can
 */
struct corpus_cache {
	unsigned int level;
	size_t bytes;
	unsigned int ways, line;
	size_t sets;
	unsigned int shared;
	char why[CORPUS_WHY];
};

/**
 * struct corpus_machine - rows of one machine
 * @name: its name
 * @cache: @n rows, nearest first
 * @n: how many
 * @usable: how many of them, from the first on, can be simulated: what is below
 *          a cache of which too little is known cannot
 */
struct corpus_machine {
	char name[CORPUS_NAME];
	struct corpus_cache cache[MACHINE_LEVELS];
	unsigned int n, usable;
};

/**
 * corpus_read() - read a table
 * @path: where
 * @machines: @n machines in the order of the table, to be freed
 * @n: how many
 * @error: on failure, a sentence that names the file and the line
 * @size: room in @error
 *
 * Return: 0, -EINVAL (not such a table), -ENOMEM, or why it cannot be read.
 */
int corpus_read(const char *path, struct corpus_machine **machines, size_t *n, char *error,
		size_t size);

#endif
