// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * alltoall - what MPI_Alltoall() costs by each composition, over MPI's own
 *
 *   alltoall [--names NAME,...] [--min BYTES] [--max BYTES] [--sizes BYTES,...]
 *            [--seconds S] [--repeats N] [--in-place] [--strided] [--v] [--used] [--alone]
 *
 * "mpi" is PMPI_Alltoall(), "auto" what libsonde-coll chooses, others are forced.
 * "mpi" is always there, and first; --alone: only if it is named, and ratios are to the
 * first. --v: MPI_Alltoallv() of blocks of any size from none to twice as many bytes.
 * --used: after each call every rank makes what it will send from what it received, as
 * programs do: else what is sent is never written, and lies in the reader's cache from
 * the call before. That takes part in the interval, since it pays for lines that an
 * exchange has left elsewhere; what it takes by itself, with no call, is measured in
 * the same round of turns and subtracted.
 * For each size all names take turns, @repeats times, in another order each time; a
 * turn is as many calls back to back as take S seconds. Inside the interval: the
 * calls; outside: a barrier before it. Its time is the slowest rank's. Printed, one
 * JSON object a line for each size and name: the median over the turns of the
 * microseconds a call, the median, least and most of its ratio to "mpi" in the same
 * round of turns, and the times of all its turns, so that others can be set against
 * each other. Each size has communicators of its own: nothing is known of another.
 */
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <mpi.h>
#include <sonde/coll.h>

#define NAMES	16
#define REPEATS	99
#define SIZES	32
#define WARM_UP	110
#define NONE	-1

struct bench {
	const char *names[NAMES];
	MPI_Comm comms[NAMES];
	int nnames, repeats, is_in_place, is_strided, is_v, is_used, is_alone;
	size_t min, max, sizes[SIZES];
	int nsizes;
	double seconds;
	int rank, size;
	char *send, *recv;
	MPI_Datatype type;
	int count;
	int *counts[2], *displs[2];
	size_t span;
};

/* ---- one turn ------------------------------------------------------------ */

static int call(const struct bench *b, int name)
{
	const void *from = b->is_in_place ? MPI_IN_PLACE : b->send;
	const int is_mpi = !strcmp(b->names[name], "mpi");

	if (b->is_v)
		return (is_mpi ? PMPI_Alltoallv : MPI_Alltoallv)(
			from, b->counts[0], b->displs[0], b->type, b->recv, b->counts[1],
			b->displs[1], b->type, is_mpi ? MPI_COMM_WORLD : b->comms[name]);
	if (is_mpi)
		return PMPI_Alltoall(from, b->count, b->type, b->recv, b->count, b->type,
				     MPI_COMM_WORLD);
	return MPI_Alltoall(from, b->count, b->type, b->recv, b->count, b->type, b->comms[name]);
}

/* What is sent next is made of what was received. */
static void use(const struct bench *b)
{
	const uint64_t *from = (const void *)b->recv;
	uint64_t *to = (void *)(b->is_in_place ? b->recv : b->send);

	for (size_t i = 0; i < b->span / sizeof(*to); i++)
		to[i] = from[i] + 1;
}

/* Seconds that the slowest rank took; @name NONE: of using alone. */
static double time_calls(const struct bench *b, int name, int n)
{
	double begin, took, slowest;

	PMPI_Barrier(MPI_COMM_WORLD);
	begin = MPI_Wtime();
	for (int i = 0; i < n; i++) {
		if (name != NONE)
			call(b, name);
		if (b->is_used)
			use(b);
	}
	took = MPI_Wtime() - begin;
	PMPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return slowest;
}

/* How many calls take the time of a turn. */
static int find_calls(const struct bench *b, int name)
{
	int n = 1;
	double took;

	/* The first makes plans and connections, the next try what is to be taken. */
	time_calls(b, name, WARM_UP);
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
	printf("\"least\": %.3f, \"most\": %.3f, \"times\": [", ratios[0],
	       ratios[b->repeats - 1]);
	for (int r = 0; r < b->repeats; r++)
		printf("%s%.3f", r ? ", " : "", times[r][name] * 1e6);
	printf("]}\n");
}

/* The same for both directions of a pair, as in place must have it. */
static int draw_count(const struct bench *b, int other)
{
	const unsigned int low = (unsigned int)(other < b->rank ? other : b->rank);
	const unsigned int high = (unsigned int)(other < b->rank ? b->rank : other);
	unsigned int x = (low * 65537u + high + 1) * 2654435761u;

	x = (x ^ x >> 15) * 2246822519u;
	return (int)((x ^ x >> 13) % (2u * (unsigned int)b->count + 1));
}

static void draw_counts(struct bench *b)
{
	int at = 0;

	for (int r = 0; r < b->size; r++) {
		b->counts[0][r] = b->counts[1][r] = draw_count(b, r);
		b->displs[0][r] = b->displs[1][r] = at;
		at += b->counts[0][r];
	}
}

