// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * other_mpi - the library of one MPI, preloaded into a program of the other
 *
 * Handles of MPICH are integers, those of Open MPI pointers: a call that comes here
 * cannot even be handed on. So the job ends before it begins, with a line that says
 * why, and not with a crash in some call.
 */
#include <string.h>
#include <unistd.h>
#include <mpi.h>

#include "explain.h"

#if defined(OPEN_MPI)
#define OURS	"Open MPI"
#define THEIRS	"MPICH"
#define RIGHT	"libsonde-coll.so"
static const char *const strangers[] = { "MPICH", "MVAPICH", "Intel(R) MPI" };
#elif defined(MPICH_VERSION)
#define OURS	"MPICH"
#define THEIRS	"Open MPI"
#define RIGHT	"libsonde-coll-openmpi.so"
static const char *const strangers[] = { "Open MPI" };
#endif

#ifdef OURS
#define VERSION_MOST	8192	/* MPICH's; Open MPI's is shorter */

/* May be asked before MPI_Init(); a program without MPI gets the one that belongs to this. */
__attribute__((constructor))
static void refuse(void)
{
	char version[VERSION_MOST] = "";
	int len;

	if (PMPI_Get_library_version(version, &len))
		return;
	for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++)
		if (strstr(version, strangers[i])) {
			coll_complain("this is the library for " OURS ", and the program's MPI is "
				      THEIRS ": preload " RIGHT);
			_exit(1);
		}
}
#endif
