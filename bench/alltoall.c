// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * alltoall - what MPI_Alltoall() costs by each composition, over MPI's own
 *
 *   alltoall [--names NAME,...] [--min BYTES] [--max BYTES] [--seconds S]
 *            [--repeats N] [--in-place] [--strided]
 *
 * "mpi" is PMPI_Alltoall(), "auto" what libsonde-coll chooses, others are forced.
 * For each size all names take turns, @repeats times; a turn is as many calls back
 * to back as take S seconds. Inside the interval: the calls; outside: a barrier
 * before it. Its time is the slowest rank's. Printed, one JSON object a line for
 * each size and name: the median over the turns of the microseconds a call, and
 * the median, least and most of its ratio to "mpi" in the same round of turns.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <mpi.h>
#include <sonde/coll.h>

#define NAMES	16
#define REPEATS	99

struct bench {
	const char *names[NAMES];
	MPI_Comm comms[NAMES];
	int nnames, repeats, is_in_place, is_strided;
	size_t min, max;
	double seconds;
	int rank, size;
	char *send, *recv;
	MPI_Datatype type;
	int count;
};

/* ---- one turn ------------------------------------------------------------ */

static int call(const struct bench *b, int name)
{
	const void *from = b->is_in_place ? MPI_IN_PLACE : b->send;

	if (!strcmp(b->names[name], "mpi"))
		return PMPI_Alltoall(from, b->count, b->type, b->recv, b->count, b->type,
				     MPI_COMM_WORLD);
	return MPI_Alltoall(from, b->count, b->type, b->recv, b->count, b->type, b->comms[name]);
}

/* Seconds that the slowest rank took. */
static double time_calls(const struct bench *b, int name, int n)
{
	double begin, took, slowest;

	PMPI_Barrier(MPI_COMM_WORLD);
	begin = MPI_Wtime();
	for (int i = 0; i < n; i++)
		call(b, name);
	took = MPI_Wtime() - begin;
	PMPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return slowest;
}

/* How many calls take the time of a turn. */
static int find_calls(const struct bench *b, int name)
{
	int n = 1;
	double took;

	/* The first makes plans and connections. */
	time_calls(b, name, 3);
	while ((took = time_calls(b, name, n)) < b->seconds && n < 1 << 24) {
		const double more = took > 0 ? b->seconds / took * 1.2 : 16;

		n *= more < 2 ? 2 : more > 16 ? 16 : (int)more;
	}
	return n;
}

/* ---- one size ------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, int n)
{
	qsort(values, (size_t)n, sizeof(*values), by_value);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static void print(const struct bench *b, size_t bytes, int name, const char *did, int calls,
		  double times[][NAMES])
{
	double us[REPEATS], ratios[REPEATS];

	for (int r = 0; r < b->repeats; r++) {
		us[r] = times[r][name] * 1e6;
		ratios[r] = times[r][name] / times[r][0];
	}
	printf("{\"ranks\": %d, \"bytes\": %zu, \"name\": \"%s\", \"did\": \"%s\", \"calls\": %d, "
	       "\"us\": %.3f, ", b->size, bytes, b->names[name], did, calls, median(us, b->repeats));
	printf("\"ratio\": %.3f, ", median(ratios, b->repeats));
	printf("\"least\": %.3f, \"most\": %.3f}\n", ratios[0], ratios[b->repeats - 1]);
}

static void run_size(struct bench *b, size_t bytes)
{
	static double times[REPEATS][NAMES];
	char did[NAMES][64];
	int calls[NAMES];

	if (b->is_strided) {
		MPI_Type_vector((int)(bytes / 8 ? bytes / 8 : 1), 1, 2, MPI_DOUBLE, &b->type);
		MPI_Type_commit(&b->type);
		b->count = 1;
	} else {
		b->type = MPI_BYTE;
		b->count = (int)bytes;
	}
	for (int i = 0; i < b->nnames; i++) {
		calls[i] = find_calls(b, i);
		snprintf(did[i], sizeof(did[i]), "%s", strcmp(b->names[i], "mpi") ?
			 sonde_coll_last() : "mpi");
	}
	for (int r = 0; r < b->repeats; r++)
		for (int i = 0; i < b->nnames; i++)
			times[r][i] = time_calls(b, i, calls[i]) / calls[i];
	for (int i = 0; i < b->nnames && !b->rank; i++)
		print(b, bytes, i, did[i], calls[i], times);
	fflush(stdout);
	if (b->is_strided)
		MPI_Type_free(&b->type);
}

/* ---- all ----------------------------------------------------------------- */

static void open_comms(struct bench *b)
{
	MPI_Info info;

	for (int i = 0; i < b->nnames; i++) {
		MPI_Info_create(&info);
		MPI_Info_set(info, "sonde_coll_alltoall", b->names[i]);
		MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &b->comms[i]);
		MPI_Info_free(&info);
	}
}

static void add_names(struct bench *b, char *list)
{
	b->names[b->nnames++] = "mpi";
	for (char *name; (name = strsep(&list, ",")) && b->nnames < NAMES;)
		if (strcmp(name, "mpi"))
			b->names[b->nnames++] = name;
}

static int parse(struct bench *b, int argc, char **argv)
{
	static const struct option options[] = {
		{ "names", required_argument, NULL, 'n' }, { "min", required_argument, NULL, 'm' },
		{ "max", required_argument, NULL, 'M' }, { "seconds", required_argument, NULL, 's' },
		{ "repeats", required_argument, NULL, 'r' }, { "in-place", no_argument, NULL, 'i' },
		{ "strided", no_argument, NULL, 't' }, { NULL, 0, NULL, 0 },
	};
	char *names = NULL;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'n': names = optarg; break;
		case 'm': b->min = strtoul(optarg, NULL, 10); break;
		case 'M': b->max = strtoul(optarg, NULL, 10); break;
		case 's': b->seconds = atof(optarg); break;
		case 'r': b->repeats = atoi(optarg); break;
		case 'i': b->is_in_place = 1; break;
		case 't': b->is_strided = 1; break;
		default: return -1;
		}
	}
	add_names(b, strdup(names ? names : "auto"));
	return optind == argc && b->min && b->min <= b->max && b->max <= 1 << 26 &&
	       b->repeats > 0 && b->repeats <= REPEATS && b->seconds > 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct bench b = { .repeats = 7, .seconds = 0.05, .min = 8, .max = 1 << 20 };
	size_t room;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &b.size);
	if (parse(&b, argc, argv)) {
		if (!b.rank)
			fputs("alltoall: wrong arguments; see the head of bench/alltoall.c\n",
			      stderr);
		MPI_Finalize();
		return 2;
	}
	room = (size_t)b.size * b.max * 2 + 64;
	b.send = calloc(1, room);
	b.recv = calloc(1, room);
	open_comms(&b);
	for (size_t bytes = b.min; bytes <= b.max; bytes *= 2)
		run_size(&b, bytes);
	for (int i = 0; i < b.nnames; i++)
		MPI_Comm_free(&b.comms[i]);
	MPI_Finalize();
	free(b.send);
	free(b.recv);
	return 0;
}
