// SPDX-License-Identifier: GPL-2.0-or-later
/* comm-options - the options of `sonde comm`, and the size that is usual */
#include <stdio.h>
#include <string.h>
#include "comm.h"

/* What nobody claims. */
#define SIZE_USUAL	((size_t)32 << 10)
#define SIZE_MOST	((size_t)64 << 20)

static int set_cpus(void *options, const char *arg)
{
	((struct comm_options *)options)->list = arg;
	return CLI_DONE;
}

/* The next of a list by commas, to @word. NULL: there is none. */
static const char *next_word(const char *list, char *word, size_t len)
{
	size_t n = strcspn(list, ",");

	if (!*list)
		return NULL;
	snprintf(word, len, "%.*s", (int)n, list);
	return list + n + (list[n] == ',');
}

static int set_method(void *options, const char *arg)
{
	struct comm_options *o = options;
	const char *rest = arg;
	char word[64] = "";

	o->methods = 0;
	while ((rest = next_word(rest, word, sizeof(word)))) {
		int i = 0;

		while (i < SONDE_COMM_MPI &&
		       strcmp(word, sonde_comm_method_name((enum sonde_comm_method)i)))
			i++;
		if (i == SONDE_COMM_MPI) {
			cli_error("--method: '%s' is none; line, flag, shm and copy are", word);
			return CLI_USAGE;
		}
		o->methods |= 1u << i;
	}
	if (o->methods)
		return CLI_DONE;
	cli_error("--method wants some of line, flag, shm and copy, with commas between");
	return CLI_USAGE;
}

static int parse_message(const char *name, const char *arg, size_t *bytes)
{
	if (cli_parse_size(name, arg, bytes) != CLI_DONE)
		return CLI_USAGE;
	if (*bytes <= SIZE_MOST)
		return CLI_DONE;
	cli_error("--%s %s: messages of at most 64M are measured", name, arg);
	return CLI_USAGE;
}

static int set_size(void *options, const char *arg)
{
	struct comm_options *o = options;
	const char *rest = arg;
	char word[64] = "";

	o->nsizes = 0;
	if (!*arg)
		return parse_message("size", arg, &o->sizes[0]);
	while ((rest = next_word(rest, word, sizeof(word)))) {
		if (o->nsizes == COMM_SIZES_MOST) {
			cli_error("--size: at most %d sizes", COMM_SIZES_MOST);
			return CLI_USAGE;
		}
		if (parse_message("size", word, &o->sizes[o->nsizes++]) != CLI_DONE)
			return CLI_USAGE;
	}
	return CLI_DONE;
}

static int set_max_size(void *options, const char *arg)
{
	return parse_message("max-size", arg, &((struct comm_options *)options)->most_bytes);
}

static int set_budget(void *options, const char *arg)
{
	return cli_parse_seconds("budget", arg, &((struct comm_options *)options)->budget_s);
}

static int set_seed(void *options, const char *arg)
{
	return cli_parse_count("seed", arg, UINT64_MAX, &((struct comm_options *)options)->seed);
}

static int set_all_pairs(void *options, const char *arg)
{
	(void)arg;
	((struct comm_options *)options)->all_pairs = 1;
	return CLI_DONE;
}

static int set_figure(void *options, const char *arg)
{
	if (!*arg) {
		cli_error("--figure: the file's name is empty");
		return CLI_USAGE;
	}
	((struct comm_options *)options)->figure = arg;
	return CLI_DONE;
}

static int set_mpi(void *options, const char *arg)
{
	if (strcmp(arg, "mpich") && strcmp(arg, "openmpi")) {
		cli_error("--mpi %s: not one of mpich, openmpi", arg);
		return CLI_USAGE;
	}
	((struct comm_options *)options)->mpi = arg;
	return CLI_DONE;
}

const struct cli_option comm_options_table[] = {
	{ "size", 0, "SIZE,...", "of the messages; else the first-level cache's", set_size },
	{ "max-size", 0, "SIZE", "the largest message of a layer's curve; else 4M", set_max_size },
	{ "budget", 'b', "SECONDS", "about how long it may take; else 20", set_budget },
	{ "all-pairs", 0, NULL, "measure every two, also those that are claimed to be alike",
	  set_all_pairs },
	{ "cpus", 0, "LIST", "between these CPUs (0-3,8); else all that are allowed", set_cpus },
	{ "method", 0, "LIST", "of line, flag, shm, copy, between CPUs; else all", set_method },
	{ "figure", 0, "FILE", "also draw the latencies, as SVG", set_figure },
	{ "seed", 0, "N", "of the order, and of the choice of pairs; else 1", set_seed },
	{ "mpi", 0, "NAME", "mpich or openmpi; else by what started it", set_mpi },
	CLI_COMMON_OPTIONS
};

/* What was measured of another machine says nothing of this one. */
static size_t get_measured(const struct sonde_topology *topo)
{
	struct sonde_cache_level level;
	struct sonde_profile *profile;
	size_t bytes = 0;

	if (sonde_profile_load(&profile, NULL))
		return 0;
	if (sonde_profile_is_of(profile, topo) == 1 && !sonde_profile_cache(profile, 1, &level))
		bytes = (size_t)level.size;
	sonde_profile_free(profile);
	return bytes;
}

size_t comm_usual_size(const struct sonde_topology *topo, unsigned int cpu)
{
	size_t bytes = get_measured(topo);
	struct sonde_cache_claim claim;

	if (!bytes && sonde_topology_caches(topo, cpu, &claim, 1) >= 1)
		bytes = (size_t)claim.size;
	return bytes ? bytes : SIZE_USUAL;
}
