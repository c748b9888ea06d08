// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * join - libsonde-coll and libsonde-record join the programs that use MPI, no others
 *
 * `sonde run` starts a launcher, which starts shells, interpreters and ranks. Such
 * a library needs the MPI it was built for, so it must be preloaded
 * into programs of that MPI only; which those are is seen once a program is
 * loaded, and then it is too late. So a program that has MPI is executed anew,
 * before its first line, with what fits (SONDE_RUN_COLL_MPICH, SONDE_RUN_COLL_OPENMPI,
 * SONDE_RUN_RECORD_MPICH, SONDE_RUN_RECORD_OPENMPI) before what is preloaded anyway.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "yield.h"

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

enum { COLL, RECORD, NKINDS };

/* By MPI: what says which library that is. */
static const char *const for_mpich[NKINDS] = { "SONDE_RUN_COLL_MPICH", "SONDE_RUN_RECORD_MPICH" };
static const char *const for_openmpi[NKINDS] = { "SONDE_RUN_COLL_OPENMPI",
						 "SONDE_RUN_RECORD_OPENMPI" };

/* The variables for the MPI that this program is linked with. */
static const char *const *find_variables(void)
{
	void *init = dlsym(RTLD_DEFAULT, "PMPI_Init");
	const char *object;
	Dl_info info;

	if (!init || !dladdr(init, &info) || !info.dli_fname)
		return NULL;
	if (dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"))
		return for_openmpi;
	/* Debian's name, and that of MPICH's own and its ABI's others. */
	object = name_of(info.dli_fname);
	if (!strncmp(object, "libmpich.so", 11) || !strncmp(object, "libmpi.so.12", 12))
		return for_mpich;
	return NULL;
}

/* A program that the loader was told to run is not in /proc/self/exe. */
static int may_start_anew(void)
{
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n <= 0)
		return 0;
	exe[n] = '\0';
	return strncmp(name_of(exe), "ld-", 3) != 0;
}

/* Before what is in @list, which is freed. NULL for want of memory. */
static char *put_first(const char *library, char *list)
{
	char *longer;

	if (!list || asprintf(&longer, "%s:%s", library, list) < 0)
		longer = NULL;
	free(list);
	return longer;
}

/* glibc hands constructors what main() gets. */
__attribute__((constructor))
static void join(int argc, char **argv, char **envp)
{
	const char *preloaded = getenv("LD_PRELOAD");
	const char *const *variables = find_variables();
	char *list, *before;
	int n = 0;

	(void)argc;
	(void)envp;
	if (!variables || !preloaded || !may_start_anew())
		return;
	list = strdup(preloaded);
	/* The recorder ends up first: it sees what the program calls. */
	for (int kind = 0; kind < NKINDS; kind++) {
		const char *library = getenv(variables[kind]);

		/* Where it is in the list already, this is the second time. */
		if (!library || !*library || strstr(preloaded, library))
			continue;
		list = put_first(library, list);
		n++;
	}
	before = strdup(preloaded);
	/* If it fails the program runs as it would have without us. */
	if (n && list && before && !setenv("LD_PRELOAD", list, 1)) {
		execv("/proc/self/exe", argv);
		setenv("LD_PRELOAD", before, 1);
	}
	free(before);
	free(list);
}
