/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the environment asks to be shown of a job: SONDE_DSM_STATS, _TRACE, _RACES. */
#ifndef SONDE_DSM_SETTINGS_H
#define SONDE_DSM_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum dsm_stats_form { DSM_STATS_NONE, DSM_STATS_TABLE, DSM_STATS_JSON };

struct dsm_settings {
	enum dsm_stats_form stats;
	char *stats_file;	/* NULL: standard error */
	char *trace_file;	/* NULL: no trace */
	uint32_t trace_events;	/* kept of each process; 0: 32768 */
	bool races, race_reads;	/* the second only with the first */
};

/* Strings are the environment's. -EINVAL, and @why is a line that says what is wrong. */
int dsm_settings_read(struct dsm_settings *s, char *why, size_t len);
/* With strings of its own; @writes: files must be such that they can be written. */
int dsm_settings_copy(struct dsm_settings *to, const struct dsm_settings *from, bool writes,
		      char *why, size_t len);
void dsm_settings_free(struct dsm_settings *s);
bool dsm_settings_any(const struct dsm_settings *s);
/* What must be alike in all processes, as a number. */
uint64_t dsm_settings_shape(const struct dsm_settings *s);

/* A file that is there whole or not at all; what is no plain file is written as it is. */
struct dsm_output {
	FILE *file;
	const char *path;
	char *temp;		/* NULL: the file itself */
};

int dsm_output_begin(struct dsm_output *o, const char *path);	/* 0 or -errno */
int dsm_output_end(struct dsm_output *o);	/* the first error since it began, or 0 */

#endif
