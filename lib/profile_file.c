// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * profile_file - the document on disk: there as a whole, or not at all
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "log.h"
#include "profile.h"
#include "replace.h"

/* Values are rounded to fewer digits: 15 write each as it was given. */
#define DUMP_FLAGS (JSON_INDENT(2) | JSON_REAL_PRECISION(15))

/* @path, or the default one, as a string to free. Return: 0, -ENOENT, -ENOMEM. */
static int choose_path(const char *path, char **chosen)
{
	const char *file = getenv("SONDE_PROFILE");
	const char *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	int n;

	if (path || (file && *file)) {
		*chosen = strdup(path ? path : file);
		return *chosen ? 0 : -ENOMEM;
	}
	/* A relative XDG_CACHE_HOME is to be ignored, says its specification. */
	if (cache && *cache == '/') {
		n = asprintf(chosen, "%s/sonde/profile.json", cache);
	} else if (home && *home) {
		n = asprintf(chosen, "%s/.cache/sonde/profile.json", home);
	} else {
		sonde_log("profile: neither SONDE_PROFILE, XDG_CACHE_HOME nor HOME is set");
		return -ENOENT;
	}
	return n < 0 ? -ENOMEM : 0;
}

static int parse(json_t **root, FILE *file, const char *name)
{
	json_error_t error;

	*root = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
	if (*root)
		return 0;
	if (ferror(file))
		return errno ? -errno : -EIO;
	if (json_error_code(&error) == json_error_out_of_memory)
		return -ENOMEM;
	sonde_log("%s: line %d: %s", name, error.line, error.text);
	return -EINVAL;
}

static int read_root(json_t **root, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	FILE *file;
	int err;

	if (fd < 0)
		return -errno;
	file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	errno = 0;
	err = parse(root, file, path);
	fclose(file);
	if (err)
		return err;
	err = profile_check(*root, path);
	if (err)
		json_decref(*root);
	return err;
}

int sonde_profile_load(struct sonde_profile **profile, const char *path)
{
	struct sonde_profile *p;
	char *chosen;
	int err = choose_path(path, &chosen);

	if (err)
		return err;
	p = malloc(sizeof(*p));
	err = p ? read_root(&p->root, chosen) : -ENOMEM;
	free(chosen);
	if (err) {
		free(p);
		return err;
	}
	*profile = p;
	return 0;
}

int sonde_profile_dump(const struct sonde_profile *profile, FILE *to)
{
	if (json_dumpf(profile->root, to, DUMP_FLAGS) || fputc('\n', to) == EOF)
		return -EIO;
	return 0;
}

static int save_as(const struct sonde_profile *profile, const char *path)
{
	struct replace r;
	int err = replace_open(&r, path);

	if (err)
		return err;
	errno = 0;
	if (!sonde_profile_dump(profile, r.file))
		return replace_commit(&r);
	err = errno ? -errno : -EIO;
	replace_abandon(&r);
	return err;
}

/* The folders of the default path; that one is there is no error. */
static void make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0777);
		*slash = '/';
	}
}

int sonde_profile_save(const struct sonde_profile *profile, const char *path)
{
	char *chosen;
	int err = choose_path(path, &chosen);

	if (err)
		return err;
	if (!path)
		make_folders(chosen);
	err = save_as(profile, chosen);
	free(chosen);
	return err;
}
