/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers that a long run has had already, in a file, so that it can be cut short
 * and gone on with. A file is of one run: its first line says which, and every
 * other is a name, a tab, an answer. A line that was not finished was not written.
 */
#ifndef TESTS_SIM_KEEP_H
#define TESTS_SIM_KEEP_H

#include <stddef.h>
#include <stdint.h>

struct keep;

/**
 * keep_open() - read what was kept, and go on there
 * @keep: to be closed
 * @path: of the file, made if there is none
 * @run: of which run, a line without its end
 * @error: on failure, a sentence that names the file
 * @size: room in @error
 *
 * Return: 0, -EINVAL (not a file of this run), -EBUSY (a run that goes on keeps its
 * answers there), -ENOMEM, or why it cannot be read and written.
 */
int keep_open(struct keep **keep, const char *path, const char *run, char *error, size_t size);

/* The answer of @name, NULL if there is none. It lives as long as @keep. */
const char *keep_find(const struct keep *keep, const char *name);

/* Keep an answer. It is in the file when this returns. 0, -errno. */
int keep_add(struct keep *keep, const char *name, const char *answer);

void keep_close(struct keep *keep);

/* A number for what is in a file, to tell it from another. 0, -errno. */
int keep_digest(const char *path, uint64_t *digest);

#endif
