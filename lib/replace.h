/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A file that is replaced as a whole or not at all: written beside its name,
 * to disk, then renamed.
 */
#ifndef SONDE_LIB_REPLACE_H
#define SONDE_LIB_REPLACE_H

#include <stdio.h>

/**
 * struct replace - a file being written
 * @file: to write to
 * @path: its name in the end
 * @temp: its name until then, NULL when there is nothing to undo
 */
struct replace {
	FILE *file;
	char *path;
	char *temp;
};

/*
 * Begin. 0, -EISDIR, -EINVAL (something else than a file has that name),
 * -ENOMEM, or what open(2) said.
 */
int replace_open(struct replace *r, const char *path);

/* What was written to disk, then under its name; ends it also on failure. 0, -errno. */
int replace_commit(struct replace *r);

/* End without a trace, if it was not committed. */
void replace_abandon(struct replace *r);

#endif
