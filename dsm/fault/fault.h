/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How the pages of a distributed shared memory are protected, filled, twinned and
 * found written: the seam under which fault back ends stand. Nothing above it knows
 * which one it got but for its capabilities.
 *
 * A memory has two views of the same pages: the application's, which is protected,
 * and the alias, which may always be read and written and which MPI and verbs take.
 * Pages begin as zeros, readable by all.
 *
 * Threads that meet a protected page are served in one of two ways. Without
 * DSM_FAULT_EVENTS config.fault() is called in that thread, inside a signal handler:
 * it waits until the page may be used as asked, and does nothing that a handler may not.
 * With it the thread sleeps in the kernel, next() tells of it whoever polls wake, once a
 * page and kind, and protect() lets all of them go on. With DSM_FAULT_RING, too, wake
 * becomes readable only for who has said that it sleeps, and may be told of an access again.
 *
 * Back ends with DSM_FAULT_WRITES let a thread write a page that is DSM_READ at once
 * and remember it: written() takes the list, and from then on writes are noticed anew.
 * Their twin() returns the page as it was before the first of these writes; what is taken
 * from the page is put into it before untwin(), or the page gets another protection, for it
 * may be the twin of the next writes. Without it a write to a DSM_READ page is a fault like
 * any other.
 *
 * One thread at a time calls these functions, but another may call next() meanwhile.
 */
#ifndef SONDE_DSM_FAULT_H
#define SONDE_DSM_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../core/core.h"

#define DSM_FAULT_EVENTS	(1U << 0)	/* fd and next(), not config.fault() */
#define DSM_FAULT_WRITES	(1U << 1)	/* written(): first writes are no faults */
#define DSM_FAULT_SYSCALLS	(1U << 2)	/* read(2) into a protected page works */
#define DSM_FAULT_ONE_VMA	(1U << 3)	/* no protection splits a mapping */
#define DSM_FAULT_LISTS		(1U << 4)	/* a list of scattered pages is one call */
#define DSM_FAULT_PEERS		(1U << 5)	/* peers(): pages of other processes here are copied */
#define DSM_FAULT_RING		(1U << 6)	/* next() looks at memory; sleeps() */

struct dsm_fault;

struct dsm_fault_config {
	void *address;			/* of the application's view; NULL: anywhere */
	uint32_t pages, unit;
	void *ctx;
	/* In the thread that met the page, until it may go on; not with DSM_FAULT_EVENTS. */
	void (*fault)(void *ctx, uint32_t page, bool write);
};

struct dsm_fault_event {
	uint32_t page;
	bool write;
};

struct dsm_fault_ops {
	const char *name;
	unsigned int caps;
	/* Errors: -ENOTSUP with a line in @why that says what is missing and what would help. */
	int (*create)(struct dsm_fault **fault, const struct dsm_fault_config *config,
		      char *why, size_t len);
	void (*destroy)(struct dsm_fault *fault);

	/* What struct dsm_host asks for; protect() to DSM_WRITE takes no twin. */
	void *(*page)(struct dsm_fault *fault, uint32_t page);
	int (*protect)(struct dsm_fault *fault, const uint32_t *pages, size_t n, enum dsm_prot prot);
	void *(*twin)(struct dsm_fault *fault, uint32_t page);
	void (*untwin)(struct dsm_fault *fault, uint32_t page);

	/* DSM_FAULT_WRITES: pages written since the last call, at most @room; writes to these
	 * are noticed anew before the list is returned. */
	ssize_t (*written)(struct dsm_fault *fault, uint32_t *pages, size_t room);
	/* DSM_FAULT_EVENTS: 1 and an event, 0 if there is none now. */
	int (*next)(struct dsm_fault *fault, struct dsm_fault_event *event);
	/*
	 * DSM_FAULT_RING: before who calls next() sleeps on wake, and after. False: it is not
	 * to sleep, as there is an event. What wake counts is for who sleeps to read.
	 */
	bool (*sleeps)(struct dsm_fault *fault, bool sleeps);
	/*
	 * DSM_FAULT_PEERS: fds[i] is the fd of process i's memory, or -1, and stays the caller's.
	 * From then on what is offered is copied from there; the rest is as struct dsm_host says.
	 */
	int (*peers)(struct dsm_fault *fault, const int *fds, uint32_t n);
	void (*offer)(struct dsm_fault *fault, uint32_t page, uint32_t home, uint64_t least);
	bool (*withdraw)(struct dsm_fault *fault, uint32_t page, uint64_t *version);
	void (*publish)(struct dsm_fault *fault, uint32_t page, uint64_t version);
};

/* What every back end has. */
struct dsm_fault {
	const struct dsm_fault_ops *ops;
	struct dsm_fault_config config;
	unsigned char *view, *alias;
	int fd;				/* of the memory, or -1 */
	int wake;			/* to poll with DSM_FAULT_EVENTS, see above; else -1 */
	unsigned int caps;		/* of ops->caps what this memory has */
	uint64_t unseen;		/* of the pages told by written(): that had no fault */
	char why[200];			/* of the last error: what is missing, what would help */
};

extern const struct dsm_fault_ops dsm_fault_module, dsm_fault_uffd_async,
	dsm_fault_uffd_sigbus, dsm_fault_sigsegv;

/*
 * The one called @name, or with NULL or "auto" the first that works here, in the order
 * module, uffd-async, uffd-sigbus, sigsegv. @why (may be NULL) gets a line for each that was
 * passed over. Errors: -EINVAL (no such name, or the configuration), -EEXIST (something
 * is mapped at config.address), -ENOTSUP, -ENOMEM.
 */
int dsm_fault_create(struct dsm_fault **fault, const char *name,
		     const struct dsm_fault_config *config, char *why, size_t len);

/*
 * For a thread that has nothing else to do: until there may be an event, or @other is
 * readable, which is what it returns. Without DSM_FAULT_EVENTS for @other alone.
 */
bool dsm_fault_wait(struct dsm_fault *fault, int other);

#endif
