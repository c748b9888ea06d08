// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * settings - the environment variables of libsonde-yield
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "yield.h"

/* A round of polls over shared memory is done in 1 to 2 us: that long it may
 * pay to be there when the message comes. */
#define DEFAULT_SPIN 20
#define MOST_SPIN 1000000

static struct settings settings;

/* A rank is many processes: one of them is enough to complain. */
static void complain(const char *name, const char *value, const char *wanted)
{
	const char *rank = getenv("PMI_RANK");

	if (!rank || !strcmp(rank, "0"))
		fprintf(stderr, "sonde-yield: %s=%s is ignored: it is %s\n", name, value, wanted);
}

static enum yield_mode read_mode(void)
{
	const char *value = getenv("SONDE_YIELD");

	if (!value || !strcmp(value, "auto"))
		return YIELD_AUTO;
	if (!strcmp(value, "always"))
		return YIELD_ALWAYS;
	if (!strcmp(value, "never"))
		return YIELD_NEVER;
	complain("SONDE_YIELD", value, "auto, always or never");
	return YIELD_AUTO;
}

static int read_spin(void)
{
	const char *value = getenv("SONDE_YIELD_SPIN");
	char *end;
	long spin;

	if (!value)
		return DEFAULT_SPIN;
	spin = strtol(value, &end, 10);
	if (end != value && !*end && spin >= 0 && spin <= MOST_SPIN)
		return (int)spin;
	complain("SONDE_YIELD_SPIN", value, "a number of polls from 0 to 1000000");
	return DEFAULT_SPIN;
}

static int read_finalize(void)
{
	const char *value = getenv("SONDE_YIELD_FINALIZE");

	if (!value || !strcmp(value, "settle"))
		return 1;
	if (!strcmp(value, "mpi"))
		return 0;
	complain("SONDE_YIELD_FINALIZE", value, "settle or mpi");
	return 1;
}

static void read_settings(void)
{
	settings = (struct settings){
		.mode = read_mode(),
		.spin = read_spin(),
		.settles = read_finalize(),
	};
}

const struct settings *get_settings(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_settings);
	return &settings;
}
