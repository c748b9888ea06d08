// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dsm-seen - finds running processes of libsonde-dsm: each has a memfd of a certain name
 * open, with its counters. A child that inherited it is not the one that writes there.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "dsm.h"

#define LINK	"/memfd:" DSM_LIVE_NAME
#define TRIES	100	/* for a copy that was not being written */

static int read_all(int fd, struct dsm_live *live)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t turn;

		if (pread(fd, live, sizeof(*live), 0) != sizeof(*live) ||
		    live->magic != DSM_LIVE_MAGIC)
			return 0;
		/* Partner: the writer's fence; the call orders enough here. */
		if (pread(fd, &turn, sizeof(turn), offsetof(struct dsm_live, turn)) !=
		    sizeof(turn))
			return 0;
		if (turn == atomic_load_explicit(&live->turn, memory_order_relaxed) && !(turn & 1))
			return 1;
	}
	return 0;
}

static int take(struct dsm_seen *seen, int dir, const char *name, unsigned long pid)
{
	struct dsm_live live;
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC), found;
	void *v;

	if (fd < 0)
		return 0;
	found = read_all(fd, &live) && live.pid == pid;
	close(fd);
	if (!found)
		return 0;
	live.program[sizeof(live.program) - 1] = live.fault[sizeof(live.fault) - 1] = '\0';
	v = realloc(seen->v, (seen->n + 1) * sizeof(*seen->v));
	if (!v)
		return -ENOMEM;
	seen->v = v;
	seen->v[seen->n++] = live;
	return 0;
}

/* A process that ends meanwhile has nothing to show. */
static int look_at(struct dsm_seen *seen, const char *pid)
{
	char path[64], link[64];
	struct dirent *e;
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	dir = opendir(path);
	if (!dir) {
		seen->hidden += errno == EACCES || errno == EPERM;
		return 0;
	}
	while (!err && (e = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), e->d_name, link, sizeof(link) - 1);

		if (n >= (ssize_t)strlen(LINK) && !strncmp(link, LINK, strlen(LINK)))
			err = take(seen, dirfd(dir), e->d_name, strtoul(pid, NULL, 10));
	}
	closedir(dir);
	return err;
}

static int by_process(const void *a, const void *b)
{
	const struct dsm_live *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

int dsm_seen_find(struct dsm_seen *seen)
{
	DIR *proc = opendir("/proc");
	struct timespec t;
	struct dirent *e;
	int err = 0;

	*seen = (struct dsm_seen){ 0 };
	if (!proc)
		return -errno;
	while (!err && (e = readdir(proc)))
		if (isdigit((unsigned char)*e->d_name))
			err = look_at(seen, e->d_name);
	closedir(proc);
	clock_gettime(CLOCK_MONOTONIC, &t);
	seen->now_ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	if (seen->n)
		qsort(seen->v, seen->n, sizeof(*seen->v), by_process);
	if (err)
		dsm_seen_free(seen);
	return err;
}

void dsm_seen_free(struct dsm_seen *seen)
{
	free(seen->v);
	*seen = (struct dsm_seen){ 0 };
}
