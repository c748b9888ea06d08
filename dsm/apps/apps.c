// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * apps [-s SCALE] [NAME...]: runs the programs, all if none is named, and prints the name
 * and the checksum of each.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apps.h"

unsigned int apps_me, apps_n;

static const struct app {
	const char *name;
	uint64_t (*run)(unsigned int scale);
} apps[] = {
	{ "sor", apps_sor }, { "gauss", apps_gauss }, { "fft", apps_fft }, { "is", apps_is },
	{ "water", apps_water }, { "barnes", apps_barnes }, { "mgs", apps_mgs },
	{ "cg", apps_cg },
};

#define NAPPS	(sizeof(apps) / sizeof(*apps))

void apps_share(size_t n, size_t *first, size_t *end)
{
	*first = n * apps_me / apps_n;
	*end = n * (apps_me + 1) / apps_n;
}

void *apps_make(size_t bytes)
{
	void *p = apps_me ? NULL : sonde_dsm_calloc(1, bytes);

	p = sonde_dsm_from_first(p);
	if (!p) {
		if (!apps_me)
			fprintf(stderr, "apps: no %zu bytes: raise SONDE_DSM_BYTES\n", bytes);
		sonde_dsm_exit();
		exit(1);
	}
	return p;
}

void apps_drop(void *p)
{
	apps_barrier();
	if (!apps_me)
		sonde_dsm_free(p);
}

void apps_barrier(void)
{
	sonde_dsm_barrier_all(1);
}

/* splitmix64 */
uint64_t apps_random(uint64_t i)
{
	uint64_t z = (i + 1) * 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

double apps_uniform(uint64_t i)
{
	return (double)(apps_random(i) >> 11) * 0x1p-53;
}

uint64_t apps_sum(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3;
	return h;
}

static bool is_named(const char *name, char *const *names)
{
	bool any = *names;

	for (; *names; names++)
		if (!strcmp(*names, name))
			return true;
	return !any;
}

static int check_names(char *const *names)
{
	for (; *names; names++) {
		size_t i = 0;

		while (i < NAPPS && strcmp(*names, apps[i].name))
			i++;
		if (i == NAPPS) {
			fprintf(stderr, "apps: no program is called %s: sor, gauss, fft, is, water, "
				"barnes, mgs or cg\n", *names);
			return 2;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int scale = 1;
	int c, err;

	while ((c = getopt(argc, argv, "s:")) != -1) {
		scale = c == 's' ? (unsigned int)strtoul(optarg, NULL, 10) : 0;
		if (!scale || scale > 64) {
			fprintf(stderr, "usage: apps [-s SCALE] [NAME...]; SCALE from 1 to 64\n");
			return 2;
		}
	}
	err = check_names(argv + optind);
	if (err)
		return err;
	err = sonde_dsm_init(NULL);
	if (err) {
		fprintf(stderr, "apps: %s; SONDE_DSM_DEBUG=1 says more\n", strerror(err));
		return 1;
	}
	apps_me = sonde_dsm_process();
	apps_n = sonde_dsm_processes();
	for (size_t i = 0; i < NAPPS; i++) {
		uint64_t sum;

		if (!is_named(apps[i].name, argv + optind))
			continue;
		sum = apps[i].run(scale);
		apps_barrier();
		if (!apps_me)
			printf("%s %016" PRIx64 "\n", apps[i].name, sum);
	}
	return sonde_dsm_exit() ? 1 : 0;
}
