// SPDX-License-Identifier: GPL-2.0-or-later
/* launcher - find out which MPI started us, and become its program */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"
#include "launcher.h"

static const struct launcher launchers[] = {
	{ "OMPI_COMM_WORLD_RANK", "openmpi" },
	{ "PMI_RANK", "mpich" },
	{ "PMIX_RANK", NULL },
};

const struct launcher *launcher_find(void)
{
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (getenv(launchers[i].rank))
			return &launchers[i];
	return NULL;
}

int launcher_is_first(const struct launcher *launcher)
{
	return !launcher || !strcmp(getenv(launcher->rank), "0");
}

static int silence(int fd)
{
	int kept = fcntl(fd, F_DUPFD_CLOEXEC, 3), nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (kept >= 0 && nowhere >= 0)
		dup2(nowhere, fd);
	if (nowhere >= 0)
		close(nowhere);
	return kept;
}

static void unsilence(int fd, int kept)
{
	fflush(NULL);
	if (kept < 0)
		return;
	dup2(kept, fd);
	close(kept);
}

int launcher_fail(int rank, int status, const char *format, ...)
{
	char line[256];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (!rank)
		cli_error("%s", line);
	return status;
}

void launcher_hush(struct launcher_hush *hush)
{
	hush->out = silence(STDOUT_FILENO);
	hush->err = silence(STDERR_FILENO);
}

void launcher_unhush(const struct launcher_hush *hush)
{
	unsilence(STDOUT_FILENO, hush->out);
	unsilence(STDERR_FILENO, hush->err);
}

static int is_at(char path[PATH_MAX], const char *dir, const char *below, const char *name,
		 const char *mpi)
{
	int n = snprintf(path, PATH_MAX, "%s%s/%s-%s", dir, below, name, mpi);

	return n < PATH_MAX && !access(path, X_OK);
}

/* Beside the program (where it was built), or where it was installed. */
static int find_program(char path[PATH_MAX], const char *name, const char *mpi)
{
	char dir[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);

	dir[n > 0 ? n : 0] = '\0';
	if (strrchr(dir, '/'))
		*strrchr(dir, '/') = '\0';
	return is_at(path, dir, "", name, mpi) || is_at(path, dir, "/../lib/sonde", name, mpi) ||
	       is_at(path, SONDE_LIBDIR, "/sonde", name, mpi);
}

int launcher_choose(const struct launcher *launcher, const char *name, const char *mpi,
		    char path[PATH_MAX])
{
	if (!mpi)
		mpi = launcher->mpi;
	if (!mpi) {
		cli_error("%s does not tell which MPI it is; give --mpi mpich or --mpi openmpi",
			  launcher->rank);
		return CLI_USAGE;
	}
	if (find_program(path, name, mpi))
		return -1;
	cli_error("%s-%s is neither beside this program nor in %s/sonde: was sonde built "
		  "where that MPI is installed?", name, mpi, SONDE_LIBDIR);
	return CLI_FAILED;
}

int launcher_become(char path[PATH_MAX], char **argv)
{
	argv[0] = path;
	execv(path, argv);
	cli_error("cannot start %s: %s", path, strerror(errno));
	return CLI_FAILED;
}
