/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of libsonde-yield share. */
#ifndef SONDE_RUN_YIELD_H
#define SONDE_RUN_YIELD_H

#include <stdatomic.h>
#include <stdint.h>

#define YIELD_EXPORT __attribute__((visibility("default")))

/* UCX's types, opaque here: the library needs no header of UCX or of MPI. */
typedef struct ucp_worker *ucp_worker_h;
typedef struct ucp_ep *ucp_ep_h;

/* SONDE_YIELD: when a rank that waits gives way. */
enum yield_mode {
	YIELD_AUTO,	/* in MPICH, and while somebody else wants the CPU */
	YIELD_ALWAYS,	/* whatever calls UCX, whether or not it helps */
	YIELD_NEVER,
};

/**
 * struct settings - the environment, read once
 * @mode: SONDE_YIELD
 * @spin: SONDE_YIELD_SPIN: empty polls in a row before the first yield
 * @settles: SONDE_YIELD_FINALIZE: make MPI_Finalize safe
 */
struct settings {
	enum yield_mode mode;
	int spin;
	int settles;
};

const struct settings *get_settings(void);

/**
 * struct counters - what the library did in this process
 * @yields: times a rank gave way
 * @busy: times it did not, since the program computes between its polls
 * @settled: MPI_Finalize went the safe way
 * @kept: endpoints left for the worker to close
 */
struct counters {
	_Atomic uint64_t yields;
	_Atomic uint64_t busy;
	_Atomic int settled;
	_Atomic uint64_t kept;
};

extern struct counters counters;

/* What would have been called without this library; NULL if there is none.
 * @caller: an address in what called us, or NULL */
void *find_next(const char *name, const void *caller);

/* Is @address in an MPICH over UCX, whose version string may be had? */
int is_in_mpich(const void *address);

/**
 * struct flush - a wish of MPI_Finalize, carried out where UCX is polled, since
 * only there MPICH holds its lock
 */
enum flush_state { FLUSH_NONE, FLUSH_WANTED, FLUSH_UNDER_WAY, FLUSH_DONE, FLUSH_FAILED };

extern _Atomic int flush_state;
void step_flush(ucp_worker_h worker);

/* Has UCX been polled at all; and more than one worker of it? */
int has_polled(void);
int workers_differ(void);

#endif
