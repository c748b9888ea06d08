// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * join - libsonde-coll joins the programs that use MPI, and no others
 *
 * `sonde run` starts a launcher, which starts shells, interpreters and ranks. A
 * collectives library needs the MPI it was built for, so it must be preloaded
 * into programs of that MPI only; which those are is seen once a program is
 * loaded, and then it is too late. So a program that has MPI is executed anew,
 * before its first line, with the library that fits (SONDE_RUN_COLL_MPICH,
 * SONDE_RUN_COLL_OPENMPI) before what is preloaded anyway.
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

/* The library for the MPI that this program is linked with. */
static const char *find_library(void)
{
	void *init = dlsym(RTLD_DEFAULT, "PMPI_Init");
	const char *object;
	Dl_info info;

	if (!init || !dladdr(init, &info) || !info.dli_fname)
		return NULL;
	if (dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"))
		return getenv("SONDE_RUN_COLL_OPENMPI");
	/* Debian's name, and that of MPICH's own and its ABI's others. */
	object = name_of(info.dli_fname);
	if (!strncmp(object, "libmpich.so", 11) || !strncmp(object, "libmpi.so.12", 12))
		return getenv("SONDE_RUN_COLL_MPICH");
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

/* glibc hands constructors what main() gets. */
__attribute__((constructor))
static void join(int argc, char **argv, char **envp)
{
	const char *preloaded = getenv("LD_PRELOAD");
	const char *library = find_library();
	char *list;

	(void)argc;
	(void)envp;
	/* Where it is in the list already, this is the second time. */
	if (!library || !*library || !preloaded || strstr(preloaded, library) || !may_start_anew())
		return;
	if (asprintf(&list, "%s:%s", library, preloaded) < 0)
		return;
	/* If it fails the program runs as it would have without us. */
	if (!setenv("LD_PRELOAD", list, 1)) {
		execv("/proc/self/exe", argv);
		setenv("LD_PRELOAD", list + strlen(library) + 1, 1);
	}
	free(list);
}
