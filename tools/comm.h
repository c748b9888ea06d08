/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Communication: options, measured, in words, as pictures. All but the measuring is
 * shared with the program of each MPI that ranks become (comm/).
 */
#ifndef SONDE_TOOLS_COMM_H
#define SONDE_TOOLS_COMM_H

#include <sonde/comm.h>
#include "measure.h"
#include "picture.h"
#include "text.h"

#define COMM_SIZES_MOST	16

/**
 * struct comm_options - what a person asks for
 * @list: of CPUs; NULL: all
 * @methods: bits, 1 << enum sonde_comm_method; 0: all
 * @sizes: @nsizes of the matrices; none: the first-level cache's
 * @most_bytes: the largest message of the curves; 0: the library's
 * @budget_s: 0: the library's
 * @mpi: that started us; NULL: by the environment
 * @figure: the heat map's file; NULL: none
 */
struct comm_options {
	struct cli_common common;
	const char *list;
	unsigned int methods;
	size_t sizes[COMM_SIZES_MOST], nsizes;
	size_t most_bytes;
	double budget_s;
	uint64_t seed;
	int all_pairs;
	const char *mpi;
	const char *figure;
};

#define COMM_DEFAULTS { .seed = 1 }

extern const struct cli_option comm_options_table[];

/* Bytes of the first-level data cache: as the default profile has it if it is of this
 * machine, else as claimed, else 32 KiB. */
size_t comm_usual_size(const struct sonde_topology *topo, unsigned int cpu);

/**
 * machine_measure_comm() - measure it, to m->comm and the profile
 * @cpus: @ncpus of them, two at least
 *
 * Return: an exit status after an error was said.
 */
int machine_measure_comm(struct machine *m, const struct comm_options *options,
			 const unsigned int *cpus, size_t ncpus);

/* What it prints, with or without what messages of each size cost. Return: 0, -ENOMEM. */
int print_comm(const struct sonde_comm_report *r, int has_curves);

/* "shm, 48 KiB", "copy by cma, 48 KiB", "flag" */
void describe_comm_method(const struct sonde_comm_matrix *m, char *buf, size_t len);

/* Who a place is: "3", "rank 3". */
void describe_place(const struct sonde_comm_place *p, char *buf, size_t len);

/* Squares for each two places, darker where nearer, for each matrix. An SVG document.
 * Errors of the stream are found when it is closed. */
void draw_latency(FILE *out, const struct sonde_comm_report *r);

/* That, as a file that is replaced as a whole. Return: an exit status. */
int write_latency_figure(const struct sonde_comm_report *r, const char *path);

/* The heat map; what messages of each size cost over each layer, by gnuplot. Return:
 * 0, -ECANCELED, or @picture says why not. */
int picture_latency(const struct machine *m, struct picture *picture);
int picture_messages(const struct machine *m, struct picture *picture);

#endif