/* Bytes of the larger buffer, with the gaps of a type. */
static size_t find_span(const struct bench *b)
{
	const int last = b->size - 1;
	const int n = b->is_v ? b->displs[0][last] + b->counts[0][last] : b->size * b->count;
	MPI_Aint low, extent;

	MPI_Type_get_extent(b->type, &low, &extent);
	return (size_t)n * (size_t)extent;
}

static void open_comms(struct bench *b)
{
	MPI_Info info;

	for (int i = 0; i < b->nnames; i++) {
		MPI_Info_create(&info);
		MPI_Info_set(info, "sonde_coll_alltoall", b->names[i]);
		MPI_Info_set(info, "sonde_coll_alltoallv", b->names[i]);
		MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &b->comms[i]);
		MPI_Info_free(&info);
	}
}

static void close_comms(struct bench *b)
{
	for (int i = 0; i < b->nnames; i++)
		MPI_Comm_free(&b->comms[i]);
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
	draw_counts(b);
	b->span = find_span(b);
	open_comms(b);
	for (int i = 0; i < b->nnames; i++) {
		calls[i] = find_calls(b, i);
		snprintf(did[i], sizeof(did[i]), "%s", strcmp(b->names[i], "mpi") ?
			 sonde_coll_last() : "mpi");
	}
	for (int r = 0; r < b->repeats; r++)
		for (int k = 0; k < b->nnames; k++) {
			/* Whoever comes after a slow one finds other caches. */
			const int i = (r % 2 ? b->nnames - k + r : k + r) % b->nnames;

			times[r][i] = time_calls(b, i, calls[i]) / calls[i];
			if (b->is_used)
				times[r][i] -= time_calls(b, NONE, calls[i]) / calls[i];
		}
	for (int i = 0; i < b->nnames && !b->rank; i++)
		print(b, bytes, i, did[i], calls[i], times);
	fflush(stdout);
	close_comms(b);
	if (b->is_strided)
		MPI_Type_free(&b->type);
}

/* ---- all ----------------------------------------------------------------- */

static void add_names(struct bench *b, char *list)
{
	if (!b->is_alone)
		b->names[b->nnames++] = "mpi";
	for (char *name; (name = strsep(&list, ",")) && b->nnames < NAMES;)
		if (b->is_alone || strcmp(name, "mpi"))
			b->names[b->nnames++] = name;
}

static void add_sizes(struct bench *b, char *list)
{
	for (size_t bytes = b->min; !list && bytes <= b->max && b->nsizes < SIZES; bytes *= 2)
		b->sizes[b->nsizes++] = bytes;
	for (char *word; list && (word = strsep(&list, ",")) && b->nsizes < SIZES;) {
		b->sizes[b->nsizes] = strtoul(word, NULL, 10);
		if (b->sizes[b->nsizes] > b->max || b->nsizes == 0)
			b->max = b->sizes[b->nsizes];
		if (!b->sizes[b->nsizes++])
			b->min = 0;
	}
}

static int parse(struct bench *b, int argc, char **argv)
{
	static const struct option options[] = {
		{ "names", required_argument, NULL, 'n' }, { "min", required_argument, NULL, 'm' },
		{ "max", required_argument, NULL, 'M' }, { "seconds", required_argument, NULL, 's' },
		{ "repeats", required_argument, NULL, 'r' }, { "in-place", no_argument, NULL, 'i' },
		{ "strided", no_argument, NULL, 't' }, { "v", no_argument, NULL, 'v' },
		{ "sizes", required_argument, NULL, 'S' }, { "alone", no_argument, NULL, 'a' },
		{ "used", no_argument, NULL, 'u' },
		{ NULL, 0, NULL, 0 },
	};
	char *names = NULL, *sizes = NULL;
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
		case 'v': b->is_v = 1; break;
		case 'a': b->is_alone = 1; break;
		case 'u': b->is_used = 1; break;
		case 'S': sizes = optarg; break;
		default: return -1;
		}
	}
	add_names(b, strdup(names ? names : "auto"));
	add_sizes(b, sizes);
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
	/* Every other element, or twice as many. */
	room = (size_t)b.size * b.max * (b.is_strided && b.is_v ? 4 : 2) + 64;
	for (int side = 0; side < 2; side++) {
		b.counts[side] = calloc((size_t)b.size, sizeof(int));
		b.displs[side] = calloc((size_t)b.size, sizeof(int));
	}
	b.send = calloc(1, room);
	b.recv = calloc(1, room);
	for (int i = 0; i < b.nsizes; i++)
		run_size(&b, b.sizes[i]);
	MPI_Finalize();
	for (int side = 0; side < 2; side++) {
		free(b.counts[side]);
		free(b.displs[side]);
	}
	free(b.send);
	free(b.recv);
	return 0;
}
