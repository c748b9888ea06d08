/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside the library: a capture in memory, and how its lines are read. */
#ifndef SONDE_LIB_SAMPLES_H
#define SONDE_LIB_SAMPLES_H

#include <sonde/samples.h>
#include "capture.h"

/* Probes of a capture: `sonde share` makes two. */
#define SAMPLES_RUNS	8
#define SAMPLES_VERSION	32

/**
 * struct samples_run - one probe's part of a capture
 * @probe: its name
 * @text: the line after that
 * @end: of its part
 * @line: the number of @text
 */
struct samples_run {
	const char *probe;
	const char *text, *end;
	size_t line;
};

/**
 * struct sonde_samples - a capture
 * @name: of the file
 * @text: all of it, a newline at its end
 * @len: bytes
 * @version: of sonde that made it
 * @topology: the lines of the machine as claimed; .text is NULL if there are none
 * @profile: its JSON, @profile_len bytes; NULL if there is none
 * @run: @nruns probes
 */
struct sonde_samples {
	char *name;
	char *text;
	size_t len;
	char version[SAMPLES_VERSION];
	struct samples_run topology;
	const char *profile;
	size_t profile_len;
	struct samples_run run[SAMPLES_RUNS];
	size_t nruns;
};

/**
 * struct samples_reader - where reading stands
 * @at: the next line
 * @end: behind the last one
 * @line: the next one's number
 */
struct samples_reader {
	const struct sonde_samples *samples;
	const char *at, *end;
	size_t line;
};

/* The lines of a probe behind its name. */
struct samples_reader samples_read_run(const struct sonde_samples *s,
				       const struct samples_run *run);

/* Logs where and @why. Return: -EBADMSG. */
int samples_refuse(const struct samples_reader *r, const char *why);

/* Bytes of the next line without its newline; on to the one after it. */
size_t samples_length(const struct samples_reader *r);
void samples_next(struct samples_reader *r);

/* What stands behind @word and a tab, NULL if the next line is of something else. */
const char *samples_after(const struct samples_reader *r, const char *word);

/* Lines of @kind with the @fields of an object; one with a number. 0, -EBADMSG, -ENOMEM. */
int samples_fields(struct samples_reader *r, const char *kind, const struct capture_field *fields,
		   void *object);
int samples_real(struct samples_reader *r, const char *name, double *x);

#endif
