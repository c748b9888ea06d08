/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which CPUs share which cache: measured, in words, as a picture. */
#ifndef SONDE_TOOLS_SHARING_H
#define SONDE_TOOLS_SHARING_H

#include <sonde/share.h>
#include "measure.h"
#include "picture.h"

#define SHARING_LEN 512

/**
 * struct sharing_row - one line of the table of shared caches
 * @level: "L2"
 * @measured: "0-1 | 2-3", "each CPU its own", "cannot be told: 0 | 1"
 * @confidence: the least of its groups'
 * @claimed: the same by hwloc
 * @agrees: 1, 0, or negative if that cannot be told
 */
struct sharing_row {
	char level[16];
	char measured[SHARING_LEN];
	char confidence[16];
	char samples[16];
	char discarded[16];
	char claimed[SHARING_LEN];
	int agrees;
};

/* A row for each level, nearest first; to be freed. Return: how many, -ENOMEM. */
int describe_sharing(const struct machine *m, struct sharing_row **rows);

/* "agrees", "DISAGREES", "not comparable", "" if nothing is claimed */
const char *name_agreement(const struct sharing_row *row);

/* The disagreement of a row in a sentence. Return: whether there is one. */
int describe_sharing_disagreement(const struct sharing_row *row, char *buf, size_t len);

/**
 * machine_measure_sharing() - measure it, to m->sharing and the profile
 * @cpus: @ncpus of them; NULL: all allowed
 * @all_pairs: see struct sonde_share_options
 *
 * m->caches has been measured. Return: an exit status after an error was said;
 * CLI_CANNOT_MEASURE, said to nobody, if there is one CPU only.
 */
int machine_measure_sharing(struct machine *m, const struct measure_options *options,
			    const unsigned int *cpus, size_t ncpus, int all_pairs);

/* m->sharing to the profile. Return: an exit status. */
int machine_keep_sharing(struct machine *m);

/* All that `sonde share` prints. Return: its exit status. */
int show_sharing(const struct machine *m, int json, int matrix);

/* On standard output. Return: 0, -ENOMEM. */
int print_sharing(const struct machine *m);
void print_sharing_matrix(const struct sonde_share_report *report);

/* The nearest common cache of each two CPUs. Return: 0, or @picture says why not. */
int picture_sharing(const struct machine *m, struct picture *picture);

#endif
