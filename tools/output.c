// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * output - the folder of a report: a file is there complete, or not at all
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli.h"
#include "output.h"

static int make_dir(struct output *out)
{
	struct stat st;

	if (!mkdir(out->dir, 0777)) {
		out->is_made = 1;
		return CLI_DONE;
	}
	if (errno == EEXIST && !stat(out->dir, &st) && !S_ISDIR(st.st_mode))
		errno = ENOTDIR;
	if (errno == EEXIST)
		return CLI_DONE;
	cli_error("cannot make the folder %s: %s; name another with -o", out->dir,
		  strerror(errno));
	return CLI_FAILED;
}

int output_open(struct output *out, const char *dir)
{
	int status, err = -ENOMEM;

	*out = (struct output){ .dir = dir, .fd = -1 };
	status = make_dir(out);
	if (status != CLI_DONE)
		return status;
	if (asprintf(&out->temp, "%s/.report.html.%d", dir, (int)getpid()) < 0) {
		out->temp = NULL;
	} else {
		out->fd = open(out->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		err = -errno;
	}
	if (out->fd >= 0)
		return CLI_DONE;
	cli_error("cannot write in the folder %s: %s; name another with -o", dir, strerror(-err));
	/* What has that name is not ours. */
	free(out->temp);
	out->temp = NULL;
	output_close(out);
	return CLI_FAILED;
}

char *output_path(const struct output *out, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", out->dir, name) < 0 ? NULL : path;
}

int output_write(struct output *out, const char *text, size_t len)
{
	int fd = out->fd, err = 0;

	while (len && !err) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno != EINTR)
			err = -errno;
		text += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	if (!err && fsync(fd))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	out->fd = -1;
	return err;
}

int output_commit(struct output *out, const char *name)
{
	char *path = output_path(out, name);
	int err = 0;

	if (!path)
		return -ENOMEM;
	if (rename(out->temp, path))
		err = -errno;
	free(path);
	if (err)
		return err;
	free(out->temp);
	out->temp = NULL;
	out->is_made = 0;
	return 0;
}

void output_close(struct output *out)
{
	if (out->fd >= 0)
		close(out->fd);
	if (out->temp)
		unlink(out->temp);
	free(out->temp);
	/* Somebody may have put something there meanwhile: then it stays. */
	if (out->is_made)
		rmdir(out->dir);
	*out = (struct output)OUTPUT_CLOSED;
}
