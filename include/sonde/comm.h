/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: comm - what messages between places cost, and which places are near
 *
 * Servet's communication layers (2.4, figure 6): the latency between every two
 * places, pairs that cost alike as layers, and for one pair of each layer what
 * messages of each size cost. In addition LogGP parameters, and what several
 * pairs of a layer lose that send at the same time.
 *
 * A place is a CPU of this machine, or a rank of an MPI job.
 */
#ifndef SONDE_COMM_H
#define SONDE_COMM_H

#include <stddef.h>
#include <stdint.h>
#include <sonde/clock.h>
#include <sonde/stats.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How places of one machine reach each other; bits of sonde_comm_options.methods. */
enum sonde_comm_method {
	SONDE_COMM_LINE,	/* loads of lines that the other one has just stored to */
	SONDE_COMM_FLAG,	/* one word that both store to by turns */
	SONDE_COMM_SHM,		/* messages copied into shared memory and out of it */
	SONDE_COMM_COPY,	/* messages by sonde_region_read(), as it comes here */
	SONDE_COMM_MPI,		/* of an MPI job; not by sonde_probe_comm() */
	SONDE_COMM_METHODS
};

/** sonde_comm_method_name() - "line", "flag", "shm", "copy", "mpi". Since: 0.1 */
const char *sonde_comm_method_name(enum sonde_comm_method method);

/** sonde_comm_has_messages() - whether its messages have a size. Since: 0.1 */
int sonde_comm_has_messages(enum sonde_comm_method method);

/**
 * struct sonde_comm_options - how to measure communication
 * @cpus: @ncpus CPUs, ascending; NULL: all that the calling thread may run on
 * @ncpus: how many
 * @groups: for each place, the numbers of the groups that it is claimed to be in,
 *          from the largest to the smallest: @depth of them. Pairs whose smallest
 *          common group is as deep are taken to be alike until measured
 *          otherwise. NULL: no pair is taken to be like another
 * @depth: how many
 * @methods: bits, 1 << enum sonde_comm_method; 0: all
 * @sizes: @nsizes sizes of messages, in bytes, for whose each there is a matrix; the
 *         first one is also what pairs at the same time send
 * @nsizes: at least 1
 * @most_bytes: the largest message of a layer's curve; 0: 4 MiB, less with many CPUs
 * @budget_s: seconds for all of it; 0: 20
 * @seed: of the order, and of the choice of pairs
 * @all_pairs: measure every pair
 * @progress: as in struct sonde_cache_options
 * @progress_ctx: handed to @progress
 */
struct sonde_comm_options {
	const unsigned int *cpus;
	size_t ncpus;
	const unsigned int *groups;
	size_t depth;
	unsigned int methods;
	const size_t *sizes;
	size_t nsizes;
	size_t most_bytes;
	double budget_s;
	uint64_t seed;
	int all_pairs;
	int (*progress)(void *ctx, double done, const char *what);
	void *progress_ctx;
};

/**
 * struct sonde_comm_place - who communicates
 * @cpu: the operating system's number; -1: not bound to one
 * @rank: in MPI_COMM_WORLD; -1: none
 * @node: the machine, numbered from 0
 * @host: its name
 */
struct sonde_comm_place {
	int cpu;
	int rank;
	unsigned int node;
	char host[64];
};

/**
 * struct sonde_comm_pair - two places that were measured
 * @place: the two, by index, ascending
 * @ns: half a round trip of a message, of the usual size; of SONDE_COMM_LINE a load. A low
 *      quantile; 0 if it could not be measured
 * @ci: its 95 % interval
 * @layer: index into the layers; -1: cannot be told
 * @windows: how many were timed
 */
struct sonde_comm_pair {
	unsigned int place[2];
	double ns;
	struct sonde_interval ci;
	int layer;
	unsigned int windows;
};

/**
 * struct sonde_comm_point - what messages of one size cost in a layer
 * @bytes: of a message
 * @ns: half a round trip; @ci: its 95 % interval
 * @gap_ns: from one message to the next of many; NAN: not measured
 * @send_ns: of the sender's CPU; NAN: cannot be told
 * @receive_ns: of the receiver's CPU for a message that is there; likewise
 */
struct sonde_comm_point {
	size_t bytes;
	double ns;
	struct sonde_interval ci;
	double gap_ns, send_ns, receive_ns;
};

#define SONDE_LOGGP_SEGMENTS	4

