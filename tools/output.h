/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SONDE_TOOLS_OUTPUT_H
#define SONDE_TOOLS_OUTPUT_H

#include <stddef.h>

#define OUTPUT_CLOSED { .dir = NULL, .fd = -1 }

/**
 * struct output - the folder of a report, and its page until it is done
 * @dir: the folder
 * @is_made: whether we made it
 * @fd: the page, -1 when it is closed
 * @temp: the page's name until it is done
 */
struct output {
	const char *dir;
	int is_made;
	int fd;
	char *temp;
};

/* Make the folder if it is not there and begin the page under a temporary
 * name, so that what cannot be written is known before anything is measured.
 * Return: exit status, after an error was said. */
int output_open(struct output *out, const char *dir);

/* The name of a file in the folder, to be freed; NULL for want of memory. */
char *output_path(const struct output *out, const char *name);

/* The whole page to disk, then to its name. Return: 0, -errno. */
int output_write(struct output *out, const char *text, size_t len);
int output_commit(struct output *out, const char *name);

/* Undo whatever was not committed. */
void output_close(struct output *out);

#endif
