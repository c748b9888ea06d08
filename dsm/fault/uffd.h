/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What both userfaultfd back ends do with the application's view: one mapping that is
 * never split, pages of the file installed with or without write protection, taken away
 * again, and write-protected where they are. A page that the view does not have although
 * the file has it is a minor fault; a protection outlives the page's being swapped out.
 */
#ifndef SONDE_DSM_FAULT_UFFD_H
#define SONDE_DSM_FAULT_UFFD_H

#include <linux/userfaultfd.h>

#include "memory.h"

/* Linux 6.7 */
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC	(1 << 15)
#endif

struct dsm_uffd {
	struct dsm_memory m;
	int fd;
	int pidfd;		/* of this process; -1: no lists in process_madvise() */
	size_t system;		/* bytes of a page of the kernel */
};

/*
 * All pages are as they were never touched, readable, and write-protected. @features
 * beside those that every use needs; @system_calls: faults of the kernel are wanted too,
 * and caps says whether they are had.
 */
int dsm_uffd_create(struct dsm_uffd *u, const struct dsm_fault_ops *ops,
		    const struct dsm_fault_config *config, uint64_t features, bool system_calls,
		    char *why, size_t len);
void dsm_uffd_destroy(struct dsm_uffd *u);

/* Bytes of the view; what waits for them goes on. 0, or -errno with a line in f.why. */
int dsm_uffd_install(struct dsm_uffd *u, size_t at, size_t bytes, bool protect);
int dsm_uffd_protect(struct dsm_uffd *u, size_t at, size_t bytes, bool protect);
/* The view loses these pages, the file has them. */
int dsm_uffd_remove(struct dsm_uffd *u, const uint32_t *pages, size_t n);

#endif
