// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * run-preload - the libraries that ranks get by LD_PRELOAD
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "run.h"

static int is_at(struct preload *preload, const char *dir, const char *below)
{
	int n = snprintf(preload->path, sizeof(preload->path), "%s%s/%s", dir, below,
			 preload->name);

	if (n < (int)sizeof(preload->path) && !access(preload->path, R_OK))
		return 1;
	*preload->path = '\0';
	return 0;
}

/* Beside the program (where it was built), or where it was installed. */
void preload_find(struct preload *preload)
{
	char dir[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);

	*preload->path = *preload->why = '\0';
	dir[n > 0 ? n : 0] = '\0';
	if (strrchr(dir, '/'))
		*strrchr(dir, '/') = '\0';
	if (!is_at(preload, dir, "") && !is_at(preload, dir, "/../lib") &&
	    !is_at(preload, SONDE_LIBDIR, "")) {
		snprintf(preload->why, sizeof(preload->why),
			 "it is neither beside this program nor in %.80s", SONDE_LIBDIR);
	} else if (strpbrk(preload->path, " :")) {
		/* The loader takes what follows for another library. */
		*preload->path = '\0';
		snprintf(preload->why, sizeof(preload->why),
			 "its path has a blank or a colon, at which LD_PRELOAD is split");
	}
}

/* Before what is preloaded anyway. */
static int add_to_list(const char *path)
{
	const char *others = getenv("LD_PRELOAD");
	char *list;
	int err = 0;

	if (!others || !*others)
		return setenv("LD_PRELOAD", path, 1) ? -errno : 0;
	if (asprintf(&list, "%s:%s", path, others) < 0)
		return -ENOMEM;
	if (setenv("LD_PRELOAD", list, 1))
		err = -errno;
	free(list);
	return err;
}

int preload_set(const struct preload *preloads, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		if (preloads[i].variable && !*preloads[i].path)
			err = unsetenv(preloads[i].variable) ? -errno : 0;
		else if (preloads[i].variable)
			err = setenv(preloads[i].variable, preloads[i].path, 1) ? -errno : 0;
		else if (*preloads[i].path)
			err = add_to_list(preloads[i].path);
	}
	return err;
}
