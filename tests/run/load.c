// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load - a program that is not linked with MPI, but loads what is, for itself
 * alone, as interpreters load modules
 *
 * usage: load MODULE [ARGUMENT...]
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*run)(int argc, char **argv) = NULL;

	if (module)
		*(void **)&run = dlsym(module, "run_alltoall");
	if (!run) {
		fprintf(stderr, "load: %s\n",
			argc > 1 ? dlerror() : "usage: load MODULE [ARGUMENT...]");
		return 2;
	}
	return run(argc - 1, argv + 1);
}
