// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * next - what stands behind the functions that are interposed
 */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include "yield.h"

/* MPI asks for buffers of MPI_MAX_LIBRARY_VERSION_STRING; MPICH's is 8192. */
#define VERSION_LEN 8192

/*
 * A program that loads MPI itself (an interpreter and its modules) may keep its
 * symbols to itself: then nothing comes next, but who called us was loaded with
 * what it calls.
 */
void *find_next(const char *name, const void *caller)
{
	void *symbol = dlsym(RTLD_NEXT, name);
	Dl_info info;
	void *object;

	if (symbol || !caller || !dladdr(caller, &info) || !info.dli_fname)
		return symbol;
	object = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!object)
		return NULL;
	symbol = dlsym(object, name);
	/* Whoever loaded it keeps it. */
	dlclose(object);
	return symbol;
}

int is_in_mpich(const void *address)
{
	char version[VERSION_LEN];
	int (*get_version)(char *version, int *len) = NULL;
	Dl_info caller, found;
	void *object;
	int len = 0;

	if (!dladdr(address, &caller) || !caller.dli_fname)
		return 0;
	object = dlopen(caller.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!object)
		return 0;
	*(void **)&get_version = dlsym(object, "PMPI_Get_library_version");
	dlclose(object);
	/* It may come from what the object depends on: then that is the MPI. */
	if (!get_version || !dladdr(*(void **)&get_version, &found) ||
	    found.dli_fbase != caller.dli_fbase || get_version(version, &len))
		return 0;
	return !strncmp(version, "MPICH Version:", 14) && strstr(version, "ch4:ucx");
}
