/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of regions share: another process, and the ways that are here. */
#ifndef TESTS_UNIT_REGIONS_H
#define TESTS_UNIT_REGIONS_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sonde/region.h>

#include "tap.h"

#define RW	(SONDE_REGION_READ | SONDE_REGION_WRITE)
#define NOBODY	65534

/* In a child: it ends there, and says where. */
#define need(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "# %s:%d: not so: %s\n", __FILE__, __LINE__, #cond); \
			_exit(1); \
		} \
	} while (0)

/* Run it in another process. Return: how that ended, as of waitpid(2). */
static inline int in_child(void (*run)(void *), void *arg)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		run(arg);
		_exit(0);
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static inline struct sonde_transfer *open_way(enum sonde_transfer_way way)
{
	struct sonde_transfer *t = NULL;

	ck_assert_int_eq(sonde_transfer_open(&t, way), 0);
	return t;
}

/* Memory that the way can export, filled. */
static inline unsigned char *get_memory(struct sonde_transfer *t, size_t len)
{
	void *p = NULL;

	ck_assert_int_eq(sonde_transfer_alloc(t, len, &p), 0);
	for (size_t i = 0; i < len; i++)
		((unsigned char *)p)[i] = (unsigned char)(i * 7 + 3);
	return p;
}

static inline struct sonde_region *export(struct sonde_transfer *t, void *p, size_t len,
					  unsigned int rights)
{
	struct sonde_region *region = NULL;

	ck_assert_int_eq(sonde_region_export(t, p, len, rights, &region), 0);
	return region;
}

static inline int has_cma(void)
{
	struct sonde_transfer *t;

	if (sonde_transfer_open(&t, SONDE_TRANSFER_CMA))
		return 0;
	sonde_transfer_close(t);
	return 1;
}

/* Each test of the table once for each way that needs no module. */
static inline void add_for_ways(TCase *tc, const TTest *test)
{
	const int last = SONDE_TRANSFER_SHM;

	tcase_add_loop_test(tc, test, has_cma() ? SONDE_TRANSFER_CMA : last, last + 1);
}

#endif
