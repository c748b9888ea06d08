/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `sonde run` says of what it did. */
#ifndef SONDE_TOOLS_RUN_REPORT_H
#define SONDE_TOOLS_RUN_REPORT_H

#include <stdint.h>
#include <stdio.h>
#include "run.h"

/**
 * struct ranks - what libsonde-yield counted, over all ranks that polled UCX
 */
struct ranks {
	uint64_t n;
	uint64_t yields;
	uint64_t busy;
	uint64_t switches;
	uint64_t settled;
};

/**
 * struct run_report - all there is to say
 * @counted: @ranks is known
 * @status: of the job, as waitpid(2) has it
 */
struct run_report {
	const struct place *place;
	const struct preload *preloads;
	size_t npreloads;
	int counted;
	struct ranks ranks;
	int status;
};

/* The lines that ranks left in a file. */
void ranks_read(struct ranks *ranks, const char *path);

void report_text(const struct run_report *report, FILE *out);
int report_json(const struct run_report *report, FILE *out);

#endif
