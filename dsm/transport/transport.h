/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How messages get to other processes: the seam under which transports stand. Messages
 * of one process to another arrive in the order in which they were sent. One thread of
 * a process makes all calls but dsm_bell_ring().
 */
#ifndef SONDE_DSM_TRANSPORT_H
#define SONDE_DSM_TRANSPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the thread that makes the calls sleeps on; others may be in other processes. */
struct dsm_bell {
	_Atomic uint32_t rung, asleep;
};

struct dsm_transport;

struct dsm_transport_ops {
	/* Takes @data, which is from malloc(), whatever it returns. 0 or -errno. */
	int (*send)(struct dsm_transport *t, uint32_t to, uint8_t *data, size_t len);
	/* 1 and a message for free(), 0 if there is none now, or -errno. */
	int (*receive)(struct dsm_transport *t, uint8_t **data, size_t *len, uint32_t *from);
	/*
	 * How long the bell may be waited for, as something comes or goes that does not ring
	 * it: in nanoseconds.
	 */
	int64_t (*patience)(struct dsm_transport *t);
	/* Called now and then: -EOWNERDEAD and *@who if a process has ended that should not. */
	int (*check)(struct dsm_transport *t, uint32_t *who);
	/*
	 * Called in all processes at the same point of their calls; may be NULL. @fd, or -1, is
	 * given to those of this node: fds[i] becomes what process i has, the caller's to
	 * close, or -1, also for itself and for those elsewhere. 0 or -errno.
	 */
	int (*share)(struct dsm_transport *t, int fd, int *fds);
	/* All messages are through. */
	void (*destroy)(struct dsm_transport *t);
	/* Ends all processes of the job; returns if it cannot. */
	void (*abort)(struct dsm_transport *t);
};

struct dsm_transport {
	const struct dsm_transport_ops *ops;
	struct dsm_bell *bell;
	uint32_t processes, self;
	uint64_t job;		/* the same in all of a job, and hardly in another */
};

/* Safe in a signal handler. */
void dsm_bell_ring(struct dsm_bell *bell);
/* Until it rings after @rung was read, or @ns are over. Who rings first writes, then looks. */
void dsm_bell_wait(struct dsm_bell *bell, uint32_t rung, int64_t ns);

/* Processes that are in one, for tests: see loop.c. */
struct dsm_loop;

struct dsm_loop_config {
	uint32_t processes;
	uint64_t seed;
	uint32_t duplicates;	/* percent of messages that come twice */
	uint32_t delays;	/* percent of messages that others may overtake */
	uint32_t looks;		/* in vain, until what came to an empty queue is found */
};

int dsm_loop_create(struct dsm_loop **loop, const struct dsm_loop_config *config);
void dsm_loop_destroy(struct dsm_loop *loop);
/* How often a process was about to sleep although there was a message for it. */
uint64_t dsm_loop_overslept(struct dsm_loop *loop);
struct dsm_transport *dsm_loop_process(struct dsm_loop *loop, uint32_t self);

/* MPI's: begins it if it has not begun. The calling thread makes all calls. */
int dsm_mpi_create(struct dsm_transport **transport, char *why, size_t len);
/* What all processes say: true if all say so, and the same @value. */
bool dsm_mpi_agree(struct dsm_transport *transport, bool good, uint64_t value);

#endif
