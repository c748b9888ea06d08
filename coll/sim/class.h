/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a kind of machine costs the simulator: one number per effect, each with
 * where it comes from.
 */
#ifndef SONDE_COLL_SIM_CLASS_H
#define SONDE_COLL_SIM_CLASS_H

#include <stddef.h>
#include <stdint.h>

#define A2A_CLASS_NAME 32

/**
 * struct a2a_class - a network adapter, the node around it, and MPI's settings
 * @name: what it is chosen by
 * @latency_ns: LogGP's L: first byte out of an adapter to first byte in the other
 * @send_ns: LogGP's o of a sender; @recv_ns of a receiver
 * @gap_ns: LogGP's g: of the adapter, in each direction, beside the bytes
 * @lone_ns: the same for a message that is not of a stream to one peer: its own
 *	acknowledgement
 * @byte_ns: LogGP's G
 * @pio_byte_ns: LogGOPS's O of a sender whose processor moves the bytes
 * @pio_max_bytes: longest message that goes that way; longer ones by DMA
 * @eager_byte_ns: O of the copies to and from MPI's own buffers, at each end
 *	unless PIO makes that of the sender needless
 * @eager_max_bytes: LogGPS's S: longer messages wait for their receiver
 * @packet_bytes: between packets the adapter may turn to another process
 * @switch_ns: what turning costs
 * @qp_cache: connections whose state the adapter holds; 0: all
 * @qp_miss_ns: fetching one that it does not
 * @hot_byte_ns: copying what is in a cache of the node
 * @cold_byte_ns: copying what DMA wrote, or to where DMA reads
 * @cache_bytes: of what a node's ranks aggregate, so much stays in caches
 * @barrier_ns: a step of a barrier within a node; it has log2(ranks) of them
 * @local_ns: each end of a message within a node, beside its two copies
 * @processors: that all ranks of all nodes share; 0: each has its own
 * @turn_ns: of such a processor, to turn from one rank to another
 * @poll_ns: a look for messages that finds none, before its rank gives way
 * @bruck_max_bytes: MPI takes Bruck's algorithm for blocks of up to this
 * @isend_max_bytes: then irecv-isend up to this, then pairwise exchange
 */
struct a2a_class {
	char name[A2A_CLASS_NAME];
	double latency_ns;
	double send_ns;
	double recv_ns;
	double gap_ns;
	double lone_ns;
	double byte_ns;
	double pio_byte_ns;
	double pio_max_bytes;
	double eager_byte_ns;
	double eager_max_bytes;
	double packet_bytes;
	double switch_ns;
	double qp_cache;
	double qp_miss_ns;
	double hot_byte_ns;
	double cold_byte_ns;
	double cache_bytes;
	double barrier_ns;
	double local_ns;
	double processors;
	double bruck_max_bytes;
	double isend_max_bytes;
	double turn_ns;
	double poll_ns;
};

/* How well a value is known. */
enum a2a_basis {
	A2A_PUBLISHED,	/* as the source has it */
	A2A_DERIVED,	/* computed from what the source has */
	A2A_ASSUMED,	/* nobody published it: a range that is plausible, and why */
};

const char *a2a_basis_name(enum a2a_basis basis);

/**
 * struct a2a_source - where a value of a built-in class comes from
 * @low: least value that the source allows; @high the most
 * @text: who says so, and what follows
 */
struct a2a_source {
	double low, high;
	enum a2a_basis basis;
	const char *text;
};

/**
 * struct a2a_field - a member of struct a2a_class
 * @name: in files and tables
 * @unit: ns, ns/B, B, or empty for a count
 * @most: a value beyond it is a mistake
 * @is_cost: a property of hardware, which --perturb varies; else a setting
 */
struct a2a_field {
	const char *name;
	const char *unit;
	size_t offset;
	double most;
	int is_cost;
	const char *what;
};

#define A2A_FIELDS 24
extern const struct a2a_field a2a_fields[A2A_FIELDS];

static inline double *a2a_value(struct a2a_class *class, size_t field)
{
	return (double *)(void *)((char *)class + a2a_fields[field].offset);
}

static inline double a2a_get(const struct a2a_class *class, size_t field)
{
	return *(const double *)(const void *)((const char *)class + a2a_fields[field].offset);
}

#define A2A_CLASSES 3

/* A built-in class: 0 to A2A_CLASSES - 1, or by name (NULL if there is none). */
const struct a2a_class *a2a_class(size_t i);
const struct a2a_class *a2a_class_find(const char *name);

/* Of a built-in class's value: never NULL. */
const struct a2a_source *a2a_class_source(size_t i, size_t field);

/*
 * Every cost times a factor of its own between 1 - @by and 1 + @by: the same
 * @seed, the same factors.
 */
void a2a_class_perturb(struct a2a_class *class, double by, uint64_t seed);

/**
 * a2a_class_parse() - a class of the user's own
 * @text: JSON: "schema" is "sonde-sim-class-1", "name", and "parameters" with a
 *	number for each field; "base" names the built-in class that has the rest
 * @why: what is wrong with it and where
 *
 * Return: 0, -EINVAL, -ENOMEM.
 */
int a2a_class_parse(const char *text, struct a2a_class *class, char *why, size_t len);

#endif
