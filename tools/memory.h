/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bandwidth and contention of memory: measured, in words, as pictures. */
#ifndef SONDE_TOOLS_MEMORY_H
#define SONDE_TOOLS_MEMORY_H

#include <stdio.h>
#include "measure.h"
#include "picture.h"
#include "text.h"

/**
 * machine_measure_memory() - measure it, to m->memory and the profile
 * @cpus: @ncpus of them
 * @all_pairs: see struct sonde_memory_options
 *
 * Return: an exit status after an error was said.
 */
int machine_measure_memory(struct machine *m, const struct measure_options *options,
			   const unsigned int *cpus, size_t ncpus, int all_pairs);

/* m->memory to the profile. Return: an exit status. */
int machine_keep_memory(struct machine *m);

/* All that `sonde memory` prints. Return: its exit status. */
int show_memory(const struct machine *m, int json);

/* On standard output. Return: 0, -ENOMEM. */
int print_memory(const struct machine *m);

/* "0-1, 0-2, ... (24 pairs)" of a class; to be freed. NULL for want of memory. */
char *describe_class_pairs(const struct sonde_memory_report *r, size_t class);

/* What pairs of a class get, as "0.75 (0.74 to 0.76)". */
void describe_class_ratio(const struct sonde_memory_class *c, char *buf, size_t len);

/* "no overhead", "overhead" */
const char *describe_class_kind(const struct sonde_memory_class *c);

/* "28.1", or "-" for what could not be measured. */
char *describe_gbs(char buf[TEXT_LEN], double bytes_s);

/* What each class and all get by the number of cores; latency under load. Return: 0, or
 * @picture says why not. */
int picture_scaling(const struct machine *m, struct picture *picture);
int picture_load(const struct machine *m, struct picture *picture);

#endif
