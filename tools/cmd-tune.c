// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde tune - hand over to the program that measures with the job's MPI
 *
 * This program needs no MPI. Each rank becomes the one that was built for the MPI
 * that started it: coll/tune/.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tune.h"

/* What a launcher tells a rank, its number first. */
struct launcher {
	const char *rank;
	const char *mpi;
};

static const struct launcher launchers[] = {
	{ "OMPI_COMM_WORLD_RANK", "openmpi" },
	{ "PMI_RANK", "mpich" },
	{ "PMIX_RANK", NULL },
};

static const struct launcher *find_launcher(void)
{
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (getenv(launchers[i].rank))
			return &launchers[i];
	return NULL;
}

/* What is wrong is wrong for all ranks: the first says it. */
static int is_silent(const struct launcher *launcher)
{
	return launcher && strcmp(getenv(launcher->rank), "0") != 0;
}

/* Standard streams to nowhere, so that they can be had back; -1: they are as they were. */
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

static int is_at(char path[PATH_MAX], const char *dir, const char *below, const char *mpi)
{
	int n = snprintf(path, PATH_MAX, "%s%s/sonde-tune-%s", dir, below, mpi);

	return n < PATH_MAX && !access(path, X_OK);
}

/* Beside the program (where it was built), or where it was installed. */
static int find_program(char path[PATH_MAX], const char *mpi)
{
	char dir[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);

	dir[n > 0 ? n : 0] = '\0';
	if (strrchr(dir, '/'))
		*strrchr(dir, '/') = '\0';
	return is_at(path, dir, "", mpi) || is_at(path, dir, "/../lib/sonde", mpi) ||
	       is_at(path, SONDE_LIBDIR, "/sonde", mpi);
}

/* The program to become. Return: -1, or the status to exit with. */
static int choose_program(const struct tune_options *o, const struct launcher *launcher,
			  char path[PATH_MAX])
{
	const char *mpi = o->mpi ? o->mpi : launcher ? launcher->mpi : NULL;

	if (!launcher) {
		cli_error("it measures an MPI job: start it as sonde run mpiexec -n 8 "
			  "sonde tune alltoall");
		return CLI_USAGE;
	}
	if (!mpi) {
		cli_error("%s does not tell which MPI it is; give --mpi mpich or --mpi openmpi",
			  launcher->rank);
		return CLI_USAGE;
	}
	if (find_program(path, mpi))
		return -1;
	cli_error("sonde-tune-%s is neither beside this program nor in %s/sonde: was sonde built "
		  "where that MPI is installed?", mpi, SONDE_LIBDIR);
	return CLI_FAILED;
}

static int run_alltoall(int argc, char **argv);

static const struct cli_command tune_alltoall = {
	.name = "tune alltoall",
	.summary = "which composition of MPI_Alltoall is best for each size, in an MPI job",
	.options = tune_options_table,
	.run = run_alltoall,
};

static int run_alltoall(int argc, char **argv)
{
	const struct launcher *launcher = find_launcher();
	struct tune_options o = TUNE_DEFAULTS;
	int is_quiet = is_silent(launcher), out = -1, err = -1, status;
	char path[PATH_MAX];

	if (is_quiet) {
		out = silence(STDOUT_FILENO);
		err = silence(STDERR_FILENO);
	}
	status = cli_parse(&tune_alltoall, argc, argv, &o);
	if (status < 0 && tune_options_check(&o) != CLI_DONE)
		status = CLI_USAGE;
	if (status < 0)
		status = choose_program(&o, launcher, path);
	if (status >= 0)
		return status;
	if (is_quiet) {
		unsilence(STDOUT_FILENO, out);
		unsilence(STDERR_FILENO, err);
	}
	argv[0] = path;
	execv(path, argv);
	cli_error("cannot start %s: %s", path, strerror(errno));
	return CLI_FAILED;
}

static const struct cli_command *const subcommands[] = {
	&tune_alltoall,
	NULL,
};

static int run(int argc, char **argv)
{
	return cli_run_subcommand(&cmd_tune, argc, argv);
}

static const struct cli_option options[] = {
	{ "help", 'h', NULL, "this list; after a subcommand its options", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct cli_command cmd_tune = {
	.name = "tune",
	.summary = "measure in an MPI job which rules its collectives should follow",
	.options = options,
	.run = run,
	.subcommands = subcommands,
};
