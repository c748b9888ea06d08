// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "replace.h"

/* A rename would put a file in the place of a device, to the harm of all. */
static int check_path(const char *path)
{
	struct stat st;

	if (stat(path, &st) || S_ISREG(st.st_mode))
		return 0;
	return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
}

/* A new file beside @path; @temp is its name, to free. Return: descriptor, -errno. */
static int create_beside(const char *path, char **temp)
{
	for (int tries = 0; tries < 100; tries++) {
		uint64_t nonce;
		int fd, err;

		if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
			return -errno;
		if (asprintf(temp, "%s.%016" PRIx64, path, nonce) < 0)
			return -ENOMEM;
		/* Unlike mkstemp(3): the mode that the umask leaves. */
		fd = open(*temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd >= 0)
			return fd;
		err = -errno;
		free(*temp);
		if (err != -EEXIST)
			return err;
	}
	return -EEXIST;
}

int replace_open(struct replace *r, const char *path)
{
	int err = check_path(path), fd;

	if (err)
		return err;
	*r = (struct replace){ .path = strdup(path) };
	if (!r->path)
		return -ENOMEM;
	fd = create_beside(path, &r->temp);
	if (fd < 0) {
		r->temp = NULL;
		replace_abandon(r);
		return fd;
	}
	r->file = fdopen(fd, "w");
	if (!r->file) {
		close(fd);
		replace_abandon(r);
		return -ENOMEM;
	}
	return 0;
}

int replace_commit(struct replace *r)
{
	int err = 0;

	errno = 0;
	if (ferror(r->file) || fflush(r->file) || fsync(fileno(r->file)))
		err = errno ? -errno : -EIO;
	if (fclose(r->file) && !err)
		err = -errno;
	r->file = NULL;
	if (!err && rename(r->temp, r->path))
		err = -errno;
	if (!err) {
		free(r->temp);
		r->temp = NULL;
	}
	replace_abandon(r);
	return err;
}

void replace_abandon(struct replace *r)
{
	if (r->file)
		fclose(r->file);
	if (r->temp)
		unlink(r->temp);
	free(r->temp);
	free(r->path);
	*r = (struct replace){ .file = NULL };
}