/**
 * struct sonde_loggp_segment - sizes with one protocol
 * @from_bytes: the smallest measured, @to_bytes: the largest
 * @gap_ns: g, between messages of 1 byte; NAN: not measured
 * @byte_ns: G, of each byte more; likewise
 * @start_ns: half a round trip of 1 byte
 * @per_byte_ns: of each byte more
 * @error: relative, root of the mean square of what the lines leave
 */
struct sonde_loggp_segment {
	double from_bytes, to_bytes;
	double gap_ns, byte_ns;
	double start_ns, per_byte_ns;
	double error;
};

/**
 * struct sonde_loggp - parameters of the LogGP model (Alexandrov et al. 1995)
 * @latency_ns: L; NAN: cannot be separated from the overheads
 * @send_ns: o of the sender, @receive_ns: of the receiver; NAN: not measured
 * @segments: @nsegments, g and G of each protocol
 * @why: why something is NAN; "" if nothing is
 */
struct sonde_loggp {
	double latency_ns, send_ns, receive_ns;
	struct sonde_loggp_segment segments[SONDE_LOGGP_SEGMENTS];
	size_t nsegments;
	char why[160];
};

/**
 * struct sonde_comm_load - several pairs of a layer at the same time
 * @pairs: how many
 * @ratio: rate of each by its rate alone, geometric mean
 * @bytes_s: of all together, in one direction at a time
 */
struct sonde_comm_load {
	unsigned int pairs;
	double ratio, bytes_s;
};

/**
 * struct sonde_comm_layer - pairs that cost alike
 * @ns: median of the pairs, @ns_low, @ns_high: of the nearest and the farthest
 * @npairs: how many there are, @nmeasured: of which were measured
 * @group: for each place the number of its group: places that reach each other by
 *         this layer or a nearer one, be it over others
 * @ngroups: how many
 * @pair: which the points are of, places by index
 * @points: @npoints; none but for the first size
 * @loggp: fitted to them; .nsegments is 0 without points
 * @loads: @nloads
 */
struct sonde_comm_layer {
	double ns, ns_low, ns_high;
	size_t npairs, nmeasured;
	unsigned int *group;
	size_t ngroups;
	unsigned int pair[2];
	struct sonde_comm_point *points;
	size_t npoints;
	struct sonde_loggp loggp;
	struct sonde_comm_load *loads;
	size_t nloads;
};

/**
 * struct sonde_comm_matrix - what was found by one method, for one size
 * @method: it
 * @via: the way of SONDE_COMM_COPY, the name of the MPI; "" for others
 * @bytes: of a message; 0 where there is none
 * @pairs: @npairs that were measured
 * @layers: @nlayers, the nearest first
 * @ns: places * places, half a round trip: as measured, or the median of the layer
 *      that it is taken to be of; 0: itself, or cannot be told
 * @layer: places * places, index of the layer; -1 likewise
 * @elapsed_s: seconds it took
 */
struct sonde_comm_matrix {
	enum sonde_comm_method method;
	char via[64];
	size_t bytes;
	struct sonde_comm_pair *pairs;
	size_t npairs;
	struct sonde_comm_layer *layers;
	size_t nlayers;
	double *ns;
	int *layer;
	double elapsed_s;
};

/**
 * struct sonde_comm_report - what was found
 * @places: @nplaces
 * @matrices: @nmatrices, by method and then by size in the caller's order
 * @notes: @nnotes sentences on what was lost or is doubtful
 */
struct sonde_comm_report {
	struct sonde_comm_place *places;
	size_t nplaces;
	struct sonde_comm_matrix *matrices;
	size_t nmatrices;
	char **notes;
	size_t nnotes;
};

/**
 * sonde_probe_comm() - measure communication between the CPUs of this machine
 * @clk: the clock to time with
 * @options: how
 * @report: where the report goes, to be freed with sonde_comm_report_free();
 *          untouched on failure
 *
 * Messages go between threads, each bound to its CPU.
 *
 * Return: 0, -EINVAL (options), -ERANGE (fewer than two CPUs), -ENOMEM, -EPERM
 * (may not run on one of the CPUs), -ECANCELED (by @progress), -EAGAIN (the CPUs are
 * so busy that nothing could be measured).
 *
 * Since: 0.1
 */
int sonde_probe_comm(const struct sonde_clock *clk, const struct sonde_comm_options *options,
		     struct sonde_comm_report **report);

/** sonde_comm_report_free() - free; @report may be NULL. Since: 0.1 */
void sonde_comm_report_free(struct sonde_comm_report *report);

#ifdef __cplusplus
}
#endif

#endif
