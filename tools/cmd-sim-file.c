// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde sim alltoall - files: written beside their name, then renamed
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sim.h"

/* A rename would put a file in the place of a device. */
static int is_special(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode);
}

static int open_temp(struct sim_file *f)
{
	mode_t mask = umask(0);
	int fd = -1;

	umask(mask);
	if (asprintf(&f->temp, "%s.XXXXXX", f->path) < 0) {
		f->temp = NULL;
		errno = ENOMEM;
		return -1;
	}
	fd = mkstemp(f->temp);
	if (fd >= 0)
		fchmod(fd, 0666 & ~mask);
	return fd;
}

int sim_file_open(struct sim_file *f, const char *path)
{
	int fd, err;

	*f = (struct sim_file){ .path = path };
	if (is_special(path)) {
		f->file = fopen(path, "we");
		return f->file ? 0 : -errno;
	}
	fd = open_temp(f);
	f->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (f->file)
		return 0;
	err = -errno;
	if (fd >= 0) {
		close(fd);
		unlink(f->temp);
	}
	free(f->temp);
	return err;
}

int sim_file_close(struct sim_file *f, int err)
{
	errno = 0;
	if ((fflush(f->file) || ferror(f->file)) && !err)
		err = errno ? -errno : -EIO;
	if (fclose(f->file) && !err)
		err = -errno;
	if (f->temp && !err && rename(f->temp, f->path))
		err = -errno;
	if (f->temp && err)
		unlink(f->temp);
	free(f->temp);
	return err;
}
