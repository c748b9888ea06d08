// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "keep.h"
#include "room.h"

/**
 * struct keep - a file of answers
 * @line: @n lines behind the first, a tab of each replaced by the end of the name
 */
struct keep {
	FILE *file;
	char **line;
	size_t n, room;
};

static int remember(struct keep *k, const char *text, size_t len)
{
	char **line = room_for(k->line, &k->room, k->n + 1, sizeof(*line));
	char *tab;

	if (!line)
		return -ENOMEM;
	k->line = line;
	line[k->n] = strndup(text, len);
	if (!line[k->n])
		return -ENOMEM;
	tab = strchr(line[k->n++], '\t');
	if (!tab)
		return -EINVAL;
	*tab = 0;
	return 0;
}

/* All lines that were finished; the file's position is behind them afterwards. */
static int read_answers(struct keep *k, const char *run)
{
	char *text = NULL;
	size_t room = 0, lines = 0;
	off_t good = 0;
	ssize_t len;
	int err = 0;

	while (!err && (len = getline(&text, &room, k->file)) > 0 && text[len - 1] == '\n') {
		text[--len] = 0;
		if (lines++)
			err = remember(k, text, (size_t)len);
		else if (strcmp(text, run))
			err = -EINVAL;
		good += len + 1;
	}
	if (!err && ferror(k->file))
		err = -EIO;
	free(text);
	if (err)
		return err;
	if (fseeko(k->file, good, SEEK_SET) || ftruncate(fileno(k->file), good))
		return -errno;
	if (!lines && (fprintf(k->file, "%s\n", run) < 0 || fflush(k->file)))
		return -EIO;
	return 0;
}

static int fail(struct keep *k, int err, const char *path, char *error, size_t size)
{
	if (err == -EINVAL)
		snprintf(error, size, "%s is of another run (other table, options or build): "
			 "remove it, or keep this one elsewhere", path);
	else if (err == -EBUSY)
		snprintf(error, size, "%s is in use by a run that goes on", path);
	else
		snprintf(error, size, "%s: %s", path, strerror(-err));
	keep_close(k);
	return err;
}

int keep_open(struct keep **keep, const char *path, const char *run, char *error, size_t size)
{
	struct keep *k = calloc(1, sizeof(*k));
	int err;

	if (!k)
		return fail(k, -ENOMEM, path, error, size);
	k->file = fopen(path, "a+e");
	if (!k->file)
		return fail(k, -errno, path, error, size);
	if (flock(fileno(k->file), LOCK_EX | LOCK_NB))
		return fail(k, errno == EWOULDBLOCK ? -EBUSY : -errno, path, error, size);
	rewind(k->file);
	err = read_answers(k, run);
	if (err)
		return fail(k, err, path, error, size);
	*keep = k;
	return 0;
}

const char *keep_find(const struct keep *keep, const char *name)
{
	for (size_t i = 0; i < keep->n; i++)
		if (!strcmp(keep->line[i], name))
			return keep->line[i] + strlen(name) + 1;
	return NULL;
}

int keep_add(struct keep *keep, const char *name, const char *answer)
{
	errno = 0;
	if (fprintf(keep->file, "%s\t%s\n", name, answer) < 0 || fflush(keep->file))
		return errno ? -errno : -EIO;
	return 0;
}

void keep_close(struct keep *keep)
{
	if (!keep)
		return;
	for (size_t i = 0; i < keep->n; i++)
		free(keep->line[i]);
	free(keep->line);
	if (keep->file)
		fclose(keep->file);
	free(keep);
}

int keep_digest(const char *path, uint64_t *digest)
{
	FILE *file = fopen(path, "re");
	uint64_t h = 0xcbf29ce484222325;	/* FNV-1a */
	int c, err = 0;

	if (!file)
		return -errno;
	while ((c = getc_unlocked(file)) != EOF)
		h = (h ^ (unsigned char)c) * 0x100000001b3;
	if (ferror(file))
		err = -EIO;
	fclose(file);
	*digest = h;
	return err;
}
