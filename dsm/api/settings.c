// SPDX-License-Identifier: LGPL-2.1-or-later
/* What is to be shown of a job, from the environment, and the files it goes to. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "settings.h"

#define EVENTS_MOST	(1u << 24)

/* NULL where there is nothing, or 0. */
static char *get(const char *name)
{
	char *s = getenv(name);

	return s && *s && strcmp(s, "0") ? s : NULL;
}

static int read_stats(struct dsm_settings *s, char *why, size_t len)
{
	char *v = get("SONDE_DSM_STATS");

	if (!v)
		return 0;
	s->stats = strcmp(v, "1") ? DSM_STATS_JSON : DSM_STATS_TABLE;
	if (!strncmp(v, "json:", 5) && v[5])
		s->stats_file = v + 5;
	else if (strcmp(v, "1") && strcmp(v, "json")) {
		snprintf(why, len, "SONDE_DSM_STATS is 1, json, or json:FILE, not %s", v);
		return -EINVAL;
	}
	return 0;
}

static int read_trace(struct dsm_settings *s, char *why, size_t len)
{
	char *v = get("SONDE_DSM_TRACE_EVENTS"), *end;
	unsigned long n;

	s->trace_file = get("SONDE_DSM_TRACE");
	if (!v)
		return 0;
	n = strtoul(v, &end, 10);
	if (*end || *v == '-' || !n || n > EVENTS_MOST) {
		snprintf(why, len, "SONDE_DSM_TRACE_EVENTS is a number from 1 to %u, not %s",
			 EVENTS_MOST, v);
		return -EINVAL;
	}
	s->trace_events = (uint32_t)n;
	return 0;
}

int dsm_settings_read(struct dsm_settings *s, char *why, size_t len)
{
	const char *races = get("SONDE_DSM_RACES");
	int err;

	*s = (struct dsm_settings){ .races = races };
	s->race_reads = races && !strcmp(races, "reads");
	if (races && strcmp(races, "1") && !s->race_reads) {
		snprintf(why, len, "SONDE_DSM_RACES is 1, reads, or 0, not %s", races);
		return -EINVAL;
	}
	err = read_stats(s, why, len);
	return err ? err : read_trace(s, why, len);
}

/* Before the job runs, not after it has. */
static int check_file(const char *path, char *why, size_t len)
{
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;

	if (!path)
		return 0;
	if (fd >= 0)
		unlink(path);
	else if (errno == EEXIST)
		fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	snprintf(why, len, "cannot write %s: %s; name another file", path, strerror(errno));
	return -EINVAL;
}

int dsm_settings_copy(struct dsm_settings *to, const struct dsm_settings *from, bool writes,
		      char *why, size_t len)
{
	int err = 0;

	*to = *from;
	to->stats_file = from->stats_file ? strdup(from->stats_file) : NULL;
	to->trace_file = from->trace_file ? strdup(from->trace_file) : NULL;
	if (!to->stats_file != !from->stats_file || !to->trace_file != !from->trace_file)
		return -ENOMEM;
	if (writes)
		err = check_file(to->stats_file, why, len);
	if (writes && !err)
		err = check_file(to->trace_file, why, len);
	return err;
}

void dsm_settings_free(struct dsm_settings *s)
{
	free(s->stats_file);
	free(s->trace_file);
}

bool dsm_settings_any(const struct dsm_settings *s)
{
	return s->stats || s->trace_file || s->races;
}

uint64_t dsm_settings_shape(const struct dsm_settings *s)
{
	return 1 | (uint64_t)(s->stats != 0) << 1 | (uint64_t)(s->trace_file != NULL) << 2 |
	       (uint64_t)s->races << 3 | (uint64_t)s->race_reads << 4;
}

int dsm_output_begin(struct dsm_output *o, const char *path)
{
	struct stat st;
	int err;

	*o = (struct dsm_output){ .path = path };
	if ((stat(path, &st) || S_ISREG(st.st_mode)) &&
	    asprintf(&o->temp, "%s.%d", path, (int)getpid()) < 0) {
		o->temp = NULL;
		return -ENOMEM;
	}
	o->file = fopen(o->temp ? o->temp : path, "we");
	if (o->file)
		return 0;
	err = -errno;
	free(o->temp);
	return err;
}

int dsm_output_end(struct dsm_output *o)
{
	int err = ferror(o->file) ? -EIO : 0;

	errno = EIO;
	if (fclose(o->file) && !err)
		err = -errno;
	if (o->temp && !err && rename(o->temp, o->path))
		err = -errno;
	if (o->temp && err)
		unlink(o->temp);
	free(o->temp);
	return err;
}
