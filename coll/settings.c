// SPDX-License-Identifier: LGPL-2.1-or-later
/* settings - the environment, looked at once */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "explain.h"
#include "settings.h"

static struct coll_settings settings = {
	/*
	 * What UCX 1.13 and Open MPI's TCP still send eagerly; above it a message
	 * waits for its receiver (4 ranks of a node and 8 KiB blocks make 32 KiB).
	 */
	.eager = 16 << 10,
	.area_least = 16 << 10,
	.area_most = 512 << 10,
	.shm_most = 32 << 20,
	.window = 32,
	.is_tried = 1,
};
static int is_on = 1;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* "4096", "4K", "1M". */
static int parse_bytes(const char *word, size_t least, size_t most, size_t *bytes)
{
	unsigned long long n;
	char *end;
	int shift = 0;

	errno = 0;
	n = strtoull(word, &end, 10);
	if (*end == 'K' || *end == 'k')
		shift = 10;
	else if (*end == 'M' || *end == 'm')
		shift = 20;
	end += shift > 0;
	if (errno || *end || end == word || *word == '-' || n > most >> shift ||
	    n << shift < least)
		return -EINVAL;
	*bytes = (size_t)n << shift;
	return 0;
}

static void read_bytes(const char *name, size_t least, size_t most, size_t *bytes)
{
	const char *word = getenv(name);

	if (word && parse_bytes(word, least, most, bytes))
		coll_complain("%s=%s: give bytes from %zu to %zu, as 4096, 16K or 1M; it is left "
			      "out", name, word, least, most);
}

static int read_switch(const char *name, int usual)
{
	const char *word = getenv(name);

	if (!word || !*word)
		return usual;
	if (!strcmp(word, "0") || !strcmp(word, "1"))
		return *word == '1';
	coll_complain("%s=%s: give 0 or 1; it is left out", name, word);
	return usual;
}

static void read_choice(const char *name, char forced[COLL_NAME])
{
	const char *word = getenv(name);
	struct coll_choice choice;
	char why[COLL_SENTENCE];

	if (!word || !*word || !strcmp(word, "auto"))
		return;
	if (strlen(word) >= COLL_NAME)
		coll_complain("%s: no composition has so long a name; it is left out", name);
	else if (coll_choice_parse(&choice, word, why, sizeof(why)))
		coll_complain("%s=%s: %s; it is left out (see sonde-coll(7))", name, word, why);
	else
		strcpy(forced, word);
}

static void read_all(void)
{
	is_on = read_switch("SONDE_COLL", 1);
	settings.is_explained = read_switch("SONDE_COLL_EXPLAIN", 0);
	settings.is_tried = read_switch("SONDE_COLL_TRIAL", 1);
	read_choice("SONDE_COLL_ALLTOALL", settings.forced[COLL_ALLTOALL]);
	read_choice("SONDE_COLL_ALLTOALLV", settings.forced[COLL_ALLTOALLV]);
	read_bytes("SONDE_COLL_EAGER", 64, (size_t)1 << 30, &settings.eager);
	read_bytes("SONDE_COLL_SHM", (size_t)64 << 10, (size_t)4 << 30, &settings.shm_most);
	read_bytes("SONDE_COLL_AREA", (size_t)4 << 10, (size_t)64 << 20, &settings.area_most);
}

const struct coll_settings *coll_settings_get(void)
{
	pthread_once(&once, read_all);
	return &settings;
}

int coll_is_on(void)
{
	pthread_once(&once, read_all);
	return is_on;
}
