/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of `sonde sim alltoall` share. */
#ifndef SONDE_TOOLS_SIM_H
#define SONDE_TOOLS_SIM_H

#include <stdint.h>
#include <stdio.h>
#include <jansson.h>
#include "../coll/sim/claims.h"
#include "../coll/sim/schedule.h"
#include "cli.h"

/* One file each; the table is in cmd-sim.c. */
extern const struct cli_command sim_alltoall;

/**
 * struct sim_options - what was asked for
 * @typed: a bit for each option that some output has no use for
 * @class: what is simulated; @class_name and @class_file as typed, NULL if not
 * @outers: a bit for each scheme; 0: the paper's
 * @system: as typed; NULL: each machine as large as the paper's
 * @is_full: every node for itself
 * @figures: a folder; @goal a file; NULL: none
 */
struct sim_options {
	struct cli_common common;
	unsigned int typed;
	struct a2a_class class;
	const char *class_name, *class_file;
	unsigned int outers;
	enum a2a_inner inner;
	uint32_t nodes, ppn;
	const char *system;
	uint64_t leaders, radix;
	size_t least, most;
	int is_full;
	int has_classes, has_claims, has_counts;
	uint64_t perturbations, seed;
	const char *figures, *goal;
};

/* What each does; exit statuses, after an error was said. */
int sim_times(const struct sim_options *o);
int sim_counts(const struct sim_options *o);
int sim_classes(const struct sim_options *o);
int sim_claims(const struct sim_options *o);
int sim_figures(const struct sim_options *o);
int sim_goal(const struct sim_options *o);

/**
 * struct sim_file - what is there complete or not at all
 * @file: to write to
 * @path: its name in the end; @temp until then, NULL if it is a device or pipe
 */
struct sim_file {
	FILE *file;
	const char *path;
	char *temp;
};

/* Return: 0, -errno. */
int sim_file_open(struct sim_file *f, const char *path);

/* To its name if @err is 0 and all could be written, else away. Return: @err, -errno. */
int sim_file_close(struct sim_file *f, int err);

/**
 * struct sim_progress - shown when something takes longer than two seconds
 * @started_s: by a clock of its own
 * @done, @total: simulations
 */
struct sim_progress {
	double started_s;
	double done, total;
	const char *what;
	struct a2a_watch watch;
};

/* @progress->watch is then for a2a_predict(). */
void sim_progress_start(struct sim_progress *progress, const char *what, double total);

/* One more is done. Return: whether to stop. */
int sim_progress_next(struct sim_progress *progress);

/* a2a_predict() failed: an error is said, unless it was a signal. CLI_FAILED or CLI_USAGE. */
int sim_refuse(int err, const struct a2a_request *request);

/* Takes @root over. Exit status, after an error was said. */
int sim_print_json(json_t *root);

/* "64x8". */
#define SIM_SYSTEM 16
const char *sim_system(char text[SIM_SYSTEM], uint32_t nodes, uint32_t ppn);

#endif
